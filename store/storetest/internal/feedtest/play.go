package feedtest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/arc-learn/arc/store"
)

// tryCommit is one that was tried. Its times are moments of the run's clock.
type commit struct {
	ops          []store.Op
	began, ended int            // ended is 0 while it may have been made
	rev          store.Revision // 0: it was not made, or is not known yet
	err          error
	last         bool // no watch begins after it
}

// unknown reports whether the commit may have been made.
func (c *commit) unknown() bool { return c.ended == 0 }

// definite are the errors of commits that were not made.
var definite = []error{
	store.ErrNotFound, store.ErrConflict, store.ErrClosed, store.ErrFull, store.ErrScarce, store.ErrLocked,
	store.ErrDamaged, store.ErrForeign, store.ErrNewer, store.ErrKey, store.ErrFailed,
	context.Canceled, context.DeadlineExceeded,
}

func isAny(err error, of []error) bool {
	for _, e := range of {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// tryCommit makes one and notes what became of it.
func (r *run) tryCommit(ctx context.Context, st Store, c *commit) error {
	r.mu.Lock()
	r.mu.clock++
	c.began = r.mu.clock
	r.mu.commits = append(r.mu.commits, c)
	r.mu.Unlock()
	rev, err := st.Commit(ctx, c.ops...)
	r.move(func() {
		r.mu.clock++
		switch c.err = err; {
		case err == nil:
			c.rev, c.ended = rev, r.mu.clock
			if !c.last {
				r.mu.acked = append(r.mu.acked, rev)
			}
		case isAny(err, definite):
			c.ended = r.mu.clock
		}
	})
	_, cut := st.(cutter)
	if err != nil && !cut && !isAny(err, []error{store.ErrConflict, store.ErrClosed, store.ErrKey, context.Canceled}) {
		r.fault("commit of %v: %v", c.ops, err)
	}
	return err
}

// writeOne makes a commit of a writer, and reports whether the store is open.
func (r *run) writeOne(writer int, w write) bool {
	first := writer
	if w.Other {
		first++
	}
	st := r.handles[first%len(r.handles)]
	c, at := &commit{}, r.tick()
	for i, ch := range w.Ops {
		op := store.Op{Key: r.prefix + names[ch.Key], Delete: ch.Delete}
		if !op.Delete {
			op.Value = fmt.Appendf(nil, "%d.%d", at, i)
		}
		switch ch.If {
		case absent:
			op.If = store.Absent
		case current:
			e, _ := st.Get(r.ctx, op.Key) // an error is a condition of absence
			op.If = store.At(e.Rev)
		case stale:
			r.mu.Lock()
			if len(r.mu.acked) > 0 {
				op.If = store.At(r.mu.acked[0])
			}
			r.mu.Unlock()
		}
		c.ops = append(c.ops, op)
	}
	switch w.Kind {
	case twice:
		c.ops = append(c.ops, c.ops[0])
	case large:
		for i := range largeOps {
			key := fmt.Sprintf("%sa/1/%03d", r.prefix, i)
			c.ops = append(c.ops, store.Op{Key: key, Value: fmt.Appendf(nil, "%d", at)})
		}
	}
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	switch w.Kind {
	case ended:
		cancel()
	case ending:
		go cancel()
	}
	return !errors.Is(r.tryCommit(ctx, st, c), store.ErrClosed)
}

// watch is one that was made.
type watch struct {
	prefix string
	after  store.Revision
	began  int // moment
	first  int // moment of the first entry, or of the end
	got    []store.Entry
	whole  store.Revision // of the last commit that all was yielded of
	err    error
}

func (w *watch) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "watch of %q after %d, at %d to %d, whole to %d, %v:",
		w.prefix, w.after, w.began, w.first, w.whole, w.err)
	for _, e := range w.got {
		fmt.Fprintf(&b, " %d %s=%s", e.Rev, e.Key, e.Value)
		if e.Deleted {
			b.WriteString("deleted")
		}
	}
	return b.String()
}

