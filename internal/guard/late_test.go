package guard

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What a call returns because its time is over does not count, also if it comes before its caller has seen
// that the time is over.
func TestAnAnswerToTheEndIsLate(t *testing.T) {
	t.Parallel()
	said := make(chan bool, 1)
	pass := func(ctx context.Context, _ struct{}) (bool, error) {
		<-ctx.Done()
		return true, nil
	}
	a := &answer[struct{}, bool]{err: ErrExited, fn: pass}
	a.limited.Context, a.deadline = t.Context(), time.Now()
	a.end(context.DeadlineExceeded)
	a.speak(said)
	_, err := a.reply(t.Context(), <-said)
	require.ErrorIs(t, err, ErrTime)
}
