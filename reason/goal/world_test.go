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
	w := goal.NewWorld(&goal.WorldOptions{MaxAge: time.Minute})
	require.NoError(t, w.Set("m", goal.Snapshot{Data: obj{"x": 1}, At: noon}))
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
	require.NoError(t, w.Set("m", goal.Snapshot{Data: obj{"x": 2}, At: after(100)}))
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

	require.NoError(t, w.Set("m", goal.Snapshot{Data: obj{"a": 0}, At: after(5)}))
	require.Equal(t, obj{"b": 5.0, "c": obj{"deep": true}}, value(t, w, "data.a", after(10)), "read before the change")
	require.NoError(t, w.Set("m", goal.Snapshot{Data: obj{"a": 0}, At: after(20)}))
	require.Equal(t, 0.0, value(t, w, "data.a", after(20)), "read after it")

	require.NoError(t, w.Apply(deltas("data.a", "9"), after(30)))
	r, err = w.State(after(15 * 60)).Read("domains.m.data.a")
	require.ErrorIs(t, err, goal.ErrUnknown)
	require.Zero(t, r)
	require.Equal(t, 9.0, value(t, w, "data.a", after(10*60+25)), "the reading is too old, the report is not")
	require.Equal(t, "unknown", value(t, w, "data", after(10*60+25)))

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
		"no name":                {Path: "data.a"},
		"begins with data":       {Domain: "m", Path: "a"},
		"an empty key":           {Domain: "m", Path: "data..a"},
		"is not JSON":            {Domain: "m", Path: "data.a", Value: json.RawMessage("{")},
		"out of the range":       {Domain: "m", Path: "data.a", Value: json.RawMessage("1e999")},
		"over the limit of 64":   {Domain: "m", Path: "data.a", Value: json.RawMessage(strings.Repeat("[", 65) + strings.Repeat("]", 65))},
		"name of a domain: 2000": {Domain: strings.Repeat("d", 2000), Path: "data.a"},
	} {
		err := w.Apply(append(deltas("data.a", "2"), bad), after(1))
		require.ErrorContains(t, err, want)
	}
	var many []reason.Delta
	for i := range goal.MaxDeltas + 1 {
		many = append(many, deltas(fmt.Sprintf("data.k%d", i), "1")...)
	}
	limit, ok := errors.AsType[*store.LimitError](w.Apply(many, after(1)))
	require.True(t, ok)
	require.Equal(t, goal.MaxDeltas, limit.Limit)
	var large []reason.Delta
	for i := range 5 {
		large = append(large, deltas(fmt.Sprintf("data.k%d", i), `"`+strings.Repeat("x", 1<<20-2)+`"`)...)
	}
	_, ok = errors.AsType[*store.LimitError](w.Apply(large, after(1)))
	require.True(t, ok)
	require.Equal(t, obj{"a": 1.0}, value(t, w, "data", after(1)))
	for range 3 * goal.MaxDeltas { // the same place again and again is one change
		require.NoError(t, w.Apply(deltas("data.a", "2"), after(1)))
	}
}

func TestExpectedEffects(t *testing.T) {
	t.Parallel()
	w := world(t, obj{"failing": 3, "note": "x"})
	require.NoError(t, w.Expect("a", []goal.Change{adds("data.failing", -1), alters("data.note")}, after(1), after(60)))
	require.NoError(t, w.Expect("b", []goal.Change{adds("data.failing", -2), adds("data.note", 1), adds("data.gone", 1)}, after(2), after(90)))
	require.Equal(t, 0.0, value(t, w, "data.failing", after(3)))
	require.Equal(t, "x", value(t, w, "data.note", after(3)))
	r, err := w.State(after(3)).Read("domains.m.data")
	require.NoError(t, err)
	require.True(t, r.Expected)
	require.Equal(t, noon, r.At)

	require.True(t, w.Rollback("a"))
	require.False(t, w.Rollback("a"))
	require.Equal(t, 1.0, value(t, w, "data.failing", after(3)), "b stays")
	require.Equal(t, 3.0, value(t, w, "data.failing", after(90)), "b has expired")

	// A reading that began later puts an end to it, until it has settled later
	// still.
	require.NoError(t, w.Set("m", goal.Snapshot{Data: obj{"failing": 3}, At: after(10)}))
	require.Equal(t, 3.0, value(t, w, "data.failing", after(10)))
	require.True(t, w.Settle("b", after(20), after(600)))
	require.Equal(t, 1.0, value(t, w, "data.failing", after(100)))
	require.NoError(t, w.Apply(deltas("data.failing", "2"), after(20)))
	require.Equal(t, 2.0, value(t, w, "data.failing", after(100)), "what was reported says more than what was expected")
	require.NoError(t, w.Set("m", goal.Snapshot{Data: obj{"failing": 0}, At: after(30)}))
	require.Equal(t, 0.0, value(t, w, "data.failing", after(100)))
	require.False(t, w.Settle("x", noon, noon))
}

