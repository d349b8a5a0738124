package queue

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/veil"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// Options configure a Queue. The zero value, and nil, are ready.
type Options struct {
	// Scope of jobs that name none. Its tenant is whose jobs the Queue has. "":
	// "local", as with an Agent.
	Scope memory.Scope
	// Alone says that no other Queue has the tenant's jobs while this one is open, as
	// in one process over a directory: what Open finds Active is given back at
	// once, and not after its lease.
	Alone bool
	// LeaseTTL is how long a lease holds without a heartbeat. 0: one minute.
	LeaseTTL time.Duration
	// MaxAttempts of jobs that say nothing else. 0: 3.
	MaxAttempts int
	// Backoff is the wait after a job's first failure; each later one is twice as
	// long, up to an hour. 0: ten seconds.
	Backoff time.Duration
	// Timeout of attempts at jobs that say nothing else. 0: ten minutes.
	Timeout time.Duration
	// Ageing is the wait after which a job counts as one of the next priority, again
	// and again. 0: never; the lowest number is always first.
	Ageing time.Duration
	// Templates are the drafts that Draft.Template names; see LoadTemplates.
	Templates map[string]Draft
	// Sanitizer takes secrets out of texts before they are kept. nil: the zero
	// Sanitizer. One without a key gets the store's, so that an Agent on it names a
	// secret alike.
	Sanitizer *redact.Sanitizer
	// Now is the clock, which several goroutines call. nil: time.Now.
	Now func() time.Time
	// Seed of the random part of ids. 0: a random one.
	Seed uint64
}

// Errors of a Queue's methods. Besides these they return the store's.
var (
	// ErrEmpty: no job is ready.
	ErrEmpty = errors.New("no job is ready")
	// ErrLost: the lease is not the caller's any more.
	ErrLost = errors.New("lease is lost")
	// ErrState: the job is in another state than the call needs.
	ErrState = errors.New("job is in another state")
)

// Queue has the jobs of a tenant. It is safe for concurrent use, and needs no Close.
type Queue struct {
	o      Options
	st     store.Store
	shared sharing // nil: st is not, or the Queue is alone
	tenant string
	wake   chan struct{} // has room for one: a job may be ready

	mu struct {
		sync.Mutex
		stamp int64 // of the last job, in Unix nanoseconds
		draw  rand.PCG
		heads heads
		seen  map[string]sighting // leases, by id of the job

		rivalry int       // claims for which others are still expected
		unsure  time.Time // when a commit may have done what it did not say

		sensors map[string]*watched

		// tended is when leases were looked at, and spent what that and reading lists
		// has taken since: a store that keeps deleted keys for a while is slow at it.
		tended time.Time
		spent  time.Duration
		wall   time.Time // what the clock showed when leases were last looked at
	}
}

// watched is what a Queue remembers of a sensor that it has looked at.
type watched struct {
	seen  sighting // of another's reading
	token uint64   // of the last reading of its own
	busy  bool     // Read has not returned
}

// Open returns a Queue over a store that the host has opened, and closes after it.
func Open(ctx context.Context, st store.Store, opts *Options) (*Queue, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.Scope = cmp.Or(o.Scope, "local")
	o.LeaseTTL = cmp.Or(o.LeaseTTL, time.Minute)
	o.MaxAttempts = cmp.Or(o.MaxAttempts, 3)
	o.Backoff = cmp.Or(o.Backoff, 10*time.Second)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Minute)
	o.Now, o.Templates = guard.Clock(o.Now), maps.Clone(o.Templates)
	switch {
	case guard.IsNil(st):
		return nil, errors.New("queue: the store is nil")
	case o.Scope.Check() != nil:
		return nil, fmt.Errorf("queue: option Scope: %w", o.Scope.Check())
	case o.MaxAttempts < 0:
		return nil, fmt.Errorf("queue: option MaxAttempts: %d is negative", o.MaxAttempts)
	case o.Backoff < 0:
		return nil, fmt.Errorf("queue: option Backoff: %v is negative", o.Backoff)
	case o.Timeout < 0:
		return nil, fmt.Errorf("queue: option Timeout: %v is negative", o.Timeout)
	case o.Ageing < 0:
		return nil, fmt.Errorf("queue: option Ageing: %v is negative", o.Ageing)
	case o.LeaseTTL < time.Millisecond:
		return nil, fmt.Errorf("queue: option LeaseTTL: %v is under a millisecond", o.LeaseTTL)
	}
	st = guard.Store(st)
	san, err := veil.Keyed(ctx, st, o.Sanitizer)
	if err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	o.Sanitizer = san
	q := &Queue{o: o, st: st, tenant: o.Scope.Tenant(), wake: make(chan struct{}, 1)}
	if !o.Alone {
		q.shared, _ = q.st.(sharing) // nil: its claims are tried one by one
	}
	if o.Seed == 0 {
		var b [8]byte
		crand.Read(b[:]) // never fails: it ends the process instead
		o.Seed = binary.LittleEndian.Uint64(b[:])
	}
	q.mu.draw.Seed(o.Seed, uint64(o.Now().UnixNano()))
	q.mu.heads.reset()
	q.mu.sensors = make(map[string]*watched)
	err = q.rescue(ctx, o.Now(), o.Alone)
	if err == nil || codec.Unreadable(err) {
		err = q.rouse(ctx)
	}
	if err != nil && !codec.Unreadable(err) {
		return nil, fmt.Errorf("queue: %w", err)
	}
	return q, nil
}

