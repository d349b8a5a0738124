package act_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"reflect"
	"runtime"
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

func TestMain(m *testing.M) {
	if program, ok := programs[os.Getenv(role)]; ok {
		program()
		return
	}
	goleak.VerifyTestMain(m)
}

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
	a := r.Execute(ctx, &act.Call{Worker: "fixer", Work: work})
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
		a := r.Execute(t.Context(), &act.Call{Worker: "w", Work: act.Work{}})
		require.Equal(t, act.Finished, a.End)
		require.Equal(t, 7*time.Second, time.Since(begin))
		require.Equal(t, 7*time.Second, a.Wall)

		calls = -10
		a = r.Execute(t.Context(), &act.Call{Worker: "w", Work: act.Work{}})
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
			require.Equal(t, act.Finished, r.Execute(t.Context(), &act.Call{Worker: "w", Work: act.Work{}}).End)
			require.Equal(t, want, time.Since(begin))
		}
		for _, limit := range []time.Duration{10 * time.Second, time.Hour} {
			r := runner(t, act.Options{Timeout: limit}, func(context.Context, act.Work) (act.Result, error) {
				return act.Result{}, &act.RateLimitError{After: 50 * time.Second}
			})
			a := r.Execute(t.Context(), &act.Call{Worker: "w", Work: act.Work{}})
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
			"most deltas": {func(context.Context, act.Work) (act.Result, error) {
				r := success(`1`)
				r.Deltas = make([]act.Delta, 1024)
				return r, nil
			}, act.Finished},
			"deltas": {func(context.Context, act.Work) (act.Result, error) {
				r := success(`1`)
				r.Deltas = make([]act.Delta, 1025)
				return r, nil
			}, act.Malformed},
			"late": {func(ctx context.Context, _ act.Work) (act.Result, error) {
				<-ctx.Done()
				return act.Result{}, ctx.Err()
			}, act.TimedOut},
		} {
			r := runner(t, act.Options{Timeout: time.Second}, c.do)
			a := r.Execute(t.Context(), &act.Call{Worker: "w", Work: act.Work{}})
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
		require.Equal(t, act.Canceled, r.Execute(ctx, &act.Call{Worker: "w", Work: act.Work{}}).End)
		require.Equal(t, act.Away, r.Execute(t.Context(), &act.Call{Worker: "nobody", Work: act.Work{}}).End)
		_, err := r.Verify(t.Context(), "nobody", act.Work{}, act.Result{})
		require.Error(t, err)
	})
}

// refusal is an error of a host's own type.
type refusal bool

func (refusal) Error() string                      { return "no" }
func (r refusal) Retryable() (bool, time.Duration) { return bool(r), time.Minute }

