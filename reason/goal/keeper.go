package goal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// The guards of a dispatch, as the self-improving loop has them, beside the cooldown of a goal.
const (
	maxFailures = 3 // of an action for a goal
	window      = 5 * time.Minute
	rest        = 10 * time.Minute // of an action that has failed so often, or that no further attempt mends
	maxRest     = 4 * time.Hour    // each rest is twice as long as the one before, until the action has helped

	claimed = 10 * time.Second // after which a dispatch that nobody has begun is begun by who finds it
	kind    = "goal"           // of keys
	nobody  = "no worker has an effect that would mend it"
)

// Keeper keeps the goals of a scope by runs of an Agent. Several Keepers, in as many processes, may keep the
// same goals over one store: a goal is dispatched by one of them.
type Keeper struct {
	agent     *arc.Agent
	view      arc.View
	group     *store.Group
	world     *World
	goals     *Goals
	policy    rank.Policy
	proposals *proposal.Book
	runs      sync.WaitGroup // that were begun here

	mu       sync.Mutex           // of a Tick
	proposed map[string]time.Time // when an action was last proposed for a goal
	had      map[string]goal      // by the last Tick
	errs     []error              // of runs that could not begin, for the next Tick
}

// record is what is kept of a goal.
type record struct {
	N      int             `cbor:"1,keyasint"`           // dispatches so far
	Run    string          `cbor:"2,keyasint,omitempty"` // that is under way
	Worker string          `cbor:"3,keyasint,omitempty"` // of the last dispatch
	Skill  string          `cbor:"4,keyasint,omitempty"`
	Began  time.Time       `cbor:"5,keyasint,omitzero"`
	Ended  time.Time       `cbor:"6,keyasint,omitzero"`
	Judge  string          `cbor:"7,keyasint,omitempty"`  // the run that a reading is to judge
	Cool   time.Time       `cbor:"8,keyasint,omitzero"`   // until when the goal is left alone
	Past   map[string]past `cbor:"9,keyasint,omitempty"`  // by worker
	Wanted string          `cbor:"10,keyasint,omitempty"` // by the goal, as it was for the last dispatch

	rev store.Revision
}

// past is what a worker has failed at a goal.
type past struct {
	Failures []time.Time   `cbor:"1,keyasint,omitempty"` // of five minutes
	Rests    time.Time     `cbor:"2,keyasint,omitzero"`  // until then
	Rest     time.Duration `cbor:"3,keyasint,omitempty"` // how long the last one was
}

// Open returns a Keeper of the goals in the World's scope. The Group is over the part of its tenant of a's
// store, see store.Sub. Only the policy and the proposals may be nil.
//
// It has two domains of the World read once a minute: agent_fleet_health, the figures of the workers in the
// scope, and memory_health.
//
// The policy says which of the workers with an effect is first; nil: rank.Book.Learned, whatever arc.Options
// has. The proposals (nil: none), over the same Group, get what is missing and have the goals that a person
// approved; whom they pause, a policy has to say (proposal.Book.Policy).
func Open(
	g *store.Group, a *arc.Agent, w *World, goals *Goals, policy rank.Policy, proposals *proposal.Book,
) (*Keeper, error) {
	k := &Keeper{
		agent: a, view: a.In(w.scope), group: g, world: w, goals: goals, policy: policy, proposals: proposals,
		proposed: map[string]time.Time{},
	}
	err := w.Collect(fleetDomain, k.fleet, 0, 0)
	return k, cmp.Or(err, w.Collect(memoryDomain, k.memory, 0, 0))
}

