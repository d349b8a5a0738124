package repair_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each case is a function that one fixer edits; want is its text afterwards.
func TestFixersEdit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, fixer, old, want string }{
		{"import into none", "imports",
			"package p\n\nfunc f() string { return strconv.Itoa(1) }\n",
			"package p\n\nimport \"strconv\"\n\nfunc f() string { return strconv.Itoa(1) }\n"},
		{"import beside one", "imports",
			"package p\n\nimport \"fmt\"\n\nvar _ = fmt.Sprint(strconv.Itoa(1))\n",
			"package p\n\nimport \"strconv\"\nimport \"fmt\"\n\nvar _ = fmt.Sprint(strconv.Itoa(1))\n"},
		{"a field of that name is no package", "imports",
			"package p\n\ntype t struct{ strings []int }\n\nfunc f(strings t) int { return len(strings.strings) }\n", ""},
		{"all assigned", "unused",
			"package p\n\nfunc f() {\n\tx := 1\n}\n", "package p\n\nfunc f() {\n\t_ = 1\n}\n"},
		{"declared only", "unused",
			"package p\n\nfunc f() {\n\tvar x int\n}\n", "package p\n\nfunc f() {\n\n}\n"},
		{"value of a range", "unused",
			"package p\n\nfunc f(s []int) {\n\tfor i, v := range s {\n\t\tprintln(i)\n\t}\n}\n",
			"package p\n\nfunc f(s []int) {\n\tfor i := range s {\n\t\tprintln(i)\n\t}\n}\n"},
		{"both of a range", "unused",
			"package p\n\nfunc f(s []int) {\n\tfor i, v := range s {\n\t}\n}\n",
			"package p\n\nfunc f(s []int) {\n\tfor range s {\n\t}\n}\n"},
		{"misspelled local", "spelling",
			"package p\n\nfunc f(total int) int { return totla }\n", "package p\n\nfunc f(total int) int { return total }\n"},
		{"misspelled key", "spelling",
			"package p\n\ntype t struct{ width int }\n\nvar x = t{widht: 1}\n",
			"package p\n\ntype t struct{ width int }\n\nvar x = t{width: 1}\n"},
		{"misspelled function of a package", "spelling",
			"package p\n\nimport \"strings\"\n\nvar x = strings.ToUper(\"a\")\n",
			"package p\n\nimport \"strings\"\n\nvar x = strings.ToUpper(\"a\")\n"},
		{"nothing near", "spelling", "package p\n\nfunc f(total int) int { return sum }\n", ""},
		{"argument", "conversions",
			"package p\n\nimport \"math\"\n\nfunc f(n int) float64 { return math.Sqrt(n) }\n",
			"package p\n\nimport \"math\"\n\nfunc f(n int) float64 { return math.Sqrt(float64(n)) }\n"},
		{"bytes", "conversions",
			"package p\n\nfunc f(b []byte) string { return b }\n", "package p\n\nfunc f(b []byte) string { return string(b) }\n"},
		{"a number is no text", "conversions", "package p\n\nfunc f(n int) string { return n }\n", ""},
		{"a result that cannot be returned", "results",
			"package p\n\nimport \"strconv\"\n\nfunc f(s string) int {\n\tn := strconv.Atoi(s)\n\treturn n\n}\n",
			"package p\n\nimport \"strconv\"\n\nfunc f(s string) int {\n\tn, _ := strconv.Atoi(s)\n\treturn n\n}\n"},
		{"flags of a verb", "verbs",
			"package p\n\nimport \"fmt\"\n\nvar x = fmt.Sprintf(\"%5.2f%% %-4d\", 7, \"a\")\n",
			"package p\n\nimport \"fmt\"\n\nvar x = fmt.Sprintf(\"%5d%% %-4s\", 7, \"a\")\n"},
		{"a wrapped error", "verbs",
			"package p\n\nimport \"fmt\"\n\nfunc f(err error) error { return fmt.Errorf(\"f: %w\", err) }\n", ""},
		{"a lock as argument", "locks",
			"package p\n\nimport \"sync\"\n\ntype t struct{ mu sync.Mutex }\n\nfunc f(x t) { x.mu.Lock() }\n\nfunc g() { var x t; f(x) }\n",
			"package p\n\nimport \"sync\"\n\ntype t struct{ mu sync.Mutex }\n\nfunc f(x *t) { x.mu.Lock() }\n\nfunc g() { var x t; f(&x) }\n"},
		{"a map of the package", "maps",
			"package p\n\nvar seen map[string]bool\n\nfunc f(s string) { seen[s] = true }\n",
			"package p\n\nvar seen = make(map[string]bool)\n\nfunc f(s string) { seen[s] = true }\n"},
		{"a map made elsewhere", "maps",
			"package p\n\nvar seen map[string]bool\n\nfunc f(s string) {\n\tseen = map[string]bool{}\n\tseen[s] = true\n}\n", ""},
		{"an index", "bounds",
			"package p\n\nfunc f(s []int) int { return s[len(s)] }\n", "package p\n\nfunc f(s []int) int { return s[len(s)-1] }\n"},
		{"a map has no end", "bounds", "package p\n\nfunc f(s map[int]int) int { return s[len(s)] }\n", ""},
		{"the wrong extreme", "conditions",
			"package p\n\nfunc longest(s []int) int {\n\tbest := 0\n\tfor _, v := range s {\n\t\tif v < best {\n\t\t\tbest = v\n\t\t}\n\t}\n\treturn best\n}\n",
			"package p\n\nfunc longest(s []int) int {\n\tbest := 0\n\tfor _, v := range s {\n\t\tif v > best {\n\t\t\tbest = v\n\t\t}\n\t}\n\treturn best\n}\n"},
	} {
		t.Run(c.fixer+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			dir := unpack(t, map[string]string{"p.go": c.old, "p_test.go": c.old, "go.mod": "module p\n\ngo 1.26\n"})
			out, err := fixer(t, c.fixer).Apply(t.Context(), dir)
			require.NoError(t, err)
			got := tree(t, dir)
			require.Equal(t, c.old, got["/p_test.go"], "tests are never edited")
			if c.want == "" {
				require.False(t, out.Changed, "%v", out.Edits)
				require.Equal(t, c.old, got["/p.go"])
				return
			}
			require.True(t, out.Changed)
			require.Contains(t, normal(got["/p.go"]), normal(c.want))
		})
	}
}

