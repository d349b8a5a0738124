package arc

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// turn is a run that is under way. It is used by one goroutine.
type turn struct {
	*record
	agent     *Agent
	tenant    *tenant
	objective Objective
	clean     *redact.Sanitizer // knows the objective's secrets
	journal   *act.Journal
	tell      func(Event) // of the caller; nil: nobody
	unasked   bool        // by a caller: it does not wait here for an outage to pass, as it is due then
	live      *live
	key, name string         // of the record in the tenant's part, and of the run in the Agent
	rev       store.Revision // of the record as stored; 0: it is not
	process   string         // that works on it from the next commit on; "": any
	due       string         // its key among those that are due; "": none
	dueOf     string         // the process in it
	counted   *reason.Usage  // what the tenant's day has of the run

	advice  *learn.Advice     // of the aim; nil: not read yet
	lineage []reason.Delivery // what was delivered so far
	said    *delivered        // the last of it; nil: not by this turn
	made    *act.Attempt      // by act, for verify and learn
	wall    time.Duration     // that it took

	// Of the step that is under way.
	events []Event
	staged []func(ctx context.Context, b *store.Batch) error
}

// observe tells the identity, where it infers, the kind and end of a delivered run; not if it crashes.
func (t *turn) observe(ctx context.Context) {
	who, err := identity.New(t.tenant.group, t.Scope, t.agent.opts.Memory)
	var p identity.Profile
	if err == nil {
		p, err = who.Profile(ctx)
	}
	if err == nil && p.AutoInfer {
		_, err = who.Observe(ctx, identity.Event{Kind: "run", Topic: t.objective.Situation, At: t.Ended})
	}
	if err != nil {
		t.agent.opts.Logger.Warn("arc: a run as an event of its identity", "run", t.ID, "error", err)
	}
}

// trace begins a span of the host's, of a run, with one more attribute.
func (a *Agent) trace(ctx context.Context, name, run, more, value string) (context.Context, func(error)) {
	if a.opts.Trace == nil {
		return ctx, func(error) {}
	}
	inner, end := ctx, func(error) {}
	attrs := []slog.Attr{slog.String("run", run), slog.String(more, value)}
	a.hook("Trace", func() {
		if c, f := a.opts.Trace(ctx, "arc."+name, attrs...); c != nil && f != nil {
			inner, end = c, f
		}
	})
	return inner, func(err error) { a.hook("Trace", func() { end(err) }) }
}

// event adds to what the step will tell.
func (t *turn) event(kind, name, text string) {
	t.events = append(t.events, Event{At: t.now(), Kind: kind, Name: name, Text: fence.Clip(text, maxTold)})
}

