package rank_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// TestSharedBooksComeToWhatOneDoes has three Books of one store observe, some samples at
// two of them, and forget, in any order, beside one Book of its own. When all is folded,
// each has what the one has.
func TestSharedBooksComeToWhatOneDoes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
		mem := store.NewMem()
		open := func(st store.Store, shared bool) *rank.Book {
			b, err := rank.Open(t.Context(), st, &rank.Options{Now: func() time.Time { return now }, Shared: shared, Tenant: "acme"})
			require.NoError(r, err)
			return b
		}
		books := []*rank.Book{open(mem, true), open(mem, true), open(mem, true)}
		one := open(store.NewMem(), false)
		defer one.Close()
		pick := func() int { return rapid.IntRange(0, len(books)-1).Draw(r, "book") }
		n := 0
		r.Repeat(map[string]func(*rapid.T){
			"observe": func(r *rapid.T) {
				for range rapid.IntRange(1, 50).Draw(r, "samples") {
					if n >= rank.Window {
						return // which sample is the last depends on who was first
					}
					n++
					s := rank.Sample{
						Key: fmt.Sprint("s", n), Candidate: rapid.SampledFrom([]string{"a", "b"}).Draw(r, "candidate"),
						Situation: rank.Situation{Skill: "work", Key: fmt.Sprint(n % 3), Words: rank.WordsOf(fmt.Sprint("mend the cache ", n%3))},
						Success:   rapid.Bool().Draw(r, "success"), Wall: time.Duration(n) * time.Second, At: now.Add(time.Duration(n)),
					}
					require.NoError(r, one.Observe(t.Context(), s))
					require.NoError(r, books[pick()].Observe(t.Context(), s))
					if rapid.IntRange(0, 9).Draw(r, "again") == 0 {
						i := pick()
						require.NoError(r, books[i].Observe(t.Context(), s)) // it may not know
					}
				}
			},
			"judge": func(*rapid.T) {
				for _, b := range books { // a verdict comes after its attempt
					require.NoError(r, b.Flush(t.Context()))
				}
				n++
				s := rank.Sample{
					Key: fmt.Sprint("v", n), Candidate: rapid.SampledFrom([]string{"a", "b"}).Draw(r, "candidate"),
					Situation: rank.Situation{Skill: "work"}, Judges: fmt.Sprint("s", rapid.IntRange(1, n).Draw(r, "which")),
					Success: rapid.Bool().Draw(r, "success"), At: now.Add(time.Duration(n)),
				}
				require.NoError(r, one.Observe(t.Context(), s))
				require.NoError(r, books[pick()].Observe(t.Context(), s))
			},
			"refresh": func(*rapid.T) { require.NoError(r, books[pick()].Refresh(t.Context())) },
			"forget": func(*rapid.T) {
				for _, b := range books { // what is not written yet cannot be forgotten by others
					require.NoError(r, b.Flush(t.Context()))
				}
				old := now.Add(time.Duration(n / 2))
				drop := func(s rank.Sample) bool { return s.Key != "" && s.At.Before(old) }
				require.NoError(r, one.Forget(t.Context(), drop))
				require.NoError(r, books[pick()].Forget(t.Context(), drop))
			},
			"reopen": func(*rapid.T) {
				i := pick()
				require.NoError(r, books[i].Close())
				books[i] = open(mem, true)
			},
		})
		for _, b := range books {
			require.NoError(r, b.Flush(t.Context()))
		}
		books = append(books, open(mem, true))
		for _, b := range books {
			require.NoError(r, b.Refresh(t.Context()))
			for _, name := range []string{"a", "b"} {
				want, err := one.Stats(t.Context(), name, "work")
				require.NoError(r, err)
				got, err := b.Stats(t.Context(), name, "work")
				require.NoError(r, err)
				require.Equal(r, want, got)
			}
			require.Equal(r, samples(r, t, one), samples(r, t, b))
			requireRanked(r, t, one, b, false)
		}
		for _, b := range books {
			require.NoError(r, b.Close())
		}
		alone := open(mem, false) // what lies there is for the only opener
		require.Equal(r, samples(r, t, one), samples(r, t, alone))
		requireRanked(r, t, one, alone, false)
		require.NoError(r, alone.Flush(t.Context()))
		again := open(mem, false)
		requireRanked(r, t, alone, again, true)
		require.NoError(r, errors.Join(again.Close(), alone.Close()))
	})
}