// normal undoes what gofmt does to lines.
func normal(text string) string { return strings.Join(strings.Fields(text), " ") }

// A file that was not formatted keeps its form around the edit.
func TestFixersLeaveTheRestAsItIs(t *testing.T) {
	t.Parallel()
	old := "package p\n\nvar   a=1 // odd\n\nfunc f( ) (int){\n  x:=2\n  return a}\n"
	dir := unpack(t, map[string]string{"p.go": old, "go.mod": "module p\n\ngo 1.26\n"})
	out, err := fixer(t, "unused").Apply(t.Context(), dir)
	require.NoError(t, err)
	require.Equal(t, []string{"p.go:6: x is not used"}, out.Edits)
	require.Equal(t, strings.Replace(old, "x:=2", "_=2", 1), tree(t, dir)["/p.go"])
}

func TestFixersReportWhatTheyCannotRead(t *testing.T) {
	t.Parallel()
	f := fixer(t, "imports")
	_, err := f.Apply(t.Context(), t.TempDir())
	require.ErrorContains(t, err, "no Go files")
	dir := unpack(t, map[string]string{"p.go": "package p\n\nfunc {"})
	_, err = f.Apply(t.Context(), dir)
	require.ErrorContains(t, err, "imports: ")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = f.Apply(ctx, dir)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, os.Remove(filepath.Join(dir, "p.go")))
}
