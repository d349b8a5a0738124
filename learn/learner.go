package learn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/known"
	"github.com/arc-learn/arc/internal/template"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
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

	// Repeats is how often an action may fail in a situation, over all runs,
	// before it is not begun again unless something is new: see
	// [Learner.Rests]. 0: 3; negative: no bound.
	Repeats int

	// FireAfter is the number of verified deliveries after which a chunk may
	// fire. 0: 2; negative: never.
	FireAfter int
	// Same decides for the host whether two cases are of the same situation, if
	// that is more than equal words: it vouches for it as a named Situation does.
	// The inputs and conditions must agree all the same, and inputs are bound
	// anew. Of the case that was, Situation and Conditions are known. nil: equal
	// words alone count.
	Same func(was, is Ask) bool
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
	if o.Repeats == 0 {
		o.Repeats = 3
	}
	if o.FireAfter == 0 {
		o.FireAfter = 2
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
	}{{"FireReliability", o.FireReliability}, {"Floor", max(0, o.Floor)}} {
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
	cache   *lru.Cache[memory.ID, cached]
	warned  warnings
	room    atomic.Int32 // for as many hits as were found last
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
	cache, err := lru.New[memory.ID, cached](cacheSize)
	return &Learner{
		bank: bank, book: book, monitor: monitor, o: o, cache: cache, warned: warnings{bank: bank, repeats: o.Repeats},
	}, err
}

// Ask is a goal that memories are recalled for, and that a chunk may fire for.
type Ask struct {
	GoalKey   string         // of the goal, as in Outcome
	Scope     memory.Scope   // where to recall from
	Also      []memory.Scope // further scopes of the same tenant
	Episodes  []memory.Scope // of the same tenant, where it is told how goals have ended
	Situation string
	Objective string
	Case
	words []string // of the Objective, once they are read
}

// Found is what is known for a goal. Of Hits, the first so many are Trusted, and are to
// be injected: those one of whose Triggers stands in the situation or the objective, then
// those that match them, best first, and what these are linked with. Behind them
// is the background, data to show, fenced: lessons in quarantine, which are what was
// learned from outcomes in words that no gate has verified, and then how up to three
// runs with similar goals have ended. Before these come chunks that are found with the names of inputs
// in the places of their values. If Withheld is set, they are not to be shown, nor
// to fire, for the sake of Holdout: the host says so in Outcome.Withheld.
type Found struct {
	Hits     []memory.Hit
	Trusted  int
	Withheld bool
}

// crowd is how many times Options.Recall is looked through for lessons in
// quarantine: other quarantined texts stand between them.
const crowd = 4

// What the background is looked for among.
var (
	lessons = []memory.Kind{memory.Failure, memory.Pattern}
	endings = []memory.Kind{memory.Episode}
)

// Recall returns what is known for a goal.
func (l *Learner) Recall(ctx context.Context, a Ask) (f Found, err error) {
	if l.o.Recall < 0 {
		return f, nil
	}
	all := make([]memory.Hit, 0, l.room.Load())
	add := func(q memory.Query) (from int) {
		from = len(all)
		if err == nil {
			all, err = l.recall(ctx, &a, all, q)
		}
		return from
	}
	add(memory.Query{K: l.o.Recall, Inject: true, Triggered: true})
	from := add(memory.Query{K: l.o.Recall, Inject: true, Linked: true})
	if err != nil {
		return f, err
	}
	all = all[:from+len(slices.DeleteFunc(all[from:], func(h memory.Hit) bool {
		drawn := h.Linked != "" && h.Record.Kind == memory.Pattern // a plan is for what it was found by
		return drawn || listed(all[:from], &h.Record)
	}))]
	all = all[:min(len(all), l.o.Recall)]
	f.Trusted = add(memory.Query{K: crowd * l.o.Recall, Background: true, Kinds: lessons})
	if err != nil {
		return f, err
	}
	others := func(h memory.Hit) bool { return h.Record.Source.Origin != memory.Derived }
	background := slices.DeleteFunc(all[f.Trusted:], others)
	all = all[:f.Trusted+min(len(shown(background, a.User)), l.o.Recall)]
	if as := a.general(); as != "" {
		from, near := add(memory.Query{Text: cut(as, maxNote), K: similar, Kinds: lessons[1:]}), false
		if err != nil {
			return f, err
		}
		all = all[:from+len(slices.DeleteFunc(shown(all[from:], a.User), func(h memory.Hit) bool {
			c, ok := l.match(&h.Record, &a)
			if !ok || !c.fits && near || listed(all[:from], &h.Record) {
				return true
			}
			near = near || !c.fits // one that does not fit says why
			return false
		}))]
	}
	if len(a.Episodes) > 0 {
		a.Scope, a.Also = a.Episodes[0], a.Episodes[1:]
		from := add(memory.Query{K: 2 * maxTold, Kinds: endings})
		if err != nil {
			return f, err
		}
		all = all[:from+len(distinct(shown(all[from:], a.User)))]
	}
	f.Hits = slices.Clip(all)
	l.room.Store(int32(len(all)))
	f.Withheld = len(f.Hits) > 0 && l.holds(a.GoalKey)
	return f, nil
}

