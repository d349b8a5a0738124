package rank_test

import (
	"context"
	"iter"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/internal/key"
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

// samplesOf are the samples of a candidate, in the order of their times.
func samplesOf(t *testing.T, b *rank.Book, candidate string) (all []rank.Sample) {
	t.Helper()
	for s, err := range b.Samples(t.Context(), time.Time{}) {
		require.NoError(t, err)
		if s.Candidate == candidate {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b rank.Sample) int { return a.At.Compare(b.At) })
	return all
}

func p(f float64) *float64 { return &f }

// ctx returns the context of a test, or of a rapid check.
func ctx(t any) context.Context {
	if t, ok := t.(interface{ Context() context.Context }); ok {
		return t.Context()
	}
	return context.Background()
}

// sorted iterates over a map in the order of its keys.
func sorted[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

// part returns the part of a key that says what it is for.
func part(k string) string { return key.Split(k)[1] }
