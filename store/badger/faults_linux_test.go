package badger_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	plain "github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

var (
	rounds = flag.Int("rounds", 0, "rounds of each test of faults; 0: one, and none of those that take long")
	places = flag.Int("places", 0, "places in each file that TestDamage damages in each way; 0: one, by a flip")
)

// childEnv makes the test binary another process, which does its order.
const childEnv = "ARC_BADGER_CHILD"

type order struct {
	Do      string // "write", "control", "left", "read"
	Dir     string
	Round   string // the first part of the keys
	Value   int    // bytes of a value
	Most    int    // groups of a writer; 0: until told to stop
	Files   uint64 // descriptors that the child may have; 0: any
	Compact int    // the first writer compacts after so many groups; 0: never
}

func TestMain(m *testing.M) {
	text := os.Getenv(childEnv)
	if text == "" {
		os.Exit(m.Run())
	}
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	map[string]func(order){"write": write, "control": control, "left": left, "read": read}[o.Do](o)
}

var saying sync.Mutex

// say prints a line for the parent.
func say(format string, args ...any) {
	saying.Lock()
	defer saying.Unlock()
	fmt.Println(strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; "))
}

// complain says an error, and whether the caller can tell what it is.
func complain(what string, err error) {
	for _, is := range []error{store.ErrFull, store.ErrDamaged, store.ErrForeign, store.ErrVersion, store.ErrLocked, store.ErrClosed} {
		if errors.Is(err, is) {
			say("%s typed %v", what, err)
			return
		}
	}
	if strings.Contains(err.Error(), "outcome is unknown") {
		say("%s unknown %v", what, err)
		return
	}
	say("%s untyped %v", what, err)
}

const writers, keys = 4, 3 // of a round, and of a group

func groupOf(round string, w, i int) string { return fmt.Sprintf("%s/%d/%06d", round, w, i) }
func valueOf(key string, size int) []byte   { return bytes.Repeat([]byte(key), size/len(key)+1)[:size] }
func standard(dir string) (store.Compacter, error) {
	return badger.Open(context.Background(), dir, nil)
}

// write commits groups of keys until the end of its input, and says which were acknowledged.
func write(o order) {
	if o.Files > 0 {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: o.Files, Max: o.Files}); err != nil {
			panic(err)
		}
	}
	st, err := standard(o.Dir)
	if err != nil {
		complain("refused", err)
		return
	}
	say("open")
	var stop atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is the order to stop
		stop.Store(true)
	}()
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			last := ""
			for i := 0; !stop.Load() && (o.Most == 0 || i < o.Most); i++ {
				var ops []store.Op
				for j := range keys {
					key := fmt.Sprint(groupOf(o.Round, w, i), "/", j)
					ops = append(ops, store.Op{Key: key, Value: valueOf(key, o.Value)})
				}
				_, err := st.Commit(context.Background(), ops...)
				if err == nil {
					last = ops[0].Key
					say("ack %s", groupOf(o.Round, w, i))
				} else {
					complain("error", err)
					if errors.Is(err, store.ErrClosed) {
						return
					}
					<-time.After(10 * time.Millisecond)
				}
				if _, err := st.Get(context.Background(), last); last != "" && err != nil && !errors.Is(err, store.ErrClosed) {
					complain("unread", err)
				}
				if w == 0 && o.Compact > 0 && i%o.Compact == o.Compact-1 {
					if err := st.Compact(context.Background()); err != nil {
						complain("error", err)
					}
				}
			}
		})
	}
	all.Wait()
	if o.Most > 0 { // killed in the middle of its work
		return
	}
	if err := st.Close(); err != nil {
		complain("close", err)
	}
	say("closed")
}

// control writes as the store does, and never syncs.
func control(o order) {
	db, err := plain.Open(plain.DefaultOptions(o.Dir).WithLogger(nil).WithMemTableSize(8 << 20).WithValueLogFileSize(16 << 20))
	for i := 0; err == nil; i++ {
		err = db.Update(func(txn *plain.Txn) error {
			return txn.Set([]byte(groupOf(o.Round, 0, i)), valueOf("x", o.Value))
		})
		say("open")
		say("ack %s", groupOf(o.Round, 0, i))
	}
	complain("error", err)
}

