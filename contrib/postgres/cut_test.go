package postgres_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/contrib/postgres"
	"github.com/arc-learn/arc/store"
)

var cutFor = flag.Duration("watch.cut", 2*time.Second, "how long a follower is cut off from the server")

// network makes connections that can be cut, all of them and until they are joined.
type network struct {
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
	tried int // while it was cut
}

func (n *network) dial(ctx context.Context, kind, addr string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut {
		n.tried++
		return nil, errors.New("the network is cut")
	}
	conn, err := new(net.Dialer).DialContext(ctx, kind, addr)
	if err == nil {
		n.conns = append(n.conns, conn)
	}
	return conn, err
}

func (n *network) set(cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = cut
	if cut {
		for _, conn := range n.conns {
			_ = conn.Close() // it may be closed
		}
		n.conns = nil
	}
}

// A follower that is cut off while others write has all of it afterwards, in order.
func TestWatchAfterACut(t *testing.T) {
	name := schema(t)
	writer := open(t, name)
	config, err := pgxpool.ParseConfig(database(t))
	require.NoError(t, err)
	var wire network
	config.ConnConfig.DialFunc = wire.dial
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	reader, err := postgres.New(t.Context(), pool, &postgres.Options{Schema: name, Patience: time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, reader.Close()) })

	const writers = 4
	var mu sync.Mutex
	written := map[store.Revision]store.Entry{}
	first := put(t, writer, "first")
	ctx, cancel := context.WithTimeout(t.Context(), *cutFor+2*time.Minute)
	defer cancel()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
				}
				op := store.Op{Key: fmt.Sprintf("k/%d", (i+w)%7), Value: fmt.Appendf(nil, "%d/%d", w, i), Delete: i%10 == 9}
				rev, err := writer.Commit(ctx, op)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				written[rev] = store.Entry{Key: op.Key, Value: op.Value, Rev: rev, Deleted: op.Delete}
				mu.Unlock()
			}
		})
	}
	var got []store.Entry
	var behind, caught time.Time
	followed := make(chan error, 1)
	begun := make(chan struct{})
	last := make(chan store.Revision, 1)
	go func() {
		until := store.Revision(1<<64 - 1)
		for e, err := range reader.Watch(ctx, "", first-1) {
			if err != nil {
				followed <- err
				return
			}
			if got = append(got, e); len(got) == 20 {
				close(begun)
			}
			select {
			case until = <-last:
			default:
			}
			if e.Rev >= until {
				break
			}
		}
		caught = time.Now()
		followed <- nil
	}()
	<-begun
	wire.set(true)
	<-time.After(*cutFor)
	wire.set(false)
	behind = time.Now()
	close(stop)
	wg.Wait()
	end := put(t, writer, "last")
	last <- end
	put(t, writer, "behind the last") // for the loop to hear of it
	require.NoError(t, <-followed)
	require.Positive(t, wire.tried, "it was cut off")
	seen := map[store.Revision]bool{}
	for i, e := range got {
		require.False(t, seen[e.Rev], "twice")
		seen[e.Rev] = true
		require.True(t, i == 0 || e.Rev > got[i-1].Rev, "in order")
		if want, ok := written[e.Rev]; ok {
			if want.Deleted {
				want.Value = nil
			}
			require.Equal(t, want, e)
		}
	}
	for rev := range written {
		require.True(t, seen[rev] || rev > end, "revision %d was skipped", rev)
	}
	t.Logf("%d commits in %v without a network; the follower had all of them %v after it", len(written), *cutFor, caught.Sub(behind).Round(time.Millisecond))
}