// Errors are told apart by what is in their chain, however they are wrapped.
func TestClass(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		want  act.End
		after time.Duration
	}{
		"unknown":              {err: errBoom, want: act.Failed},
		"transient":            {err: act.Transient(errBoom), want: act.Away},
		"rate limit":           {err: &act.RateLimitError{After: time.Hour}, want: act.Away, after: time.Hour},
		"rate limit in words":  {err: act.Classify(errors.New("429 Too Many Requests, retry after 20s")), want: act.Away, after: 20 * time.Second},
		"negative rate limit":  {err: &act.RateLimitError{After: -1}, want: act.Away},
		"permanent":            {err: act.Permanent(errBoom), want: act.Rejected},
		"the outermost counts": {err: act.Permanent(&act.RateLimitError{After: time.Hour}), want: act.Rejected},
		"a host's no":          {err: refusal(false), want: act.Rejected},
		"a host's yes":         {err: refusal(true), want: act.Away, after: time.Minute},
		"no permission":        {err: act.ErrDenied, want: act.Denied},
		"401 in words":         {err: errors.New("POST /v1: 401 Unauthorized"), want: act.Denied},
		"a model's 403":        {err: &reason.ModelError{Status: 403}, want: act.Denied},
		"a model's 400":        {err: &reason.ModelError{Status: 400}, want: act.Rejected},
		"a model's 429":        {err: &reason.ModelError{Status: 429, Again: true, After: time.Second}, want: act.Away, after: time.Second},
		"a spent quota":        {err: &reason.ModelError{Status: 429}, want: act.Rejected},
		"no answer of a model": {err: &reason.ModelError{Err: errBoom}, want: act.Failed},
		"its own deadline":     {err: context.DeadlineExceeded, want: act.TimedOut},
		"a broken connection":  {err: &net.OpError{Op: "read", Err: syscall.ECONNRESET}, want: act.Away},
	} {
		for _, err := range []error{c.err, fmt.Errorf("step 3: %w", c.err), errors.Join(errBoom, c.err)} {
			end, after := act.Class(err)
			require.Equal(t, c.want, end, "%s: %v", name, err)
			require.Equal(t, c.after, after, name)
		}
		calls := 0
		r := runner(t, act.Options{}, func(context.Context, act.Work) (act.Result, error) { calls++; return act.Result{}, c.err })
		if c.want != act.Away {
			a := r.Execute(t.Context(), &act.Call{Worker: "w"})
			require.Equal(t, []any{c.want, 1}, []any{a.End, calls}, name)
		}
	}
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
	a := r.Execute(t.Context(), &act.Call{Worker: "w", Work: act.Work{Key: "k"}})
	require.Equal(t, act.Finished, a.End, a.Complaint)
	require.Equal(t, aside, string(a.Result.Reflection.Aside))
	require.Equal(t, 0.9, a.Resonance, "it does not count")
	for _, bad := range []string{`["partly"]`, `{`, `{"a":"` + strings.Repeat("x", 1<<20) + `"}`} {
		aside = bad
		require.Equal(t, act.Malformed, r.Execute(t.Context(), &act.Call{Worker: "w", Work: act.Work{Key: "k"}}).End, "%.20s", bad)
	}
}

func TestResultsAreCopied(t *testing.T) {
	t.Parallel()
	shared := success(`"before"`)
	shared.Reflection.PotentialIssues = []string{"one"}
	shared.Deltas = []act.Delta{{Domain: "d", Path: "p", Value: json.RawMessage(`1`)}}
	shared.Usage = act.Usage{TokensIn: 1}
	r := runner(t, act.Options{}, func(context.Context, act.Work) (act.Result, error) { return shared, nil })
	a := r.Execute(t.Context(), &act.Call{Worker: "w", Work: act.Work{}})
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
		for _, c := range r.Candidates(&task, false) {
			out = append(out, c.Name)
		}
		return out
	}
	require.Equal(t, []string{"a", "b"}, names(act.Task{}))
	require.Equal(t, []string{"a", "b"}, names(act.Task{Skill: "edit"}))
	require.Equal(t, []string{"b"}, names(act.Task{Skill: "deploy"}))
	require.Equal(t, []string{"b"}, names(act.Task{Effect: &ci}))
	require.Empty(t, names(act.Task{Skill: "fly"}))
	able := func(task act.Task) bool { ok, why := r.Able(&task); require.Empty(t, why); return ok }
	require.False(t, able(act.Task{Skill: "fly"}))
	require.True(t, able(act.Task{Skill: "edit"}))
	require.Equal(t, int(act.Fleet), r.Candidates(&act.Task{}, false)[0].Blast)
	require.Equal(t, []string{"deploy", "edit"}, r.Skills())
}