// under is the key of the parts below the tenant's.
func (q *Queue) under(parts ...string) string {
	return key.Under(q.tenant, append([]string{root}, parts...)...)
}

func (q *Queue) placeKey(p place) string {
	return q.under(nextKeys, listName(p.list), digits(p.at), p.id)
}

// parsePlace is the opposite of placeKey for one of a list.
func parsePlace(list int, k string) place {
	parts := key.Split(k)
	return place{list: list, at: nanos(parts[len(parts)-2]), id: parts[len(parts)-1]}
}

// stamped gives a job its id and the time at which it was created, which is later than
// that of all before it of this Queue.
func (q *Queue) stamped(j *Job, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.stamp = max(q.mu.stamp+1, now.UnixNano())
	j.ID = digits(q.mu.stamp) + fmt.Sprintf("%08x", uint32(q.mu.draw.Uint64()))
	j.Created = time.Unix(0, q.mu.stamp).UTC()
}

// draft returns a job of a draft, checked and without secrets.
func (q *Queue) draft(d Draft) (Job, error) {
	from, ok := q.o.Templates[d.Template]
	if d.Template != "" && !ok {
		return Job{}, fmt.Errorf("%w: no template %.70q", ErrDraft, d.Template)
	}
	d = d.or(from)
	d = d.or(Draft{Priority: 5, Scope: q.o.Scope, MaxAttempts: q.o.MaxAttempts, Timeout: q.o.Timeout})
	d.At = d.At.Round(0).UTC()
	if err := d.unfit(); err != nil {
		return Job{}, err
	}
	if d.Scope.Tenant() != q.tenant {
		return Job{}, fmt.Errorf("%w: %w: scope %q", ErrDraft, memory.ErrTenant, d.Scope)
	}
	d.Subject, d.Description = q.cleaned(d.Subject, maxSubject), q.cleaned(d.Description, maxText)
	d.Input = q.o.Sanitizer.JSON(d.Input)
	j := Job{Draft: d, State: Pending}
	now := q.o.Now()
	q.stamped(&j, now)
	if j.At = timely(d.At, now); d.At.IsZero() && d.Cron != "" {
		at, err := nextTime(d.Cron, now)
		if j.At = at; err != nil {
			return Job{}, fmt.Errorf("%w: %w", ErrDraft, err)
		}
	}
	return j, nil
}

// timely is a time that was given for a job, at most so long ago that it has the boost: it does
// not hold up those that have waited.
func timely(at, now time.Time) time.Time {
	if overdue := now.Round(0).UTC().Add(-late - 1); !at.IsZero() && at.Before(overdue) {
		return overdue
	}
	return at
}

// cleaned takes secrets out of a text, then cuts it.
func (q *Queue) cleaned(text string, limit int) string {
	text = q.o.Sanitizer.Sanitize(strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit-len(" …")], "") + " …"
	}
	return text
}

