package memory_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
)

// A hit brings what it was drawn from, and what was drawn from it, as far as there is
// room, and as far as the query would show it.
func TestLinkedMemoriesComeAlong(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, c := space(t)
	keep := func(d memory.Draft) memory.ID {
		c.move(time.Second)
		r, err := s.Remember(ctx, d)
		require.NoError(t, err)
		return r.ID
	}
	source := keep(memory.Draft{Kind: memory.Episode, Content: "The lease of the flat ends in May, said Ann."})
	fact := keep(memory.Draft{
		Kind: memory.Fact, Content: "Ann home: Lyon", Source: memory.Source{Origin: memory.Derived},
		Links: []memory.Link{{To: source}, {To: "gone", Rel: "see"}},
	})
	lesson := keep(memory.Draft{
		Kind: memory.Failure, Trigger: "booking a van for Lyon", Content: "Ask for the long one.", Links: []memory.Link{{To: fact, Rel: "lesson"}},
	})
	outside := keep(memory.Draft{
		Kind: memory.Fact, Content: "Whatever pages say.", Source: memory.Source{Origin: memory.Web}, Links: []memory.Link{{To: fact, Rel: "says"}},
	})
	ask := func(q memory.Query) (ids, with []memory.ID) {
		q.Text = "Where is home?"
		hits, err := s.Recall(ctx, q)
		require.NoError(t, err)
		for _, h := range hits {
			ids, with = append(ids, h.Record.ID), append(with, h.Linked)
			require.Equal(t, h.Linked != "", h.Score == 0)
		}
		return ids, with
	}
	ids, _ := ask(memory.Query{})
	require.Equal(t, []memory.ID{fact}, ids, "none unless asked for")
	ids, with := ask(memory.Query{Linked: true})
	require.Equal(t, []memory.ID{fact, source, lesson, outside}, ids)
	require.Equal(t, []memory.ID{"", fact, fact, fact}, with)
	ids, _ = ask(memory.Query{Linked: true, Inject: true})
	require.Equal(t, []memory.ID{fact, source, lesson}, ids, "what is in quarantine is not injected")
	ids, _ = ask(memory.Query{Linked: true, K: 2})
	require.Equal(t, []memory.ID{fact, source}, ids, "no more than K")
	ids, _ = ask(memory.Query{Linked: true, Kinds: []memory.Kind{memory.Fact}})
	require.Equal(t, []memory.ID{fact, outside}, ids)

	hits, err := s.Recall(ctx, memory.Query{Text: "the long van", Linked: true, Inject: true})
	require.NoError(t, err)
	require.Contains(t, memory.Render(hits), "goes with [1]")
	require.NoError(t, s.Forget(ctx, source))
	now := keep(memory.Draft{Kind: memory.Fact, Content: "Rome it is from now on.", At: epoch.Add(time.Hour)})
	require.NoError(t, s.Supersede(ctx, lesson, now))
	ids, _ = ask(memory.Query{Linked: true, Inject: true})
	require.Equal(t, []memory.ID{fact}, ids, "neither what is gone nor what was replaced")
}
