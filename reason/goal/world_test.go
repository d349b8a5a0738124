package goal_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

// stands says how a goal with these fields stands in a world.
func stands(t *testing.T, w *goal.World, fields string) goal.Standing {
	t.Helper()
	var gs goal.Goals
	require.NoError(t, gs.Load([]byte("goals: [{id: g, selector: domains.m.data."+fields+"}]")))
	return gs.Evaluate(w)[0]
}

func set(t *testing.T, w *goal.World, data string) {
	t.Helper()
	require.NoError(t, w.Set("m", json.RawMessage(data), 0))
}

// The cases of protoWorkstacean's evaluators (goals-hitl), but for what is missing: it is unknown, not violated.
func TestEvaluate(t *testing.T) {
	w := goal.NewWorld("acme", nil)
	set(t, w, `{"x": 5, "s": "a", "z": 0, "t": true, "n": null, "list": ["a","a","b","c"], "obj": {"p": "a", "q": "b"}, "work": {"do": 6, "fix": 2}, "none": [],
		"gpt-4.1": {"rate": 0.5}, "jobs": [{"name": "build"}]}`)
	for fields, want := range map[string]goal.Status{
		"x, min: 1, max: 9": goal.Met, "x, min: 6": goal.Violated, "x, min: 5": goal.Met, "x, max: 5": goal.Met, "x, max: 4": goal.Violated,
		"x, max: 0, enabled: false": goal.Unknown, "x": goal.Met, "x, type: Threshold": goal.Met, "s, type: threshold": goal.Unknown,
		"t": goal.Met, "z": goal.Violated, "z, operator: falsy": goal.Met, "n, operator: falsy": goal.Met, "n, max: 1": goal.Unknown,
		"nope, operator: eq, expected: 1": goal.Unknown, "x.y.z": goal.Unknown, "list.4": goal.Unknown, "list.-1": goal.Unknown,
		"s, operator: in, expected: [a, b]": goal.Met, "s, operator: in, expected: a": goal.Violated, "s, operator: not_in, expected: [a]": goal.Violated,
		"x, operator: eq, expected: 5": goal.Met, `x, operator: eq, expected: "5"`: goal.Violated, "x, operator: neq, expected: 5": goal.Violated,
		"obj, operator: eq, expected: {p: a, q: b}": goal.Met, "s, operator: not_in, expected: [b]": goal.Met,
		"list, distribution: {a: 0.5, b: 0.25, c: 0.25}": goal.Met, "list, distribution: {a: 0.4}": goal.Met, "list, distribution: {a: 0.8}, tolerance: 0.3": goal.Met, "list, distribution: {zz: 0.2}": goal.Violated,
		"list, distribution: {a: 0.5}": goal.Met, "obj, distribution: {a: 0.5, b: 0.5}": goal.Met, "x, distribution: {a: 1}": goal.Violated,
		"list, distribution: {a: 0.1}, tolerance: 0.39":           goal.Violated,
		"work, distribution: {do: 0.75, fix: 0.25}, tolerance: 0": goal.Met, "none, distribution: {a: 1}": goal.Violated,
		"gpt-4.1.rate, min: 0.5": goal.Met, "jobs.0.name, operator: eq, expected: build": goal.Met,
	} {
		require.Equal(t, want, stands(t, w, fields).Status, fields)
	}
	require.Equal(t, `domains.m.data.list is {"a":0.5,"b":0.25,"c":0.25}, not spread as {"zz":0.2} ± 0.1`, stands(t, w, "list, distribution: {zz: 0.2}").Reason)
}

func TestLoad(t *testing.T) {
	const good = "goals:\n  - id: a\n    selector: domains.m.data.x\n"
	var gs goal.Goals
	require.Empty(t, gs.Evaluate(goal.NewWorld("", nil)))
	require.NoError(t, gs.Load([]byte("version: \"1\"\n"+good+"    severity: CRITICAL\n    cooldown: 5s\n")))
	for document, want := range map[string]string{
		"":                              "empty",
		good + "    maximum: 3":         "line 4: field maximum not found",
		good + "    max: 3\n    max: 4": "line 5",
		good + "  - id: a\n    selector: domains.m.data": "line 4: goal \"a\": the id is that of another goal",
		good + "    max: 3\n    min: 4":                  "line 2: goal \"a\": min is above max",
		good + "    max: .nan":                           "no finite number",
		good + "    max: 3\n    tolerance: .1":           "it is a threshold, and has fields of another type",
		good + "    severity: urgent":                    "severity is one of critical, high, medium, low",
		good + "    type: trend":                         "type is one of threshold, distribution, invariant, not \"trend\"",
		good + "    operator: like":                      "there is no operator \"like\"",
		good + "    operator: in":                        "expects a list",
		good + "    expected: 3":                         "operator truthy expects nothing",
		good + "    cooldown: -1s":                       "cooldown is negative",
		good + "    distribution: {a: 2}":                "the share of \"a\"",
		good + "    tolerance: 2":                        "tolerance is not from 0 to 1",
		"goals: [{id: a, selector: m.x}]":                "not a place such as",
		"goals: [{id: a, selector: domains.m}]":          "not a place such as",
		"goals: [{selector: domains.m.data, id: " + strings.Repeat("a", 129) + "}]": "at most 128 bytes",
		good + "---\n" + good: "a second document",
	} {
		err := gs.Load([]byte(document))
		require.ErrorContains(t, err, want, document)
		require.Len(t, gs.Evaluate(goal.NewWorld("", nil)), 1, "the goals stay as they were")
	}
}