func TestBadEffects(t *testing.T) {
	t.Parallel()
	w := world(t, obj{"a": 1})
	for want, c := range map[string]goal.Change{
		"begins with data":       sets("a", 1),
		"unknown operation":      {Effect: reason.Effect{Domain: "m", Path: "data.a"}, Op: "mul", Value: 2},
		"which is no number":     {Effect: reason.Effect{Domain: "m", Path: "data.a"}, Op: "add", Value: "2"},
		"NaN":                    adds("data.a", math.NaN()),
		"unsupported type: chan": sets("data.a", make(chan int)),
	} {
		require.ErrorContains(t, w.Expect("k", []goal.Change{sets("data.a", 2), c}, noon, after(9)), want)
	}
	require.Equal(t, 1.0, value(t, w, "data.a", noon))
	require.NoError(t, w.Expect("inf", []goal.Change{adds("data.a", math.MaxFloat64)}, after(10), after(20)))
	require.NoError(t, w.Expect("inf2", []goal.Change{adds("data.a", math.MaxFloat64)}, after(10), after(20)))
	require.Equal(t, math.MaxFloat64, value(t, w, "data.a", after(11)), "a sum that is no number changes nothing")
}

// TestGarbage: what is no JSON, or too much of it, leaves the last reading
// alone.
func TestGarbage(t *testing.T) {
	t.Parallel()
	w := world(t, obj{"a": 1})
	loop := obj{}
	loop["loop"] = loop
	for want, data := range map[string]any{
		"unsupported value: NaN":      obj{"a": math.NaN()},
		"unsupported type: chan":      obj{"a": make(chan int)},
		"cycle":                       loop,
		"over the limit of 1048576":   strings.Repeat("x", goal.MaxSnapshot+1),
		"over the limit of 64":        json.RawMessage(strings.Repeat("[", 65) + strings.Repeat("]", 65)),
		"exceeded max depth":          json.RawMessage(strings.Repeat("[", 20000) + strings.Repeat("]", 20000)),
		"out of the range of numbers": json.RawMessage("[1e400]"),
		"unexpected end":              json.RawMessage("["),
		"panic: boom":                 bomb{},
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
	change := []any{obj{"b": 1}}
	require.NoError(t, w.Expect("k", []goal.Change{sets("data.new", change)}, noon, after(9)))
	data["list"].([]any)[0] = "changed"
	change[0] = "changed"
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
	w := goal.NewWorld(nil)
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
		w := goal.NewWorld(nil)
		if err := w.Set(domain, goal.Snapshot{Data: data, At: noon}); err != nil {
			t.Fatal(err)
		}
		r, err := w.State(noon).Read(goal.Selector(domain, keys...))
		if err != nil || r.Value != "here" {
			t.Fatalf("%s: %v %v", goal.Selector(domain, keys...), r.Value, err)
		}
	})
}

