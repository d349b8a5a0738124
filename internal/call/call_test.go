package call_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/call"
)

type answer struct {
	Text  string
	Parts []*answer
	Raw   json.RawMessage
	Any   any
	own   *answer
}

type hostError struct{ status int }

func (e *hostError) Error() string { return fmt.Sprint("status ", e.status) }

type panicking struct{}

func (panicking) Error() string { panic("no text") }

type list []string

func (list) Error() string { return "a list" }

func TestDo(t *testing.T) {
	deep := &answer{}
	deep.Parts = []*answer{deep}
	var none *hostError
	for _, c := range []struct {
		name   string
		answer *answer
		err    error
		panics any
		want   string // in the error's text; "" for none
	}{
		{name: "good", answer: &answer{Text: "ü", Parts: []*answer{nil, {}}, Raw: json.RawMessage(`1`), own: deep}},
		{name: "error", err: &hostError{503}, want: "status 503"},
		{name: "wrapped", err: fmt.Errorf("call: %w", &hostError{503}), want: "call: status 503"},
		{name: "nothing", want: "a nil *call_test.answer and no error"},
		{name: "invalid text", answer: &answer{Parts: []*answer{{Text: "a\xff"}}}, want: "UTF-8"},
		{name: "invalid key", answer: &answer{Any: map[string]int{"\xff": 1}}, want: "UTF-8"},
		{name: "invalid raw", answer: &answer{Raw: json.RawMessage("\"\xff\"")}, want: "UTF-8"},
		{name: "huge", answer: &answer{Text: strings.Repeat("x", call.MaxAnswer+1)}, want: "more than"},
		{name: "huge in parts", answer: &answer{Any: []any{make([]byte, call.MaxAnswer), "x"}}, want: "more than"},
		{name: "endless", answer: deep, want: "deep"},
		{name: "typed nil error", err: none, want: "a nil *call_test.hostError"},
		{name: "wrapped typed nil", err: errors.Join(errors.New("a"), fmt.Errorf("b: %w", none)), want: "a nil *call_test"},
		{name: "nil list as error", err: list(nil), want: "a nil call_test.list"},
		{name: "error that panics", err: panicking{}, want: "panic: no text"},
		{name: "error that wraps itself", err: new(ring), want: "wraps more than"},
		{name: "panic", panics: "boom", want: "panic: boom"},
		{name: "panic with what panics", panics: panicking{}, want: "panic: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := call.Do(t.Context(), 0, func(context.Context) (*answer, error) {
				if c.panics != nil {
					panic(c.panics)
				}
				return c.answer, c.err
			})
			if c.want == "" {
				require.NoError(t, err)
				require.Same(t, c.answer, got)
				return
			}
			require.ErrorContains(t, err, c.want)
			require.Nil(t, got)
			var p *call.PanicError
			host, ok := errors.AsType[*hostError](err)
			switch {
			case errors.As(err, &p):
			case ok:
				require.Equal(t, 503, host.status)
			default:
				require.ErrorIs(t, err, call.ErrMalformed)
			}
		})
	}
}

type ring struct{}

func (r *ring) Error() string { return "ring" }
func (r *ring) Unwrap() error { return r }

func TestDoCutsAnError(t *testing.T) {
	_, err := call.Do(t.Context(), 0, func(context.Context) (int, error) {
		return 0, fmt.Errorf("%w \xff%s", &hostError{429}, strings.Repeat("x", 1<<20))
	})
	require.Less(t, len(err.Error()), 257<<10)
	require.Contains(t, err.Error(), "status 429 \ufffdxxx")
	_, ok := errors.AsType[*hostError](err)
	require.True(t, ok)
}

func TestDoHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := call.Do(t.Context(), time.Minute, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 1, ctx.Err()
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Minute, time.Since(began))
	})
}

func TestBare(t *testing.T) {
	_, parse := url.Parse("http://host/?key=" + strings.Repeat("\x7f", 1))
	gone := errors.New("it is gone")
	for _, err := range []error{gone, fmt.Errorf("dial: %w", &url.Error{Op: "Get", URL: "http://host/?key=1", Err: gone})} {
		require.Equal(t, gone, call.Bare(err))
	}
	require.EqualError(t, call.Bare(parse), "the address is no URL", "the parser quotes parts of it")
}
