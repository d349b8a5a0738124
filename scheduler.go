package arc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/store"
)

// wake has the scheduler look for what is due.
func (a *Agent) wake() {
	select {
	case a.kick <- struct{}{}:
	default:
	}
}

// schedule goes on with runs that are due, until the Agent is shut down.
func (a *Agent) schedule() {
	slots := make(chan struct{}, maxResumed)
	for told := false; ; {
		wait, err := a.resumeDue(slots)
		if err != nil && !told && a.base.Err() == nil { // once, however long the store is away
			a.opts.Logger.Error("arc: what is due", "error", err)
		}
		told = err != nil
		if a.process.changer != nil {
			wait = min(wait, beatEvery) // another process may be gone
		}
		a.tenants.drop(a.tenants.idle)
		select {
		case <-time.After(wait):
		case <-a.kick:
		case <-a.stop.Done():
			return
		}
	}
}

// resumeDue goes on with what is due and returns when to look again. Nothing is claimed here: of two
// processes that go on with a run, the one whose commit comes first has it, by the condition on its record.
func (a *Agent) resumeDue(slots chan struct{}) (next time.Duration, unread error) {
	now, alive, wait := a.opts.Now(), map[string]bool{}, time.Minute
	if a.process.late() { // it could do nothing
		return beatEvery / 5, nil
	}
	a.mu.Lock()
	maps.DeleteFunc(a.rests, func(_ string, until time.Time) bool { return time.Until(until) <= 0 })
	for _, until := range a.rests {
		wait = min(wait, time.Until(until))
	}
	a.mu.Unlock()
	for e, err := range a.store.Scan(a.base, store.Range{Prefix: duePlace}) {
		if err != nil {
			return time.Minute, err
		}
		var ns int64
		var due dueEntry
		_, err = fmt.Sscanf(e.Key, duePlace+"%d", &ns)
		at := time.Unix(0, ns)
		if err == nil && at.After(now) { // as is all behind it
			return min(at.Sub(now), wait), unread
		}
		if err = cmp.Or(err, codec.Unmarshal(e.Value, &due)); err != nil { // it holds up nothing behind it
			unread = fmt.Errorf("%s: %w", e.Key, err)
			continue
		}
		if skip, err := a.leaves(due, e.Key, alive); err != nil {
			return time.Minute, err
		} else if skip {
			continue
		}
		slot := slots
		if due.Kind == dueRuled { // a person waits for that
			slot = make(chan struct{}, 1)
		}
		select {
		case slot <- struct{}{}:
		default:
			return time.Minute, unread // one that ends has the scheduler look again
		}
		a.runs.Go(func() {
			defer func() { <-slot; a.wake() }()
			err := a.resume(e, due)
			// Others have it, or had; or Close ends it, until the store is opened again.
			others := isAny(err, ErrRunning, ErrClosed, context.Canceled, store.ErrConflict, store.ErrNotFound)
			if err != nil && !others {
				a.opts.Logger.Error("arc: what was due", "key", e.Key, "error", err)
			}
		})
	}
	return wait, unread
}

// leaves reports whether the scheduler leaves what is due: it is under way here, was left by its caller, has
// just failed, is a run's without workers, or is a living process's: alive has those asked for.
func (a *Agent) leaves(due dueEntry, at string, alive map[string]bool) (bool, error) {
	key := due.by(at)
	had := due.Kind == "" && due.Process == a.process.name // goOn gives it to those that have workers
	if !had && due.Kind != dueErase && due.Kind != dueCompact && a.idle() {
		return true, nil
	}
	a.mu.Lock()
	live := a.live[key] != nil || a.live[runKey(due.Scope, due.ID)] != nil // of what was ruled on, the run
	mine := live || !a.rests[key].IsZero()
	a.mu.Unlock()
	if mine || due.Process == a.process.name {
		return mine, nil
	}
	if _, asked := alive[due.Process]; !asked {
		is, err := a.process.alive(a.base, a.store, due.Process)
		if err != nil {
			return false, err
		}
		alive[due.Process] = is
	}
	return alive[due.Process], nil
}

// resume goes on with what is due. What fails is tried again in a while; no caller has left such a run.
func (a *Agent) resume(e store.Entry, due dueEntry) (err error) {
	v := View{agent: a, scope: due.Scope} // "" is the scope "_", not Options.Scope
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		switch by := due.by(e.Key); {
		case due.Kind == dueCompact: // that is heavy
			a.rests[by] = time.Now().Add(time.Hour)
		case err != nil:
			a.rests[by] = time.Now().Add(beatEvery)
		}
	}()
	switch due.Kind {
	case "", dueRuled:
		_, err = v.with(a.base, due.ID, func(ctx context.Context, t *turn) error {
			if due.Kind == "" && t.due != e.Key { // it has stopped, or gone on, and nothing is due there
				return t.tenant.whole.Update(ctx, func(b *store.Batch) error {
					return errors.Join(b.Delete(e.Key, store.Any), b.Sub(t.tenant.prefix).Check(t.key, store.At(t.rev)))
				})
			}
			t.unasked = true
			return t.goOn(ctx)
		})
		if due.Kind == "" || err != nil && !missing(err) {
			return err
		}
		// Where somebody else has ruled meanwhile it conflicts, and the entry stays.
		_, err = a.store.Commit(a.base, store.Op{Key: e.Key, Delete: true, If: store.At(e.Rev)})
		return err
	}
	t, release, err := a.tenants.hold(a.base, due.Scope)
	if err != nil {
		return err
	}
	defer release()
	return a.once(a.base, e.Key, func(ctx context.Context) error {
		e, err := a.store.Get(ctx, e.Key)
		switch {
		case missing(err): // it was done since the scheduler looked
			return nil
		case err != nil:
			return err
		case due.Kind == dueErase:
			return v.erase(ctx, t)
		}
		return a.compact(ctx, e)
	})
}
