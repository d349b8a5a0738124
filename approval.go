package arc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/store"
)

// Decide rules on an [act.Approval] of a run that waits, before its Deadline: afterwards silence has ruled,
// and it is [ErrState], as it is where somebody has ruled before (in Compound a person's last ruling counts).
// The run goes on by itself: [View.Wait] returns what came of it.
func (v View) Decide(ctx context.Context, r act.Ruling) error {
	t, err := v.agent.tenant(ctx, v.scope)
	if err != nil {
		return err
	}
	r.By, r.Note = v.agent.opts.Sanitizer.Prose(r.By), v.agent.opts.Sanitizer.Prose(r.Note)
	for run, err := range v.Unfinished(ctx) {
		if err != nil {
			return err
		}
		i := slices.IndexFunc(run.Approvals, func(p act.Approval) bool { return p.ID == r.Approval })
		if i < 0 {
			continue
		}
		p := run.Approvals[i]
		a, due := v.agent, dueKey(time.Unix(0, 0), p.Scope, p.Run+"//"+p.ID)
		entry := dueEntry{Scope: p.Scope, ID: p.Run, Process: a.process.name, Kind: dueRuled}
		if a.idle() {
			entry.Process = ""
		}
		ruled := func(b *store.Batch) error { return codec.Put(b, due, entry, store.Any) }
		j := act.NewJournal(t.whole, t.prefix+logPrefix(p.Scope, p.Run), a.opts.Now, ruled, nil)
		switch err := act.Rule(ctx, j, r); {
		case errors.Is(err, store.ErrConflict):
			return fmt.Errorf("%w: %w", ErrState, err)
		case err != nil:
			return fmt.Errorf("arc: %w", err)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.stop.Err() == nil && !a.idle() { // else it goes on in another process, or when the store is opened again
			a.runs.Go(func() {
				_ = a.resume(due, entry)
				a.wake() // what has failed, or was ruled meanwhile, the scheduler does
			})
		}
		return nil
	}
	return fmt.Errorf("%w: no run in %q waits for the approval %q: it was ruled on, or its run has ended",
		ErrState, v.scope, r.Approval)
}

// heed has a run go on that a person has ruled on, and then forgets the ruling's dueEntry, which came with it
// in one commit: so no ruling is lost, whichever process ends in between. A run that is under way here may have
// looked for rulings just before this one, and is waited for; of one in another process, which is an error, the
// scheduler tries again.
func (v View) heed(ctx context.Context, id, key string) error {
	for {
		due, err := v.agent.store.Get(ctx, key)
		if err == nil {
			err = v.agent.untilFree(ctx, runKey(v.scope, id), nil)
		}
		if err != nil {
			return err
		}
		if _, err = v.with(ctx, id, goOnUnasked); err != nil && !missing(err) {
			return err
		}
		_, err = v.agent.store.Commit(ctx, store.Op{Key: key, Delete: true, If: store.At(due.Rev)})
		if !errors.Is(err, store.ErrConflict) { // else there is another ruling
			return err
		}
	}
}

// Answer answers what a run asks, and goes on with it. question is the Report's Question that text answers:
// where the run does not ask that any more, as after a second click, it is [ErrState], and so is a blank text.
// "" is what the run asks at that moment.
func (v View) Answer(ctx context.Context, id, question, text string) (*Report, error) {
	return v.with(ctx, id, func(ctx context.Context, t *turn) error {
		said := fence.Clip(t.clean.Prose(text), maxText)
		if t.Status != Asking || question != "" && question != t.question() || fence.Line(said) == "" {
			return t.wrong("does not ask that, or the answer is blank")
		}
		t.answer("", said)
		t.Status, t.Phase = Running, t.Back
		return t.restart(ctx)
	})
}

// question is the ID of what a run asks, or would.
func (r *record) question() string { return strconv.Itoa(len(r.Answers) + 1) }
