package meta_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/store"
)

// Whatever the store answers, a Monitor says what its outcomes come to by the rules, and what
// a Monitor says that is opened on the store then.
func TestMonitorSaysWhatItsOutcomesComeTo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := &monitors{st: arctest.NewStore(store.NewMem()), all: make(map[string][]meta.Outcome), given: make(map[string][2][2]int), past: make(map[string][]meta.Ending)}
		x.open(t)
		defer func() { _ = x.m.Close() }()
		t.Repeat(map[string]func(*rapid.T){
			"record": x.record, "record more": x.record, "again": x.again, "episode": x.episode, "conclude": x.conclude,
			"forget": x.forget, "release": x.release, "retract": x.retract, "reopen": x.reopen, "": x.check,
		})
	})
}

type monitors struct {
	st    *arctest.Store
	m     *meta.Monitor
	all   map[string][]meta.Outcome // by session
	given map[string][2][2]int      // by treatment: episodes and successes with and without it
	past  map[string][]meta.Ending  // by scope
	n     int
}

func (x *monitors) open(t *rapid.T) {
	var err error
	x.m, err = meta.Open(context.Background(), x.st, &meta.Options{Now: func() time.Time { return noon }, Tenant: "acme"})
	require.NoError(t, err)
}

// try makes a call while the store perhaps fails, and then again while it does not.
func (x *monitors) try(t *rapid.T, call func(context.Context) error) {
	if rapid.Bool().Draw(t, "fails") {
		n, many := rapid.IntRange(0, 2).Draw(t, "commits"), rapid.IntRange(1, 3).Draw(t, "many")
		x.st.FailNext(n, many, rapid.Bool().Draw(t, "applied"))
	}
	err := call(context.Background())
	x.st.FailNext(0, 0, false)
	for range 3 { // what is written behind may fail once more
		if err != nil {
			require.ErrorIs(t, err, arctest.ErrStore)
			err = call(context.Background())
		}
	}
	require.NoError(t, err)
}

var (
	sessions   = []string{"s", "t"}
	goals      = []string{"", "mend it", "ship it"}
	approaches = []string{"", "by force", "BY  Force", "by wit", "by luck"}
	scopes     = []string{"acme", "acme/ann"}
)

func (x *monitors) record(t *rapid.T) {
	few := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) meta.Outcome {
		o := meta.Outcome{
			Session: rapid.SampledFrom(sessions).Draw(t, "session"), Goal: rapid.SampledFrom(goals).Draw(t, "goal"),
			Approach: rapid.SampledFrom(approaches).Draw(t, "approach"), Success: rapid.IntRange(0, 3).Draw(t, "success") == 0,
			User: rapid.SampledFrom([]string{"", "ann"}).Draw(t, "user"), At: noon.Add(time.Duration(x.n) * time.Second),
		}
		if rapid.Bool().Draw(t, "reflects") {
			o.Resonance = p(float64(rapid.IntRange(0, 8).Draw(t, "resonance")) / 8)
		}
		return o
	}), 1, 5).Draw(t, "outcomes")
	for i := range rapid.SampledFrom([]int{1, 2, 5, 5, 290}).Draw(t, "n") {
		o := few[i%len(few)]
		o.Key = fmt.Sprint("o", x.n)
		x.n++
		record := func(ctx context.Context) error { return x.m.Record(ctx, o) }
		if i == 0 {
			x.try(t, record)
		} else {
			require.NoError(t, record(context.Background()))
		}
		x.all[o.Session] = append(x.all[o.Session], o)
	}
}

func (x *monitors) again(t *rapid.T) {
	for _, session := range sessions {
		if all := x.all[session]; len(all) > 0 {
			o := rapid.SampledFrom(all).Draw(t, "outcome")
			o.Success = !o.Success
			if o.Note == "" { // not released
				x.try(t, func(ctx context.Context) error { return x.m.Record(ctx, o) })
			}
		}
	}
}

