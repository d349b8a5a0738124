package arc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Several processes may have an Agent over one store that is a store.Changer. Each has a record,
// process/NAME, and renews it every 5 s. A run that is under way names its process. A process whose record
// has not changed for 15 s, by the clock of who looks, is gone: its record is deleted, and its runs are taken
// up. So a process that was only held up finds at its next renewal that it was given up; and what it commits
// meanwhile fails, since each commit of a run is conditional on the run's record. No two have one name.
//
// All of this is measured by the monotonic clock of the machine, not by Options.Now: that of a host may stand
// still or jump, and no two processes compare theirs.
const processPlace = "process/"

// times of processes; variables for the tests.
var (
	beatEvery  = 5 * time.Second
	goneAfter  = 15 * time.Second
	fenceAfter = 10 * time.Second // without a renewal: what is under way is canceled, before others take it up
	pollEvery  = 100 * time.Millisecond
)

// errFenced is the cause of a run whose process could not reach the store.
var errFenced = fmt.Errorf("%w: this process could not renew its record in time", ErrRunning)

// errAway is the error of a call that has found no run, or has stored nothing of one, because of that.
var errAway = &reason.Error{Class: reason.Unavailable, Err: errors.New("arc: the store is away; try again")}

// process is the Agent among those that share its store.
type process struct {
	name    string                    // Options.Process and a nonce
	changer store.Changer             // nil: nobody shares the store
	rev     store.Revision            // of its record; of the goroutine that renews it
	renewed atomic.Pointer[time.Time] // when its record last was
	quit    context.Context           // ends when nothing is under way any more
	quits   context.CancelFunc
	done    chan struct{} // closed when its record is renewed no more

	mu   sync.Mutex
	seen map[store.Revision]time.Time // when a record of others, as of a commit, was first seen
}

// write writes the record where it is as c says. Others may count the time until the next renewal from before
// the commit, so this process does as well.
func (p *process) write(ctx context.Context, st store.Store, c store.Condition) error {
	now := time.Now()
	rev, err := st.Commit(ctx, store.Op{Key: processPlace + p.name, Value: []byte(p.name), If: c})
	if err == nil {
		p.rev = rev
		p.renewed.Store(&now)
	}
	return err
}

// late reports whether others may have given the process up.
func (p *process) late() bool { return p.changer != nil && time.Since(*p.renewed.Load()) >= fenceAfter }

// renew renews the record. given says that others had given the process up.
func (p *process) renew(st store.Store) (given bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), beatEvery)
	defer cancel()
	err = p.write(ctx, st, store.At(p.rev))
	if !errors.Is(err, store.ErrConflict) {
		return false, err
	}
	e, err := st.Get(ctx, processPlace+p.name)
	if given = missing(err); err != nil && !given {
		return false, err
	}
	// Where it is there, a renewal has taken place, and its answer was lost.
	return given, p.write(ctx, st, store.At(e.Rev))
}

// leave deletes the record, so that others take up what was under way at once.
func (p *process) leave(st store.Store) error {
	ctx, cancel := context.WithTimeout(context.Background(), beatEvery)
	defer cancel()
	_, err := st.Commit(ctx, store.Op{Key: processPlace + p.name, Delete: true, If: store.At(p.rev)})
	return err
}

// alive reports whether a process renews its record. One that is found gone has none afterwards.
func (p *process) alive(ctx context.Context, st store.Store, name string) (bool, error) {
	if name == p.name {
		return true, nil
	}
	if p.changer == nil || name == "" {
		return false, nil // who has the store has it alone
	}
	key := processPlace + name
	e, err := st.Get(ctx, key)
	if missing(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("arc: %s: %w", key, err)
	}
	now := time.Now()
	p.mu.Lock()
	at, is := p.seen[e.Rev]
	if !is {
		maps.DeleteFunc(p.seen, func(_ store.Revision, at time.Time) bool { return now.Sub(at) > 10*time.Minute })
		at, p.seen[e.Rev] = now, now
	}
	p.mu.Unlock()
	if now.Sub(at) < goneAfter {
		return true, nil
	}
	_, err = st.Commit(ctx, store.Op{Key: key, Delete: true, If: store.At(e.Rev)})
	if errors.Is(err, store.ErrConflict) { // it is back
		return true, nil
	}
	return err != nil, err
}

