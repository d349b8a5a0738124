package postgres_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/contrib/postgres"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// TestAgentsWithAConnectionEach has two Agents, each with one connection for what takes one
// round trip, whose statements the server cancels now and then: one learns, forgets, moves and
// erases a tenant whose name is a pattern, and the other follows. After Close the server has
// no connection of theirs.
func TestAgentsWithAConnectionEach(t *testing.T) {
	name := schema(t)
	database(t)
	const app = "arc_one_connection"
	work := func(context.Context, act.Work) (act.Result, error) {
		return act.Result{Output: []byte(`"done"`), Reflection: iar.Reflection{Status: iar.Success, Confidence: .9, Summary: "done"}}, nil
	}
	var agents []*arc.Agent
	var stores []*postgres.Store
	for _, replica := range []string{"a", "b"} {
		st, err := postgres.Open(t.Context(), pooled(1)+" application_name="+app+" statement_timeout=5000", &postgres.Options{Schema: name})
		require.NoError(t, err)
		a, err := arc.New(t.Context(), st, shippers(work), &arc.Options{Replica: replica, Lease: replicaLease})
		require.NoError(t, err)
		stores, agents = append(stores, st), append(agents, a)
	}
	a, b := agents[0], agents[1]
	scopes := []memory.Scope{"a_/x_", "ab/x_", "a_/xy", "A_/x_", "a__/x_", "a_:/x_", "a.@-/x_", "a_/x_/y"}
	found := func(at *arc.Agent, scope memory.Scope) int {
		hits, err := at.In(scope).Memory().Recall(t.Context(), memory.Query{Text: "what does the key open", After: memory.Latest})
		require.NoError(t, err)
		return len(hits)
	}
	for i, scope := range scopes {
		_, err := a.In(scope).Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: fmt.Sprint("the key opens door ", i)})
		require.NoError(t, err, scope)
		r, err := agents[i%2].Run(t.Context(), arc.Objective{ID: fmt.Sprint("run-", i), Text: fmt.Sprint("send parcel ", i), Scope: scope})
		require.NoError(t, err, scope)
		require.Equal(t, arc.Delivered, r.Status)
	}
	for _, scope := range scopes {
		require.GreaterOrEqual(t, found(b, scope), 1, scope)
	}
	for _, scope := range scopes { // all that is at work is canceled, the watches too
		run(t, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = '"+app+"'")
		within(t, "a replica recalls again", func() bool {
			hits, err := b.In(scope).Memory().Recall(t.Context(), memory.Query{Text: "what does the key open", After: memory.Latest})
			return err == nil && len(hits) > 0
		})
	}
	var parcel bytes.Buffer
	require.NoError(t, a.Export(t.Context(), scopes[0], &parcel))
	require.NoError(t, a.Erase(t.Context(), scopes[0]))
	for _, scope := range scopes {
		if scope.Within(scopes[0]) {
			require.Equal(t, 0, found(b, scope))
			continue
		}
		require.GreaterOrEqual(t, found(b, scope), 1, scope)
	}
	_, err := a.Import(t.Context(), &parcel)
	require.NoError(t, err)
	require.GreaterOrEqual(t, found(b, scopes[0]), 1)
	for i := range agents {
		for range stores[i].Scan(t.Context(), store.Range{}) { // which is left
			break
		}
		require.NoError(t, agents[i].Close())
		require.NoError(t, stores[i].Close())
	}
	within(t, "no connection is left", func() bool {
		return count(t, "SELECT count(*) FROM pg_stat_activity WHERE application_name = '"+app+"'") == 0
	})
}
