package arc

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/store"
)

// Event is something that happened in a run. Its Kind is one of [act.Event] or of these:
//
//	begun, retried, taken_up        taken_up: Name is the process that goes on for one that is gone or left it
//	recalled, source_failed, fired  fired: Name is the ID of the plan, see View.Known
//	decided, refused, stuck         refused: the decision cannot be used
//	subgoal, subgoal_reached
//	attempt                         then passed (Data: the []reason.Delta made, up to 64 KiB), failed or away
//	learned, not_learned            not_learned: Text says why a plan was not
//	asking, answered                answered: Name is "" where a person has
//	waiting                         Name is what a person is to allow; "": it waits for an outage
//	unknown_end                     Text: an irreversible call that the run may have made, told when it ends
//	delivered, blocked, canceled    the end; blocked: Name is the Cause
//	judged                          after the end; Name is the learn.Verdict, Text says why
type Event = act.Event

// Journal yields the events of a run that are kept so far.
func (v View) Journal(ctx context.Context, id string) iter.Seq2[Event, error] {
	return v.events(ctx, id, false)
}

// Watch yields the events of a run that are kept, from the first on, and follows it until it has ended.
//
// The id "" stands for no run, and yields none of their events: an empty one says when to look again, at
// once and whenever a run of the Agent, of any scope, may have gone on, until ctx ends.
func (v View) Watch(ctx context.Context, id string) iter.Seq2[Event, error] {
	if id != "" {
		return v.events(ctx, id, true)
	}
	return func(yield func(Event, error) bool) {
		for err := error(nil); ; {
			changed := v.agent.change()
			if !yield(Event{}, err) || err != nil {
				return
			}
			err = v.agent.await(ctx, changed)
		}
	}
}

// events yields the events of a run, those to come as well where it follows the run.
func (v View) events(ctx context.Context, id string, follow bool) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var r *Report
		t, err := v.agent.tenant(ctx, v.scope)
		for seen, last := 0, false; err == nil && !last; {
			changed := v.agent.change() // before it looks, so that nothing comes between
			if r, err = v.Report(ctx, id); err != nil {
				break
			}
			last = !follow || r.Status.ended()
			journal := act.NewJournal(t.group, logPrefix(v.scope, id), nil, nil, nil)
			for events, wrong := range journal.Events(ctx, seen) {
				err = wrong
				for _, e := range events {
					if !yield(e, nil) {
						return
					}
				}
				seen += len(events)
			}
			if err == nil && !last {
				err = v.agent.await(ctx, changed)
			}
		}
		if err != nil {
			yield(Event{}, err)
		}
	}
}

// Changed returns the IDs of the runs of the scope whose Report may be another since a mark, or gone, some
// more than once, and the next mark. Marks are this Agent's alone. For 0, and for a mark that is too old or
// from before a restart, the error is store.ErrNotFound: read Runs, and go on from the mark beside it.
// Commits of runs in other processes are known within 100 ms where a run is under way or waited for, else
// within 5 s; what such a run asks while it works on, with its next commit.
func (v View) Changed(after uint64) (ids []string, mark uint64, err error) {
	v.agent.mu.Lock()
	defer v.agent.mu.Unlock()
	recent, first := v.agent.recent, v.agent.former
	mark = first + uint64(len(recent))
	if after < first || after > mark {
		return nil, mark, fmt.Errorf("arc: what has changed since the mark: %w", store.ErrNotFound)
	}
	for _, key := range recent[after-first:] {
		if id, ok := strings.CutPrefix(key, runKey(v.scope, "")); ok {
			ids = append(ids, id)
		}
	}
	return ids, mark, nil
}

// note notes that a run has changed, by its runKey ("": each may have), and wakes those who wait for that.
func (a *Agent) note(key string) {
	defer a.announce() // without the lock, and once it is noted: who wakes reads it
	a.mu.Lock()
	defer a.mu.Unlock()
	if key == "" || len(a.recent) == maxRecent {
		a.former += uint64(len(a.recent)) + 1
		a.recent = nil
	}
	a.recent = append(a.recent, key)
}

// change returns a channel that is closed at the next commit of a run. Who waits for something takes it first
// and looks then: a commit between the two closes the channel, and is not missed.
func (a *Agent) change() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return a.changed
}

// await waits until changed is closed, and has other processes followed closely meanwhile.
func (a *Agent) await(ctx context.Context, changed <-chan struct{}) error {
	a.awaited.Add(1)
	defer a.awaited.Add(-1)
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-a.base.Done():
		return ErrClosed
	}
}

// announce wakes those who wait for a commit, of a run or of an attempt's step.
func (a *Agent) announce() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

func (a *Agent) told(t *turn, e Event) {
	if t.tell != nil {
		t.tell(e)
	}
	if e.Kind == "approval_asked" || e.Kind == "ruled" { // which the Report has, whatever the run does meanwhile
		a.note(t.name)
	}
	if a.opts.OnEvent != nil && t.record != nil {
		a.hook("OnEvent", func() { a.opts.OnEvent(t.Scope, t.ID, e) })
	}
}
