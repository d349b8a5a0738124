package guard_test

import (
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
				_ = o.Call(func() { time.Sleep(time.Duration(990+i%20) * time.Millisecond) })
			})
		}
		all.Wait()
		time.Sleep(time.Minute)
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
