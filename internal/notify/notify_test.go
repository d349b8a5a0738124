package notify_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/notify"
)

func TestCursorReadsWhatFollowedItsStart(t *testing.T) {
	var f notify.Feed[int]
	require.False(t, f.Followed())
	f.Publish(1)
	early := f.Follow()
	require.True(t, f.Followed())
	f.Publish(2)
	late := f.Follow()
	f.Publish(3)
	f.Close()
	f.Close()
	f.Publish(4)

	require.Equal(t, []int{2, 3}, drain(t, early))
	require.Equal(t, []int{3}, drain(t, late))
	early.Stop()
	late.Stop()
	require.False(t, f.Followed())
}

func drain(t *testing.T, c *notify.Cursor[int]) []int {
	var got []int
	for {
		v, err := c.Next(t.Context())
		if err != nil {
			require.ErrorIs(t, err, notify.ErrClosed)
			return got
		}
		got = append(got, v)
	}
}

func TestFollowAfterClose(t *testing.T) {
	var f notify.Feed[int]
	f.Close()
	c := f.Follow()
	defer c.Stop()
	_, err := c.Next(t.Context())
	require.ErrorIs(t, err, notify.ErrClosed)
}

func TestNextWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f notify.Feed[int]
		c := f.Follow()
		defer c.Stop()
		got := make(chan int)
		go func() {
			v, err := c.Next(t.Context())
			if err != nil {
				v = -1
			}
			got <- v
		}()
		synctest.Wait() // the reader is waiting
		f.Publish(7)
		require.Equal(t, 7, <-got)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := c.Next(ctx)
		require.ErrorIs(t, err, context.Canceled)
	})
}
