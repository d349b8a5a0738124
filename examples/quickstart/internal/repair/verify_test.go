package repair_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/examples/quickstart/internal/repair"
)

func TestVerifyRefusesChangedTests(t *testing.T) {
	t.Parallel()
	original := unpack(t, map[string]string{
		"p.go":            "package p\n\nfunc F() int { return 1 }\n",
		"p_test.go":       "package p\n\nimport \"testing\"\n\nfunc TestF(t *testing.T) {\n\tif F() != 2 {\n\t\tt.Error(\"got 1, want 2\")\n\t}\n}\n",
		"testdata/want":   "2",
		"go.mod":          "module example.com/p\n\ngo 1.26\n",
		".hidden/x":       "not copied",
		"sub/testdata/in": "1",
	})
	for name, change := range map[string]func(dir string) error{
		"edited": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "p_test.go"), []byte("package p\n"), 0o644)
		},
		"removed": func(dir string) error { return os.Remove(filepath.Join(dir, "p_test.go")) },
		"added": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "q_test.go"), []byte("package p\n"), 0o644)
		},
		"testdata": func(dir string) error { return os.WriteFile(filepath.Join(dir, "testdata", "want"), nil, 0o644) },
		"nested":   func(dir string) error { return os.Remove(filepath.Join(dir, "sub", "testdata", "in")) },
		"module":   func(dir string) error { return os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module q\n"), 0o644) },
	} {
		scratch := filepath.Join(t.TempDir(), "scratch")
		require.NoError(t, repair.Copy(scratch, original))
		require.NoDirExists(t, filepath.Join(scratch, ".hidden"))
		require.NoError(t, change(scratch))
		complaint, err := repair.Verify(t.Context(), original, scratch)
		require.NoError(t, err, name)
		require.Equal(t, "tests were changed", complaint, name)
	}
	fixed := filepath.Join(t.TempDir(), "fixed")
	require.NoError(t, repair.Copy(fixed, original))
	require.NoError(t, os.WriteFile(filepath.Join(fixed, "p.go"), []byte("package p\n\nfunc F() int { return 3 }\n"), 0o644))
	complaint, err := repair.Verify(t.Context(), original, fixed)
	require.NoError(t, err)
	require.Contains(t, complaint, "go test fails:\n--- FAIL: TestF")
	require.NoError(t, os.WriteFile(filepath.Join(fixed, "p.go"), []byte("package p\n\nfunc F() int { return 2 }\n"), 0o644))
	complaint, err = repair.Verify(t.Context(), original, fixed)
	require.NoError(t, err)
	require.Empty(t, complaint)
}
