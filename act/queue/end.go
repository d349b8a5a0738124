package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// End says what came of the attempt: the Result, or the error, beside which only the
// Usage counts. One commit ends the lease, moves the job on and enqueues what follows.
// It returns the job as it is then. The error is ErrLost if the lease was not the
// caller's any more, so that nothing has changed; and otherwise the store's: then End
// may be called again, and ErrLost says that the first call has succeeded after all,
// or that the lease has expired since.
func (l *Lease) End(ctx context.Context, r Result, err error) (Job, error) {
	return l.endIf(ctx, r, err, store.Any)
}

// maxRetry bounds the wait between attempts.
const maxRetry = time.Hour

// endIf is End while the lease is as a condition says.
func (l *Lease) endIf(ctx context.Context, r Result, why error, lease store.Condition) (Job, error) {
	q := l.q
	for {
		j, more := q.moved(&l.Job, r, why)
		ops, places, err := q.ending(ctx, l, &j, more, lease)
		if bad := (refusal{}); errors.As(err, &bad) {
			r = Result{State: Blocked, Usage: r.Usage, Summary: bad.Error(), Detail: r.Summary + "\n" + r.Detail}
			continue
		}
		if err == nil {
			_, err = q.commitOps(ctx, ops...)
		}
		if errors.Is(err, store.ErrConflict) {
			// The job has moved on; or a Key was taken, and the next try sees by which.
			_, rev, unread := q.stored(ctx, j.ID)
			if err = unread; err == nil && rev == l.rev && lease == store.Any {
				continue
			} else if err == nil || errors.Is(err, store.ErrNotFound) {
				return Job{}, ErrLost
			}
		}
		if err != nil {
			return Job{}, fmt.Errorf("end %q: %w", j.ID, err)
		}
		for _, p := range places {
			q.added(p)
		}
		return j, nil
	}
}

// refusal is the error of a follow-up that cannot be enqueued.
type refusal struct{ error }

// moved returns what an attempt makes of a job, and what follows from it.
func (q *Queue) moved(was *Job, r Result, err error) (j Job, more []Draft) {
	j = *was
	now := q.o.Now().Round(0).UTC()
	if r.Usage.Valid() {
		j.Usage = j.Usage.Add(r.Usage)
	}
	if err == nil && r.State != "" && r.State != Pending && r.State != Parked && !r.State.over() {
		err = fmt.Errorf("the handler returned the state %q", r.State)
	}
	if err != nil {
		err = guard.Error(err, act.ErrDenied)
		j.Error = q.cleaned(err.Error(), maxSummary)
		switch again, after := again(err); {
		case errors.Is(err, errCutOff):
			j.State = Pending // first in its list, as before
			j.Attempts--
		case after > 0:
			j.State, j.At = Pending, now.Add(min(after, maxRetry))
			j.Attempts--
		case !again || j.Attempts >= j.MaxAttempts:
			j.State, j.Ended = Failed, now
		case errors.Is(err, errExpired):
			j.State = Pending
		default:
			j.State, j.At = Pending, now.Add(q.backoff(j.Attempts))
		}
		return j, nil
	}
	j.Summary, j.Detail, j.Error = q.cleaned(r.Summary, maxSummary), q.cleaned(r.Detail, maxText), ""
	switch j.State = r.State; j.State {
	case Pending:
		j.At = timely(r.At.Round(0).UTC(), now)
		if r.At.Before(time.Unix(0, 0)) || r.At.After(latest) { // zero, or no time of a job
			j.At = now.Add(q.backoff(1))
		}
		j.Attempts--
	case Parked:
		j.Attempts--
	case Failed, Blocked:
		j.Ended = now
	default:
		j.State, j.Ended = Completed, now
	}
	if j.State.over() {
		more = r.Followups
	}
	return j, more
}

// again reports whether an error leaves another attempt to be made, and, if that is
// to spend none, after which time.
func again(err error) (bool, time.Duration) {
	if end, _ := act.Class(err); end == act.Denied {
		return false, 0
	}
	if limit, ok := errors.AsType[*act.RateLimitError](err); ok {
		return true, max(limit.After, time.Second)
	}
	if again, after := reason.Retryable(err); again && after > 0 {
		return true, min(max(after, time.Second), longestWait)
	}
	return true, 0
}

// longestWait bounds what a job waits for, so that its end is a time.
const longestWait = 365 * 24 * time.Hour

// backoff is the wait after a number of failures.
func (q *Queue) backoff(failures int) time.Duration {
	wait := min(q.o.Backoff, longestWait)
	for range failures - 1 {
		if wait >= maxRetry {
			break
		}
		wait = min(2*wait, maxRetry)
	}
	return wait
}

