// Package feedtest checks a store's Watch against a log of what was committed.
//
// A run has writers that commit at the same time, watches that begin, end and are taken up
// again beside them, and a store that is cut off, prunes or is closed meanwhile. [Check] has
// rapid draw what each does. What became of each commit is known once all have ended, and so
// is what each watch had to yield: see verify.go.
package feedtest

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"pgregory.net/rapid"

	"github.com/arc-learn/arc/store"
)

// Store is what is checked.
type Store interface {
	store.Store
	store.Watcher
}

// A Store may have these methods too, for faults that it has to bear.
type (
	// cutter ends the connections to where the data is: a commit under way then has an
	// unknown outcome, and a Watch goes on.
	cutter interface{ Cut() error }
	// pruner drops changes that a Watch may have yet to read, which it then says.
	pruner interface{ Prune() error }
)

// tb is the part of *testing.T that Check needs.
type tb interface {
	rapid.TB
	Context() context.Context
}

// Options say what a run may do.
type Options struct {
	// Open returns handles on one store.
	Open func() ([]Store, error)
	// Rounds is how often a run closes the handles while calls are in flight, and opens the
	// store again. Negative: it is closed so once, at the end, and loses what it holds.
	Rounds int
}

// share is how many checks of rapid make one run: of 100, there are 14, or 7 where each opens
// the store anew.
const share = 7

// patience is how long a run may take.
const patience = 30 * time.Second

// Check makes runs, each below a prefix of its own. Handles that are closed once are closed at
// the end of a run, too.
func Check(t tb, o *Options) {
	n, failed, of := 0, false, share
	if o.Rounds > 0 {
		of *= 2
	}
	rapid.Check(t, func(rt *rapid.T) {
		if n++; n%of != 0 && !failed {
			return
		}
		defer func() { failed = failed || rt.Failed() }() // from then on to find a short one
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		r := &run{ctx: ctx, o: o, prefix: fmt.Sprintf("feeds%d/", n)}
		r.mu.moved = make(chan struct{})
		r.play(rt)
	})
}

// run is one log of commits, and the watches of them.
type run struct {
	ctx     context.Context
	o       *Options
	prefix  string
	handles []Store

	mu struct {
		sync.Mutex
		clock   int
		commits []*commit
		acked   []store.Revision
		resting bool          // the writers have ended
		moved   chan struct{} // closed by what until waits for
		wrong   []string
	}
	watches []*watch
	rest    sync.WaitGroup // of a round, but for its writers
}

// tick returns the next moment.
func (r *run) tick() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.clock++
	return r.mu.clock
}

// fault notes what the goroutines of a run find.
func (r *run) fault(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.wrong = append(r.mu.wrong, fmt.Sprintf(format, args...))
}

// until waits for so many acknowledged commits, or the end of all writers.
func (r *run) until(acked int) {
	for {
		r.mu.Lock()
		there, moved := len(r.mu.acked) >= acked || r.mu.resting, r.mu.moved
		r.mu.Unlock()
		if there {
			return
		}
		select {
		case <-moved:
		case <-r.ctx.Done():
			return
		}
	}
}

// move wakes those that wait, behind what fn does.
func (r *run) move(fn func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fn()
	close(r.mu.moved)
	r.mu.moved = make(chan struct{})
}

// play draws and makes the rounds, and verifies them.
func (r *run) play(rt *rapid.T) {
	scripts := rapid.SliceOfN(rapid.Custom(drawWatcher), 1, 4).Draw(rt, "watchers")
	watchers := make([]*watcher, len(scripts))
	for i := range scripts {
		watchers[i] = &scripts[i]
	}
	defer func() {
		if r.o.Rounds > 0 {
			r.closeHandles()
		}
	}()
	for round := 0; ; round++ {
		before := stacks()
		handles, err := r.o.Open()
		if err != nil {
			rt.Fatalf("open: %v", err)
		}
		r.handles = handles
		last := r.o.Rounds >= 0 && round == r.o.Rounds
		r.round(drawRound(rt), watchers, last)
		if last {
			break
		}
		r.settled(inside(handles, before))
		if r.o.Rounds < 0 {
			break
		}
	}
	r.verifyAll()
	if len(r.mu.wrong) > 0 {
		rt.Fatalf("%s\n%s", strings.Join(r.mu.wrong, "\n"), r.logged())
	}
}

