package wait_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act/internal/wait"
)

var errBusy = errors.New("busy")

// again asks for another try of every error, after d.
func again(d time.Duration) func(error) (bool, time.Duration) {
	return func(error) (bool, time.Duration) { return true, d }
}

func TestRetry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy   wait.Policy
		fails    int           // calls that fail
		calls    int           // wanted
		passed   time.Duration // wanted
		deadline time.Duration
	}{
		"succeeds at once":              {policy: wait.Policy{Again: again(0)}, calls: 1},
		"backs off 1, 2, 4 s":           {policy: wait.Policy{Again: again(0)}, fails: 9, calls: 4, passed: 7 * time.Second},
		"waits as long as it is told":   {policy: wait.Policy{Again: again(10 * time.Second)}, fails: 9, calls: 10, passed: 90 * time.Second},
		"waits a second at least":       {policy: wait.Policy{Again: again(time.Millisecond)}, fails: 2, calls: 3, passed: 2 * time.Second},
		"waits a minute at most":        {policy: wait.Policy{Again: again(time.Hour)}, fails: 1, calls: 2, passed: time.Minute},
		"begins no wait past its end":   {policy: wait.Policy{Again: again(10 * time.Second)}, fails: 9, calls: 3, passed: 20 * time.Second, deadline: 25 * time.Second},
		"does not repeat what is final": {policy: wait.Policy{Again: func(error) (bool, time.Duration) { return false, 0 }}, fails: 9, calls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin, calls := time.Now(), 0
				if c.deadline > 0 {
					c.policy.End = begin.Add(c.deadline)
				}
				err := wait.Retry(t.Context(), c.policy, func() error {
					if calls++; calls <= c.fails {
						return errBusy
					}
					return nil
				})
				require.Equal(t, c.calls > c.fails, err == nil)
				require.Equal(t, c.calls, calls)
				require.Equal(t, c.passed, time.Since(begin))
			})
		})
	}
}

func TestRetryEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		begin := time.Now()
		calls := 0
		require.ErrorIs(t, wait.Retry(ctx, wait.Policy{Again: again(time.Hour)}, func() error {
			calls++
			return errBusy
		}), errBusy)
		require.Equal(t, 90*time.Second, time.Since(begin))
		require.Equal(t, 2, calls)
	})
}
