package roster_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/internal/roster"
	"github.com/arc-learn/arc/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errRunning, errStill = errors.New("running"), errors.New("still")

func id(tenant, run string) roster.ID { return roster.ID{Tenant: tenant, Run: run} }

// TestOnce has a run be live once at a time, in each tenant.
func TestOnce(t *testing.T) {
	t.Parallel()
	r := roster.New(errRunning, errStill)
	ctx, err := r.Enter(t.Context(), id("acme", "one"))
	require.NoError(t, err)
	_, err = r.Enter(t.Context(), id("acme", "one"))
	require.ErrorIs(t, err, errRunning)
	_, err = r.Enter(t.Context(), id("other", "one"))
	require.NoError(t, err)
	require.Equal(t, []roster.ID{id("acme", "one"), id("other", "one")}, r.Live())
	require.NoError(t, ctx.Err())
	r.Leave(id("acme", "one"))
	require.Error(t, ctx.Err())
	_, err = r.Enter(t.Context(), id("acme", "one"))
	require.NoError(t, err)
	r.Leave(id("acme", "one"))
	r.Leave(id("other", "one"))
	require.Empty(t, r.Live())
}

// TestBar keeps the runs of one tenant from beginning, and names those that are live.
func TestBar(t *testing.T) {
	t.Parallel()
	r := roster.New(errRunning, errStill)
	_, err := r.Enter(t.Context(), id("acme", "one"))
	require.NoError(t, err)
	_, err = r.Enter(t.Context(), id("other", "two"))
	require.NoError(t, err)
	live, err := r.Bar("acme")
	require.NoError(t, err)
	require.Equal(t, []string{"one"}, live)
	_, err = r.Bar("acme")
	require.ErrorIs(t, err, errStill)
	_, err = r.Enter(t.Context(), id("acme", "three"))
	require.ErrorIs(t, err, errStill)
	_, err = r.Enter(t.Context(), id("other", "three"))
	require.NoError(t, err)
	r.Lift("acme")
	_, err = r.Enter(t.Context(), id("acme", "three"))
	require.NoError(t, err)
	for _, left := range r.Live() {
		r.Leave(left)
	}
}

// TestClose takes in no run any more, and is idle once the last has left.
func TestClose(t *testing.T) {
	t.Parallel()
	r := roster.New(errRunning, errStill)
	ctx, err := r.Enter(t.Context(), id("acme", "one"))
	require.NoError(t, err)
	require.False(t, r.Closing())
	r.Close()
	require.True(t, r.Closing())
	_, err = r.Enter(t.Context(), id("acme", "two"))
	require.ErrorIs(t, err, store.ErrClosed)
	_, err = r.Bar("acme")
	require.ErrorIs(t, err, store.ErrClosed)
	require.NoError(t, ctx.Err())
	r.Cancel()
	require.Error(t, ctx.Err())
	select {
	case <-r.Idle():
		require.Fail(t, "a run is live still")
	default:
	}
	r.Leave(id("acme", "one"))
	<-r.Idle()

	empty := roster.New(errRunning, errStill)
	empty.Close()
	<-empty.Idle()
}
