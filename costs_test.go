package arc_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/telemetry/telemetrytest"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// What attempts cost is kept by worker, skill and day, whatever came of them, with why
// they failed; what tokens cost at the worker's Rate stands in for a report.
func TestCostsOfEveryAttempt(t *testing.T) {
	t.Parallel()
	c, st := newClock(), store.NewMem()
	begin := c.Now().Truncate(24 * time.Hour)
	s := &script{do: func(n int, _ act.Work) (act.Result, error) {
		r := done(`1`)
		r.Usage = act.Usage{CostUSD: 1, TokensIn: 1000}
		switch n {
		case 1:
			return r, errors.New("the pump is stuck")
		case 2:
			return r, syscall.ECONNREFUSED
		case 3:
			r.Usage.CostUSD = 0
			r.Reflection.PotentialIssues = []string{"the seal is old"}
		}
		return r, nil
	}}
	h := s.host()
	h.Workers[0].Rate = act.Rate{In: 500}
	a := agentOn(t, st, h, &arc.Options{Now: c.Now, Patience: -1})
	run(t, a, arc.Objective{ID: "one", Text: "mend the pump"})
	c.Add(25 * time.Hour)
	rs, err := a.ResumeDue(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, rs)
	require.NoError(t, a.Close())
	a = agentOn(t, st, h, &arc.Options{Now: c.Now})
	days, err := a.In("").Costs(t.Context(), begin)
	require.NoError(t, err)
	require.Len(t, days, 2)
	first, last := days[0], days[1]
	require.Equal(t, []any{"worker", "work", begin}, []any{first.Candidate, first.Skill, first.From})
	require.Equal(t, []any{2, 1, 0, 2., 1.}, []any{first.Samples, first.Known, first.Successes, first.CostUSD, first.APICostUSD})
	require.Equal(t, []any{1, 1, 1, 0., .5, .5}, []any{last.Samples, last.Known, last.Successes, last.CostUSD, last.APICostUSD, last.USD})

	health, err := a.Health(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, health.Fleet.Workers[0].Failures, "it was yesterday")
	sure, err := a.In("").Confidence(t.Context())
	require.NoError(t, err)
	require.Equal(t, []any{"worker", 3, 1}, []any{sure[0].Candidate, sure[0].Samples, sure[0].Confident})
}

// A verdict is no attempt: costs, wall times and what a success costs are those of the
// attempts, each of which has come to what the last verdict says.
func TestVerdictIsNoAttempt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provisional bool
		verdicts    []arc.Verdict
		known       int
		successes   int
	}{
		"no verdict":            {known: 4, successes: 4},
		"right":                 {verdicts: []arc.Verdict{{Right: true}, {Right: true, Source: "ben"}}, known: 4, successes: 4},
		"wrong":                 {verdicts: []arc.Verdict{{Why: "it leaks"}}, known: 4},
		"right after all":       {verdicts: []arc.Verdict{{}, {Source: "ben"}, {Right: true}}, known: 4, successes: 4},
		"one task is wrong":     {verdicts: []arc.Verdict{{Task: 2}}, known: 4, successes: 2},
		"provisional":           {provisional: true},
		"provisional and right": {provisional: true, verdicts: []arc.Verdict{{Right: true}}, known: 4, successes: 4},
		"provisional and wrong": {provisional: true, verdicts: []arc.Verdict{{Why: "it leaks"}}, known: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newClock()
			s := &script{do: func(n int, _ act.Work) (act.Result, error) {
				clock.Add(time.Minute)
				r := done(`1`)
				r.Usage.CostUSD = 1
				return r, nil
			}}
			a := agent(t, s.host(), &arc.Options{Now: clock.Now})
			task := reason.Task{Objective: "mend", Skill: "work", Delta: "mended", Verify: "by looking"}
			for _, id := range []string{"one", "two"} {
				run(t, a, arc.Objective{ID: id, Text: "mend the pump", Tasks: []reason.Task{task, task}, Provisional: c.provisional})
				clock.Add(time.Hour)
				for _, v := range c.verdicts {
					require.NoError(t, a.In("").Judge(t.Context(), id, v))
				}
			}
			days, err := a.In("").Costs(t.Context(), clock.Now().Add(-24*time.Hour))
			require.NoError(t, err)
			var all rank.Tally
			for _, d := range days {
				all.Samples, all.Known, all.Successes = all.Samples+d.Samples, all.Known+d.Known, all.Successes+d.Successes
				all.Wall += d.Wall
				all.Merge(&d.Costs)
			}
			require.Equal(t, []int{4, c.known, c.successes}, []int{all.Samples, all.Known, all.Successes})
			require.Equal(t, 4.0, all.USD)
			each := 4 / max(1, float64(c.successes))
			if c.successes == 0 {
				each = 0
			}
			require.Equal(t, each, all.PerSuccess().USD)
			health, err := a.Health(t.Context(), "")
			require.NoError(t, err)
			w := health.Fleet.Workers[0]
			require.Equal(t, []int{4, c.known, c.successes}, []int{w.Samples, w.Known, w.Successes})
			require.Equal(t, all.Wall/4, w.P50)
			require.Equal(t, each, w.PerSuccess.USD)
			if n := len(c.verdicts); n > 0 && len(w.Failures) > 0 {
				require.Equal(t, c.verdicts[n-1].Why, w.Failures[0].Reason)
			}
			ranking, err := a.In("").Rank(t.Context(), "mend the pump", reason.Task{Skill: "work"})
			require.NoError(t, err)
			require.Equal(t, 4, ranking[0].Samples)
			require.Equal(t, each, ranking[0].Price.USD)
		})
	}
}