// A task goes to workers who take its inputs, and to no other by whatever way.
func TestInputs(t *testing.T) {
	t.Parallel()
	calls := 0
	nop := act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) { calls++; return success(`1`), nil })
	schema := json.RawMessage(`{"type":"object","properties":{"replicas":{"type":"integer","maximum":10}},"required":["replicas"]}`)
	r, err := act.NewRunner(act.Options{
		Workers: []act.Worker{
			{Card: rank.Candidate{Name: "scaler"}, Executor: nop, Skills: []string{"scale"}, Input: schema},
			{Card: rank.Candidate{Name: "any"}, Executor: nop, Skills: []string{"talk"}},
		},
		Gates: []act.Gate{act.NoGate},
	})
	require.NoError(t, err)
	require.Equal(t, []reason.Accept{{Worker: "scaler", Skills: []string{"scale"}, Inputs: schema}}, r.Accepts())
	for inputs, want := range map[string]string{
		`{"replicas": 3}`:      "",
		`{"replicas": "many"}`: "its inputs are not what scaler takes: at '/replicas': got string, want integer",
		`{"replicas": 11}`:     "its inputs are not what scaler takes: at '/replicas': maximum: got 11, want 10",
		`{}`:                   "its inputs are not what scaler takes: at '': missing property 'replicas'",
		``:                     "its inputs are not what scaler takes: at '': got null, want object",
	} {
		calls = 0
		task := act.Task{Skill: "scale", Inputs: json.RawMessage(inputs)}
		ok, why := r.Able(&task)
		require.Equal(t, want == "", ok)
		require.Equal(t, want, why)
		require.Len(t, r.Candidates(&task, false), map[bool]int{true: 1}[ok])
		require.Len(t, r.Candidates(&task, true), 1)
		a := r.Execute(t.Context(), &act.Call{Worker: "scaler", Work: act.Work{Task: task}})
		require.Equal(t, want, a.Complaint)
		require.Equal(t, map[bool]int{true: 1}[ok], calls)
		task.Skill = "talk"
		ok, _ = r.Able(&task)
		require.True(t, ok)
	}
	_, err = act.NewRunner(act.Options{Workers: []act.Worker{{Card: rank.Candidate{Name: "w"}, Executor: nop, Input: json.RawMessage(`{"type": 1}`)}}, Gates: []act.Gate{act.NoGate}})
	require.ErrorContains(t, err, "input: schema")
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

// Without an Approver an attempt that a human has to allow is not made, and says why.
func TestPolicy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		worker  act.Worker
		from    act.Blast
		above   float64
		success float64
		cost    float64
		want    act.Mode
		why     string
	}{
		"by itself":        {},
		"announced":        {worker: act.Worker{Mode: act.Notification, Blast: act.Repo}, want: act.Notification},
		"its mode":         {worker: act.Worker{Mode: act.Veto}, want: act.Veto, why: "the worker's mode is veto"},
		"fleet":            {worker: act.Worker{Blast: act.Fleet}, want: act.Gated, why: "its effects reach: fleet"},
		"the card's":       {worker: act.Worker{Card: rank.Candidate{Blast: int(act.Public)}}, want: act.Gated, why: "its effects reach: public"},
		"otherwise":        {worker: act.Worker{Blast: act.Public}, from: act.Nowhere},
		"repo":             {worker: act.Worker{Blast: act.Repo}, from: act.Repo, want: act.Gated, why: "its effects reach: repo"},
		"stricter":         {worker: act.Worker{Mode: act.Compound, Blast: act.Fleet}, want: act.Compound, why: "the worker's mode is compound; its effects reach: fleet"},
		"irreversible":     {worker: act.Worker{Irreversible: true}, want: act.Gated, why: "its effects cannot be taken back"},
		"dear":             {above: 2, cost: 2.5, want: act.Gated, why: "it takes about $2.50"},
		"not dear":         {above: 2, cost: 2},
		"doubtful":         {worker: act.Worker{Blast: act.Repo}, success: 0.3, want: act.Veto, why: "30 % of such attempts succeed"},
		"doubtful, veto":   {worker: act.Worker{Blast: act.Repo, Mode: act.Veto}, success: 0.3, want: act.Gated, why: "the worker's mode is veto; 30 % of such attempts succeed"},
		"doubtful, public": {worker: act.Worker{Blast: act.Public}, success: 0.3, want: act.Compound, why: "its effects reach: public; 30 % of such attempts succeed"},
		"doubtful, small":  {worker: act.Worker{Blast: act.Project}, success: 0.3},
		"not known":        {worker: act.Worker{Blast: act.Repo}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			c.worker.Card.Name = "w"
			c.worker.Executor = act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) { calls++; return success(`1`), nil })
			r, err := act.NewRunner(act.Options{
				Workers: []act.Worker{c.worker}, Gates: []act.Gate{act.NoGate}, ApproveFrom: c.from, ApproveAbove: c.above,
			})
			require.NoError(t, err)
			call := act.Call{Worker: "w", Success: c.success, CostUSD: c.cost}
			a := r.Execute(t.Context(), &call)
			require.Equal(t, c.want, call.Mode)
			require.Equal(t, c.why, strings.Join(call.Why, "; "))
			if c.want < act.Veto {
				require.Equal(t, act.Finished, a.End)
				require.Equal(t, 1, calls)
				return
			}
			require.Equal(t, act.Pending, a.End)
			require.True(t, a.End.Barred())
			for allowed := act.Autonomous; allowed <= act.Compound; allowed++ {
				calls = 0
				a = r.Execute(t.Context(), &act.Call{Worker: "w", Success: c.success, CostUSD: c.cost, Allowed: allowed})
				require.Equal(t, allowed >= c.want, a.End == act.Finished, "what was allowed for less is asked again")
				require.Equal(t, allowed >= c.want, calls == 1)
			}
		})
	}
}

