package learn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// Options configure a [Learner]. The zero value is ready.
type Options struct {
	// Recall is the largest number of memories injected for a goal. 0: 5;
	// negative: none.
	Recall int
	// Floor is the least relevance of a memory that is injected, in [0,1]: a
	// wrong memory is worse than none. 0: 0.2; negative: no floor.
	Floor float64

	// Holdout is the share of goals, in [0,0.5], for which nothing is
	// injected and no chunk fires, so that Uplift can say how much memory
	// helps. Whether a goal is one of them is drawn by its key. 0: none.
	Holdout float64
	// Seed is that of the draws. 0 is a seed like any other.
	Seed uint64

	// FireAfter is the number of verified deliveries after which a chunk may
	// fire. 0: 2; negative: never.
	FireAfter int
	// FireMatch is how alike the situation and a chunk's must be, as
	// measured by memory.Similarity, in [0,1]. 0: 0.85.
	FireMatch float64
	// FireReliability is the least reliability of a chunk that fires, in
	// [0,1]: the mean of the Beta posterior (1+d)/(2+d+m) over its d
	// deliveries and the m times that it misled. Goals for which it was
	// recalled but did not fire say nothing about it. 0: 0.65, which one
	// failure against two deliveries is below, and against three is not.
	FireReliability float64
}

func (o *Options) fill() error {
	if o.Recall == 0 {
		o.Recall = 5
	}
	if o.FireAfter == 0 {
		o.FireAfter = 2
	}
	if o.FireMatch == 0 {
		o.FireMatch = 0.85
	}
	if o.FireReliability == 0 {
		o.FireReliability = 0.65
	}
	if o.Floor == 0 {
		o.Floor = 0.2
	}
	var errs []error
	for _, f := range []struct {
		name string
		v    float64
	}{{"FireMatch", o.FireMatch}, {"FireReliability", o.FireReliability}, {"Floor", max(0, o.Floor)}} {
		if !(f.v >= 0 && f.v <= 1) {
			errs = append(errs, fmt.Errorf("%s %v is not in [0,1]", f.name, f.v))
		}
	}
	if !(o.Holdout >= 0 && o.Holdout <= 0.5) {
		errs = append(errs, fmt.Errorf("option Holdout: %v is not in [0,0.5]", o.Holdout))
	}
	return errors.Join(errs...)
}

// Learner connects memory, ranking and metacognition to outcomes. It is safe
// for concurrent use, and closes none of its parts.
type Learner struct {
	bank    *memory.Bank
	book    *rank.Book
	monitor *meta.Monitor
	o       Options
}

// New returns a Learner over the three, or an error that lists the options
// that are out of range.
func New(bank *memory.Bank, book *rank.Book, monitor *meta.Monitor, opts *Options) (*Learner, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if err := o.fill(); err != nil {
		return nil, err
	}
	return &Learner{bank: bank, book: book, monitor: monitor, o: o}, nil
}

// Ask is what memories are recalled for.
type Ask struct {
	GoalKey   string         // of the goal, as in Outcome
	Scope     memory.Scope   // where to recall from
	Also      []memory.Scope // further scopes of the same tenant
	Episodes  []memory.Scope // of the same tenant, where it is told how goals have ended
	Situation string
	Objective string
}

// Recall returns the memories to inject for a goal, best first: those whose
// trigger or content matches the situation or the objective, without the
// quarantined ones. If withheld is set, they are not to be shown, nor to fire,
// for the sake of Holdout: the host says so in Outcome.Withheld.
func (l *Learner) Recall(ctx context.Context, a Ask) (hits []memory.Hit, withheld bool, err error) {
	return l.recall(ctx, &a, memory.Query{K: l.o.Recall, Inject: true})
}

// crowd is how many times Options.Recall is looked through for lessons in
// quarantine: trusted ones and other quarantined texts stand between them.
const crowd = 4

