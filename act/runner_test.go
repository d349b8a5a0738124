package act_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBoom = errors.New("boom")

func success(output string) act.Result {
	return act.Result{
		Output: json.RawMessage(output),
		Reflection: iar.Reflection{
			Status: iar.Success, Confidence: 0.8, Summary: "edited two files",
			PotentialIssues: []string{}, AlignmentCheck: map[string]float64{"objective": 1},
		},
	}
}

func Example() {
	r, err := act.NewRunner(act.Options{
		Workers: []act.Worker{{
			Card:   rank.Candidate{Name: "fixer"},
			Skills: []string{"edit"},
			Executor: act.ExecutorFunc(func(_ context.Context, w act.Work) (act.Result, error) {
				return success(`{"edited": "cache.go"}`), nil
			}),
		}},
		Gates: []act.Gate{act.GateFunc(func(_ context.Context, _ act.Work, r act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: strings.Contains(string(r.Output), "cache_test.go"), Complaint: "add a test"}, nil
		})},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, work := context.Background(), act.Work{Task: act.Task{Objective: "mend the cache", Skill: "edit"}, Key: "run/1"}
	a := r.Execute(ctx, "fixer", work)
	v, err := r.Verify(ctx, "fixer", work, a.Result)
	fmt.Println(a.End, string(a.Result.Output), v.Pass, v.Complaint, err)
	// Output: finished {"edited": "cache.go"} false add a test <nil>
}

func runner(t *testing.T, o act.Options, execute act.ExecutorFunc) *act.Runner {
	t.Helper()
	o.Workers = append(o.Workers, act.Worker{Card: rank.Candidate{Name: "w"}, Executor: execute, Gates: []act.Gate{act.NoGate}})
	r, err := act.NewRunner(o)
	require.NoError(t, err)
	return r
}

func TestTransientErrorsAreRepeatedWithinTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		r := runner(t, act.Options{}, func(context.Context, act.Work) (act.Result, error) {
			if calls++; calls <= 3 {
				return act.Result{}, fmt.Errorf("dial: %w", act.Transient(errBoom))
			}
			return success(`1`), nil
		})
		begin := time.Now()
		a := r.Execute(t.Context(), "w", act.Work{})
		require.Equal(t, act.Finished, a.End)
		require.Equal(t, 7*time.Second, time.Since(begin))
		require.Equal(t, 7*time.Second, a.Wall)

		calls = -10
		a = r.Execute(t.Context(), "w", act.Work{})
		require.Equal(t, act.Away, a.End)
		require.ErrorIs(t, a.Err, errBoom)
		require.Equal(t, -6, calls, "three repeats")
	})
	require.NoError(t, act.Transient(nil))
}

func TestRateLimitIsWaitedForWithinReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for after, want := range map[time.Duration]time.Duration{
			5 * time.Second:   5 * time.Second,
			-time.Second:      time.Second,
			87600 * time.Hour: time.Minute,
		} {
			limited := false
			r := runner(t, act.Options{}, func(context.Context, act.Work) (act.Result, error) {
				if !limited {
					limited = true
					return act.Result{}, &act.RateLimitError{After: after}
				}
				return success(`1`), nil
			})
			begin := time.Now()
			require.Equal(t, act.Finished, r.Execute(t.Context(), "w", act.Work{}).End)
			require.Equal(t, want, time.Since(begin))
		}
		for _, limit := range []time.Duration{10 * time.Second, time.Hour} {
			r := runner(t, act.Options{Timeout: limit}, func(context.Context, act.Work) (act.Result, error) {
				return act.Result{}, &act.RateLimitError{After: 50 * time.Second}
			})
			a := r.Execute(t.Context(), "w", act.Work{})
			require.Equal(t, act.Away, a.End, "it says so before the attempt is timed out")
			require.Equal(t, 50*time.Second, a.After)
			require.LessOrEqual(t, a.Wall, 2*time.Minute)
		}
	})
}

func TestEndsOfAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			do   act.ExecutorFunc
			want act.End
		}{
			"finished":  {func(context.Context, act.Work) (act.Result, error) { return success(`1`), nil }, act.Finished},
			"no output": {func(context.Context, act.Work) (act.Result, error) { return success(``), nil }, act.Finished},
			"error":     {func(context.Context, act.Work) (act.Result, error) { return success(`1`), errBoom }, act.Failed},
			"refused connection": {func(context.Context, act.Work) (act.Result, error) {
				return act.Result{}, fmt.Errorf("ask: %w", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED})
			}, act.Away},
			"overloaded model": {func(context.Context, act.Work) (act.Result, error) {
				return act.Result{}, &reason.ModelError{Status: 503, Again: true}
			}, act.Away},
			"wrong key": {func(context.Context, act.Work) (act.Result, error) {
				return act.Result{}, &reason.ModelError{Status: 401}
			}, act.Denied},
			"denied":  {func(context.Context, act.Work) (act.Result, error) { return act.Result{}, act.ErrDenied }, act.Denied},
			"panic":   {func(context.Context, act.Work) (act.Result, error) { panic("boom") }, act.Panicked},
			"nothing": {func(context.Context, act.Work) (act.Result, error) { return act.Result{}, nil }, act.Malformed},
			"late": {func(ctx context.Context, _ act.Work) (act.Result, error) {
				<-ctx.Done()
				return act.Result{}, ctx.Err()
			}, act.TimedOut},
		} {
			r := runner(t, act.Options{Timeout: time.Second}, c.do)
			a := r.Execute(t.Context(), "w", act.Work{})
			require.Equal(t, c.want, a.End, name)
			require.Equal(t, c.want == act.Finished, a.Complaint == "", name)
			require.Equal(t, c.want == act.Panicked, a.Stack != nil, name)
		}
		r := runner(t, act.Options{}, func(ctx context.Context, _ act.Work) (act.Result, error) {
			<-ctx.Done()
			return act.Result{}, ctx.Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.Equal(t, act.Canceled, r.Execute(ctx, "w", act.Work{}).End)
		require.Equal(t, act.Failed, r.Execute(t.Context(), "nobody", act.Work{}).End)
		_, err := r.Verify(t.Context(), "nobody", act.Work{}, act.Result{})
		require.Error(t, err)
	})
}

// What a reflection keeps aside of its alignment is text like any other.
func TestAsideIsChecked(t *testing.T) {
	t.Parallel()
	aside := `{"tone":"password=hunter2secret","scope":"partly"}`
	r := runner(t, act.Options{}, func(context.Context, act.Work) (act.Result, error) {
		res := success(`1`)
		res.Reflection.Aside = json.RawMessage(aside)
		return res, nil
	})
	a := r.Execute(t.Context(), "w", act.Work{Key: "k"})
	require.Equal(t, act.Finished, a.End, a.Complaint)
	require.Equal(t, aside, string(a.Result.Reflection.Aside))
	require.Equal(t, 0.9, a.Resonance, "it does not count")
	for _, bad := range []string{`["partly"]`, `{`, `{"a":"` + strings.Repeat("x", 1<<20) + `"}`} {
		aside = bad
		require.Equal(t, act.Malformed, r.Execute(t.Context(), "w", act.Work{Key: "k"}).End, "%.20s", bad)
	}
}

func TestResultsAreCopied(t *testing.T) {
	t.Parallel()
	shared := success(`"before"`)
	shared.Reflection.PotentialIssues = []string{"one"}
	shared.Deltas = []act.Delta{{Domain: "d", Path: "p", Value: json.RawMessage(`1`)}}
	shared.Usage = act.Usage{TokensIn: 1}
	r := runner(t, act.Options{}, func(context.Context, act.Work) (act.Result, error) { return shared, nil })
	a := r.Execute(t.Context(), "w", act.Work{})
	copy(shared.Output, `"AFTER_"`)
	shared.Reflection.PotentialIssues[0] = "changed"
	shared.Deltas[0].Value[0] = '9'
	require.JSONEq(t, `"before"`, string(a.Result.Output))
	require.Equal(t, []string{"one"}, a.Result.Reflection.PotentialIssues)
	require.JSONEq(t, `1`, string(a.Result.Deltas[0].Value))
}