// Enqueue adds a job, and returns once it is on disk. While another job has the Key
// of the draft, or has ended less than Quiet ago (or ahead, by a clock that was put back
// since), it adds none, and returns that one.
// The error is ErrDraft, a *store.LimitError, or the store's: then the job may have
// been added, and a Key makes it safe to call again.
func (q *Queue) Enqueue(ctx context.Context, d Draft) (job Job, added bool, err error) {
	j, err := q.begotten(ctx, d)
	for err == nil {
		var ops []store.Op
		var has Job
		if ops, has, err = q.adding(ctx, &j); err != nil || has.ID != "" {
			return has, false, err
		}
		if _, err = q.commitOps(ctx, ops...); errors.Is(err, store.ErrConflict) {
			err = nil // the Key was taken meanwhile, or the id
			q.stamped(&j, q.o.Now())
			continue
		} else if err == nil {
			q.added(j.place())
			return j, true, nil
		}
	}
	return Job{}, false, fmt.Errorf("enqueue: %w", err)
}

// begotten returns a job of a draft, below the one that it names as its Parent.
func (q *Queue) begotten(ctx context.Context, d Draft) (Job, error) {
	j, err := q.draft(d)
	if err != nil || j.Parent == "" {
		return j, err
	}
	parent, _, err := q.stored(ctx, j.Parent)
	if err == nil {
		err = j.below(&parent)
	}
	return j, err
}

// below makes a job a child of another.
func (j *Job) below(parent *Job) error {
	j.Parent, j.Depth = parent.ID, parent.Depth+1
	if j.Depth > maxDepth {
		return fmt.Errorf("%w: %w", ErrDraft, &store.LimitError{Field: "depth", Limit: maxDepth, Got: j.Depth})
	}
	return nil
}

// holder is what is kept under a Draft.Key.
type holder struct {
	Job string `cbor:"1,keyasint,omitempty"`
}

// adding returns what adds a job, or the one that has its Key.
func (q *Queue) adding(ctx context.Context, j *Job) (ops []store.Op, has Job, err error) {
	if ops, err = q.writing(j, store.Absent); err != nil || j.Key == "" {
		return ops, Job{}, err
	}
	has, rev, err := q.holding(ctx, j.Key)
	if err != nil {
		return nil, Job{}, err
	}
	if has.ID != "" && (!has.State.over() || q.o.Now().Sub(has.Ended).Abs() < j.Quiet) {
		return nil, has, nil
	}
	op, err := q.naming(j.Key, j.ID, store.At(rev))
	return append(ops, op), Job{}, err
}

// naming returns the op that gives a job a Draft.Key.
func (q *Queue) naming(name, id string, cond store.Condition) (store.Op, error) {
	return encoded(q.under(nameKeys, name), holder{id}, cond)
}

// encoded returns the op that writes a record.
func encoded(k string, v any, cond store.Condition) (store.Op, error) {
	value, err := codec.Encode(k, v)
	return store.Op{Key: k, Value: value, If: cond}, err
}

// holding returns the last job of a Draft.Key, if there is one, and the key's revision.
func (q *Queue) holding(ctx context.Context, name string) (Job, store.Revision, error) {
	e, err := q.st.Get(ctx, q.under(nameKeys, name))
	if errors.Is(err, store.ErrNotFound) {
		return Job{}, 0, nil
	}
	var h holder
	if err == nil {
		err = codec.Decode(e, &h)
	}
	if err != nil {
		return Job{}, 0, err
	}
	has, _, err := q.stored(ctx, h.Job)
	if errors.Is(err, store.ErrNotFound) {
		return Job{}, e.Rev, nil
	}
	return has, e.Rev, err
}

// writing returns the ops that write a job, with the key that its state has.
func (q *Queue) writing(j *Job, cond store.Condition) ([]store.Op, error) {
	op, err := encoded(q.under(jobKeys, j.ID), j, cond)
	ops := []store.Op{op}
	if k := q.stateKey(j); k != "" {
		ops = append(ops, store.Op{Key: k, Value: mark})
	}
	return ops, err
}

// stateKey is the key that finds a job by its state, "" for one that needs none.
func (q *Queue) stateKey(j *Job) string {
	switch {
	case j.State == Pending:
		return q.placeKey(j.place())
	case j.State.over():
		return q.under(endKeys, digits(j.Ended.UnixNano()), j.ID)
	}
	return ""
}

