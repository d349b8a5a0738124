package act_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// catalogue is a file system with a file of actions.
func catalogue(lines ...string) fstest.MapFS {
	return fstest.MapFS{"ops/actions.yaml": &fstest.MapFile{Data: []byte(strings.Join(lines, "\n"))}}
}

var named = &act.ActionOptions{Executors: map[string]act.Executor{
	"restart": act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) { return act.Result{}, nil }),
	"nothing": act.ExecutorFunc(nil),
}}

func TestLoadActions(t *testing.T) {
	t.Parallel()
	workers, err := act.LoadActions(catalogue(
		"actions:",
		"  - name: restarter",
		"    skills: [ops]",
		"    effects: [{domain: service, path: data.up}]",
		"    inputs: {type: object, required: [host], properties: {host: {type: string}}}",
		"    blast: repo",
		"    mode: gated",
		"    irreversible: true",
		"    approvers: 3",
		"    prior: 0.6",
		"    rate: {in: 3, out: 15}",
		"    executor: restart",
		"  - {name: prober, argv: [./probe, --quick]}",
	), "ops/actions.yaml", &act.ActionOptions{Executors: named.Executors, Commands: &act.Command{Dir: "ops", Env: []string{"A=b"}}})
	require.NoError(t, err)
	require.Len(t, workers, 2)
	w := workers[0]
	require.Equal(t, "restarter", w.Card.Name)
	require.Equal(t, 0.6, w.Card.Prior)
	require.Equal(t, []string{"ops"}, w.Skills)
	require.Equal(t, []reason.Effect{{Domain: "service", Path: "data.up"}}, w.Effects)
	require.Equal(t, act.Repo, w.Blast)
	require.Equal(t, act.Gated, w.Mode)
	require.Equal(t, 3, w.Approvers)
	require.Equal(t, act.Rate{In: 3, Out: 15}, w.Rate)
	require.True(t, w.Irreversible)
	require.Equal(t, &act.Command{Argv: []string{"./probe", "--quick"}, Dir: "ops", Env: []string{"A=b"}}, workers[1].Executor)
	r, err := act.NewRunner(act.Options{Workers: workers, Gates: []act.Gate{act.NoGate}})
	require.NoError(t, err)
	ok, why := r.Able(&act.Task{Skill: "ops", Inputs: []byte(`{"host": 1}`)})
	require.False(t, ok)
	require.Contains(t, why, "/host")
}

// A bad file is told whole, with a line for each flaw, and gives no workers.
func TestBadActions(t *testing.T) {
	t.Parallel()
	for want, lines := range map[string][]string{
		`:1: no actions`: {"actions: []"},
		`:1: no actions: the document needs a list`: {"<<: {actions: [{name: a, executor: restart}]}"},
		`:2: a second document`:                     {"actions: [{name: a, executor: restart}]", "---", "actions: []"},
		`:2: an empty entry`:                        {"actions:", "  - null", "  - name: b"},
		`:2: mapping values are not allowed`:        {"actions:", "  - name: a: b"},
		`:3: field excutor not found`:               {"actions:", "  - name: a", "    excutor: restart"},
		`:3: cannot unmarshal !!str`:                {"actions:", "  - name: a", "    prior: high", "    executor: restart"},
		`:3: action "a": unknown blast "wide"`:      {"actions:", "  - name: a", "    blast: wide", "    executor: restart"},
		`:4: action "a": unknown mode "nowhere"`:    {"actions:", "  - name: a", "    executor: restart", "    mode: nowhere"},
		`:2: action "a": worker "a": prior 2 is`:    {"actions:", "  - {name: a, prior: 2, executor: restart}"},
		`:2: action "a": worker "a": input: schema`: {"actions:", "  - {name: a, inputs: {type: 5}, executor: restart}"},
		`:2: action "": worker 0 has no name`:       {"actions:", "  - executor: restart"},
		`:3: action "a": another has this name`:     {"actions:", "  - {name: a, executor: restart}", "  - {name: a, executor: restart}"},
		`:2: action "a": it needs an executor`:      {"actions:", "  - name: a"},
		`:3: action "a": it needs an executor`:      {"actions:", "  - name: a", "    executor: restart", "    argv: [x]"},
		`:2: action "a": the host has no executor`:  {"actions:", "  - {name: a, executor: absent}"},
		`:2: action "b": the host has no executor`:  {"actions:", "  - {name: b, executor: nothing}"},
		`:2: action "a": programs are not allowed`:  {"actions:", "  - {name: a, argv: [rm]}"},
		`:2: action "a": an effect has no domain`:   {"actions:", "  - {name: a, effects: [{path: x}], executor: restart}"},
		`:2: action "a": json: unsupported type`:    {"actions:", "  - {name: a, inputs: {1: x}, executor: restart}"},
	} {
		workers, err := act.LoadActions(catalogue(lines...), "ops/actions.yaml", named)
		require.ErrorContains(t, err, "ops/actions.yaml"+want)
		require.Nil(t, workers)
	}
	_, err := act.LoadActions(catalogue("actions:", "  - {name: a, blast: x, mode: y}", "  - name: b"), "ops/actions.yaml", nil)
	require.Equal(t, 4, strings.Count(err.Error(), "ops/actions.yaml:"), err)
	for _, fsys := range []fstest.MapFS{nil, {}, catalogue(strings.Repeat("#", 1<<20+1)), catalogue("")} {
		_, err = act.LoadActions(fsys, "ops/actions.yaml", named)
		require.Error(t, err)
	}
	_, err = act.LoadActions(nil, "x", nil)
	require.Error(t, err)
}