// round has all writers and watchers at work, until each watch has seen the last commit
// of all, or the handles are closed.
func (r *run) round(p round, watchers []*watcher, last bool) {
	r.move(func() { r.mu.resting = false })
	base, begin := r.ackedCount(), make(chan struct{})
	var writers sync.WaitGroup
	for w, commits := range p.Writers {
		writers.Go(func() {
			<-begin
			for i := range commits {
				if !r.writeOne(w, commits[i]) {
					return
				}
				runtime.Gosched() // a store in memory has all done before others begin
			}
		})
	}
	for i, w := range watchers {
		r.rest.Go(func() {
			<-begin
			w.consume(r, r.handles[i%len(r.handles)], !last)
		})
	}
	r.rest.Go(func() {
		for i, at := range p.Faults {
			r.until(base + at)
			r.trouble(r.handles[i%len(r.handles)], i)
		}
	})
	r.rest.Go(func() {
		writers.Wait()
		r.move(func() { r.mu.resting = true })
		if last {
			r.lastCommit()
		}
	})
	close(begin)
	if !last {
		r.until(base + p.Close)
		r.closeHandles()
	}
	r.rest.Wait()
}

// trouble makes a fault that the store declares that it bears.
func (r *run) trouble(st Store, n int) {
	var err error
	cut, cuts := st.(cutter)
	prune, prunes := st.(pruner)
	switch {
	case prunes && (n%2 == 0 || !cuts):
		err = prune.Prune()
	case cuts:
		err = cut.Cut()
	}
	if err != nil {
		r.fault("trouble: %v", err)
	}
}

// closeHandles closes the handles beside what is under way, from two goroutines each.
func (r *run) closeHandles() {
	var all sync.WaitGroup
	for _, st := range r.handles {
		for range 2 {
			all.Go(func() {
				if err := st.Close(); err != nil {
					r.fault("close: %v", err)
				}
			})
		}
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		all.Wait()
	}()
	select {
	case <-closed:
	case <-r.ctx.Done():
		r.fault("Close does not end")
	}
}

// lastCommit makes the last commit of all, which each watcher sees.
func (r *run) lastCommit() {
	for n := 0; ; n++ {
		c := &commit{last: true, ops: []store.Op{
			{Key: r.prefix + "a/1" + last, Value: fmt.Appendf(nil, "a%s%d", last, n)},
			{Key: r.prefix + "b/" + last, Value: fmt.Appendf(nil, "b%s%d", last, n)},
		}}
		if r.tryCommit(r.ctx, r.handles[0], c) == nil || r.ctx.Err() != nil {
			return
		}
		if _, cut := r.handles[0].(cutter); !cut {
			return
		}
	}
}

// settled waits until no more goroutines are inside the package of the store than before.
func (r *run) settled(before int) {
	for after := 0; ; {
		if after = inside(r.handles, stacks()); after <= before {
			return
		}
		select {
		case <-time.After(time.Millisecond):
		case <-r.ctx.Done():
			r.fault("%d goroutines before Open, %d after Close", before, after)
			return
		}
	}
}

// stacks returns those of all goroutines.
func stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

// inside counts the goroutines that are inside the packages of the handles.
func inside(handles []Store, stacks string) (n int) {
	for stack := range strings.SplitSeq(stacks, "\n\n") {
		if slices.ContainsFunc(handles, func(st Store) bool {
			of := reflect.TypeOf(st)
			return of.Kind() == reflect.Pointer && strings.Contains(stack, of.Elem().PkgPath()+".(")
		}) {
			n++
		}
	}
	return n
}
