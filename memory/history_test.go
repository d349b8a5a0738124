package memory_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// said is the i-th of a set of drafts in threads, by actors.
func said(seed uint64, i int) memory.Draft {
	rng := rand.New(rand.NewPCG(seed, uint64(i)))
	words := make([]string, 3+rng.IntN(12))
	for j := range words {
		words[j] = topics[rng.IntN(len(topics))]
	}
	d := memory.Draft{
		Kind: memory.Episode, Key: fmt.Sprint(i), Content: strings.Join(words, " "),
		At: epoch.Add(-time.Duration(i) * time.Hour), Actor: []string{"", "Ann", "Bob", "user"}[rng.IntN(4)],
	}
	if rng.IntN(4) > 0 {
		d.Thread = fmt.Sprint("thread-", rng.IntN(8))
	}
	if rng.IntN(3) == 0 {
		d.Source.Origin = memory.Web
	}
	return d
}

// asked are queries of all sorts.
func asked(seed uint64) []memory.Query {
	rng := rand.New(rand.NewPCG(seed, 99))
	var qs []memory.Query
	for range 12 {
		text := topics[rng.IntN(len(topics))] + " " + topics[rng.IntN(len(topics))]
		qs = append(qs, memory.Query{Text: text}, memory.Query{Text: "what did Ann say of my " + text, K: 3, Inject: true},
			memory.Query{Text: text, K: 100, At: epoch.Add(-40 * time.Hour)}, memory.Query{Text: text, Floor: 0.4, K: 5})
	}
	return append(qs, memory.Query{K: 7}, memory.Query{K: 1000, Inject: true})
}

// requireSame says less than require.Equal does of long lists that differ.
func requireSame(t *testing.T, want, got any, q memory.Query) {
	t.Helper()
	require.True(t, reflect.DeepEqual(want, got), "%+v finds\n%.2000v\nnot\n%.2000v", q, got, want)
}

// What a Bank finds depends on what it holds, and not on how that came about:
// records that many goroutines made, changed and forgot while others recalled
// are found as in a Bank that was opened anew, and as in one that was given
// those that are left in another order.
func TestHistoryChangesNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for seed := range uint64(4) {
		const n = 160
		st, c := store.NewMem(), newClock()
		s := open(t, st, c).In("acme")
		gone, trusted := make([]bool, n), make([]bool, n)
		var g errgroup.Group
		var ids sync.Map
		for w := range 4 {
			g.Go(func() error {
				rng := rand.New(rand.NewPCG(seed, uint64(w)+1000))
				for i := w; i < n; i += 4 {
					r, err := s.Remember(ctx, said(seed, i))
					if err != nil {
						return err
					}
					ids.Store(i, r.ID)
					j := w + 4*rng.IntN(i/4+1) // one of its own
					id, _ := ids.Load(j)
					switch {
					case gone[j]:
					case rng.IntN(3) == 0:
						gone[j], err = true, s.Forget(ctx, id.(memory.ID))
					case rng.IntN(2) == 0:
						trusted[j], err = true, s.Trust(ctx, id.(memory.ID))
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
			g.Go(func() error {
				for _, q := range asked(seed + uint64(w)) {
					if _, err := s.Recall(ctx, q); err != nil {
						return err
					}
					if _, err := s.RecallThreads(ctx, q); err != nil {
						return err
					}
				}
				return nil
			})
		}
		require.NoError(t, g.Wait())
		fresh := open(t, store.NewMem(), c).In("acme")
		for _, i := range rand.New(rand.NewPCG(seed, 7)).Perm(n) {
			if gone[i] {
				continue
			}
			id := remember(t, fresh, said(seed, i))
			if trusted[i] {
				require.NoError(t, fresh.Trust(ctx, id))
			}
		}
		again := open(t, st, c).In("acme")
		for _, q := range asked(seed) {
			want := recall(t, fresh, q)
			requireSame(t, want, recall(t, s, q), q)
			requireSame(t, want, recall(t, again, q), q)
			threads, err := fresh.RecallThreads(ctx, q)
			require.NoError(t, err)
			for _, other := range []memory.Space{s, again} {
				got, err := other.RecallThreads(ctx, q)
				require.NoError(t, err)
				requireSame(t, threads, got, q)
			}
			all := q
			all.K = 1000
			requireSame(t, want, recall(t, fresh, all)[:len(want)], all)
			require.True(t, slices.IsSortedFunc(want[min(1, len(want)):], func(a, b memory.Hit) int { return int(1e9 * (b.Score - a.Score)) }))
		}
	}
}
