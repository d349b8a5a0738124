package memory_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
)

// TestFeedbackLearns lets twelve memories that fit a situation equally well,
// and differ in how often they help, be shown in fours. What ranks first then
// helps far more often than what ranks first by relevance. The benchmarks have
// the worlds in which the weights were measured.
func TestFeedbackLearns(t *testing.T) {
	t.Parallel()
	const worlds, tasks = 6, 40
	learned, similar := 0.0, 0.0
	for seed := range uint64(worlds) {
		rng := rand.New(rand.NewPCG(seed, 0))
		s, _ := space(t)
		quality := map[memory.ID]float64{}
		for i := range 12 {
			id := remember(t, s, memory.Draft{Kind: memory.Episode, Content: fmt.Sprintf("deploy fails, way w%02d", i)})
			quality[id] = rng.Float64() * rng.Float64() // few help often
		}
		for task := range tasks {
			hits := recall(t, s, memory.Query{Text: "deploy fails", K: 4})
			f := memory.Feedback{Key: fmt.Sprint(task), Delivered: true}
			for _, h := range hits {
				f.Injected = append(f.Injected, h.Record.ID)
				if helps := rng.Float64() < quality[h.Record.ID]; helps && (f.Utilized == nil || rng.IntN(2) == 0) {
					f.Utilized = append(f.Utilized, h.Record.ID)
				}
			}
			feedback(t, s, f)
			if task < tasks/2 {
				continue
			}
			learned += quality[hits[0].Record.ID] / (worlds * tasks / 2)
		}
		all := recall(t, s, memory.Query{Text: "deploy fails", K: 12})
		require.Len(t, all, 12)
		for _, h := range all { // they are equally similar
			require.InDelta(t, all[0].Parts.Relevance, h.Parts.Relevance, 1e-3)
			similar += quality[h.Record.ID] / 12 / worlds
		}
	}
	t.Logf("learned %.3f, similarity alone %.3f", learned, similar)
	require.Greater(t, learned, 1.5*similar)
}
