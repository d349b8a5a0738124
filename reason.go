package arc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/detach"
	"github.com/arc-learn/arc/internal/gist"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/quoted"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// reason asks the reasoner for a decision, and adopts it: as a plan, as a subgoal that resolves an
// impasse, or as questions to a person.
//
// The commit of this step holds the decision and what it has cost, before a worker begins: a
// process that dies later does not pay for it again. A refused decision is committed too, with the
// complaint that the next brief quotes. The decision of a ctx that has ended is dropped, since it
// may be cut off; its cost is kept.
func (t *turn) reason(ctx context.Context) (phase, error) {
	b, d, next, err := t.consider(ctx)
	if next != "" || err != nil {
		return next, err
	}
	g := t.s.aim()
	g.Complaint = ""
	g.Utilized, g.Used = g.applied(d.Applied), among(g.Facts, d.Applied)
	t.attribute(&b, &d)
	switch {
	case d.Impasse != nil:
		t.emit(EventDecided, Event{Text: d.Impasse.Kind + ": " + d.Impasse.Reason, IDs: g.Utilized})
		return t.subgoal(d.Impasse), nil
	case len(d.Questions) > 0:
		return t.ask(d.Questions...), nil
	}
	g.decided(d, t.slow())
	g.Said = t.grounds(b.Passages, g.Tasks)
	g.reserve(d)
	t.emit(EventDecided, Event{Text: d.Approach, IDs: g.Utilized})
	return phaseAssess, nil
}

// consider asks the reasoner for a decision, with a brief. If there is none that the loop can act
// on it returns the next phase, and only the usage in the decision.
func (t *turn) consider(ctx context.Context) (b reason.Brief, d reason.Decision, next phase, err error) {
	if why := t.lacks(); why != "" {
		return b, d, t.block(CauseSecret, why), nil
	}
	if err = t.know(ctx); err != nil {
		return b, d, "", err
	}
	wall := t.left()
	if b, err = t.brief(ctx); err != nil {
		return b, d, "", err
	}
	d, err = t.deliberate(ctx, b, wall)
	if ctx.Err() != nil && d.Usage == (reason.Usage{}) {
		return b, d, "", ctx.Err()
	}
	t.s.Usage = t.s.Usage.Add(d.Usage)
	t.did.used, t.did.fault = d.Usage, err
	if ctx.Err() != nil {
		return b, d, phaseReason, nil // the commit keeps what it has cost
	}
	if away, after := reason.Retryable(err); away {
		return b, d, t.wait(CauseModel, err.Error(), after), nil
	}
	t.s.Deliberations++
	t.s.Wait.Tries = 0
	if err != nil {
		next = t.refuse(err)
	}
	return b, d, next, nil
}

// attribute records whose words a decision repeats, and from which memories it was made. It adds
// to those of earlier decisions for the aim, since failures and complaints may repeat them.
func (t *turn) attribute(b *reason.Brief, d *reason.Decision) {
	g, o := t.s.aim(), &t.s.Objective
	whose, from := quoted.Sources(d, b, o.Text, o.Situation, g.Used, t.a.skills)
	if len(g.Quotes) == 0 {
		g.Quotes = whose[:1:1] // the reasoner has worded any decision
	}
	g.Quotes, g.Parents = union(g.Quotes, whose), union(g.Parents, g.applied(from))
}

// decided makes a decision the plan, without those of its tasks that are done already. Alone: only
// the next task is taken before the reasoner is asked again.
//
// A reasoner that is asked in the middle of a plan answers with what is left, as Brief.Rest tells
// it, or with the whole plan once more. The tasks that are done stay in front in either case, since
// the chunk that is learned from the run is the whole plan.
func (g *aim) decided(d reason.Decision, alone bool) {
	done, rest := g.Tasks[:g.Next], d.Tasks
	if n := len(done); n > 0 && n < len(rest) && gist.Plan(done) == gist.Plan(rest[:n]) {
		rest = rest[n:] // the reasoner has repeated the whole plan
	}
	if len(done) > 0 {
		rest = appendTo(done, rest...)
	}
	ranked := g.Ranked // of the tasks that are done
	g.follow(rest, d.Approach, "")
	g.Ranked = ranked
	if g.Next = len(done); alone && len(rest)-len(done) > 1 {
		g.Until = g.Next + 1
	}
}

