package rank_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is when the tests' clock stands.
var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func clock(at time.Time) func() time.Time { return func() time.Time { return at } }

// open opens a Book and closes it with the test. The clock of nil options
// stands at noon.
func open(tb testing.TB, st store.Store, opts *rank.Options) *rank.Book {
	tb.Helper()
	if opts == nil {
		opts = &rank.Options{Now: clock(noon)}
	}
	book, err := rank.Open(tb.Context(), st, opts)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, book.Close()) })
	return book
}

func p(f float64) *float64 { return &f }