// stageEnd ends the run in its Status, and stages the event of that, after those of what is staged. It tells
// of what cannot be undone and may be done, or is and was not delivered, where an attempt did not deliver.
// What the run was told goes: nobody asks for it, and a stranger's word that is forgotten would stay in it.
func (t *turn) stageEnd(ctx context.Context) error {
	if t.Status != Delivered || t.Attempts > len(t.Deliveries) {
		type call struct{ State, Note string } // see act.NewJournal
		once := store.Range{Prefix: logPrefix(t.Scope, t.ID) + "s/once/"}
		for c, err := range codec.Records[call](context.WithoutCancel(ctx), t.tenant.group.Store(), once) {
			if err != nil {
				return err
			}
			if c.State == "begun" {
				t.event("unknown_end", "", fence.Visible(c.Note))
			}
			if c.State != "" && t.Status != Delivered { // it is done, or begun
				t.Reason = fence.Clip(strings.TrimPrefix(t.Reason+"\n"+fence.Visible(c.Note), "\n"), maxText)
			}
		}
	}
	t.Ended, t.Questions = t.now(), nil
	if t.Cause != Outage { // else Retry goes on where it is, with what it was told
		t.Usage, t.Current, t.Wait = t.Usage.Add(t.Current.Usage), attempt{}, waiting{}
	}
	t.stage(func(_ context.Context, b *store.Batch) error {
		t.event(string(t.Status), string(t.Cause), t.Reason)
		for n := 0; n < t.Advices && t.Cause != Outage; n++ {
			if err := b.Delete(partKey(t.Scope, t.ID, adviceName(n+1)), store.Any); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

// stage adds to what the step will commit. f gets the tenant's part of the batch, and may run more than once.
func (t *turn) stage(f func(ctx context.Context, b *store.Batch) error) {
	t.staged = append(t.staged, f)
}

// keep stages a part of the run. It is encoded at once, since one staging holds all others of a tenant.
func (t *turn) keep(name string, v any) {
	key := partKey(t.Scope, t.ID, name)
	raw, err := codec.Marshal(v)
	t.stage(func(_ context.Context, b *store.Batch) error {
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return b.Put(key, raw, store.Any)
	})
}

// commit stores the step, all or nothing: the run, what it has learned, its events and when it is due. A
// crash before leaves the run as of the last step, and its attempt goes on by the journal; after a crash
// behind it the next process goes on by the due entry. What is kept in memory follows the commit.
func (t *turn) commit(ctx context.Context) (err error) {
	ctx, end := t.agent.trace(ctx, "commit", t.ID, "scope", string(t.Scope))
	defer func() { end(err) }()
	t.Process, t.Left = t.process, false
	due := t.dueKey()
	raw, err := codec.Marshal(*t.record)
	if err != nil {
		return fmt.Errorf("arc: run %s: %w", t.ID, err)
	}
	defer t.agent.note(t.name) // after an error it may be committed all the same
	before, spent := len(t.events), t.spent()
	err = t.tenant.whole.Update(ctx, func(b *store.Batch) error {
		t.events = t.events[:before] // what is staged may add some, and may run again
		if err := t.stageDue(b, due); err != nil {
			return err
		}
		if t.rev == 0 {
			if err := barred(ctx, b, t.Scope); err != nil {
				return err
			}
		}
		part := b.Sub(t.tenant.prefix)
		if err := t.stageDay(ctx, part, spent); err != nil {
			return err
		}
		for _, f := range t.staged {
			if err := f(ctx, part); err != nil {
				return err
			}
		}
		if err := t.journal.Stage(ctx, part, t.events...); err != nil {
			return err
		}
		b.After(t.at)
		return part.Put(t.key, raw, store.At(t.rev))
	})
	if err != nil {
		return fmt.Errorf("arc: run %s: %w", t.ID, err)
	}
	t.counted = t.counted.Add(spent)
	t.due, t.dueOf = due, t.Process
	for _, e := range t.events {
		t.agent.told(t, e)
	}
	t.events, t.staged = t.events[:0], t.staged[:0]
	return nil
}

// at notes the revision of the record, on which all further commits of the run are conditional.
func (t *turn) at(rev store.Revision) {
	t.rev = rev
	t.live.rev.Store(uint64(rev))
}

// stageDue moves the entry for the scheduler where its time or its process is not as in the last commit.
func (t *turn) stageDue(b *store.Batch, due string) error {
	if t.due != "" && t.due != due {
		if err := b.Delete(t.due, store.Any); err != nil {
			return err
		}
	}
	if due == "" || due == t.due && t.dueOf == t.Process {
		return nil
	}
	return codec.Put(b, due, dueEntry{Scope: t.Scope, ID: t.ID, Process: t.Process}, store.Any)
}

// hook calls code of the host that returns nothing.
func (a *Agent) hook(name string, f func()) {
	_, err := call.Do(context.Background(), 0, func(context.Context) (bool, error) {
		f()
		return true, nil
	})
	if err != nil {
		a.opts.Logger.Error("arc: "+name, "error", err)
	}
}

// sleep waits until the run goes on, and stores that it does: what is stored as waiting waits.
func (t *turn) sleep(ctx context.Context) error {
	for left := t.Due.Sub(t.now()); left > 0; left = t.Due.Sub(t.now()) {
		select {
		case <-time.After(min(left, time.Minute)): // Options.Now may be set, and go faster than this clock
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.agent.stop.Done():
			return errLeft
		}
	}
	t.Status = Running
	return t.commit(context.WithoutCancel(ctx))
}

func (t *turn) now() time.Time { return t.agent.now() }

// now is the time as it is stored.
func (a *Agent) now() time.Time { return a.opts.Now().Round(0).UTC() }
