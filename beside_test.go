package arc_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// spoken are the keys of a store that speak of a choir, or whose values do.
func spoken(t *testing.T, st store.Store, of string) (all []string) {
	t.Helper()
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		if strings.Contains(e.Key+string(e.Value), "canary"+of) {
			all = append(all, fmt.Sprintf("%q", e.Key))
		}
	}
	return all
}

// TestEraseBesideAnotherReplica has one replica erase what another has learned, and holds in
// memory: that knows nothing of it any more, and writes nothing of it.
func TestEraseBesideAnotherReplica(t *testing.T) {
	for _, scope := range []memory.Scope{"acme/anna", "acme"} {
		synctest.Test(t, func(t *testing.T) {
			mem, s := store.NewMem(), &script{}
			many := arc.Budget{Steps: 1e6}
			bounds := arc.Bounds{Session: many, Scope: many, Day: many}
			a := replica(t, mem, "a", (&script{}).host(), arc.Options{})
			b := replica(t, mem, "b", s.host("one", "two"), arc.Options{Attempts: 2, Bounds: bounds})
			sing(t, &choir{of: "x."}, b, s, "acme/anna")
			idle(time.Second)
			require.NotEmpty(t, spoken(t, mem, "x."))
			require.NoError(t, a.Erase(t.Context(), scope))
			require.Empty(t, spoken(t, mem, "x."))

			hits, err := b.In("acme/anna").Memory().Recall(t.Context(), memory.Query{Text: "canary", After: memory.Latest})
			require.NoError(t, err)
			require.Empty(t, hits)
			h, err := b.Health(t.Context(), "acme")
			require.NoError(t, err)
			require.NotContains(t, fmt.Sprint(h), "canaryx.")
			require.Empty(t, h.Fleet.Workers, "b")
			var out bytes.Buffer
			require.NoError(t, b.Export(t.Context(), scope, &out))
			require.NotContains(t, out.String(), "canaryx.")
			sing(t, &choir{of: "z."}, b, s, "acme/anna")
			idle(time.Minute)
			require.Empty(t, spoken(t, mem, "x."))
		})
	}
}

// TestEraseBesideARunElsewhere has one replica erase, export and import what another is live
// with, or would be.
func TestEraseBesideARunElsewhere(t *testing.T) {
	for _, scope := range []memory.Scope{"acme/anna", "acme"} {
		synctest.Test(t, func(t *testing.T) {
			mem := store.NewMem()
			begun, on := make(chan struct{}, 2), make(chan struct{})
			h := (&script{}).host()
			h.Workers[0].Executor = act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
				begun <- struct{}{}
				<-on
				return done(`"canaryx. ` + strings.Repeat("x", 5000) + `"`), nil
			})
			a := replica(t, mem, "a", (&script{}).host(), arc.Options{})
			b := replica(t, mem, "b", h, arc.Options{})
			over := make(chan error, 1)
			go func() {
				_, err := b.Run(t.Context(), arc.Objective{ID: "run", Text: "canaryx. mend it", Scope: "acme/anna"})
				over <- err
			}()
			<-begun
			require.NoError(t, a.Erase(t.Context(), "acme/ben"))
			var owned *arc.OwnedError
			require.ErrorAs(t, a.Erase(t.Context(), scope), &owned)
			require.Equal(t, arc.OwnedError{Run: "run", Replica: "b"}, *owned)
			require.ErrorIs(t, a.Export(t.Context(), scope, new(bytes.Buffer)), arc.ErrRunning)
			close(on)
			require.NoError(t, <-over)

			// While one takes a scope out none begins a run elsewhere, nor takes it in.
			var parcel bytes.Buffer
			require.NoError(t, b.Export(t.Context(), scope, &parcel))
			met := 0
			require.NoError(t, a.Export(t.Context(), scope, writerFunc(func(p []byte) (int, error) {
				_, err := b.Run(t.Context(), arc.Objective{ID: "late", Text: "mend it", Scope: "acme/anna"})
				require.ErrorIs(t, err, arc.ErrRunning)
				_, err = b.Import(t.Context(), bytes.NewReader(parcel.Bytes()))
				require.ErrorIs(t, err, arc.ErrRunning)
				require.ErrorIs(t, b.Erase(t.Context(), scope), arc.ErrRunning)
				met++
				return len(p), nil
			})))
			require.Positive(t, met)

			require.NoError(t, a.Erase(t.Context(), scope))
			require.Empty(t, spoken(t, mem, "x."))
			require.Equal(t, 0, leases(t, mem))

			// What comes back at one is there for all.
			_, err := b.Import(t.Context(), bytes.NewReader(parcel.Bytes()))
			require.NoError(t, err)
			var again bytes.Buffer
			require.NoError(t, a.Export(t.Context(), scope, &again))
			require.Equal(t, parcel.String(), again.String())
			hits, err := a.In("acme/anna").Memory().Recall(t.Context(), memory.Query{Text: "mend it", After: memory.Latest})
			require.NoError(t, err)
			require.NotEmpty(t, hits)
			require.Equal(t, arc.Delivered, run(t, a, arc.Objective{ID: "late", Text: "mend it", Scope: "acme/anna"}).Status)
		})
	}
}

// TestExportHasWhatIsLearnedElsewhere has one replica export a user right after another has
// run: with all samples of it, though it has read the tenant before.
func TestExportHasWhatIsLearnedElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMem()
		late := &delayed{Mem: mem, by: 300 * time.Millisecond}
		a := replica(t, late, "a", (&script{}).host(), arc.Options{})
		b := replica(t, mem, "b", (&script{}).host(), arc.Options{})
		for _, one := range []*arc.Agent{a, b} {
			run(t, one, arc.Objective{Text: "mend it", Scope: "acme/anna"})
		}
		var early, whole bytes.Buffer
		require.NoError(t, a.Export(t.Context(), "acme/anna", &early))
		idle(time.Minute)
		require.NoError(t, b.Export(t.Context(), "acme/anna", &whole))
		require.Equal(t, whole.String(), early.String())
	})
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
