package guard_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/store"
)

// refusing is a store of a host's that refuses all commits.
type refusing struct {
	store.Store
	why error
}

func (r refusing) Commit(context.Context, ...store.Op) (store.Revision, error) {
	return 0, fmt.Errorf("commit: %w: %w", r.why, errors.New("told by a driver"))
}

func TestErrorsOfAHostsStore(t *testing.T) {
	for _, why := range []error{
		store.ErrConflict, store.ErrClosed, store.ErrFull, store.ErrScarce, store.ErrDamaged, store.ErrNewer, store.ErrFailed,
	} {
		_, err := guard.Store(refusing{store.NewMem(), why}).Commit(t.Context())
		require.ErrorIs(t, err, why)
		require.ErrorContains(t, err, "told by a driver")
	}
}

// shared is a store of a host's that several processes have open.
type shared struct{ refusing }

func (shared) CommitFirst(
	context.Context, []string, []string, func(int, store.Entry) ([]store.Op, error),
) (store.Revision, error) {
	panic("a driver is broken")
}

func TestWhatAHostsStoreCanDoBeside(t *testing.T) {
	type commitsFirst interface {
		CommitFirst(
			context.Context, []string, []string, func(int, store.Entry) ([]store.Op, error),
		) (store.Revision, error)
	}
	st := refusing{store.NewMem(), store.ErrFull}
	_, ok := guard.Store(st).(commitsFirst)
	require.False(t, ok)
	both, ok := guard.Store(shared{st}).(commitsFirst)
	require.True(t, ok)
	_, err := both.CommitFirst(t.Context(), nil, nil, nil)
	require.ErrorContains(t, err, "a driver is broken")
}

// closing is a store whose scans panic when they are closed.
type closing struct{ store.Store }

func (closing) Scan(context.Context, store.Range) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		defer panic("rows are closed already")
		yield(store.Entry{Key: "a"}, nil)
	}
}

// A caller that has left the loop hears nothing more.
func TestScanThatPanicsAfterABreak(t *testing.T) {
	t.Parallel()
	st := guard.Store(closing{})
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		require.Equal(t, "a", e.Key)
		break
	}
	n := 0
	for _, err := range st.Scan(t.Context(), store.Range{}) {
		if n++; n == 2 {
			require.ErrorContains(t, err, "panic: rows are closed already")
		}
	}
	require.Equal(t, 2, n)
}