// left says what of control is there.
func left(o order) {
	db, err := plain.Open(plain.DefaultOptions(o.Dir).WithLogger(nil).WithMemTableSize(8 << 20).WithValueLogFileSize(16 << 20))
	if err == nil {
		err = db.View(func(txn *plain.Txn) error {
			it := txn.NewIterator(plain.IteratorOptions{})
			defer it.Close()
			for it.Rewind(); it.Valid(); it.Next() {
				say("ack %s", it.Item().Key())
			}
			return nil
		})
	}
	if err != nil {
		complain("error", err)
	}
}

// read says what is in the store.
func read(o order) {
	st, err := badger.Open(context.Background(), o.Dir, nil)
	if err != nil {
		complain("refused", err)
		return
	}
	sum, n := sha256.New(), 0
	for e, err := range st.Scan(context.Background(), store.Range{}) {
		if err != nil {
			complain("refused", err)
			return
		}
		fmt.Fprintf(sum, "%q %x ", e.Key, e.Value)
		n++
	}
	say("content %d %x", n, sum.Sum(nil)[:8])
	if err := st.Close(); err != nil {
		complain("close", err)
	}
}

// child is a process with an order, and what it has said.
type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	over  chan struct{} // closed when it has ended
	err   error         // how
	mu    sync.Mutex
	acked map[string]bool
	said  map[string][]string // by the first word
}

func begin(t *testing.T, o order) *child {
	text, err := json.Marshal(o)
	require.NoError(t, err)
	c := &child{cmd: exec.Command(os.Args[0]), over: make(chan struct{}), acked: map[string]bool{}, said: map[string][]string{}}
	c.cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	c.stdin, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	var stderr bytes.Buffer
	c.cmd.Stderr = &stderr
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.cmd.Start())
	go func() {
		defer close(c.over)
		for in := bufio.NewScanner(out); in.Scan(); {
			word, rest, _ := strings.Cut(in.Text(), " ")
			c.mu.Lock()
			if word == "ack" {
				c.acked[rest] = true
			} else {
				c.said[word] = append(c.said[word], rest)
			}
			c.mu.Unlock()
		}
		if c.err = c.cmd.Wait(); c.err != nil && stderr.Len() > 0 {
			c.err = fmt.Errorf("%w: %.600s", c.err, stderr.String())
		}
	}()
	return c
}

