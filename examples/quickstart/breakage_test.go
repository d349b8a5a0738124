package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/examples/quickstart/internal/repair"
)

var (
	breakDir  = flag.String("break", "", "break packages of the standard library, and write them into this new folder")
	breakEach = flag.Int("break.each", 3, "how many packages are broken by each rule")
)

// standardPackages are those of the standard library that are broken: they pass
// the tests that need no internal package outside of GOROOT, in a few seconds.
const standardPackages = `bufio compress/bzip2 compress/flate compress/lzw container/heap container/list
	container/ring database/sql/driver debug/gosym encoding/ascii85 encoding/asn1 encoding/base32 encoding/csv
	encoding/hex encoding/pem flag go/build/constraint go/doc/comment html image/color math/cmplx mime
	mime/quotedprintable net/mail net/rpc net/textproto regexp regexp/syntax testing/fstest testing/iotest
	testing/quick text/scanner text/tabwriter text/template/parse unicode/utf16 unicode/utf8`

// breakage is one way to break a file: what replaces the bytes from one offset to
// another.
type breakage struct {
	from, to int
	text     string
}

// code is a parsed file.
type code struct {
	text []byte
	fset *token.FileSet
	file *ast.File
}

func (c *code) at(p token.Pos) int      { return c.fset.PositionFor(p, false).Offset }
func (c *code) of(n ast.Node) string    { return string(c.text[c.at(n.Pos()):c.at(n.End())]) }
func (c *code) cut(n ast.Node) breakage { return breakage{c.at(n.Pos()), c.at(n.End()), ""} }
func (c *code) put(p token.Pos, n int, text string) breakage {
	return breakage{c.at(p), c.at(p) + n, text}
}