// listed reports whether a record is one of the hits.
func listed(hits []memory.Hit, r *memory.Record) bool {
	return slices.ContainsFunc(hits, func(h memory.Hit) bool { return h.Record.ID == r.ID && h.Record.Scope == r.Scope })
}

// general is what chunks of such cases are found by, whatever the words of the objective:
// the situation or objective with names in the places of values of the inputs, where some
// stand in it, or else the situation as the host has named it. "": neither.
func (a *Ask) general() string {
	o := Outcome{Situation: a.Situation, Objective: a.Objective}
	said := o.trigger()
	if all := template.Flatten(a.Inputs, nil); len(all) > 0 && len(all) <= maxInputs {
		if as := quoter(all).Phrase(template.Literal(said)).Show(); as != said {
			return triggerOf(as)
		}
	}
	if a.Vouched && a.Situation != a.Objective {
		return triggerOf(said)
	}
	return ""
}

// recall puts what is asked for into a query, and appends what that finds.
func (l *Learner) recall(ctx context.Context, a *Ask, hits []memory.Hit, q memory.Query) ([]memory.Hit, error) {
	if q.Text == "" {
		q.Text = cut(a.Situation, maxNote)
		if a.Objective != a.Situation {
			q.Text += "\n" + cut(a.Objective, maxNote)
		}
	}
	if strings.TrimSpace(q.Text) == "" {
		return hits, nil // which would ask for whatever there is
	}
	q.Floor, q.Also, q.Situation = max(0, l.o.Floor), a.Also, situationKey(a.Situation)
	return l.bank.In(a.Scope).RecallInto(ctx, hits, q)
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
	return l.warned.rests(k, scope, run, a, at)
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
	if lessons.Warning, err = l.warned.learn(ctx, &o); err != nil {
		return lessons, fmt.Errorf("warn: %w", err)
	}
	switch {
	case o.Goal == Delivered && o.Plan != nil:
		if lessons.Chunk, credited, err = l.chunk(ctx, &o); err != nil {
			return lessons, fmt.Errorf("chunk: %w", err)
		}
	case o.Goal == Blocked:
		draft := memory.Draft{Kind: memory.Failure, Content: failureText(&o), Key: o.GoalKey + "/failure", Quotes: o.quotes()}
		if lessons.Failure, err = l.remember(ctx, &o, draft); err != nil {
			return lessons, fmt.Errorf("remember the failure: %w", err)
		}
	}
	var few [8]memory.Scope
	ids := make([]memory.ID, 0, len(o.Injected)+len(o.Utilized)+1)
	for _, scope := range o.scopes(few[:0]) {
		f, ok := o.feedback(scope, credited, ids)
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
	if err := l.offer(ctx, &o); err != nil {
		return lessons, fmt.Errorf("offer the output: %w", err)
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
	Warning memory.Receipt // of what failed, or was overcome; zero if nothing
	Helped  []memory.ID    // memories credited with the delivery
	Misled  []memory.ID    // memories charged with a failure
}

// chunk credits the pattern that says what the outcome teaches, or remembers one,
// and returns the pattern that has its credit for the delivery by that. One that
// was injected needs no search, and gets its credit by feedback: that it was used
// is all that there is to say.
func (l *Learner) chunk(ctx context.Context, o *Outcome) (r memory.Receipt, credited memory.ID, err error) {
	ask := Ask{Scope: o.Scope, Situation: o.Situation, Objective: o.Objective, Case: o.Case}
	if o.Chunks == nil {
		o.Chunks = l.Match(o.Injected, ask)
	}
	if c := o.known(o.Chunks); c != nil {
		o.used = c.ID
		return memory.Receipt{ID: c.ID, Disposition: memory.Strengthened, Into: c.ID}, "", l.unname(ctx, o, c)
	}
	d, err := o.chunk()
	if err != nil {
		return r, "", err
	}
	patterns := memory.Query{Text: cut(d.Trigger, maxNote), Kinds: []memory.Kind{memory.Pattern}, K: similar}
	like, err := l.bank.In(o.Scope).Recall(ctx, patterns)
	if err != nil {
		return r, "", err
	}
	// The pattern of this very goal was stored before a crash.
	made := slices.ContainsFunc(like, func(h memory.Hit) bool { return h.Record.Source.Ref == o.GoalKey })
	if c := o.known(l.Match(like, ask)); c != nil && !made {
		f := memory.Feedback{
			Key: digest(o.GoalKey, "chunk"), Delivered: true, Situation: situationKey(o.Situation),
			Injected: []memory.ID{c.ID}, Utilized: []memory.ID{c.ID}, Actor: o.User,
		}
		r = memory.Receipt{ID: c.ID, Disposition: memory.Strengthened, Into: c.ID}
		return r, c.ID, errors.Join(l.unname(ctx, o, c), l.bank.In(o.Scope).Feedback(ctx, f))
	}
	if r, err = l.remember(ctx, o, d); err != nil {
		return r, "", err
	}
	if r.Disposition == memory.Stored {
		if err := l.generalise(ctx, o, r.ID, like); err != nil {
			return r, "", fmt.Errorf("generalise: %w", err)
		}
	}
	return r, r.Into, nil
}

// similar is the number of patterns that a new chunk is held against.
const similar = 16

// known returns the one of chunks that would have made the plan of the outcome, or nil.
func (o *Outcome) known(chunks []Chunk) *Chunk {
	for i := range chunks {
		c := &chunks[i]
		if c.fits && c.unfit == o.Unfit && c.scope == o.Scope && slices.EqualFunc(c.Tasks, o.Plan, equal) {
			return c
		}
	}
	return nil
}

// unname has a chunk name no worker for the tasks that another one has delivered for other
// values of the inputs: which of them is for which values is the ranking's to learn.
func (l *Learner) unname(ctx context.Context, o *Outcome, c *Chunk) error {
	for c.moved {
		was, err := l.bank.In(o.Scope).Get(ctx, c.ID)
		if errors.Is(err, store.ErrNotFound) {
			return nil // it is forgotten since
		}
		if err != nil {
			return err
		}
		stored, err := l.decoded(&was)
		if err != nil {
			return err
		}
		n, changed := *stored, false
		n.Tasks = slices.Clone(n.Tasks)
		for i := range n.Tasks {
			if s := &n.Tasks[i]; s.Worker != "" && s.Worker != o.Plan[i].Worker {
				s.Worker, changed = "", true
			}
		}
		d, err := n.draft()
		if err != nil || !changed {
			return err
		}
		is := was.Clone()
		is.Content, is.Plan = d.Content, d.Plan
		if err = l.bank.In(o.Scope).Amend(ctx, memory.Amended{Was: was, Is: is}); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return nil
}

// equal reports whether two tasks are the same, by any worker.
func equal(a, b reason.Task) bool {
	x, err := template.NodeOf(a.Inputs)
	y, err2 := template.NodeOf(b.Inputs)
	if err != nil || err2 != nil || (x == nil) != (y == nil) || x != nil && !bytes.Equal(x.Raw, y.Raw) {
		return false
	}
	return a.Objective == b.Objective && a.Delta == b.Delta && a.Verify == b.Verify && a.Skill == b.Skill &&
		(a.Effect == b.Effect || a.Effect != nil && b.Effect != nil && *a.Effect == *b.Effect)
}

// decoded returns the chunk of a pattern, which callers do not change.
func (l *Learner) decoded(r *memory.Record) (*chunk, error) {
	if c, ok := l.cache.Get(r.ID); ok && bytes.Equal(c.plan, r.Plan) {
		return c.chunk, c.err
	}
	c, err := decodeChunk(r.Plan)
	l.cache.Add(r.ID, cached{r.Plan, c, err})
	return c, err
}

// cached is the chunk of a plan, or why it is none.
type cached struct {
	plan  json.RawMessage
	chunk *chunk
	err   error
}

// cacheSize is the number of chunks that are kept decoded.
const cacheSize = 256

// Chunk remembers the plan that delivered a goal as a pattern with the conditions
// under which it fires, or strengthens the pattern that says the same. It is
// idempotent on the goal's key. Learn does it for every goal that deliberation has
// delivered.
func (l *Learner) Chunk(ctx context.Context, o Outcome) (memory.Receipt, error) {
	d, err := o.chunk()
	if err != nil {
		return memory.Receipt{}, err
	}
	return l.remember(ctx, &o, d)
}

// chunk is the chunk of an outcome, to be remembered.
func (o *Outcome) chunk() (d memory.Draft, err error) {
	c, err := newChunk(o)
	if err == nil {
		d, err = c.draft()
		d.Key = o.GoalKey + "/chunk"
	}
	return d, err
}

// remember stores what the outcome teaches.
func (l *Learner) remember(ctx context.Context, o *Outcome, d memory.Draft) (memory.Receipt, error) {
	if d.At = o.At; d.Trigger == "" {
		d.Trigger = o.trigger()
	}
	d.Source = memory.Source{Origin: memory.Derived, Run: o.Run, Ref: o.GoalKey}
	if d.Kind == memory.Pattern {
		d.Quotes, d.Links = o.Quotes, append(d.Links, o.parents()...)
	}
	return kept(l.bank.In(o.Scope).Remember(ctx, d))
}

// Chunk is a plan that delivered a case, held against another one.
type Chunk struct {
	reason.Suggestion
	scope memory.Scope
	unfit string // for all cases but its own
	fits  bool   // its conditions hold, and its plan is bound
	moved bool   // to other values than those that it was made with
}

// Fire returns the chunk that acts without deliberation: the first that has a plan
// that may fire, has delivered often enough, is reliable, and all of whose conditions
// hold. How alike a case is does not count: see [Learner.Match]. Chunks in except,
// which have failed for this goal already, do not fire.
func Fire(chunks []Chunk, except []memory.ID) (Chunk, bool) {
	for _, c := range chunks {
		if len(c.Differs) == 0 && !slices.Contains(except, c.ID) {
			return c, true
		}
	}
	return Chunk{}, false
}

// same reports whether the host takes two cases for the same situation. Variables
// are words of it, which the host cannot see.
func (l *Learner) same(c *chunk, a *Ask) (same bool) {
	if l.o.Same == nil || len(c.Variables) > 0 {
		return false
	}
	was := Ask{Scope: a.Scope, Situation: c.Situation, Case: Case{Conditions: maps.Clone(c.Conditions), Vouched: c.Vouched}}
	err := guard.Call(func() { same = l.o.Same(was, *a) })
	return err == nil && same
}

// Match returns the chunks among hits, best first, with what keeps each of them
// from firing: they are plans to suggest.
func (l *Learner) Match(hits []memory.Hit, a Ask) (out []Chunk) {
	for i := range hits {
		if r := &hits[i].Record; r.Kind == memory.Pattern && mayFire(hits, r, a.User) {
			if c, ok := l.match(r, &a); ok {
				out = append(out, c)
			}
		}
	}
	return out
}

// match holds the chunk of a pattern against a case.
func (l *Learner) match(r *memory.Record, a *Ask) (Chunk, bool) {
	stored, err := l.decoded(r)
	if err != nil {
		return older(r)
	}
	b, differs := stored.fit(a, l.same(stored, a))
	out := Chunk{Suggestion: reason.Suggestion{ID: r.ID, Situation: stored.Situation}, scope: r.Scope, unfit: stored.Unfit}
	out.Approach, out.Tasks, err = stored.tasks(&b)
	out.fits = len(differs) == 0 && err == nil
	for path, v := range b.Now {
		out.moved = out.moved || v != b.Was[path]
	}
	if stored.Unfit != "" {
		differs = slices.Insert(differs, 0, stored.Unfit)
	}
	switch {
	case len(differs) > 0:
	case err != nil:
		differs = []string{err.Error()}
	case redacted(out.Tasks):
		differs = []string{"a part of it was a secret, which was not kept"}
	case r.Scope != a.Scope && r.Scope != "":
		differs = []string{fmt.Sprintf("it was learned in scope %s", r.Scope)}
	default:
		differs = l.unproven(r)
	}
	out.Differs = differs
	return out, true
}

// redacted reports whether a sanitizer has taken something out of tasks.
func redacted(tasks []reason.Task) bool {
	const token = "[REDACTED:"
	return slices.ContainsFunc(tasks, func(t reason.Task) bool {
		return strings.Contains(t.Objective, token) || strings.Contains(t.Delta, token) ||
			strings.Contains(t.Verify, token) || bytes.Contains(t.Inputs, []byte(token))
	})
}

// unproven says what a chunk lacks in deliveries, if anything.
func (l *Learner) unproven(r *memory.Record) []string {
	delivered := 1 + r.Stats.Helped // the delivery that made it counts too
	if n := generalises(r); n > 0 {
		delivered = n + r.Stats.Helped // those that it was drawn from
	}
	reliability := float64(1+delivered) / float64(2+delivered+r.Stats.Misled)
	switch {
	case l.o.FireAfter < 0:
		return unfired
	case delivered < l.o.FireAfter:
		return []string{fmt.Sprintf("it has delivered %d of the %d times that it takes", delivered, l.o.FireAfter)}
	case reliability < l.o.FireReliability:
		return []string{fmt.Sprintf("it has misled %d times, and delivered %d", r.Stats.Misled, delivered)}
	}
	return nil
}

// unfired is what keeps every chunk from firing where FireAfter is negative.
var unfired = []string{"chunks do not fire here"}

// older returns a plan of before there were conditions: it never fires.
func older(r *memory.Record) (Chunk, bool) {
	var p legacy
	if json.Unmarshal(r.Plan, &p) != nil || (&reason.Decision{Tasks: p.Tasks}).Check() != nil {
		return Chunk{}, false
	}
	return Chunk{Suggestion: reason.Suggestion{
		ID: r.ID, Situation: r.Trigger, Approach: p.Approach, Tasks: p.Tasks,
		Differs: []string{"it was stored without its conditions"},
	}}, true
}

// Judgement is what someone has found out about a delivery after the gates had
// passed it.
type Judgement struct {
	Key     string // Judge is idempotent on it
	Right   bool
	Changed bool   // the same source said the opposite before
	Why     string // without secrets

	Session   string
	Objective string // of the run
	Situation string
	Approach  string
	User      string // of the run
	At        time.Time

	Scopes   []memory.Scope // where the memories may be
	Memories []memory.ID    // those used, the chunk that fired or was learned among them
	Work     []Outcome      // what is judged: Skill and Worker of each delivery
}

// Judge takes in a judgement. The memories that the delivery used are credited or
// charged, and what an opposite judgement did to them before is taken back; each
// worker has one sample more, and the session one outcome more.
func (l *Learner) Judge(ctx context.Context, j Judgement) error {
	for i := range j.Work {
		w := &j.Work[i]
		if err := l.book.Observe(ctx, rank.Sample{
			Key: j.Key + "/" + strconv.Itoa(i), Candidate: w.Worker,
			Situation: Situation(w.Skill, j.Situation), Success: j.Right, At: j.At,
		}); err != nil {
			return fmt.Errorf("observe: %w", err)
		}
	}
	for _, scope := range j.Scopes {
		if j.Changed {
			back := j.feedback(!j.Right)
			back.Key, back.Undo = j.Key+"/back", true
			if err := l.bank.In(scope).Feedback(ctx, back); err != nil {
				return fmt.Errorf("take the feedback back: %w", err)
			}
		}
		if err := l.bank.In(scope).Feedback(ctx, j.feedback(j.Right)); err != nil {
			return fmt.Errorf("feedback: %w", err)
		}
	}
	if err := l.monitor.Record(ctx, meta.Outcome{
		Key: j.Key, Session: j.Session, Goal: cut(j.Objective, maxNote), Approach: cut(j.Approach, maxNote),
		User: j.User, Success: j.Right, At: j.At, Note: cut(j.Why, maxNote),
	}); err != nil {
		return fmt.Errorf("record the outcome: %w", err)
	}
	return nil
}

// feedback is what a verdict says of the memories.
func (j *Judgement) feedback(right bool) memory.Feedback {
	f := memory.Feedback{Key: j.Key, Situation: situationKey(j.Situation), Delivered: right}
	ids := slices.Clone(j.Memories)
	if right {
		f.Injected, f.Utilized = ids, ids
	} else {
		f.Misled = ids
	}
	return f
}

// Keys are those under which the Monitor has that goals of these keys were given up, and
// those of their episodes.
func Keys(goals []string) (outcomes, episodes []string) {
	for _, k := range goals {
		outcomes = append(outcomes, k+"/blocked")
		episodes = append(episodes, digest(k, "delivered"), digest(k, "at once"))
	}
	return outcomes, episodes
}

// Release forgets what makes Learn idempotent for the goals of a run, which will
// not come again: the keys of its attempts and goals. What they have taught
// stays.
func (l *Learner) Release(ctx context.Context, session string, scopes []memory.Scope, attempts, goals []string) error {
	blocked, episodes := Keys(goals)
	outcomes := slices.Concat(attempts, blocked)
	feedback := slices.Clone(outcomes)
	for _, k := range outcomes {
		feedback = append(feedback, digest(k, "warnings"))
	}
	var drafts []string
	for _, k := range goals {
		drafts = append(drafts, k+"/chunk", k+"/failure", digest(k, "episode"))
		feedback = append(feedback, digest(k, "chunk"))
	}
	for _, scope := range scopes {
		if err := l.bank.In(scope).Release(ctx, feedback, drafts); err != nil {
			return err
		}
	}
	if err := l.book.Release(ctx, attempts...); err != nil {
		return err
	}
	return l.monitor.Release(ctx, session, outcomes, episodes)
}
