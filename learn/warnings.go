package learn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/known"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// maxKnown is how many memories of a situation's failures are read, the latest.
const maxKnown = 256

// An action that has failed Options.Repeats times rests for restFirst, and twice as long after each further failure,
// up to restMost.
const (
	restFirst = 10 * time.Minute
	restMost  = 24 * time.Hour
)

// dateTime is the format of times in the text of a rest, with the zone.
const dateTime = time.DateTime + " MST"

// What failed in a situation, and what passed instead, are memories of one thread. All of them are quarantined,
// since they quote workers and gates.

// warningThread returns the name of a situation's thread.
func warningThread(situation string) string {
	sum := sha256.Sum256([]byte(situation))
	return string(hex.AppendEncode(append(make([]byte, 0, 40), "warnings "...), sum[:12]))
}

// Known returns the known failures in a situation of a scope, and what passed instead, or nil if there are none. It
// is one look-up by the situation's name. Memories that are forgotten, revoked or archived are left out, and so
// are those of the attempt with this key, and of another user's runs.
func (l *Learner) Known(
	ctx context.Context, scope memory.Scope, situation, attempt, user string,
) (*known.Known, error) {
	records, err := l.bank.In(scope).Latest(ctx, warningThread(situation), maxKnown)
	records = slices.DeleteFunc(records, func(r memory.Record) bool { return strange(&r, user) })
	return known.Of(records, attempt), err
}

// Rests returns why an action must not begin at a time, or "": it has failed in other runs as often as
// Options.Repeats, has not passed since, and nothing is new. New is: a failure at such tasks was overcome since;
// a task that succeeded has changed the scope's world since; or the action has rested, for 10 minutes, and twice
// as long after each further failure, up to a day.
func (l *Learner) Rests(k *known.Known, scope memory.Scope, run string, a *known.Action, at time.Time) string {
	repeats := l.o.Repeats
	if k == nil || repeats < 0 {
		return ""
	}
	failed := k.Failed(a.Key(), run)
	if len(failed) < repeats {
		return ""
	}
	last := failed[len(failed)-1]
	until := last.At.Add(min(restMost, restFirst<<min(len(failed)-repeats, 8)))
	// A longer rest means that the failure lies in the future: the clock was put back.
	changed, _ := l.changed.Get(scope)
	if !until.After(at) || until.Sub(at) > 2*restMost || !changed.Before(last.At) {
		return ""
	}
	return fmt.Sprintf("%s has failed at this %d times with the same arguments, last on %s: %s; "+
		"it rests until %s, unless something changes",
		a.Worker, len(failed), last.At.UTC().Format(dateTime), last.Why, until.UTC().Format(dateTime))
}

// warn records what an attempt shows about its action. A failure is remembered, and charges the warning that was
// shown and did not help. A pass is remembered if it overcame a failure, and credits the warnings that were
// shown if it came at the first try.
func (l *Learner) warn(ctx context.Context, o *Outcome) (err error) {
	if o.Passed && len(o.Result.Deltas) > 0 {
		l.changed.Add(o.Scope, o.At)
	}
	if o.Action.Task == nil {
		return nil
	}
	f := memory.Feedback{Situation: situationKey(o.Situation)}
	switch {
	case o.failed():
		again := o.Known.Again(o.Skill, known.Quote(o.Complaint), o.Warned)
		if o.Try == 1 { // a later try has its own run's complaint
			f.Misled = again
		}
		err = l.file(ctx, o, known.Event{
			Skill: o.Skill, Task: o.task(), Worker: o.Worker,
			Refused: known.Made(o.Result.Output, o.Result.Reflection.Summary), Why: known.Quote(o.Complaint),
		}, nil)
	case o.Passed && o.Known != nil:
		for _, over := range o.Known.Overcome(o.Action.Key(), o.Run, o.Skill, o.task(), o.Warned) {
			e := over.Event
			e.Task, e.By = o.task(), o.Worker
			if e.Instead = known.Made(o.Result.Output, o.Result.Reflection.Summary); e.Instead == "" {
				e.Instead = "done"
			}
			if err = l.file(ctx, o, e, over.IDs); err != nil {
				return err
			}
		}
		if o.Try == 1 {
			f.Injected, f.Utilized, f.Delivered = o.Warned, o.Warned, true
		}
	}
	if err != nil || len(f.Injected)+len(f.Misled) == 0 {
		return err
	}
	f.Key = digest(o.Key, "warnings")
	return l.bank.In(o.Scope).Feedback(ctx, f)
}

// file remembers an event with links to the memories that it is about. The same event of the same attempt is recorded
// once.
func (l *Learner) file(ctx context.Context, o *Outcome, e known.Event, from []memory.ID) error {
	d := memory.Draft{
		Kind: memory.Failure, Trigger: o.trigger(), Content: e.Text(), Actor: o.Worker, Thread: warningThread(o.Situation),
		At: o.Known.Since(o.At), Quotes: o.Asker(),
		Source: memory.Source{Origin: memory.Executor, Run: o.Run, Ref: o.Action.Key() + " " + o.Key},
	}
	for _, id := range from {
		d.Links = append(d.Links, memory.Link{To: id})
	}
	space := l.bank.In(o.Scope)
	if id := o.Known.Full(d.Content); id != "" {
		if err := space.Forget(ctx, id); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	_, err := kept(space.Remember(ctx, d))
	return err
}

// task returns the outcome's task as text.
func (o *Outcome) task() string { return known.Task(o.Action.Task, o.Objective, o.Action.Inputs) }

// failed reports whether the attempt shows that the action does not work: a gate rejected it, or the worker reported
// a failure. Attempts that were denied, interrupted, out of time or told to come back later do not.
func (o *Outcome) failed() bool {
	switch {
	case o.Passed || o.Faulty:
		return false
	case o.End == act.Finished:
		return true
	}
	own := []act.End{act.Failed, act.Rejected, act.Malformed, act.Panicked}
	busy, _ := reason.Retryable(act.Classify(errors.New(o.Complaint)))
	return slices.Contains(own, o.End) && !busy
}
