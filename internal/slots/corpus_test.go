package slots_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/slots"
	"github.com/arc-learn/arc/internal/slots/slotstest"
)

// links reports whether the new text is read as a change of what the old one
// says.
func links(old, new slots.Reading) bool {
	for _, a := range old.Statements {
		for _, b := range new.Statements {
			if a.Key == b.Key && a.Value != b.Value && (!a.Many && !b.Many || b.Former == a.Value) {
				return true
			}
		}
	}
	return false
}

// linked returns the share of facts whose change is recognised.
func linked(t *testing.T, part slotstest.Part, show bool) float64 {
	facts := slotstest.Corpus(part, 1)
	require.GreaterOrEqual(t, len(facts), 500)
	n := 0
	missed := map[string]int{}
	for _, f := range facts {
		a, b := slots.Read(f.Old, f.Actor), slots.Read(f.New, f.Actor)
		if links(a, b) {
			n++
			continue
		}
		missed[f.Family]++
		if show {
			t.Logf("%s: %q %v -> %q %v", f.Family, f.Old, words(a), f.New, words(b))
		}
	}
	t.Logf("part %d: %d of %d linked, missed: %v", part, n, len(facts), missed)
	return float64(n) / float64(len(facts))
}

func words(r slots.Reading) []string {
	var out []string
	for _, s := range r.Statements {
		out = append(out, s.Words+" = "+s.Text)
	}
	return out
}

func TestChangesOfTheCorpusAreLinked(t *testing.T) {
	require.GreaterOrEqual(t, linked(t, slotstest.Dev, testing.Verbose()), 0.97)
}

func TestLaterPhrasingsAreLinked(t *testing.T) {
	require.GreaterOrEqual(t, linked(t, slotstest.Held, testing.Verbose()), 0.95)
	require.GreaterOrEqual(t, linked(t, slotstest.Fresh, testing.Verbose()), 0.95)
}

func TestTrapsAreNotLinked(t *testing.T) {
	bad := 0
	for _, trap := range slotstest.Traps {
		a, b := slots.Read(trap[0], ""), slots.Read(trap[1], "")
		if links(a, b) {
			bad++
			t.Logf("%q %v -> %q %v", trap[0], words(a), trap[1], words(b))
		}
	}
	require.Zero(t, bad, "of %d", len(slotstest.Traps))
}

// Pairs that have nothing to do with one another: all of the corpus, those with
// a subject or a kind in common counted apart, and the distractors.
func TestUnrelatedStatementsAreNotLinked(t *testing.T) {
	for _, part := range []slotstest.Part{slotstest.Dev, slotstest.Held, slotstest.Fresh} {
		facts := slotstest.Corpus(part, 1)
		var olds, reads []slots.Reading
		for _, f := range facts {
			olds, reads = append(olds, slots.Read(f.Old, f.Actor)), append(reads, slots.Read(f.New, f.Actor))
		}
		near, nearBad, shown := 0, 0, 0
		for i, f := range facts {
			old := olds[i]
			for j, g := range facts {
				if i == j || f.Subject != g.Subject && f.Family != g.Family {
					continue
				}
				near++
				if links(old, reads[j]) {
					nearBad++
					if shown++; shown < 12 {
						t.Logf("%q %v -> %q %v", f.Old, words(old), g.New, words(reads[j]))
					}
				}
			}
		}
		t.Logf("part %d: %d of %d near pairs linked", part, nearBad, near)
		require.LessOrEqual(t, float64(nearBad), 0.002*float64(near))
		bad := 0
		for _, d := range slotstest.Distractors(600, 1) {
			r := slots.Read(d, "")
			for i := range facts {
				if links(olds[i], r) {
					bad++
					t.Logf("%q -> %q %v", facts[i].Old, d, words(r))
				}
			}
		}
		require.Zero(t, bad)
	}
}
