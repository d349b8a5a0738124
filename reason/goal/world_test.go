package goal_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

type obj = map[string]any

func deltas(path, value string) []reason.Delta {
	return []reason.Delta{{Domain: "m", Path: path, Value: json.RawMessage(value)}}
}

func TestReadingsGrowOld(t *testing.T) {
	t.Parallel()
	w := new(goal.World)
	require.NoError(t, w.Set("m", goal.Snapshot{Data: obj{"x": 1}, At: noon, MaxAge: time.Minute}))
	require.NoError(t, w.Set("ever", goal.Snapshot{Data: obj{"x": 1}, At: noon, MaxAge: -1}))
	require.Equal(t, 1.0, value(t, w, "data.x", after(60)))
	require.Equal(t, "unknown", value(t, w, "data.x", after(61)))
	require.NoError(t, w.Set("m", goal.Snapshot{Err: errors.New("down"), At: after(30)}))
	require.Equal(t, 1.0, value(t, w, "data.x", after(60)), "a failure does not undo what was read")
	s := w.State(after(100))
	_, err := s.Read("domains.m.data.x")
	require.EqualError(t, err, `unknown: domain "m" was last read 1m40s ago, more than 1m0s: down`)
	ds := w.Domains(after(100))
	require.Len(t, ds, 2)
	require.Equal(t, goal.Domain{Name: "ever", Known: true, At: noon}, ds[0])
	require.Equal(t, "m", ds[1].Name)
	require.False(t, ds[1].Known)
	require.EqualError(t, ds[1].Err, "down")
	require.NoError(t, w.Set("m", goal.Snapshot{Data: obj{"x": 2}, At: after(100), MaxAge: time.Minute}))
	require.Equal(t, 2.0, value(t, w, "data.x", after(100)))
	require.Equal(t, "unknown", value(t, w, "data.x", after(200)))
	require.NoError(t, w.Set("new", goal.Snapshot{Err: errors.New("down"), At: noon}))
	_, err = w.State(noon).Read("domains.new.data.x")
	require.EqualError(t, err, `unknown: domain "new" could not be read: down`)
	_, err = (goal.State{}).Read("domains.m.data.x")
	require.ErrorIs(t, err, goal.ErrUnknown)
}

func TestDeltas(t *testing.T) {
	t.Parallel()
	w := world(t, obj{"a": obj{"b": 1, "c": 2}, "list": []int{1, 2}})
	before := w.State(noon)
	require.NoError(t, w.Apply(deltas("data.a.b", "5"), after(10)))
	require.NoError(t, w.Apply(deltas("data.list.1", `{"x":[]}`), after(10)))
	require.NoError(t, w.Apply(deltas("data.list.7", `1`), after(10)), "no such place: nothing changes")
	require.NoError(t, w.Apply(deltas("data.a.c.deep", `true`), after(10)))
	require.Equal(t, obj{
		"a": obj{"b": 5.0, "c": obj{"deep": true}}, "list": []any{1.0, obj{"x": []any{}}},
	}, value(t, w, "data", after(10)))
	require.Equal(t, "unknown", value(t, w, "data.list.7", after(10)))
	r, err := before.Read("domains.m.data.a.b")
	require.NoError(t, err)
	require.Equal(t, goal.Reading{Value: 1.0, At: noon}, r, "a state does not change")
	r, err = before.Read("domains.m.data.list")
	require.NoError(t, err)
	require.Equal(t, []any{1.0, 2.0}, r.Value)

	require.NoError(t, w.Set("m", goal.Snapshot{Data: obj{"a": 0}, At: after(20)}))
	require.Equal(t, 0.0, value(t, w, "data.a", after(20)), "read after it")
	require.NoError(t, w.Apply(deltas("data.a", "9"), after(30)))
	require.Equal(t, 9.0, value(t, w, "data.a", after(10*60+20)))
	require.Equal(t, "unknown", value(t, w, "data.a", after(10*60+21)), "it is as old as the reading")

	require.NoError(t, w.Apply([]reason.Delta{{Domain: "new", Path: "data.n", Value: json.RawMessage("1")}}, noon))
	r, err = w.State(noon).Read("domains.new.data.n")
	require.NoError(t, err)
	require.Equal(t, goal.Reading{Value: 1.0, At: noon}, r)
}

