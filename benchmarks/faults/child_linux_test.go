package faults

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	raw "github.com/dgraph-io/badger/v4"
	"golang.org/x/sys/unix"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// childEnv makes the test binary another process, which does its order.
const childEnv = "ARC_FAULTS_CHILD"

// order is what a child is to do.
type order struct {
	Do    string // "write", "read", "control", "left", "agent"
	Dir   string
	Round string // the first part of its keys
	Value int    // bytes
	Most  int    // groups that a writer commits; 0: until told to stop
	Files uint64 // descriptors that it may have; 0: as many as we have
	More  uint64 // bytes that it may map, beyond those it has; 0: any
	Clean bool   // close in the end
}

// patience is how long Close may take, and a second more.
const patience = 5 * time.Second

// Writers commit groups of keys.
const (
	writers = 4
	group   = 3
)

func TestMain(m *testing.M) {
	text := os.Getenv(childEnv)
	if text == "" {
		os.Exit(m.Run())
	}
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	switch o.Do {
	case "write":
		write(o)
	case "read":
		read(o)
	case "control":
		control(o)
	case "left":
		left(o)
	case "agent":
		agent(o)
	}
}

var saying sync.Mutex

// say prints a line for the parent.
func say(format string, args ...any) {
	saying.Lock()
	defer saying.Unlock()
	fmt.Printf(format+"\n", args...)
}

// typed are the errors that a caller can tell apart.
var typed = []error{
	store.ErrFull, store.ErrScarce, store.ErrFailed, store.ErrDamaged, store.ErrClosed, store.ErrLocked, store.ErrForeign, store.ErrNewer,
	store.ErrConflict, fs.ErrPermission, context.DeadlineExceeded,
}

// complain says an error, and whether it is typed.
func complain(what string, err error) {
	kind := "untyped"
	for _, is := range typed {
		if errors.Is(err, is) {
			kind = "typed"
		}
	}
	say("%s %s %s", what, kind, strings.ReplaceAll(err.Error(), "\n", "; "))
}

// keyOf names the j-th key of a writer's i-th group.
func keyOf(round string, w, i, j int) string { return fmt.Sprintf("%s/%d/%06d/%d", round, w, i, j) }

// valueOf is what a key holds: its name, again and again.
func valueOf(key string, size int) []byte {
	n := 0
	for _, b := range []byte(key) {
		n = n*31 + int(b)
	}
	size += n & 0xff
	return bytes.Repeat([]byte(key), size/len(key)+1)[:size]
}

// write commits until it is told to stop, and says what was acknowledged.
func write(o order) {
	take(o.Files)
	st, err := badger.Open(o.Dir, &badger.Options{Patience: patience})
	if err != nil {
		complain("refused", err)
		return
	}
	say("open")
	bound(o.More)
	stop := stopped()
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() { writeGroups(st, o, w, stop) })
	}
	if !within(30*time.Second, stop, all.Wait) {
		say("late writers")
	}
	if !o.Clean {
		return
	}
	begin := time.Now()
	stop.Store(true)
	if !within(patience+time.Second, stop, func() {
		if err := st.Close(); err != nil {
			complain("close", err)
		}
	}) {
		say("late close")
		return
	}
	say("closed %d", time.Since(begin).Milliseconds())
}

// take leaves the process so many descriptors; 0: as many as it has.
func take(files uint64) {
	if files == 0 {
		return
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: files, Max: files}); err != nil {
		panic(err)
	}
}

// bound leaves the process so many bytes to map; 0: any.
func bound(more uint64) {
	if more == 0 {
		return
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		panic(err)
	}
	var pages uint64
	if _, err := fmt.Sscan(string(text), &pages); err != nil {
		panic(err)
	}
	more += pages * uint64(os.Getpagesize())
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: more, Max: more}); err != nil {
		panic(err)
	}
}

// stopped is set when the parent says so, by the end of the input.
func stopped() *atomic.Bool {
	var stop atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // how it ends does not matter
		stop.Store(true)
	}()
	return &stop
}

// within waits for fn for some time after stop, and reports whether it ended.
func within(limit time.Duration, stop *atomic.Bool, fn func()) bool {
	over := make(chan struct{})
	go func() {
		defer close(over)
		fn()
	}()
	for left := limit; left > 0; {
		select {
		case <-over:
			return true
		case <-time.After(10 * time.Millisecond):
			if stop.Load() {
				left -= 10 * time.Millisecond
			}
		}
	}
	return false
}

// writeGroups is one writer. It goes on after an error as long as the store may.
func writeGroups(st *badger.Store, o order, w int, stop *atomic.Bool) {
	last := ""
	for i := 0; !stop.Load() && (o.Most == 0 || i < o.Most); i++ {
		var ops []store.Op
		for j := range group {
			key := keyOf(o.Round, w, i, j)
			ops = append(ops, store.Op{Key: key, Value: valueOf(key, o.Value)})
		}
		_, err := st.Commit(context.Background(), ops...)
		if err == nil {
			say("ack %d %d", w, i)
			last = ops[0].Key
			continue
		}
		complain("error", err)
		if errors.Is(err, store.ErrFailed) {
			return
		}
		if last != "" {
			if _, err := st.Get(context.Background(), last); err != nil && !errors.Is(err, store.ErrFailed) {
				complain("unread", err)
			}
		}
		<-time.After(20 * time.Millisecond)
	}
}

// read opens the directory and says what is in it.
func read(o order) {
	st, err := badger.Open(o.Dir, nil)
	if err != nil {
		complain("refused", err)
		return
	}
	sum, n := sha256.New(), 0
	for e, err := range st.Scan(context.Background(), store.Range{}) {
		if err != nil {
			complain("damage", err)
			break
		}
		fmt.Fprintf(sum, "%q %d ", e.Key, len(e.Value))
		sum.Write(e.Value) // returns no error
		n++
	}
	say("content %d %x", n, sum.Sum(nil)[:8])
	if err := st.Close(); err != nil {
		complain("close", err)
	}
}

// unsynced opens the store of control, or says why not.
func unsynced(dir string) *raw.DB {
	db, err := raw.Open(raw.DefaultOptions(dir).WithLogger(nil).WithSyncWrites(false).WithMemTableSize(8 << 20).WithValueLogFileSize(16 << 20))
	if err != nil {
		complain("refused", err)
		return nil
	}
	say("open")
	return db
}

// control writes as the store does, but never syncs.
func control(o order) {
	db := unsynced(o.Dir)
	if db == nil {
		return
	}
	for i := 0; ; i++ {
		err := db.Update(func(txn *raw.Txn) error {
			var errs []error
			for j := range group {
				key := keyOf(o.Round, 0, i, j)
				errs = append(errs, txn.Set([]byte(key), valueOf(key, o.Value)))
			}
			return errors.Join(errs...)
		})
		if err != nil {
			complain("error", err)
			return
		}
		say("ack 0 %d", i)
	}
}

// left says which groups of control are there.
func left(o order) {
	db := unsynced(o.Dir)
	if db == nil {
		return
	}
	if err := db.View(func(txn *raw.Txn) error {
		it := txn.NewIterator(raw.IteratorOptions{Prefix: []byte(o.Round + "/0/")})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			var i, j int
			if n, _ := fmt.Sscanf(string(it.Item().Key()[len(o.Round):]), "/0/%d/%d", &i, &j); n == 2 && j == 0 {
				say("ack 0 %d", i)
			}
		}
		return nil
	}); err != nil {
		complain("damage", err)
	}
}
