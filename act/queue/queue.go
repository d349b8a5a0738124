package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

const (
	lease      = 30 * time.Second // how long a holder that is not heard of keeps its job
	late       = time.Minute      // how long after its time a job gains boost priorities
	boost      = 2
	maxPass    = 256              // jobs that go before one of their priority where processes claim at one time
	backoff    = 30 * time.Second // before the second attempt; four times as long before each further one
	maxBackoff = time.Hour
	pause      = time.Minute // of a rate limit that names no wait
	maxPause   = 24 * time.Hour
	patience   = 7 * maxPause           // from when a job was due; then rate limits spend attempts
	poll       = 100 * time.Millisecond // until Dispatch looks again for what is due, or ends a job again
	maxPoll    = 2 * time.Second        // while there is nothing
	drain      = 30 * time.Second       // of the jobs under way, when Dispatch ends
	sweeping   = time.Hour
	retention  = 90 * 24 * time.Hour // of what has ended
)

// Options of a Queue. Nil and the zero value are the defaults.
type Options struct {
	Scope     store.Scope       // of Drafts that name none; "": the tenant's own
	Now       func() time.Time  // nil: time.Now
	Sanitizer *redact.Sanitizer // cleans every text; nil: redact.New(nil)
	Logger    *slog.Logger      // nil: nobody is told
}

// Queue has the jobs of a tenant. It may be used concurrently, also by several processes on one store.
type Queue struct {
	g *store.Group
	o Options

	added  chan struct{} // has one when a job of this Queue may be due
	mu     sync.Mutex
	index  index
	scopes map[store.Scope]bool // that have jobs, or had
	stamp  int64                // Created of the newest job of this Queue
}

// Open returns the Queue of a tenant. The Group is that of its other parts, or one of its own: over the part
// of a tenant, see store.Sub, where an Agent or a Layer has the same store; else the tenant is "_".
func Open(ctx context.Context, g *store.Group, o *Options) (*Queue, error) {
	q := &Queue{g: g, o: *cmp.Or(o, &Options{}), index: newIndex(), scopes: map[store.Scope]bool{}}
	q.added = make(chan struct{}, 1)
	q.o.Now = call.Clock(q.o.Now)
	q.o.Sanitizer = cmp.Or(q.o.Sanitizer, redact.New(nil))
	q.o.Logger = cmp.Or(q.o.Logger, slog.New(slog.DiscardHandler))
	if part, ok := g.Store().(interface{ Prefix() string }); ok {
		if t := store.Scope(path.Base(part.Prefix())); t != "_" && t.TenantPrefix() == part.Prefix() {
			q.o.Scope = cmp.Or(q.o.Scope, t)
		}
	}
	read := func(ctx context.Context) error { // a job that has gone stays in the index until somebody claims it
		for e, err := range codec.Scan(ctx, g.Store(), jobKind) {
			if err != nil {
				return fmt.Errorf("queue: %w", err)
			}
			q.apply(e)
		}
		return nil
	}
	err := g.Refresh(ctx) // marks where other processes' changes begin
	g.Follow("s/", q.apply, read)
	return q, cmp.Or(q.o.Scope.Check(), err, read(ctx))
}

