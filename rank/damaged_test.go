package rank_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// damage writes over the records below a part of a Book's keys whose last part is one of those given.
func damage(t *testing.T, st store.Store, part string, last ...string) {
	for e, err := range st.Scan(t.Context(), store.Range{Prefix: "rank\x00" + part + "\x00"}) {
		require.NoError(t, err)
		if parts := strings.Split(e.Key, "\x00"); slices.Contains(last, parts[len(parts)-1]) {
			_, err = st.Commit(t.Context(), store.Op{Key: e.Key, Value: []byte{1, 2, 3}})
			require.NoError(t, err)
		}
	}
}

// TestADamagedSampleCostsItself damages samples at several places of windows: the others count, also while new ones push
// them out, and over restarts.
func TestADamagedSampleCostsItself(t *testing.T) {
	t.Parallel()
	for _, n := range []int{10, 200, 310} {
		for _, slots := range [][]string{{"0"}, {"5", "6"}, {"9"}, {"108", "109", "110", "0"}, {"199"}} {
			st, now := store.NewMem(), noon
			opts := &rank.Options{Now: func() time.Time { return now }}
			book := open(t, st, opts)
			observed := 0
			observe := func(more int) {
				for range more {
					observed++
					now = now.Add(time.Second)
					require.NoError(t, book.Observe(t.Context(), rank.Sample{
						Key: fmt.Sprint(observed), Candidate: "a", Success: observed%2 == 0, CostUSD: 1,
					}))
				}
			}
			observe(n)
			require.NoError(t, book.Close())
			damage(t, st, "slot", slots...)
			for _, more := range []int{0, 1, 2, 150, 200} {
				book = open(t, st, opts)
				observe(more)
				rest(t, book)
				observe(more)
				var want rank.Stats
				for s, err := range book.Samples(t.Context(), time.Time{}) {
					if err == nil && s.Candidate == "a" {
						want.Samples++
						want.Successes += map[bool]int{true: 1}[s.Success]
					}
				}
				got, err := book.Stats(t.Context(), "a", "")
				require.NoError(t, err)
				require.Equal(t, want.Samples, got.Samples)
				require.Equal(t, want.Successes, got.Successes)
				require.InDelta(t, 1, got.CostUSD, 1e-9)
				h, err := book.Health(t.Context(), "a")
				require.NoError(t, err)
				require.GreaterOrEqual(t, h.Known, observed-len(slots))
				require.NoError(t, book.Observe(t.Context(), rank.Sample{
					Key: fmt.Sprint("verdict", more), Candidate: "a", Judges: fmt.Sprint(observed),
				}))
				require.NoError(t, book.Close())
			}
			require.Equal(t, 200, len(samplesOf(t, open(t, st, opts), "a")), "all damage is pushed out")
		}
	}
}

// TestADamagedHourCostsItself damages the sum of an hour's samples that have left a window.
func TestADamagedHourCostsItself(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	observe := func(from, to int) {
		book := open(t, st, &rank.Options{Now: clock(noon)})
		for i := from; i < to; i++ {
			require.NoError(t, book.Observe(t.Context(), rank.Sample{Key: fmt.Sprint(i), Candidate: "a", Success: true, CostUSD: 1}))
		}
		_, err := book.Health(t.Context(), "a")
		require.NoError(t, err)
		days, err := book.Daily(t.Context(), noon.Add(-rank.Day))
		require.NoError(t, err)
		require.Len(t, days, 1)
		require.NoError(t, book.Close())
	}
	observe(0, 210)
	for e, err := range st.Scan(t.Context(), store.Range{Prefix: "rank\x00left\x00"}) {
		require.NoError(t, err)
		_, err = st.Commit(t.Context(), store.Op{Key: e.Key, Value: []byte{1, 2, 3}})
		require.NoError(t, err)
	}
	observe(210, 220)
	book := open(t, st, &rank.Options{Now: clock(noon)})
	days, err := book.Daily(t.Context(), noon.Add(-rank.Day))
	require.NoError(t, err)
	require.Equal(t, 210, days[0].Samples, "200 in the window, 10 that left it since")
	require.NoError(t, book.Close())
}

// TestADamagedRecordOfASkillCostsItself damages each kind of what a Book has learned of a skill, one after the other: the
// skill is ranked by the rest, learns on, and all is whole again once it was written anew.
func TestADamagedRecordOfASkillCostsItself(t *testing.T) {
	t.Parallel()
	cards := []rank.Candidate{{Name: "good"}, {Name: "bad"}, {Name: "other"}}
	at := func(i int) rank.Situation {
		return rank.Situation{Key: fmt.Sprint("k", i%3), Features: []float64{float64(i%20) + float64(i/61)/2, 1}}
	}
	for _, c := range []struct {
		part string
		last []string
		told int
	}{
		{"head", []string{""}, 1}, {"arm", []string{"bad"}, 1}, {"arm", []string{"other"}, 1}, {"arm", []string{"good", "bad", "other"}, 3},
		{"axes", []string{""}, 1}, {"point", []string{"0"}, 1}, {"point", []string{"3", "19"}, 2},
	} {
		st := store.NewMem()
		var told []error
		opts := &rank.Options{Now: clock(noon), Damaged: func(err error) { told = append(told, err) }}
		n := 0
		observe := func(book *rank.Book) {
			for range 60 {
				n++
				for _, card := range cards {
					require.NoError(t, book.Observe(t.Context(), rank.Sample{
						Key: fmt.Sprint(card.Name, n), Candidate: card.Name, Situation: at(n), Success: card.Name == "good",
					}))
				}
			}
		}
		score := func(book *rank.Book) map[string]rank.Scored {
			ss, err := book.Learned(&rank.LearnedOptions{Greedy: true}).Score(t.Context(), at(1), cards)
			require.NoError(t, err)
			out := make(map[string]rank.Scored)
			for _, s := range ss {
				out[s.Candidate.Name] = s
			}
			return out
		}
		book := open(t, st, opts)
		observe(book)
		was := score(book)
		require.NoError(t, book.Close())
		damage(t, st, c.part, c.last...)
		book = open(t, st, opts)
		is := score(book)
		require.Len(t, told, c.told, c.part)
		for _, err := range told {
			require.ErrorIs(t, err, store.ErrDamaged)
		}
		for name, s := range is {
			if c.part == "arm" && slices.Contains(c.last, name) {
				require.Zero(t, s.Parts.Known)
			} else {
				require.Equal(t, was[name].Parts.Known, s.Parts.Known)
				require.InDelta(t, was[name].Score, s.Score, .15, "%s of %s", name, c.part)
			}
		}
		observe(book)
		was = score(book)
		require.Greater(t, was["good"].Score, was["bad"].Score+.5)
		require.NoError(t, book.Close())
		told = nil
		book = open(t, st, opts)
		is = score(book)
		if c.part != "point" { // which stays until its place is taken, after many others
			require.Empty(t, told)
		}
		for name := range is {
			require.InDelta(t, was[name].Score, is[name].Score, 1e-6, "%s of %s", name, c.part)
		}
		require.NoError(t, book.Close())
	}
}