// ending returns the ops that end an attempt, and the places that they add.
func (q *Queue) ending(
	ctx context.Context, l *Lease, j *Job, more []Draft, lease store.Condition,
) (ops []store.Op, places []place, err error) {
	if ops, err = q.writing(j, store.At(l.rev)); err != nil {
		return nil, nil, err
	}
	ops = append(ops, store.Op{Key: q.under(leaseKeys, j.ID), Delete: true, If: lease})
	c := l.cycle(j)
	at := digits(c.Started.Add(c.Wall).UnixNano())
	op, err := encoded(q.under(cycleKeys, at, j.ID, fmt.Sprintf("%08x", j.Token)), c, store.Any)
	ops = append(ops, op)
	if j.State == Pending {
		places = append(places, j.place())
	}
	if err != nil || !j.State.over() {
		return ops, places, err
	}
	if j.Cron != "" {
		again := q.successor(j)
		some, err := q.heir(&again)
		if err != nil {
			return nil, nil, err
		}
		if ops = append(ops, some...); again.State == Pending {
			places = append(places, again.place())
		}
	}
	return q.following(ctx, j, more, ops, places)
}

// heir returns the ops that add a job which has the Key of one that ends in the same commit.
func (q *Queue) heir(j *Job) ([]store.Op, error) {
	ops, err := q.writing(j, store.Absent)
	if err == nil && j.Key != "" {
		var op store.Op
		op, err = q.naming(j.Key, j.ID, store.Any)
		ops = append(ops, op)
	}
	return ops, err
}

// cycle is the attempt that has made a job what it is now.
func (l *Lease) cycle(j *Job) Cycle {
	was := &l.Job
	return Cycle{
		Job: j.ID, Subject: j.Subject, Scope: j.Scope, Token: j.Token,
		Skills: slices.Clone(j.Skills), Model: cmp.Or(was.Model, l.model),
		Started: was.Started, Wall: max(0, l.q.o.Now().Round(0).Sub(was.Started)), State: j.State, Error: j.Error,
		Usage: minus(j.Usage, was.Usage),
	}
}

// minus is what was used between two sums.
func minus(sum, before act.Usage) act.Usage {
	return act.Usage{
		TokensIn: sum.TokensIn - before.TokensIn, TokensOut: sum.TokensOut - before.TokensOut,
		CostUSD: sum.CostUSD - before.CostUSD, APICostUSD: sum.APICostUSD - before.APICostUSD,
		CacheRead: sum.CacheRead - before.CacheRead, CacheWrite: sum.CacheWrite - before.CacheWrite,
	}
}

// successor is the next job of a series. One without a next time, as where the zones of its
// Cron are not known any more, is Parked, and says why.
func (q *Queue) successor(j *Job) Job {
	again := Job{Draft: j.Draft, State: Pending, Depth: j.Depth}
	now := q.o.Now()
	q.stamped(&again, now)
	if ahead := j.At.Sub(now); ahead > 0 && ahead <= late {
		now = j.At // no time comes twice since the clock was put back a little
	}
	var err error
	if again.At, err = nextTime(j.Cron, now); err != nil {
		again.State, again.Error = Parked, err.Error()
	}
	return again
}

// following adds the follow-ups of a job. Those whose Key another job has are there.
func (q *Queue) following(
	ctx context.Context, j *Job, more []Draft, ops []store.Op, places []place,
) ([]store.Op, []place, error) {
	if len(more) > maxFollowups {
		return nil, nil, refusal{&store.LimitError{Field: "follow-ups", Limit: maxFollowups, Got: len(more)}}
	}
	names := []string{j.Key}
	if j.Cron == "" {
		names = nil
	}
	for i, d := range more {
		d.Source = "job:" + j.ID
		child, err := q.draft(d)
		if err == nil {
			err = child.below(j)
		}
		if err != nil {
			return nil, nil, refusal{fmt.Errorf("follow-up %d: %w", i+1, err)}
		}
		if child.Key != "" && slices.Contains(names, child.Key) {
			continue // the same twice
		}
		names = append(names, child.Key)
		some, has, err := q.adding(ctx, &child)
		if err != nil {
			return nil, nil, err
		}
		if has.ID != "" && has.ID != j.ID {
			continue
		}
		if has.ID == j.ID { // which ends in this commit
			if some, err = q.heir(&child); err != nil {
				return nil, nil, err
			}
		}
		ops, places = append(ops, some...), append(places, child.place())
	}
	if size := sizeOf(ops); size > store.MaxCommitBytes {
		return nil, nil, refusal{&store.LimitError{Field: "follow-ups", Limit: store.MaxCommitBytes, Got: size}}
	}
	return ops, places, nil
}

// sizeOf is the bytes of keys and values.
func sizeOf(ops []store.Op) (size int) {
	for i := range ops {
		size += len(ops[i].Key) + len(ops[i].Value)
	}
	return size
}
