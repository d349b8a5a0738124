package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/arc-learn/arc/next/internal/call"
	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/redact"
	"github.com/arc-learn/arc/next/store"
)

// Options of a Queue. Nil and the zero value are the defaults.
type Options struct {
	Now       func() time.Time // nil: time.Now
	Lease     time.Duration    // how long a holder that is not heard of keeps its job; 0: 30 s
	Retention time.Duration    // of ended jobs, their keys, and cycles; 0: 90 days

	// Route names the model for a priority, for jobs that name none. It is called at Open, once for each priority.
	Route func(priority int) (model string)

	// Admit says how many more jobs Dispatch may start now, e.g. by what is left of a budget. It is asked again after
	// a second. nil: as many as there are workers.
	Admit func() int

	// Drain is how long Dispatch lets jobs under way go on after its context has ended; 0: 30 s, below 0: not at all.
	Drain time.Duration

	Sanitizer *redact.Sanitizer // cleans every text; nil: redact.New(nil)
	Logger    *slog.Logger      // nil: nobody is told
}

// Queue has the jobs of a tenant. It may be used concurrently, also by several processes on one store.
type Queue struct {
	g      *store.Group
	o      Options
	models [lowest + 1]string

	mu     sync.Mutex
	index  index
	scopes map[store.Scope]bool // that have jobs, or had
	stamp  int64                // Created of the newest job of this Queue
	news   chan struct{}        // closed when the index changes; nil: nobody waits
}

// Open returns the Queue of a tenant over its store. The Group is the tenant's, shared with its other parts, or
// store.NewGroup(st) for a Queue of its own.
func Open(ctx context.Context, g *store.Group, o *Options) (*Queue, error) {
	q := &Queue{g: g, index: newIndex(), scopes: map[store.Scope]bool{}}
	if o != nil {
		q.o = *o
	}
	if q.o.Now == nil {
		q.o.Now = time.Now
	}
	if q.o.Sanitizer == nil {
		q.o.Sanitizer = redact.New(nil)
	}
	if q.o.Logger == nil {
		q.o.Logger = slog.New(slog.DiscardHandler)
	}
	q.o.Lease = cmp.Or(q.o.Lease, 30*time.Second)
	q.o.Retention = cmp.Or(q.o.Retention, 90*24*time.Hour)
	q.o.Drain = cmp.Or(q.o.Drain, 30*time.Second)
	if q.o.Lease < 0 || q.o.Retention < 0 {
		return nil, fmt.Errorf("%w: lease or retention is negative", ErrInvalid)
	}
	for p := 1; p <= lowest && q.o.Route != nil; p++ {
		model, err := call.Do(ctx, 0, func(context.Context) (string, error) { return q.o.Route(p), nil })
		if err != nil {
			return nil, fmt.Errorf("queue: route: %w", err)
		}
		q.models[p] = model
	}
	if err := g.Refresh(ctx); err != nil { // marks where other processes' changes begin
		return nil, fmt.Errorf("queue: %w", err)
	}
	g.Follow("s/", q.apply)
	for e, err := range g.Store().Scan(ctx, store.Range{Prefix: "s/"}) {
		if err != nil {
			return nil, fmt.Errorf("queue: %w", err)
		}
		q.apply(e)
	}
	return q, nil
}

// apply takes in an entry as it stands in the store: at Open, after a conflict, from another process.
func (q *Queue) apply(e store.Entry) {
	scope, kind, _, ok := store.ParseKey(e.Key)
	if !ok || kind != jobKind && kind != cycleKind {
		return
	}
	var h head
	if kind == jobKind && !e.Deleted {
		if err := codec.Unmarshal(e.Value, &h); err != nil {
			q.o.Logger.Warn("queue: a job cannot be read and is left alone", "key", e.Key, "error", err)
			return
		}
	}
	if e.Deleted {
		q.forget(e.Key)
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.scopes[scope] = true; kind == jobKind {
		q.stamp = max(q.stamp, h.Created.UnixNano())
		q.publish(e.Key, e.Rev, h)
	}
}

// forget takes a job out of the index.
func (q *Queue) forget(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.index.remove(key)
}

// publish makes what a record holds known to claims. The caller has the lock.
func (q *Queue) publish(key string, rev store.Revision, h head) {
	q.index.set(key, rev, h, q.o.Now(), q.o.Lease)
	if q.news != nil {
		close(q.news)
		q.news = nil
	}
}

// listen returns a channel that is closed when the index changes.
func (q *Queue) listen() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.news == nil {
		q.news = make(chan struct{})
	}
	return q.news
}

