package benchmarks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// BenchmarkCommitFile appends the same bytes to a file and syncs them, each
// operation for itself: what the disk allows a single writer.
func BenchmarkCommitFile(b *testing.B) {
	for _, writers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("fdatasync/writers=%d", writers), func(b *testing.B) {
			f, err := os.OpenFile(filepath.Join(b.TempDir(), "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
			require.NoError(b, err)
			var mu sync.Mutex
			commitAll(b, writers, func(key, value []byte) error {
				mu.Lock()
				defer mu.Unlock()
				if _, err := f.Write(append(key, value...)); err != nil {
					return err
				}
				return unix.Fdatasync(int(f.Fd()))
			})
			require.NoError(b, f.Close())
		})
	}
}
