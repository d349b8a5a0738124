package badger_test

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

var kills = flag.Int("kills", 5, "rounds of TestKill")

const (
	killWriters = 4
	groupKeys   = 3
)

// killedKey names the j-th key of a writer's i-th commit in a round.
func killedKey(round string, w, i, j int) string { return fmt.Sprintf("%s/%d/%06d/%d", round, w, i, j) }

// killedValue is what that key holds: its name again and again, of a length
// that the name decides.
func killedValue(key string) []byte {
	n := 0
	for _, b := range []byte(key) {
		n = n*31 + int(b)
	}
	return bytes.Repeat([]byte(key), 1+n&0xff)
}

// writeUntilKilled commits from several goroutines and reports each commit
// that was acknowledged.
func writeUntilKilled(dir string, args []string) error {
	st, err := badger.Open(dir, nil)
	if err != nil {
		return err
	}
	errs := make(chan error, killWriters)
	var out sync.Mutex
	for w := range killWriters {
		go func() {
			for i := 0; ; i++ {
				var ops []store.Op
				for j := range groupKeys {
					key := killedKey(args[0], w, i, j)
					ops = append(ops, store.Op{Key: key, Value: killedValue(key)})
				}
				if _, err := st.Commit(context.Background(), ops...); err != nil {
					errs <- err
					return
				}
				out.Lock()
				fmt.Printf("%d %d\n", w, i)
				out.Unlock()
			}
		}()
	}
	return <-errs
}

// A process that is killed at any moment loses no commit that it acknowledged,
// keeps no part of one, and its directory opens at once.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	acked := 0
	for round := range *kills {
		name := fmt.Sprintf("round%d", round)
		last := killOnce(t, dir, name)
		st, err := badger.Open(dir, nil)
		require.NoError(t, err)
		for w, n := range last {
			for i := range n {
				for j := range groupKeys {
					key := killedKey(name, w, i, j)
					e, err := st.Get(t.Context(), key)
					require.NoError(t, err, "an acknowledged commit is lost")
					require.Equal(t, killedValue(key), e.Value)
				}
			}
			acked += n
		}
		requireWholeGroups(t, st)
		require.NoError(t, st.Close())
	}
	t.Logf("%d commits acknowledged in %d rounds", acked, *kills)
	require.NotZero(t, acked)
}

// killOnce returns how many commits each writer had acknowledged.
func killOnce(t *testing.T, dir, round string) (acked [killWriters]int) {
	cmd := childCommand("write", dir, round)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan(), "the child wrote nothing")
	after := time.Duration(rand.IntN(400)) * time.Millisecond
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) // it has ended: Wait tells
	defer timer.Stop()
	for more := true; more; more = lines.Scan() {
		var w, i int
		if n, _ := fmt.Sscanf(lines.Text(), "%d %d", &w, &i); n != 2 {
			break // cut off by the kill
		}
		acked[w] = i + 1
	}
	err = cmd.Wait()
	require.ErrorContains(t, err, "killed", "the child ended by itself")
	return acked
}

func requireWholeGroups(t *testing.T, st *badger.Store) {
	groups := map[string]int{}
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		require.Equal(t, killedValue(e.Key), e.Value)
		groups[e.Key[:strings.LastIndexByte(e.Key, '/')]]++
	}
	for name, n := range groups {
		require.Equal(t, groupKeys, n, "%s is there in part", name)
	}
}

// The directory of a running store, copied, is what a kill leaves.
func TestCopyOfARunningStore(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir)
	for i := range 20 {
		_, err := st.Commit(t.Context(), put(fmt.Sprint(i), "1", store.Any))
		require.NoError(t, err)
	}
	copied := open(t, copyDir(t, dir))
	for i := range 20 {
		_, err := copied.Get(t.Context(), fmt.Sprint(i))
		require.NoError(t, err)
	}
}
