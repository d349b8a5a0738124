package learn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/known"
	"github.com/arc-learn/arc/learn/internal/chunk"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// maxKnown is how many memories of a situation's failures are looked at, the
// latest.
const maxKnown = 256

// An action that has failed Options.Repeats times rests for restFirst, and twice
// as long after each further failure, but never longer than restMost.
const (
	restFirst = 10 * time.Minute
	restMost  = 24 * time.Hour
)

// dateTime is how a rest names times, with their zone.
const dateTime = time.DateTime + " MST"

// What failed in a situation, and what passed instead, are memories of one thread. All of
// it is quarantined: it quotes workers and gates.

// warningThread names the thread of a situation.
func warningThread(situation string) string {
	sum := sha256.Sum256([]byte(situation))
	return string(hex.AppendEncode(append(make([]byte, 0, 40), "warnings "...), sum[:12]))
}

// Known returns what is known against actions in a situation of a scope, nil if
// nothing is: what failed there, and what passed instead. It is one look by the
// situation's name. What was forgotten, revoked or archived is not known, nor what
// the attempt with the key has told, nor what another user's runs have.
func (l *Learner) Known(
	ctx context.Context, scope memory.Scope, situation, attempt, user string,
) (*known.Known, error) {
	records, err := l.bank.In(scope).Latest(ctx, warningThread(situation), maxKnown)
	records = slices.DeleteFunc(records, func(r memory.Record) bool { return strange(&r, user) })
	return known.Of(records, attempt), err
}

// Rests says why an action is not to be begun at a time, "" if it may be: it has
// failed in other runs than this as often as Options.Repeats says, without a pass
// since, and nothing is new. New is a failure at such tasks that was overcome
// since, a change of the scope's world by a task that succeeded since, and that
// the action has rested: 10 minutes, twice as long after each further failure, a
// day at most.
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
	// One that would rest longer failed in the future: the clock was put back since.
	changed, _ := l.changed.Get(scope)
	if !until.After(at) || until.Sub(at) > 2*restMost || !changed.Before(last.At) {
		return ""
	}
	return fmt.Sprintf("%s has failed at this %d times with the same arguments, last on %s: %s; "+
		"it rests until %s, unless something changes",
		a.Worker, len(failed), last.At.UTC().Format(dateTime), last.Why, until.UTC().Format(dateTime))
}

// warn takes in what an attempt says of its action. A failure is remembered, and
// charges the warning that was shown and did not help. A pass is remembered where
// it overcame a failure, and credits what was shown if it came at first try.
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
		if o.Try == 1 { // a retry is told of its own run's failures by their complaint
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

// file remembers an event, which was drawn from other memories. The same event of
// the same attempt is noted once.
func (l *Learner) file(ctx context.Context, o *Outcome, e known.Event, from []memory.ID) error {
	d := memory.Draft{
		Kind: memory.Failure, Trigger: o.trigger(), Content: e.Text(), Actor: o.Worker, Thread: warningThread(o.Situation),
		At: o.Known.Since(o.At), Quotes: o.Asker(),
		Source: memory.Source{Origin: memory.Executor, Run: o.Run, Ref: o.Action.Key() + " " + o.Key},
	}
	if len(strings.TrimSpace(d.Trigger)) < chunk.MinTrigger {
		d.Trigger = "the objective is " + d.Trigger
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

// task is the outcome's task in words.
func (o *Outcome) task() string { return known.Task(o.Action.Task, o.Objective, o.Action.Inputs) }

// failed reports whether the attempt says that the action does not work: a gate
// refused it, or the worker said that it failed. One that is denied, cut off, out
// of time or told to come back later does not.
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
