package turns_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/internal/turns"
)

// A change waits for the searches that are in, and is made by the last of them;
// those that come meanwhile go in, but not for ever.
// passing is how many searches go before a change that waits.
const passing = 256

func TestTurnstile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate, made, in := turns.New(), 0, 0
		gate.Change(func() { made++ })
		require.Equal(t, 1, made)
		gate.Enter()
		for range 2 {
			go gate.Change(func() { made++ })
		}
		synctest.Wait()
		for range passing {
			gate.Enter()
		}
		go func() {
			gate.Enter()
			in++
		}()
		synctest.Wait()
		require.Equal(t, []int{1, 0}, []int{made, in}, "one search too many waits")
		for range 1 + passing {
			gate.Leave()
		}
		synctest.Wait()
		require.Equal(t, []int{3, 1}, []int{made, in})
	})
}