// wait waits until the child says one of the words or ends.
func (c *child) wait(limit time.Duration, words ...string) {
	for end := time.After(limit); ; {
		c.mu.Lock()
		for _, word := range words {
			if len(c.said[word]) > 0 {
				c.mu.Unlock()
				return
			}
		}
		c.mu.Unlock()
		select {
		case <-c.over:
			return
		case <-end:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// kill ends the child in the middle of its work.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may have ended
	<-c.over
}

// finish has the child stop and close, and kills it if it does not.
func (c *child) finish() {
	_ = c.stdin.Close() // it may have ended
	select {
	case <-c.over:
	case <-time.After(20 * time.Second):
		c.kill()
	}
}

// figures are what a test has counted.
type figures struct {
	t                                                                           *testing.T
	rounds, acked, missing, torn, dead, untyped, unread, refused, unknown, full int
}

// look opens the store and looks for each group that the child said was acknowledged.
func (f *figures) look(dir string, o order, acked map[string]bool) {
	st, err := standard(dir)
	require.NoError(f.t, err)
	for group := range acked {
		f.acked++
		there := 0
		for j := range keys {
			key := fmt.Sprint(group, "/", j)
			if e, err := st.Get(f.t.Context(), key); err == nil && bytes.Equal(e.Value, valueOf(key, o.Value)) {
				there++
			}
		}
		if there == 0 {
			f.missing++
		} else if there < keys {
			f.torn++
		}
	}
	require.NoError(f.t, st.Close())
}

// add counts what a child said.
func (f *figures) add(c *child) {
	f.rounds++
	f.unread += len(c.said["unread"])
	f.refused += len(c.said["refused"])
	for _, what := range []string{"error", "close", "refused"} {
		for _, text := range c.said[what] {
			switch kind, _, _ := strings.Cut(text, " "); kind {
			case "untyped":
				f.untyped++
				f.t.Log(what, text)
			case "unknown":
				f.unknown++
			default:
				f.full++
			}
		}
	}
	if c.err != nil && !strings.Contains(c.err.Error(), "killed") {
		f.dead++
		f.t.Log(c.err)
	}
}

func (f *figures) done() {
	f.t.Logf("%d rounds: %d groups acknowledged, %d missing, %d torn; %d hosts ended; %d typed errors, %d untyped, "+
		"%d of unknown outcome; %d opens refused, %d reads failed", f.rounds, f.acked, f.missing, f.torn, f.dead, f.full,
		f.untyped, f.unknown, f.refused, f.unread)
	require.Zero(f.t, f.missing+f.torn+f.dead+f.untyped+f.unread)
}

// A process is killed at any moment, compactions included.
func TestKills(t *testing.T) {
	f, dir := figures{t: t}, filepath.Join(t.TempDir(), "store")
	for n := range max(*rounds, 1) {
		o := order{Do: "write", Dir: dir, Round: fmt.Sprint("r", n), Value: 1 << rand.IntN(16), Compact: 50 * (n % 3)}
		c := begin(t, o)
		c.wait(10*time.Second, "open")
		<-time.After(time.Duration(rand.IntN(800)) * time.Millisecond)
		c.kill()
		f.add(c)
		f.look(dir, o, c.acked)
	}
	f.done()
}

// mount mounts a file system until the test ends.
func mount(t *testing.T, args ...string) (dir string) {
	if os.Geteuid() != 0 {
		t.Skip("mounting takes root")
	}
	dir = t.TempDir()
	if out, err := exec.Command("mount", append(args, dir)...).CombinedOutput(); err != nil {
		t.Skipf("mount: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "--lazy", dir).Run() }) // a child that hangs may hold it
	return dir
}

// ext4 mounts a file system of its own. Its journal is committed by syncs alone.
func ext4(t *testing.T) (image, dir string) {
	image = filepath.Join(t.TempDir(), "image")
	require.NoError(t, os.WriteFile(image, nil, 0o600))
	require.NoError(t, os.Truncate(image, 500<<20))
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", image).CombinedOutput(); err != nil {
		t.Skipf("mkfs.ext4: %v: %s", err, out)
	}
	return image, mount(t, "-o", "loop,commit=300", image)
}

// cutPower has a child write to a file system of its own, and returns that as its device has it when the child is
// killed: what was only in the memory of the machine is gone.
func cutPower(t *testing.T, o order) (c *child, left string) {
	image, dir := ext4(t)
	o.Dir = filepath.Join(dir, "store")
	c = begin(t, o)
	c.wait(10*time.Second, "open", "refused")
	<-time.After(time.Duration(100+rand.IntN(1500)) * time.Millisecond)
	c.kill()
	out, err := exec.Command("cp", "--sparse=always", image, image+".cut").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, exec.Command("umount", "--lazy", filepath.Dir(o.Dir)).Run())
	require.NoError(t, os.Remove(image))
	return c, filepath.Join(mount(t, "-o", "loop", image+".cut"), "store")
}

func TestPowerCuts(t *testing.T) {
	f := figures{t: t}
	for n := range max(*rounds, 1) {
		t.Run(fmt.Sprint(n), func(t *testing.T) { // unmounts at its end
			o := order{Do: "write", Round: "r", Value: 1 << rand.IntN(14), Compact: 50 * (n % 3)}
			if n%3 == 0 {
				o.Value = 96 << 10 // so that there is more than one log
			}
			c, dir := cutPower(t, o)
			f.add(c)
			f.look(dir, o, c.acked)
		})
	}
	f.done()
}

// A commit that waits alone is one flush of the disk, and no journal of the file system is committed for it.
func TestCommitIsOneFlush(t *testing.T) {
	_, dir := ext4(t)
	var at syscall.Stat_t
	require.NoError(t, syscall.Stat(dir, &at))
	flushes := func() (n int) {
		text, err := os.ReadFile(fmt.Sprintf("/sys/dev/block/%d:%d/stat", at.Dev>>8, at.Dev&0xff))
		require.NoError(t, err)
		_, err = fmt.Sscan(strings.Fields(string(text))[15], &n)
		require.NoError(t, err)
		return n
	}
	st, err := badger.Open(t.Context(), filepath.Join(dir, "store"), nil)
	require.NoError(t, err)
	commit := func(n int) {
		for i := range n {
			_, err := st.Commit(t.Context(), put(fmt.Sprint("k", i), "v"))
			require.NoError(t, err)
		}
	}
	commit(10) // the log has got its first room
	before := flushes()
	commit(100)
	require.InDelta(t, 100, flushes()-before, 10)
	require.NoError(t, st.Close())
}

// If such a cut took nothing that was not synced, TestPowerCuts would prove nothing.
func TestPowerCutsTakeWhatWasNotSynced(t *testing.T) {
	c, dir := cutPower(t, order{Do: "control", Round: "r", Value: 1 << 10})
	found := begin(t, order{Do: "left", Dir: dir})
	found.finish()
	require.NotEmpty(t, c.acked)
	t.Logf("%d of %d are there", len(found.acked), len(c.acked))
	require.Less(t, len(found.acked), len(c.acked))
}

// scarce has a child write for a while, and close or be killed, and looks once there is enough again.
func scarce(f *figures, n int, o order, during func(c *child), ease func()) {
	if *rounds == 0 {
		f.t.Skip("takes -rounds")
	}
	o.Do, o.Round = "write", "r"
	c := begin(f.t, o)
	c.wait(10*time.Second, "open", "refused")
	during(c)
	<-time.After(time.Second)
	if n%3 == 2 {
		c.kill()
		ease()
	} else {
		ease()
		c.finish()
		if len(c.said["open"]) > 0 && len(c.said["closed"]) == 0 {
			f.t.Log("it did not close")
			f.dead++
		}
	}
	f.add(c)
	f.look(o.Dir, o, c.acked)
}

func TestFewDescriptors(t *testing.T) {
	f := figures{t: t}
	for n := range max(*rounds, 1) {
		o := order{Dir: filepath.Join(t.TempDir(), "store"), Value: 512 << rand.IntN(6), Files: 18 + rand.Uint64N(11)}
		scarce(&f, n, o, func(c *child) { c.wait(3*time.Second, "error") }, func() {})
	}
	f.done()
}

func TestFewInodes(t *testing.T) {
	f := figures{t: t}
	for n := range max(*rounds, 1) {
		dir := mount(t, "-t", "tmpfs", "-o", "size=2g,nr_inodes=24", "tmpfs")
		ease := func() { require.NoError(t, exec.Command("mount", "-o", "remount,size=2g,nr_inodes=10000", dir).Run()) }
		o := order{Dir: filepath.Join(dir, "store"), Value: 512 << rand.IntN(6)}
		scarce(&f, n, o, func(c *child) { c.wait(8*time.Second, "error") }, ease)
		require.NoError(t, exec.Command("umount", "--lazy", dir).Run())
	}
	f.done()
}

// Another process fills the disk, at 40 to 240 MB/s.
func TestDiskFilledByAnother(t *testing.T) {
	f := figures{t: t}
	for n := range max(*rounds, 1) {
		dir := mount(t, "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm", 500+rand.IntN(200)), "tmpfs")
		filler := filepath.Join(dir, "filler")
		fill := func(c *child) {
			file, err := os.Create(filler)
			require.NoError(t, err)
			defer file.Close()
			tick := time.NewTicker(time.Second / time.Duration(40+rand.IntN(200)))
			defer tick.Stop()
			for block := make([]byte, 1<<20); len(block) > 0; <-tick.C {
				if _, err := file.Write(block); err != nil {
					block = block[:len(block)/2]
				}
			}
		}
		o := order{Dir: filepath.Join(dir, "store"), Value: 1 << (10 + rand.IntN(7))}
		scarce(&f, n, o, fill, func() { require.NoError(t, os.Remove(filler)) })
		require.NoError(t, exec.Command("umount", "--lazy", dir).Run())
	}
	f.done()
}

// Each kind of file is damaged, of a store that was closed and of one that was killed: the store holds what it held
// or says that it is damaged.
func TestDamage(t *testing.T) {
	counts, bad := map[string]int{}, map[string]int{}
	digits := regexp.MustCompile(`[0-9]+`)
	for _, state := range []string{"closed", "killed"} {
		base := filepath.Join(t.TempDir(), state)
		for n := range 3 {
			c := begin(t, order{Do: "write", Dir: base, Round: fmt.Sprint("r", n), Value: 1 << 10, Most: 100, Compact: 80 * (n % 2)})
			<-c.over
			require.Len(t, c.acked, writers*100)
		}
		if state == "closed" {
			st, err := standard(base)
			require.NoError(t, err)
			require.NoError(t, st.Close())
		}
		want := content(t, base)
		require.NoError(t, filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			whole, err := os.ReadFile(path)
			require.NoError(t, err)
			for _, how := range []string{"flip", "cut", "zero", "gone"} {
				for range cmp.Or(*places, 1) {
					if *places == 0 && how != "flip" {
						continue
					}
					dir := copied(t, base)
					rel, err := filepath.Rel(base, path)
					require.NoError(t, err)
					ruin(t, filepath.Join(dir, rel), whole, how)
					c := begin(t, order{Do: "read", Dir: dir})
					<-c.over
					counts["copies"]++
					verdict := "harmless"
					switch {
					case c.err != nil:
						verdict = "crash"
					case len(c.said["refused"]) > 0 && strings.HasPrefix(c.said["refused"][0], "typed"):
						verdict = "refused"
					case len(c.said["refused"]) > 0:
						verdict = "untyped " + c.said["refused"][0]
					case strings.Join(c.said["content"], "") != want:
						verdict = "silent"
					}
					if counts[verdict]++; verdict != "harmless" && verdict != "refused" {
						bad[fmt.Sprint(verdict, ": ", state, " ", digits.ReplaceAllString(rel, "N"), " ", how, " ", c.err)]++
					}
					require.NoError(t, os.RemoveAll(dir))
				}
			}
			return nil
		}))
	}
	t.Log(counts)
	require.Empty(t, bad)
}

// content returns what the store in a directory holds, read from a copy.
func content(t *testing.T, dir string) string {
	c := begin(t, order{Do: "read", Dir: copied(t, dir)})
	<-c.over
	require.Len(t, c.said["content"], 1, "%v", c.said)
	return c.said["content"][0]
}

func copied(t *testing.T, dir string) string {
	to := filepath.Join(t.TempDir(), "copy")
	out, err := exec.Command("cp", "-a", "--sparse=always", dir, to).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return to
}

// ruin damages a file somewhere before its last byte that is not zero.
func ruin(t *testing.T, name string, whole []byte, how string) {
	size := len(whole)
	whole = bytes.TrimRight(whole, "\x00")
	at := rand.IntN(max(len(whole), 1))
	switch {
	case how == "gone":
		require.NoError(t, os.Remove(name))
		return
	case how == "cut":
		require.NoError(t, os.Truncate(name, int64(at)))
		return
	case len(whole) == 0:
		return
	case how == "flip":
		whole[at] ^= 1 << rand.IntN(8)
	case how == "zero":
		clear(whole[at:min(at+512, len(whole))])
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteAt(whole, 0)
	require.NoError(t, errors.Join(err, f.Truncate(int64(size)), f.Close()))
}