// commit is Group.Update, again after what others have written was read where they were faster each time.
func (q *Queue) commit(ctx context.Context, f func(b *store.Batch) error) error {
	for try := 1; ; try++ {
		err := q.g.Update(ctx, f)
		if !errors.Is(err, store.ErrConflict) || try == maxTries {
			return err
		}
		if err := q.g.Refresh(ctx); err != nil {
			return err
		}
	}
}

// record is a job as a commit has found it.
type record struct {
	*Job
	key   string
	value []byte
	rev   store.Revision  // 0: staged by an earlier part of the commit, or not there
	cond  store.Condition // on which it may be written
}

// read returns the record of a job as it will be before the part of the commit that reads it.
func read(ctx context.Context, b *store.Batch, key string) (*record, error) {
	e, err := b.Get(ctx, key)
	r := &record{Job: new(Job), key: key, value: e.Value, rev: e.Rev}
	if e.Rev != 0 {
		r.cond = store.At(e.Rev)
	}
	if err == nil {
		err = codec.Unmarshal(e.Value, r.Job)
	}
	return r, err
}

// put stages a record.
func (q *Queue) put(b *store.Batch, r *record) error {
	value, err := codec.Marshal(r.Job)
	if err != nil {
		return err
	}
	if err := b.Put(r.key, value, r.cond); err != nil {
		return err
	}
	h, scope := r.head(), r.Scope
	b.After(func(rev store.Revision) {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.scopes[scope] = true
		q.publish(r.key, rev, h)
	})
	return nil
}

// log stages the entry of an attempt that has ended.
func (q *Queue) log(b *store.Batch, j *Job, now time.Time, usage *reason.Usage) error {
	value, err := codec.Marshal(j.cycle(now, usage))
	if err != nil {
		return err
	}
	_, rest, err := parse(j.ID)
	if err != nil {
		return err
	}
	return b.Put(j.Scope.Key(cycleKind, fmt.Sprintf("%s-%s-%d", stampOf(now), rest, j.Token)), value, store.Any)
}

// stampOf returns a time in a form that sorts.
func stampOf(t time.Time) string {
	return fmt.Sprintf("%013s", strconv.FormatInt(max(0, t.UnixNano()), 36))
}

// Add adds a job and returns it once that is durable. Where its Key names a job that is there, that one is returned
// as it stands, and added is false. A Draft that cannot be added is an error that wraps ErrInvalid.
func (q *Queue) Add(ctx context.Context, d Draft) (j Job, added bool, err error) {
	d.Skills, d.Input = slices.Clone(d.Skills), slices.Clone(d.Input)
	if err := d.prepare(q.o.Sanitizer); err != nil {
		return Job{}, false, err
	}
	err = q.commit(ctx, func(b *store.Batch) error {
		got, isNew, err := q.add(ctx, b, d)
		if err == nil {
			j, added = *got, isNew
		}
		return err
	})
	return j, added, err
}