// Keep ticks every so often, 0: 5 seconds, until ctx ends. told gets what a tick has returned, where a
// Status, a Run or the error is new, and Keep goes on when it has returned. It may be nil, but alert on it:
// no event says that a goal is violated or unknown. arc.View.Health says which are, as of a minute ago at
// most. When ctx has ended, it begins no more, and returns when its runs have ended, wait for a person or
// were left (arc.Agent.Shutdown). To edit, disable or delete a goal that has run is an error, too, told once.
func (k *Keeper) Keep(ctx context.Context, every time.Duration, told func([]Standing, error)) {
	defer k.runs.Wait()
	was, kept, missed := "", time.Time{}, error(nil) // missed: why told has not taken in what it was told
	for ctx.Err() == nil {
		standings, err := k.Tick(ctx)
		err = errors.Join(err, missed)
		stand, open := "", ""
		for _, s := range standings {
			stand += fmt.Sprintln(s.Goal, s.Status, s.Run)
			if s.Status != Met { // without the Reason: only the Agent knows what is secret in a reading
				open += fmt.Sprintf("\n  %s: %s, %s", s.Goal, s.Status, cmp.Or(s.Run, "no run"))
			}
		}
		if now := k.world.now(); now.Sub(kept).Abs() >= time.Minute { // for View.Health
			const head = "\ngoals of %s that are not met, as of %s:%s"
			text := fmt.Sprintf(head, k.world.scope, now.UTC().Format(time.DateTime), cmp.Or(open, " none"))
			wrong := k.group.Update(ctx, func(b *store.Batch) error {
				return codec.Put(b, k.world.scope.Key("health", kind), fence.Clip(text, 4<<10), store.Any)
			})
			err = errors.Join(err, wrong)
			if wrong == nil {
				kept = now
			}
		}
		is := fmt.Sprintln(err, stand)
		if told != nil && is != was && ctx.Err() == nil {
			was = is
			_, missed = call.Do(ctx, 0, func(context.Context) (none struct{}, _ error) {
				told(standings, err)
				return none, nil
			})
		}
		select {
		case <-time.After(cmp.Or(max(0, every), 5*time.Second)):
		case <-ctx.Done():
		}
	}
}

// Tick reads what is due, and returns how all goals stand, the most severe first. It begins a run for each
// that is violated and can be acted on, and does not wait for it. The Standings hold also beside an error,
// which joins those of collectors, of approved drafts, of goals about which nothing could be done or which
// want something else than at their last run, and of runs that could not begin since the last Tick.
func (k *Keeper) Tick(ctx context.Context) ([]Standing, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	goals, wrong := k.current(ctx)
	errs := append(k.errs, k.world.Poll(ctx), wrong)
	k.errs = nil
	records, unread := k.records(ctx)
	n, had := len(goals), k.had
	for _, g := range had { // for what still waits for one that is gone
		there := func(o goal) bool { return o.ID == g.ID }
		if wrong == nil && !slices.ContainsFunc(goals, there) {
			g.Enabled = new(false) // it was deleted, or has another name
			goals = append(goals, g)
		}
	}
	k.had = map[string]goal{}
	t := &tick{Keeper: k, now: k.world.now(), goals: goals, records: records}
	var out []Standing
	for i := range goals {
		g := &goals[i]
		r, v := cmp.Or(records[g.ID], new(record)), g.evaluate(k.world)
		g.status, g.since = v.Status, v.at
		was := had[g.ID]
		if was.says() == g.says() && (v.Status == was.status || v.Status == Unknown) { // which ends no row
			g.status, g.since = was.status, was.since
		}
		if i < n || unread != nil {
			k.had[g.ID] = *g
		}
		records[g.ID] = r
		err := unread // then nobody knows what is under way, and nothing is done
		if err == nil {
			err = t.settle(ctx, g, r, &v)
		}
		if err == nil && v.Status == Violated && r.Run == "" {
			err = t.mend(ctx, g, r, &v)
		}
		if err != nil && !errors.Is(err, store.ErrConflict) { // another process is at it
			errs = append(errs, fmt.Errorf("goal: %s: %w", g.ID, err))
		}
		v.Run = r.Run
		out = append(out, v.Standing)
	}
	return out[:n], errors.Join(errs...)
}

// current are the goals that are loaded and those that a person has approved, the most severe first. One that
// is loaded stands in place of an approved one of its ID.
func (k *Keeper) current(ctx context.Context) (goals []goal, err error) {
	goals = slices.Clone(k.goals.all())
	var approved []proposal.Proposal
	if k.proposals != nil {
		approved, err = k.proposals.List(ctx, proposal.Approved)
	}
	for _, p := range approved {
		if p.Kind != "goal" {
			continue
		}
		drafted, wrong := parse([]byte("goals:\n" + p.Change)) // an entry of the list
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("goal: the approved draft %q: %w", p.Subject, wrong))
			continue
		}
		goals = append(goals, slices.DeleteFunc(drafted, func(g goal) bool {
			return slices.ContainsFunc(goals, func(o goal) bool { return o.ID == g.ID })
		})...)
	}
	slices.SortStableFunc(goals, func(a, b goal) int {
		return slices.Index(severities, a.Severity) - slices.Index(severities, b.Severity)
	})
	return goals, err
}

