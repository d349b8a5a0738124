package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// queueOf returns a Queue that only knows where a scope's tenant has its jobs.
func queueOf(st store.Store, scope memory.Scope) *Queue {
	q := &Queue{st: st, tenant: scope.Tenant()}
	q.o.LeaseTTL = time.Minute
	return q
}

// isOf reports whether a record, of a job, a cycle, a sensor or Wake, is of a scope or below it.
func isOf(ctx context.Context, st store.Store, e store.Entry, scope memory.Scope) (bool, error) {
	switch parts := key.Split(e.Key); parts[3] {
	case sensorKeys: // which are the tenant's
		return string(scope) == scope.Tenant(), nil
	case wakeKeys:
		j, _, err := queueOf(st, scope).stored(ctx, parts[4])
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		return err == nil && j.Scope.Within(scope), err
	case cycleKeys:
		var c Cycle
		err := codec.Decode(e, &c)
		return err == nil && c.Scope.Within(scope), err
	}
	var j Job
	err := codec.Decode(e, &j)
	return err == nil && j.Scope.Within(scope), err
}

// Entries yields the records of jobs of a scope, and of those below it, of their cycles
// and of what Wake says of them, and with a tenant's those of its sensors: what Erase
// removes. It ends after the first error.
func Entries(ctx context.Context, st store.Store, scope memory.Scope) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for _, part := range [...]string{jobKeys, cycleKeys, sensorKeys, wakeKeys} {
			for e, err := range st.Scan(ctx, store.Range{Prefix: queueOf(st, scope).under(part, "")}) {
				ours := false
				if err == nil {
					ours, err = isOf(ctx, st, e, scope)
				}
				if err == nil && !ours {
					continue
				}
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
	}
}

// Check returns why an entry cannot be one of those that Entries yields of a scope, or
// nil: memory.ErrTenant for one of a scope elsewhere, store.ErrDamaged for one that no
// Queue has written.
func Check(e store.Entry, scope memory.Scope) error {
	parts := key.Split(e.Key) // tenant, its name, queue, what it is, …
	var j Job
	var c Cycle
	bad := fmt.Errorf("%w: %q is no job", store.ErrDamaged, e.Key)
	switch {
	case len(parts) == 5 && parts[3] == jobKeys:
		if err := codec.Decode(e, &j); err != nil {
			return err
		}
		known := j.State == Pending || j.State == Active || j.State == Parked || j.State.over()
		if j.ID != parts[4] || !known || j.Attempts < 0 || j.State.over() == j.Ended.IsZero() || j.problems() != nil {
			return bad
		}
		c.Scope = j.Scope
	case len(parts) == 7 && parts[3] == cycleKeys:
		if err := codec.Decode(e, &c); err != nil {
			return err
		}
	case len(parts) == 5 && parts[3] == sensorKeys:
		var st SensorState
		if err := codec.Decode(e, &st); err != nil {
			return err
		}
		if st.Name != parts[4] || st.Lease < 0 || st.Failures < 0 {
			return bad
		}
		c.Scope = memory.Scope(parts[1])
	case len(parts) == 5 && parts[3] == wakeKeys && bytes.Equal(e.Value, mark):
		c.Scope = scope // that of its job
	default:
		return bad
	}
	if parts[1] != scope.Tenant() || !c.Scope.Within(scope) {
		return fmt.Errorf("%w: %q is of another scope", memory.ErrTenant, e.Key)
	}
	return nil
}

// Arrival returns what has to be written with an entry of Entries, so that a Queue
// finds its job. One that is Active is given back when its lease has expired. The op that gives
// a job its Key has a condition: no other has it.
func Arrival(e store.Entry) ([]store.Op, error) {
	parts := key.Split(e.Key)
	if parts[3] != jobKeys {
		return nil, nil
	}
	var j Job
	if err := codec.Decode(e, &j); err != nil {
		return nil, err
	}
	q := queueOf(nil, memory.Scope(parts[1]))
	var ops []store.Op
	if k := q.stateKey(&j); k != "" {
		ops = append(ops, store.Op{Key: k, Value: mark})
	}
	if j.State == Active {
		op, err := (&Lease{Job: j, q: q}).renewal(store.Any)
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	if j.Key == "" || j.State.over() {
		return ops, nil
	}
	op, err := q.naming(j.Key, j.ID, store.Absent)
	return append(ops, op), err
}

// Erase removes the jobs of a scope and of those below it, with their cycles, also what
// is Active: who holds such a lease has lost it. After an error a part may be gone:
// call it again.
func Erase(ctx context.Context, st store.Store, scope memory.Scope) error {
	for e, err := range Entries(ctx, st, scope) {
		if err == nil {
			err = discard(ctx, st, scope, e, func(*Job) bool { return true })
		}
		if err != nil {
			return fmt.Errorf("queue: erase %q: %w", scope, err)
		}
	}
	return nil
}

// discard deletes a record with the keys that find it, as it is by now; a job, only if that
// is what it has to be.
func discard(ctx context.Context, st store.Store, scope memory.Scope, e store.Entry, as func(*Job) bool) error {
	q, ops, err := queueOf(st, scope), []store.Op{{Key: e.Key, Delete: true}}, error(nil)
	if parts := key.Split(e.Key); parts[3] == jobKeys {
		j, rev, lost := q.stored(ctx, parts[4])
		if errors.Is(lost, store.ErrNotFound) || lost == nil && !as(&j) {
			return nil
		}
		if err = lost; err == nil {
			ops, err = q.removing(ctx, &j, store.At(rev))
		}
	}
	if err == nil {
		_, err = st.Commit(ctx, ops...)
	}
	if errors.Is(err, store.ErrConflict) {
		return discard(ctx, st, scope, e, as)
	}
	return err
}

// Prune removes the jobs of a tenant that ended before a time, and older cycles.
func Prune(ctx context.Context, st store.Store, tenant memory.Scope, before time.Time) error {
	q := queueOf(st, tenant)
	for _, part := range [...]string{endKeys, cycleKeys} {
		prefix := q.under(part, "")
		for e, err := range st.Scan(ctx, store.Range{Prefix: prefix}) {
			if err == nil && e.Key >= prefix+digits(before.UnixNano()) {
				break
			}
			ended := func(*Job) bool { return true }
			if part == endKeys && err == nil {
				parts := key.Split(e.Key)
				e.Key = q.under(jobKeys, parts[len(parts)-1])
				ended = func(j *Job) bool { return j.State.over() && j.Ended.Before(before) }
			}
			if err == nil {
				err = discard(ctx, st, tenant, e, ended)
			}
			if err != nil {
				return fmt.Errorf("queue: prune %q: %w", tenant, err)
			}
		}
	}
	return nil
}