func TestCandidatesAreTheAbleWorkers(t *testing.T) {
	t.Parallel()
	ci := reason.Effect{Domain: "ci", Path: "failing"}
	nop := act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) { return success(`1`), nil })
	r, err := act.NewRunner(act.Options{
		Workers: []act.Worker{
			{Card: rank.Candidate{Name: "a", Blast: 1}, Executor: nop, Skills: []string{"edit"}, Blast: act.Fleet},
			{Card: rank.Candidate{Name: "b"}, Executor: nop, Skills: []string{"edit", "deploy"}, Effects: []reason.Effect{ci}},
		},
		Gates: []act.Gate{act.NoGate},
	})
	require.NoError(t, err)
	names := func(task act.Task) (out []string) {
		for _, c := range r.Candidates(&task) {
			out = append(out, c.Name)
		}
		return out
	}
	require.Equal(t, []string{"a", "b"}, names(act.Task{}))
	require.Equal(t, []string{"a", "b"}, names(act.Task{Skill: "edit"}))
	require.Equal(t, []string{"b"}, names(act.Task{Skill: "deploy"}))
	require.Equal(t, []string{"b"}, names(act.Task{Effect: &ci}))
	require.Empty(t, names(act.Task{Skill: "fly"}))
	require.False(t, r.Able(&act.Task{Skill: "fly"}))
	require.True(t, r.Able(&act.Task{Skill: "edit"}))
	require.Equal(t, int(act.Fleet), r.Candidates(&act.Task{})[0].Blast)
	require.Equal(t, []string{"deploy", "edit"}, r.Skills())
}

func TestEveryGateHasToPass(t *testing.T) {
	t.Parallel()
	asked := []string{}
	gate := func(name string, pass bool) act.Gate {
		return act.GateFunc(func(context.Context, act.Work, act.Result) (act.Verdict, error) {
			asked = append(asked, name)
			return act.Verdict{Pass: pass}, nil
		})
	}
	nop := act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) { return success(`1`), nil })
	r, err := act.NewRunner(act.Options{
		Workers: []act.Worker{{Card: rank.Candidate{Name: "w"}, Executor: nop, Gates: []act.Gate{gate("own", false), gate("never", true)}}},
		Gates:   []act.Gate{gate("host", true)},
	})
	require.NoError(t, err)
	v, err := r.Verify(t.Context(), "w", act.Work{}, act.Result{})
	require.NoError(t, err)
	require.False(t, v.Pass)
	require.NotEmpty(t, v.Complaint)
	require.Equal(t, []string{"host", "own"}, asked)
}

func TestModesThatNeedAnApproverAreRefusedWithoutOne(t *testing.T) {
	t.Parallel()
	nop := act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) { return success(`1`), nil })
	for mode, ok := range map[act.Mode]bool{act.Autonomous: true, act.Notification: true, act.Veto: false, act.Gated: false, act.Compound: false} {
		_, err := act.NewRunner(act.Options{Workers: []act.Worker{{Card: rank.Candidate{Name: "w"}, Executor: nop, Mode: mode}}, Gates: []act.Gate{act.NoGate}})
		require.Equal(t, ok, err == nil, mode)
	}
	for blast, ok := range map[act.Blast]bool{act.Self: true, act.Project: true, act.Repo: false, act.Public: false} {
		_, err := act.NewRunner(act.Options{Workers: []act.Worker{{Card: rank.Candidate{Name: "w"}, Executor: nop, Blast: blast}}, Gates: []act.Gate{act.NoGate}, ApproveFrom: act.Repo})
		require.Equal(t, ok, err == nil, blast)
	}
}
