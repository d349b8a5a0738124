package meta_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// open opens a Monitor whose clock stands at noon, and closes it with the
// test.
func open(tb testing.TB, st store.Store) *meta.Monitor {
	tb.Helper()
	m, err := meta.Open(tb.Context(), st, &meta.Options{Now: func() time.Time { return noon }})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, m.Close()) })
	return m
}

// record adds outcomes of a session, in order. Keys are given to those that
// have none.
func record(tb testing.TB, m *meta.Monitor, session string, os ...meta.Outcome) {
	tb.Helper()
	for i, o := range os {
		o.Session = session
		if o.Key == "" {
			o.Key = fmt.Sprint(i)
		}
		require.NoError(tb, m.Record(tb.Context(), o))
	}
}

func assess(tb testing.TB, m *meta.Monitor, session string) meta.Assessment {
	tb.Helper()
	a, err := m.Assess(tb.Context(), session)
	require.NoError(tb, err)
	return a
}

func p(f float64) *float64 { return &f }