// TestWorldModel runs random histories of numbers against a list of what has
// happened, from which the value is computed anew.
func TestWorldModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type event struct {
			key       string
			set       bool
			v         float64
			at, until int
		}
		w := goal.NewWorld(&goal.WorldOptions{MaxAge: -1})
		var read *event
		var events []event
		without := func(key string) {
			kept := events[:0:0]
			for _, e := range events {
				if e.key != key {
					kept = append(kept, e)
				}
			}
			events = kept
		}
		path := "data.x"
		for now := range rapid.IntRange(1, 40).Draw(t, "steps") {
			v := float64(rapid.IntRange(-3, 3).Draw(t, "v"))
			key := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key")
			switch rapid.IntRange(0, 5).Draw(t, "op") {
			case 0: // a reading that began now, or some time ago
				at := max(0, now-rapid.IntRange(0, 3).Draw(t, "late"))
				if read != nil && at < read.at {
					continue
				}
				read = &event{v: v, at: at}
				require.NoError(t, w.Set("m", goal.Snapshot{Data: obj{"x": v}, At: after(at)}))
			case 1:
				events = append(events, event{set: true, v: v, at: now, until: math.MaxInt})
				require.NoError(t, w.Apply(deltas(path, fmt.Sprint(v)), after(now)))
			case 2, 3:
				without(key)
				until := now + rapid.IntRange(0, 9).Draw(t, "for")
				set := rapid.Bool().Draw(t, "set")
				change := adds(path, v)
				if set {
					change = sets(path, v)
				}
				events = append(events, event{key, set, v, now, until})
				require.NoError(t, w.Expect(key, []goal.Change{change}, after(now), after(until)))
			case 4:
				for _, e := range events {
					if e.key == key && e.until > now {
						without(key)
						e.at, e.until = now, now+5
						events = append(events, e)
						require.True(t, w.Settle(key, after(now), after(now+5)))
					}
				}
			case 5:
				without(key)
				w.Rollback(key)
			}
			want, known := 0.0, read != nil
			if known {
				want = read.v
			}
			for _, e := range events { // they are in the order of their times
				switch {
				case read != nil && read.at > e.at, e.until <= now:
				case e.set:
					want, known = e.v, true
				case known:
					want += e.v
				}
			}
			got := value2(t, w, "domains.m.data.x", after(now))
			if known {
				require.Equal(t, want, got)
			} else {
				require.Equal(t, "unknown", got)
			}
		}
	})
}

func value2(t *rapid.T, w *goal.World, selector string, at time.Time) any {
	r, err := w.State(at).Read(selector)
	if err != nil {
		require.ErrorIs(t, err, goal.ErrUnknown)
		return "unknown"
	}
	return r.Value
}

// TestManyChangesOfLargeData: each state copies what it changes once, not once
// per change, and shares nothing that it changes.
func TestManyChangesOfLargeData(t *testing.T) {
	data := obj{"list": []any{obj{}, obj{}}}
	for i := range 10_000 {
		data[fmt.Sprint("k", i)] = i
	}
	w := world(t, data)
	before := w.State(noon)
	for i := range goal.MaxDeltas / 2 {
		require.NoError(t, w.Apply(deltas(fmt.Sprint("data.k", i), "-1"), after(1)))
		require.NoError(t, w.Apply(deltas(fmt.Sprintf("data.list.1.x%d", i), "-1"), after(1)))
	}
	allocs := testing.AllocsPerRun(1, func() { w.State(after(1)) })
	require.Less(t, allocs, 20_000.0)
	r, err := before.Read("domains.m.data")
	require.NoError(t, err)
	require.Equal(t, 0.0, r.Value.(obj)["k0"])
	require.Empty(t, r.Value.(obj)["list"].([]any)[1])
	for _, s := range []goal.State{w.State(after(1)), w.State(after(1))} {
		r, err := s.Read("domains.m.data")
		require.NoError(t, err)
		require.Equal(t, -1.0, r.Value.(obj)["k511"])
		require.Equal(t, 512.0, r.Value.(obj)["k512"])
		require.Len(t, r.Value.(obj)["list"].([]any)[1], 512)
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	w := world(t, obj{"x": 0})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 50 {
				at := after(j)
				_ = w.Set("m", goal.Snapshot{Data: obj{"x": j}, At: at})
				_ = w.Apply(deltas("data.x", "1"), at)
				_ = w.Expect(fmt.Sprint(i), []goal.Change{adds("data.x", 1)}, at, at.Add(time.Second))
				s := w.State(at)
				_, _ = s.Read("domains.m.data.x")
				w.Settle(fmt.Sprint(i), at, at.Add(time.Second))
				w.Rollback(fmt.Sprint(i))
				_ = goal.Goal{Condition: is("data.x", 1)}.In(s)
			}
		})
	}
	wg.Wait()
}
