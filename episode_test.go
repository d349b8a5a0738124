package arc_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
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
			require.False(t, r.Trusted, "it quotes a reasoner and a gate")
			require.True(t, r.Passing)
			told = append(told, r.Content)
		}
		require.Equal(t, []string{
			"Delivered: mend the cache. Approach: just do it. By worker.",
			"Not delivered: mend the pool. Approach: just do it. By worker. After 3 failed attempts.\nBecause: still nil",
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

// By default a run that a person began is told in the scope of the user and in
// that of a named agent with the user, and one of a goal or queue in that of the
// system; the next run is shown it, fenced, once.
func TestEpisodesAreToldByDefault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, toldByDefault) // a slow machine must not write behind meanwhile
}

func toldByDefault(t *testing.T) {
	s, st := &script{}, &counting{Store: store.NewMem()}
	a, err := arc.New(t.Context(), st, s.host(), &arc.Options{Name: "mender", Learn: learn.Options{FireAfter: -1}})
	require.NoError(t, err)
	defer a.Close()
	told := func(scope memory.Scope) (n int) {
		for r, err := range a.In(scope).Memory().All(t.Context()) {
			require.NoError(t, err)
			require.Equal(t, memory.Episode, r.Kind)
			n++
		}
		return n
	}
	o := arc.Objective{Text: "mend the cache", Scope: "acme/user-7"}
	run(t, a, o)
	commits := st.n.Load()
	run(t, a, o)
	require.Equal(t, commits+4, st.n.Load(), "what is told adds no commit")
	require.Equal(t, []int{1, 1}, []int{told("acme/user-7/episodes"), told("acme/user-7/episodes/mender")},
		"what a run was shown is not told again")
	episodes := func(b reason.Brief) []memory.Hit {
		return slices.DeleteFunc(slices.Clone(b.Background), func(h memory.Hit) bool { return h.Record.Kind != memory.Episode })
	}
	shown := episodes(s.briefs[1])
	require.Len(t, shown, 1, "told in two scopes, shown once")
	require.Equal(t, "Delivered: mend the cache. Approach: just do it. By worker.", shown[0].Record.Content)
	for _, m := range s.briefs[1].Memories {
		require.NotEqual(t, memory.Episode, m.Record.Kind)
	}

	o.Actor = "night-queue"
	run(t, a, o)
	require.Equal(t, []int{1, 1}, []int{told("acme/user-7/episodes"), told("acme/system/night-queue")})
	require.Empty(t, episodes(s.briefs[2]), "the system has a log of its own")
	run(t, a, o)
	require.Len(t, episodes(s.briefs[3]), 1)
	o.Actor, o.Episodes = "", []memory.Scope{}
	run(t, a, o)
	require.Equal(t, []int{1, 1}, []int{told("acme/user-7/episodes"), told("acme/system/night-queue")})
	o.Episodes, o.Actor = nil, "no actor!"
	_, err = a.Run(t.Context(), o)
	require.ErrorIs(t, err, memory.ErrScope)
}

// What a run recalled is read again when it goes on. A later run of the same ID, for another user, has
// stored its ending in place of the one that was recalled, and was forgotten meanwhile.
func TestAResumedRunIsToldNothingOfAnotherUser(t *testing.T) {
	t.Parallel()
	var told []reason.Brief
	s := &script{}
	h := s.host()
	h.Reasoner = reason.ReasonerFunc(func(_ context.Context, b reason.Brief) (reason.Decision, error) {
		told = append(told, b)
		if b.Run == "asks" && len(b.Answers) == 0 {
			return reason.Decision{Questions: []string{"which?"}}, nil
		}
		return reason.Decision{Approach: "as " + string(b.Inputs), Tasks: []reason.Task{{Objective: b.Objective}}}, nil
	})
	a := agent(t, h, nil)
	of := func(id, user string) arc.Objective {
		return arc.Objective{
			ID: id, User: user, Text: "mend the cache of the shop", Scope: "acme/shop", Inputs: []byte(`"` + user + `"`),
		}
	}
	v, episodes := a.In("acme/shop"), a.In("acme/shop/episodes").Memory()
	require.Equal(t, arc.Delivered, run(t, a, of("first", "bob")).Status)
	require.Equal(t, arc.Asking, run(t, a, of("asks", "bob")).Status)
	require.Contains(t, memory.Render(told[1].Background), `as "bob"`)

	require.NoError(t, v.Delete(t.Context(), "first"))
	for r, err := range episodes.All(t.Context()) {
		require.NoError(t, err)
		require.NoError(t, episodes.Forget(t.Context(), r.ID))
	}
	require.Equal(t, arc.Delivered, run(t, a, of("first", "ann")).Status)
	_, err := v.Answer(t.Context(), "asks", "this one")
	require.NoError(t, err)
	last := told[len(told)-1]
	require.Equal(t, "asks", last.Run)
	require.NotEmpty(t, last.Background)
	require.NotContains(t, memory.Render(last.Background), "ann")
}
