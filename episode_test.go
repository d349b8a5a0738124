package arc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/memory"
)

// How a run ended is told in the scopes that the host names, once, and to
// nobody else.
func TestEpisodesAreTold(t *testing.T) {
	t.Parallel()
	s := &script{}
	a := agent(t, s.host(), nil)
	o := arc.Objective{
		ID: "run-1", Text: "mend the cache", Situation: situation, Session: "monday",
		Scope: "acme/agent", Episodes: []memory.Scope{"acme/user-7", "acme/system"},
	}
	require.Equal(t, arc.Delivered, run(t, a, o).Status)
	run(t, a, o) // has finished: tells nothing again
	s.judge = fail("still nil")
	o.ID, o.Text = "run-2", "mend the pool"
	require.Equal(t, arc.Blocked, run(t, a, o).Status)
	for _, scope := range o.Episodes {
		var told []string
		for r, err := range a.In(scope).Memory().All(t.Context()) {
			require.NoError(t, err)
			require.Equal(t, memory.Episode, r.Kind)
			require.True(t, r.Trusted)
			told = append(told, r.Content)
		}
		require.Equal(t, []string{
			"Delivered: mend the cache. Approach: just do it. By worker.",
			"Not delivered: mend the pool. Approach: just do it. By worker. After 3 failed attempts. Because: still nil",
		}, told)
		hits, err := a.In(scope).Memory().Recall(t.Context(), memory.Query{Text: "what happened to the pool?"})
		require.NoError(t, err)
		require.Contains(t, memory.Render(hits), "| Not delivered: mend the pool.")
	}
	for r, err := range a.In("acme/agent").Memory().All(t.Context()) {
		require.NoError(t, err)
		require.NotEqual(t, memory.Episode, r.Kind)
	}
	o.ID, o.Episodes = "run-3", []memory.Scope{"other/user"}
	_, err := a.Run(t.Context(), o)
	require.ErrorIs(t, err, arc.ErrObjective)
	require.ErrorIs(t, err, memory.ErrTenant)
}
