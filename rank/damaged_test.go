package rank_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// TestADamagedEntryOfTheJournalCostsItself damages one entry of the journal that Books share: the others count,
// and what cannot be read stays in the store.
func TestADamagedEntryOfTheJournalCostsItself(t *testing.T) {
	mem := store.NewMem()
	now := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	open := func(shared bool) *rank.Book {
		b, err := rank.Open(t.Context(), mem, &rank.Options{Now: func() time.Time { return now }, Shared: shared})
		require.NoError(t, err)
		return b
	}
	writer := open(true)
	observe := func(key string) {
		require.NoError(t, writer.Observe(t.Context(), rank.Sample{
			Key: key, Candidate: "a", Situation: rank.Situation{Skill: "work"}, Success: true, At: now,
		}))
		require.NoError(t, writer.Flush(t.Context()))
	}
	requireSamples := func(b *rank.Book, n int) {
		t.Helper()
		got, err := b.Stats(t.Context(), "a", "work")
		require.NoError(t, err)
		require.Equal(t, n, got.Samples)
	}
	observe("first")
	observe("second")
	damaged := ""
	for e, err := range mem.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		if strings.HasSuffix(e.Key, "first") {
			damaged = e.Key
		}
	}
	_, err := mem.Commit(t.Context(), store.Op{Key: damaged, Value: []byte("no sample")})
	require.NoError(t, err)
	require.NoError(t, writer.Close())

	reader := open(true)
	require.NoError(t, reader.Refresh(t.Context()))
	requireSamples(reader, 1)
	require.NoError(t, reader.Release(t.Context(), "second")) // folds
	requireSamples(reader, 1)
	require.NoError(t, reader.Close())

	alone := open(false) // folds what others have left
	requireSamples(alone, 1)
	require.NoError(t, alone.Close())
	_, err = mem.Get(t.Context(), damaged)
	require.NoError(t, err)
}

// TestADamagedKeyOfASkillCostsItself damages what a Book has learned of one situation's key: the skill is ranked and
// learns on, and the key is learned anew.
func TestADamagedKeyOfASkillCostsItself(t *testing.T) {
	mem := store.NewMem()
	observe := func(n int, key string) {
		b, err := rank.Open(t.Context(), mem, nil)
		require.NoError(t, err)
		require.NoError(t, b.Observe(t.Context(), rank.Sample{
			Key: key + string(rune('0'+n)), Candidate: "a", Situation: rank.Situation{Skill: "work", Key: key}, Success: true,
			At: time.Unix(1, 0),
		}))
		_, err = b.Learned(nil).Score(t.Context(), rank.Situation{Skill: "work", Key: key}, []rank.Candidate{{Name: "a"}})
		require.NoError(t, err)
		require.NoError(t, b.Close())
	}
	observe(1, "x")
	observe(1, "y")
	for e, err := range mem.Scan(t.Context(), store.Range{Prefix: "rank\x00setting\x00"}) {
		require.NoError(t, err)
		_, err = mem.Commit(t.Context(), store.Op{Key: e.Key, Value: []byte{1, 2, 3}})
		require.NoError(t, err)
	}
	observe(2, "y")
	observe(2, "x")
}

// unanswered applies commits and says that they failed.
type unanswered struct {
	store.Store
	fails bool
}

func (u *unanswered) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	rev, err := u.Store.Commit(ctx, ops...)
	if u.fails {
		return 0, errors.Join(err, errors.New("no answer"))
	}
	return rev, err
}

// TestAnEntryThatIsWrittenAgainBehindAFoldCountsOnce has another Book fold an entry whose commit was applied and not
// answered, before its writer tries again.
func TestAnEntryThatIsWrittenAgainBehindAFoldCountsOnce(t *testing.T) {
	mem := store.NewMem()
	weak := &unanswered{Store: mem, fails: true}
	writer, err := rank.Open(t.Context(), weak, &rank.Options{Shared: true})
	require.NoError(t, err)
	other, err := rank.Open(t.Context(), mem, &rank.Options{Shared: true})
	require.NoError(t, err)
	require.NoError(t, writer.Observe(t.Context(), rank.Sample{Key: "1", Candidate: "a", Success: true, At: time.Unix(1, 0)}))
	require.Error(t, writer.Flush(t.Context()))
	require.NoError(t, other.Release(t.Context(), "none")) // folds
	weak.fails = false
	require.NoError(t, writer.Flush(t.Context())) // again
	for _, b := range []*rank.Book{writer, other} {
		require.NoError(t, b.Refresh(t.Context()))
		require.NoError(t, b.Release(t.Context(), "none"))
		got, err := b.Stats(t.Context(), "a", "")
		require.NoError(t, err)
		require.Equal(t, 1, got.Samples)
		require.NoError(t, b.Close())
	}
}