func (x *monitors) episode(t *rapid.T) {
	e := meta.Episode{
		Key: fmt.Sprint("e", x.n), Treatments: rapid.SliceOfN(rapid.SampledFrom([]string{"memory", "chunks"}), 1, 3).Draw(t, "treatments"),
		Treated: rapid.Bool().Draw(t, "treated"), Success: rapid.Bool().Draw(t, "success"), Chance: 0.5,
	}
	x.n++
	for range rapid.IntRange(1, 2).Draw(t, "times") {
		x.try(t, func(ctx context.Context) error { return x.m.RecordEpisode(ctx, e) })
	}
	slices.Sort(e.Treatments)
	for _, name := range slices.Compact(e.Treatments) {
		g := x.given[name]
		arm := 0
		if !e.Treated {
			arm = 1
		}
		if g[arm][0]++; e.Success {
			g[arm][1]++
		}
		x.given[name] = g
	}
}

func (x *monitors) conclude(t *rapid.T) {
	scope := rapid.SampledFrom(scopes).Draw(t, "scope")
	e := meta.Ending{Run: fmt.Sprint("r", x.n), Situation: rapid.SampledFrom(goals).Draw(t, "situation"), Delivered: rapid.Bool().Draw(t, "delivered")}
	x.n++
	for range rapid.IntRange(1, 2).Draw(t, "times") {
		x.try(t, func(ctx context.Context) error { return x.m.Conclude(ctx, scope, e) })
	}
	past := append(slices.Clone(x.past[scope]), e)
	x.past[scope] = past[max(0, len(past)-8):]
}

func (x *monitors) retract(t *rapid.T) {
	scope := rapid.SampledFrom(scopes).Draw(t, "scope")
	if past := x.past[scope]; len(past) > 0 {
		run := rapid.SampledFrom(past).Draw(t, "ending").Run
		x.try(t, func(ctx context.Context) error { return x.m.Retract(ctx, scope, run) })
		x.past[scope] = slices.DeleteFunc(slices.Clone(past), func(e meta.Ending) bool { return e.Run == run })
	}
}

func (x *monitors) forget(t *rapid.T) {
	if rapid.Bool().Draw(t, "below") {
		x.try(t, func(ctx context.Context) error { return x.m.ForgetBelow(ctx, "acme/ann", "chunks") })
		delete(x.past, "acme/ann")
		delete(x.given, "chunks")
		return
	}
	session := rapid.SampledFrom(sessions).Draw(t, "session")
	x.try(t, func(ctx context.Context) error { return x.m.Forget(ctx, session) })
	delete(x.all, session)
}

func (x *monitors) release(t *rapid.T) {
	session := rapid.SampledFrom(sessions).Draw(t, "session")
	if all := x.all[session]; len(all) > 0 {
		i := rapid.IntRange(0, len(all)-1).Draw(t, "outcome")
		x.try(t, func(ctx context.Context) error {
			return x.m.Release(ctx, session, []string{all[i].Key}, []string{"e0"})
		})
		all[i].Note = "released"
	}
}

func (x *monitors) reopen(t *rapid.T) {
	require.NoError(t, x.m.Close())
	x.open(t)
}

func (x *monitors) check(t *rapid.T) {
	ctx := context.Background()
	said := x.says(t, x.m) // before it is written
	if err := x.m.Flush(ctx); err != nil {
		require.ErrorIs(t, err, arctest.ErrStore)
		require.NoError(t, x.m.Flush(ctx))
	}
	again, err := meta.Open(ctx, x.st, &meta.Options{Now: func() time.Time { return noon }, Tenant: "acme"})
	require.NoError(t, err)
	defer func() { require.NoError(t, again.Close()) }()
	require.Equal(t, x.says(t, again), said)
	x.compare(t, again)
}