// Background returns the lessons in quarantine that match a goal, best first,
// as Recall does the trusted ones: what was learned from outcomes, in words that
// no gate has verified. How up to three runs with similar goals have ended
// follows. It is data to show, fenced; of other quarantined texts it returns none.
func (l *Learner) Background(ctx context.Context, a Ask) (hits []memory.Hit, withheld bool, err error) {
	lessons := memory.Query{K: crowd * l.o.Recall, Kinds: []memory.Kind{memory.Failure, memory.Pattern}}
	hits, withheld, err = l.recall(ctx, &a, lessons)
	hits = slices.DeleteFunc(hits, func(h memory.Hit) bool {
		return h.Record.Trusted || h.Record.Source.Origin != memory.Derived
	})
	hits = hits[:min(len(hits), max(0, l.o.Recall))]
	withheld = withheld && len(hits) > 0
	if len(a.Episodes) == 0 || err != nil {
		return hits, withheld, err
	}
	a.Scope, a.Also = a.Episodes[0], a.Episodes[1:]
	told, held, err := l.recall(ctx, &a, memory.Query{K: 2 * maxTold, Kinds: []memory.Kind{memory.Episode}})
	told = distinct(told)
	return append(hits, told...), withheld || held && len(told) > 0, err
}

// recall puts what is asked for into a query.
func (l *Learner) recall(ctx context.Context, a *Ask, q memory.Query) (hits []memory.Hit, withheld bool, err error) {
	if l.o.Recall < 0 {
		return nil, false, nil
	}
	q.Text = cut(a.Situation, maxNote)
	if a.Objective != a.Situation {
		q.Text += "\n" + cut(a.Objective, maxNote)
	}
	if strings.TrimSpace(q.Text) == "" {
		return nil, false, nil // which would ask for whatever there is
	}
	q.Floor, q.Also, q.Situation = max(0, l.o.Floor), a.Also, situationKey(a.Situation)
	hits, err = l.bank.In(a.Scope).Recall(ctx, q)
	return hits, len(hits) > 0 && l.holds(a.GoalKey), err
}

// Flush writes what Learn has applied in memory only, and waits for it.
func (l *Learner) Flush(ctx context.Context) error {
	return errors.Join(l.bank.Flush(ctx), l.book.Flush(ctx), l.monitor.Flush(ctx))
}

// Learn takes in an outcome. It is idempotent on Outcome.Key. When it returns
// an error, part of the outcome may have been taken in: calling it again with
// the same outcome completes it.
func (l *Learner) Learn(ctx context.Context, o Outcome) (Lessons, error) {
	var lessons Lessons
	if o.Worker != "" {
		if err := l.book.Observe(ctx, o.sample()); err != nil {
			return lessons, fmt.Errorf("observe: %w", err)
		}
	}
	var err error
	var credited memory.ID
	switch {
	case o.Goal == Delivered && o.Plan != nil:
		if lessons.Chunk, credited, err = l.chunk(ctx, &o); err != nil {
			return lessons, fmt.Errorf("chunk: %w", err)
		}
	case o.Goal == Blocked:
		draft := memory.Draft{Kind: memory.Failure, Content: failureText(&o), Key: o.GoalKey + "/failure"}
		if lessons.Failure, err = l.remember(ctx, &o, draft); err != nil {
			return lessons, fmt.Errorf("remember the failure: %w", err)
		}
	}
	for _, scope := range o.scopes() {
		f, ok := o.feedback(scope, credited)
		if !ok {
			continue
		}
		if err := l.bank.In(scope).Feedback(ctx, f); err != nil {
			return lessons, fmt.Errorf("feedback: %w", err)
		}
		lessons.Helped, lessons.Misled = f.Utilized, f.Misled
	}
	if o.Task != Open {
		if err := l.monitor.Record(ctx, o.verdict()); err != nil {
			return lessons, fmt.Errorf("record the outcome: %w", err)
		}
	}
	if err := l.tell(ctx, &o); err != nil {
		return lessons, fmt.Errorf("tell the episode: %w", err)
	}
	if err := l.measure(ctx, &o); err != nil {
		return lessons, fmt.Errorf("measure the memories: %w", err)
	}
	return lessons, nil
}

// Lessons says what an outcome has changed in memory.
type Lessons struct {
	Chunk   memory.Receipt // of the pattern; zero if the goal was not delivered by deliberation
	Failure memory.Receipt // of the failure; zero if the goal was not blocked
	Helped  []memory.ID    // memories credited with the delivery
	Misled  []memory.ID    // memories charged with a failure
}

