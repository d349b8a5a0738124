package arc_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/model"
)

func busy(after time.Duration) error {
	return &reason.ModelError{Status: 429, Again: true, After: after}
}

// used is what each call in these tests has used, refused or not.
var used = reason.Usage{TokensIn: 7, TokensOut: 3, CostUSD: 0.5}

// A model that says when to come back is asked again then, and neither the
// goal nor the plan pays for it.
func TestRateLimitsOfAModelWait(t *testing.T) {
	t.Parallel()
	hour := time.Hour
	for name, c := range map[string]struct {
		errs  []error // of the first calls
		calls int
		waits time.Duration
		want  arc.Status
	}{
		"as it says":      {[]error{busy(30 * time.Second), busy(5 * time.Second), busy(5 * time.Second), busy(5 * time.Second)}, 5, 45 * time.Second, arc.Delivered},
		"a second":        {[]error{busy(1)}, 2, time.Second, arc.Delivered},
		"for long":        {[]error{busy(hour)}, 1, 0, arc.Waiting},
		"not said":        {[]error{busy(0), busy(0), busy(-hour)}, 4, 7 * time.Second, arc.Delivered},
		"not said, again": {[]error{busy(0), busy(0), busy(0), busy(0)}, 5, 15 * time.Second, arc.Delivered},
		"for good":        {[]error{&reason.ModelError{Status: 401}}, 1, 0, arc.Blocked},
		"for ever":        {nil, 5, 2 * time.Minute, arc.Waiting},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				s := &script{decide: func(n int, b reason.Brief) (reason.Decision, error) {
					require.Empty(t, b.Complaint)
					d := plan(b.Objective)
					d.Usage = used
					switch {
					case c.errs == nil:
						return d, busy(30 * time.Second)
					case n <= len(c.errs):
						return d, c.errs[n-1]
					}
					return d, nil
				}}
				r := run(t, agent(t, s.host(), &arc.Options{Refusals: 1, ReasonTimeout: 10 * time.Minute}), arc.Objective{Text: "mend the cache"})
				require.Equal(t, c.want, r.Status)
				require.Len(t, s.briefs, c.calls)
				require.GreaterOrEqual(t, time.Since(start), c.waits)
				require.LessOrEqual(t, time.Since(start), c.waits*5/4)
				if c.want == arc.Waiting {
					require.Equal(t, arc.CauseModel, r.Cause)
					require.NotZero(t, r.Next)
				} else {
					require.Equal(t, 1, r.Deliberations)
				}
				require.Equal(t, 7*c.calls, r.Usage.TokensIn, "what was used for nothing counts too")
			})
		})
	}
}

// To wait spends no budget.
func TestWaitingSpendsNoBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{decide: func(n int, b reason.Brief) (reason.Decision, error) {
			if n <= 5 {
				return reason.Decision{}, busy(20 * time.Second)
			}
			return plan(b.Objective), nil
		}}
		r := run(t, agent(t, s.host(), &arc.Options{Now: time.Now}), arc.Objective{
			Text: "mend the cache", Budget: arc.Budget{Wall: time.Minute, Steps: 6},
		})
		require.Equal(t, arc.Delivered, r.Status, r.Reason)
		require.Equal(t, 100*time.Second, r.Ended.Sub(r.Started))
	})
}

// A model that hangs is waited for by who says so: the loop cannot tell it from a prompt that
// takes too long.
func TestModelThatHangs(t *testing.T) {
	t.Parallel()
	for limit, want := range map[time.Duration]arc.Status{time.Minute: arc.Delivered, time.Hour: arc.Blocked} {
		synctest.Test(t, func(t *testing.T) {
			var calls atomic.Int32 // those that time out are left behind
			m := model.Timeout(reason.ModelFunc(func(ctx context.Context, _ *reason.Request) (*reason.Response, error) {
				if calls.Add(1) > 4 {
					return &reason.Response{Text: `{"approach":"edit","tasks":[{"objective":"edit cache.go","verify":"the gate","skill":"work"}]}`, Stop: reason.StopEnd}, nil
				}
				<-ctx.Done()
				return nil, ctx.Err()
			}), limit)
			llm, err := reason.NewLLM(m, nil)
			require.NoError(t, err)
			h := (&script{}).host()
			h.Reasoner = llm
			o := realTime()
			o.Patience = time.Hour
			require.Equal(t, want, run(t, agent(t, h, o), arc.Objective{Text: "mend the cache"}).Status)
		})
	}
}

// A run that is stopped while it waits stops at once, and goes on later.
func TestRateLimitsWaitUntilTheRunIsStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := &script{decide: func(n int, b reason.Brief) (reason.Decision, error) {
			if n == 1 {
				return reason.Decision{}, busy(time.Minute)
			}
			return plan(b.Objective), nil
		}}
		a := agent(t, s.host(), nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := a.Run(ctx, arc.Objective{ID: "x", Text: "mend the cache"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
		require.Equal(t, arc.Delivered, run(t, a, arc.Objective{ID: "x", Text: "mend the cache"}).Status)
	})
}

