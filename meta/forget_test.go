package meta_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
