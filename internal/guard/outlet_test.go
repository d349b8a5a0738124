package guard_test

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/guard"
)

func TestOutletOutlivesWhatItCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := guard.Outlet{Limit: time.Second}
		calls := 0
		require.NoError(t, o.Call(func() { calls++ }))
		var p *guard.PanicError
		require.ErrorAs(t, o.Call(func() { panic("boom") }), &p)
		require.Contains(t, string(p.Stack), "outlet_test.go")
		require.ErrorIs(t, o.Call(func() { runtime.Goexit() }), guard.ErrExited)
		require.EqualValues(t, 2, o.Lost())

		begin := time.Now()
		release := make(chan struct{})
		require.ErrorIs(t, o.Call(func() { <-release }), guard.ErrTime)
		require.Equal(t, time.Second, time.Since(begin))
		for range 3 {
			require.ErrorIs(t, o.Call(func() { calls++ }), guard.ErrDropped)
		}
		require.Equal(t, time.Second, time.Since(begin), "who is dropped does not wait")
		require.EqualValues(t, 6, o.Lost())

		close(release)
		synctest.Wait()
		require.NoError(t, o.Call(func() { calls++ }))
		require.Equal(t, 2, calls)
	})
}

// However calls end and race with the limit, none stays counted as stuck.
func TestOutletRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := guard.Outlet{Limit: time.Second}
		var all sync.WaitGroup
		for i := range 64 {
			all.Go(func() {
				_ = o.Call(func() { <-time.After(time.Duration(990+i%20) * time.Millisecond) })
			})
		}
		all.Wait()
		<-time.After(time.Minute)
		require.NoError(t, o.Call(func() {}))
	})
}

func BenchmarkOutlet(b *testing.B) {
	o := guard.Outlet{Limit: time.Second}
	b.ReportAllocs()
	for b.Loop() {
		if err := o.Call(func() {}); err != nil {
			b.Fatal(err)
		}
	}
}

// harmful is a handler whose every method panics, or of which only Handle
// hangs.
type harmful struct{ hang <-chan struct{} }

func (h harmful) Enabled(context.Context, slog.Level) bool {
	if h.hang == nil {
		panic("enabled")
	}
	return true
}

func (h harmful) Handle(context.Context, slog.Record) error {
	<-h.hang
	return nil
}
func (harmful) WithAttrs([]slog.Attr) slog.Handler { panic("attrs") }
func (harmful) WithGroup(string) slog.Handler      { panic("group") }

func TestLoggerOutlivesItsHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guard.Logger(nil).Error("nobody reads it")
		guard.Logger(slog.New(harmful{})).With("a", 1).WithGroup("g").Error("lost")

		release := make(chan struct{})
		l := guard.Logger(slog.New(harmful{release}))
		require.Same(t, l, guard.Logger(l))
		for range 3 {
			l.With("a", 1).Error("lost")
		}
		require.EqualValues(t, 3, guard.Lost(l), "also of what was made from it")
		require.Zero(t, guard.Lost(slog.New(slog.DiscardHandler)))
		close(release)
		synctest.Wait()
		l.Error("read")
		require.EqualValues(t, 3, guard.Lost(l))
	})
}
