package queue

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// Sensor looks at something from time to time, and has jobs enqueued for what it finds.
type Sensor struct {
	// Name is that of one sensor of the tenant. Required. The Source of its jobs is
	// "sensor:NAME".
	Name string
	// Every is the time from the begin of a reading to that of the next. 0: five minutes.
	Every time.Duration
	// Jitter bounds what chance adds to Every. 0: a tenth of it; negative: nothing.
	Jitter time.Duration
	// Timeout bounds a reading. 0: 90 seconds.
	Timeout time.Duration
	// Read looks, and should return when ctx ends. It gets the Cursor of the last
	// Reading that was confirmed, "" at first.
	Read func(ctx context.Context, cursor string) (Reading, error)
}

// Reading is what a Sensor has found.
type Reading struct {
	// Jobs are enqueued. Those whose Key has a job already are left out, so a sensor
	// that looks at a state, and not at what changes, gives each job a Key.
	Jobs []Draft
	// Cursor is what the next Read gets, such as how far this one came: at most 64 KiB,
	// without secrets. The commit that adds the jobs keeps it, so that of what a sensor
	// goes through in order nothing is enqueued twice, and nothing is left out.
	Cursor string
}

// SensorState is how a sensor stands.
type SensorState struct {
	Name string `cbor:"1,keyasint,omitempty"`
	// Token counts the readings that were begun, and Began is when the last was.
	Token uint64    `cbor:"2,keyasint,omitempty"`
	Began time.Time `cbor:"3,keyasint,omitzero"`
	// Lease is how long the reading under way may take; 0: none is.
	Lease time.Duration `cbor:"4,keyasint,omitempty"`
	// Due is when the next reading begins.
	Due time.Time `cbor:"5,keyasint,omitzero"`
	// Failures counts readings since the last that was confirmed, and Error says what
	// was wrong with the last; "": nothing.
	Failures int    `cbor:"6,keyasint,omitempty"`
	Error    string `cbor:"7,keyasint,omitempty"`
	// Cursor is that of the last Reading that was confirmed.
	Cursor string `cbor:"8,keyasint,omitempty"`
	// Kept names the jobs at the begin of the next Reading that are enqueued already: the
	// last did not fit into one commit, and broke off. "": none.
	Kept string `cbor:"9,keyasint,omitempty"`
}

// chained names jobs of a reading that follow those of another name.
func chained(name string, jobs []Draft) string {
	for i := range jobs {
		text, _ := json.Marshal(&jobs[i]) // it was enqueued, or is no name
		name = fmt.Sprintf("%x", sha256.Sum256(append([]byte(name), text...)))
	}
	return name
}

// Watch reads each of the sensors when it is due, until ctx ends. Sensors do not wait
// for one another. Several processes over a store may watch the same ones: before a
// reading its sensor is claimed, and in the commit that adds the jobs the reading
// is confirmed, so that one of them reads at a time, and what one that was killed
// has not confirmed is read again.
//
// A Read that fails, panics, or exceeds its Timeout adds nothing; of a Reading that cannot
// be enqueued whole, as where a Draft is none, at most what comes before is added. The next
// follows after Options.Backoff, twice as long after each further failure, up to an hour;
// after one that says permission denied (see act.Class), after Every, and an hour at least;
// after a rate limit when that says, within an hour; at once if the process was lost, while
// failures are fewer than Options.MaxAttempts. While a Read goes on after its Timeout it is
// not called again. The error says what is wrong with the sensors; what goes wrong later
// is logged. A nil log discards.
func (q *Queue) Watch(ctx context.Context, log *slog.Logger, sensors ...Sensor) error {
	sensors, err := readied(ctx, sensors)
	if err != nil {
		return err
	}
	log = guard.Logger(log)
	var all sync.WaitGroup
	for _, s := range sensors {
		all.Go(func() {
			for ctx.Err() == nil {
				found, wait, err := q.look(ctx, &s)
				if err != nil && ctx.Err() == nil {
					log.Error("a sensor failed", "sensor", s.Name, "error", err.Error())
				} else if len(found) > 0 {
					log.Info("a sensor found something", "sensor", s.Name, "jobs", len(found))
				}
				timer := time.NewTimer(wait)
				select {
				case <-ctx.Done():
				case <-timer.C:
				}
				timer.Stop()
			}
		})
	}
	all.Wait()
	return nil
}

