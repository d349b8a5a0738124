package repair_test

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/examples/quickstart/internal/repair"
)

func TestSituationLeavesNamesOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ step, text, want string }{
		{"", "", ""},
		{"build", "./a.go:3:8: undefined: strings\n./a.go:9:2: undefined: strings", "build undefined standard package"},
		{"build", "./a.go:3:8: undefined: totla", "build undefined name"},
		{"build", "./a.go:3:8: undefined: strings.Replce", "build undefined standard member"},
		{"build", "./a.go:3:8: b.format undefined (type *Writer has no field or method format)", "build undefined name field method"},
		{"build", "./a.go:3:8: invalid operation: a + b (mismatched types int and float64)", "build mismatched types basic"},
		{"build", "./a.go:3:8: cannot use f(a) (value of type int) as string value in argument to g", "build mismatched types basic"},
		{"build", "./a.go:3:8: cannot use a (variable of type T) as *T value in return statement", "build mismatched types"},
		{"build", `./a.go:3:8: "os" imported and not used`, "build standard package imported not used"},
		{"build", "./a.go:3:8: declared and not used: value", "build declared not used name"},
		{"vet", "vet: ./a.go:7:2: missing return", "vet missing return"},
		{"test", "--- FAIL: TestA (0.00s)\n    a_test.go:5: Sum: got 3, want 4\n    a_test.go:6: got 1, want 2", "test got want"},
		{"test", "--- FAIL: TestA\n    a_test.go:5: got 3\npanic: assignment to entry in nil map [recovered, repanicked]", "test panic assignment entry nil map"},
	} {
		require.Equal(t, c.want, repair.Diagnosis{Step: c.step, Text: c.text}.Situation(), c.text)
	}
}

// Two packages of a family are in nearly the same situation, two of different
// families are not, and no word of it says who should repair them.
func TestSituationTellsFamiliesApart(t *testing.T) {
	t.Parallel()
	type seen struct{ name, family, situation string }
	var all []seen
	for _, p := range corpus(t) {
		dir := filepath.Join(t.TempDir(), p.Name)
		require.NoError(t, p.Unpack(dir))
		d, err := repair.Check(t.Context(), dir)
		require.NoError(t, err)
		require.NotContains(t, strings.Fields(d.Situation()), intended[p.Family])
		all = append(all, seen{p.Name, p.Family, d.Situation()})
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if got := cosine(a.situation, b.situation); a.family == b.family {
				require.Greater(t, got, 0.85, "%s %q and %s %q", a.name, a.situation, b.name, b.situation)
			} else {
				require.Less(t, got, 0.7, "%s %q and %s %q", a.name, a.situation, b.name, b.situation)
			}
		}
	}
}

// cosine compares two texts as sets of words.
func cosine(a, b string) float64 {
	x, y := strings.Fields(a), strings.Fields(b)
	common := 0
	for _, w := range x {
		if strings.Contains(" "+b+" ", " "+w+" ") {
			common++
		}
	}
	return float64(common) / math.Sqrt(float64(len(x)*len(y)))
}

func TestCheckStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := repair.Check(ctx, t.TempDir())
	require.ErrorIs(t, err, context.Canceled)
}

func TestCheckOfADirectoryThatIsNotThere(t *testing.T) {
	t.Parallel()
	_, err := repair.Check(t.Context(), filepath.Join(t.TempDir(), "none"))
	require.Error(t, err)
}
