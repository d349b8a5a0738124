package arc_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

func quiet() arc.Options {
	return arc.Options{Now: newClock().Now, Seed: 1, Sanitizer: keyed(), Maintain: -1}
}

// judgeable makes four runs of one plan on the store: one makes the chunk, one repeats its plan, one that recalls
// nothing comes to it as well, and it fires for the last.
func judgeable(t *testing.T, st store.Store, opts arc.Options) (a *arc.Agent, counts func(*arc.Agent) [2]int) {
	t.Helper()
	a, err := arc.New(t.Context(), st, (&script{}).host(), &opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = a.Close() }) // the store may fail
	for i, id := range []string{"made", "repeated", "fresh", "fired", "last"} {
		o := mend("cache")
		o.ID, o.Fresh = id, i == 2
		r := run(t, a, o)
		require.Equal(t, arc.Delivered, r.Status, r.Reason)
		require.Equal(t, i > 2, r.Fired == 1, id)
	}
	chunk := recallOne(t, a, memory.Pattern).ID
	return a, func(a *arc.Agent) [2]int {
		r, err := a.In("").Memory().Get(t.Context(), chunk)
		require.NoError(t, err)
		return [2]int{r.Stats.Helped, r.Stats.Misled}
	}
}

// A delivery counts as helped while no source finds it wrong, once, and as misled for each source that does.
func TestVerdictCountsAsIfKnownAtOnce(t *testing.T) {
	t.Parallel()
	for id, delivered := range map[string]int{"made": 0, "repeated": 1, "fresh": 1, "fired": 1} {
		a, counts := judgeable(t, store.NewMem(), quiet())
		require.Equal(t, [2]int{4, 0}, counts(a))
		for i, step := range []struct {
			source string
			right  bool
			wrongs int
		}{
			{"ann", true, 0}, {"ann", false, 1}, {"ann", false, 1}, {"ben", false, 2}, {"ann", true, 1}, {"cleo", true, 1},
			{"ben", true, 0}, {"ben", true, 0}, {"cleo", false, 1}, {"cleo", true, 0},
		} {
			require.NoError(t, a.In("").Judge(t.Context(), id, arc.Verdict{Source: step.source, Right: step.right}))
			want := [2]int{4 - delivered*min(step.wrongs, 1), step.wrongs}
			require.Equal(t, want, counts(a), "%s: %d: %+v", id, i, step)
		}
	}
}

// What is delivered wrong does not make its chunk fire on.
func TestChunkDoesNotFireByWrongDeliveries(t *testing.T) {
	t.Parallel()
	s := &script{}
	a := agent(t, s.host(), nil)
	for i := range 8 {
		require.Equal(t, i > 1, run(t, a, arc.Objective{ID: fmt.Sprint("run-", i), Text: "mend the cache"}).Fired == 1)
	}
	for i := range 3 {
		require.NoError(t, a.In("").Judge(t.Context(), fmt.Sprint("run-", 5+i), arc.Verdict{Why: "it came back"}))
	}
	require.Zero(t, run(t, a, arc.Objective{Text: "mend the cache"}).Fired, "5 were right, 3 wrong")
}

// The plan of a Provisional delivery counts once, too.
func TestVerdictsOfProvisionalDeliveriesCountOnce(t *testing.T) {
	t.Parallel()
	a, counts := judgeable(t, store.NewMem(), quiet())
	for _, fresh := range []bool{true, false} {
		o := mend("cache")
		o.ID, o.Provisional, o.Fresh = fmt.Sprint("provisional ", fresh), true, fresh
		require.Equal(t, arc.Delivered, run(t, a, o).Status)
		was := counts(a)
		for _, step := range []struct {
			source         string
			right          bool
			helped, misled int
		}{{"ann", true, 1, 0}, {"ben", true, 1, 0}, {"ann", false, 0, 1}, {"ben", false, 0, 2}, {"ann", true, 0, 1}, {"ben", true, 1, 0}} {
			require.NoError(t, a.In("").Judge(t.Context(), o.ID, arc.Verdict{Source: step.source, Right: step.right}))
			require.Equal(t, [2]int{was[0] + step.helped, was[1] + step.misled}, counts(a), "%v: %+v", fresh, step)
		}
	}
}

