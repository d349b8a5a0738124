package queue

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// list is the beginning of one of the lists of places, in memory.
type list struct {
	places []place // in order
	more   bool    // the store may have others, behind end
	end    string  // the key up to which places has all; "": nothing was read
}

// heads are the beginnings of all lists.
type heads [2 * priorities]list

// Bounds of a list in memory: what a scan reads, and what stays of one that has grown.
const (
	readAtOnce = 64
	mostInList = 256
)

// reset forgets what is in memory.
func (h *heads) reset() {
	for i := range h {
		h[i] = list{more: true}
	}
}

// added takes in a place that is in the store.
func (q *Queue) added(p place) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := &q.mu.heads[p.list]
	if k := q.placeKey(p); !l.more || k <= l.end {
		if i, there := slices.BinarySearchFunc(l.places, p, place.inList); !there {
			l.places = slices.Insert(l.places, i, p)
		}
	}
	if len(l.places) > mostInList {
		l.places = l.places[:readAtOnce]
		l.more, l.end = true, q.placeKey(l.places[readAtOnce-1])
	}
	q.poke()
}

// poke wakes a worker.
func (q *Queue) poke() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// fillLocked reads the head of a list if memory has none.
func (q *Queue) fillLocked(ctx context.Context, n int) error {
	l := &q.mu.heads[n]
	if len(l.places) > 0 || !l.more {
		return nil
	}
	begin, next := q.o.Now(), list{end: l.end}
	in := store.Range{Prefix: q.under(nextKeys, listName(n), ""), After: l.end, Limit: readAtOnce}
	for e, err := range q.st.Scan(ctx, in) {
		if err != nil {
			return err // and the list is as it was
		}
		next.places, next.end = append(next.places, parsePlace(n, e.Key)), e.Key
	}
	next.more = len(next.places) == readAtOnce
	*l = next
	q.mu.spent += q.o.Now().Sub(begin)
	return nil
}

// pick takes the place out of memory that comes first at a time, of priorities up to one, and
// returns it; or, while others claim from the same lists, with those that come next, and the
// store that says which is free. Without one it returns ErrEmpty, and when the next is due; 0:
// none is.
func (q *Queue) pick(ctx context.Context, now int64, upTo int) (first []place, st sharing, due int64, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	tries := 1
	if q.shared != nil && q.mu.rivalry > 0 {
		q.mu.rivalry--
		st, tries = q.shared, mostTries
	}
	var taken [len(q.mu.heads)]int
	for len(first) < tries {
		found, best := -1, place{}
		for n := range min(2*upTo, len(q.mu.heads)) {
			if err := q.fillLocked(ctx, n); err != nil {
				return nil, nil, 0, err
			}
			l := &q.mu.heads[n]
			if taken[n] == len(l.places) {
				if l.more && taken[n] > 0 {
					found = -1 // what comes next may be in the store
					break
				}
				continue
			}
			switch p := l.places[taken[n]]; {
			case p.at > now:
				if due == 0 || p.at < due {
					due = p.at
				}
			case found < 0 || p.before(best, now, q.o.Ageing):
				best, found = p, n
			}
		}
		if found < 0 {
			break
		}
		taken[found]++
		first = append(first, best)
	}
	if len(first) == 0 {
		return nil, nil, due, ErrEmpty
	}
	q.dropLocked(first[:1])
	return first, st, 0, nil
}

// dropLocked takes places out of memory.
func (q *Queue) dropLocked(ps []place) {
	for _, p := range ps {
		l := &q.mu.heads[p.list]
		if i, there := slices.BinarySearchFunc(l.places, p, place.inList); there {
			l.places = slices.Delete(l.places, i, i+1)
		}
	}
}

// Lease is the right to one attempt at a job. It ends with End, or when it was not
// renewed for Options.LeaseTTL.
type Lease struct {
	// Job is as it was claimed.
	Job Job

	q     *Queue
	rev   store.Revision // of the job, which does not change while it is held
	model string         // by DispatchOptions.Route

	mu   sync.Mutex
	beat store.Revision // of the lease
}

