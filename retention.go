package arc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/store"
)

// Delete deletes a run that has ended, with its journal, and forgets what was learned of it, as
// learn.Layer.Forget does. What that says stays, and in its session the names of approaches; memories that
// you made of it go by memory.Space.Revoke. After an error call it again; the run may be Canceled meanwhile.
func (v View) Delete(ctx context.Context, id string) error { return v.delete(ctx, id, true) }

// delete is Delete. A run that is only old is not forgotten.
func (v View) delete(ctx context.Context, id string, forget bool) error {
	_, err := v.with(ctx, id, func(ctx context.Context, t *turn) error {
		if !t.Status.ended() {
			return t.wrong("has not ended")
		}
		for n := 0; forget && n < t.Advices; n++ { // first: Maintain deletes what is only old
			err := t.tenant.layer.Forget(ctx, t.Scope, fmt.Sprint(t.ID, "/", n+1))
			if err != nil && !missing(err) {
				return err
			}
		}
		// Where it ends half-way the run is one that can be read, and deleted.
		t.Status, t.Cause, t.Reason, t.Deliveries = Canceled, "", "it is being deleted", nil
		if err := t.commit(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		part := partKey(t.Scope, t.ID, "")
		err := t.tenant.deleteAll(ctx, logPrefix(t.Scope, t.ID), "")
		if err = cmp.Or(err, t.tenant.deleteAll(ctx, part, part+"objective")); err != nil {
			return err
		}
		return t.tenant.group.Update(ctx, func(b *store.Batch) error {
			b.After(func(store.Revision) { v.agent.note(t.name) })
			return errors.Join(b.Delete(part+"objective", store.Any), b.Delete(t.key, store.At(t.rev)))
		})
	})
	return err
}

// deleteAll deletes what is below a prefix, in several commits: keys before a bound, or all where that is "".
func (t *tenant) deleteAll(ctx context.Context, prefix, before string) error {
	entries := t.group.Store().Scan(ctx, store.Range{Prefix: prefix})
	_, err := codec.Sweep(ctx, t.group, entries, func(e store.Entry) bool {
		return before == "" || e.Key < before
	}, true)
	if err != nil {
		return fmt.Errorf("arc: %w", err)
	}
	return nil
}

// scopes yields the scopes of the tenant that have something, of one scope and those below it.
func (t *tenant) scopes(ctx context.Context, top memory.Scope) iter.Seq2[memory.Scope, error] {
	return skipScan(ctx, t.group.Store(), top.Below(), func(key string) (scope memory.Scope, after string) {
		scope, _, _, _ = store.ParseKey(key)
		return scope, scope.Below() + "/"
	})
}

// Maintain keeps the scope, and those below it, small. It deletes runs that ended longer than
// Options.Retention ago, and returns how many: what they taught stays. Then it calls Maintain of the
// learn.Layer, the memory.Space and the identity.Identity. Where runs were deleted it has the files
// compacted, as Erase does. Call it once a day or so. Jobs of a queue are not its: Dispatch sweeps these.
func (v View) Maintain(ctx context.Context) (deleted int, err error) {
	a := v.agent
	t, release, err := a.tenants.hold(ctx, v.scope)
	if err != nil {
		return 0, err
	}
	defer release()
	for scope, err := range t.scopes(ctx, v.scope) {
		if err != nil {
			return deleted, err
		}
		n, err := View{agent: a, scope: scope}.maintain(ctx, t)
		deleted += n
		if err != nil {
			return deleted, err
		}
	}
	if deleted > 0 {
		err = t.whole.Update(ctx, a.compactLater)
		a.wake()
	}
	return deleted, err
}

func (v View) maintain(ctx context.Context, t *tenant) (deleted int, err error) {
	a := v.agent
	before := a.opts.Now().Add(-a.opts.Retention)
	for r, err := range t.records(ctx, v.scope, false) {
		if err != nil {
			return deleted, err
		}
		if !r.Status.ended() || !r.Ended.Before(before) {
			continue
		}
		if err := v.delete(ctx, r.ID, false); err == nil {
			deleted++
		} else if !isAny(err, ErrRunning, ErrState, store.ErrNotFound) { // others have it
			return deleted, err
		}
	}
	who, err := identity.New(t.group, v.scope, a.opts.Memory)
	if err != nil {
		return deleted, fmt.Errorf("arc: %w", err)
	}
	_, lessons := t.layer.Maintain(ctx, v.scope, a.opts.Retention)
	_, memories := t.bank.In(v.scope).Maintain(ctx)
	_, facts := who.Maintain(ctx)
	days := t.deleteAll(ctx, v.scope.Key(dayKind, ""), dayKey(v.scope, before))
	return deleted, errors.Join(lessons, memories, facts, days)
}

const erasePlace = "erase/" // then the scope: it and those below are being erased, since the time kept there

// eraseDue is the key by which an erasure that was interrupted goes on.
func eraseDue(scope memory.Scope) string { return dueKey(time.Unix(0, 0), scope, "") }

// barred stages the condition that nobody erases a scope or one above it, or returns an error. It is in the
// first commit of a run alone: what has begun before the bar is found and dropped by the erasure.
func barred(ctx context.Context, b *store.Batch, scope memory.Scope) error {
	key := strings.TrimSuffix(erasePlace, "/")
	for segment := range strings.SplitSeq(cmp.Or(string(scope), "_"), "/") {
		key += "/" + segment
		if _, err := b.Get(ctx, key); err == nil {
			return fmt.Errorf("%w: its scope %q is being erased", ErrObjective, scope)
		} else if !missing(err) {
			return err
		}
		if err := b.Check(key, store.Absent); err != nil {
			return err
		}
	}
	return nil
}

// Erase removes all that is kept of the scope and of those below it, for good: runs, memories, plans,
// figures, sessions, jobs. Runs that are under way are canceled, and no run begins until Erase is done; what
// a host writes to the memory of the scope meanwhile may stay. Figures and plans that were learned at a
// Lessons scope above stay. After an error, or a crash, it goes on when it is called again, or when the store
// is opened again. The files of the store have what was deleted until they are compacted: some seconds after
// Erase, but once an hour at most, or when the store is opened next. In("") is an error: name the scope.
func (v View) Erase(ctx context.Context) error {
	if v.unnamed {
		return errors.New("arc: Erase wants a scope that is named, not the default one")
	}
	t, release, err := v.agent.tenants.hold(ctx, v.scope)
	if err != nil {
		return err
	}
	defer release()
	return v.agent.once(ctx, eraseDue(v.scope), func(ctx context.Context) error { return v.erase(ctx, t) })
}

// once does something that is due, unless it is under way.
func (a *Agent) once(ctx context.Context, key string, f func(context.Context) error) error {
	ctx, _, end, err := a.begin(ctx, key)
	if err != nil {
		return err
	}
	defer a.runs.Done()
	err = f(ctx)
	end(err != nil) // where it fails, the next Agent tries again
	return err
}

// erase bars the scope before it deletes, and lifts the bar in its last commit: whatever fails between, no
// run begins there, and the entry that is due has the rest done later.
func (v View) erase(ctx context.Context, t *tenant) error {
	a := v.agent
	fail := func(err error) error { return fmt.Errorf("arc: scope %q is not erased yet: %w", v.scope, err) }
	bar, due := erasePlace+cmp.Or(string(v.scope), "_"), eraseDue(v.scope)
	err := t.whole.Update(ctx, func(b *store.Batch) error {
		again := dueEntry{Scope: v.scope, Process: a.process.name, Kind: dueErase}
		return errors.Join(codec.Put(b, due, again, store.Any), codec.Put(b, bar, a.opts.Now(), store.Any))
	})
	if err != nil {
		return fail(err)
	}
	for r, err := range t.records(ctx, v.scope, true) {
		if err == nil {
			err = a.drop(ctx, t, r.Scope, r.ID)
		}
		if err != nil {
			return fail(err)
		}
	}
	if err := t.bank.In(v.scope).Erase(ctx); err != nil {
		return fail(err)
	}
	err = t.whole.Update(ctx, func(b *store.Batch) error {
		return errors.Join(a.compactLater(b), b.Delete(due, store.Any), b.Delete(bar, store.Any))
	})
	if err != nil {
		return fail(err)
	}
	a.wake()
	a.tenants.forget(t.name) // figures are read anew
	return nil
}

// drop deletes the record of a run, wherever it is under way: what it would still commit fails.
func (a *Agent) drop(ctx context.Context, t *tenant, scope memory.Scope, id string) error {
	key := recordKey(scope, id)
	if err := a.untilFree(ctx, runKey(scope, id), &canceled{"its scope is being erased"}); err != nil {
		return err
	}
	err := t.whole.Update(ctx, func(b *store.Batch) error {
		r, rev, err := load[record](ctx, t.group.Store(), key)
		if missing(err) {
			return nil
		}
		if err == nil && r.dueKey() != "" {
			err = b.Delete(r.dueKey(), store.Any)
		}
		if err == nil {
			err = b.Sub(t.prefix).Delete(key, store.At(rev))
		}
		return err
	})
	a.note(runKey(scope, id))
	return err
}

// compactDue is the key by which the files of the store are compacted. Each deletion that wants it writes it
// anew, and it is deleted as it was when a compaction began: what was deleted meanwhile wants another.
var compactDue = dueKey(time.Unix(0, 1), "", "")

// compactLater has the files compacted as soon as they may be, in a commit to the whole store.
func (a *Agent) compactLater(b *store.Batch) error {
	return codec.Put(b, compactDue, dueEntry{Process: a.process.name, Kind: dueCompact}, store.Any)
}

// compact rewrites the files of the store without what was erased before.
func (a *Agent) compact(ctx context.Context, due store.Entry) error {
	if c, ok := a.store.(store.Compacter); ok {
		if err := c.Compact(ctx); err != nil {
			return err
		}
	}
	_, err := a.store.Commit(ctx, store.Op{Key: due.Key, Delete: true, If: store.At(due.Rev)})
	return err // a conflict: more was deleted meanwhile
}