// passed tells a World of acme that a task has passed which reports a change.
func passed(w *goal.World, d reason.Delta) {
	raw, _ := json.Marshal([]reason.Delta{d}) // what is no JSON is no event
	w.OnEvent("acme", "7", arc.Event{Kind: "passed", Data: raw})
}

func TestDeltas(t *testing.T) {
	for _, tt := range []struct{ data, path, op, value, want string }{
		{`{"x": 1}`, "m.x", "set", `"new"`, `{"x":"new"}`},
		{`{"x": 1}`, "domains.m.data.x", "inc", `-2.5`, `{"x":-1.5}`},
		{`{"x": 1}`, "m.y.z", "set", `[1]`, `{"x":1,"y":{"z":[1]}}`},
		{`{"l": [1]}`, "m.l", "push", `2`, `{"l":[1,2]}`},
		{`{}`, "m.l", "push", `2`, `{"l":[2]}`},
		{`{"gpt-4.1": {"x": 1}}`, "m.gpt-4.1.x", "inc", `1`, `{"gpt-4.1":{"x":2}}`},
		{`{"l": [{"a": 1}]}`, "m.l.0.a", "inc", `1`, `{"l":[{"a":2}]}`},
		{`{"x": 1}`, "m", "set", `3`, `3`},
		{`{"x": 1}`, "m.y", "inc", `1`, ""}, {`{"x": "1"}`, "m.x", "inc", `1`, ""}, {`{"x": 1}`, "m.x", "inc", `"1"`, ""},
		{`{"x": 1}`, "m.x.y", "set", `1`, ""}, {`{"l": [1]}`, "m.l.1", "set", `1`, ""}, {`{"x": 1}`, "m.x", "push", `1`, ""},
		{`{"x": 1}`, "other.x", "set", `1`, ""}, {`{"x": 1}`, "m..x", "set", `1`, ""}, {`{"x": 1}`, "m.x", "mul", `2`, ""}, {`{"x": 1}`, "m.x", "set", `{`, ""},
		{`{"x": 1}`, "m.y", "set", `"` + strings.Repeat("y", 1<<20) + `"`, ""},
	} {
		w := goal.NewWorld("acme", nil)
		set(t, w, tt.data)
		passed(w, reason.Delta{Path: tt.path, Op: tt.op, Value: json.RawMessage(tt.value)})
		tt.want = cmp.Or(tt.want, tt.data)
		var gs goal.Goals
		require.NoError(t, gs.Load([]byte("goals: [{id: g, selector: domains.m.data, operator: eq, expected: "+tt.want+"}]")))
		require.Equal(t, goal.Met, gs.Evaluate(w)[0].Status, "%v: %v", tt, gs.Evaluate(w)[0].Reason)
	}
}