// tracer is an Interceptor that tells what it sees.
type tracer struct {
	name   string
	told   *[]string
	before func(*act.Call) error
	after  func(*act.Attempt)
}

func (i tracer) Before(_ context.Context, c *act.Call) error {
	*i.told = append(*i.told, i.name+" before")
	if i.before != nil {
		return i.before(c)
	}
	return nil
}

func (i tracer) After(ctx context.Context, c *act.Call, a *act.Attempt) {
	*i.told = append(*i.told, i.name+" after "+string(a.End))
	if ctx.Err() != nil {
		*i.told = append(*i.told, "ended")
	}
	if i.after != nil {
		i.after(a)
	}
}

func TestInterceptorsSeeEveryAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, do := range map[act.End]func(context.Context, act.Work) (act.Result, error){
			act.Finished:  func(context.Context, act.Work) (act.Result, error) { return success(`1`), nil },
			act.Failed:    func(context.Context, act.Work) (act.Result, error) { return act.Result{}, errors.New("no") },
			act.Denied:    func(context.Context, act.Work) (act.Result, error) { return act.Result{}, act.ErrDenied },
			act.Malformed: func(context.Context, act.Work) (act.Result, error) { return act.Result{}, nil },
			act.Panicked:  func(context.Context, act.Work) (act.Result, error) { panic(nil) },
			act.TimedOut: func(ctx context.Context, _ act.Work) (act.Result, error) {
				<-ctx.Done()
				return act.Result{}, ctx.Err()
			},
			act.Away: func(context.Context, act.Work) (act.Result, error) { return act.Result{}, syscall.ECONNREFUSED },
		} {
			var told []string
			r := runner(t, act.Options{Timeout: time.Second, Interceptors: []act.Interceptor{
				tracer{name: "outer", told: &told}, tracer{name: "inner", told: &told},
			}}, do)
			require.Equal(t, want, r.Execute(t.Context(), &act.Call{Worker: "w"}).End)
			require.Equal(t, []string{"outer before", "inner before", "inner after " + string(want), "outer after " + string(want)}, told)
		}
	})
}

