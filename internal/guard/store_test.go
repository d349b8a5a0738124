package guard_test

import (
	"context"
	"errors"
	"fmt"
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
