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
		// The due entry comes with the ruling, in one commit: by it a scheduler, of
		// any process, has the run go on.
		a, due := v.agent, dueKey(time.Unix(0, 0), p.Scope, p.Run+"//"+p.ID)
		entry := dueEntry{Scope: p.Scope, ID: p.Run, Kind: dueRuled}
		ruled := func(b *store.Batch) error { return codec.Put(b, due, entry, store.Any) }
		j := act.NewJournal(t.whole, t.prefix+logPrefix(p.Scope, p.Run), a.opts.Now, ruled, nil)
		err = act.Rule(ctx, j, r)
		a.wake()
		switch {
		case errors.Is(err, store.ErrConflict):
			return fmt.Errorf("%w: %w", ErrState, err)
		case err != nil:
			return fmt.Errorf("arc: %w", err)
		}
		return nil
	}
	return fmt.Errorf("%w: no run in %q waits for the approval %q: it was ruled on, or its run has ended",
		ErrState, v.scope, r.Approval)
}

// Answer answers what a run asks, and goes on with it. question is the Question of the Report that was
// answered: if the run asks something else by now, as after a second click, the error is [ErrState]. "" stands
// for whatever the run asks at that moment. A blank text is ErrState, too.
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
