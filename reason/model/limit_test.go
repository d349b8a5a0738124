package model_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason/model"
)

// A place that was left is one for the calls behind, and none for two at once.
func TestLimitAfterACallThatLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := model.Limit(echo{}, &model.LimitOptions{Requests: 1})
		start := time.Now()
		made := make(chan time.Duration, 4)
		call := func(ctx context.Context) {
			go func() {
				if _, err := m.Generate(ctx, ask("x")); err == nil {
					made <- time.Since(start)
				}
			}()
			synctest.Wait()
		}
		call(t.Context())
		gone, leave := context.WithCancel(t.Context())
		call(gone)
		call(t.Context())
		leave()
		synctest.Wait()
		call(t.Context())
		require.Equal(t, time.Duration(0), <-made)
		require.Equal(t, time.Minute, <-made)
		require.Equal(t, 2*time.Minute, <-made)
	})
}