// No file of actions makes the loader panic, and what is loaded a Runner takes.
func FuzzLoadActions(f *testing.F) {
	f.Add([]byte("actions:\n  - {name: a, executor: restart, inputs: {type: object}, rate: {in: 1}}\n"))
	f.Add([]byte("actions: [{name: a, argv: [x], effects: [{domain: a, path: b}], blast: public, mode: veto}]"))
	f.Add([]byte("a: &a [*a]\nactions: *a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		o := &act.ActionOptions{Executors: named.Executors, Commands: new(act.Command)}
		workers, err := act.LoadActions(fstest.MapFS{"x": &fstest.MapFile{Data: data}}, "x", o)
		if err != nil {
			require.Nil(t, workers)
			return
		}
		_, err = act.NewRunner(act.Options{Workers: slices.Clone(workers), Gates: []act.Gate{act.NoGate}})
		require.NoError(t, err)
	})
}

// A host hands out what a file may name.
func ExampleLoadActions() {
	workers, err := act.LoadActions(catalogue(
		"actions:",
		"  - name: restarter",
		"    effects: [{domain: service, path: data.up}]",
		"    blast: repo",
		"    executor: restart",
	), "ops/actions.yaml", named)
	for _, w := range workers {
		fmt.Println(w.Card.Name, w.Blast, w.Effects[0].Path, err)
	}
	_, err = act.LoadActions(catalogue("actions:", "  - name: restarter", "    blast: huge", "    argv: [reboot]"), "ops/actions.yaml", named)
	fmt.Println(err)
	// Output:
	// restarter repo data.up <nil>
	// actions:
	// ops/actions.yaml:3: action "restarter": unknown blast "huge"
	// ops/actions.yaml:4: action "restarter": programs are not allowed
}

// swap is an Interceptor that replaces the workers while an attempt is under way.
type swap func()

func (s swap) Before(context.Context, *act.Call) error        { s(); return nil }
func (s swap) After(context.Context, *act.Call, *act.Attempt) { s() }

// What was asked for an attempt holds for the worker that it was asked for: another of the
// name takes the next attempt, and one that is gone none.
func TestSetWorkersDuringAnAttempt(t *testing.T) {
	t.Parallel()
	var did []string
	worker := func(name, what string, mode act.Mode) act.Worker {
		return act.Worker{Card: rank.Candidate{Name: name}, Mode: mode, Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
			did = append(did, what)
			return act.Result{Usage: act.Usage{TokensIn: 1e6}}, nil
		}), Rate: act.Rate{In: float64(len(what))}}
	}
	var r *act.Runner
	next := []act.Worker{worker("one", "another", act.Gated)}
	next[0].Gates = []act.Gate{act.GateFunc(func(context.Context, act.Work, act.Result) (act.Verdict, error) {
		return act.Verdict{Complaint: "of another"}, nil
	})}
	r, err := act.NewRunner(act.Options{
		Workers: []act.Worker{worker("one", "first", 0)}, Gates: []act.Gate{act.NoGate},
		Interceptors: []act.Interceptor{swap(func() {
			if next != nil {
				require.NoError(t, r.SetWorkers(next))
			}
		})},
	})
	require.NoError(t, err)
	a := r.Execute(t.Context(), &act.Call{Worker: "one"})
	require.Equal(t, []string{"first"}, did)
	require.InDelta(t, 5, a.Result.Usage.APICostUSD, 1e-9, "at the rate of the first")
	require.Equal(t, act.Pending, r.Execute(t.Context(), &act.Call{Worker: "one"}).End, "the other asks first")
	next = nil
	require.NoError(t, r.SetWorkers([]act.Worker{worker("two", "second", 0)}))
	require.Equal(t, []string{"two"}, r.Workers())
	a = r.Execute(t.Context(), &act.Call{Worker: "one", Mode: act.Compound})
	require.Equal(t, act.Away, a.End)
	require.Equal(t, `there is no worker "one"`, a.Complaint)
	require.Equal(t, act.Public, r.Reach("one"))
	require.Equal(t, 2, r.Approvers("one", act.Compound))
	require.Equal(t, []string{"first"}, did)

	for range 2 { // the gates of who is gone check what they did, also later
		v, err := r.Verify(t.Context(), "one", act.Work{}, act.Result{})
		require.NoError(t, err)
		require.Equal(t, "of another", v.Complaint)
		require.NoError(t, r.SetWorkers([]act.Worker{worker("three", "third", 0)}))
	}
	_, err = r.Verify(t.Context(), "nobody", act.Work{}, act.Result{})
	require.Error(t, err)

	for i := range 300 { // those that went first are forgotten
		require.NoError(t, r.SetWorkers([]act.Worker{worker(fmt.Sprint("new ", i), "new", 0)}))
	}
	_, err = r.Verify(t.Context(), "one", act.Work{}, act.Result{})
	require.Error(t, err)
	_, err = r.Verify(t.Context(), "new 50", act.Work{}, act.Result{})
	require.NoError(t, err)
}