func (k *Keeper) records(ctx context.Context) (map[string]*record, error) {
	all := map[string]*record{}
	for e, err := range k.group.Store().Scan(ctx, store.Range{Prefix: k.world.scope.Key(kind, "")}) {
		_, _, id, _ := store.ParseKey(e.Key)
		all[id] = &record{rev: e.Rev}
		if err = cmp.Or(err, codec.Unmarshal(e.Value, all[id])); err != nil {
			return all, err
		}
	}
	return all, nil
}

// keep stores a record if it is still the one that was read.
func (k *Keeper) keep(ctx context.Context, g *goal, r *record) error {
	return k.group.Update(ctx, func(b *store.Batch) error {
		b.After(func(rev store.Revision) { r.rev = rev })
		return codec.Put(b, k.world.scope.Key(kind, g.ID), r, store.At(r.rev))
	})
}

// tick is a Tick that is under way. Goals come in the order of their severity, each with one reading through
// settle and then mend. So of two that are about the same value the more severe one has its run first, and
// mend leaves the other alone: it looks at the records of all, as they are by then. What is decided for a
// goal is one conditional write of its record (keep). Where another process was faster it is dropped, and
// the next Tick reads what that has done.
type tick struct {
	*Keeper
	now     time.Time
	goals   []goal
	records map[string]*record
}

// waits reports whether a time is to come that lies at most so far ahead, and an hour by which clocks may
// differ: of one further ahead, the clock was wrong when it was set.
func (t *tick) waits(until time.Time, most time.Duration) bool {
	left := until.Sub(t.now)
	return left > 0 && left <= most+time.Hour
}