// A collector that fails, panics, hangs or is too late leaves its domain as it was, with its age, and holds no other.
func TestCollectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := goal.NewWorld("acme", nil)
		answer, calls := func(context.Context) (any, error) { return map[string]any{"x": 1}, nil }, 0
		require.NoError(t, w.Collect("m", func(ctx context.Context) (any, error) {
			calls++
			return answer(ctx)
		}, 20*time.Second, 0))
		reads := 0
		require.NoError(t, w.Collect("other", func(context.Context) (any, error) {
			reads++
			return reads, nil
		}, time.Second, 0))
		require.Equal(t, "unknown: m was never read", stands(t, w, "x").Reason)
		for _, each := range []struct {
			name   string
			answer func(context.Context) (any, error)
			fails  bool
			status goal.Status
		}{
			{"reads", answer, false, goal.Met},
			{"fails", func(context.Context) (any, error) { return nil, errors.New("down") }, true, goal.Met},
			{"panics", func(context.Context) (any, error) { panic("down") }, true, goal.Met},
			{"is no JSON", func(context.Context) (any, error) { return func() {}, nil }, true, goal.Met},
			{"is too much", func(context.Context) (any, error) { return strings.Repeat("x", 1<<20), nil }, true, goal.Unknown},
			{"is too late", func(ctx context.Context) (any, error) { <-ctx.Done(); return map[string]any{"x": 0}, nil }, true, goal.Unknown},
			{"reads again", answer, false, goal.Met},
		} {
			answer = each.answer
			err := w.Poll(t.Context())
			require.Equal(t, each.fails, err != nil, "%s: %v", each.name, err)
			require.Equal(t, each.status, stands(t, w, "x").Status, "%s: 20 s apart, and a reading holds for 60", each.name)
			time.Sleep(20 * time.Second)
			synctest.Wait()
		}
		require.Equal(t, []int{7, 7}, []int{calls, reads})

		hang := make(chan bool)
		answer = func(context.Context) (any, error) { <-hang; return map[string]any{"x": 0}, nil }
		began := time.Now()
		require.ErrorIs(t, w.Poll(t.Context()), context.DeadlineExceeded)
		require.Equal(t, 10*time.Second, time.Since(began))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.NoError(t, w.Poll(t.Context()), "it has not come back")
		require.Equal(t, []int{8, 9}, []int{calls, reads})
		set(t, w, `{"x": 2}`)
		close(hang)
		synctest.Wait()
		answer = func(context.Context) (any, error) { return nil, errors.New("down") }
		require.Error(t, w.Poll(t.Context()), "it is called again")
		require.Equal(t, "domains.m.data.x is 2", stands(t, w, "x").Reason)

		time.Sleep(9 * time.Minute)
		answer = func(context.Context) (any, error) { time.Sleep(time.Second); return map[string]any{"x": 1}, nil }
		go func() { time.Sleep(time.Millisecond); set(t, w, `{"x": 2}`) }()
		require.NoError(t, w.Poll(t.Context()))
		require.Equal(t, "domains.m.data.x is 2", stands(t, w, "x").Reason, "what was read later holds")
		time.Sleep(9 * time.Minute)
		passed(w, reason.Delta{Path: "m.x", Op: "inc", Value: json.RawMessage("1")})
		time.Sleep(time.Minute - time.Second)
		require.Equal(t, "domains.m.data.x is 3", stands(t, w, "x").Reason, "as old as its reading")
		time.Sleep(time.Second)
		require.Equal(t, "unknown: m was read 10m1s ago", stands(t, w, "x").Reason)
		require.Error(t, w.Collect("m", nil, 0, 0))
		require.Error(t, w.Collect("a.b", answer, 0, 0))
		require.Error(t, w.Set("", 1, 0))
	})
}

// What ordinary runs of the scope report changes the World, and what those of another scope report does not.
func TestOrdinaryRuns(t *testing.T) {
	w := goal.NewWorld("acme", nil)
	set(t, w, `{"x": 5}`)
	lowers := act.ExecutorFunc(func(_ context.Context, c *act.Call) (*act.Result, error) {
		deltas := []reason.Delta{{Path: "m.x", Op: "inc", Value: json.RawMessage("-2")}, {Path: "m.nope", Op: "inc", Value: json.RawMessage("1")}}
		return &act.Result{Text: c.Task.Objective, Deltas: deltas}, nil
	})
	no := act.GateFunc(func(_ context.Context, _ *act.Call, r *act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: r.Text != "refused"}, nil
	})
	a, err := arc.New(t.Context(), store.NewMem(), arc.Host{Workers: []act.Worker{{Name: "w", Executor: lowers, Gates: []act.Gate{no}}}},
		&arc.Options{OnEvent: w.OnEvent})
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	for _, tt := range []struct {
		scope memory.Scope
		text  string
		want  int
	}{{"acme", "one", 3}, {"acme/ann", "two", 3}, {"other", "three", 3}, {"acme", "refused", 3}, {"acme", "four", 1}} {
		_, err := a.Run(t.Context(), arc.Objective{Scope: tt.scope, Text: tt.text})
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint("domains.m.data.x is ", tt.want), stands(t, w, "x").Reason)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(ci), []byte(`{"failing": [1, {"a": null}]}`), "m.failing.1.a")
	f.Add([]byte("goals: [{id: a, selector: domains.m.data.a, distribution: {x: .5}}]"), []byte(`{"a": {"x": 1e308, "y": 1e308}}`), "m.a")
	f.Fuzz(func(t *testing.T, document, data []byte, path string) {
		var gs goal.Goals
		w := goal.NewWorld("acme", nil)
		_ = w.Set("m", json.RawMessage(data), 0)
		passed(w, reason.Delta{Path: path, Op: "push", Value: data})
		if gs.Load(document) == nil {
			for _, s := range gs.Evaluate(w) {
				require.NotEmpty(t, s.Reason)
			}
		}
	})
}

// What was read by a clock that was set back since is not taken for what is, and is read again.
func TestClockIsSetBack(t *testing.T) {
	now, reads := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), 0
	w := goal.NewWorld("acme", func() time.Time { return now })
	require.NoError(t, w.Collect("m", func(context.Context) (any, error) {
		reads++
		return map[string]any{"x": reads}, nil
	}, time.Minute, 0))
	require.NoError(t, w.Poll(t.Context()))
	now = now.AddDate(-3, 0, 0)
	require.Equal(t, goal.Unknown, stands(t, w, "x, min: 1").Status)
	require.NoError(t, w.Poll(t.Context()))
	require.Equal(t, 2, reads)
	require.Equal(t, goal.Met, stands(t, w, "x, min: 2").Status)
	require.Error(t, w.Set("m", 1, -time.Second))
}