// chunk strengthens the pattern that says what the outcome teaches, or
// remembers one, and returns the pattern that has its credit for the delivery
// by that. One that was injected needs no search, and gets its credit by
// feedback: that it was used is all that there is to say.
func (l *Learner) chunk(ctx context.Context, o *Outcome) (r memory.Receipt, credited memory.ID, err error) {
	if id := o.known(o.trigger(), patternText(o)); id != "" {
		if !slices.Contains(o.Utilized, id) {
			o.Utilized = append(slices.Clip(o.Utilized), id)
		}
		return memory.Receipt{ID: id, Disposition: memory.Strengthened, Into: id}, "", nil
	}
	if r, err = l.Chunk(ctx, *o); err != nil {
		return r, "", err
	}
	if r.Disposition == memory.Stored {
		if err := l.generalise(ctx, o, r.ID); err != nil {
			return r, "", fmt.Errorf("generalise: %w", err)
		}
	}
	return r, r.Into, nil
}

// Chunk remembers the plan that delivered a goal as a pattern, or strengthens
// the pattern that says the same. It is idempotent on the goal's key. Learn
// does it for every goal that deliberation has delivered.
func (l *Learner) Chunk(ctx context.Context, o Outcome) (memory.Receipt, error) {
	plan, err := encodePlan(o.Approach, o.Plan, o.Objective)
	if err != nil {
		return memory.Receipt{}, err
	}
	return l.remember(ctx, &o, memory.Draft{
		Kind: memory.Pattern, Content: patternText(&o), Key: o.GoalKey + "/chunk", Plan: plan,
	})
}

// remember stores what the outcome teaches. A lesson that is too large for
// memory, or says nothing, is rejected rather than an error: the run that taught
// it goes on.
func (l *Learner) remember(ctx context.Context, o *Outcome, d memory.Draft) (memory.Receipt, error) {
	d.Trigger, d.At = o.trigger(), o.At
	d.Source = memory.Source{Origin: memory.Derived, Run: o.Run, Ref: o.GoalKey}
	r, err := l.bank.In(o.Scope).Remember(ctx, d)
	if limit, ok := errors.AsType[*store.LimitError](err); ok {
		return memory.Receipt{Disposition: memory.Rejected, Reason: limit.Error()}, nil
	}
	if errors.Is(err, memory.ErrEmpty) {
		return memory.Receipt{Disposition: memory.Rejected, Reason: err.Error()}, nil
	}
	return r, err
}

// Fire returns the chunk among hits that may act without deliberation: a
// pattern whose plan may fire, from the same situation, that has delivered often
// enough and is reliable. A pattern with variables, drawn from three or more that
// differ in a few words only, fires where the situation matches it word by word
// but for these, which are put into the plan. If there are several, the first of hits. Chunks in
// except, which have failed for this goal already, do not fire.
func (l *Learner) Fire(hits []memory.Hit, situation, objective string, except []memory.ID) (Chunk, bool) {
	if l.o.FireAfter < 0 {
		return Chunk{}, false
	}
	for i := range hits {
		r := &hits[i].Record
		if r.Kind != memory.Pattern || !r.MayFire() || slices.Contains(except, r.ID) {
			continue
		}
		delivered := 1 + r.Stats.Helped // the delivery that made it counts too
		raw, same := r.Plan, memory.Similarity(r.Trigger, situation) >= l.o.FireMatch
		if general(r) {
			delivered = len(r.Links) + r.Stats.Helped // those that it was drawn from
			raw, same = bind(r, situation)
		}
		reliability := float64(1+delivered) / float64(2+delivered+r.Stats.Misled)
		if !same || delivered < l.o.FireAfter || reliability < l.o.FireReliability {
			continue
		}
		p, err := decodePlan(raw, objective)
		if err != nil {
			continue // a plan from another version: deliberation replaces it
		}
		return Chunk{ID: r.ID, Approach: p.Approach, Tasks: p.Tasks}, true
	}
	return Chunk{}, false
}
