package slots_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/slots"
)

func TestGroups(t *testing.T) {
	b, err := os.ReadFile("testdata/groups.txt")
	require.NoError(t, err)
	total, missed, wrong := 0, 0, 0
	for group := range strings.SplitSeq(string(b), "\n\n") {
		var key uint64
		var first string
		for line := range strings.Lines(group) {
			line = strings.TrimSpace(line)
			if line == "" || line[0] == '#' {
				continue
			}
			negative := strings.HasPrefix(line, "! ")
			r := slots.Read(strings.TrimPrefix(line, "! "), "")
			if key == 0 {
				require.NotEmpty(t, r.Statements, line)
				key, first = r.Statements[0].Key, r.Statements[0].Words
			}
			has := slices.ContainsFunc(r.Statements, func(s slots.Statement) bool { return s.Key == key })
			switch {
			case negative && has:
				wrong++
				t.Logf("wrong: %q %v", line, words(r))
			case !negative && !has:
				missed++
				t.Logf("missed (%s): %q %v", first, line, words(r))
			}
			total++
		}
	}
	t.Logf("%d sentences, %d missed, %d wrong", total, missed, wrong)
	require.Zero(t, wrong)
	require.Less(t, float64(missed), 0.05*float64(total))
}

func TestPairs(t *testing.T) {
	b, err := os.ReadFile("testdata/pairs.txt")
	require.NoError(t, err)
	all, n := 0, 0
	for line := range strings.Lines(string(b)) {
		old, changed, ok := strings.Cut(strings.TrimSpace(line), "|")
		if !ok || line[0] == '#' {
			continue
		}
		all++
		if links(slots.Read(old, ""), slots.Read(changed, "")) {
			n++
		} else {
			t.Logf("%q, %q", old, changed)
		}
	}
	t.Logf("%d of %d linked", n, all)
	require.Greater(t, float64(n), 0.84*float64(all))
}