// add stages a prepared draft.
func (q *Queue) add(ctx context.Context, b *store.Batch, d Draft) (*Job, bool, error) {
	now := q.o.Now().UTC()
	q.mu.Lock()
	q.stamp = max(q.stamp+1, now.UnixNano()) // two jobs of a Queue never have one time
	created := time.Unix(0, q.stamp).UTC()
	q.mu.Unlock()
	j := &Job{Draft: d, ID: idOf(&d, created), State: Pending, Created: created}
	key, err := keyOf(j.ID)
	if err == nil && d.Key != "" {
		old, err := read(ctx, b, key)
		if !errors.Is(err, store.ErrNotFound) {
			return old.Job, false, err
		}
	}
	if err == nil {
		j.Depth, err = depth(ctx, b, d.Parent)
	}
	if err == nil {
		j.At, j.Next, err = d.first(now)
	}
	if err != nil {
		return nil, false, err
	}
	return j, true, q.put(b, &record{Job: j, key: key, cond: store.Absent})
}

// depth returns the number of parents above a job. A parent that the retention has taken counts as one.
func depth(ctx context.Context, b *store.Batch, parent string) (int, error) {
	if parent == "" {
		return 0, nil
	}
	key, err := keyOf(parent)
	if err != nil {
		return 0, err
	}
	r, err := read(ctx, b, key)
	if errors.Is(err, store.ErrNotFound) {
		return 1, nil
	}
	if err == nil && r.Depth >= maxDepth {
		err = fmt.Errorf("%w: more than %d parents", ErrInvalid, maxDepth)
	}
	return r.Depth + 1, err
}

// Claim takes the first job that is due, for a lease; ErrEmpty if none is. Who claims it ends it by Done or Fail.
func (q *Queue) Claim(ctx context.Context) (Job, error) {
	jobs, err := q.claim(ctx, 1)
	if err == nil && len(jobs) == 0 { // other processes may have added some
		if err = q.g.Refresh(ctx); err == nil {
			jobs, err = q.claim(ctx, 1)
		}
	}
	if err == nil && len(jobs) == 0 {
		err = ErrEmpty
	}
	if err != nil {
		return Job{}, err
	}
	return jobs[0], nil
}

