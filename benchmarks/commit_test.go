package benchmarks_test

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
	arcbadger "github.com/arc-learn/arc/store/badger"
)

// valueSize is the size of each committed value in bytes, that of a short
// record.
const valueSize = 256

// BenchmarkCommit makes one small value durable per operation, by as many
// goroutines at once as the name says. An operation ends after its sync.
func BenchmarkCommit(b *testing.B) {
	for _, writers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("arc/writers=%d", writers), func(b *testing.B) {
			st, err := arcbadger.Open(b.TempDir(), nil)
			require.NoError(b, err)
			commitAll(b, writers, func(key, value []byte) error {
				_, err := st.Commit(b.Context(), store.Op{Key: string(key), Value: value})
				return err
			})
			require.NoError(b, st.Close())
		})
		b.Run(fmt.Sprintf("badger/writers=%d", writers), func(b *testing.B) {
			db, err := badger.Open(badger.DefaultOptions(b.TempDir()).WithSyncWrites(true).WithLogger(nil))
			require.NoError(b, err)
			commitAll(b, writers, func(key, value []byte) error {
				return db.Update(func(tx *badger.Txn) error { return tx.Set(key, value) })
			})
			require.NoError(b, db.Close())
		})
	}
}

// commitAll shares the operations of the benchmark among the writers. Each
// operation has a key of its own.
func commitAll(b *testing.B, writers int, commit func(key, value []byte) error) {
	b.Helper()
	b.ReportAllocs()
	b.ResetTimer()
	var next atomic.Int64
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			value := make([]byte, valueSize)
			for {
				i := next.Add(1)
				if i > int64(b.N) {
					return
				}
				key := fmt.Appendf(nil, "%016d", i)
				value = binary.BigEndian.AppendUint64(value[:valueSize-8], uint64(i))
				if err := commit(key, value); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.StopTimer()
}
