package memory

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// A change waits for the searches that are in, and is made by the last of them;
// those that come meanwhile go in, but not for ever.
func TestTurnstile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate, made, in := newTurnstile(), 0, 0
		gate.change(func() { made++ })
		require.Equal(t, 1, made)
		gate.enter()
		for range 2 {
			go gate.change(func() { made++ })
		}
		synctest.Wait()
		for range maxPassed {
			gate.enter()
		}
		go func() {
			gate.enter()
			in++
		}()
		synctest.Wait()
		require.Equal(t, []int{1, 0}, []int{made, in}, "one search too many waits")
		for range 1 + maxPassed {
			gate.leave()
		}
		synctest.Wait()
		require.Equal(t, []int{3, 1}, []int{made, in})
	})
}