// Sense reads those of the sensors that are due, once and side by side, and returns the
// jobs that were added: Watch for a host that has a timer of its own. The error joins those
// of readings that failed.
func (q *Queue) Sense(ctx context.Context, sensors ...Sensor) (found []Job, err error) {
	if sensors, err = readied(ctx, sensors); err != nil {
		return nil, err
	}
	jobs, errs := make([][]Job, len(sensors)), make([]error, len(sensors))
	var all sync.WaitGroup
	for i := range sensors {
		all.Go(func() { jobs[i], _, errs[i] = q.look(ctx, &sensors[i]) })
	}
	all.Wait()
	return slices.Concat(jobs...), errors.Join(errs...)
}

// Sensors yields how the sensors of the tenant stand, by name.
func (q *Queue) Sensors(ctx context.Context) iter.Seq2[SensorState, error] {
	return decoded(q, ctx, sensorKeys, "", func(*SensorState) bool { return true })
}

// readied returns sensors with their defaults, or all that is wrong with them.
func readied(ctx context.Context, sensors []Sensor) ([]Sensor, error) {
	errs := []error{store.CheckContext(ctx)}
	sensors = slices.Clone(sensors)
	names := make(map[string]bool)
	for i := range sensors {
		s := &sensors[i]
		s.Every, s.Timeout = cmp.Or(s.Every, 5*time.Minute), cmp.Or(s.Timeout, 90*time.Second)
		s.Jitter = max(0, cmp.Or(s.Jitter, s.Every/10))
		err := key.CheckID("name", source(s.Name))
		switch {
		case err != nil:
		case s.Name == "" || names[s.Name]:
			err = errors.New("it has no name of its own")
		case s.Every < 0 || s.Timeout < 0:
			err = errors.New("a negative duration")
		case s.Read == nil:
			err = errors.New("it has no Read")
		}
		names[s.Name] = true
		if err != nil {
			errs = append(errs, fmt.Errorf("sensor %.256q: %w", s.Name, err))
		}
	}
	return sensors, errors.Join(errs...)
}

// source is the Draft.Source of a sensor's jobs.
func source(sensor string) string { return "sensor:" + sensor }

// due is when a sensor is to be read.
func (s *Sensor) due(st *SensorState, now time.Time) time.Time {
	switch often := st.Began.Add(s.Every + s.Jitter); {
	case st.Began.Sub(now) > max(s.Every, lookAgain): // the clock was put back
		return now
	case st.Failures == 0 && often.Before(st.Due): // it is read more often than before
		return often
	}
	return st.Due
}

// lookAgain bounds the wait between two looks at a sensor's state: clocks jump, and
// other processes are lost.
const lookAgain = time.Minute

