package reason_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason"
)

type streamer struct{ reason.Model }

func (streamer) Stream(context.Context, *reason.Request) iter.Seq2[*reason.Response, error] {
	return func(yield func(*reason.Response, error) bool) {
		_ = yield(&reason.Response{Text: "a"}, nil) && yield(&reason.Response{Text: "b", Stop: reason.StopEnd}, nil)
	}
}

type wrapper struct{ reason.Model }

func (w wrapper) Unwrap() reason.Model { return w.Model }

func TestAsSeesThroughMiddleware(t *testing.T) {
	echo := reason.ModelFunc(func(_ context.Context, r *reason.Request) (*reason.Response, error) {
		return &reason.Response{Text: r.System}, nil
	})
	s, ok := reason.As[reason.Streamer](wrapper{wrapper{streamer{echo}}})
	require.True(t, ok)
	var text string
	for r, err := range s.Stream(t.Context(), &reason.Request{}) {
		require.NoError(t, err)
		text += r.Text
	}
	require.Equal(t, "ab", text)
	for _, stop := range []string{reason.StopLength, reason.StopRefusal} {
		require.NotEqual(t, reason.StopEnd, stop)
	}
	for _, m := range []reason.Model{nil, echo, wrapper{echo}, wrapper{nil}} {
		_, ok := reason.As[reason.Streamer](m)
		require.False(t, ok)
	}
}

func TestModelErrorTellsWhatToDo(t *testing.T) {
	cause := errors.New("slow down")
	var err error = &reason.ModelError{Status: 429, Code: "rate_limit", Again: true, After: time.Second, Err: cause}
	require.ErrorIs(t, err, cause)
	require.EqualError(t, err, "model call failed with status 429 (rate_limit): slow down")
	require.ErrorIs(t, err, reason.ErrModel)
	again, after := reason.Retryable(err)
	require.True(t, again)
	require.Equal(t, time.Second, after)
	require.NotErrorIs(t, &reason.ModelError{}, cause)
}

// A server that is gone, or goes while it is asked, comes back.
func TestBrokenConnectionsMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}:          true,
		fmt.Errorf("ask: %w", syscall.ECONNRESET):                    true,
		&url.Error{Op: "Post", URL: "http://127.0.0.1", Err: io.EOF}: true,
		io.ErrUnexpectedEOF: true,
		io.EOF:              false,
		&url.Error{Op: "Post", URL: "x:", Err: errors.New("no scheme")}: false,
	} {
		again, _ := reason.Retryable(err)
		require.Equal(t, want, again, "%v", err)
	}
}
