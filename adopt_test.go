package arc_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// tenantless is a store as the version before the one that keys by tenant left
// it: runs of acme and of evil, with statistics in one heap.
func tenantless(t *testing.T) store.Store {
	t.Helper()
	raw, err := os.ReadFile("testdata/tenants-before.json")
	require.NoError(t, err)
	var before map[string][]byte
	require.NoError(t, json.Unmarshal(raw, &before))
	st := store.NewMem()
	for k, v := range before {
		_, err := st.Commit(t.Context(), store.Op{Key: k, Value: v})
		require.NoError(t, err)
	}
	return st
}

// keysOf returns the keys of a store, readable.
func keysOf(t *testing.T, st store.Store) (keys []string) {
	t.Helper()
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		keys = append(keys, strings.ReplaceAll(e.Key, "\x00", "|"))
	}
	return keys
}

func TestRecordsWithoutATenantGoToTheirs(t *testing.T) {
	t.Parallel()
	st := tenantless(t)
	a := agentOn(t, st, (&script{}).host("one", "two"), nil)
	for _, k := range keysOf(t, st) {
		require.True(t, strings.HasPrefix(k, "tenant|acme|") || strings.HasPrefix(k, "tenant|evil|") || strings.HasPrefix(k, "memory|"), k)
	}
	acme, evil := a.In("acme"), a.In("evil")

	// Runs go on, and only with their tenant.
	r, err := acme.Answer(t.Context(), "ask", "the red one")
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status)
	r, err = acme.Resume(t.Context(), "large")
	require.NoError(t, err)
	require.Len(t, r.Deliveries, 1)
	require.Len(t, r.Deliveries[0].Output, 3002, "an output that is a record of its own came along")
	r, err = evil.Resume(t.Context(), strings.Repeat("long", 60))
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status)
	_, err = evil.Resume(t.Context(), "large")
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = acme.Resume(t.Context(), "blocked")
	require.ErrorIs(t, err, store.ErrNotFound)

	// Sessions fall apart by tenant.
	as, err := acme.Assess(t.Context(), "s")
	require.NoError(t, err)
	require.Equal(t, 2, as.Successes)
	require.Zero(t, as.Failures)
	as, err = evil.Assess(t.Context(), "s")
	require.NoError(t, err)
	require.Equal(t, 1, as.Failures)

	// So do samples: the one run of evil that was blocked had three.
	samples := func(v arc.View) (n int) {
		ranking, err := v.Rank(t.Context(), "", reason.Task{Skill: "work"})
		require.NoError(t, err)
		for _, s := range ranking {
			n += s.Samples
		}
		return n
	}
	require.Equal(t, 5+1, samples(acme), "with the answered one")
	require.Equal(t, 3+1, samples(evil))
	h, err := a.Health(t.Context(), "acme/anna")
	require.NoError(t, err)
	u := h.Uplift.Delivered
	require.NotZero(t, u.Treated+u.Withheld, "what Holdout has measured came along")
}

// A move that is cut off after any of its commits is completed by the next New,
// with the same end.
func TestRecordsWithoutATenantAreMovedOnce(t *testing.T) {
	t.Parallel()
	whole := tenantless(t)
	agentOn(t, whole, (&script{}).host("one", "two"), nil)
	want := contents(t, whole)
	for n := 0; ; n++ {
		st := tenantless(t)
		a, err := arc.New(t.Context(), &cutOff{Store: st, after: n}, (&script{}).host("one", "two"), &arc.Options{Now: newClock().Now, Seed: 1, Sanitizer: keyed()})
		agentOn(t, st, (&script{}).host("one", "two"), nil)
		require.Equal(t, want, contents(t, st), "cut off after %d commits", n)
		if err == nil {
			require.Greater(t, n, 5)
			require.NoError(t, a.Close())
			return
		}
	}
}

// cutOff is a store that refuses all commits after some.
type cutOff struct {
	store.Store
	after int
}

func (c *cutOff) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if c.after--; c.after < 0 {
		return 0, errBoom
	}
	return c.Store.Commit(ctx, ops...)
}

func contents(t *testing.T, st store.Store) map[string]string {
	t.Helper()
	out := map[string]string{}
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		out[e.Key] = string(e.Value)
	}
	return out
}

// Two tenants use the same ids, and meet nowhere.
func TestTenantsShareNoNames(t *testing.T) {
	t.Parallel()
	s := &script{}
	a := agent(t, s.host("one", "two"), nil)
	for _, id := range []string{"run", "a/b", "../x", "arc/run", "über"} {
		for _, scope := range []string{"acme", "evil"} {
			r := run(t, a, arc.Objective{ID: id, Session: "s", Text: "mend the cache of " + scope, Scope: memory.Scope(scope)})
			require.Equal(t, "mend the cache of "+scope, r.Objective)
			require.Equal(t, memory.Scope(scope), r.Scope)
		}
	}
	keys := map[string]bool{}
	for _, w := range s.work {
		require.False(t, keys[w.Key], "%s names two attempts", w.Key)
		keys[w.Key] = true
	}
	ranking, err := a.In("other").Rank(t.Context(), "", reason.Task{Skill: "work"})
	require.NoError(t, err)
	for _, r := range ranking {
		require.Zero(t, r.Samples, "a new tenant starts cold")
	}
	h, err := a.Health(t.Context(), "other")
	require.NoError(t, err)
	require.Empty(t, h.Fleet.Workers)
	require.Empty(t, h.Resonance)
	for _, scope := range []string{"other", "evil\x00x", "", "a b"} {
		_, err := a.In(memory.Scope(scope)).Resume(t.Context(), "run")
		require.Error(t, err, scope)
	}
}
