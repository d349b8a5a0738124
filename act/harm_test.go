package act_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
)

type around struct {
	before func(c *act.Call)
	after  func(c *act.Call, a *act.Attempt)
}

func (i around) Before(_ context.Context, c *act.Call) error {
	if i.before != nil {
		i.before(c)
	}
	return nil
}

func (i around) After(_ context.Context, c *act.Call, a *act.Attempt) {
	if i.after != nil {
		i.after(c, a)
	}
}

// An interceptor that was left behind changes nothing any more. (It may change the attempt
// until it returns, and has a copy for that; but what the copy refers to is the attempt's.)
func TestInterceptorLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, changed := make(chan struct{}), make(chan struct{})
		late := around{after: func(_ *act.Call, a *act.Attempt) {
			<-release
			a.Result.Reflection.AlignmentCheck["objective"] = 0
			a.Result.Deltas[0].Value = json.RawMessage(`2`)
			copy(a.Result.Output, "xxx")
			close(changed)
		}}
		watch := around{after: func(_ *act.Call, a *act.Attempt) { // outside of it, and so after it
			close(release)
			<-changed
		}}
		r, err := act.NewRunner(act.Options{
			Gates: []act.Gate{act.NoGate}, Interceptors: []act.Interceptor{watch, late},
			Workers: []act.Worker{{Card: rank.Candidate{Name: "w"}, Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
				return act.Result{
					Output: json.RawMessage(`"a"`), Deltas: []act.Delta{{Domain: "d", Path: "data.p", Value: json.RawMessage(`1`)}},
					Reflection: iar.Reflection{Status: iar.Success, Confidence: 0.9, Summary: "did it", PotentialIssues: []string{}, AlignmentCheck: map[string]float64{"objective": 1}},
				}, nil
			})}},
		})
		require.NoError(t, err)
		a := r.Execute(t.Context(), &act.Call{Worker: "w", Work: act.Work{Task: act.Task{Objective: "mend"}}})
		require.Equal(t, act.Failed, a.End)
		require.Equal(t, 1.0, a.Result.Reflection.AlignmentCheck["objective"])
		require.Equal(t, `1`, string(a.Result.Deltas[0].Value))
	})
}

// A MaxOutput below 0 is no bound, or an error; it does not end the process. (The panic is in a
// goroutine of os/exec, where nothing recovers it.)
func TestCommandWithANegativeBound(t *testing.T) {
	c := &act.Command{Argv: []string{"/bin/echo", "hello"}, MaxOutput: -1}
	r, err := c.Execute(t.Context(), act.Work{})
	if err == nil {
		require.Equal(t, `"hello"`, string(r.Output))
	}
}

func idle(context.Context, act.Work) (act.Result, error) { return act.Result{}, nil }

// Inputs that a model has chosen, with a number that no machine holds, end no process: they are
// held to the schema of a worker in the goroutine of the run, without a guard.
func TestInputsWithAHugeNumber(t *testing.T) {
	for _, input := range []string{`{"n":1e9999999}`, `{"n":1e-9999999}`} {
		r, err := act.NewRunner(act.Options{Gates: []act.Gate{act.NoGate}, Workers: []act.Worker{{
			Card: rank.Candidate{Name: "w"}, Executor: act.ExecutorFunc(idle),
			Input: json.RawMessage(`{"type":"object","properties":{"n":{"type":"number","maximum":10}}}`),
		}}})
		require.NoError(t, err)
		task := &act.Task{Objective: "mend", Inputs: json.RawMessage(input)}
		require.NotPanics(t, func() {
			ok, _ := r.Able(task)
			require.False(t, ok)
		}, input)
	}
}

// An interceptor that panics afterwards makes no failure of an attempt that waits for approval, or was refused.
func TestInterceptorFailsWhatHasFinished(t *testing.T) {
	t.Parallel()
	for mode, want := range map[act.Mode]act.End{act.Autonomous: act.Failed, act.Gated: act.Pending} {
		r, err := act.NewRunner(act.Options{
			Gates:        []act.Gate{act.NoGate},
			Interceptors: []act.Interceptor{around{after: func(*act.Call, *act.Attempt) { panic("after") }}},
			Workers: []act.Worker{{Card: rank.Candidate{Name: "w"}, Mode: mode, Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
				return act.Result{Output: json.RawMessage(`"a"`), Reflection: iar.Reflection{Status: iar.Success, Summary: "did it"}}, nil
			})}},
		})
		require.NoError(t, err)
		a := r.Execute(t.Context(), &act.Call{Worker: "w", Work: act.Work{Task: act.Task{Objective: "mend"}}})
		require.Equal(t, want, a.End, mode)
		require.NotEmpty(t, a.Stack)
	}
}
