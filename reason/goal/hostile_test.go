package goal_test

import (
	"context"
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/guard/guardtest"
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