// TestDeltasAreAllOrNone: one bad delta keeps the good ones out.
func TestDeltasAreAllOrNone(t *testing.T) {
	t.Parallel()
	w := world(t, obj{"a": 1})
	for want, bad := range map[string]reason.Delta{
		"no name":                       {Path: "data.a"},
		"begins with data":              {Domain: "m", Path: "a"},
		"an empty key":                  {Domain: "m", Path: "data..a"},
		"is not JSON":                   {Domain: "m", Path: "data.a", Value: json.RawMessage("{")},
		"cannot unmarshal number 1e999": {Domain: "m", Path: "data.a", Value: json.RawMessage("1e999")},
		"over the limit of 64":          {Domain: "m", Path: "data.a", Value: json.RawMessage(strings.Repeat("[", 65) + strings.Repeat("]", 65))},
		"name of a domain: 2000":        {Domain: strings.Repeat("d", 2000), Path: "data.a"},
	} {
		err := w.Apply(append(deltas("data.a", "2"), bad), after(1))
		require.ErrorContains(t, err, want)
	}
	var large []reason.Delta
	for i := range 5 {
		large = append(large, deltas(fmt.Sprintf("data.k%d", i), `"`+strings.Repeat("x", 1<<20-2)+`"`)...)
	}
	_, ok := errors.AsType[*store.LimitError](w.Apply(large, after(1)))
	require.True(t, ok)
	require.Equal(t, obj{"a": 1.0}, value(t, w, "data", after(1)))
	_, ok = errors.AsType[*store.LimitError](w.Apply(large[:1], after(1)))
	require.True(t, ok, "the domain as a whole is too large then")
	require.Equal(t, obj{"a": 1.0}, value(t, w, "data", after(1)))
}

// TestEffects: changes of a plan come in their order, on top of what was read.
func TestEffects(t *testing.T) {
	t.Parallel()
	s := world(t, obj{"failing": 3, "note": "x", "list": []any{1, 2}, "o": obj{"x": 1}}).State(noon)
	after, err := s.After([]goal.Change{
		adds("data.failing", -1), adds("data.failing", -2), adds("data.note", 1), adds("data.gone", 1),
		sets("data.list.1", obj{"b": 1}), sets("data.list.7", 1), sets("data.o.y.z", true), sets("data.big", math.MaxFloat64),
		adds("data.big", math.MaxFloat64),
	})
	require.NoError(t, err)
	r, err := after.Read("domains.m.data")
	require.NoError(t, err)
	require.Equal(t, obj{
		"failing": 0.0, "note": "x", "list": []any{1.0, obj{"b": 1.0}}, "o": obj{"x": 1.0, "y": obj{"z": true}}, "big": math.MaxFloat64,
	}, r.Value, "what is no number, no sum or no place in a list changes nothing")
	r, err = s.Read("domains.m.data")
	require.NoError(t, err)
	require.Equal(t, obj{"failing": 3.0, "note": "x", "list": []any{1.0, 2.0}, "o": obj{"x": 1.0}}, r.Value, "a state does not change")
	after, err = after.After([]goal.Change{alters("data.o")})
	require.NoError(t, err)
	for path, known := range map[string]bool{"data": false, "data.o": false, "data.o.x": false, "data.note": true} {
		_, err := after.Read("domains.m." + path)
		require.Equal(t, known, err == nil, path)
	}
	after, err = after.After([]goal.Change{sets("data.o", 1)})
	require.NoError(t, err)
	r, err = after.Read("domains.m.data.o")
	require.NoError(t, err)
	require.Equal(t, 1.0, r.Value)
}

func TestBadEffects(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]goal.Change{
		"begins with data":       sets("a", 1),
		"unknown operation":      {Effect: reason.Effect{Domain: "m", Path: "data.a"}, Op: "mul", Value: 2},
		"which is no number":     {Effect: reason.Effect{Domain: "m", Path: "data.a"}, Op: "add", Value: "2"},
		"NaN":                    adds("data.a", math.NaN()),
		"unsupported type: chan": sets("data.a", make(chan int)),
	} {
		require.ErrorContains(t, goal.Action{Name: "a", Effects: []goal.Change{sets("data.a", 2), c}}.Check(), want)
	}
}