// claim takes up to n jobs in one commit.
func (q *Queue) claim(ctx context.Context, n int) (jobs []Job, err error) {
	if n < 1 {
		return nil, nil
	}
	var taken []*item
	release := func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		for _, it := range taken {
			it.taken = false
		}
		taken = nil
	}
	defer release()
	err = q.g.Update(ctx, func(b *store.Batch) error {
		release()
		jobs = nil
		now := q.o.Now().UTC()
		for len(jobs) < n {
			q.mu.Lock()
			q.index.advance(now)
			it := q.index.take()
			q.mu.Unlock()
			if it == nil {
				return nil
			}
			taken = append(taken, it)
			j, err := q.start(ctx, b, it, now)
			if err != nil {
				return err
			}
			if j != nil {
				jobs = append(jobs, *j)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return jobs, nil
}

// start stages the claim of a job, or its end where the last lease of it ran out; nil: it cannot be claimed.
func (q *Queue) start(ctx context.Context, b *store.Batch, it *item, now time.Time) (*Job, error) {
	r, err := read(ctx, b, it.key)
	if err != nil || r.rev != it.rev { // others were faster, or the record is gone or damaged
		q.forget(it.key)
		if err == nil && r.rev != 0 {
			q.apply(store.Entry{Key: it.key, Value: r.value, Rev: r.rev})
		} else if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrDamaged) {
			return nil, err
		}
		return nil, nil
	}
	if r.State == Active {
		r.Error = "the lease ran out"
		lost := *r.Job
		if lost.State = Pending; r.Attempts >= r.MaxAttempts {
			r.end(Failed, now)
			lost.State = r.State
		}
		if err := q.log(b, &lost, now, nil); err != nil {
			return nil, err
		}
		if r.State != Active {
			return nil, q.put(b, r)
		}
	}
	r.State, r.Started, r.Next = Active, now, time.Time{}
	r.Attempts++
	r.Token++
	if r.Model == "" {
		r.Model = q.models[r.Priority]
	}
	return r.Job, q.put(b, r)
}

// held changes a job that its holder still has.
func (q *Queue) held(ctx context.Context, j *Job, change func(b *store.Batch, r *record) error) error {
	key, err := keyOf(j.ID)
	if err != nil {
		return err
	}
	return q.commit(ctx, func(b *store.Batch) error {
		r, err := read(ctx, b, key)
		if errors.Is(err, store.ErrNotFound) || err == nil && (r.State != Active || r.Token != j.Token) {
			return fmt.Errorf("%w: %s", ErrLost, j.ID)
		} else if err != nil {
			return err
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

// Done ends a job's attempt, adds the follow-ups and logs the cycle, in one commit. It returns ErrLost if the job is
// no longer held, and an error that wraps ErrInvalid, with nothing changed, if a follow-up cannot be added.
func (q *Queue) Done(ctx context.Context, j Job, res Result) error {
	state := cmp.Or(res.State, Completed)
	if !slices.Contains([]State{Completed, Failed, Blocked, Parked, Pending}, state) {
		return fmt.Errorf("%w: result state %q", ErrInvalid, state)
	}
	if len(res.Followups) > maxFollowups {
		return fmt.Errorf("%w: %d follow-ups, over %d", ErrInvalid, len(res.Followups), maxFollowups)
	}
	drafts := slices.Clone(res.Followups)
	for i := range drafts {
		d := &drafts[i]
		d.Parent, d.Source = j.ID, cmp.Or(d.Source, cut("job:"+j.ID, store.MaxID))
		d.Scope = cmp.Or(d.Scope, j.Scope)
		if err := d.prepare(q.o.Sanitizer); err != nil {
			return fmt.Errorf("follow-up %d: %w", i+1, err)
		}
	}
	summary, detail := cut(q.o.Sanitizer.Prose(res.Summary), maxSummary), cut(q.o.Sanitizer.Prose(res.Detail), maxText)
	return q.held(ctx, &j, func(b *store.Batch, r *record) error {
		for _, d := range drafts {
			if _, _, err := q.add(ctx, b, d); err != nil {
				return err
			}
		}
		now := q.o.Now().UTC()
		r.Summary, r.Detail, r.Error, r.Usage = summary, detail, "", r.Usage.Add(res.Usage)
		if state.ended() {
			r.end(state, now)
		} else {
			r.wait(state, cmp.Or(res.At, now.Add(backoff)))
		}
		return q.log(b, r.Job, now, res.Usage)
	})
}

// wait takes an attempt back, and sets a job aside, or until a time.
func (j *Job) wait(state State, until time.Time) {
	j.State = state
	j.Attempts--
	if state == Pending {
		j.Next = until.UTC()
	}
}

const (
	backoff    = 30 * time.Second // before the second attempt; four times as long before each further one
	maxBackoff = time.Hour
	pause      = time.Minute // of a rate limit that names no wait
	maxPause   = 24 * time.Hour
)

// Fail ends a job's attempt that failed with an error, and logs the cycle: the job is tried again later, or given
// up. What the error took counts where it is a *[reason.Error] with a Usage. It returns ErrLost if the job is no
// longer held.
func (q *Queue) Fail(ctx context.Context, j Job, failure error) error {
	text, class := "failed", reason.ErrorClass("")
	var wait time.Duration
	var usage *reason.Usage
	if failure != nil {
		text = cut(q.o.Sanitizer.Prose(failure.Error()), maxSummary)
	}
	if c := reason.Classify(failure); c != nil {
		class, usage, wait = c.Class, c.Usage, min(cmp.Or(max(0, c.Wait), pause), maxPause)
	}
	return q.held(ctx, &j, func(b *store.Batch, r *record) error {
		now := q.o.Now().UTC()
		r.Error, r.Usage = text, r.Usage.Add(usage)
		switch {
		case class == reason.RateLimited:
			r.wait(Pending, now.Add(wait))
		case class == reason.Permission, class == reason.Permanent:
			r.State, r.Ended = Failed, now // also one that comes again: a person has to act
		case r.Attempts >= r.MaxAttempts:
			r.end(Failed, now)
		default:
			r.State, r.Next = Pending, now.Add(min(backoff<<min(20, 2*(r.Attempts-1)), maxBackoff))
		}
		return q.log(b, r.Job, now, usage)
	})
}

const maxTries = 8 // of a change of what others change, too

// Update has f change a job, as a person does: its texts, priority, time, schedule or state, and returns it as it is
// then. To end an active job, or to set it aside, takes it from its holder. A state of Pending has the job tried
// again, with all its attempts. ID, Key, Scope, Parent, Usage and the counts stay as they were. f may be called more
// than once, if others change the job. No such job is an error that wraps store.ErrNotFound.
func (q *Queue) Update(ctx context.Context, id string, f func(*Job) error) (Job, error) {
	for try := 1; ; try++ {
		j, key, rev, err := q.load(ctx, id)
		if err != nil {
			return Job{}, err
		}
		was := j
		was.Usage = j.Usage.Add(nil)
		if _, err = call.Do(ctx, 0, func(context.Context) (bool, error) { return true, f(&j) }); err != nil {
			return Job{}, err
		}
		if err = q.revise(&was, &j); err != nil {
			return Job{}, fmt.Errorf("queue: job %q: %w", id, err)
		}
		err = q.g.Update(ctx, func(b *store.Batch) error {
			if now, err := b.Get(ctx, key); err != nil || now.Rev != rev {
				return cmp.Or(err, store.ErrConflict)
			}
			return q.put(b, &record{Job: &j, key: key, cond: store.At(rev)})
		})
		if err == nil {
			return j, nil
		} else if !errors.Is(err, store.ErrConflict) || try == maxTries {
			return Job{}, fmt.Errorf("queue: job %q: %w", id, err)
		}
	}
}

// revise makes of what a person has changed a job that can be.
func (q *Queue) revise(was, j *Job) error {
	now := q.o.Now().UTC()
	j.ID, j.Key, j.Scope, j.Parent, j.Depth, j.Round = was.ID, was.Key, was.Scope, was.Parent, was.Depth, was.Round
	j.Created, j.Usage, j.Token, j.Attempts, j.Next = was.Created, was.Usage, was.Token, was.Attempts, was.Next
	if err := j.prepare(q.o.Sanitizer); err != nil {
		return err
	}
	j.Summary, j.Detail = cut(q.o.Sanitizer.Prose(j.Summary), maxSummary), cut(q.o.Sanitizer.Prose(j.Detail), maxText)
	j.Error = cut(q.o.Sanitizer.Prose(j.Error), maxSummary)
	if j.Priority != was.Priority && j.Model == q.models[was.Priority] {
		j.Model = "" // it was routed by the former priority
	}
	moved := j.State != was.State
	switch {
	case !slices.Contains([]State{Pending, Active, Completed, Failed, Blocked, Parked}, j.State):
		return fmt.Errorf("%w: state %q", ErrInvalid, j.State)
	case moved && j.State == Active:
		return fmt.Errorf("%w: a job becomes active by a claim", ErrInvalid)
	case moved && j.State == Pending:
		j.Attempts, j.Ended = 0, time.Time{}
	case moved && j.State.ended():
		j.Ended = now
	}
	if moved && was.State == Active {
		j.Token++
	}
	if j.State != Pending {
		return nil
	}
	if rescheduled := j.Cron != was.Cron || j.Every != was.Every; rescheduled && j.At.Equal(was.At) {
		j.At = time.Time{}
	}
	var err error
	if moved || !j.At.Equal(was.At) {
		j.At, j.Next, err = j.first(now)
	}
	return err
}

// Get returns a job, or an error that wraps store.ErrNotFound.
func (q *Queue) Get(ctx context.Context, id string) (Job, error) {
	j, _, _, err := q.load(ctx, id)
	return j, err
}

// load returns a job with its key and revision.
func (q *Queue) load(ctx context.Context, id string) (j Job, key string, rev store.Revision, err error) {
	var e store.Entry
	if key, err = keyOf(id); err == nil {
		e, err = q.g.Store().Get(ctx, key)
	}
	if err == nil {
		err = codec.Unmarshal(e.Value, &j)
	}
	if err != nil {
		return Job{}, "", 0, fmt.Errorf("queue: job %q: %w", id, err)
	}
	return j, key, e.Rev, nil
}

// List yields the jobs of a scope and of those below it, by scope and then by id: those without a Key in the order
// in which they were added. With states it yields those alone. It ends after the first error.
func (q *Queue) List(ctx context.Context, scope store.Scope, states ...State) iter.Seq2[Job, error] {
	return each(ctx, q, scope, jobKind, "", func(j *Job) bool {
		return len(states) == 0 || slices.Contains(states, j.State)
	})
}

// Cycles yields the attempts that ended at or after a time, for jobs of a scope and of those below it: by scope and
// then in their order.
func (q *Queue) Cycles(ctx context.Context, scope store.Scope, since time.Time) iter.Seq2[Cycle, error] {
	after := ""
	if !since.IsZero() {
		after = stampOf(since)
	}
	return each(ctx, q, scope, cycleKind, after, func(*Cycle) bool { return true })
}

// each yields the records of a kind that fit.
func each[T any](ctx context.Context, q *Queue, scope store.Scope, kind, after string, fits func(*T) bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, s := range q.below(scope) {
			r := store.Range{Prefix: s.Prefix(kind)}
			if after != "" {
				r.After = r.Prefix + after
			}
			for e, err := range q.g.Store().Scan(ctx, r) {
				var v T
				if err == nil {
					err = codec.Unmarshal(e.Value, &v)
				}
				if err != nil || fits(&v) {
					if !yield(v, err) || err != nil {
						return
					}
				}
			}
		}
	}
}

// below returns the known scopes that are a scope or below it. The empty one is the tenant's own, and so has all.
func (q *Queue) below(scope store.Scope) []store.Scope {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := slices.Sorted(maps.Keys(q.scopes))
	return slices.DeleteFunc(all, func(s store.Scope) bool { return scope != "" && !scope.Contains(s) })
}

// Sweep deletes what has ended before the retention: jobs with their steps, and cycles. It returns how many records.
// Dispatch calls it every hour.
func (q *Queue) Sweep(ctx context.Context) (swept int, err error) {
	before := q.o.Now().Add(-q.o.Retention)
	for _, scope := range q.below("") {
		var old, steps []store.Entry
		rounds := map[string]string{}                                 // of jobs that stay
		for _, kind := range []string{cycleKind, stepKind, jobKind} { // steps first: theirs are all among the jobs then
			prefix := scope.Prefix(kind)
			for e, err := range q.g.Store().Scan(ctx, store.Range{Prefix: prefix}) {
				id := strings.TrimPrefix(e.Key, prefix)
				var h head
				if err == nil && kind == jobKind {
					err = codec.Unmarshal(e.Value, &h)
				}
				e.Value = nil
				switch {
				case err != nil:
					return swept, err
				case kind == stepKind:
					steps = append(steps, e)
				case kind == jobKind && !(h.State.ended() && h.Ended.Before(before)):
					rounds[id] = strconv.Itoa(h.Round)
				case kind == jobKind || id < stampOf(before):
					old = append(old, e)
				}
			}
		}
		for _, e := range steps {
			id, rest, _ := strings.Cut(strings.TrimPrefix(e.Key, scope.Prefix(stepKind)), "/")
			if round, _, _ := strings.Cut(rest, "/"); round != rounds[id] {
				old = append(old, e)
			}
		}
		for part := range slices.Chunk(old, 512) {
			err := q.g.Update(ctx, func(b *store.Batch) (err error) {
				for _, e := range part {
					err = cmp.Or(err, b.Delete(e.Key, store.At(e.Rev)))
				}
				return err
			})
			if err != nil && !errors.Is(err, store.ErrConflict) { // somebody has taken one up again: next time
				return swept, err
			} else if err == nil {
				swept += len(part)
			}
		}
	}
	return swept, nil
}