// settle takes in what has become of the goal's last run: first that it has ended, then, once the goal was
// read after that, whether it has helped. A goal that is still violated has until the end of its cooldown to
// show the effects. Judge comes before the record says that it was judged: a process that dies between the
// two finds the verdict.
func (t *tick) settle(ctx context.Context, g *goal, r *record, v *verdict) error {
	changed := r.Wanted != "" && r.Wanted != g.says()
	if r.Run != "" {
		if err := t.end(ctx, g, r, v, changed); err != nil || r.Run != "" {
			return err
		}
	}
	if changed { // no reading of this goal judges what was done for another
		const why = "its last run was for %q: where nobody has changed that, two Keepers have two documents"
		err := fmt.Errorf(why, r.Wanted)
		r.Judge, r.Wanted, r.Past = "", "", nil
		return cmp.Or(t.keep(ctx, g, r), err)
	}
	if r.Judge == "" || !v.at.After(r.Ended) || v.Status == Violated && t.waits(r.Cool, *g.Cooldown) {
		return nil // its effects may still come to show
	}
	is := learn.Delivered
	if v.Status == Violated {
		is = learn.Failed
		r.fail(t.now, false)
	} else {
		delete(r.Past, r.Worker)
	}
	report, err := t.view.Report(ctx, r.Judge)
	if err == nil && report.Verdict == "" { // a person knows better
		err = t.view.Judge(ctx, r.Judge, is, "as read later: "+v.Reason)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	r.Judge = ""
	return t.keep(ctx, g, r)
}

// end takes in the end of the run that is under way, if it has come. One that waits is ended where
// the goal is met or new.
func (t *tick) end(ctx context.Context, g *goal, r *record, v *verdict, changed bool) error {
	report, err := t.view.Report(ctx, r.Run)
	if errors.Is(err, store.ErrNotFound) { // its process may have ended before the run began
		switch {
		case t.waits(r.Began.Add(claimed), claimed):
		case v.Status == Met, changed:
			r.Run = ""
			return t.keep(ctx, g, r)
		case v.Status == Violated:
			t.begin(ctx, g, r, v)
		}
		return nil
	}
	if err != nil {
		return err
	}
	switch report.Status {
	case arc.Waiting, arc.Asking:
		why := "the goal is met: " + v.Reason
		if changed {
			why = "the goal is another now, or none"
		} else if v.Status != Met || !v.at.After(r.Began) {
			return nil
		}
		err := t.view.Cancel(ctx, r.Run, why)
		if err != nil && !errors.Is(err, arc.ErrState) { // or it has just ended
			return err
		}
		report.Ended = t.now
	case arc.Delivered:
		r.Judge, r.Cool = r.Run, report.Ended.Add(*g.Cooldown)
	case arc.Blocked, arc.Canceled: // where a further attempt would end in the same way it rests at once
		why, err := t.holds(ctx, report)
		if err != nil {
			return err
		}
		met := v.Status == Met && !v.at.Equal(g.since) // by two readings in a row
		if why != "" && !met && !changed {             // or somebody retries it, and it is under way again
			v.Reason += "; " + why
			return nil
		}
		r.fail(report.Ended, report.Cause != arc.Exhausted && report.Cause != arc.NoDecision)
	default:
		return nil
	}
	if report.Status == arc.Blocked && report.Verdict == "" { // or Health would show it for good
		if err := t.view.Judge(ctx, report.ID, learn.Failed, ""); err != nil {
			return err
		}
	}
	r.Run, r.Ended = "", report.Ended
	return t.keep(ctx, g, r)
}

// holds says why no run follows yet on one that was blocked or canceled; "": nothing stands against it.
func (t *tick) holds(ctx context.Context, r *arc.Report) (why string, err error) {
	refused, asked := r.Status == arc.Canceled, act.Approval{}
	for e, err := range t.view.Journal(ctx, r.ID) {
		var said act.Ruling
		switch {
		case err != nil:
			return "", err
		case e.Kind == "approval_asked":
			_ = json.Unmarshal(e.Data, &asked) // as it was kept
		case e.Kind == "ruled":
			refused = refused || json.Unmarshal(e.Data, &said) != nil || !said.Allow
		}
	}
	inVain := r.Cause == arc.Refused && asked.Mode > act.Veto
	switch {
	case refused, inVain && asked.Begun:
		return "its last run was refused or canceled", nil
	case inVain && t.waits(r.Ended.Add(24*time.Hour), 24*time.Hour):
		return "a person was asked in vain, and is asked again a day later", nil
	case r.Cause == arc.Spent && r.Ended.Format(time.DateOnly) == t.now.UTC().Format(time.DateOnly):
		return "the budget is used up until the next day (UTC)", nil
	}
	return "", nil
}

// fail counts a failure of the worker of the last run, and has it rest after three in five minutes.
func (r *record) fail(at time.Time, rests bool) {
	if r.Past == nil {
		r.Past = map[string]past{}
	}
	p := r.Past[r.Worker]
	old := func(f time.Time) bool { return at.Sub(f) > window }
	p.Failures = append(slices.DeleteFunc(p.Failures, old), at)
	if rests || len(p.Failures) >= maxFailures {
		p.Rest = min(max(rest, 2*p.Rest), maxRest)
		p.Rests = at.Add(p.Rest)
	}
	r.Past[r.Worker] = p
}

// mend begins a run for a goal that is violated, or says in v why not. The record is kept before the run is
// begun: of two processes one can keep it, and a run that was not begun is begun by whoever finds its record.
func (t *tick) mend(ctx context.Context, g *goal, r *record, v *verdict) error {
	able, why := t.able(g, r, v)
	if len(able) == 0 {
		v.Reason += "; " + why
		return t.propose(ctx, g, v, why)
	}
	worker, skill, err := t.first(ctx, g, able)
	if err != nil {
		return err
	}
	r.N++
	r.Run, r.Worker, r.Skill = fmt.Sprintf("goal/%s/%06d", g.ID, r.N), worker, skill
	r.Began, r.Judge, r.Wanted = t.now, "", g.says()
	if err = t.keep(ctx, g, r); err == nil {
		t.begin(ctx, g, r, v)
	} else {
		r.Run = ""
	}
	return err
}

// able are the workers, by skill, that would mend the goal and do not rest; where there is none, why.
func (t *tick) able(g *goal, r *record, v *verdict) (able map[string][]rank.Candidate, why string) {
	switch {
	case t.waits(r.Cool, *g.Cooldown):
		return nil, fmt.Sprintf("what was done has %v left to show", r.Cool.Sub(t.now))
	case !v.at.After(r.Ended) && r.Ended.Sub(t.now) <= time.Hour:
		return nil, "it was not read since its last run ended"
	case v.at.Equal(g.since):
		return nil, "one reading shows it, and the next has to, too"
	}
	for _, other := range t.goals {
		o := cmp.Or(t.records[other.ID], new(record))
		if o != r && (o.Run != "" || t.waits(o.Cool, *other.Cooldown)) && other.place.overlaps(g.place) {
			return nil, "the goal " + other.ID + " is about the same value, and is acted on"
		}
	}
	able, why = map[string][]rank.Candidate{}, nobody
	for _, w := range t.agent.Workers() {
		switch {
		case !slices.ContainsFunc(w.Effects, func(e reason.Delta) bool { return g.mends(e, v.actual) }):
		case t.waits(r.Past[w.Name].Rests, maxRest):
			why = "who could mend it rests after failures"
		default:
			skill := ""
			if len(w.Skills) > 0 {
				skill = w.Skills[0]
			}
			c := rank.Candidate{Name: w.Name, Prior: w.Prior, Blast: int(w.Blast), Price: w.Price}
			able[skill] = append(able[skill], c)
		}
	}
	return able, why
}

// mends reports whether an effect may bring a value to where the goal wants it: it is about that value, or
// one above or below it, and is not known to move it the wrong way.
func (g *goal) mends(e reason.Delta, actual any) bool {
	p, err := parsePlace(e.Path)
	if err != nil || !p.overlaps(g.place) {
		return false
	}
	value, err := plainly(e.Value)
	by, isBy := value.(float64)
	is, number := actual.(float64)
	switch {
	case len(e.Value) == 0, err != nil, len(p.keys) != len(g.place.keys):
		return true // how much, or of what, is not known
	case e.Op == "set":
		met, _ := g.judge(value)
		return met
	case e.Op == "inc" && isBy && number && g.Type == "threshold":
		return by > 0 && g.Min != nil && is < *g.Min || by < 0 && g.Max != nil && is > *g.Max
	}
	return true
}

// first ranks who is able. Those of a skill are ordered by the policy, and the first ones by their scores.
func (t *tick) first(ctx context.Context, g *goal, able map[string][]rank.Candidate) (
	worker, skill string, err error) {
	policy := t.policy
	if policy == nil {
		book, err := t.view.Book(ctx)
		if err != nil {
			return "", "", err
		}
		policy = book.Learned()
	}
	best := 0.0
	for _, s := range slices.Sorted(maps.Keys(able)) {
		scored, err := call.Do(ctx, time.Minute, func(ctx context.Context) ([]rank.Scored, error) {
			return policy.Score(ctx, rank.Task{Skill: s, Key: "goal " + g.ID}, able[s])
		})
		if err != nil {
			return "", "", fmt.Errorf("the policy: %w", err)
		}
		known := func(c rank.Candidate) bool { return len(scored) > 0 && c.Name == scored[0].Name }
		if slices.ContainsFunc(able[s], known) && (worker == "" || scored[0].Score > best) {
			worker, skill, best = scored[0].Name, s, scored[0].Score
		}
	}
	if worker == "" {
		return "", "", errors.New("the policy has left out all who could mend it")
	}
	return worker, skill, nil
}

// begin begins the run of a dispatch, or goes on with it: it is the same run, whoever begins it.
func (t *tick) begin(ctx context.Context, g *goal, r *record, v *verdict) {
	what := fmt.Sprintf("Keep the goal %s: %s", g.ID, cmp.Or(g.Description, g.says()))
	data, _ := json.Marshal(map[string]any{ // of strings
		"goal": g.ID, "selector": g.Selector, "actual": clip(text(v.actual)),
	})
	o := arc.Objective{
		ID: r.Run, Scope: t.world.scope, Session: "goal/" + g.ID, Situation: "goal " + g.ID, Text: what,
		Data: data, Provisional: true,
		Tasks: []reason.Task{{Objective: what, Worker: r.Worker, Skill: r.Skill, Verify: g.says()}},
	}
	t.runs.Go(func() {
		_, err := t.agent.Run(context.WithoutCancel(ctx), o) // it ends with the Agent
		// After these others have the run, or it goes on later.
		fine := []error{nil, arc.ErrRunning, arc.ErrTaken, arc.ErrClosed}
		if !slices.ContainsFunc(fine, func(of error) bool { return errors.Is(err, of) }) {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.errs = append(t.errs, fmt.Errorf("goal: run %s: %w", o.ID, err))
		}
	})
}

// propose has an action drafted for a goal that nobody can mend, at most once an hour.
func (t *tick) propose(ctx context.Context, g *goal, v *verdict, why string) error {
	if why != nobody || t.proposals == nil || t.now.Sub(t.proposed[g.ID]).Abs() < time.Hour {
		return nil
	}
	t.proposed[g.ID] = t.now
	_, err := t.proposals.Propose(ctx, proposal.Proposal{
		Kind: "action", Subject: "goal " + g.ID + " has no action", Reason: g.Description + "\n" + v.Reason,
	})
	return err
}
