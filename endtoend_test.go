package arc_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

// asker is a worker that has to know which valve it is.
type asker struct {
	mends func(act.Work) (act.Result, error)
}

func (a asker) knowing(_ context.Context, w act.Work) (act.Result, error) {
	if len(w.Answers) == 0 {
		return act.Result{}, &act.InputRequiredError{Questions: []string{"which valve?"}}
	}
	return a.mends(w)
}

// A violated goal leads to one call of the worker that is chosen, to one outcome of the
// dispatch, and to another standing of the worker, whatever it does; and the goal is
// free for the next dispatch.
func TestFromAViolatedGoalToTheRanking(t *testing.T) {
	t.Parallel()
	const better, same, worse = 1, 0, -1
	mends := func(act.Work) (act.Result, error) {
		r := done(`"mended"`)
		r.Deltas = []act.Delta{{Domain: "cache", Path: "data.broken", Value: []byte(`false`)}}
		return r, nil
	}
	var does asker
	does.mends = mends
	for name, c := range map[string]struct {
		do    func(ctx context.Context, w act.Work) (act.Result, error)
		end   goal.End
		moves int
		cuts  bool // the controller and its agent end during the call
		says  string
	}{
		"success":   {func(_ context.Context, w act.Work) (act.Result, error) { return mends(w) }, goal.Succeeded, better, false, ""},
		"no effect": {func(context.Context, act.Work) (act.Result, error) { return done(`1`), nil }, goal.Unseen, worse, false, ""},
		"failure":   {func(context.Context, act.Work) (act.Result, error) { return act.Result{}, errors.New("no") }, goal.Failed, worse, false, ""},
		"panic":     {func(context.Context, act.Work) (act.Result, error) { panic("boom") }, goal.Failed, worse, false, ""},
		"timeout":   {func(context.Context, act.Work) (act.Result, error) { idle(time.Hour); return done(`1`), nil }, goal.Failed, worse, false, ""},
		"drop":      {func(context.Context, act.Work) (act.Result, error) { return act.Result{}, act.ErrDenied }, goal.Refused, same, false, ""},
		"cancel": {func(ctx context.Context, _ act.Work) (act.Result, error) {
			<-ctx.Done()
			return act.Result{}, ctx.Err()
		}, goal.Interrupted, same, true, ""},
		"late done":          {func(ctx context.Context, w act.Work) (act.Result, error) { <-ctx.Done(); return mends(w) }, goal.Interrupted, same, true, ""},
		"never back":         {func(context.Context, act.Work) (act.Result, error) { idle(5 * time.Hour); return done(`1`), nil }, goal.Interrupted, same, true, ""},
		"input required":     {does.knowing, goal.Succeeded, better, false, "the main valve"},
		"input over restart": {does.knowing, goal.Succeeded, better, true, "the main valve"},
		"input never comes":  {does.knowing, goal.Interrupted, same, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st, w := store.NewMem(), new(goal.World)
				var mu sync.Mutex // a worker that was left behind may still be at it
				calls := map[string][]string{}
				called := func(run string) []string {
					mu.Lock()
					defer mu.Unlock()
					return slices.Clone(calls[run])
				}
				worker := func(name string, prior float64, do func(context.Context, act.Work) (act.Result, error)) act.Worker {
					out := repairs(name, "cache", act.ExecutorFunc(func(ctx context.Context, work act.Work) (act.Result, error) {
						if at := called(work.Run); len(work.Answers) == 0 || !slices.Equal(at, []string{name}) {
							mu.Lock()
							calls[work.Run] = append(at, name)
							mu.Unlock()
						}
						return do(ctx, work)
					}))
					out.Card.Prior = prior
					return out
				}
				h := arc.Host{Gates: []act.Gate{act.NoGate}, Workers: []act.Worker{
					worker("spare", .3, func(_ context.Context, w act.Work) (act.Result, error) { return mends(w) }),
					worker("chosen", .9, c.do),
				}}
				o := &arc.Options{Now: time.Now, AttemptTimeout: 10 * time.Minute, Grace: -1}
				a := agentOn(t, st, h, o)
				defer idle(6 * time.Hour)
				standing := func() float64 {
					ranking, err := a.In("").Rank(t.Context(), "goal cache works", reason.Task{Effect: &reason.Effect{Domain: "cache", Path: "data.broken"}})
					require.NoError(t, err)
					score := map[string]float64{}
					for _, s := range ranking {
						score[s.Candidate.Name] = s.Score
					}
					return score["chosen"]
				}
				reads := func(broken bool) {
					require.NoError(t, w.Set("cache", goal.Snapshot{Data: map[string]any{"broken": broken}, At: time.Now()}))
				}
				k := keep(t, a, w, nil, broken("cache"))
				before := standing()
				reads(true)
				_, err := k.Tick(t.Context())
				require.NoError(t, err)
				if c.cuts {
					synctest.Wait()
					k.Close()
					require.NoError(t, a.Close())
					a = agentOn(t, st, h, o)
					k = keep(t, a, w, nil, broken("cache"))
					_, err = k.Tick(t.Context())
					require.NoError(t, err)
				}
				if c.says != "" {
					idle(3 * time.Minute)
					r, err := a.In("").Answer(t.Context(), "goals/cache works/1-20000101000000", c.says)
					require.NoError(t, err)
					require.Equal(t, arc.Delivered, r.Status)
				}
				require.NoError(t, k.Wait(t.Context()))
				after := standing()
				for c.end == goal.Succeeded || c.end == goal.Unseen { // a reading says so
					if after != before {
						break
					}
					idle(time.Minute)
					reads(c.end != goal.Succeeded)
					_, err = k.Tick(t.Context())
					require.NoError(t, err)
					require.NoError(t, k.Wait(t.Context()))
					after = standing()
				}
				ends := map[string][]goal.End{}
				for o, err := range k.Outcomes(t.Context()) {
					require.NoError(t, err)
					ends[o.ID] = append(ends[o.ID], o.End)
					require.Len(t, called(o.ID), 1, "%s was carried out by %v", o.ID, called(o.ID))
				}
				const first = "goals/cache works/1-20000101000000"
				require.Equal(t, []string{"chosen"}, called(first))
				require.Equal(t, []goal.End{c.end}, ends[first])
				switch c.moves {
				case better:
					require.Greater(t, after, before)
				case worse:
					require.Less(t, after, before)
				default:
					require.Equal(t, before, after)
				}
				reads(true)
				idle(3 * time.Hour) // whatever rests has rested
				reads(true)
				_, err = k.Tick(t.Context())
				require.NoError(t, err)
				require.NoError(t, k.Wait(t.Context()))
				mu.Lock()
				defer mu.Unlock()
				require.Greater(t, len(calls), 1, "the goal is not in flight for ever")
			})
		})
	}
}
