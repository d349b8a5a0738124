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

// open are the approvals that a run has open, the first first: neither people nor silence have decided on
// them. They are in its journal alone, see act.NewJournal.
func (t *tenant) open(ctx context.Context, r *record) (open []act.Approval, err error) {
	if r.Status.ended() || r.Current.Number == 0 {
		return nil, nil
	}
	type asked struct {
		act.Approval
		Decided bool
	}
	in := store.Range{Prefix: logPrefix(r.Scope, r.ID) + fmt.Sprintf("a/%04d-", r.Current.Number)}
	for q, err := range codec.Records[asked](ctx, t.group.Store(), in) {
		if err != nil {
			return nil, fmt.Errorf("arc: %w", err)
		}
		if !q.Decided && t.now().Before(q.Deadline) {
			open = append(open, q.Approval)
		}
	}
	slices.SortStableFunc(open, byDeadline)
	return open, nil
}

func byDeadline(a, b act.Approval) int { return a.Deadline.Compare(b.Deadline) }

// Decide rules on an [act.Approval] once it is asked, whatever else its run does meanwhile, until its
// Deadline: afterwards silence has ruled, and it is [ErrState], as where somebody has ruled before (in
// Compound, two have agreed or one has not). The run goes on by itself: [View.Wait] returns what came of it.
func (v View) Decide(ctx context.Context, r act.Ruling) error {
	a := v.agent
	t, err := a.tenant(ctx, v.scope)
	if err != nil {
		return err
	}
	r.By, r.Note = a.opts.Sanitizer.Prose(r.By), a.opts.Sanitizer.Prose(r.Note)
	for run, err := range v.Unfinished(ctx) {
		if err != nil {
			return err
		}
		i := slices.IndexFunc(run.Approvals, func(p act.Approval) bool { return p.ID == r.Approval })
		if i < 0 {
			continue
		}
		// The due entry comes with the ruling, in one commit: by it a scheduler, of any process, has the run go on.
		p := run.Approvals[i]
		due := dueKey(time.Unix(0, 0), p.Scope, p.Run+"//"+p.ID)
		entry := dueEntry{Scope: p.Scope, ID: p.Run, Kind: dueRuled}
		ruled := func(b *store.Batch) error { return codec.Put(b, due, entry, store.Any) }
		j := act.NewJournal(t.whole, t.prefix+logPrefix(p.Scope, p.Run), a.opts.Now, ruled, nil)
		err = act.Rule(ctx, j, r)
		a.note(runKey(p.Scope, p.Run))
		a.wake()
		if errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("%w: %w", ErrState, err)
		}
		return err
	}
	return fmt.Errorf("%w: the approval %q is open in no run of %q: it was ruled on, its Deadline has "+
		"passed, or its attempt or run has ended", ErrState, r.Approval, v.scope)
}

// Answer answers what a run asks, and goes on with it. question is the Question of the Report that was
// answered: if the run asks something else by now, as after a second click, the error is [ErrState]. ""
// stands for whatever the run asks at that moment. A blank text is ErrState, too.
func (v View) Answer(ctx context.Context, id, question, text string) (*Report, error) {
	return v.with(ctx, id, func(ctx context.Context, t *turn) error {
		said := fence.Clip(t.clean.Prose(text), maxText)
		if t.Status != Asking || question != "" && question != t.question() || fence.Line(said) == "" {
			return t.wrong("does not ask that, or the answer is blank")
		}
		t.answer("", said)
		t.Status, t.Phase, t.Tried = Running, t.Back, nil
		return t.restart(ctx)
	})
}

// question is the ID of what a run asks, or would.
func (r *record) question() string { return strconv.Itoa(len(r.Answers) + 1) }
