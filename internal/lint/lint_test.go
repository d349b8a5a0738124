package lint_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

type rule struct {
	name  string
	check func(*repo) []string // one line per offence
}

// rules are all that the repository keeps to.
var rules = []rule{
	{"imports", importRule},
	{"reach", reachRule},
	{"link", linkRule},
	{"docs", docRule},
	{"use", useRule},
	{"size", sizeRule},
	{"knots", knotRule},
	{"words", wordRule},
	{"verbs", verbRule},
	{"heldout", heldOutRule},
	{"promises", promiseRule},
	{"architecture", architectureRule},
	{"shell", shellRule},
	{"edge", edgeRule},
	{"package", packageRule},
	{"length", lengthRule},
	{"library", libraryRule},
	{"sleep", sleepRule},
	{"signature", signatureRule},
	{"readme", readmeRule},
	{"hosts", hostsRule},
	{"output", outputRule},
}

func TestRepository(t *testing.T) {
	t.Parallel()
	r, err := whole()
	require.NoError(t, err)
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			for _, offence := range rule.check(r) {
				t.Error(offence)
			}
		})
	}
}

// TestBroken runs each rule over the samples that break it. A sample is named
// after its rule; the file "want" in it holds the offences.
func TestBroken(t *testing.T) {
	t.Parallel()
	for _, rule := range rules {
		if rule.name == "link" || rule.name == "length" {
			continue // see TestLink and TestLength
		}
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			want := unpack(t, filepath.Join("testdata", rule.name+".txtar"), dir)
			r, err := load(dir)
			require.NoError(t, err)
			got := rule.check(r)
			slices.Sort(got)
			require.NotEmpty(t, want)
			require.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"))
		})
	}
}

// unpack writes the files of a sample to dir and returns its offences.
func unpack(t *testing.T, name, dir string) (want []string) {
	t.Helper()
	a, err := txtar.ParseFile(name)
	require.NoError(t, err)
	for _, f := range a.Files {
		if f.Name == "want" {
			want = strings.Split(strings.TrimSpace(string(f.Data)), "\n")
			slices.Sort(want)
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, f.Data, 0o600))
	}
	return want
}

// TestLength gives the rule functions and files at its bounds and one line over
// them, which would be long samples.
func TestLength(t *testing.T) {
	t.Parallel()
	blank := func(n int) string { return strings.Repeat("\n", n) }
	body := func(n int) string { return " {" + blank(n-1) + "}\n" } // of n lines
	r := &repo{fset: token.NewFileSet()}
	for _, s := range []struct{ path, src string }{
		{"fits.go", "package p" + blank(maxFile)},
		{"long.go", "package p" + blank(maxFile+1)},
		{"functions.go", "package p\n" +
			"func fits()" + body(maxLines) +
			"func (T) Long()" + body(maxLines+1) +
			"\n// Kind is one\n// table.\nfunc Kind()" + body(2*maxLines)},
		{"p_test.go", "package p\nfunc long()" + body(maxFile)},
	} {
		f, err := parser.ParseFile(r.fset, s.path, s.src, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		r.files = append(r.files, &file{path: s.path, src: []byte(s.src), ast: f})
	}
	require.Equal(t, []string{
		"functions.go:122: Long has 121 lines, more than 120",
		"long.go:1: the file has 901 lines, more than 900",
	}, lengthRule(r))
	require.Len(t, r.longer(warnLines), 2)
}

// TestLink gives the rule a root with one module too many, which would be a
// long sample.
func TestLink(t *testing.T) {
	t.Parallel()
	r := &repo{module: "example.com/m", pkgs: map[string]*pkg{}}
	root := &pkg{ImportPath: r.module}
	r.pkgs[r.module] = root
	for i := range maxModules + 1 {
		require.Empty(t, linkRule(r), "%d modules", i)
		dep := &pkg{ImportPath: fmt.Sprintf("example.com/dep%d", i)}
		dep.Module = &struct {
			Path string
			Main bool
		}{Path: dep.ImportPath}
		r.pkgs[dep.ImportPath] = dep
		root.Imports = append(root.Imports, dep.ImportPath)
	}
	require.Len(t, linkRule(r), 1)
}