// What a refused decision has used counts against the budget.
func TestRefusedDecisionsAreAccountedFor(t *testing.T) {
	t.Parallel()
	bad := []func(reason.Decision) (reason.Decision, error){
		func(d reason.Decision) (reason.Decision, error) { return d, errBoom },
		func(d reason.Decision) (reason.Decision, error) { d.Tasks = nil; return d, nil },
		func(d reason.Decision) (reason.Decision, error) { d.Tasks[0].Skill = "magic"; return d, nil },
		func(d reason.Decision) (reason.Decision, error) { d.Usage.TokensIn = -1; return d, errBoom },
	}
	s := &script{decide: func(n int, b reason.Brief) (reason.Decision, error) {
		d := plan(b.Objective)
		d.Usage = used
		if n <= len(bad) {
			return bad[n-1](d)
		}
		return d, nil
	}}
	r := run(t, agent(t, s.host(), &arc.Options{Refusals: 9}), arc.Objective{Text: "mend the cache"})
	require.Equal(t, arc.Delivered, r.Status)
	require.Equal(t, reason.Usage{TokensIn: 28, TokensOut: 12, CostUSD: 2}, r.Usage)

	s.briefs = nil
	r = run(t, agent(t, s.host(), &arc.Options{Refusals: 9}), arc.Objective{Text: "mend the cache", Budget: arc.Budget{Tokens: 15}})
	require.Equal(t, arc.Blocked, r.Status)
	require.Len(t, s.briefs, 2)

	s.briefs = nil
	a := agent(t, s.host(), &arc.Options{Refusals: 9})
	d, err := a.Think(t.Context(), arc.Objective{Text: "mend the cache"})
	require.NoError(t, err)
	require.Equal(t, 28, d.Usage.TokensIn)
}

// A model that was not reached is no sign that what the session does fails, and
// one that answers with nonsense is.
func TestOutagesAreNoFailuresOfASession(t *testing.T) {
	t.Parallel()
	var err error
	s := &script{decide: func(int, reason.Brief) (reason.Decision, error) { return reason.Decision{}, err }}
	a := agent(t, s.host(), nil)
	for _, c := range []struct {
		err      error
		failures int
	}{{&reason.ModelError{Status: 401}, 0}, {reason.ErrModel, 0}, {reason.ErrFormat, 1}} {
		err = c.err
		require.Equal(t, arc.Blocked, run(t, a, arc.Objective{Text: "mend the cache", Session: "s"}).Status)
		now, err := a.In("").Assess(t.Context(), "s")
		require.NoError(t, err)
		require.Equal(t, c.failures, now.Failures)
		require.Equal(t, c.failures, now.Total)
	}
}

// A plan with an effect that nobody has is refused with what to do about it.
func TestEffectsThatNobodyHas(t *testing.T) {
	t.Parallel()
	s := &script{decide: func(n int, b reason.Brief) (reason.Decision, error) {
		d := plan(b.Objective)
		if n == 1 {
			d.Tasks[0].Effect = &reason.Effect{Domain: "files"}
			return d, nil
		}
		require.Contains(t, b.Complaint, `its effect {"files" ""}, of []; without an effect, any worker with the skill will do`)
		return d, nil
	}}
	require.Equal(t, arc.Delivered, run(t, agent(t, s.host(), nil), arc.Objective{Text: "mend the cache"}).Status)
}

// A model that was not reached said nothing that could be mended.
func TestComplaintsAreAboutAnswers(t *testing.T) {
	t.Parallel()
	s := &script{decide: func(n int, b reason.Brief) (reason.Decision, error) {
		switch n {
		case 1:
			return reason.Decision{}, errors.Join(reason.ErrFormat, errBoom)
		case 2:
			require.Contains(t, b.Complaint, "boom")
			return reason.Decision{}, &reason.ModelError{Status: 400}
		}
		require.Contains(t, b.Complaint, "boom")
		return plan(b.Objective), nil
	}}
	require.Equal(t, arc.Delivered, run(t, agent(t, s.host(), nil), arc.Objective{Text: "mend the cache"}).Status)
	s.briefs = nil
	_, err := agent(t, s.host(), nil).Think(t.Context(), arc.Objective{Text: "mend the cache"})
	require.NoError(t, err)
}

// Think waits for a model that is away as long as Patience says, and no longer.
func TestThinkHasPatienceOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{decide: func(int, reason.Brief) (reason.Decision, error) {
			return reason.Decision{}, &reason.ModelError{Status: 503, Again: true}
		}}
		a := agent(t, s.host(), &arc.Options{Patience: 10 * time.Second})
		begin := time.Now()
		_, err := a.Think(t.Context(), arc.Objective{Text: "mend the cache"})
		require.ErrorIs(t, err, reason.ErrModel)
		require.LessOrEqual(t, time.Since(begin), 10*time.Second)
		require.Greater(t, len(s.briefs), 1)
		require.NoError(t, a.Close())

		s = &script{decide: func(n int, b reason.Brief) (reason.Decision, error) {
			if n <= 5 {
				return reason.Decision{}, &reason.ModelError{Status: 503, Again: true}
			}
			return plan(b.Objective), nil
		}}
		a = agent(t, s.host(), nil)
		d, err := a.Think(t.Context(), arc.Objective{Text: "mend the cache"})
		require.NoError(t, err, "a model that is away for half a minute is waited for, as by a run")
		require.Len(t, d.Tasks, 1)
		require.NoError(t, a.Close())
	})
}
