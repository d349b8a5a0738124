package meta_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/store"
)

func TestForgetAndRelease(t *testing.T) {
	t.Parallel()
	st, ctx := store.NewMem(), t.Context()
	m, err := meta.Open(ctx, st, &meta.Options{Tenant: "acme"})
	require.NoError(t, err)
	for i := range 300 {
		for _, session := range []string{"s", "t"} {
			require.NoError(t, m.Record(ctx, meta.Outcome{Key: fmt.Sprint(i), Session: session, Goal: "canary", At: time.Unix(int64(i), 0)}))
		}
	}
	n := 0
	for o, err := range m.Outcomes(ctx) {
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(44+n%256), o.Key)
		n++
	}
	require.Equal(t, 512, n)
	require.NoError(t, m.Forget(ctx, "s"))
	as, err := m.Assess(ctx, "s")
	require.NoError(t, err)
	require.Zero(t, as.Total)
	var keys []string
	for i := range 300 {
		keys = append(keys, fmt.Sprint(i))
	}
	require.NoError(t, m.Release(ctx, "t", keys, nil))
	as, err = m.Assess(ctx, "t")
	require.NoError(t, err)
	require.Equal(t, 300, as.Total, "what was released counts")
	require.NoError(t, m.Record(ctx, meta.Outcome{Key: "1", Session: "s"}))
	require.NoError(t, m.Close())
	for e, err := range st.Scan(ctx, store.Range{}) {
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(e.Key, "tenant\x00acme\x00meta\x00"), "%q", e.Key)
		require.NotContains(t, e.Key, "seen\x00t\x00")
	}
}

// scanning is a store that calls a function before a scan, and fails while err is set.
type scanning struct {
	store.Store
	before func()
	err    error
}

func (s *scanning) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	if s.before != nil {
		s.before()
	}
	return s.Store.Scan(ctx, r)
}

func (s *scanning) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if s.err != nil {
		return 0, s.err
	}
	return s.Store.Commit(ctx, ops...)
}

// What others write behind may fail while a session is forgotten, whose deletes are on
// their way all the same: the session begins anew and is not damaged.
func TestForgetAfterAnErrorOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &scanning{Store: store.NewMem()}
		shared := flush.Share(st)
		m := open(t, shared)
		for i := range 3 {
			record(t, m, "s", meta.Outcome{Key: fmt.Sprint(i), Goal: "goal"})
		}
		boom := errors.New("boom")
		st.before = func() {
			st.before, st.err = nil, boom
			require.NoError(t, flush.New(shared).Add(t.Context(), store.Op{Key: "other", Value: []byte{1}}))
			<-time.After(2 * flush.Delay)
			synctest.Wait()
			st.err = nil
		}
		require.ErrorIs(t, m.Forget(t.Context(), "s"), boom)
		record(t, m, "s", meta.Outcome{Key: "later", Goal: "goal"})
		require.NoError(t, m.Flush(t.Context()))
		again, err := meta.Open(t.Context(), st, nil)
		require.NoError(t, err)
		a, err := again.Assess(t.Context(), "s")
		require.NoError(t, err)
		require.Equal(t, 1, a.Total)
		require.NoError(t, again.Close())
	})
}
