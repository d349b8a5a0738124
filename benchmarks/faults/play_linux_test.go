package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

var (
	rounds = flag.Int("rounds", 1, "rounds of each test")
	places = flag.Int("places", 1, "places of each file that are damaged in each way")
	seed   = flag.Uint64("seed", 0, "of all that is random; 0: a random one")
)

// random returns the source of a test, and logs its seed.
func random(t *testing.T) *rand.Rand {
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("seed %d", s)
	return rand.New(rand.NewPCG(s, 0))
}

// played is what a child has come to.
type played struct {
	order
	acked   map[[2]int]bool // writer and group
	open    bool
	killed  bool           // by us
	ended   string         // how the process ended by itself, if not well
	late    []string       // what did not return in time
	closed  bool           // Close has returned
	stopped string         // what an Agent says of its Shutdown
	untyped map[string]int // errors
	errs    int
	refused string
	content string
	damage  string
}

// child is a running one.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.Closer
	news  chan string // lines, without acknowledgements
	over  chan struct{}
	mu    sync.Mutex
	p     played
	err   strings.Builder
}

// begin starts a child, below another program if one is given.
func begin(t *testing.T, o order, below ...string) *child {
	t.Helper()
	text, err := json.Marshal(o)
	require.NoError(t, err)
	args := append(slices.Clone(below), os.Args[0])
	c := &child{t: t, news: make(chan string, 1000), over: make(chan struct{})}
	c.cmd = exec.Command(args[0], args[1:]...)
	c.cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	c.cmd.Stderr = &c.err
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	c.stdin, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	c.p.order, c.p.acked, c.p.untyped = o, map[[2]int]bool{}, map[string]int{}
	require.NoError(t, c.cmd.Start())
	go func() {
		defer close(c.over)
		for lines := bufio.NewReader(out); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				return // what a kill has cut off is no line
			}
			c.hear(strings.TrimSuffix(line, "\n"))
		}
	}()
	t.Cleanup(func() {
		if c.cmd.ProcessState == nil {
			_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) // it may have ended
			_ = c.cmd.Wait()
		}
	})
	return c
}

func (c *child) hear(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.p
	what, rest, _ := strings.Cut(line, " ")
	kind, text, _ := strings.Cut(rest, " ")
	switch what {
	case "ack":
		var w, i int
		if n, _ := fmt.Sscanf(rest, "%d %d", &w, &i); n == 2 {
			p.acked[[2]int{w, i}] = true
		}
		return
	case "open":
		p.open = true
	case "closed":
		p.closed = true
	case "stopped":
		p.stopped = rest
	case "content":
		p.content = rest
	case "late":
		p.late = append(p.late, rest)
	case "refused", "error", "unread", "close", "damage":
		p.errs++
		if kind == "untyped" || what == "unread" {
			p.untyped[what+" "+text]++
		}
		switch what {
		case "refused":
			p.refused = text
		case "damage":
			p.damage = text
		}
	}
	select {
	case c.news <- line:
	default: // it is told often enough
	}
}

// wait returns when the child has said a line that begins so, has ended, or the
// time is over.
func (c *child) wait(limit time.Duration, begins ...string) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case line := <-c.news:
			for _, b := range begins {
				if strings.HasPrefix(line, b) {
					return
				}
			}
		case <-c.over:
			return
		case <-timer.C:
			return
		}
	}
}

// kill ends the child at once.
func (c *child) kill() played {
	c.p.killed = true
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) // it may have ended
	return c.end()
}

// stop has the child end by itself, and kills it if it does not.
func (c *child) stop() played {
	_ = c.stdin.Close() // it may have ended
	c.waitOver(60 * time.Second)
	return c.end()
}

func (c *child) waitOver(limit time.Duration) {
	select {
	case <-c.over:
	case <-time.After(limit):
		c.p.late = append(c.p.late, "process")
		c.p.killed = true
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) // it may have ended
	}
}

func (c *child) end() played {
	<-c.over
	err := c.cmd.Wait()
	p := c.p
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && !(p.killed && exit.Sys().(syscall.WaitStatus).Signaled()) {
		said := strings.TrimSpace(c.err.String())
		first, _, _ := strings.Cut(said, "\n")
		p.ended = fmt.Sprintf("%v: %.200s", err, first)
		if !strings.Contains(p.ended, "killed") {
			c.t.Logf("%s\n%.2000s", p.ended, said)
		}
	}
	return p
}

// figures are what the rounds of a test have come to.
type figures struct {
	t       *testing.T
	rounds  int
	acked   int
	missing int
	torn    int
	failed  map[string]int // what else must not be
	unknown bool           // errors may be untyped
	bad     int            // of them so far
}

func newFigures(t *testing.T) *figures { return &figures{t: t, failed: map[string]int{}} }

// add takes in what a child has come to, but for what it has left.
func (f *figures) add(p played) {
	f.rounds++
	f.acked += len(p.acked)
	if p.ended != "" {
		f.failed["host ended: "+p.ended]++
	}
	for _, late := range p.late {
		f.failed["late "+late]++
	}
	for text := range p.untyped {
		if f.unknown && !strings.HasPrefix(text, "unread") {
			continue
		}
		f.failed["untyped "+clip(text)]++
	}
}

// clip cuts numbers and the rest off a text, so that equal errors are counted.
func clip(text string) string {
	text = strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return '#'
		}
		return r
	}, text)
	return text[:min(len(text), 160)]
}

// look opens what is left, and counts what is missing of it.
func (f *figures) look(dir string, ps ...played) {
	f.t.Helper()
	st, err := badger.Open(dir, nil)
	if err != nil {
		f.failed["does not open: "+clip(err.Error())]++
		for _, p := range ps {
			f.missing += len(p.acked)
		}
		return
	}
	defer func() { require.NoError(f.t, st.Close()) }()
	for _, p := range ps {
		f.compare(st, p)
	}
}

func (f *figures) compare(st store.Store, p played) {
	groups := map[[2]int]int{}
	for e, err := range st.Scan(context.Background(), store.Range{Prefix: p.Round + "/"}) {
		if err != nil {
			f.failed["scan: "+clip(err.Error())]++
			break
		}
		var w, i, j int
		n, err := fmt.Sscanf(e.Key[len(p.Round):], "/%d/%d/%d", &w, &i, &j)
		if err != nil || n != 3 || string(valueOf(e.Key, p.Value)) != string(e.Value) {
			f.failed["a wrong value"]++
			continue
		}
		groups[[2]int{w, i}]++
	}
	for at := range p.acked {
		if groups[at] != group {
			f.missing++
		}
	}
	for _, n := range groups {
		if n != group {
			f.torn++
		}
	}
}

// worse reports whether something has gone wrong since it was last asked.
func (f *figures) worse() bool {
	before := f.bad
	f.bad = f.missing + f.torn
	for _, n := range f.failed {
		f.bad += n
	}
	return f.bad > before
}

// done logs the figures, and fails the test if one is not as it must be.
func (f *figures) done(more string) {
	f.t.Helper()
	f.t.Logf("figures: %s | %d rounds | %d groups acknowledged | %d missing | %d torn%s",
		f.t.Name(), f.rounds, f.acked, f.missing, f.torn, more)
	if f.missing > 0 || f.torn > 0 {
		f.t.Errorf("%d of %d acknowledged groups are missing, %d are there in part", f.missing, f.acked, f.torn)
	}
	for _, what := range slices.Sorted(maps.Keys(f.failed)) {
		f.t.Errorf("%d × %s", f.failed[what], what)
	}
}