// says is all that a Monitor says.
func (x *monitors) says(t *rapid.T, m *meta.Monitor) (out []string) {
	ctx := context.Background()
	say := func(v any, err error) {
		require.NoError(t, err)
		out = append(out, fmt.Sprintf("%+v", v))
	}
	for _, session := range sessions {
		say(m.Assess(ctx, session))
		for _, goal := range goals {
			for _, approach := range approaches {
				say(m.Chances(ctx, session, goal, approach))
			}
		}
	}
	for _, name := range []string{"memory", "chunks"} {
		say(m.Uplift(ctx, name))
	}
	for _, scope := range scopes {
		all, of, err := m.Past(ctx, scope, "mend it")
		say(fmt.Sprint(all, of), err)
	}
	say(m.Resonance(), nil)
	return out
}

// compare holds what a Monitor says against the outcomes.
func (x *monitors) compare(t *rapid.T, m *meta.Monitor) {
	ctx := context.Background()
	var kept []string
	for _, session := range sessions {
		all := x.all[session]
		a, err := m.Assess(ctx, session)
		require.NoError(t, err)
		want := meta.Assessment{Session: session, Total: len(all)}
		for _, o := range all {
			want.Failures++
			if o.Success {
				want.Successes++
				want.Failures = 0
			}
		}
		if want.Failures > 0 {
			last := all[len(all)-1]
			want.Goal, want.Approach, want.User, want.Last = last.Goal, last.Approach, last.User, last.At.UnixNano()
			for _, o := range all[len(all)-min(256, want.Failures):] {
				if same := canonical(o.Approach) == canonical(last.Approach); same && o.Approach != "" ||
					(o.Approach == "" || last.Approach == "") && o.Goal == last.Goal {
					want.Same++
				}
			}
		}
		want.State, want.Recommendation, want.Confidence = "healthy", "keep_going", "high"
		if len(all) > 0 {
			want.SuccessRate = float64(want.Successes) / float64(len(all))
		}
		again := a.Chances.Again
		switch {
		case len(all) == 0:
			want.State, want.Confidence = "no_data", "low"
		case want.Same >= 3, again.Tries >= 5 && again.Deliver < 0.25 && again.Deliver < a.Chances.Other.Deliver:
			want.State, want.Recommendation, want.Pivot = "failing", "pivot_now", true
		case len(all) >= 2 && want.SuccessRate < 0.4:
			want.State, want.Recommendation, want.Confidence = "struggling", "consider_pivot", "medium"
		case want.Failures > 0:
			want.State, want.Recommendation, want.Confidence = "struggling", "slow_down", "medium"
		}
		require.Equal(t, want.Recommendation == "keep_going", len(a.Evidence) == 0)
		want.Evidence, want.Chances, want.Also = a.Evidence, a.Chances, a.Also
		require.Equal(t, want, a)
		for _, o := range all[max(0, len(all)-256):] {
			kept = append(kept, o.Session+" "+o.Key)
		}
	}
	var got []string
	for o, err := range m.Outcomes(ctx) {
		require.NoError(t, err)
		got = append(got, o.Session+" "+o.Key)
	}
	require.Equal(t, kept, got)
	for _, name := range []string{"memory", "chunks"} {
		u, err := m.Uplift(ctx, name)
		require.NoError(t, err)
		g := x.given[name]
		require.Equal(t, []int{g[0][0], g[1][0]}, []int{u.Treated, u.Withheld})
		require.InDelta(t, float64(g[0][1]), u.With*float64(u.Treated), 1e-9)
		require.InDelta(t, float64(g[1][1]), u.Without*float64(u.Withheld), 1e-9)
	}
	for _, scope := range scopes {
		all, _, err := m.Past(ctx, scope, "")
		require.NoError(t, err)
		require.Equal(t, len(x.past[scope]), len(all))
		for i := range all {
			require.Equal(t, x.past[scope][i], all[i])
		}
	}
}

// canonical is an approach without what two that are the same may differ in.
func canonical(approach string) string {
	if approach == "BY  Force" {
		return "by force"
	}
	return approach
}
