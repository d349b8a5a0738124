package upkeep_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/internal/upkeep"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestKeeperLooksWhenItIsTimeOrPoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, looks := time.Now(), []time.Duration(nil)
		k := upkeep.New()
		k.Start(time.Second, func() time.Duration {
			looks = append(looks, time.Since(start))
			return time.Minute
		})
		k.Poke() // which waits for the first look
		<-time.After(10 * time.Second)
		k.Poke()
		<-time.After(2 * time.Minute)
		k.Stop()
		k.Stop()
		k.Wait()
		s := time.Second
		require.Equal(t, []time.Duration{s, s, 10 * s, 70 * s, 130 * s}, looks)
	})
}

func TestKeeperDoesNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var done atomic.Int64
		k := upkeep.New()
		k.Start(time.Second, func() time.Duration {
			for _, id := range []string{"a", "a", "b", "c"} {
				if letGo := k.Take(id, 2); letGo != nil {
					k.Go(func() {
						<-time.After(time.Minute)
						done.Add(1)
						letGo(true)
					})
				}
			}
			return time.Hour
		})
		<-time.After(2 * time.Second)
		taken := k.Taken()
		require.Len(t, taken, 2)
		require.Nil(t, k.Take("a", 9))
		letGo := k.Take("c", 9)
		require.NotNil(t, letGo)
		letGo(true)
		for _, gone := range taken {
			<-gone
		}
		synctest.Wait()
		require.EqualValues(t, 2, done.Load())
		require.Len(t, k.Taken(), 2, "to let go is a poke")
		k.Stop()
		<-k.Context().Done()
		k.Wait()
		require.EqualValues(t, 4, done.Load(), "what was begun is finished")
	})
}