// consume makes the watches of a watcher, until it has seen the last commit or the store is
// closed.
func (w *watcher) consume(r *run, st Store, closes bool) {
	_, prunes := st.(pruner)
	for !w.done && r.ctx.Err() == nil {
		p := part{}
		if len(w.Parts) > 0 {
			p, w.Parts = w.Parts[0], w.Parts[1:]
		}
		done := w.watch(r, st, p)
		w.whole = max(done.whole, done.after)
		switch err := done.err; {
		case errors.Is(err, store.ErrClosed):
			if !closes {
				r.fault("a store that is open is closed: %v", done)
			}
			return
		case err == nil && (w.done || p.Until == left):
		case errors.Is(err, context.Canceled) && (p.Until == cancelled || p.Until == idle):
		case err == nil || !prunes:
			r.fault("a watch has ended: %v", done)
			return
		}
	}
	if r.ctx.Err() != nil {
		r.fault("a watch of %q from %d never saw the last commit", w.Prefix, w.whole)
	}
}

// startOf returns where a part begins.
func (w *watcher) startOf(r *run, p part) store.Revision {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch n := len(r.mu.acked); {
	case p.From == zero:
		return 0
	case p.From == newest && n > 0:
		return r.mu.acked[n-1]
	case p.From == earlier && n > 0:
		return r.mu.acked[p.Count%n]
	}
	return w.whole
}

// watch makes one.
func (w *watcher) watch(r *run, st Store, p part) *watch {
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	base := r.ackedCount()
	if p.Until == idle {
		r.rest.Go(func() {
			r.until(base + p.Count)
			cancel()
		})
	}
	is := &watch{prefix: r.prefix + w.Prefix, after: w.startOf(r, p)}
	is.began = r.tick()
	r.move(func() { r.watches = append(r.watches, is) })
	ends := 0
	for e, err := range st.Watch(ctx, is.prefix, is.after) {
		if is.first == 0 {
			is.first = r.tick()
		}
		if is.err != nil {
			r.fault("a watch goes on after its error: %v", is)
		}
		if is.err = err; err != nil {
			continue
		}
		if n := len(is.got); n > 0 && is.got[n-1].Rev != e.Rev {
			is.whole, ends = is.got[n-1].Rev, 0
		}
		is.got = append(is.got, e)
		r.lookUp(st, e)
		if strings.HasSuffix(e.Key, last) {
			if ends++; ends == w.ends() {
				is.whole, w.done = e.Rev, true
				return is
			}
		}
		if p.Slow {
			r.until(r.ackedCount() + 1)
		}
		if p.Until == left && len(is.got) >= p.Count {
			return is
		}
		if p.Until == cancelled && len(is.got) >= p.Count {
			cancel()
		}
	}
	if is.first == 0 {
		is.first = r.tick()
	}
	return is
}

// ackedCount returns how many commits were acknowledged.
func (r *run) ackedCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.mu.acked)
}

// ends is how many keys of the last commit are under the prefix.
func (w *watcher) ends() int {
	if w.Prefix == "" {
		return 2
	}
	return 1
}

// lookUp reads what a watch has yielded: a store shows nothing older from then on.
func (r *run) lookUp(st Store, e store.Entry) {
	now, err := st.Get(r.ctx, e.Key)
	switch {
	case err == nil && now.Rev < e.Rev:
		r.fault("get of %q is at %d after a watch was at %d", e.Key, now.Rev, e.Rev)
	case err == nil && now.Rev == e.Rev && (e.Deleted || string(now.Value) != string(e.Value)):
		r.fault("get of %q at %d is %q, and a watch had %v", e.Key, now.Rev, now.Value, e)
	case err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrClosed) && r.ctx.Err() == nil:
		r.fault("get of %q: %v", e.Key, err)
	}
}