// apply takes in an entry as it stands in the store: at Open, after a conflict, from another process.
func (q *Queue) apply(e store.Entry) {
	scope, kind, id, ok := store.ParseKey(e.Key)
	if !ok || kind != jobKind || isStep(id) {
		return
	}
	r, err := decode(e, nil)
	if err != nil && !e.Deleted {
		q.o.Logger.Warn("queue: a job cannot be read and is left alone", "key", e.Key, "error", err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.scopes[scope] = true
	if err != nil {
		q.index.remove(e.Key)
	} else {
		q.index.set(r, q.o.Now())
	}
}

func (q *Queue) put(b *store.Batch, r *record) error {
	b.After(func(rev store.Revision) {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.scopes[r.Scope], r.rev = true, rev
		q.index.set(r, q.o.Now())
		select {
		case q.added <- struct{}{}:
		default:
		}
	})
	return codec.Put(b, r.key, r, store.At(r.rev))
}

// log stages the cycle of an attempt: the job as it is then, with the State, Model and Usage that were said.
func (q *Queue) log(b *store.Batch, r *record, said *Job) error {
	j := r.Job
	j.State, j.Model, j.Usage, j.Started = said.State, said.Model, said.Usage, said.Started
	j.Description, j.Input = "", nil
	j.Summary, _, _ = strings.Cut(fence.Clip(j.Summary, maxSummary), "\n")
	id := fmt.Sprintf("%s-%s-%d", stampOf(j.Ended), path.Base(r.key), j.Token)
	return codec.Put(b, j.Scope.Key(cycleKind, id), &j, store.Any)
}

// Add adds a job and returns it once that is durable. Where its Key names a job that is there, that one is
// returned as it stands, also its Cron and Input, and added is false: compare them, and Update it. A Draft
// that cannot be added is an error that wraps store.ErrInvalid.
func (q *Queue) Add(ctx context.Context, d Draft) (j Job, added bool, err error) {
	if err := d.prepare(q.o.Sanitizer); err != nil {
		return Job{}, false, err
	}
	err = q.g.Update(ctx, func(b *store.Batch) (err error) {
		j, added, err = q.add(ctx, b, d)
		return err
	})
	return j, added, err
}

// add stages a prepared draft.
func (q *Queue) add(ctx context.Context, b *store.Batch, d Draft) (Job, bool, error) {
	now := q.o.Now().UTC()
	q.mu.Lock()
	q.stamp = max(q.stamp+1, now.UnixNano()) // two jobs of a Queue never have one time
	created := time.Unix(0, q.stamp).UTC()
	q.mu.Unlock()
	d.Scope = cmp.Or(d.Scope, q.o.Scope)
	if q.o.Scope != "" && d.Scope.Tenant() != q.o.Scope.Tenant() {
		return Job{}, false, fmt.Errorf("queue: %w: %q is a scope of another tenant", store.ErrInvalid, d.Scope)
	}
	r := &record{Job: Job{Draft: d, ID: idOf(&d, created), State: Pending, Created: created}}
	r.key, _ = keyOf(r.ID)
	if d.Key != "" {
		old, err := decode(b.Get(ctx, r.key))
		if !errors.Is(err, store.ErrNotFound) {
			return old.Job, false, err
		}
	}
	if err := r.schedule(now); err != nil {
		return Job{}, false, err
	}
	return r.Job, true, q.put(b, r)
}

// Claim takes the first job that is due, for a lease, which Heartbeat renews, until End; ErrEmpty if none is.
func (q *Queue) Claim(ctx context.Context) (j Job, err error) {
	if err := q.g.Refresh(ctx); err != nil { // other processes may have added some
		return Job{}, err
	}
	claimed, tries := false, 0
	err = q.g.Update(ctx, func(b *store.Batch) (err error) {
		if tries++; tries > 1 { // another process claims from the same jobs
			q.mu.Lock()
			q.index.pass = rand.IntN(maxPass)
			q.mu.Unlock()
		}
		now, it := q.o.Now().UTC(), (*item)(nil)
		for claimed = false; !claimed && err == nil; {
			q.mu.Lock()
			it = q.index.after(it, now)
			q.mu.Unlock()
			if it == nil {
				return nil
			}
			if _, staged := b.Staged(it.key); !staged { // by another claim of this commit
				j, claimed, err = q.start(ctx, b, it, now)
			}
		}
		return err
	})
	if err == nil && !claimed {
		err = ErrEmpty
	}
	return j, err
}

// start stages the claim of a job, or its end where its last lease ran out. It reports whether it is claimed.
// The index may be behind other processes, so the record decides: one of two meets a conflict. Token grows
// also with each end that the holder has not made: what comes with a former one is refused (held).
func (q *Queue) start(ctx context.Context, b *store.Batch, it *item, now time.Time) (Job, bool, error) {
	e, err := b.Get(ctx, it.key)
	if errors.Is(err, store.ErrNotFound) {
		e = store.Entry{Key: it.key, Deleted: true}
	} else if err != nil {
		return Job{}, false, err
	}
	r, bad := decode(e, nil)
	if bad != nil || r.rev != it.rev { // others were faster, or the record is gone or damaged
		q.apply(e)
		return Job{}, false, nil
	}
	if r.State == Active {
		said := &Job{State: Pending, Started: r.Started}
		r.Summary, r.Ended = "the lease ran out", now
		if r.Attempts >= r.MaxAttempts {
			said.State = Failed
			r.end(Failed, now)
			r.Token++ // so that its holder does not take this for its own doing
		}
		if err := q.log(b, r, said); err != nil || said.State == Failed {
			return Job{}, false, cmp.Or(err, q.put(b, r))
		}
	}
	r.State, r.Started = Active, now
	r.Attempts++
	r.Token++
	return r.claimed(), true, q.put(b, r)
}

// errEnded says that the holder has ended the attempt already.
var errEnded = fmt.Errorf("%w: its attempt has ended", ErrLost)

// held changes a job that its holder still has.
func (q *Queue) held(ctx context.Context, j *Job, change func(b *store.Batch, r *record) error) error {
	key, err := keyOf(j.ID)
	if err != nil {
		return err
	}
	return q.g.Update(ctx, func(b *store.Batch) error {
		r, err := decode(b.Get(ctx, key))
		switch {
		case errors.Is(err, store.ErrNotFound), err == nil && (r.Token != j.Token || r.Token == 0):
			return fmt.Errorf("%w: %s", ErrLost, j.ID)
		case err != nil:
			return err
		case r.State != Active:
			return errEnded
		}
		if err := change(b, r); err != nil {
			return err
		}
		return q.put(b, r)
	})
}

// Heartbeat renews the lease of a job; ErrLost if it is no longer held.
func (q *Queue) Heartbeat(ctx context.Context, j Job) error {
	return q.held(ctx, &j, func(*store.Batch, *record) error { return nil })
}

// End ends the attempt at a job in one commit: it keeps what the holder says in State, Summary and Usage,
// adds up to 64 follow-ups (Add others before, with a Key), as children of the job and in its scope unless
// they name one, and logs the cycle, with the Model. The package says what becomes of the job. Where there is
// a failure the State does not count, a Usage in a *[reason.Error] does, and follow-ups are not added.
//
// End returns ErrLost if the job is no longer held, and an error that wraps store.ErrInvalid, with nothing
// changed, if the state is none or a follow-up cannot be added. After any other error it may be called again:
// a second End of an attempt does nothing.
func (q *Queue) End(ctx context.Context, j Job, failure error, followups ...Draft) error {
	if j.State == Active || j.State == "" {
		j.State = Completed
	}
	if err := cmp.Or(j.State.check(), store.Limit("follow-ups", len(followups), maxFollowups)); err != nil {
		return err
	}
	if failure != nil {
		followups, j.State, j.Summary = nil, Failed, failure.Error()
	}
	typed, _ := errors.AsType[*reason.Error](failure)
	what := cmp.Or(typed, new(reason.Error))
	j.Usage = j.Usage.Add(what.Usage)
	drafts := slices.Clone(followups)
	for i := range drafts {
		d := &drafts[i]
		d.Parent, d.Scope = j.ID, cmp.Or(d.Scope, j.Scope)
		d.Source = cmp.Or(d.Source, fence.Clip("job:"+j.ID, maxSource))
		if err := d.prepare(q.o.Sanitizer); err != nil {
			return fmt.Errorf("follow-up %d: %w", i+1, err)
		}
	}
	j.Summary = fence.Clip(q.o.Sanitizer.Prose(j.Summary), maxText)
	j.Model = fence.Clip(q.o.Sanitizer.Prose(j.Model), store.MaxID)
	err := q.held(ctx, &j, func(b *store.Batch, r *record) error {
		for _, d := range drafts {
			if _, _, err := q.add(ctx, b, d); err != nil {
				return err
			}
		}
		r.Summary, r.Usage, r.Ended = j.Summary, r.Usage.Add(j.Usage), q.o.Now().UTC()
		j.Started = r.Started
		if !r.outcome(&j, failure, what) {
			return nil
		}
		return q.log(b, r, &j)
	})
	if err == errEnded {
		return nil
	}
	return err
}

// outcome says what becomes of a job whose attempt has ended, with a failure or as its holder says, and
// corrects the State. It reports whether the attempt is a cycle. First counts what an error says of itself,
// by its type and never by its words, then whether attempts are left, then the State.
func (r *record) outcome(said *Job, failure error, what *reason.Error) (cycle bool) {
	now, wait := r.Ended, min(what.Wait, maxPause)
	switch {
	case what.Class == reason.RateLimited && now.Sub(cmp.Or(r.Due, r.Created)) < patience:
		said.State = Pending
		r.giveBack(Pending, now.Add(max(wait, pause)))
	case what.Class == reason.Permission, what.Class == reason.Permanent:
		r.State = Failed // also one that comes again: a person has to act
	case failure != nil && r.Attempts < r.MaxAttempts:
		wait = max(wait, min(backoff<<min(20, 2*(r.Attempts-1)), maxBackoff))
		said.State, r.State, r.At = Pending, Pending, now.Add(wait)
	case said.State.ended(), said.State == Blocked && r.Cron != "": // it comes again without a person
		r.end(said.State, now)
	default:
		at := cmp.Or(said.At, now.Add(backoff))
		if soon := now.Add(time.Second); at.Before(soon) { // so that others have their turn
			at = soon
		}
		r.giveBack(said.State, at)
		return said.State != Pending || said.Usage != nil // else it was looked at
	}
	return true
}

// Update has f change a job, as a person does: its texts, where a [secret NAME] stays, its priority, time,
// schedule or state, and returns it. To end an active job, or to set it aside, takes it from its holder. A
// state of Pending tries the job again, with all its attempts, and does one that was Completed again, with
// all its steps. ID, Key, Scope, Parent, times and counts stay; another Input is store.ErrInvalid where its
// round has begun. f may run again if others change it. No such job wraps store.ErrNotFound.
func (q *Queue) Update(ctx context.Context, id string, f func(*Job) error) (Job, error) {
	for try := 1; ; try++ {
		r, err := q.load(ctx, id)
		if err != nil {
			return Job{}, err
		}
		j := r.Job
		j.Usage = j.Usage.Since(new(reason.Usage)) // a copy: f must not change that of r
		_, err = call.Do(ctx, 0, func(context.Context) (bool, error) { return true, f(&j) })
		if err == nil {
			err = q.revise(r, &j)
		}
		if err == nil {
			err = q.g.Update(ctx, func(b *store.Batch) error {
				if now, err := b.Get(ctx, r.key); err != nil || now.Rev != r.rev {
					return cmp.Or(err, store.ErrConflict)
				}
				return q.put(b, r)
			})
		}
		if err == nil {
			return r.Job, nil
		} else if !errors.Is(err, store.ErrConflict) || try == 8 {
			return Job{}, fmt.Errorf("queue: job %q: %w", id, err)
		}
	}
}

// revise takes over what a person has changed, if it can be.
func (q *Queue) revise(r *record, j *Job) error {
	j.Key, j.Scope, j.Parent = r.Key, r.Scope, r.Parent
	same := string(j.Input) == string(r.Input) // also where more is cleaned of it today
	if err := errors.Join(j.prepare(q.o.Sanitizer.KeepPlaceholders()), j.State.check()); err != nil {
		return err
	}
	if !same && string(j.Input) != string(r.Input) && !r.Started.IsZero() && r.State != Completed {
		return fmt.Errorf("queue: %w: it has begun with its Input: add another job for another", store.ErrInvalid)
	}
	j.Summary = fence.Clip(q.o.Sanitizer.KeepPlaceholders().Prose(j.Summary), maxText)
	now, was, again := q.o.Now().UTC(), r.State, !j.At.Equal(r.At) || j.Cron != r.Cron
	if j.Cron != r.Cron && j.Cron != "" && j.At.Equal(r.At) {
		j.At = time.Time{}
	}
	r.Draft, r.State, r.Summary = j.Draft, j.State, j.Summary
	if r.State != was {
		switch {
		case r.State == Active:
			return fmt.Errorf("queue: %w: a job becomes active by a claim", store.ErrInvalid)
		case r.State == Pending:
			r.Attempts = 0
			if !again { // then at its time: At is some 30 s after it was set aside
				r.At = slices.MaxFunc([]time.Time{r.Due, now}, time.Time.Compare)
			}
			if was == Completed {
				r.Round, r.Usage, r.Started = r.Round+1, nil, time.Time{}
			}
		case r.State.ended():
			r.Ended = now
		}
		if was == Active {
			r.Token++
		}
	}
	if r.State == Pending && again {
		return r.schedule(now)
	}
	return nil
}

// Sense has a sensor look, such as at an inbox, if its last look was that long ago, and adds the jobs that
// read returns, with the source "sensor:NAME". A Draft's Key keeps a signal that is seen twice from being two
// jobs. It returns those that are new; nil without an error where it is not time yet.
//
// A host calls it once a minute for each sensor, in a goroutine of its own, as one may hang. Its last look is
// in the store: it keeps its cadence over restarts, and of several processes one looks. After an error the
// jobs behind the last that was added are not there: read leaves a signal where it is until its job is there.
func (q *Queue) Sense(
	ctx context.Context, name string, every time.Duration, read func(context.Context) ([]Draft, error),
) (added []Job, err error) {
	if store.CheckID(name) != nil || every < time.Second || read == nil {
		return nil, fmt.Errorf("queue: %w: sensor %q needs a name, 1 s or more, and read", store.ErrInvalid, name)
	}
	due, key := false, store.Scope("").Key(sensorKind, name)
	err = q.g.Update(ctx, func(b *store.Batch) error {
		last, c, err := codec.Load[time.Time](ctx, b, key)
		now := q.o.Now().UTC()
		due = err == nil && (now.Sub(last) >= every || last.After(now)) // also where the clock was set back
		if !due {
			return err
		}
		return codec.Put(b, key, now, c)
	})
	if err != nil || !due {
		return nil, err
	}
	drafts, err := call.Do(ctx, max(every, time.Minute), read)
	for _, d := range drafts {
		d.Source = fence.Clip("sensor:"+name, maxSource)
		j, isNew, wrong := q.Add(ctx, d)
		if isNew {
			added = append(added, j)
		}
		err = errors.Join(err, wrong)
	}
	if err != nil {
		err = fmt.Errorf("queue: sensor %q: %w", name, err)
	}
	return added, err
}

// Get returns a job, or an error that wraps store.ErrNotFound.
func (q *Queue) Get(ctx context.Context, id string) (Job, error) {
	r, err := q.load(ctx, id)
	return r.Job, err
}

func (q *Queue) load(ctx context.Context, id string) (*record, error) {
	key, err := keyOf(id)
	if err != nil {
		return new(record), err
	}
	r, err := decode(q.g.Store().Get(ctx, key))
	if err != nil {
		return r, fmt.Errorf("queue: job %q: %w", id, err)
	}
	return r, nil
}

// List yields the jobs of a scope and of those below it, by scope and then by id: those without a Key in the
// order in which they were added. With states it yields those alone. It ends after the first error.
func (q *Queue) List(ctx context.Context, scope store.Scope, states ...State) iter.Seq2[Job, error] {
	return q.each(ctx, scope, jobKind, "", states)
}

// Cycles yields the attempts that ended at or after a time, for jobs of a scope and of those below it, by
// scope and then in their order. Each is the job as it was then, with the Model and Usage of that attempt,
// the first line of its Summary, and no Description and Input. One that was given back unused is left out.
func (q *Queue) Cycles(ctx context.Context, scope store.Scope, since time.Time) iter.Seq2[Job, error] {
	return q.each(ctx, scope, cycleKind, stampOf(since), nil)
}

// each yields the jobs of a kind of keys, from those after an id on.
func (q *Queue) each(
	ctx context.Context, scope store.Scope, kind, after string, states []State,
) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		if err := q.g.Refresh(ctx); err != nil { // other processes may have jobs in other scopes
			yield(Job{}, err)
			return
		}
		q.mu.Lock()
		scopes := slices.Sorted(maps.Keys(q.scopes))
		q.mu.Unlock()
		for _, s := range scopes {
			if scope != "" && !scope.Contains(s) { // the empty one, the tenant's own, has all
				continue
			}
			prefix := s.Key(kind, "")
			for e, err := range q.g.Store().Scan(ctx, store.Range{Prefix: prefix, After: prefix + after}) {
				if err == nil && isStep(e.Key[len(prefix):]) {
					continue
				}
				r, err := decode(e, err)
				if err == nil && len(states) > 0 && !slices.Contains(states, r.State) {
					continue
				}
				if !yield(r.Job, err) || err != nil {
					return
				}
			}
		}
	}
}

// Sweep deletes what has ended before a time: jobs with their steps and keys, and cycles; and the steps of
// earlier rounds of jobs that come again. It returns how many records. Dispatch has it delete every hour what
// has ended 90 days ago; it reads as much as Open.
func (q *Queue) Sweep(ctx context.Context, before time.Time) (swept int, err error) {
	var job *record // whose steps come next; nil: they go with it
	var damaged error
	entries := codec.Scan(ctx, q.g.Store(), cycleKind, jobKind)
	swept, err = codec.Sweep(ctx, q.g, entries, func(e store.Entry) (old bool) {
		_, kind, id, _ := store.ParseKey(e.Key)
		switch {
		case damaged != nil: // nobody knows whose steps follow
		case kind == cycleKind:
			old = id < stampOf(before)
		case !isStep(id):
			job, damaged = decode(e, nil)
			if old = damaged == nil && job.State.ended() && job.Ended.Before(before); old {
				job = nil
			}
		default:
			old = job == nil || !strings.HasPrefix(e.Key, job.steps())
		}
		return old
	}, false) // a job that somebody has taken up again stays
	return swept, cmp.Or(err, damaged)
}
