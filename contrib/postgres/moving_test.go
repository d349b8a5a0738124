package postgres_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

var today = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// agent opens one whose reasoner plans one task, which its worker delivers, but for
// objectives about a storm.
func agent(t *testing.T, st store.Store) *arc.Agent {
	worker := func(name string) act.Worker {
		return act.Worker{
			Card: rank.Candidate{Name: name},
			Executor: act.ExecutorFunc(func(_ context.Context, w act.Work) (act.Result, error) {
				status := iar.Success
				if w.Task.Objective == "sail through the storm" {
					status = iar.Failure
				}
				return act.Result{
					Output:     json.RawMessage(`{"by":"` + name + `"}`),
					Reflection: iar.Reflection{Status: status, Confidence: .8, Summary: "as asked: " + w.Task.Objective},
				}, nil
			}),
			Gates: []act.Gate{act.NoGate},
		}
	}
	a, err := arc.New(t.Context(), st, arc.Host{
		Reasoner: reason.ReasonerFunc(func(_ context.Context, b reason.Brief) (reason.Decision, error) {
			return reason.Decision{Complexity: reason.Simple, Approach: "at once", Tasks: []reason.Task{{Objective: b.Objective}}}, nil
		}),
		Workers: []act.Worker{worker("anna"), worker("ben")},
	}, &arc.Options{Now: func() time.Time { return today }, Seed: 1, Maintain: -1, Attempts: 2})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

// live has an agent learn something of each kind.
func live(t *testing.T, a *arc.Agent) {
	for i, text := range []string{"load the ship", "sail through the storm", "unload the ship", "load the ship"} {
		_, err := a.Run(t.Context(), arc.Objective{ID: fmt.Sprint("run-", i), Text: text, Session: "voyage", Scope: "acme/anna"})
		require.NoError(t, err)
	}
	in := a.In("acme/anna")
	for i := range 300 {
		_, err := in.Memory().Remember(t.Context(), memory.Draft{
			Kind: memory.Fact, Content: fmt.Sprintf("berth %d of the harbour takes %d containers", i, i*31), Vector: []float32{float32(i), 1, .5},
		})
		require.NoError(t, err)
	}
	me, err := in.Identity()
	require.NoError(t, err)
	_, err = me.Add(t.Context(), identity.Draft{Category: identity.Preference, Content: "answers in Dutch"})
	require.NoError(t, err)
	_, err = a.Maintain(t.Context(), "acme/anna")
	require.NoError(t, err)
}

func exported(t *testing.T, a *arc.Agent, scope memory.Scope) []byte {
	var file bytes.Buffer
	require.NoError(t, a.Export(t.Context(), scope, &file))
	require.Greater(t, file.Len(), 30_000)
	return file.Bytes()
}

func onDisk(t *testing.T) store.Store {
	st, err := badger.Open(t.TempDir(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	return st
}

// What is exported from one kind of store, imported into the other and exported there
// is the same to the byte, and so once more.
func TestMovingAgents(t *testing.T) {
	database(t)
	inDatabase := func(t *testing.T) store.Store { return open(t, schema(t)) }
	for _, scope := range []memory.Scope{"acme", "acme/anna"} {
		for name, kinds := range map[string][3]func(t *testing.T) store.Store{
			"from Badger":     {onDisk, inDatabase, onDisk},
			"from PostgreSQL": {inDatabase, onDisk, inDatabase},
		} {
			t.Run(fmt.Sprint(scope, " ", name), func(t *testing.T) {
				first := agent(t, kinds[0](t))
				live(t, first)
				file := exported(t, first, scope)
				want := sha256.Sum256(file)
				for _, kind := range kinds[1:] {
					next := agent(t, kind(t))
					got, err := next.Import(t.Context(), bytes.NewReader(file))
					require.NoError(t, err)
					require.Equal(t, scope, got)
					again := exported(t, next, scope)
					require.Equal(t, want, sha256.Sum256(again))
					file = again
					hits, err := next.In("acme/anna").Memory().Recall(t.Context(), memory.Query{Text: "how many containers does berth 77 take?", K: 1})
					require.NoError(t, err)
					require.Equal(t, "berth 77 of the harbour takes 2387 containers", hits[0].Record.Content)
				}
			})
		}
	}
}

// A backup of all that one kind of store holds comes back in the other, entry by entry.
func TestMovingStores(t *testing.T) {
	one := open(t, schema(t))
	a := agent(t, one)
	live(t, a)
	require.NoError(t, a.Close())
	contents := func(st store.Store) map[string]string {
		all := map[string]string{}
		for e, err := range st.Scan(t.Context(), store.Range{}) {
			require.NoError(t, err)
			all[e.Key] = string(e.Value)
		}
		return all
	}
	want := contents(one)
	from := store.Store(one)
	for _, to := range []store.Store{onDisk(t), open(t, schema(t))} {
		var file bytes.Buffer
		n, err := store.Backup(t.Context(), from, &file)
		require.NoError(t, err)
		require.Len(t, want, n)
		_, err = store.Restore(t.Context(), to, &file)
		require.NoError(t, err)
		require.Equal(t, want, contents(to))
		from = to
	}
	report, err := agent(t, from).Run(t.Context(), arc.Objective{ID: "run-0", Text: "load the ship", Scope: "acme/anna"})
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, report.Status, "a finished run is not run again")
}