// TestGarbage: what is no JSON, or too much of it, leaves the last reading
// alone.
func TestGarbage(t *testing.T) {
	t.Parallel()
	w := world(t, obj{"a": 1})
	loop := obj{}
	loop["loop"] = loop
	for want, data := range map[string]any{
		"unsupported value: NaN":        obj{"a": math.NaN()},
		"unsupported type: chan":        obj{"a": make(chan int)},
		"cycle":                         loop,
		"over the limit of 1048576":     strings.Repeat("x", goal.MaxSnapshot+1),
		"over the limit of 64":          json.RawMessage(strings.Repeat("[", 65) + strings.Repeat("]", 65)),
		"exceeded max depth":            json.RawMessage(strings.Repeat("[", 20000) + strings.Repeat("]", 20000)),
		"cannot unmarshal number 1e400": json.RawMessage("[1e400]"),
		"unexpected end":                json.RawMessage("["),
		"panic: boom":                   bomb{},
	} {
		err := w.Set("m", goal.Snapshot{Data: data, At: after(1)})
		require.ErrorContains(t, err, want)
		require.Equal(t, 1.0, value(t, w, "data.a", after(1)))
		require.Equal(t, w.Domains(after(1))[0].Err.Error(), strings.TrimPrefix(err.Error(), `goal: set domain "m": `))
	}
	require.Error(t, w.Set("m", goal.Snapshot{Data: 1}))
	require.Error(t, w.Set("", goal.Snapshot{Data: 1, At: noon}))
	require.Error(t, w.Set("\xff", goal.Snapshot{Data: 1, At: noon}))
	for i := range goal.MaxDomains - 1 {
		require.NoError(t, w.Set(fmt.Sprint(i), goal.Snapshot{At: noon}))
	}
	_, ok := errors.AsType[*store.LimitError](w.Set("one more", goal.Snapshot{At: noon}))
	require.True(t, ok)
	require.NoError(t, w.Set("m", goal.Snapshot{Data: json.RawMessage(strings.Repeat("[", goal.MaxDepth) + strings.Repeat("]", goal.MaxDepth)), At: noon}))
}

type bomb struct{}

func (bomb) MarshalJSON() ([]byte, error) { panic("boom") }

// TestCopies: nothing that goes in or comes out is shared.
func TestCopies(t *testing.T) {
	t.Parallel()
	data := obj{"list": []any{obj{"a": 1}}}
	w := world(t, data)
	raw := []byte(`[{"b":1}]`)
	require.NoError(t, w.Apply([]reason.Delta{{Domain: "m", Path: "data.new", Value: raw}}, noon))
	data["list"].([]any)[0] = "changed"
	raw[3] = 'x'
	s := w.State(noon)
	want := obj{"list": []any{obj{"a": 1.0}}, "new": []any{obj{"b": 1.0}}}
	for range 2 {
		r, err := s.Read("domains.m.data")
		require.NoError(t, err)
		require.Equal(t, want, r.Value)
		r.Value.(obj)["list"].([]any)[0].(obj)["a"] = "changed"
		v := goal.Goal{Condition: goal.Condition{Selector: "domains.m.data.new"}}.In(s)
		v.Actual.([]any)[0].(obj)["b"] = "changed"
	}
}

func TestSelectors(t *testing.T) {
	t.Parallel()
	w := new(goal.World)
	require.NoError(t, w.Set("a.b", goal.Snapshot{Data: obj{"x y": obj{"": obj{`"`: 1}}, "é": 2}, At: noon}))
	for _, sel := range []string{`domains["a.b"].data["x y"][""]["\""]`, goal.Selector("a.b", "x y", "", `"`)} {
		r, err := w.State(noon).Read(sel)
		require.NoError(t, err)
		require.Equal(t, 1.0, r.Value)
		require.Equal(t, reason.Effect{Domain: "a.b", Path: `data["x y"][""]["\""]`}, goal.Condition{Selector: sel}.Effect())
	}
	r, err := w.State(noon).Read(`domains["a.b"].data.é`)
	require.NoError(t, err)
	require.Equal(t, 2.0, r.Value)
	for _, bad := range []string{
		"", ".", "domains", "domains.m", "domains.m.x", "domains..data", "domains.m.data.", "domains.m.data.a b", "x.m.data",
		`domains.m.data[`, `domains.m.data["x`, `domains.m.data["x"`, `domains.m.data["x"]y`, `domains.m.data.["x"]`, `domains.m.data[x]`,
		`domains.m.data[]`, `domains[""].data`, "domains.m.data.\xff", "domains.m.data." + strings.Repeat("x", 2000), "domains.m.data" + strings.Repeat(".x", 70),
	} {
		require.Error(t, goal.Condition{Selector: bad}.Check(), bad)
		require.Zero(t, goal.Condition{Selector: bad}.Effect())
	}
	e := func(path string) reason.Effect { return reason.Effect{Domain: "m", Path: path} }
	require.True(t, goal.Overlaps(e("data.a"), e("data.a.b")))
	require.True(t, goal.Overlaps(e("data.a.b"), e("data.a")))
	require.False(t, goal.Overlaps(e("data.a"), e("data.ab")))
	require.False(t, goal.Overlaps(e("data.a"), reason.Effect{Domain: "n", Path: "data.a"}))
	require.False(t, goal.Overlaps(e("a"), e("a")))
	require.False(t, goal.Overlaps(e("data"), e("a")))
}

func TestSelectorsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.OneOf(rapid.StringMatching(`[a-c.\["\\ ]{0,4}`), rapid.String())
		domain := rapid.OneOf(rapid.StringMatching(`[a-c.\["\\ ]{1,4}`), rapid.StringN(1, 20, 80)).Draw(t, "domain")
		keys := rapid.SliceOfN(key, 0, 5).Draw(t, "keys")
		data := any("here")
		for i := len(keys) - 1; i >= 0; i-- {
			data = obj{keys[i]: data}
		}
		w := new(goal.World)
		if err := w.Set(domain, goal.Snapshot{Data: data, At: noon}); err != nil {
			t.Fatal(err)
		}
		r, err := w.State(noon).Read(goal.Selector(domain, keys...))
		if err != nil || r.Value != "here" {
			t.Fatalf("%s: %v %v", goal.Selector(domain, keys...), r.Value, err)
		}
	})
}

// TestWorldModel runs random histories of numbers against what was read or reported
// last.
func TestWorldModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := new(goal.World)
		var want any = "unknown"
		var read time.Time
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now := after(rapid.IntRange(0, 700).Draw(t, "now"))
			v := float64(rapid.IntRange(-3, 3).Draw(t, "v"))
			switch rapid.IntRange(0, 2).Draw(t, "op") {
			case 0:
				want, read = v, now
				require.NoError(t, w.Set("m", goal.Snapshot{Data: obj{"x": v}, At: now}))
			case 1:
				require.NoError(t, w.Set("m", goal.Snapshot{Err: errors.New("down"), At: now}))
			case 2:
				if want == "unknown" {
					read = now
				}
				want = v
				require.NoError(t, w.Apply(deltas("data.x", fmt.Sprint(v)), now))
			}
			r, err := w.State(now).Read("domains.m.data.x")
			if want == "unknown" || now.Sub(read) > 10*time.Minute {
				require.ErrorIs(t, err, goal.ErrUnknown)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, goal.Reading{Value: want, At: read}, r)
		}
	})
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	w := world(t, obj{"x": 0})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for j := range 50 {
				at := after(j)
				_ = w.Set("m", goal.Snapshot{Data: obj{"x": j}, At: at})
				_ = w.Apply(deltas("data.x", "1"), at)
				s := w.State(at)
				_, _ = s.Read("domains.m.data.x")
				_ = goal.Goal{Condition: is("data.x", 1)}.In(s)
			}
		})
	}
	wg.Wait()
}

// Deltas that are refused leave no domain behind.
func TestDeltasThatAreRefusedLeaveNothing(t *testing.T) {
	t.Parallel()
	w := new(goal.World)
	for _, bad := range []reason.Delta{
		{Domain: "n", Path: "x", Value: []byte("1")}, {Domain: "n", Path: "data.x", Value: []byte("{")},
	} {
		require.Error(t, w.Apply([]reason.Delta{{Domain: "m", Path: "data.x", Value: []byte("1")}, bad}, noon))
		require.Empty(t, w.Domains(noon))
	}
	large := reason.Delta{Domain: "n", Path: "data.x", Value: []byte(`"` + strings.Repeat("x", goal.MaxSnapshot-3) + `"`)}
	require.Error(t, w.Apply([]reason.Delta{{Domain: "m", Path: "data.x", Value: []byte("1")}, large}, noon))
	require.Empty(t, w.Domains(noon))
}
