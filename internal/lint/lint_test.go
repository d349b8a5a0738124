package lint_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

const module = "github.com/arc-learn/arc"

// arrows has what each package may import of arc; it may also import what those may. A package that is not named has
// the arrows of the folder above it. "all" is every package. Tests may import any.
var arrows = map[string][]string{
	"store":           {},
	"store/badger":    {"store"},
	"store/storetest": {"store"},
	"internal":        {"store"},
	"iar":             {"store"},
	"redact":          {"store"},
	"memory":          {"store", "redact", "internal"},
	"memory/extract":  {"memory", "reason"},
	"rank":            {"store", "redact", "internal"},
	"reason":          {"memory", "rank"},
	"act":             {"reason", "rank", "iar"},
	"meta":            {"iar", "rank", "internal"},
	"learn":           {"memory", "memory/extract", "rank", "meta", "act", "reason", "store/badger"},
	".":               {"learn", "iar", "store/badger"},
	"arctest":         {"."},
	"reason/goal":     {".", "meta/proposal"},
	"act/queue":       {"."},
	"meta/proposal":   {"."},
	"benchmarks":      {"all"},
	"contrib":         {"all"},
	"cmd":             {"all"},
	"examples":        {"all"},
}

// row returns the row of arrows that holds for a package.
func row(pkg string) string {
	for ; pkg != "."; pkg = path.Dir(pkg) {
		if _, ok := arrows[pkg]; ok {
			return pkg
		}
	}
	return "."
}

// may reports whether code of a row may import code of another.
func may(from, to string) bool {
	return from == to || slices.ContainsFunc(arrows[from], func(r string) bool { return r == "all" || may(r, to) })
}

// faults returns what is wrong in a file of the tree, whose name is relative to its root.
func faults(name string, src []byte) (out []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	test := strings.HasSuffix(name, "_test.go")
	from := row(path.Dir(filepath.ToSlash(name)))
	for _, i := range file.Imports {
		imported, _ := strconv.Unquote(i.Path.Value)
		pkg, ours := strings.CutPrefix(imported+"/", module+"/")
		if ours && !test && !may(from, row(path.Clean(pkg))) {
			out = append(out, name+" must not import "+imported)
		}
	}
	for i, line := range strings.Split(string(src), "\n") {
		if utf8.RuneCountInString(line) > 110 && !test {
			out = append(out, fmt.Sprintf("%s:%d: over 110 columns", name, i+1))
		}
	}
	// A test that starts processes waits in their time.
	processes := slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"os/exec"` })
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		switch {
		case ok && called(call, "synctest", "Test"):
			return false // in a bubble time.Sleep takes no time
		case ok && test && !processes && called(call, "time", "Sleep"):
			out = append(out, name+" calls time.Sleep outside of synctest.Test")
		}
		return true
	})
	return out, nil
}

func called(call *ast.CallExpr, pkg, name string) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}

func TestTree(t *testing.T) {
	root, files := filepath.Join("..", ".."), 0
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".go"):
			return nil
		}
		files++
		name, _ := filepath.Rel(root, file)
		src, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		found, err := faults(name, src)
		for _, f := range found {
			t.Error(f)
		}
		return err
	})
	require.NoError(t, err)
	require.Greater(t, files, 50, "files of the tree")
}

// Each rule finds what breaks it, and nothing else.
func TestRules(t *testing.T) {
	imports := func(pkg string) string { return "package x\nimport _ \"" + pkg + "\"\n" }
	for _, c := range []struct {
		name, src string
		faults    int
	}{
		{"store/x.go", imports(module + "/redact"), 1},
		{"store/x_test.go", imports(module + "/redact"), 0},
		{"memory/identity/x.go", imports(module + "/redact"), 0},
		{"memory/x.go", imports(module + "/rank"), 1},
		{"act/tools/x.go", imports(module + "/memory"), 0},
		{"act/x.go", imports(module), 1},
		{"act/queue/x.go", imports(module), 0},
		{"x.go", imports(module + "/act/queue"), 1},
		{"x.go", imports(module + "/learn"), 0},
		{"contrib/x/x.go", imports(module + "/reason/goal"), 0},
		{"rank/x_test.go", "package x\nfunc f() { time.Sleep(1) }", 1},
		{"rank/x_test.go", "package x\nimport \"os/exec\"\nfunc f() { time.Sleep(1) }", 0},
		{"rank/x.go", "package x\nfunc f() { time.Sleep(1) }", 0},
		{"rank/x.go", "package x\n// " + strings.Repeat("é", 107), 0},
		{"rank/x.go", "package x\n// " + strings.Repeat("é", 108), 1},
		{"rank/x_test.go", "package x\nfunc f() { synctest.Test(t, func() { go func() { time.Sleep(1) }() }) }", 0},
	} {
		found, err := faults(c.name, []byte(c.src))
		require.NoError(t, err)
		require.Len(t, found, c.faults, "%s: %s", c.name, c.src)
	}
}

// Go code in documents is a copy of code that is compiled: of consecutive lines of a file, but for indentation.
func TestCodeInDocuments(t *testing.T) {
	root := filepath.Join("..", "..")
	flat := func(s string) string {
		var lines []string
		for l := range strings.Lines(s) {
			lines = append(lines, strings.TrimSpace(l))
		}
		return "\n" + strings.Join(lines, "\n") + "\n"
	}
	var code strings.Builder
	require.NoError(t, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(file, ".go") {
			src, err := os.ReadFile(file)
			code.WriteString(flat(string(src)))
			return err
		}
		return err
	}))
	documents, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	blocks := 0
	for _, name := range append(documents, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, block := range strings.Split(string(text), "```go\n")[1:] {
			block, _, _ = strings.Cut(block, "```")
			blocks++
			if !strings.Contains(code.String(), flat(strings.TrimRight(block, "\n"))) {
				t.Errorf("%s has code that no file has:\n%s", filepath.Base(name), block)
			}
		}
	}
	require.Positive(t, blocks)
}