// A verdict that a failing store or a crash has cut off anywhere counts once when it is given again.
func TestVerdictThatWasCutOffCountsOnce(t *testing.T) {
	t.Parallel()
	for _, crash := range []bool{false, true} {
		for _, applied := range []bool{false, true} {
			for n := range 6 {
				mem := store.NewMem()
				st := arctest.NewStore(mem)
				opts := quiet()
				a, counts := judgeable(t, st, opts)
				at := a
				for i, v := range []arc.Verdict{{Source: "ann"}, {Source: "ann", Right: true}, {Source: "ann"}} {
					st.FailNext(n, 1, applied)
					err := at.In("").Judge(t.Context(), "fired", v)
					st.FailNext(0, 0, false)
					if crash { // what it has not written is lost
						st.FailNext(0, -1, false)
						st = arctest.NewStore(mem)
						next, failed := arc.New(t.Context(), st, (&script{}).host(), &opts)
						require.NoError(t, failed)
						t.Cleanup(func() { _ = next.Close() }) // the store may fail
						at = next
					}
					if crash || err != nil {
						require.NoError(t, at.In("").Judge(t.Context(), "fired", v))
					}
					want := [2]int{4, 0}
					if !v.Right {
						want = [2]int{3, 1}
					}
					require.Equal(t, want, counts(at), "verdict %d, commit %d fails, applied %v: %v", i, n, applied, err)
				}
			}
		}
	}
}

// A deleted run leaves no marks of what verdicts have taken back.
func TestDeletedRunLeavesNoMarks(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	a, _ := judgeable(t, st, quiet())
	o := mend("cache")
	o.ID, o.Provisional, o.Fresh = "provisional", true, true
	run(t, a, o)
	marks := func() (n int) {
		for e, err := range st.Scan(t.Context(), store.Range{}) {
			require.NoError(t, err)
			if parts := key.Split(e.Key); parts[0] == "memory" && parts[1] == "f" {
				n++
			}
		}
		return n
	}
	for _, id := range []string{"made", "repeated", "fresh", "fired", "last", "provisional"} {
		for _, right := range []bool{true, false, true, false} {
			require.NoError(t, a.In("").Judge(t.Context(), id, arc.Verdict{Right: right, Source: "qa"}))
		}
	}
	require.NotZero(t, marks())
	for _, id := range []string{"made", "repeated", "fresh", "fired", "last", "provisional"} {
		require.NoError(t, a.In("").Delete(t.Context(), id))
	}
	require.NoError(t, a.Close())
	require.Zero(t, marks())
}

// What is found wrong before its run ends does not count as helped when the rest is delivered, until its source
// finds it right.
func TestVerdictBeforeTheEnd(t *testing.T) {
	t.Parallel()
	good := false
	s := &script{do: func(_ int, w act.Work) (act.Result, error) {
		if w.Task.Objective == "two" && !good {
			return act.Result{}, fmt.Errorf("403: %w", act.ErrDenied)
		}
		r := done(`1`)
		for _, h := range w.Memories {
			r.Utilized = append(r.Utilized, h.Record.ID)
		}
		return r, nil
	}}
	h := s.host()
	h.Reasoner = nil
	a := agent(t, h, nil)
	v := a.In("")
	fact, err := v.Memory().Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "the cache is mended with glue"})
	require.NoError(t, err)
	counts := func() [2]int {
		r, err := v.Memory().Get(t.Context(), fact.ID)
		require.NoError(t, err)
		return [2]int{r.Stats.Helped, r.Stats.Misled}
	}
	r := run(t, a, arc.Objective{ID: "run", Text: "mend the cache", Tasks: []reason.Task{
		{Objective: "one", Verify: "the gate", Skill: "work"}, {Objective: "two", Verify: "the gate", Skill: "work"},
	}})
	require.Equal(t, arc.Blocked, r.Status)
	for _, right := range []bool{false, true, false} {
		require.NoError(t, v.Judge(t.Context(), "run", arc.Verdict{Task: 1, Source: "ann", Right: right}))
		misled := 1
		if right {
			misled = 0
		}
		require.Equal(t, [2]int{0, misled}, counts())
	}
	good = true
	r, err = v.Retry(t.Context(), "run", "")
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status)
	require.Equal(t, [2]int{0, 1}, counts())
	require.NoError(t, v.Judge(t.Context(), "run", arc.Verdict{Task: 1, Source: "ann", Right: true}))
	require.Equal(t, [2]int{1, 0}, counts())
}