// An Interceptor of the host's may refuse an attempt, change its work and ask for an
// approval. It cannot allow what asks for one, and what it does wrong fails closed.
func TestInterceptorsOfHosts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode   act.Mode
		before func(*act.Call) error
		after  func(*act.Attempt)
		want   act.End
		told   string
	}{
		"refuses":   {before: func(*act.Call) error { return fmt.Errorf("not on a Friday: %w", act.ErrDenied) }, want: act.Denied, told: "i before, i after denied"},
		"fails":     {before: func(*act.Call) error { return errors.New("boom") }, want: act.Failed, told: "i before, i after failed"},
		"panics":    {before: func(*act.Call) error { panic("boom") }, want: act.Panicked, told: "i before, i after panicked"},
		"asks":      {before: func(c *act.Call) error { c.Mode = act.Gated; return nil }, want: act.Pending, told: "i before, i after pending"},
		"widens":    {before: func(c *act.Call) error { c.Blast = act.Public; return nil }, want: act.Pending, told: "i before, i after pending"},
		"overrules": {mode: act.Gated, before: func(c *act.Call) error { c.Mode, c.Allowed = 0, act.Compound; return nil }, want: act.Pending, told: "i before, i after pending"},
		"instead":   {mode: act.Gated, before: func(c *act.Call) error { c.Worker = "free"; return nil }, want: act.Pending, told: "i before, i after pending"},
		"changes":   {before: func(c *act.Call) error { c.Work.Objective = "changed"; return nil }, want: act.Finished, told: "i before, changed, i after finished"},
		"mangles":   {after: func(a *act.Attempt) { a.Result.Output = json.RawMessage(`{`) }, want: act.Malformed, told: "i before, , i after finished"},
		"miscounts": {after: func(a *act.Attempt) { a.Result.Usage.TokensIn = -1 }, want: act.Malformed, told: "i before, , i after finished"},
		"claims":    {mode: act.Gated, after: func(a *act.Attempt) { a.End = act.Finished }, want: act.Pending, told: "i before, i after pending"},
		"dislikes":  {after: func(a *act.Attempt) { a.End, a.Complaint = act.Failed, "no" }, want: act.Failed, told: "i before, , i after finished"},
		"breaks":    {after: func(*act.Attempt) { panic("boom") }, want: act.Failed, told: "i before, , i after finished"},
		"is lost":   {after: func(*act.Attempt) { runtime.Goexit() }, want: act.Failed, told: "i before, , i after finished"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told []string
			do := act.ExecutorFunc(func(_ context.Context, w act.Work) (act.Result, error) {
				told = append(told, w.Objective)
				return success(`1`), nil
			})
			r, err := act.NewRunner(act.Options{
				Workers: []act.Worker{{Card: rank.Candidate{Name: "w"}, Executor: do, Mode: c.mode}, {Card: rank.Candidate{Name: "free"}, Executor: do}},
				Gates:   []act.Gate{act.NoGate}, Interceptors: []act.Interceptor{tracer{"i", &told, c.before, c.after}},
			})
			require.NoError(t, err)
			require.Equal(t, c.want, r.Execute(t.Context(), &act.Call{Worker: "w"}).End)
			require.Equal(t, c.told, strings.Join(told, ", "))
		})
	}
}

// What an attempt has used is known of one that has failed too, and estimated from the
// rate of its worker.
// What is no price is refused with the workers: no attempt has a cost that nothing takes.
func TestRatesArePrices(t *testing.T) {
	t.Parallel()
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, rate := range []act.Rate{{In: bad}, {Out: bad}, {CacheRead: bad}, {CacheWrite: bad}} {
			_, err := act.NewRunner(act.Options{Gates: []act.Gate{act.NoGate}, Workers: []act.Worker{{
				Card: rank.Candidate{Name: "w"}, Rate: rate,
				Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) { return success(`1`), nil }),
			}}})
			require.ErrorContains(t, err, "is negative or not a number")
		}
	}
}