// breakages are mistakes of each kind that a worker says it mends, as syntax
// alone offers them: wherever the kind is possible. They know no types and
// nothing of how the workers look for mistakes.
var breakages = map[string]func(c *code, n ast.Node, r *rand.Rand) []breakage{
	"imports": func(c *code, n ast.Node, _ *rand.Rand) []breakage { // one is left out
		if s, ok := n.(*ast.ImportSpec); ok && s.Name == nil {
			return []breakage{c.cut(s)}
		}
		return nil
	},
	"spelling": func(c *code, n ast.Node, r *rand.Rand) []breakage { // a letter is lost, doubled or swapped
		id, ok := n.(*ast.Ident)
		if !ok || len(id.Name) < 4 {
			return nil
		}
		i := r.IntN(len(id.Name) - 1)
		a, b := id.Name[:i], id.Name[i:]
		wrong := []string{a + b[1:], a + b[:1] + b, a + b[1:2] + b[:1] + b[2:]}[r.IntN(3)]
		return []breakage{c.put(id.Pos(), len(id.Name), wrong)}
	},
	"unused": func(c *code, n ast.Node, _ *rand.Rand) []breakage { // a blank gets a name, or a result one too many
		switch n := n.(type) {
		case *ast.RangeStmt:
			if id, ok := n.Key.(*ast.Ident); ok && id.Name == "_" && n.Tok == token.DEFINE {
				return []breakage{c.put(id.Pos(), 1, "num")}
			}
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				if id, ok := l.(*ast.Ident); ok && id.Name == "_" && n.Tok == token.DEFINE {
					return []breakage{c.put(id.Pos(), 1, "rest")}
				}
			}
		case *ast.BlockStmt:
			var out []breakage
			for _, s := range n.List {
				if a, ok := s.(*ast.AssignStmt); ok && a.Tok == token.DEFINE && len(a.Lhs) == 1 {
					out = append(out, c.put(a.Pos(), 0, "last := "+c.of(a.Rhs[0])+"\n"))
				}
			}
			return out
		}
		return nil
	},
	"results": func(c *code, n ast.Node, _ *rand.Rand) []breakage { // an error is not taken, nor looked at
		b, ok := n.(*ast.BlockStmt)
		if !ok {
			return nil
		}
		var out []breakage
		for i, s := range b.List[:max(0, len(b.List)-1)] {
			a, ok := s.(*ast.AssignStmt)
			check, isIf := b.List[i+1].(*ast.IfStmt)
			if !ok || !isIf || len(a.Lhs) < 2 || c.of(a.Lhs[len(a.Lhs)-1]) != "err" || c.of(check.Cond) != "err != nil" || check.Init != nil || check.Else != nil || len(check.Body.List) != 1 {
				continue
			}
			var names []string
			for _, l := range a.Lhs[:len(a.Lhs)-1] {
				names = append(names, c.of(l))
			}
			out = append(out, breakage{c.at(a.Pos()), c.at(check.End()), strings.Join(names, ", ") + " " + a.Tok.String() + " " + c.of(a.Rhs[0])})
		}
		return out
	},
	"conversions": func(c *code, n ast.Node, _ *rand.Rand) []breakage { // one is left out
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return nil
		}
		if name := c.of(call.Fun); slices.Contains(strings.Fields("int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 byte rune float64 string []byte []rune"), name) {
			return []breakage{{c.at(call.Pos()), c.at(call.End()), c.of(call.Args[0])}}
		}
		return nil
	},
	"verbs": func(c *code, n ast.Node, r *rand.Rand) []breakage { // one is for another type
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return nil
		}
		var out []breakage
		for i := 0; i+1 < len(lit.Value); i++ {
			if lit.Value[i] != '%' {
				continue
			}
			j := i + 1
			for j < len(lit.Value) && strings.IndexByte("+-# 0123456789.", lit.Value[j]) >= 0 {
				j++
			}
			if j < len(lit.Value) && strings.IndexByte("dsvqxftgc", lit.Value[j]) >= 0 {
				out = append(out, c.put(lit.Pos()+token.Pos(j), 1, string("dsft"[r.IntN(4)])))
			}
			i = j
		}
		return out
	},
	"maps": func(c *code, n ast.Node, _ *rand.Rand) []breakage { // one is not made
		made := func(e ast.Expr) string {
			switch e := e.(type) {
			case *ast.CallExpr:
				if c.of(e.Fun) == "make" {
					if m, ok := e.Args[0].(*ast.MapType); ok {
						return c.of(m)
					}
				}
			case *ast.CompositeLit:
				if m, ok := e.Type.(*ast.MapType); ok && len(e.Elts) == 0 {
					return c.of(m)
				}
			}
			return ""
		}
		switch n := n.(type) {
		case *ast.AssignStmt:
			if len(n.Lhs) != 1 || made(n.Rhs[0]) == "" {
				return nil
			}
			if n.Tok == token.DEFINE {
				return []breakage{{c.at(n.Pos()), c.at(n.End()), "var " + c.of(n.Lhs[0]) + " " + made(n.Rhs[0])}}
			}
			return []breakage{c.cut(n)}
		case *ast.ValueSpec:
			if len(n.Values) == 1 && made(n.Values[0]) != "" {
				return []breakage{{c.at(n.Names[0].End()), c.at(n.End()), " " + made(n.Values[0])}}
			}
		case *ast.KeyValueExpr:
			if made(n.Value) != "" {
				end := c.at(n.End())
				if c.text[end] == ',' {
					end++
				}
				return []breakage{{c.at(n.Pos()), end, ""}}
			}
		}
		return nil
	},
	"bounds": func(c *code, n ast.Node, _ *rand.Rand) []breakage { // by one too far
		b, ok := n.(*ast.BinaryExpr)
		if !ok {
			return nil
		}
		length := func(e ast.Expr) bool { return strings.HasPrefix(c.of(e), "len(") }
		switch {
		case b.Op == token.SUB && length(b.X) && c.of(b.Y) == "1":
			return []breakage{{c.at(b.Pos()), c.at(b.End()), c.of(b.X)}}
		case b.Op == token.LSS && length(b.Y):
			return []breakage{c.put(b.OpPos, 1, "<=")}
		}
		return nil
	},
	"conditions": func(c *code, n ast.Node, _ *rand.Rand) []breakage { // the branch contradicts it
		s, ok := n.(*ast.IfStmt)
		if !ok {
			return nil
		}
		says := func(name string) bool { return strings.Contains(c.of(s.Body), name) }
		switch cond := s.Cond.(type) {
		case *ast.BinaryExpr:
			if cond.Op == token.NEQ && c.of(cond.X) == "err" && c.of(cond.Y) == "nil" && says("err") {
				return []breakage{c.put(cond.OpPos, 2, "==")}
			}
			if len(s.Body.List) == 1 && (cond.Op == token.LSS || cond.Op == token.GTR) {
				a, ok := s.Body.List[0].(*ast.AssignStmt) // an extreme
				if ok && len(a.Lhs) == 1 && c.of(a.Lhs[0]) == c.of(cond.Y) && c.of(a.Rhs[0]) == c.of(cond.X) {
					return []breakage{c.put(cond.OpPos, 1, map[token.Token]string{token.LSS: ">", token.GTR: "<"}[cond.Op])}
				}
			}
		case *ast.Ident:
			a, ok := s.Init.(*ast.AssignStmt)
			if ok && len(a.Lhs) == 2 && c.of(a.Lhs[1]) == cond.Name && c.of(a.Lhs[0]) != "_" && says(c.of(a.Lhs[0])) {
				return []breakage{c.put(cond.Pos(), 0, "!")}
			}
		}
		return nil
	},
	"locks": func(c *code, n ast.Node, _ *rand.Rand) []breakage { // one is passed by value
		if f, ok := n.(*ast.FuncDecl); ok && f.Recv != nil {
			if p, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok {
				return []breakage{c.put(p.Pos(), 1, "")}
			}
		}
		return nil
	},
}

