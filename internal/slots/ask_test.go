package slots_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/slots"
	"github.com/arc-learn/arc/internal/slots/slotstest"
)

// The questions of the corpus, which have other words than the statements.
func TestQuestionsOfTheCorpusNameTheirSlots(t *testing.T) {
	for _, part := range []slotstest.Part{slotstest.Dev, slotstest.Held, slotstest.Fresh} {
		n, read := 0, 0
		missed := map[string]int{}
		for _, f := range slotstest.Corpus(part, 1) {
			st := slots.Read(f.New, f.Actor).Statements
			if len(st) == 0 {
				continue
			}
			read++
			q := slots.Ask(f.Ask)
			if slices.ContainsFunc(st, func(s slots.Statement) bool {
				return slices.Contains(q.Keys, s.Key) || slices.Contains(q.Keys, s.Self)
			}) {
				n++
				continue
			}
			missed[f.Family]++
			if part == slotstest.Dev {
				t.Logf("%q: not %q", f.Ask, st[0].Words)
			}
		}
		t.Logf("part %d: %d of %d questions, missed: %v", part, n, read, missed)
		require.Greater(t, float64(n), 0.9*float64(read))
	}
}
