package tenants_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/internal/tenants"
)

// host has the scopes in memory, with when they were changed.
type host struct {
	*tenants.Tenants
	scopes map[string]int64
	err    error // of load
}

func (h *host) add(scope string, changed, bytes int64) {
	name, _, _ := strings.Cut(scope, "/")
	h.scopes[scope] = changed
	of := h.Of(name)
	of.Add(scope)
	of.Bytes.Add(bytes)
}

func newHost() *host {
	h := &host{scopes: map[string]int64{}}
	load := func(_ context.Context, name string) error { return h.err }
	drop := func(scope string) (int64, bool) {
		changed, there := h.scopes[scope]
		delete(h.scopes, scope)
		return changed, there
	}
	h.Tenants = tenants.New(load, func(context.Context) error { return nil }, drop, 100, nil)
	return h
}

func TestLeave(t *testing.T) {
	h := newHost()
	use := func(name string) func() {
		done, err := h.Use(t.Context(), name)
		require.NoError(t, err)
		return done
	}
	done := use("acme")
	h.add("acme/ann", 5, 60)
	h.add("acme/ben", 7, 60)
	require.True(t, h.Has("acme"))
	delete(h.scopes, "acme/ben") // erased
	require.Empty(t, maps.Collect(h.Left))
	done()
	require.False(t, h.Has("acme"))
	require.Nil(t, h.Of("acme"))
	require.Empty(t, h.scopes)
	require.Equal(t, map[string]int64{"acme/ann": 5}, maps.Collect(h.Left))

	h.Note("acme", "acme/cy", 9)
	h.Note("ajax", "ajax", 11)
	h.Forget("acme", "acme/ann")
	require.Equal(t, map[string]int64{"acme/cy": 9, "ajax": 11}, maps.Collect(h.Left))
	for range h.Left {
		break
	}

	h.err = errors.New("away")
	_, err := h.Use(t.Context(), "acme")
	require.ErrorIs(t, err, h.err)
	require.Equal(t, map[string]int64{"acme/cy": 9, "ajax": 11}, maps.Collect(h.Left), "as before")
	h.err = nil
	defer use("acme")()
	require.Equal(t, map[string]int64{"ajax": 11}, maps.Collect(h.Left))
}

func TestUnbounded(t *testing.T) {
	var none *tenants.Tenants
	done, err := none.Use(t.Context(), "acme")
	require.NoError(t, err)
	done()
	require.True(t, none.Has("acme"))
	require.Nil(t, none.Of("acme"))
	require.Empty(t, maps.Collect(none.Left))
}
