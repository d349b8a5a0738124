package applied_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/advice"
	"github.com/arc-learn/arc/internal/applied"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/rank"
)

// TestOf has the later of two proposals count, and only those that are applied.
func TestOf(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	worker := func(at int, status, name, standing string) proposal.Proposal {
		change, err := json.Marshal(advice.Worker{Post: advice.Post{Worker: name, Skill: "go"}, Standing: standing})
		require.NoError(t, err)
		return proposal.Proposal{Kind: "executor", Status: status, Change: change, Decided: day.AddDate(0, 0, at)}
	}
	s, err := applied.Of(func(yield func(proposal.Proposal, error) bool) {
		for _, p := range []proposal.Proposal{
			worker(2, "applied", "a", advice.TriedLast), worker(1, "applied", "a", advice.Paused),
			worker(1, "applied", "b", advice.Paused), worker(3, "undone", "c", advice.Paused),
			{Kind: "goal", Status: "applied", Change: json.RawMessage(`{"controller":"k","goal":"g","disabled":true}`), Decided: day},
		} {
			if !yield(p, nil) {
				return
			}
		}
	}, nil)
	require.NoError(t, err)
	var ranking []rank.Scored
	for _, name := range []string{"a", "b", "c"} {
		ranking = append(ranking, rank.Scored{Candidate: rank.Candidate{Name: name}})
	}
	seated := s.Seat("go", ranking)
	require.Len(t, seated, 2)
	require.Equal(t, "c", seated[0].Candidate.Name)
	require.Equal(t, "a", seated[1].Candidate.Name)
	require.Equal(t, ranking, s.Seat("rust", ranking))
	require.Len(t, s.Settled(), 1)
	require.Equal(t, "g", s.Settled()[0].Goal.Goal)
	var none *applied.Set
	require.Equal(t, ranking, none.Seat("go", ranking))
	require.Empty(t, none.Settled())
}
