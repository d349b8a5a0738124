package feedtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/arc-learn/arc/store"
)

// logged is the log of a run.
func (r *run) logged() string {
	var b strings.Builder
	for _, c := range r.mu.commits {
		fmt.Fprintf(&b, "commit %d at %d to %d (%v):", c.rev, c.began, c.ended, c.err)
		for _, op := range c.ops {
			fmt.Fprintf(&b, " %s=%s", op.Key, op.Value)
			if op.Delete {
				b.WriteString("deleted")
			}
			if op.If != store.Any {
				fmt.Fprintf(&b, " if %d", int64(op.If))
			}
		}
		b.WriteString("\n")
	}
	for _, w := range r.watches {
		fmt.Fprintln(&b, w)
	}
	return b.String()
}

// verifyAll compares what the watches have yielded with what was committed.
func (r *run) verifyAll() {
	for _, w := range r.watches {
		for i, e := range w.got {
			if i > 0 && e.Rev < w.got[i-1].Rev {
				r.fault("not in order of revision: %v", w)
			}
			r.resolve(w, e)
		}
	}
	made := slices.DeleteFunc(slices.Clone(r.mu.commits), func(c *commit) bool { return c.rev == 0 })
	slices.SortFunc(made, func(a, b *commit) int { return cmp.Compare(a.rev, b.rev) })
	for i, c := range made {
		if i > 0 && made[i-1].rev == c.rev {
			r.fault("two commits are %d", c.rev)
		}
	}
	for _, w := range r.watches {
		r.judgeWatch(w, made)
	}
	if r.o.Rounds >= 0 {
		r.compareEnd(made)
	}
}

// resolve finds the commit of an entry. One whose outcome is unknown gets its revision
// from the first entry.
func (r *run) resolve(w *watch, e store.Entry) {
	if !strings.HasPrefix(e.Key, w.prefix) {
		r.fault("%q does not begin with %q", e.Key, w.prefix)
	}
	var maybe []*commit
	for _, c := range r.mu.commits {
		if !c.has(e) {
			continue
		}
		if c.rev == e.Rev {
			return
		}
		if c.unknown() && c.rev == 0 {
			maybe = append(maybe, c)
		}
	}
	switch {
	case len(maybe) == 0:
		r.fault("no commit made %d %s=%s: %v", e.Rev, e.Key, e.Value, w)
	case len(maybe) == 1:
		maybe[0].rev = e.Rev
	}
}

// has reports whether the commit would make the entry, at any revision.
func (c *commit) has(e store.Entry) bool {
	return slices.ContainsFunc(c.ops, func(op store.Op) bool {
		return op.Key == e.Key && op.Delete == e.Deleted && string(op.Value) == string(e.Value)
	})
}

// judgeWatch says what a watch should have yielded and has not, and the other way around.
func (r *run) judgeWatch(w *watch, made []*commit) {
	type at struct {
		key string
		rev store.Revision
	}
	got := map[at]int{}
	for _, e := range w.got {
		if got[at{e.Key, e.Rev}]++; got[at{e.Key, e.Rev}] > 1 {
			r.fault("%q at %d twice: %v", e.Key, e.Rev, w)
		}
	}
	for _, c := range made {
		for _, op := range c.ops {
			if !strings.HasPrefix(op.Key, w.prefix) {
				continue
			}
			must, may := r.due(w, c, op)
			there := got[at{op.Key, c.rev}] > 0
			if must && !there {
				r.fault("%d %s=%s is missing: %v", c.rev, op.Key, op.Value, w)
			}
			if there && !may {
				r.fault("%d %s=%s was to be left out: %v", c.rev, op.Key, op.Value, w)
			}
		}
	}
}

// due says whether a watch has to yield an op, and whether it may. What a watch finds when
// it begins is as of some moment between its call and its first entry.
func (r *run) due(w *watch, c *commit, op store.Op) (must, may bool) {
	before := c.ended > 0 && c.ended < w.began // of the watch
	perhaps := c.began < w.first
	must, may = true, true
	if c.rev <= w.after {
		must, may = false, !before // it overlaps with the commit that the watch is after
	}
	if op.Delete && perhaps {
		must, may = false, may && !before
	}
	for _, d := range r.mu.commits {
		if d == c || d.rev > 0 && d.rev < c.rev || d.rev == 0 && !d.unknown() ||
			!slices.ContainsFunc(d.ops, func(o store.Op) bool { return o.Key == op.Key }) {
			continue
		}
		if perhaps && d.began < w.first {
			must = false // it may have been written over
		}
		if d.ended > 0 && d.ended < w.began {
			may = false // it was
		}
	}
	return must && c.rev <= w.whole, may
}

// compareEnd looks at what stands at the end.
func (r *run) compareEnd(made []*commit) {
	type stand struct {
		value string
		rev   store.Revision
	}
	want, doubt := map[string]stand{}, map[string]bool{}
	for _, c := range made {
		for _, op := range c.ops {
			want[op.Key] = stand{string(op.Value), c.rev}
			if op.Delete {
				delete(want, op.Key)
			}
		}
	}
	for _, c := range r.mu.commits {
		for _, op := range c.ops {
			doubt[op.Key] = doubt[op.Key] || c.unknown() && c.rev == 0
		}
	}
	if len(r.handles) > 0 {
		st := r.handles[0]
		for e, err := range st.Scan(r.ctx, store.Range{Prefix: r.prefix}) {
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					r.fault("scan: %v", err)
				}
				return
			}
			if got := (stand{string(e.Value), e.Rev}); got != want[e.Key] && !doubt[e.Key] {
				r.fault("%q is %v, want %v", e.Key, got, want[e.Key])
			}
			delete(want, e.Key)
		}
	}
	for key := range want {
		if !doubt[key] {
			r.fault("%q is missing", key)
		}
	}
}
