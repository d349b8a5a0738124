package arc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/reason"
)

// With PivotAuto a run whose session has failed by three approaches asks a
// human instead of trying a fourth; the other policies do not.
func TestPivotAutoAsksWhenApproachesRunOut(t *testing.T) {
	t.Parallel()
	for policy, want := range map[arc.PivotPolicy]arc.Status{arc.PivotAuto: arc.Asking, arc.PivotFlag: arc.Blocked} {
		s := &script{judge: fail("still nil")}
		s.decide = func(n int, b reason.Brief) (reason.Decision, error) {
			d := plan(b.Objective)
			d.Approach = fmt.Sprint("approach ", n%3)
			return d, nil
		}
		a := agent(t, s.host(), &arc.Options{Pivot: policy, Attempts: 1})
		var last *arc.Report
		for range 8 {
			last = run(t, a, arc.Objective{Text: "mend the cache", Situation: situation, Session: "s"})
			if last.Status == arc.Asking {
				break
			}
		}
		require.Equal(t, want, last.Status)
		if want == arc.Asking {
			require.Contains(t, last.Questions[0], "ask_human: ")
		}
	}
}

// With PivotAuto a reasoner that insists on what keeps failing is not followed;
// the other policy leaves that to the host.
func TestPivotAutoRefusesWhatKeepsFailing(t *testing.T) {
	t.Parallel()
	for policy, attempts := range map[arc.PivotPolicy]int{arc.PivotAuto: 3, arc.PivotFlag: 10} {
		refused := ""
		s := &script{judge: fail("still nil")}
		s.decide = func(_ int, b reason.Brief) (reason.Decision, error) {
			if b.Complaint != "" {
				refused = b.Complaint
			}
			d := plan(b.Objective)
			d.Approach = " Just Do It"
			return d, nil
		}
		a := agent(t, s.host(), &arc.Options{Pivot: policy, Attempts: 1, Replans: 9})
		r := run(t, a, arc.Objective{Text: "mend the cache", Session: "s"})
		require.Equal(t, arc.Blocked, r.Status)
		require.Equal(t, attempts, r.Attempts)
		require.Equal(t, policy == arc.PivotAuto, strings.Contains(refused, "is to be avoided, since it keeps failing"), refused)
	}
}

// What a run tells of itself is in the advice before anything has failed.
func TestSignsOfARunAreAdvice(t *testing.T) {
	t.Parallel()
	eight := func(_ int, b reason.Brief) (reason.Decision, error) {
		d := plan(b.Objective)
		for range 7 {
			d.Tasks = append(d.Tasks, d.Tasks[0])
		}
		return d, nil
	}
	for want, c := range map[string]struct {
		do     func(n int, w act.Work) (act.Result, error)
		budget arc.Budget
		from   int // the tasks before it is said
	}{
		"": {do: func(n int, _ act.Work) (act.Result, error) { return done(`1`), nil }, budget: arc.Budget{Tokens: 1000}},
		"slow_down: 84 % of the budget of 100 tokens is spent": {do: func(int, act.Work) (act.Result, error) {
			r := done(`1`)
			r.Usage.TokensIn = 12
			return r, nil
		}, budget: arc.Budget{Tokens: 100}, from: 7},
		"slow_down: low_resonance: 3 of the last 5 below 0.70, the lowest 0.55; resonance_degradation: falling over the last 5, from 0.75 to 0.55": {do: func(n int, _ act.Work) (act.Result, error) {
			r := done(`1`)
			r.Reflection.Confidence = 0.6 - 0.1*float64(n)
			return r, nil
		}, from: 5},
	} {
		s := &script{decide: eight, do: c.do}
		said, tasks := "", 0
		a := agent(t, s.host(), nil)
		for e, err := range a.Events(t.Context(), arc.Objective{Text: "mend the cache", Budget: c.budget}) {
			require.NoError(t, err)
			switch e.Kind {
			case arc.EventAttempt:
				tasks++
			case arc.EventAssessed:
				require.Empty(t, said, "it is said once")
				said = e.Text
				require.Equal(t, c.from, tasks)
			}
		}
		require.Equal(t, want, said)
		require.Equal(t, 8, tasks)
	}
}