// brief returns what the reasoner is told. The prompt (reason.LLM) fences the texts of the run's user
// and of its lessons; a reasoner in Go gets them as they are.
func (t *turn) brief(ctx context.Context) (reason.Brief, error) {
	s, g := &t.s, t.s.aim()
	hits, background, facts := t.memories()
	b := reason.Brief{
		Run: s.ID, Session: s.Session,
		Objective: g.Text, Situation: g.Situation, Inputs: slices.Clone(s.Objective.Inputs),
		Memories: hits, Facts: facts, Background: background, Passages: t.passages(ctx, g.Text),
		Skills: t.a.runner.Skills(), Accepts: t.a.runner.Accepts(), Manuals: slices.Clone(s.Objective.Skills),
		Lineage: detach.Deliveries(t.lineage),
		Failed:  g.Failed[min(g.Cleared, len(g.Failed)):], Warnings: t.warnings(), Answers: g.Answers,
		Avoid: g.Avoid, Complaint: g.Complaint, Advice: t.advice(), Alternatives: g.left(), Suggestions: t.suggestions(),
	}
	if g.Cleared > 0 { // a fresh start, without the plans of before
		b.Suggestions = nil
	}
	if b.Advice != "" && t.slow() {
		b.Advice += "\nOne task at a time: the first of a plan is taken, and the next decided after its outcome."
	}
	if g.Next > 0 {
		b.Rest = detach.Tasks(g.Tasks[g.Next:])
	}
	if !s.Objective.Fresh {
		if err := t.history(ctx, &b); err != nil {
			return b, err
		}
	}
	b.Advice = strings.Trim(b.Advice, "\n")
	b.Complexity, b.Signs = reason.Signals(g.Text)
	for _, above := range s.Aims[:len(s.Aims)-1] {
		b.Goals = append(b.Goals, above.Text)
	}
	return b, nil
}

// deliberate asks the reasoner for a decision, within wall if that is positive. Of alternatives it
// returns the one chosen, or their impasse. Beside an error it returns only the usage.
func (t *turn) deliberate(ctx context.Context, b reason.Brief, wall time.Duration) (reason.Decision, error) {
	a := t.a
	if a.reasoner == nil {
		return reason.Decision{}, errors.New("the host has no reasoner")
	}
	limit := a.o.ReasonTimeout
	if wall > 0 && (limit < 0 || wall < limit) {
		limit = wall
	}
	type asked struct {
		reason.Reasoner
		reason.Brief
	}
	type reply struct { // the usage of a refused decision counts
		reason.Decision
		refused error
	}
	said, err := guard.With(ctx, limit, asked{a.reasoner, b}, func(limited context.Context, q asked) (reply, error) {
		d, err := guard.Returned(q.Reason(limited, q.Brief))
		if err != nil && limited.Err() != nil {
			err = guard.ErrTime
		}
		return reply{d, err}, nil
	})
	d, refused := said.Decision, cmp.Or(err, said.refused)
	used := reason.Decision{Usage: d.Usage}
	if !d.Usage.Valid() {
		used = reason.Decision{}
	}
	if refused == nil {
		refused = d.Check()
	}
	if refused != nil {
		return used, refused
	}
	detach.Decision(&d)
	if err := t.accept(&d); err != nil {
		return used, err
	}
	if d.Complexity == "" && b.Complexity != reason.Unclear { // a decision was possible
		d.Complexity = b.Complexity
	}
	return d.Choose(), nil
}