// look reads a sensor if it is due and no one reads it, and returns the jobs that were
// added and how long to wait before the next look.
func (q *Queue) look(ctx context.Context, s *Sensor) (found []Job, wait time.Duration, err error) {
	defer func() {
		if errors.Is(err, store.ErrConflict) {
			wait, err = time.Millisecond, nil // another was faster
		} else if err != nil {
			err = fmt.Errorf("sensor %q: %w", s.Name, err)
		}
	}()
	st, rev, err := q.sensor(ctx, s.Name)
	if err != nil {
		return nil, lookAgain, err
	}
	now := q.o.Now().Round(0).UTC()
	if left := q.held(&st, rev, now); left > 0 {
		return nil, min(left, lookAgain), nil
	}
	if st.Lease > 0 {
		q.missed(s, &st, errExpired, now)
		if rev, err = q.restate(ctx, &st, rev); err != nil {
			return nil, lookAgain, err
		}
	}
	if left := s.due(&st, now).Sub(now); left > 0 {
		return nil, min(left, lookAgain), nil
	}
	st.Token, st.Began, st.Lease = st.Token+1, now, s.Timeout+q.o.LeaseTTL
	q.noted(s.Name, func(w *watched) { w.token = st.Token })
	if rev, err = q.restate(ctx, &st, rev); err != nil {
		return nil, lookAgain, err
	}
	r, err := q.consult(ctx, s, st.Cursor)
	// What was found is kept, also if ctx has ended meanwhile.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.o.LeaseTTL)
	defer cancel()
	if err == nil {
		found, rev, err = q.confirm(last, s, &st, rev, r)
	}
	switch {
	case err == nil || errors.Is(err, ErrLost):
	case ctx.Err() != nil:
		st.Lease = 0 // it is due as it was
		_, err = q.restate(last, &st, rev)
	default:
		q.missed(s, &st, err, q.o.Now().Round(0).UTC())
		// A conflict: it was confirmed without an answer, or another reads.
		if _, lost := q.restate(last, &st, rev); !errors.Is(lost, store.ErrConflict) {
			err = errors.Join(err, lost)
		}
	}
	return found, min(max(st.Due.Sub(q.o.Now()), time.Millisecond), lookAgain), err
}

// sensor returns how a sensor stands.
func (q *Queue) sensor(ctx context.Context, name string) (SensorState, store.Revision, error) {
	st := SensorState{Name: name}
	e, err := q.st.Get(ctx, q.under(sensorKeys, name))
	if errors.Is(err, store.ErrNotFound) {
		return st, 0, nil
	}
	if err == nil {
		err = codec.Decode(e, &st)
	}
	return st, e.Rev, err
}

// restate writes how a sensor stands, if it is still as it was at rev, with what else there
// is to write.
func (q *Queue) restate(
	ctx context.Context, st *SensorState, rev store.Revision, more ...store.Op,
) (store.Revision, error) {
	op, err := encoded(q.under(sensorKeys, st.Name), st, store.At(rev))
	if err != nil {
		return rev, err
	}
	return q.commitOps(ctx, append(more, op)...)
}

// noted changes what is remembered of a sensor.
func (q *Queue) noted(name string, change func(*watched)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.sensors[name] == nil {
		q.mu.sensors[name] = new(watched)
	}
	change(q.mu.sensors[name])
}

// held returns how long a reading under way may go on: until it has been seen for
// its Lease by the clock of this Queue.
func (q *Queue) held(st *SensorState, rev store.Revision, now time.Time) (left time.Duration) {
	q.noted(st.Name, func(w *watched) {
		if st.Lease == 0 || q.o.Alone && w.token != st.Token {
			return
		}
		if w.seen.rev != rev || now.Before(w.seen.since) {
			w.seen = sighting{rev, now}
		}
		left = w.seen.since.Add(st.Lease).Sub(now)
	})
	return left
}

// consult calls Read, unless its last call has not returned.
func (q *Queue) consult(ctx context.Context, s *Sensor, cursor string) (Reading, error) {
	busy := false
	q.noted(s.Name, func(w *watched) { busy, w.busy = w.busy, true })
	if busy {
		return Reading{}, guard.ErrDropped
	}
	over := func() { q.noted(s.Name, func(w *watched) { w.busy = false }) }
	var begun atomic.Bool // or given up before
	r, err := guard.Do(ctx, s.Timeout, func(ctx context.Context) (Reading, error) {
		if begun.Swap(true) {
			return Reading{}, guard.ErrDropped
		}
		defer over()
		return s.Read(ctx, cursor)
	})
	if !begun.Swap(true) {
		over()
	}
	return r, err
}

