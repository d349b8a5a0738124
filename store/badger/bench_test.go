package badger_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	plain "github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// BenchmarkBesideBadger has 1 and 64 writers commit a value of 256 bytes each, to this store and to plain Badger with
// SyncWrites, in turn, so that both meet the same disk. The figures are medians of the turns.
func BenchmarkBesideBadger(b *testing.B) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprint(writers), func(b *testing.B) {
			st, err := badger.Open(b.Context(), b.TempDir(), nil)
			require.NoError(b, err)
			db, err := plain.Open(plain.DefaultOptions(b.TempDir()).WithSyncWrites(true).WithLogger(nil))
			require.NoError(b, err)
			value, n := make([]byte, 256), 0
			turn := func(write func(key string) error) time.Duration {
				begin := time.Now()
				var all sync.WaitGroup
				for w := range writers {
					all.Go(func() {
						if err := write(fmt.Sprintf("bench/%08d/%02d", n, w)); err != nil {
							b.Error(err)
						}
					})
				}
				all.Wait()
				return time.Since(begin)
			}
			var ours, theirs []time.Duration
			for b.Loop() {
				n++
				ours = append(ours, turn(func(key string) error {
					_, err := st.Commit(b.Context(), store.Op{Key: key, Value: value})
					return err
				}))
				theirs = append(theirs, turn(func(key string) error {
					return db.Update(func(txn *plain.Txn) error { return txn.Set([]byte(key), value) })
				}))
			}
			slices.Sort(ours)
			slices.Sort(theirs)
			us := func(all []time.Duration) float64 {
				return float64(all[len(all)/2].Nanoseconds()) / 1e3 / float64(writers)
			}
			b.ReportMetric(us(ours), "us/commit")
			b.ReportMetric(us(theirs), "us/badger-commit")
			b.ReportMetric(us(ours)/us(theirs), "ours/badger")
			require.NoError(b, db.Close())
			require.NoError(b, st.Close())
		})
	}
}