// beat renews the record of the process until nothing is under way any more, and deletes it.
func (a *Agent) beat() {
	defer close(a.process.done)
	for wait, told := beatEvery, ""; ; {
		select {
		case <-time.After(wait):
		case <-a.process.quit.Done():
			if err := a.process.leave(a.store); !isAny(err, nil, store.ErrConflict) { // or others have given it up
				a.opts.Logger.Warn("arc: the record of this process", "process", a.process.name, "error", err)
			}
			return
		}
		if a.process.late() {
			a.fence()
		}
		given, err := a.process.renew(a.store)
		wait = beatEvery
		why := ""
		if err != nil {
			wait, why = beatEvery/5, "not renewed: after 10 s what is under way is canceled"
		}
		if given || a.process.late() {
			a.fence()
			why = "not renewed for 10 s: what was under way is canceled, and others take it up"
		}
		if why != told && why != "" { // once, however long the store is away
			a.opts.Logger.Error("arc: the record of this process: "+why, "process", a.process.name, "error", err)
		}
		told = why
	}
}

// fence cancels what is under way: others may have taken it up.
func (a *Agent) fence() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, l := range a.live {
		l.cancel(errFenced)
	}
}

// follow takes in what other processes commit: every 100 ms while a run is under way or waited for, else, and
// after an error, with each renewal.
func (a *Agent) follow(seen store.Revision) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var err, was error
	for polled := time.Now(); ; was = err {
		select {
		case <-tick.C:
		case <-a.base.Done():
			return
		}
		a.mu.Lock()
		idle := len(a.live) == 0 && a.awaited.Load() == 0
		a.mu.Unlock()
		if (idle || err != nil) && time.Since(polled) < beatEvery {
			continue
		}
		polled = time.Now()
		if seen, err = a.poll(a.base, seen); err != nil && was == nil && a.base.Err() == nil {
			a.opts.Logger.Error("arc: what other processes have changed", "error", err)
		}
	}
}

// poll takes in the changes after a revision, and returns the one to go on from. It is one read for the whole
// store, whatever the number of tenants: it only notes who has changed, and these read for themselves.
func (a *Agent) poll(ctx context.Context, after store.Revision) (store.Revision, error) {
	upTo := after
	changed := map[string]bool{} // tenants
	for e, err := range a.process.changer.Changes(ctx, "", after) {
		switch {
		case err != nil:
			return after, err
		case e.Key == "" && e.Deleted: // the store has forgotten what was deleted since: all is read again
			a.note("")
			a.tenants.forget()
			return e.Rev, nil
		case e.Key == "":
			upTo = e.Rev
			continue
		}
		rest, of := strings.CutPrefix(e.Key, "t/")
		if !of {
			continue
		}
		name, key, _ := strings.Cut(rest, "/")
		changed[name] = true
		scope, kind, id, _ := store.ParseKey(key)
		switch kind {
		case runKind:
			a.note(runKey(scope, id))
			a.heard(scope, id, e)
		case logKind:
			a.announce()
		}
	}
	return upTo, a.tenants.refresh(ctx, changed)
}

// heard ends a run that is under way here and that another process has taken, canceled or deleted. It spares
// the host a call whose result no commit could keep; that such a commit fails does not depend on it.
func (a *Agent) heard(scope memory.Scope, id string, e store.Entry) {
	a.mu.Lock()
	l := a.live[runKey(scope, id)]
	a.mu.Unlock()
	if l == nil || l.rev.Load() == 0 || e.Rev <= store.Revision(l.rev.Load()) {
		return
	}
	r := new(record)
	if !e.Deleted && codec.Unmarshal(e.Value, r) == nil && r.Process == a.process.name {
		return
	}
	if e.Deleted || r.Status == Canceled {
		l.cancel(errTold)
	} else {
		l.cancel(fmt.Errorf("%w in another process: %s", ErrRunning, id))
	}
}
