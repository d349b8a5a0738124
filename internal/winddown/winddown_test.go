package winddown_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/winddown"
)

var errLost = errors.New("lost")

// TestOrder ends parts one after another, and joins their errors.
func TestOrder(t *testing.T) {
	t.Parallel()
	var ended []string
	part := func(name string, err error) winddown.Part {
		return winddown.Named(name, func() error {
			ended = append(ended, name)
			return err
		})
	}
	d := winddown.Begin(part("runs", nil), part("memory", errLost), part("store", nil))
	for range 2 { // it may be asked again
		left, err := d.Wait(t.Context(), func() { require.Fail(t, "it is in time") })
		require.ErrorIs(t, err, errLost)
		require.Empty(t, left)
	}
	require.Equal(t, []string{"runs", "memory", "store"}, ended)
}

// TestHanging passes a part by that hangs, once a caller's time is up, and never before.
func TestHanging(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start, hang := time.Now(), make(chan struct{})
		var stored time.Duration
		d := winddown.Begin(
			winddown.Named("runs", func() error { return nil }),
			winddown.Named("memory", func() error { <-hang; return errLost }),
			winddown.Named("store", func() error { stored = time.Since(start); return nil }),
		)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		late := 0
		left, err := d.Wait(ctx, func() { late++ })
		require.NoError(t, err)
		require.Equal(t, []string{"memory"}, left)
		require.Equal(t, 1, late)
		require.Equal(t, time.Minute+800*time.Millisecond, time.Since(start))
		require.Equal(t, time.Minute+100*time.Millisecond, stored)
		close(hang)
		left, err = d.Wait(t.Context(), func() {})
		require.ErrorIs(t, err, errLost)
		require.Empty(t, left)
	})
}

// TestLast has the last part take what the others have left of the time.
func TestLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		d := winddown.Begin(winddown.Named("store", func() error { <-over; return nil }))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		left, err := d.Wait(ctx, func() { time.AfterFunc(700*time.Millisecond, func() { close(over) }) })
		require.NoError(t, err)
		require.Empty(t, left)
	})
}
