package benchmarks

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
)

// forecast is a probability of an answer, and whether there was one.
type forecast struct {
	p        float64
	answered bool
}

// auroc is how likely a question with an answer has the higher probability.
func auroc(fs []forecast) float64 {
	wins, pairs := 0.0, 0.0
	for _, a := range fs {
		for _, b := range fs {
			if a.answered && !b.answered {
				pairs++
				switch {
				case a.p > b.p:
					wins++
				case a.p == b.p:
					wins += 0.5
				}
			}
		}
	}
	return wins / pairs
}

// calibration logs the reliability table, and returns the expected error.
func calibration(t *testing.T, fs []forecast) (ece float64) {
	for bin := range 10 {
		n, p, rate := 0.0, 0.0, 0.0
		for _, f := range fs {
			if min(9, int(10*f.p)) == bin {
				n++
				p += f.p
				if f.answered {
					rate++
				}
			}
		}
		if n > 0 {
			t.Logf("said %.2f, were %.2f of %.0f", p/n, rate/n, n)
			ece += math.Abs(p-rate) / float64(len(fs))
		}
	}
	return ece
}

// Whether there is an answer: LoCoMo's fifth category asks of one speaker what
// the other has said. Three conversations chose the constants, the last two were
// held. A question of another conversation has no answer either.
func TestAbstention(t *testing.T) {
	cs := locomo(t)
	b := ingest(t, cs, 0)
	parts := map[string][]forecast{}
	for i, c := range cs {
		part := "tuned on"
		if i >= 3 {
			part = "held"
		}
		others := c.ofOthers(&cs[(i+1)%len(cs)])
		for j, q := range slices.Concat(c.questions, others) {
			hits, err := b.space(q).Recall(t.Context(), memory.Query{Text: q.Text})
			require.NoError(t, err)
			f := forecast{answered: q.Category != "5" && j < len(c.questions)}
			for _, h := range hits {
				f.p = max(f.p, h.Parts.Answer)
			}
			names := []string{part + ", with questions of others", "all, with questions of others"}
			if j < len(c.questions) {
				names = append(names, part, "all")
			}
			for _, n := range names {
				parts[n] = append(parts[n], f)
			}
		}
	}
	for name, fs := range parts {
		t.Logf("%s: %d questions, AUROC %.3f, ECE %.3f", name, len(fs), auroc(fs), calibration(t, fs))
	}
	require.Greater(t, auroc(parts["all"]), 0.76)
	require.Less(t, calibration(t, parts["all"]), 0.08)
}