// stepOf is the step that shows each kind of mistake, and signOf what it says
// of some: a change that shows as something else is of another kind.
var (
	stepOf = map[string]string{
		"imports": "build", "spelling": "build", "unused": "build", "results": "build", "conversions": "build",
		"verbs": "vet", "locks": "vet", "maps": "test", "bounds": "test", "conditions": "test",
	}
	signOf = map[string]string{
		"unused": "declared and not used", "results": "assignment mismatch", "maps": "assignment to entry in nil map",
		"bounds": "index out of range", "locks": "passes lock by value",
	}
)

// TestBreakPackages writes packages of the standard library, each broken once at
// a place that is drawn, for TestPackagesOfOthers.
func TestBreakPackages(t *testing.T) {
	if *breakDir == "" {
		t.Skip("nothing is broken: -break names a new folder")
	}
	require.NoDirExists(t, *breakDir)
	sound := t.TempDir()
	for _, pkg := range strings.Fields(standardPackages) {
		name := strings.ReplaceAll(pkg, "/", "-")
		if !copyStandard(t, pkg, filepath.Join(sound, name)) {
			t.Logf("%s does not pass outside of GOROOT", pkg)
		}
	}
	names, err := os.ReadDir(sound)
	require.NoError(t, err)
	var manifest []other
	for _, class := range slices.Sorted(maps.Keys(breakages)) {
		r := rand.New(rand.NewPCG(*othersSeed, uint64(len(class))<<32+uint64(class[0])))
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		n := 0
		for _, e := range names {
			if n == *breakEach {
				break
			}
			o := other{Name: class + "-" + e.Name(), Class: class, Covered: true}
			if breakPackage(t, filepath.Join(sound, e.Name()), filepath.Join(*breakDir, o.Name), class, r) {
				manifest, n = append(manifest, o), n+1
			}
		}
		t.Logf("%s: %d", class, n)
	}
	raw, err := json.MarshalIndent(manifest, "", " ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(*breakDir, "manifest.json"), raw, 0o644))
}

// copyStandard copies a package as a module, and reports whether it passes there.
func copyStandard(t *testing.T, pkg, dir string) bool {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	require.NoError(t, err)
	from := filepath.Join(strings.TrimSpace(string(root)), "src", pkg)
	require.NoError(t, repair.Copy(dir, from))
	subs, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range subs {
		if e.IsDir() && e.Name() != "testdata" {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, name := range files { // tests from outside mean the copy
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		if strings.HasSuffix(name, "_test.go") && bytes.Contains(text, []byte("\"internal/")) {
			require.NoError(t, os.Remove(name))
		} else if strings.HasSuffix(name, "_test.go") {
			text = bytes.ReplaceAll(text, []byte(`"`+pkg+`"`), []byte(`"example.com/`+path.Base(pkg)+`"`))
			require.NoError(t, os.WriteFile(name, text, 0o644))
		}
	}
	mod := fmt.Sprintf("module example.com/%s\n\ngo 1.26\n", path.Base(pkg))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o644))
	d, err := repair.Check(t.Context(), dir)
	require.NoError(t, err)
	if !d.OK() || d.Wall.Seconds() > 8 {
		t.Log(d.Text)
		require.NoError(t, os.RemoveAll(dir))
		return false
	}
	return true
}

// breakPackage writes a broken copy of a package to dir, and reports whether one
// of the places drawn broke it in the step that shows the kind.
func breakPackage(t *testing.T, from, dir, class string, r *rand.Rand) bool {
	t.Helper()
	type place struct {
		name string
		text []byte
		breakage
	}
	var places []place
	files, err := filepath.Glob(filepath.Join(from, "*.go"))
	require.NoError(t, err)
	for _, name := range files {
		match, err := build.Default.MatchFile(from, filepath.Base(name))
		require.NoError(t, err)
		if !match || strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		c := &code{text: text, fset: token.NewFileSet()}
		c.file, err = parser.ParseFile(c.fset, name, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(c.file, func(n ast.Node) bool {
			for _, b := range breakages[class](c, n, r) {
				places = append(places, place{filepath.Base(name), text, b})
			}
			return true
		})
	}
	r.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	for _, p := range places[:min(3, len(places))] {
		require.NoError(t, repair.Copy(dir, from))
		text := string(p.text[:p.from]) + p.breakage.text + string(p.text[p.to:])
		require.NoError(t, os.WriteFile(filepath.Join(dir, p.name), []byte(text), 0o644))
		d, err := repair.Check(t.Context(), dir)
		require.NoError(t, err)
		if d.Step == stepOf[class] && strings.Contains(d.Text, signOf[class]) && d.Wall.Seconds() < 15 {
			line := 1 + strings.Count(text[:p.from], "\n")
			t.Logf("%s %s:%d\n%s", class, filepath.Join(filepath.Base(from), p.name), line, d.Text)
			return true
		}
		if d.OK() {
			t.Logf("%s %s passes broken: it stands in no set", class, filepath.Join(filepath.Base(from), p.name))
		}
	}
	require.NoError(t, os.RemoveAll(dir))
	return false
}