// lease is what is kept of a Lease.
type lease struct {
	Token uint64        `cbor:"1,keyasint,omitempty"`
	TTL   time.Duration `cbor:"2,keyasint,omitempty"`
}

// Claim takes the job that comes first, of those of priority upTo and before (0: of
// any). The error is ErrEmpty if none is ready; that of a job that cannot be read, if there is
// none beside such.
func (q *Queue) Claim(ctx context.Context, upTo int) (*Lease, error) {
	if upTo == 0 {
		upTo = priorities
	}
	l, _, err := q.claimNext(ctx, upTo)
	return l, err
}

// claimNext is Claim that says, beside ErrEmpty, when the next job is due.
func (q *Queue) claimNext(ctx context.Context, upTo int) (*Lease, int64, error) {
	var unread error
	for {
		now := q.o.Now().Round(0).UTC()
		switch err := q.tend(ctx); {
		case codec.Unreadable(err):
			unread = err
		case err != nil:
			return nil, 0, err
		}
		ps, st, due, err := q.pick(ctx, now.UnixNano(), upTo)
		if errors.Is(err, ErrEmpty) {
			return nil, due, cmp.Or(unread, err)
		}
		if err != nil {
			return nil, due, err
		}
		l, err := q.activate(ctx, ps, st, now)
		switch {
		case err == nil:
			return l, 0, nil
		case errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound):
			q.rivaled() // or the job is gone
		case codec.Unreadable(err):
			unread = err // it holds up no other, and is told once there is none
		default:
			q.added(ps[0])
			return nil, 0, err
		}
	}
}

// sharing is implemented by stores that several processes have open. CommitFirst commits
// what fn makes of the first of keys that is free: the mark beside it exists, and no
// other CommitFirst is at work on it. store.ErrConflict: none is, or a condition of
// fn's does not hold. Without it, all processes try the same key, and all but one again.
type sharing interface {
	CommitFirst(
		ctx context.Context, marks, keys []string, fn func(n int, e store.Entry) ([]store.Op, error),
	) (store.Revision, error)
}

// A claim has such a store try so many places, for so many claims after one in which
// another process was faster. Alone, reading the job and committing is less work.
const (
	mostTries = 32
	wary      = 64
)

// rivaled notes that others claim from the same lists.
func (q *Queue) rivaled() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.rivalry = wary
}

// activate makes the job Active that is at the first of the places, or, where the store
// says which that is, at the first that no other process has.
func (q *Queue) activate(ctx context.Context, ps []place, st sharing, now time.Time) (l *Lease, err error) {
	if st == nil {
		e, err := q.st.Get(ctx, q.under(jobKeys, ps[0].id))
		if err != nil {
			return nil, err
		}
		l, ops, err := q.claiming(e, ps[0], now)
		if err != nil {
			return nil, err
		}
		l.rev, err = q.commitOps(ctx, ops...)
		l.beat = l.rev
		return l, err
	}
	marks, keys := make([]string, len(ps)), make([]string, len(ps))
	for i, p := range ps {
		marks[i], keys[i] = q.placeKey(p), q.under(jobKeys, p.id)
	}
	last := len(ps) - 1 // of those that are tried
	rev, err := st.CommitFirst(ctx, marks, keys, func(n int, e store.Entry) (ops []store.Op, err error) {
		last = n
		l, ops, err = q.claiming(e, ps[n], now)
		return ops, err
	})
	tried := ps[:last+1]
	switch {
	case err == nil || errors.Is(err, store.ErrConflict):
		if last > 0 {
			q.rivaled()
		}
	case codec.Unreadable(err) && last > 0:
		q.added(ps[0])
		tried = ps[last : last+1]
	default:
		tried = nil
	}
	q.mu.Lock()
	q.dropLocked(tried)
	q.mu.Unlock()
	if err != nil {
		return nil, err
	}
	l.rev, l.beat = rev, rev
	return l, nil
}

