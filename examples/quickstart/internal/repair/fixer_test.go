package repair_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/examples/quickstart/internal/repair"
)

// Each case is a package that one fixer edits; want is its text afterwards, ""
// if it stays as it is. test is the body of a test.
func TestFixersEdit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, fixer, old, want, test string }{
		{"import into none", "imports",
			"package p\n\nfunc f() string { return strconv.Itoa(1) }\n",
			"package p\n\nimport \"strconv\"\n\nfunc f() string { return strconv.Itoa(1) }\n", ""},
		{"import beside one", "imports",
			"package p\n\nimport \"fmt\"\n\nvar _ = fmt.Sprint(strconv.Itoa(1))\n",
			"package p\n\nimport \"strconv\"\nimport \"fmt\"\n\nvar _ = fmt.Sprint(strconv.Itoa(1))\n", ""},
		{"all assigned", "unused",
			"package p\n\nfunc f() {\n\tx := 1\n}\n", "package p\n\nfunc f() {\n\t_ = 1\n}\n", ""},
		{"declared only", "unused",
			"package p\n\nfunc f() {\n\tvar x int\n}\n", "package p\n\nfunc f() {\n\n}\n", ""},
		{"value of a range", "unused",
			"package p\n\nfunc f(s []int) {\n\tfor i, v := range s {\n\t\tprintln(i)\n\t}\n}\n",
			"package p\n\nfunc f(s []int) {\n\tfor i := range s {\n\t\tprintln(i)\n\t}\n}\n", ""},
		{"both of a range", "unused",
			"package p\n\nfunc f(s []int) {\n\tfor i, v := range s {\n\t}\n}\n",
			"package p\n\nfunc f(s []int) {\n\tfor range s {\n\t}\n}\n", ""},
		{"misspelled local", "spelling",
			"package p\n\nfunc f(total int) int { return totla }\n", "package p\n\nfunc f(total int) int { return total }\n", ""},
		{"misspelled key", "spelling",
			"package p\n\ntype t struct{ width int }\n\nvar x = t{widht: 1}\n",
			"package p\n\ntype t struct{ width int }\n\nvar x = t{width: 1}\n", ""},
		{"misspelled function of a package", "spelling",
			"package p\n\nimport \"strings\"\n\nvar x = strings.ToUper(\"a\")\n",
			"package p\n\nimport \"strings\"\n\nvar x = strings.ToUpper(\"a\")\n", ""},
		{"nothing near", "spelling", "package p\n\nfunc f(total int) int { return sum }\n", "", ""},
		{"argument", "conversions",
			"package p\n\nimport \"math\"\n\nfunc f(n int) float64 { return math.Sqrt(n) }\n",
			"package p\n\nimport \"math\"\n\nfunc f(n int) float64 { return math.Sqrt(float64(n)) }\n", ""},
		{"bytes", "conversions",
			"package p\n\nfunc f(b []byte) string { return b }\n", "package p\n\nfunc f(b []byte) string { return string(b) }\n", ""},
		{"a number is no text", "conversions", "package p\n\nfunc f(n int) string { return n }\n", "", ""},
		{"a result that cannot be returned", "results",
			"package p\n\nimport \"strconv\"\n\nfunc f(s string) int {\n\tn := strconv.Atoi(s)\n\treturn n\n}\n",
			"package p\n\nimport \"strconv\"\n\nfunc f(s string) int {\n\tn, _ := strconv.Atoi(s)\n\treturn n\n}\n", ""},
		{"flags of a verb", "verbs",
			"package p\n\nimport \"fmt\"\n\nvar x = fmt.Sprintf(\"%5.2f%% %-4d\", 7, \"a\")\n",
			"package p\n\nimport \"fmt\"\n\nvar x = fmt.Sprintf(\"%5d%% %-4s\", 7, \"a\")\n", ""},
		{"a lock as argument", "locks",
			"package p\n\nimport \"sync\"\n\ntype t struct{ mu sync.Mutex }\n\nfunc f(x t) { x.mu.Lock() }\n\nfunc g() { var x t; f(x) }\n",
			"package p\n\nimport \"sync\"\n\ntype t struct{ mu sync.Mutex }\n\nfunc f(x *t) { x.mu.Lock() }\n\nfunc g() { var x t; f(&x) }\n", ""},
		{"a map of the package", "maps",
			"package p\n\nvar seen map[string]bool\n\nfunc f(s string) { seen[s] = true }\n",
			"package p\n\nvar seen = make(map[string]bool)\n\nfunc f(s string) { seen[s] = true }\n", "f(\"a\")"},
		{"an index", "bounds",
			"package p\n\nfunc f(s []int) int { return s[len(s)] }\n", "package p\n\nfunc f(s []int) int { return s[len(s)-1] }\n", "if f([]int{1, 2}) != 2 {\n\t\tt.Fail()\n\t}"},
		{"the wrong extreme", "conditions",
			"package p\n\nfunc longest(s []int) int {\n\tbest := 0\n\tfor _, v := range s {\n\t\tif v < best {\n\t\t\tbest = v\n\t\t}\n\t}\n\treturn best\n}\n",
			"package p\n\nfunc longest(s []int) int {\n\tbest := 0\n\tfor _, v := range s {\n\t\tif v > best {\n\t\t\tbest = v\n\t\t}\n\t}\n\treturn best\n}\n", "if longest([]int{1, 3, 2}) != 3 {\n\t\tt.Fail()\n\t}"},
		{"of two packages of a name, the one that has it all", "imports",
			"package p\n\nvar x = rand.Intn(3)\n", "package p\n\nimport \"math/rand\"\n\nvar x = rand.Intn(3)\n", ""},
		{"an import of nothing", "imports",
			"package p\n\nimport\n\nvar x = strconv.Itoa(1)\n",
			"package p\n\nimport \"strconv\"\n\nvar x = strconv.Itoa(1)\n", ""},
		{"testing", "imports",
			"package p\n\nfunc f() bool { return testing.Short() }\n",
			"package p\n\nimport \"testing\"\n\nfunc f() bool { return testing.Short() }\n", ""},
		{"where it is assigned to", "unused",
			"package p\n\nfunc f() {\n\tvar a, b int\n\ta = 1\n\tb = 2\n\tprintln(a)\n}\n",
			"package p\n\nfunc f() {\n\tvar a, _ int\n\ta = 1\n\t_ = 2\n\tprintln(a)\n}\n", ""},
		{"of a type switch", "unused",
			"package p\n\nfunc f(a any) {\n\tswitch x := a.(type) {\n\tcase int:\n\t}\n}\n",
			"package p\n\nfunc f(a any) {\n\tswitch a.(type) {\n\tcase int:\n\t}\n}\n", ""},
		{"a small letter for a capital", "spelling",
			"package p\n\nimport \"math\"\n\nvar x = math.sqrt(2)\n", "package p\n\nimport \"math\"\n\nvar x = math.Sqrt(2)\n", ""},
		{"a label", "spelling",
			"package p\n\nfunc f() {\nouter:\n\tfor {\n\t\tbreak outr\n\t}\n}\n",
			"package p\n\nfunc f() {\nouter:\n\tfor {\n\t\tbreak outer\n\t}\n}\n", ""},
		{"a letter to a text", "conversions",
			"package p\n\nfunc f(s string) (out string) {\n\tfor _, r := range s {\n\t\tout += r\n\t}\n\treturn out\n}\n",
			"package p\n\nfunc f(s string) (out string) {\n\tfor _, r := range s {\n\t\tout += string(r)\n\t}\n\treturn out\n}\n", ""},
		{"what is appended", "conversions",
			"package p\n\nfunc f(s string) []string { return append([]string{}, s[0]) }\n",
			"package p\n\nfunc f(s string) []string { return append([]string{}, string(s[0])) }\n", ""},
		{"a field and a typed constant", "conversions",
			"package p\n\ntype t struct{ n int64 }\n\nconst c int = 3\n\nfunc f(n int) t { return t{n: n * c} }\n",
			"package p\n\ntype t struct{ n int64 }\n\nconst c int = 3\n\nfunc f(n int) t { return t{n: int64(n * c)} }\n", ""},
		{"a result that is no error", "results",
			"package p\n\nimport \"strings\"\n\nfunc f(s string) string {\n\ta := strings.Cut(s, \":\")\n\treturn a\n}\n",
			"package p\n\nimport \"strings\"\n\nfunc f(s string) string {\n\ta, _, _ := strings.Cut(s, \":\")\n\treturn a\n}\n", ""},
		{"a precise float, and one of our own", "verbs",
			"package p\n\nimport \"fmt\"\n\nfunc logf(format string, args ...any) { fmt.Printf(format, args...) }\n\nfunc f(v float64) { logf(\"%.1d\", v) }\n",
			"package p\n\nimport \"fmt\"\n\nfunc logf(format string, args ...any) { fmt.Printf(format, args...) }\n\nfunc f(v float64) { logf(\"%.1f\", v) }\n", ""},
		{"a lock as argument of a method", "locks",
			"package p\n\nimport \"sync\"\n\ntype t struct{ mu sync.Mutex }\n\ntype u struct{}\n\nfunc (u) f(x t) {}\n\nfunc g(x *t) { u{}.f(*x) }\n",
			"package p\n\nimport \"sync\"\n\ntype t struct{ mu sync.Mutex }\n\ntype u struct{}\n\nfunc (u) f(x *t) {}\n\nfunc g(x *t) { u{}.f(x) }\n", ""},
		{"a field that no literal makes", "maps",
			"package p\n\ntype t0 struct{ m map[string]int }\n\nfunc (x *t0) f() { x.m[\"a\"]++ }\n",
			"package p\n\ntype t0 struct{ m map[string]int }\n\nfunc (x *t0) f() {\n\tif x.m == nil {\n\t\tx.m = make(map[string]int)\n\t}\n\tx.m[\"a\"]++\n}\n", "new(t0).f()"},
		{"a result with a name", "maps",
			"package p\n\nfunc f() (m map[string]int) {\n\tm[\"a\"] = 1\n\treturn m\n}\n",
			"package p\n\nfunc f() (m map[string]int) {\n\tif m == nil {\n\t\tm = make(map[string]int)\n\t}\n\tm[\"a\"] = 1\n\treturn m\n}\n", "f()"},
		{"a guard", "bounds",
			"package p\n\nfunc f(s []int, i int) bool { return i <= len(s) && s[i] == 0 }\n",
			"package p\n\nfunc f(s []int, i int) bool { return i < len(s) && s[i] == 0 }\n", "f([]int{1}, 1)"},
		{"a last index", "bounds",
			"package p\n\nfunc f(s []int) int {\n\tlast := len(s)\n\treturn s[last]\n}\n",
			"package p\n\nfunc f(s []int) int {\n\tlast := len(s) - 1\n\treturn s[last]\n}\n", "f([]int{1})"},
		{"an extreme that begins with zero", "conditions",
			"package p\n\nfunc f(s []int) (maxSeen int) {\n\tfor _, v := range s {\n\t\tif maxSeen > v {\n\t\t\tmaxSeen = v\n\t\t}\n\t}\n\treturn maxSeen\n}\n",
			"package p\n\nfunc f(s []int) (maxSeen int) {\n\tfor _, v := range s {\n\t\tif maxSeen < v {\n\t\t\tmaxSeen = v\n\t\t}\n\t}\n\treturn maxSeen\n}\n", "if f([]int{1, 3, 2}) != 3 {\n\t\tt.Fail()\n\t}"},
		{"an extreme that begins with the largest", "conditions",
			"package p\n\nimport \"math\"\n\nfunc f(s []int) int {\n\tbest := math.MaxInt\n\tfor _, v := range s {\n\t\tif v > best {\n\t\t\tbest = v\n\t\t}\n\t}\n\treturn best\n}\n",
			"package p\n\nimport \"math\"\n\nfunc f(s []int) int {\n\tbest := math.MaxInt\n\tfor _, v := range s {\n\t\tif v < best {\n\t\t\tbest = v\n\t\t}\n\t}\n\treturn best\n}\n", "if f([]int{4, 3, 5}) != 3 {\n\t\tt.Fail()\n\t}"},
		{"an error that is told", "conditions",
			"package p\n\nfunc f(err error) string {\n\tif err == nil {\n\t\treturn err.Error()\n\t}\n\treturn \"\"\n}\n",
			"package p\n\nfunc f(err error) string {\n\tif err != nil {\n\t\treturn err.Error()\n\t}\n\treturn \"\"\n}\n", "f(nil)"},
		{"an empty slice that is read", "conditions",
			"package p\n\nfunc f(s []int) int {\n\tif len(s) == 0 {\n\t\treturn s[0]\n\t}\n\treturn 0\n}\n",
			"package p\n\nfunc f(s []int) int {\n\tif len(s) != 0 {\n\t\treturn s[0]\n\t}\n\treturn 0\n}\n", "f(nil)"},
		{"a variable that was given another type", "conversions",
			"package p\n\nfunc g(r rune) rune { return r }\n\nfunc f(s string) rune {\n\tch := s[0]\n\tch = g(ch)\n\treturn g(ch)\n}\n",
			"package p\n\nfunc g(r rune) rune { return r }\n\nfunc f(s string) rune {\n\tch := rune(s[0])\n\tch = g(ch)\n\treturn g(ch)\n}\n", ""},
		{"an operand, as the result is too small", "conversions",
			"package p\n\nfunc f(v uint32, b []byte) uint32 {\n\tv |= b[0] << 16\n\treturn v\n}\n",
			"package p\n\nfunc f(v uint32, b []byte) uint32 {\n\tv |= uint32(b[0]) << 16\n\treturn v\n}\n", ""},
		{"the verb that a test asks for", "verbs",
			"package p\n\nimport \"fmt\"\n\nfunc f(b []byte) string { return fmt.Sprintf(\"%t\", b) }\n",
			"package p\n\nimport \"fmt\"\n\nfunc f(b []byte) string { return fmt.Sprintf(\"%q\", b) }\n",
			"if f([]byte{65}) != \"\\\"A\\\"\" {\n\t\tt.Fail()\n\t}"},
		{"a declaration that is misspelled", "spelling",
			"package p\n\nfunc totla() int { return 1 }\n\nvar one = total()\n",
			"package p\n\nfunc total() int { return 1 }\n\nvar one = total()\n", "total()"},
		{"a variable that is read behind what does not parse its error", "results",
			"package p\n\nimport \"strconv\"\n\nfunc f(s string) (n int, err error) {\n\tm := strconv.Atoi(s)\n\treturn m, nil\n}\n",
			"package p\n\nimport \"strconv\"\n\nfunc f(s string) (n int, err error) {\n\tm, err := strconv.Atoi(s)\n\tif err != nil {\n\t\treturn 0, err\n\t}\n\treturn m, nil\n}\n", ""},
		{"what is unused and changes something", "unused",
			"package p\n\nfunc f(c chan int) int {\n\tlast := <-c\n\treturn <-c\n}\n",
			"package p\n\nfunc f(c chan int) int {\n\n\treturn <-c\n}\n",
			"c := make(chan int, 2)\n\tc <- 1\n\tc <- 2\n\tif f(c) != 1 {\n\t\tt.Fail()\n\t}"},
		{"a map under another name", "maps",
			"package p\n\nfunc f() (m map[string]int) {\n\tn := m\n\tn[\"a\"] = 1\n\treturn m\n}\n",
			"package p\n\nfunc f() (m map[string]int) {\n\tif m == nil {\n\t\tm = make(map[string]int)\n\t}\n\tn := m\n\tn[\"a\"] = 1\n\treturn m\n}\n",
			"if f()[\"a\"] != 1 {\n\t\tt.Fail()\n\t}"},
		{"a map of a map under another name", "maps",
			"package p\n\nfunc f(all map[int]map[int]int) {\n\tone := all[1]\n\tone[2] = 3\n}\n",
			"package p\n\nfunc f(all map[int]map[int]int) {\n\tif all[1] == nil {\n\t\tall[1] = make(map[int]int)\n\t}\n\tone := all[1]\n\tone[2] = 3\n}\n",
			"all := map[int]map[int]int{}\n\tf(all)\n\tif all[1][2] != 3 {\n\t\tt.Fail()\n\t}"},
		{"one of two limits", "bounds",
			"package p\n\nfunc f(s []int) (n int) {\n\tfor i := 0; i <= len(s); i++ {\n\t\tif i <= len(s) {\n\t\t\tn++\n\t\t}\n\t}\n\treturn s[len(s)-1] + n\n}\n\nfunc g(s []int) int { return s[len(s)] }\n",
			"package p\n\nfunc f(s []int) (n int) {\n\tfor i := 0; i <= len(s); i++ {\n\t\tif i <= len(s) {\n\t\t\tn++\n\t\t}\n\t}\n\treturn s[len(s)-1] + n\n}\n\nfunc g(s []int) int { return s[len(s)-1] }\n",
			"if f([]int{1})+g([]int{1}) != 4 {\n\t\tt.Fail()\n\t}"},
	} {
		t.Run(c.fixer+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"p.go": c.old, "go.mod": "module p\n\ngo 1.26\n"}
			if c.test != "" {
				files["p_test.go"] = "package p\n\nimport \"testing\"\n\nfunc TestF(t *testing.T) {\n\t" + c.test + "\n}\n"
			}
			dir := unpack(t, files)
			out, err := fixer(t, c.fixer).Apply(t.Context(), dir, diagnose(t, dir))
			require.NoError(t, err)
			got := tree(t, dir)
			require.Equal(t, files["p_test.go"], got["/p_test.go"], "tests are never edited")
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
	out, err := fixer(t, "unused").Apply(t.Context(), dir, diagnose(t, dir))
	require.NoError(t, err)
	require.Equal(t, []string{"p.go:6: x is not used"}, out.Edits)
	require.Equal(t, strings.Replace(old, "x:=2", "_=2", 1), tree(t, dir)["/p.go"])
}

func TestFixersLeaveWhatPasses(t *testing.T) {
	t.Parallel()
	old := "package p\n\nfunc f(s []int) int { return s[len(s)] }\n"
	dir := unpack(t, map[string]string{"p.go": old, "go.mod": "module p\n\ngo 1.26\n"})
	out, err := fixer(t, "bounds").Apply(t.Context(), dir, repair.Diagnosis{})
	require.NoError(t, err)
	require.Equal(t, repair.Outcome{}, out)
	require.Equal(t, old, tree(t, dir)["/p.go"])
}

func TestFixersReportWhatTheyCannotRead(t *testing.T) {
	t.Parallel()
	f := fixer(t, "imports")
	_, err := f.Apply(t.Context(), t.TempDir(), repair.Diagnosis{})
	require.ErrorContains(t, err, "no Go files")
	dir := unpack(t, map[string]string{"p.go": "package p\n\nfunc {"})
	_, err = f.Apply(t.Context(), dir, repair.Diagnosis{})
	require.ErrorContains(t, err, "imports: ")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = f.Apply(ctx, dir, repair.Diagnosis{})
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, os.Remove(filepath.Join(dir, "p.go")))
}
