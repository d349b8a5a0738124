package badger_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

var (
	scarcities = flag.Int("scarcities", 1, "rounds of TestScarcity, for each kind")
	fillRate   = flag.Int("fill", 50, "MB that fill the disk in a second of TestScarcity")
)

func init() { children["scarce"] = writeInScarcity }

// eaters take what a store needs, a piece a call, until they cannot.
var eaters = map[string]func(dir string, n int) (giveBack func(), err error){
	"files": func(string, int) (func(), error) {
		f, err := os.Open(os.DevNull)
		return func() { _ = f.Close() }, err // a device: nothing is lost
	},
	"inodes": func(dir string, n int) (func(), error) {
		name := filepath.Join(dir, fmt.Sprint("eaten", n))
		return func() { _ = os.Remove(name) }, os.WriteFile(name, nil, 0o600) // seen by the next Open
	},
	"bytes": func(dir string, n int) (func(), error) {
		name := filepath.Join(dir, fmt.Sprint("eaten", n))
		return func() { _ = os.Remove(name) }, os.WriteFile(name, make([]byte, 1<<20), 0o600) // seen by the next Open
	},
}

// eat takes all there is, a while, and gives it back, until ctx ends.
func eat(ctx context.Context, kind, dir string, rate int) {
	for ctx.Err() == nil {
		var back []func()
		for n := 0; ctx.Err() == nil; n++ {
			undo, err := eaters[kind](dir, n)
			if err != nil {
				break
			}
			if back = append(back, undo); kind == "bytes" {
				<-time.After(time.Second / time.Duration(rate))
			}
		}
		<-time.After(time.Duration(rand.IntN(300)) * time.Millisecond)
		for _, undo := range back {
			undo()
		}
		<-time.After(time.Duration(rand.IntN(100)) * time.Millisecond)
	}
}

// writeInScarcity commits and reports what was acknowledged, while something
// is taken away and given back.
func writeInScarcity(dir string, args []string) error {
	kind := args[0]
	rate, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	st, err := badger.Open(dir, &badger.Options{Patience: 3 * time.Second})
	if err != nil {
		return err
	}
	if kind == "files" {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 100, Max: 100}); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() { eat(ctx, kind, filepath.Dir(dir), rate) })
	var out sync.Mutex
	say := func(format string, args ...any) {
		out.Lock()
		defer out.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	for w := range killWriters {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				key := fmt.Sprintf("%d/%06d", w, i)
				_, err := st.Commit(ctx, store.Op{Key: key, Value: scarceValue(key)})
				switch {
				case err == nil:
					say("acked %s", key)
				case errors.Is(err, store.ErrFull), errors.Is(err, store.ErrScarce):
					if _, err := st.Get(ctx, fmt.Sprintf("%d/%06d", w, 0)); err != nil && !errors.Is(err, store.ErrNotFound) && ctx.Err() == nil && !errors.Is(err, store.ErrFailed) {
						say("untyped get: %v", err)
					}
					<-time.After(5 * time.Millisecond)
				case errors.Is(err, store.ErrFailed), errors.Is(err, context.DeadlineExceeded), strings.Contains(err.Error(), "outcome unknown"):
					return
				default:
					say("untyped commit: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	begin := time.Now()
	for range 3 {
		if err = st.Close(); err == nil {
			break
		}
		say("close: %v", err)
	}
	say("closed in %v", time.Since(begin))
	return nil
}

func scarceValue(key string) []byte { return []byte(strings.Repeat(key, 4<<10)) }

// Whatever runs out, the process lives, each error has a type, and what was
// acknowledged is there afterwards.
func TestScarcity(t *testing.T) {
	for kind, options := range map[string]string{"files": "size=1g", "inodes": "size=1g,nr_inodes=80", "bytes": "size=400m"} {
		t.Run(kind, func(t *testing.T) {
			acked := 0
			for range *scarcities {
				acked += scarceRound(t, kind, options)
			}
			t.Logf("%d commits acknowledged in %d rounds", acked, *scarcities)
			require.NotZero(t, acked)
		})
	}
}

// A store that Open refuses for want of descriptors stays as it was, so that the next Open
// trusts it as it would have.
func TestRefusedForWantOfFiles(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir)
	_, err := st.Commit(t.Context(), put("a", "1", store.Any))
	require.NoError(t, err)
	require.NoError(t, st.Close())
	before := fingerprint(t, dir)
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 30, Max: limit.Max}))
	_, err = badger.Open(dir, nil)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	require.ErrorIs(t, err, store.ErrScarce)
	require.Equal(t, before, fingerprint(t, dir))
}

func scarceRound(t *testing.T, kind, options string) int {
	disk := mount(t, options)
	dir := filepath.Join(disk, "store")
	cmd := childCommand("scarce", dir, kind, strconv.Itoa(*fillRate))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var keys []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if key, ok := strings.CutPrefix(lines.Text(), "acked "); ok {
			keys = append(keys, key)
			continue
		}
		t.Log(lines.Text())
		require.NotContains(t, lines.Text(), "untyped")
	}
	require.NoError(t, cmd.Wait(), "the process ended")
	eaten, err := filepath.Glob(filepath.Join(disk, "eaten*"))
	require.NoError(t, err)
	for _, name := range eaten {
		require.NoError(t, os.Remove(name))
	}
	st, err := badger.Open(dir, &badger.Options{MinFree: 32 << 20})
	require.NoError(t, err)
	for _, key := range keys {
		e, err := st.Get(t.Context(), key)
		require.NoError(t, err, "an acknowledged commit is lost")
		require.Equal(t, scarceValue(key), e.Value)
	}
	require.NoError(t, st.Close())
	require.NoError(t, unix.Unmount(disk, unix.MNT_DETACH))
	return len(keys)
}