// claiming returns the lease on a job that is at a place, and the ops that write it.
func (q *Queue) claiming(e store.Entry, p place, now time.Time) (*Lease, []store.Op, error) {
	var j Job
	if err := codec.Decode(e, &j); err != nil {
		return nil, nil, err
	}
	if j.State != Pending || j.place() != p {
		return nil, nil, store.ErrConflict
	}
	j.State, j.Started = Active, now
	j.Attempts++
	j.Token++
	ops, err := q.writing(&j, store.At(e.Rev))
	if err != nil {
		return nil, nil, err
	}
	l := &Lease{Job: j, q: q}
	held, err := l.renewal(store.Any)
	return l, append(ops, held, store.Op{Key: q.placeKey(p), Delete: true}), err
}

// renewal returns the op that writes the lease.
func (l *Lease) renewal(cond store.Condition) (store.Op, error) {
	return encoded(l.q.under(leaseKeys, l.Job.ID), lease{l.Job.Token, l.q.o.LeaseTTL}, cond)
}

// Beat renews the lease. The error is ErrLost if it is over.
func (l *Lease) Beat(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		op, err := l.renewal(store.At(l.beat))
		if err != nil {
			return err
		}
		rev, err := l.q.commitOps(ctx, op)
		if err == nil {
			l.beat = rev
		}
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		var is lease
		e, err := l.q.st.Get(ctx, op.Key)
		if err == nil {
			err = codec.Decode(e, &is)
		}
		switch {
		case errors.Is(err, store.ErrNotFound) || err == nil && is.Token != l.Job.Token:
			return ErrLost
		case err != nil:
			return err
		}
		l.beat = e.Rev // of a renewal whose answer was lost
	}
}

// sighting is a lease as it was last seen, and since when it is so.
type sighting struct {
	rev   store.Revision
	since time.Time
}

