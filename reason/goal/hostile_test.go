package goal_test

import (
	"context"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/guard/guardtest"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

// odd is a value that says what goes wrong when it is written.
type odd struct{ harm func() error }

func (o odd) MarshalJSON() ([]byte, error) { return nil, o.harm() }

// Whatever a runner, a collector or a hook does, the controller goes on, and the
// outcome says what came of it.
func TestPartsThatDoHarm(t *testing.T) {
	t.Parallel()
	harms := map[string]func() error{
		"panics with nil":    func() error { panic(nil) },
		"ends its goroutine": func() error { runtime.Goexit(); return nil },
	}
	for name, err := range guardtest.Errors() {
		harms[name] = func() error { return err }
		harms["panics: "+name] = func() error { panic(err) }
	}
	for name, harm := range harms {
		synctest.Test(t, func(t *testing.T) {
			opts := &goal.Options{
				Outcome: func(goal.Outcome) { _ = harm() },
				Logger:  slog.New(slog.DiscardHandler),
			}
			b := newBench(t, store.NewMem(), opts, zero("a"))
			b.do = func(context.Context, goal.Dispatch) (goal.Result, error) { return goal.Result{}, harm() }
			for domain, read := range map[string]func(context.Context) (any, error){
				"fails": func(context.Context) (any, error) { return nil, harm() },
				"odd":   func(context.Context) (any, error) { return odd{harm}, nil },
			} {
				require.NoError(t, b.w.Collect(goal.Collector{Domain: domain, Every: time.Minute, Read: read}))
			}
			require.NoError(t, b.w.Poll(t.Context(), time.Now()))
			for _, d := range b.w.Domains(time.Now()) {
				require.False(t, d.Known, "%s: %s", name, d.Name)
				require.True(t, utf8.ValidString(d.Err.Error()), name)
			}
			b.read(map[string]any{"a": 1})
			b.tick()
			out := b.outcomes()
			require.Len(t, out, 1, name)
			require.Equal(t, goal.Failed, out[0].End, name)
			require.True(t, utf8.ValidString(out[0].Why), name)
			require.NotEmpty(t, out[0].Why, name)
		})
	}
}

// slowJudge is a desk whose Judge takes a time, whatever its context says.
type slowJudge struct {
	*desk
	takes time.Duration
	calls atomic.Int64
}

func (s *slowJudge) Judge(context.Context, string, bool) error {
	s.calls.Add(1)
	idle(s.takes)
	return nil
}

// A Judge that hangs is waited for once, and no other call is made until it returns.
func TestJudgeThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{effects: []reason.Effect{{Domain: "m", Path: "data"}}}
		s := &slowJudge{desk: d, takes: time.Hour}
		b := benchWith(t, store.NewMem(), d, s, &goal.Options{MaxInFlight: 9}, zero("a"), zero("b"), zero("c"))
		b.read(obj{"a": 1, "b": 1, "c": 1})
		b.tick()
		idle(time.Second)
		b.read(obj{"a": 0, "b": 0, "c": 0})
		begin := time.Now()
		for range 10 {
			_, err := b.c.Tick(t.Context())
			require.Error(t, err)
		}
		require.LessOrEqual(t, time.Since(begin), 10*time.Second)
		require.EqualValues(t, 1, s.calls.Load())
		idle(4 * time.Hour)
	})
}

// A Judge that is slow makes no tick wait for all that is to be judged, and judges all.
func TestJudgeThatIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{effects: []reason.Effect{{Domain: "m", Path: "data"}}}
		s := &slowJudge{desk: d, takes: 9 * time.Second}
		b := benchWith(t, store.NewMem(), d, s, &goal.Options{MaxInFlight: 9, Cooldown: -1},
			zero("a"), zero("b"), zero("c"), zero("d"), zero("e"))
		b.read(obj{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1})
		b.tick()
		idle(time.Second)
		b.read(obj{"a": 0, "b": 0, "c": 0, "d": 0, "e": 0})
		for i := range 3 {
			begin := time.Now()
			b.tick()
			require.LessOrEqual(t, time.Since(begin), 20*time.Second)
			require.EqualValues(t, min(5, 2*(i+1)), s.calls.Load())
		}
	})
}

// A value that cannot be written does no harm where a goal is evaluated unchecked.
func TestExpectedValueThatPanics(t *testing.T) {
	t.Parallel()
	g := goal.Goal{ID: "g", Condition: goal.Condition{
		Selector: "domains.m.data.x", Operator: "eq", Expected: odd{func() error { panic("boom") }},
	}}
	require.NotPanics(t, func() { require.Equal(t, goal.Violated, g.Evaluate(world(t, obj{"x": 1}), noon).Status) })
}