// stored returns a job as it is stored.
func (q *Queue) stored(ctx context.Context, id string) (Job, store.Revision, error) {
	if err := key.CheckID("job", id); err != nil {
		return Job{}, 0, err
	}
	e, err := q.st.Get(ctx, q.under(jobKeys, id))
	var j Job
	if err == nil {
		err = codec.Decode(e, &j)
	}
	if errors.Is(err, store.ErrNotFound) {
		err = store.ErrNotFound // without the key
	}
	if err != nil {
		return Job{}, 0, fmt.Errorf("job %q: %w", id, err)
	}
	return j, e.Rev, nil
}

// Tenant is whose jobs and sensors the Queue has.
func (q *Queue) Tenant() string { return q.tenant }

// Get returns a job. The error is store.ErrNotFound if there is none of that id.
func (q *Queue) Get(ctx context.Context, id string) (Job, error) {
	j, _, err := q.stored(ctx, id)
	return j, err
}

// Jobs yields the jobs in one of the states, or all without one, by ID: as they were
// enqueued, by the clocks of those who did.
func (q *Queue) Jobs(ctx context.Context, states ...State) iter.Seq2[Job, error] {
	return decoded(q, ctx, jobKeys, "", func(j *Job) bool { return len(states) == 0 || slices.Contains(states, j.State) })
}

// Cycles yields the attempts that have ended since a time, in order of when they ended.
func (q *Queue) Cycles(ctx context.Context, since time.Time) iter.Seq2[Cycle, error] {
	from := ""
	if since.After(time.Unix(0, 0)) {
		from = digits(since.UnixNano())
	}
	return decoded(q, ctx, cycleKeys, from, func(*Cycle) bool { return true })
}

