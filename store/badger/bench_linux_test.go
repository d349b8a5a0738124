package badger_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	plain "github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
	"github.com/arc-learn/arc/store/storetest"
)

func BenchmarkStore(b *testing.B) {
	storetest.Benchmark(b, func(b *testing.B) store.Store {
		st, err := badger.Open(b.TempDir(), nil)
		require.NoError(b, err)
		return st
	})
}

const benchValue = 200

// timed adds the time of fn to sum.
func timed(sum *time.Duration, fn func() error) error {
	begin := time.Now()
	err := fn()
	*sum += time.Since(begin)
	return err
}

// BenchmarkOneWriter commits one value and appends the same bytes to a file,
// in turn, so that both meet the same disk. What a commit takes beyond the
// append: Badger also syncs its value log, in which nothing is (about as much
// as half of the other sync); it syncs a map, whose pages fault anew after
// each sync; and it hands the transaction through two goroutines.
func BenchmarkOneWriter(b *testing.B) {
	st, err := badger.Open(b.TempDir(), nil)
	require.NoError(b, err)
	f, err := os.OpenFile(filepath.Join(b.TempDir(), "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require.NoError(b, err)
	value := make([]byte, benchValue)
	var commits, appends time.Duration
	n := 0
	for b.Loop() {
		n++
		key := fmt.Sprintf("bench/%08d", n)
		require.NoError(b, timed(&commits, func() error {
			_, err := st.Commit(b.Context(), store.Op{Key: key, Value: value})
			return err
		}))
		require.NoError(b, timed(&appends, func() error {
			if _, err := f.Write(append([]byte(key), value...)); err != nil {
				return err
			}
			return unix.Fdatasync(int(f.Fd()))
		}))
	}
	b.ReportMetric(float64(commits.Microseconds())/float64(n), "us/commit")
	b.ReportMetric(float64(appends.Microseconds())/float64(n), "us/append")
	b.ReportMetric(float64(commits)/float64(appends), "commit/append")
	require.NoError(b, f.Close())
	require.NoError(b, st.Close())
}

// BenchmarkManyWriters has 64 goroutines commit ten values each, to this store
// and to plain Badger with SyncWrites, in turn.
func BenchmarkManyWriters(b *testing.B) {
	const writers, each = 64, 10
	st, err := badger.Open(b.TempDir(), nil)
	require.NoError(b, err)
	db, err := plain.Open(plain.DefaultOptions(b.TempDir()).WithSyncWrites(true).WithLogger(nil))
	require.NoError(b, err)
	value := make([]byte, benchValue)
	round := func(n int, write func(key string) error) error {
		var wg sync.WaitGroup
		errs := make(chan error, writers)
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					if err := write(fmt.Sprintf("bench/%06d/%02d/%02d", n, w, i)); err != nil {
						errs <- err
						return
					}
				}
			})
		}
		wg.Wait()
		close(errs)
		return <-errs
	}
	var ours, theirs time.Duration
	n := 0
	for b.Loop() {
		n++
		require.NoError(b, timed(&ours, func() error {
			return round(n, func(key string) error {
				_, err := st.Commit(b.Context(), store.Op{Key: key, Value: value})
				return err
			})
		}))
		require.NoError(b, timed(&theirs, func() error {
			return round(n, func(key string) error {
				return db.Update(func(txn *plain.Txn) error { return txn.Set([]byte(key), value) })
			})
		}))
	}
	commits := float64(n * writers * each)
	b.ReportMetric(commits/ours.Seconds(), "commits/s")
	b.ReportMetric(commits/theirs.Seconds(), "badger-commits/s")
	b.ReportMetric(float64(theirs)/float64(ours), "times-badger")
	require.NoError(b, db.Close())
	require.NoError(b, st.Close())
}

var openRecords = flag.Int("open.records", 10_000, "records, of 500 bytes, in the store of BenchmarkOpen")

// BenchmarkOpen opens a store that was closed, one for which nothing vouches, and
// looks at the files of the first alone, in turn. The figures are medians.
func BenchmarkOpen(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "store")
	st, err := badger.Open(dir, nil)
	require.NoError(b, err)
	for n := 0; n < *openRecords; n += 1000 {
		var ops []store.Op
		for i := range min(1000, *openRecords-n) {
			key := fmt.Sprintf("bench/%08d", n+i)
			ops = append(ops, store.Op{Key: key, Value: []byte(strings.Repeat(key, 36))})
		}
		_, err := st.Commit(b.Context(), ops...)
		require.NoError(b, err)
	}
	require.NoError(b, st.Purge(b.Context())) // or as many small tables as the rewrite has not caught up with
	require.NoError(b, st.Close())
	sums := map[string][]time.Duration{}
	note := func(what string, fn func() error) {
		var took time.Duration
		require.NoError(b, timed(&took, fn))
		sums[what] = append(sums[what], took)
	}
	opened := func(what string) {
		var st *badger.Store
		note(what, func() (err error) { st, err = badger.Open(dir, nil); return err })
		note("ms/first-get", func() error {
			_, err := st.Get(b.Context(), "bench/00000001")
			return err
		})
		require.NoError(b, st.Close())
	}
	for b.Loop() {
		note("ms/look", func() error { return badger.Preflight(dir) })
		opened("ms/open")
		require.NoError(b, os.Remove(filepath.Join(dir, badger.CleanName)))
		opened("ms/open-all")
	}
	for what, all := range sums {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, what)
	}
}