// The fleet tells why workers have failed, and tasks that name no skill orphan none.
func TestFleetTellsWhy(t *testing.T) {
	t.Parallel()
	s := &script{judge: func(act.Work, act.Result) (act.Verdict, error) {
		return act.Verdict{Complaint: "the seal leaks"}, nil
	}}
	s.do = func(int, act.Work) (act.Result, error) { return done(`1`), nil }
	h := s.host()
	a := agent(t, h, &arc.Options{Attempts: 1})
	run(t, a, arc.Objective{Text: "mend the pump", Tasks: []reason.Task{{Objective: "mend", Delta: "mended", Verify: "by looking"}}})
	health, err := a.Health(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, "the seal leaks", health.Fleet.Workers[0].Failures[0].Reason)
	require.Empty(t, health.Fleet.Orphaned)
}

// A budget in US dollars that binds nothing, since no part says what its tokens cost, is
// logged once and stands in Health. A price that the host states is counted.
func TestBudgetInDollarsNeedsPrices(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]arc.Options{
		"run":     {Budget: arc.Budget{CostUSD: 1}},
		"session": {Bounds: arc.Bounds{Session: arc.Budget{CostUSD: 1}}},
		"scope":   {Bounds: arc.Bounds{Scope: arc.Budget{CostUSD: 1}}},
		"day":     {Bounds: arc.Bounds{Day: arc.Budget{CostUSD: 1}}},
		"spend":   {Spend: 1},
	} {
		for usd, issues := range map[float64]int{0: 1, 1e-6: 0} {
			var log strings.Builder
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			s := &script{do: func(int, act.Work) (act.Result, error) {
				r := done(`1`)
				r.Usage = act.Usage{TokensIn: 900, TokensOut: 100, CostUSD: usd}
				return r, nil
			}}
			h := s.host()
			h.Workers[0].Rate = act.Rate{In: 3, Out: 15} // an estimate, which binds nothing
			a := agent(t, h, &o)
			run(t, a, arc.Objective{Text: "mend the pump"})
			run(t, a, arc.Objective{Text: "mend the sluice"})
			health, err := a.Health(t.Context(), "")
			require.NoError(t, err)
			require.Equal(t, int64(2000*issues), health.Unpriced, name)
			require.Len(t, health.Issues, issues, name)
			require.Equal(t, issues, strings.Count(log.String(), "no part says what"), name)
		}
	}
	s := &script{do: func(int, act.Work) (act.Result, error) {
		r := done(`1`)
		r.Usage = act.Usage{TokensIn: 900}
		return r, nil
	}}
	a := agent(t, s.host(), nil)
	run(t, a, arc.Objective{Text: "mend the pump"})
	health, err := a.Health(t.Context(), "")
	require.NoError(t, err)
	require.Zero(t, health.Unpriced, "no budget in dollars is set")
}

// What an attempt, a gate or an answer has cost counts, though its caller has gone.
func TestCutOffCostsCount(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"attempt", "gate"} {
		ctx, cancel := context.WithCancel(t.Context())
		spent, cutOff := act.Usage{CostUSD: 1}, errors.New("cut off")
		s := &script{}
		s.do = func(int, act.Work) (act.Result, error) {
			if by == "attempt" {
				cancel()
				return act.Result{Usage: spent}, cutOff
			}
			r := done(`"ok"`)
			r.Usage = spent
			return r, nil
		}
		s.judge = func(act.Work, act.Result) (act.Verdict, error) {
			cancel()
			return act.Verdict{Usage: spent}, cutOff
		}
		// Called in place: no answer is left behind by a caller who is faster.
		rec := new(telemetrytest.Recorder)
		a := agentOn(t, store.NewMem(), s.host(), &arc.Options{
			AttemptTimeout: -1, GateTimeout: -1, TracerProvider: rec.Tracing(), MeterProvider: rec.Metering(),
		})
		r, err := a.Run(ctx, arc.Objective{ID: "run", Text: "mend it", Budget: arc.Budget{CostUSD: 1}})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, arc.Running, r.Status)
		require.EqualValues(t, map[string]float64{"attempt": 1, "gate": 2}[by], r.Usage.CostUSD, by)
		cut := map[string]string{"attempt": "canceled", "gate": "error"}[by] // and no rejection
		require.True(t, slices.ContainsFunc(rec.Spans(), func(s *telemetrytest.Span) bool {
			return cut == s.Attrs["arc.attempt.end"] || cut == s.Attrs["arc.gate.verdict"]
		}), "%s\n%s", by, rec.All())
		r, err = a.In("").Resume(t.Context(), "run")
		require.NoError(t, err)
		require.Len(t, s.work, 1, by)
		require.Equal(t, arc.CauseBudget, r.Cause, by)
	}
}