// decoded yields the records under a part of the keys from a place on.
func decoded[T any](q *Queue, ctx context.Context, part, from string, passes func(*T) bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		prefix := q.under(part, "")
		for e, err := range q.st.Scan(ctx, store.Range{Prefix: prefix, After: prefix + from}) {
			var v T
			if err == nil {
				err = codec.Decode(e, &v)
			}
			if err == nil && !passes(&v) {
				continue
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// Park sets a job aside that is Pending. The error is ErrState for any other.
func (q *Queue) Park(ctx context.Context, id string) error {
	return q.change(ctx, id, func(j *Job) error {
		if j.State != Pending {
			return ErrState
		}
		j.State = Parked
		return nil
	})
}

// Requeue has a job tried again that is Failed, Blocked or Parked: at once, and with
// all its attempts. The note says what has changed since, and lies in the queue as the
// Description does: no secret of a run belongs into it. One that has ended is of no series
// any more: that has gone on without it. The error is ErrState for
// any other job, and for one whose Key another has by now that has not ended.
func (q *Queue) Requeue(ctx context.Context, id, note string) error {
	return q.change(ctx, id, func(j *Job) error {
		if j.State != Failed && j.State != Blocked && j.State != Parked {
			return ErrState
		}
		j.again()
		j.Requeued++
		j.Note = q.cleaned(note, maxSummary)
		return nil
	})
}

// again has a job tried at once that no worker has.
func (j *Job) again() {
	if j.State.over() {
		j.Cron = "" // the series went on when it ended
	}
	j.State, j.Attempts, j.At, j.Ended = Pending, 0, time.Time{}, time.Time{}
}

// Wake returns an op for the commit of what a job waits for, in the store that a tenant's
// Queues are over. When one of these opens, or claims (at most about once a second), it makes
// the job due, with all its attempts, if it is Pending, Parked or Blocked, and if it is
// Active, when it is that afterwards. A job that is Failed, Completed or missing stays so.
func Wake(tenant memory.Scope, id string) store.Op {
	return store.Op{Key: key.Under(tenant.Tenant(), root, wakeKeys, id), Value: mark}
}

// Settle ends a job that no worker has by what a person says of it: Completed (or ""),
// Failed or Blocked, with its Summary and Detail. One with a Cron ends its series. The
// error is ErrState for one that is Active or Completed, and for another Result.State.
func (q *Queue) Settle(ctx context.Context, id string, r Result) error {
	return q.change(ctx, id, func(j *Job) error {
		r.State = cmp.Or(r.State, Completed)
		if j.State == Active || j.State == Completed || !r.State.over() {
			return ErrState
		}
		j.State, j.Ended, j.Error = r.State, q.o.Now().Round(0).UTC(), ""
		j.Summary, j.Detail = q.cleaned(r.Summary, maxSummary), q.cleaned(r.Detail, maxText)
		return nil
	})
}

// Revise changes what a job says that is Pending or Parked: to the Subject, Description,
// Priority and At of a draft, as far as it has them. The error is ErrDraft, a
// *store.LimitError, or ErrState for a job in another state.
func (q *Queue) Revise(ctx context.Context, id string, d Draft) error {
	return q.change(ctx, id, func(j *Job) error {
		if j.State != Pending && j.State != Parked {
			return ErrState
		}
		was := j.Draft
		was.Subject, was.Description = cmp.Or(d.Subject, was.Subject), cmp.Or(d.Description, was.Description)
		was.Priority, was.At = cmp.Or(d.Priority, was.Priority), cmp.Or(d.At.Round(0).UTC(), was.At)
		if err := was.problems(); err != nil {
			return err
		}
		was.Subject, was.Description = q.cleaned(was.Subject, maxSubject), q.cleaned(was.Description, maxText)
		if j.Draft = was; !d.At.IsZero() {
			j.At = timely(j.At, q.o.Now())
		}
		return nil
	})
}

// change commits what fn makes of a job that no worker has, with other ops.
func (q *Queue) change(ctx context.Context, id string, fn func(*Job) error, with ...store.Op) error {
	for {
		j, rev, err := q.stored(ctx, id)
		if err != nil {
			return err
		}
		was := q.stateKey(&j)
		if err := fn(&j); err != nil {
			return fmt.Errorf("job %q: %w: it is %s", id, err, j.State)
		}
		ops, err := q.writing(&j, store.At(rev))
		if err == nil && was != "" && was != q.stateKey(&j) {
			ops = append(ops, store.Op{Key: was, Delete: true})
		}
		if err == nil && j.Key != "" && j.State == Pending {
			has, held, lost := q.holding(ctx, j.Key)
			if lost == nil && has.ID != "" && has.ID != id && !has.State.over() {
				lost = fmt.Errorf("job %q: %w: its key is that of %q", id, ErrState, has.ID)
			}
			op, bad := q.naming(j.Key, id, store.At(held))
			ops, err = append(ops, op), errors.Join(lost, bad)
		}
		if err == nil {
			_, err = q.commitOps(ctx, append(ops, with...)...)
		}
		if errors.Is(err, store.ErrConflict) {
			continue
		}
		if err == nil && j.State == Pending {
			q.added(j.place())
		}
		return err
	}
}

// commitOps commits to the store. After an error that leaves open what it has done the lists are
// read anew for a while, also by one who is alone.
func (q *Queue) commitOps(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	rev, err := q.st.Commit(ctx, ops...)
	if err != nil && !errors.Is(err, store.ErrConflict) {
		now := q.o.Now()
		q.mu.Lock()
		defer q.mu.Unlock()
		q.mu.unsure = now
	}
	return rev, err
}

// Remove deletes a job that is not Active, and with it the series of one with a Cron.
// What it has taught and used stays. The error is ErrState for one that is Active.
func (q *Queue) Remove(ctx context.Context, id string) error {
	j, rev, err := q.stored(ctx, id)
	if err == nil && j.State == Active {
		err = fmt.Errorf("job %q: %w: it is %s", id, ErrState, j.State)
	}
	var ops []store.Op
	if err == nil {
		ops, err = q.removing(ctx, &j, store.At(rev))
	}
	if err == nil {
		_, err = q.commitOps(ctx, ops...)
	}
	if errors.Is(err, store.ErrConflict) {
		return q.Remove(ctx, id)
	}
	return err
}

// removing returns the ops that delete a job with its keys.
func (q *Queue) removing(ctx context.Context, j *Job, cond store.Condition) ([]store.Op, error) {
	ops := []store.Op{
		{Key: q.under(jobKeys, j.ID), Delete: true, If: cond},
		{Key: q.under(leaseKeys, j.ID), Delete: true},
		{Key: q.under(wakeKeys, j.ID), Delete: true},
	}
	if k := q.stateKey(j); k != "" {
		ops = append(ops, store.Op{Key: k, Delete: true})
	}
	if j.Key == "" {
		return ops, nil
	}
	has, rev, err := q.holding(ctx, j.Key)
	if has.ID == j.ID {
		ops = append(ops, store.Op{Key: q.under(nameKeys, j.Key), Delete: true, If: store.At(rev)})
	}
	return ops, err
}
