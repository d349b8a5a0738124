package repair_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/examples/quickstart/internal/repair"
)

// intended says which fixer repairs a family.
var intended = map[string]string{
	"missing import":     "imports",
	"unused variable":    "unused",
	"misspelled member":  "spelling",
	"mismatched types":   "conversions",
	"forgotten result":   "results",
	"printf verb":        "verbs",
	"copied lock":        "locks",
	"nil map":            "maps",
	"loop bound":         "bounds",
	"inverted condition": "conditions",
}

func corpus(t *testing.T) []repair.Package {
	t.Helper()
	ps, err := repair.Load(os.DirFS("../../testdata"), "*.txtar")
	require.NoError(t, err)
	return ps
}

// unpack writes files into a fresh directory of the test.
func unpack(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

// tree reads all files under dir.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = string(data)
		return err
	}))
	return files
}

// diagnose checks a package that is broken.
func diagnose(t *testing.T, dir string) repair.Diagnosis {
	t.Helper()
	d, err := repair.Check(t.Context(), dir)
	require.NoError(t, err)
	require.False(t, d.OK())
	return d
}

func fixer(t *testing.T, name string) repair.Fixer {
	t.Helper()
	for _, f := range repair.Fixers() {
		if f.Name == name {
			return f
		}
	}
	require.Fail(t, "no fixer "+name)
	return repair.Fixer{}
}

func TestCorpusHasEachFamilyInBothSessions(t *testing.T) {
	t.Parallel()
	count := map[string]map[int]int{}
	ps := corpus(t)
	require.GreaterOrEqual(t, len(ps), 24)
	for _, p := range ps {
		require.NotEmpty(t, p.About, p.Name)
		require.Contains(t, intended, p.Family, p.Name)
		if count[p.Family] == nil {
			count[p.Family] = map[int]int{}
		}
		count[p.Family][p.Session]++
	}
	require.Len(t, count, len(intended))
	for family, sessions := range count {
		require.GreaterOrEqual(t, sessions[1], 2, family)
		require.GreaterOrEqual(t, sessions[2], 1, family)
	}
}

// Each package of the corpus is broken as it is, the intended fixer alone
// repairs it, and the others leave it as it is.
func TestOneFixerRepairsEachPackage(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command about 200 times")
	}
	t.Parallel()
	for _, p := range corpus(t) {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			original := filepath.Join(t.TempDir(), p.Name)
			require.NoError(t, p.Unpack(original))
			complaint, err := repair.Verify(t.Context(), original, original)
			require.NoError(t, err)
			require.Equal(t, repair.Unchanged, complaint)
			d := diagnose(t, original)
			for _, f := range repair.Fixers() {
				scratch := filepath.Join(t.TempDir(), p.Name)
				require.NoError(t, repair.Copy(scratch, original))
				out, err := f.Apply(t.Context(), scratch, d)
				require.NoError(t, err, f.Name)
				require.Equal(t, intended[p.Family] == f.Name, out.Changed, "%s: %v", f.Name, out.Edits)
				if !out.Changed {
					require.Equal(t, tree(t, original), tree(t, scratch), f.Name)
					continue
				}
				require.NotEmpty(t, out.Edits, f.Name)
				complaint, err := repair.Verify(t.Context(), original, scratch)
				require.NoError(t, err, f.Name)
				require.Empty(t, complaint)
			}
		})
	}
}

func TestPackageThatNoFixerRepairs(t *testing.T) {
	t.Parallel()
	ps, err := repair.Load(os.DirFS("../../testdata/hard"), "*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, ps)
	for _, p := range ps {
		original := filepath.Join(t.TempDir(), p.Name)
		require.NoError(t, p.Unpack(original))
		d := diagnose(t, original)
		for _, f := range repair.Fixers() {
			out, err := f.Apply(t.Context(), original, d)
			require.NoError(t, err, f.Name)
			require.False(t, out.Changed, "%s: %v", f.Name, out.Edits)
		}
	}
}

func TestLoadRefusesWhatIsNoPackage(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no family":  "About.\nsession: 1\n-- a.go --\npackage a\n",
		"no files":   "About.\nfamily: x\n",
		"no session": "About.\nfamily: x\nsession: one\n-- a.go --\npackage a\n",
	} {
		_, err := repair.Load(os.DirFS(unpack(t, map[string]string{"a.txtar": text})), "*.txtar")
		require.ErrorContains(t, err, "a.txtar", name)
	}
	escapes := unpack(t, map[string]string{"a.txtar": "family: x\n-- ../a.go --\npackage a\n"})
	ps, err := repair.Load(os.DirFS(escapes), "*.txtar")
	require.NoError(t, err)
	require.ErrorContains(t, ps[0].Unpack(t.TempDir()), "leaves the directory")
}