func TestCostOfAttempts(t *testing.T) {
	t.Parallel()
	used := act.Usage{TokensIn: 2e6, TokensOut: 1e5}
	for name, c := range map[string]struct {
		do   func(context.Context, act.Work) (act.Result, error)
		want act.Usage
	}{
		"finished": {func(context.Context, act.Work) (act.Result, error) { r := success(`1`); r.Usage = used; return r, nil },
			act.Usage{TokensIn: 2e6, TokensOut: 1e5, APICostUSD: 7.5}},
		"failed": {func(context.Context, act.Work) (act.Result, error) { return act.Result{Usage: used}, errors.New("no") },
			act.Usage{TokensIn: 2e6, TokensOut: 1e5, APICostUSD: 7.5}},
		"malformed": {func(context.Context, act.Work) (act.Result, error) {
			return act.Result{Usage: used, Output: []byte("{")}, nil
		},
			act.Usage{TokensIn: 2e6, TokensOut: 1e5, APICostUSD: 7.5}},
		"estimated by itself": {func(context.Context, act.Work) (act.Result, error) {
			return act.Result{Usage: act.Usage{TokensIn: 1, APICostUSD: 3}}, act.ErrDenied
		}, act.Usage{TokensIn: 1, APICostUSD: 3}},
		"negative": {func(context.Context, act.Work) (act.Result, error) {
			return act.Result{Usage: act.Usage{TokensIn: -1}}, errors.New("no")
		}, act.Usage{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := act.NewRunner(act.Options{
				Workers: []act.Worker{{Card: rank.Candidate{Name: "w"}, Executor: act.ExecutorFunc(c.do), Rate: act.Rate{In: 2.5, Out: 25}}},
				Gates:   []act.Gate{act.NoGate},
			})
			require.NoError(t, err)
			require.Equal(t, c.want, r.Execute(t.Context(), &act.Call{Worker: "w"}).Result.Usage)
		})
	}
}

// Figures of programs that came before: what words mean, where one of the two versions was
// right, and what tokens cost.
func TestArcStarterCases(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/arc-starter.json")
	require.NoError(t, err)
	var f struct {
		Cases []struct {
			Name  string
			Input struct {
				Message    *string
				Input      int
				Output     int
				CacheRead  int `json:"cache_read"`
				CacheWrite int `json:"cache_write"`
				Prices     []float64
			}
			Want struct {
				Class string
				Cost  float64 `json:"api_cost_usd"`
				In    *int    `json:"tokens_in_recorded"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(raw, &f))
	require.NotEmpty(t, f.Cases)
	// The first version tried again what it should not have, and the second took a full
	// disk and a long prompt for limits of a rate, and a refusal for nothing.
	better := map[string]string{
		"permission denied": "auth", "disk quota exceeded": "unknown", "exceeded the context limit": "unknown", "token limit": "unknown",
		"Too Many Requests": "rate_limited", "usage limit reached": "rate_limited", "quota exceeded": "rate_limited",
		"request timed out": "transient", "ETIMEDOUT": "transient", "ECONNRESET": "transient", "HTTP 503": "transient",
		"status 500": "transient", "timeout": "transient", "claude exited 1: something odd": "unknown", "": "unknown",
	}
	for _, c := range f.Cases {
		if c.Input.Message == nil {
			in := c.Input.Input + c.Input.CacheRead + c.Input.CacheWrite
			if c.Want.In != nil {
				require.Equal(t, *c.Want.In, in)
			}
			p := c.Input.Prices
			r, err := act.NewRunner(act.Options{Workers: []act.Worker{{
				Card: rank.Candidate{Name: "w"}, Rate: act.Rate{In: p[0], Out: p[1], CacheRead: p[2], CacheWrite: p[3]}, Gates: []act.Gate{act.NoGate},
				Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
					return act.Result{Usage: act.Usage{
						TokensIn: in, TokensOut: c.Input.Output, CacheRead: c.Input.CacheRead, CacheWrite: c.Input.CacheWrite,
					}}, errors.New("no")
				}),
			}}})
			require.NoError(t, err)
			a := r.Execute(t.Context(), &act.Call{Worker: "w"})
			require.InDelta(t, c.Want.Cost, a.Result.Usage.APICostUSD, 1e-12, "of an attempt that failed too")
			continue
		}
		err := act.Classify(errors.New(*c.Input.Message))
		got := "unknown"
		if _, limited := errors.AsType[*act.RateLimitError](err); limited {
			got = "rate_limited"
		} else if errors.Is(err, act.ErrDenied) {
			got = "auth"
		} else if *c.Input.Message != "" && reflect.TypeOf(err) == reflect.TypeOf(act.Transient(err)) {
			got = "transient"
		}
		want := c.Want.Class
		if b, ok := better[*c.Input.Message]; ok {
			want = b
		}
		require.Equal(t, want, got, *c.Input.Message)
	}
}