// missed takes down that a reading was not confirmed.
func (q *Queue) missed(s *Sensor, st *SensorState, why error, now time.Time) {
	st.Failures++
	st.Error, st.Lease = q.cleaned(guard.Error(why, act.ErrDenied).Error(), maxSummary), 0
	wait := q.backoff(st.Failures)
	switch retry, after := again(why); {
	case errors.Is(why, errExpired) && st.Failures < q.o.MaxAttempts:
		wait = 0
	case !retry:
		wait = max(s.Every, maxRetry)
	case after > 0:
		wait = min(after, maxRetry)
	}
	st.Due = now.Add(wait + q.chance(min(s.Jitter, wait)))
}

// chance draws a duration up to a limit.
func (q *Queue) chance(limit time.Duration) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return time.Duration(q.mu.draw.Uint64() % uint64(limit+1))
}

// confirm ends a reading in the commit that adds its jobs. What does not fit into one
// is added before, while the reading is still the caller's.
func (q *Queue) confirm(
	ctx context.Context, s *Sensor, st *SensorState, rev store.Revision, r Reading,
) (found []Job, _ store.Revision, err error) {
	cursor := q.o.Sanitizer.Sanitize(strings.ToValidUTF8(r.Cursor, "\uFFFD"))
	if len(cursor) > maxText {
		return nil, rev, &store.LimitError{Field: "cursor", Limit: maxText, Got: len(cursor)}
	}
	at, name := 0, ""
	n, _ := fmt.Sscan(st.Kept, &at, &name)
	if n < 2 || at < 0 || at > len(r.Jobs) || chained("", r.Jobs[:at]) != name {
		at, name = 0, ""
	}
	for {
		ops, jobs, next, err := q.batch(ctx, st.Name, r.Jobs, at)
		if err != nil {
			return found, rev, err
		}
		to, more := *st, ""
		if next == len(r.Jobs) {
			to.Lease, to.Failures, to.Error, to.Cursor, to.Kept = 0, 0, "", cursor, ""
			to.Due = to.Began.Add(s.Every + q.chance(s.Jitter))
		} else {
			more = chained(name, r.Jobs[at:next])
			to.Kept = fmt.Sprint(next, " ", more)
		}
		kept, err := q.restate(ctx, &to, rev, ops...)
		if errors.Is(err, store.ErrConflict) {
			if _, is, lost := q.sensor(ctx, st.Name); lost == nil && is == rev {
				continue // a Key was taken, and the next try sees by which job
			}
			err = ErrLost
		}
		if err != nil {
			return found, rev, err
		}
		for i := range jobs {
			q.added(jobs[i].place())
		}
		found, rev, at, name, *st = append(found, jobs...), kept, next, more, to
		if st.Lease == 0 {
			return found, rev, nil
		}
	}
}

// batch returns the ops that add a sensor's jobs from one on, as many as fit into a
// commit, those jobs, and which is the next.
func (q *Queue) batch(
	ctx context.Context, sensor string, drafts []Draft, at int,
) (ops []store.Op, jobs []Job, next int, err error) {
	names, size := make(map[string]bool), 0
	for next = at; next < len(drafts); next++ {
		d := drafts[next]
		d.Source = source(sensor)
		j, err := q.begotten(ctx, d)
		if err != nil {
			return nil, nil, 0, fmt.Errorf("job %d: %w", next+1, err)
		}
		some, has, err := q.adding(ctx, &j)
		if err != nil {
			return nil, nil, 0, err
		}
		if has.ID != "" || j.Key != "" && names[j.Key] {
			continue
		}
		if size += sizeOf(some); size > store.MaxCommitBytes/2 || len(ops) > store.MaxCommitOps/2 {
			break
		}
		names[j.Key] = true
		ops, jobs = append(ops, some...), append(jobs, j)
	}
	return ops, jobs, next, nil
}
