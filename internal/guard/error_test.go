package guard_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/guard/guardtest"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// own is an error of a host that means well.
type own struct {
	inner error
	calls *int
}

func (e *own) Error() string                    { *e.calls++; return "own: " + e.inner.Error() }
func (e *own) Unwrap() error                    { *e.calls++; return e.inner }
func (e *own) Is(target error) bool             { *e.calls++; return target == store.ErrConflict }
func (e *own) Retryable() (bool, time.Duration) { *e.calls++; return true, time.Hour }
func (e *own) Timeout() bool                    { *e.calls++; return true }
func (e *own) Temporary() bool                  { *e.calls++; return false }

func TestErrorOutlivesWhatItIsGiven(t *testing.T) {
	t.Parallel()
	for name, err := range guardtest.Errors() {
		for how, err := range map[string]error{
			"as it is":         err,
			"in a model error": &reason.ModelError{Status: 500, Err: err},
			"in a URL error":   &url.Error{Op: "Get", URL: "x", Err: err},
			"in a panic":       guard.Recovered(err),
		} {
			safe := guard.Error(err)
			require.Error(t, safe, name)
			text := safe.Error()
			require.NotEmpty(t, text, name, how)
			require.LessOrEqual(t, len(text), 17<<10, name, how)
			require.True(t, utf8.ValidString(text), name, how)
			require.NotErrorIs(t, safe, errBoom, name, how)
			_, limit := errors.AsType[*store.LimitError](safe)
			require.False(t, limit, name, how)
			again, _ := reason.Retryable(safe)
			require.False(t, again, name, how)
			m, ok := errors.AsType[*reason.ModelError](safe)
			require.Equal(t, how == "in a model error", ok, name)
			if ok {
				require.Equal(t, 500, m.Status)
				require.ErrorIs(t, safe, reason.ErrModel)
				require.NotEmpty(t, m.Error())
			}
			require.Equal(t, safe, guard.Error(safe), "once is enough")
			require.Equal(t, safe, guard.Error(fmt.Errorf("%w", safe)).(interface{ Unwrap() error }).Unwrap())
		}
	}
}

func TestErrorKeepsWhatIsKnown(t *testing.T) {
	t.Parallel()
	calls := 0
	model := &reason.ModelError{Status: 429, After: time.Minute, Err: errBoom}
	theirs := &own{errors.Join(fmt.Errorf("in: %w", model), &store.LimitError{Field: "f"}, io.ErrUnexpectedEOF), &calls}
	safe := guard.Error(fmt.Errorf("outer: %w", theirs), store.ErrConflict, store.ErrClosed)
	require.EqualError(t, safe, "outer: own: in: "+model.Error()+"\n"+(&store.LimitError{Field: "f"}).Error()+"\nunexpected EOF")
	seen := calls
	for _, want := range []error{
		theirs, model, errBoom, reason.ErrModel, io.ErrUnexpectedEOF, store.ErrConflict,
	} {
		require.ErrorIs(t, safe, want)
	}
	for _, other := range []error{store.ErrClosed, context.Canceled, context.DeadlineExceeded} {
		require.NotErrorIs(t, safe, other)
	}
	m, ok := errors.AsType[*reason.ModelError](safe)
	require.True(t, ok)
	require.Equal(t, 429, m.Status)
	o, ok := errors.AsType[*own](safe)
	require.True(t, ok)
	require.Same(t, theirs, o)
	n, ok := errors.AsType[net.Error](safe)
	require.True(t, ok && n.Timeout())
	again, after := reason.Retryable(safe)
	require.True(t, again)
	require.Equal(t, time.Hour, after)
	require.Equal(t, seen, calls, "nothing of the host's is called later")
}

func TestErrorThatIsKnownStaysAsItIs(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		nil, errBoom, context.Canceled, fmt.Errorf("a: %w", errBoom), errors.Join(errBoom, io.EOF),
		&reason.ModelError{Err: errBoom}, &net.OpError{Op: "dial", Err: errBoom}, guard.Recovered("boom"),
	} {
		require.True(t, guard.Error(err) == err)
	}
	long := errBoom
	for range 1000 {
		long = fmt.Errorf("%w", long)
	}
	require.EqualError(t, guard.Error(long), "boom")
}

// hanging is an error whose text never comes.
type hanging struct{ release <-chan struct{} }

func (h hanging) Error() string { <-h.release; return "late" }

func TestErrorDoesNotWaitLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		begin := time.Now()
		require.EqualError(t, guard.Error(hanging{release}), "guard_test.hanging without a text")
		require.Equal(t, time.Second, time.Since(begin))
	})
}

func TestPanicsOfAllKinds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"nil":    {nil, "panic: panic called with nil argument"},
		"text":   {"a\xffb", "panic: a\uFFFDb"},
		"error":  {errBoom, "panic: boom"},
		"number": {7, "panic: 7"},
		"exits":  {exiting{}, "panic: guard_test.exiting"},
		"huge":   {strings.Repeat("x", 1<<20), ""},
	} {
		err := guard.Call(func() { panic(c.value) })
		p, ok := errors.AsType[*guard.PanicError](err)
		require.True(t, ok, name)
		require.NotEmpty(t, p.Stack)
		if c.want != "" {
			require.EqualError(t, err, c.want, name)
		}
		require.Less(t, len(err.Error()), 17<<10)
	}
}

// exiting ends the goroutine that asks for its text.
type exiting struct{}

func (exiting) String() string { runtime.Goexit(); return "" }

// wild is a store that panics, or fails with an error of its own.
type wild struct {
	store.Store
	err error
}

func (w wild) Get(context.Context, string) (store.Entry, error) { return store.Entry{}, w.err }
func (w wild) Commit(context.Context, ...store.Op) (store.Revision, error) {
	panic(w.err)
}

func TestStoreAndClock(t *testing.T) {
	t.Parallel()
	mem := store.NewMem()
	require.Same(t, mem, guard.Store(mem), "one of arc's")
	null := guardtest.Errors()["nil pointer"]
	st := guard.Store(wild{mem, null})
	_, err := st.Get(t.Context(), "k")
	require.NotErrorIs(t, err, store.ErrNotFound)
	_, err = st.Commit(t.Context())
	require.ErrorContains(t, err, "panic: ")
	_, err = guard.Store(wild{mem, &own{store.ErrNotFound, new(int)}}).Get(t.Context(), "k")
	require.ErrorIs(t, err, store.ErrNotFound)

	_, err = mem.Commit(t.Context(), store.Op{Key: "a"}, store.Op{Key: "b"})
	require.NoError(t, err)
	n := 0
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		require.Equal(t, "a", e.Key)
		n++
		break
	}
	require.Equal(t, 1, n)
	require.PanicsWithValue(t, "of the loop body", func() {
		for range st.Scan(t.Context(), store.Range{}) {
			panic("of the loop body")
		}
	})
	for _, err := range guard.Store(wild{}).Scan(t.Context(), store.Range{}) {
		require.ErrorContains(t, err, "panic: ")
	}
	require.NoError(t, st.Close())

	require.WithinDuration(t, time.Now(), guard.Clock(func() time.Time { panic("boom") })(), time.Minute)
	require.Zero(t, guard.Clock(func() time.Time { return time.Time{} })())
}