// requireRanked has two Books score candidates alike. What is learned goes by the order in which
// a Book has heard of samples: of one that was opened again, that is the same.
func requireRanked(r *rapid.T, t *testing.T, one, other *rank.Book, again bool) {
	cs := []rank.Candidate{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	policies := map[string]func(*rank.Book) rank.Policy{"observed": (*rank.Book).Observed, "weighted": (*rank.Book).Weighted}
	if again {
		policies["learned"] = func(b *rank.Book) rank.Policy { return b.Learned(nil) }
	}
	for name, policy := range policies {
		for _, key := range []string{"", "0", "1", "new"} {
			sit := rank.Situation{Skill: "work", Key: key, Words: rank.WordsOf("mend the cache " + key)}
			want, err := policy(one).Score(t.Context(), sit, cs)
			require.NoError(r, err)
			got, err := policy(other).Score(t.Context(), sit, cs)
			require.NoError(r, err)
			require.Equal(r, want, got, "%s of %q", name, key)
		}
	}
}

func samples(r *rapid.T, t *testing.T, b *rank.Book) map[string]bool {
	keys := make(map[string]bool)
	for s, err := range b.Samples(t.Context(), time.Time{}) {
		require.NoError(r, err)
		keys[s.Key] = s.Success
	}
	return keys
}

// TestSharedBooksAtTheSameTime has Books of one store observe and fold side by side.
func TestSharedBooksAtTheSameTime(t *testing.T) {
	t.Parallel()
	const samples = 190
	mem := store.NewMem()
	var g errgroup.Group
	for i := range 4 {
		g.Go(func() error {
			b, err := rank.Open(t.Context(), mem, &rank.Options{Shared: true})
			for n := range samples {
				if err != nil {
					return err
				}
				err = b.Observe(t.Context(), rank.Sample{
					Key: fmt.Sprint(n/2, "-", (i+n)%2), Candidate: fmt.Sprint("c", n%3), Situation: rank.Situation{Skill: "work"}, Success: n%5 > 0,
				})
				if err == nil && n%10 == i {
					err = b.Refresh(t.Context())
				}
			}
			return errors.Join(err, b.Close())
		})
	}
	require.NoError(t, g.Wait())
	b, err := rank.Open(t.Context(), mem, &rank.Options{Shared: true})
	require.NoError(t, err)
	require.NoError(t, b.Refresh(t.Context()))
	n := 0
	for _, err := range b.Samples(t.Context(), time.Time{}) {
		require.NoError(t, err)
		n++
	}
	require.Equal(t, samples, n, "each key once")
	require.NoError(t, b.Close())
}

// What replicas have entered can be folded, however large each entry is. (internal/journal foldSome
// folds 64 entries in one commit, whatever they come to.)
func TestFoldOfLargeEntries(t *testing.T) {
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	st := store.NewMem()
	b, err := rank.Open(t.Context(), st, &rank.Options{Now: func() time.Time { return now }, Shared: true, Tenant: "acme"})
	require.NoError(t, err)
	defer b.Close()
	for n := range 80 {
		features := make([]float64, rank.MaxFeatures)
		for i := range features {
			features[i] = float64(n*i) + 0.123456789
		}
		require.NoError(t, b.Observe(t.Context(), rank.Sample{
			Key: fmt.Sprint("s", n), Candidate: fmt.Sprint("worker", n%40), Success: true, At: now.Add(time.Duration(n)),
			Situation: rank.Situation{Skill: fmt.Sprint("skill", n%7), Key: fmt.Sprint(n), Features: features},
		}))
	}
	require.NoError(t, b.Flush(t.Context()))
	require.NoError(t, b.Refresh(t.Context()))
}

// between is a store that calls do once, after it was read at a key for the first time.
type between struct {
	store.Store
	key string
	do  func()
}

func (b *between) Get(ctx context.Context, key string) (store.Entry, error) {
	e, err := b.Store.Get(ctx, key)
	if do := b.do; do != nil && strings.Contains(key, b.key) {
		b.do = nil
		do()
	}
	return e, err
}

// An entry that another opener folds while it is taken in counts once: it is in what is read then.
func TestSharedBookCountsWhatIsFoldedMeanwhileOnce(t *testing.T) {
	t.Parallel()
	mem := store.NewMem()
	st := &between{Store: mem, key: "seen"}
	open := func(st store.Store) *rank.Book {
		b, err := rank.Open(t.Context(), st, &rank.Options{Shared: true, Tenant: "acme"})
		require.NoError(t, err)
		return b
	}
	a, b := open(st), open(mem)
	require.NoError(t, b.Observe(t.Context(), rank.Sample{Key: "s", Candidate: "w", Situation: rank.Situation{Skill: "work"}, Success: true}))
	require.NoError(t, b.Flush(t.Context()))
	folded := false
	st.do = func() {
		folded = true
		require.NoError(t, b.Forget(t.Context(), func(rank.Sample) bool { return false }))
	}
	require.NoError(t, a.Refresh(t.Context()))
	require.True(t, folded)
	stats, err := a.Stats(t.Context(), "w", "work")
	require.NoError(t, err)
	require.Equal(t, 1, stats.Samples)
	require.NoError(t, errors.Join(a.Close(), b.Close()))
}

// What is learned under a key that holds a secret is found again under that key, of what
// others have observed too, and after it is folded.
func TestSharedBookLearnsUnderASecretKey(t *testing.T) {
	t.Parallel()
	teachKey := func(b *rank.Book) {
		for i := range 120 {
			name := fmt.Sprint("c", i%2)
			for at, key := range []string{"password=hunter2secret0", "password=hunter2secret1"} {
				require.NoError(t, b.Observe(t.Context(), rank.Sample{
					Key: fmt.Sprint(i, at), Candidate: name, Situation: rank.Situation{Key: key}, Success: i%2 == at,
				}))
			}
		}
	}
	context := func(b *rank.Book) float64 {
		return score(t, b.Learned(&rank.LearnedOptions{Greedy: true}), rank.Situation{Key: "password=hunter2secret0"}, "c0")["c0"].Parts.Context
	}
	one := open(t, store.NewMem(), nil)
	teachKey(one)
	want := context(one)
	require.Greater(t, want, 0.1)
	mem := store.NewMem()
	a := open(t, mem, &rank.Options{Now: clock(noon), Shared: true})
	b := open(t, mem, &rank.Options{Now: clock(noon), Shared: true})
	teachKey(a)
	require.NoError(t, a.Flush(t.Context()))
	require.NoError(t, b.Refresh(t.Context()))
	require.InDelta(t, want, context(b), 1e-3) // in another order
	require.NoError(t, a.Refresh(t.Context()))
	require.InDelta(t, want, context(a), 1e-3)
	for e, err := range mem.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		require.NotContains(t, string(e.Value), "hunter2")
	}
}
