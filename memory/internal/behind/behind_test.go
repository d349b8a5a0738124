package behind_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/memory/internal/behind"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// After each failure the pause is twice as long; a success ends that, and then the part
// is asked when it is nudged.
func TestPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p behind.Part
		p.Prime()
		bad, began := errors.New("bad"), time.Now()
		var asked []time.Duration
		p.Run(time.Now, func(context.Context) (int, error) {
			asked = append(asked, time.Since(began))
			if len(asked) < 4 {
				p.Report(time.Now(), "acme", bad)
				return 0, bad
			}
			p.Report(time.Now(), "acme", nil)
			return 0, nil
		})
		synctest.Wait()
		require.Equal(t, bad, p.LastError("acme"))
		require.NotEqual(t, bad, p.LastError("other"))
		require.Error(t, p.LastError("other"))
		<-time.After(time.Hour)
		synctest.Wait()
		require.Equal(t, []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}, asked)
		require.NoError(t, p.LastError("acme"))
		p.Nudge()
		synctest.Wait()
		require.Len(t, asked, 5)
		p.Close()
	})
}

func TestAlone(t *testing.T) {
	t.Parallel()
	var p behind.Part
	p.Prime()
	release, err := p.Alone(context.Background())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = p.Alone(ctx)
	require.ErrorIs(t, err, context.Canceled)
	release()
	release, err = p.Alone(context.Background())
	require.NoError(t, err)
	release()
	p.Close() // of what was never run
}

// However often it has failed, the pause is five minutes at most.
func TestLongestPause(t *testing.T) {
	t.Parallel()
	var p behind.Part
	now := time.Unix(0, 0)
	for range 40 {
		p.Report(now, "acme", errors.New("bad"))
	}
	require.Equal(t, 5*time.Minute, p.Rest(now))
}

// A clock that stood ahead when the part failed, and is put back, lengthens no pause.
func TestPauseOfAClockPutBack(t *testing.T) {
	t.Parallel()
	var p behind.Part
	now := time.Unix(0, 0)
	p.Report(now.AddDate(1, 0, 0), "acme", errors.New("bad"))
	require.LessOrEqual(t, p.Rest(now), time.Duration(0))
}