// accept refuses a plan that no worker can carry out, and one that repeats what keeps failing. It
// leaves out alternatives that keep failing, unless all do.
func (t *turn) accept(d *reason.Decision) error {
	why := t.a.unable(d.Tasks)
	for _, alt := range d.Alternatives {
		why = cmp.Or(why, t.a.unable(alt.Tasks))
	}
	if why != "" {
		return fmt.Errorf("%w: %s", reason.ErrDecision, why)
	}
	if len(d.Tasks) > 0 {
		if why = t.against(d.Approach, d.Tasks); why != "" {
			return &repeated{d.Approach, why}
		}
	}
	left := slices.DeleteFunc(slices.Clone(d.Alternatives), func(p reason.Alternative) bool {
		why = t.against(p.Approach, p.Tasks)
		return why != ""
	})
	if len(d.Alternatives) > 0 && len(left) == 0 {
		return &repeated{d.Alternatives[len(d.Alternatives)-1].Approach, why}
	}
	d.Alternatives = left
	return nil
}

// refuse counts a refused decision, and returns what follows. The reasoner is asked again, with the
// complaint, until Options.Refusals are spent: then the run is stuck if the last decision repeated
// what keeps failing, else BLOCKED. A reasoner that lacks permission is not asked again.
func (t *turn) refuse(err error) phase {
	g := t.s.aim()
	g.Refused++
	why := t.clip(err.Error())
	if replied(err) {
		g.Complaint = why
	}
	t.emit(EventRefused, Event{Text: why})
	_, again := errors.AsType[*repeated](err)
	g.Told = g.Told || again
	if g.Refused >= t.a.o.Refusals && again {
		return t.stuck("no other approach was found: " + why)
	}
	if hopeless(err) {
		g.Refused = max(g.Refused, t.a.o.Refusals)
	}
	if g.Refused >= t.a.o.Refusals {
		return t.block(CauseModel, "no decision could be acted on: "+why)
	}
	return phaseReason
}

// hopeless reports whether the reasoner lacks permission, so that asking again is useless.
func hopeless(err error) bool {
	end, _ := act.Class(err)
	return end == act.Denied && !errors.Is(err, reason.ErrDecision)
}

// replied reports whether err is about a reasoner's answer. If the model was not reached there is
// no answer that it could improve.
func replied(err error) bool {
	_, large := errors.AsType[*store.LimitError](err)
	return large || !errors.Is(err, reason.ErrModel)
}

// Bounds of subgoals. Their texts are also distinct.
const (
	maxDepth    = 16
	maxSubgoals = 64
)

// subgoal enters the subgoal of an impasse, unless it was entered before. The subgoal is an aim of
// its own, with its own recall, plan and attempts. When it is reached, the present aim begins again
// with recall, and its reasoner is told the deliveries of the subgoal. When it is given up, the
// present aim and those above it are given up too.
func (t *turn) subgoal(imp *reason.Impasse) phase {
	why := ""
	switch {
	case slices.ContainsFunc(t.s.Aims, func(g aim) bool { return gist.Same(g.Text, imp.Subgoal) }):
		why = "the subgoal is one of the goals above it"
	case slices.ContainsFunc(t.s.Subgoals, func(s string) bool { return gist.Same(s, imp.Subgoal) }):
		why = "the subgoal was tried before"
	case len(t.s.Aims) >= maxDepth:
		why = fmt.Sprintf("subgoals are nested %d deep", maxDepth)
	case len(t.s.Subgoals) >= maxSubgoals:
		why = fmt.Sprintf("there were %d subgoals", maxSubgoals)
	}
	if why != "" {
		return t.block(CauseStuck, fmt.Sprintf("impasse %s (%s), and %s", imp.Kind, imp.Reason, why))
	}
	t.s.Subgoals = appendTo(t.s.Subgoals, imp.Subgoal)
	t.s.Aims = appendTo(t.s.Aims, aim{
		Text: imp.Subgoal, Situation: imp.Subgoal, Impasse: imp.Kind, Number: len(t.s.Subgoals), Quotes: t.s.aim().Quotes,
	})
	t.shown = shown{}
	t.emit(eventSubgoal, Event{Text: imp.Subgoal})
	return phaseAssess
}