// tend gives back what was lost, once in a while, and forgets the heads of the lists,
// to which other Queues may have added.
func (q *Queue) tend(ctx context.Context) error {
	now := q.o.Now()
	q.mu.Lock()
	rest := max(min(q.o.LeaseTTL/4, time.Second), min(50*q.mu.spent, lookAgain))
	if passed := now.Sub(q.mu.tended); passed >= 0 && passed < rest {
		q.mu.Unlock()
		return nil
	}
	q.mu.tended, q.mu.spent = now, 0
	if !q.o.Alone || !q.mu.unsure.IsZero() {
		q.mu.heads.reset()
	}
	if now.Sub(q.mu.unsure) >= q.o.LeaseTTL {
		q.mu.unsure = time.Time{}
	}
	q.mu.Unlock()
	unread := q.hasten(ctx, now.Round(0).UTC())
	if unread != nil && !codec.Unreadable(unread) {
		return unread
	}
	err := q.rescue(ctx, now, false)
	if err == nil || codec.Unreadable(err) {
		err = cmp.Or(q.rouse(ctx), err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.spent += q.o.Now().Sub(now)
	return cmp.Or(err, unread)
}

// hasten has jobs that wait for another attempt since a time to come wait as long from now on: at
// first, and when the clock was put back. A longer wait than retries have is until a time that a
// handler has given.
func (q *Queue) hasten(ctx context.Context, now time.Time) (unread error) {
	q.mu.Lock()
	was := q.mu.wall
	q.mu.wall = now
	q.mu.Unlock()
	if !was.IsZero() && !now.Before(was) {
		return nil
	}
	for c, err := range q.Cycles(ctx, now.Add(lookAgain)) {
		if err == nil && c.State == Pending {
			ended := c.Started.Add(c.Wall)
			err = q.change(ctx, c.Job, func(j *Job) error {
				wait := j.At.Sub(ended)
				if j.State != Pending || j.Token != c.Token || wait < 0 || wait > max(maxRetry, q.o.Backoff) {
					return ErrState
				}
				j.At = now.Add(wait)
				return nil
			})
		}
		if codec.Unreadable(err) {
			unread = err
		} else if err != nil && !errors.Is(err, ErrState) && !errors.Is(err, store.ErrNotFound) {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.mu.wall = was // so that the next call tries again
			return err
		}
	}
	return unread
}

// rescue gives back the jobs whose lease this Queue has seen unchanged for its TTL, by
// its own clock, or all. What cannot be read holds up no other.
func (q *Queue) rescue(ctx context.Context, now time.Time, all bool) (unread error) {
	seen := make(map[string]sighting)
	prefix := q.under(leaseKeys, "")
	for e, err := range q.st.Scan(ctx, store.Range{Prefix: prefix}) {
		var held lease
		if err == nil {
			err = codec.Decode(e, &held)
		}
		if codec.Unreadable(err) {
			unread = err
			continue
		} else if err != nil {
			return err
		}
		id := e.Key[len(prefix):]
		q.mu.Lock()
		s, ok := q.mu.seen[id]
		q.mu.Unlock()
		if !ok || s.rev != e.Rev || now.Before(s.since) {
			s = sighting{e.Rev, now} // also if the clock was put back
		}
		if !all && now.Sub(s.since) < held.TTL {
			seen[id] = s
			continue
		}
		if err := q.giveBack(ctx, id, held.Token, e.Rev); codec.Unreadable(err) {
			unread = err
		} else if err != nil {
			return err
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.seen = seen
	return unread
}

// rouse makes the jobs due that Wake names. What cannot be read holds up no other.
func (q *Queue) rouse(ctx context.Context) (unread error) {
	prefix := q.under(wakeKeys, "")
	for e, err := range q.st.Scan(ctx, store.Range{Prefix: prefix}) {
		if err == nil {
			err = q.rouseOne(ctx, e.Key[len(prefix):], e)
		}
		switch {
		case codec.Unreadable(err):
			unread = err
		case err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound):
			return err
		}
	}
	return unread
}

// rouseOne makes a job due, and deletes its mark: in one commit, so that who claims the job then
// sees what the mark is about, and any that was written since.
func (q *Queue) rouseOne(ctx context.Context, id string, e store.Entry) error {
	gone := store.Op{Key: e.Key, Delete: true}
	j, rev, err := q.stored(ctx, id)
	switch {
	case key.CheckID("job", id) != nil || errors.Is(err, store.ErrNotFound): // it is none
	case err != nil || j.State == Active: // its worker may have looked before
		return err
	case j.State == Pending || j.State == Parked || j.State == Blocked && rev < e.Rev:
		err = q.change(ctx, id, func(is *Job) error {
			if is.State != j.State {
				return ErrState
			}
			is.again()
			return nil
		}, gone)
		if !errors.Is(err, ErrState) {
			return err
		}
		if j.State != Blocked { // a worker was faster
			return nil
		} // else its Key is another's by now
	}
	gone.If = store.At(e.Rev)
	_, err = q.commitOps(ctx, gone)
	return err
}

// Why a job that was given back did not complete.
var (
	errExpired = errors.New("the worker was lost: its lease was not renewed")
	errCutOff  = errors.New("the dispatcher was closed")
)

// giveBack ends a lease that is as it was at rev.
func (q *Queue) giveBack(ctx context.Context, id string, token uint64, rev store.Revision) error {
	j, at, err := q.stored(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound) || err == nil && (j.State != Active || j.Token != token):
		_, err = q.commitOps(ctx, store.Op{Key: q.under(leaseKeys, id), Delete: true, If: store.At(rev)})
	case err == nil:
		_, err = (&Lease{Job: j, q: q, rev: at}).endIf(ctx, Result{}, errExpired, store.At(rev))
	}
	if errors.Is(err, store.ErrConflict) || errors.Is(err, ErrLost) {
		return nil // its holder was faster
	}
	return err
}
