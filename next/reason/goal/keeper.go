package goal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	arc "github.com/arc-learn/arc/next"
	"github.com/arc-learn/arc/next/act"
	"github.com/arc-learn/arc/next/internal/call"
	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/learn"
	"github.com/arc-learn/arc/next/meta/proposal"
	"github.com/arc-learn/arc/next/rank"
	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/store"
)

// The guards of a dispatch, as the self-improving loop has them, beside the cooldown of a goal.
const (
	maxFailures = 3 // of an action for a goal
	window      = 5 * time.Minute
	rest        = 10 * time.Minute // of an action that has failed so often, or that no further attempt mends

	claimed   = 10 * time.Second // after which a dispatch that nobody has begun is begun by who finds it
	maxFlying = 32               // dispatches of a Keeper at a time
	kind      = "goal"           // of keys
)

// Options of a Keeper. Nil and the zero value are the defaults.
type Options struct {
	Policy    rank.Policy    // which of the workers with an effect is first; nil: rank.Book.Learned of the scope
	Proposals *proposal.Book // gets what is missing, and has goals that a person has approved; nil: neither
	Every     time.Duration  // between two ticks of Keep; 0: 5 seconds

	// OnTick is told of what each tick of Keep has found. Keep goes on when it has returned.
	OnTick func([]Standing, error)
	Logger *slog.Logger // is told of dispatches that cannot begin; nil: nobody is
}

// Keeper keeps the goals of a scope by runs of an Agent. Several Keepers, in as many processes, may keep the same goals
// over one store: a goal is dispatched by one of them.
type Keeper struct {
	agent *arc.Agent
	view  arc.View
	group *store.Group
	world *World
	goals *Goals
	o     Options

	runs sync.WaitGroup // dispatches that were begun here

	ticking  sync.Mutex
	proposed map[string]time.Time // when an action was last proposed for a goal

	mu     sync.Mutex
	flying map[string]bool // runs that were begun here
}

// record is what is kept of a goal.
type record struct {
	N      int       `cbor:"1,keyasint"`           // dispatches so far
	Run    string    `cbor:"2,keyasint,omitempty"` // that is under way
	Worker string    `cbor:"3,keyasint,omitempty"` // of the last dispatch
	Skill  string    `cbor:"4,keyasint,omitempty"`
	Began  time.Time `cbor:"5,keyasint,omitzero"`
	Ended  time.Time `cbor:"6,keyasint,omitzero"`
	Judge  string    `cbor:"7,keyasint,omitempty"` // the run that a reading is to judge
	Cool   time.Time `cbor:"8,keyasint,omitzero"`  // until when the goal is left alone

	Failures []failure            `cbor:"9,keyasint,omitempty"`  // of the last minutes
	Rests    map[string]time.Time `cbor:"10,keyasint,omitempty"` // until when, by worker

	rev store.Revision
}

type failure struct {
	Worker string    `cbor:"1,keyasint"`
	At     time.Time `cbor:"2,keyasint"`
}

// Open returns a Keeper of the goals in the World's scope. The Group is over the tenant's part of the Agent's store.
//
// It adds two domains to the World, unless it has them: agent_fleet_health, the figures of the workers in the scope,
// and memory_health, both read once a minute.
func Open(ctx context.Context, g *store.Group, a *arc.Agent, w *World, goals *Goals, o *Options) (*Keeper, error) {
	k := &Keeper{
		agent: a, view: a.In(w.scope), group: g, world: w, goals: goals,
		flying: map[string]bool{}, proposed: map[string]time.Time{},
	}
	if o != nil {
		k.o = *o
	}
	k.o.Every = cmp.Or(max(0, k.o.Every), 5*time.Second)
	k.o.Logger = cmp.Or(k.o.Logger, slog.New(slog.DiscardHandler))
	if _, err := k.records(ctx); err != nil {
		return nil, err
	}
	for name, read := range map[string]func(context.Context) (any, error){fleetDomain: k.fleet, memoryDomain: k.memory} {
		if w.known(name) {
			continue
		}
		if err := w.Collect(name, Collector{Read: read}); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// Keep ticks until ctx ends. Then it begins nothing more, and returns when the runs that it has begun have ended, wait
// for a person, or were left: arc.Agent.Shutdown has them stop at their next commit.
func (k *Keeper) Keep(ctx context.Context) {
	defer k.runs.Wait()
	for ctx.Err() == nil {
		standings, err := k.Tick(ctx)
		if k.o.OnTick != nil && ctx.Err() == nil {
			_, wrong := call.Do(ctx, 0, func(context.Context) (bool, error) { k.o.OnTick(standings, err); return true, nil })
			if wrong != nil {
				k.o.Logger.Error("goal: OnTick", "error", wrong)
			}
		}
		timer := time.NewTimer(k.o.Every)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// Tick reads what is due, and returns how all goals stand, the most severe first. It begins a run for each that is
// violated and can be acted on, and does not wait for it. The Standings hold also beside an error, which joins those of
// collectors, approved drafts, and goals about which nothing could be done.
func (k *Keeper) Tick(ctx context.Context) ([]Standing, error) {
	k.ticking.Lock()
	defer k.ticking.Unlock()
	errs := []error{k.world.Poll(ctx)}
	goals, err := k.current()
	errs = append(errs, err)
	records, err := k.records(ctx)
	if err != nil {
		return nil, errors.Join(append(errs, err)...)
	}
	t := &tick{Keeper: k, now: k.world.now()}
	for i := range goals {
		if r := records[goals[i].ID]; r != nil && (r.Run != "" || t.now.Before(r.Cool)) {
			t.busy = append(t.busy, &goals[i])
		}
	}
	var out []Standing
	for i := range goals {
		g := &goals[i]
		r := cmp.Or(records[g.ID], new(record))
		v := g.evaluate(k.world)
		err := t.settle(ctx, g, r, &v)
		if err == nil && v.Status == Violated {
			err = t.mend(ctx, g, r, &v)
		}
		if err != nil && !errors.Is(err, store.ErrConflict) { // another process is at it
			errs = append(errs, fmt.Errorf("goal: %s: %w", g.ID, err))
		}
		if v.Run = r.Run; r.Run != "" && v.Status == Violated {
			v.Reason += "; a run is under way"
		}
		out = append(out, v.Standing)
	}
	return out, errors.Join(errs...)
}

// current are the goals that are loaded and those that a person has approved, the most severe first. One that is loaded
// stands in place of an approved one of its ID.
func (k *Keeper) current() (goals []goal, err error) {
	goals = slices.Clone(k.goals.all())
	if k.o.Proposals != nil {
		for p := range k.o.Proposals.All(proposal.Approved) {
			if p.Kind != "goal" {
				continue
			}
			drafted, wrong := draft(p.Change)
			if wrong != nil {
				err = errors.Join(err, fmt.Errorf("goal: the approved draft %q: %w", p.Subject, wrong))
				continue
			}
			for _, g := range drafted {
				if !slices.ContainsFunc(goals, func(o goal) bool { return o.ID == g.ID }) {
					goals = append(goals, g)
				}
			}
		}
	}
	slices.SortStableFunc(goals, func(a, b goal) int {
		return slices.Index(severities, a.Severity) - slices.Index(severities, b.Severity)
	})
	return goals, err
}

func (k *Keeper) records(ctx context.Context) (map[string]*record, error) {
	all := map[string]*record{}
	for e, err := range k.group.Store().Scan(ctx, store.Range{Prefix: k.world.scope.Prefix(kind)}) {
		r := &record{rev: e.Rev}
		if err == nil {
			err = codec.Unmarshal(e.Value, r)
		}
		if err != nil {
			return nil, fmt.Errorf("goal: %w", err)
		}
		_, _, id, _ := store.ParseKey(e.Key)
		all[id] = r
	}
	return all, nil
}

// keep stores a record if it is still the one that was read.
func (k *Keeper) keep(ctx context.Context, g *goal, r *record) error {
	return k.group.Update(ctx, func(b *store.Batch) error {
		value, err := codec.Marshal(r)
		if err != nil {
			return err
		}
		b.After(func(rev store.Revision) { r.rev = rev })
		return b.Put(k.world.scope.Key(kind, g.ID), value, store.At(r.rev))
	})
}

// tick is a Tick that is under way.
type tick struct {
	*Keeper
	now  time.Time
	busy []*goal // that are in flight or cool down
}

// settle takes in what has become of the goal's last run.
func (t *tick) settle(ctx context.Context, g *goal, r *record, v *verdict) error {
	if r.Run != "" {
		if err := t.ended(ctx, g, r, v); err != nil || r.Run != "" {
			return err
		}
	}
	if r.Judge == "" || !v.at.After(r.Ended) || v.Status == Unknown || v.Status == Violated && t.now.Before(r.Cool) {
		return nil // its effects may still come to show
	}
	is := learn.Delivered
	if v.Status == Violated {
		is = learn.Failed
		r.fail(t.now)
	}
	if err := t.view.Judge(ctx, r.Judge, is, "as read later: "+v.Reason); err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	r.Judge = ""
	return t.keep(ctx, g, r)
}

// ended takes in the end of the run that is under way, if it has come.
func (t *tick) ended(ctx context.Context, g *goal, r *record, v *verdict) error {
	report, err := t.view.Report(ctx, r.Run)
	switch {
	case errors.Is(err, store.ErrNotFound): // its process may have ended before the run began
		here, _ := t.begun(r.Run)
		switch {
		case here || t.now.Before(r.Began.Add(claimed)) || v.Status == Unknown:
			return nil
		case v.Status == Violated:
			t.begin(ctx, g, r, v)
			return nil
		}
		r.Run = ""
		return t.keep(ctx, g, r)
	case err != nil:
		return err
	}
	r.Ended = report.Ended
	switch report.Status {
	case arc.Waiting, arc.Asking:
		if v.Status != Met || !v.at.After(r.Began) {
			return nil
		}
		if err := t.view.Cancel(ctx, r.Run, "the goal is met: "+v.Reason); err != nil {
			if errors.Is(err, arc.ErrState) {
				err = nil // it has just ended
			}
			return err
		}
		r.Ended = t.now
	case arc.Delivered:
		r.Judge, r.Cool = r.Run, report.Ended.Add(g.Cooldown)
	case arc.Canceled:
		r.rest(t.now)
	case arc.Blocked:
		switch r.fail(report.Ended); report.Cause {
		case arc.Refused, arc.NoWorker, arc.Spent, arc.Outage: // a further attempt would end in the same way
			r.rest(t.now)
		}
	default:
		return nil
	}
	r.Run = ""
	return t.keep(ctx, g, r)
}

// fail counts a failure of the worker of the last run, which rests after three in five minutes.
func (r *record) fail(at time.Time) {
	r.Failures = append(r.Failures, failure{r.Worker, at})
	r.Failures = slices.DeleteFunc(r.Failures, func(f failure) bool { return at.Sub(f.At) > window })
	n := 0
	for _, f := range r.Failures {
		if f.Worker == r.Worker {
			n++
		}
	}
	if n >= maxFailures {
		r.rest(at)
	}
}

// rest has the worker of the last run left alone.
func (r *record) rest(at time.Time) {
	r.Rests = maps.Clone(r.Rests)
	if r.Rests == nil {
		r.Rests = map[string]time.Time{}
	}
	maps.DeleteFunc(r.Rests, func(_ string, until time.Time) bool { return !at.Before(until) })
	r.Rests[r.Worker] = at.Add(rest)
}

// mend begins a run for a goal that is violated, or says in v why not.
func (t *tick) mend(ctx context.Context, g *goal, r *record, v *verdict) error {
	why := ""
	_, flying := t.begun("")
	switch {
	case r.Run != "":
		return nil
	case t.now.Before(r.Cool):
		why = fmt.Sprintf("its last run has %v to show", r.Cool.Sub(t.now).Round(time.Second))
	case !v.at.After(r.Ended):
		why = "it was not read since its last run ended"
	case flying >= maxFlying:
		why = fmt.Sprintf("%d runs are under way", maxFlying)
	}
	for _, other := range t.busy {
		if other.ID != g.ID && other.place.overlaps(g.place) {
			why = cmp.Or(why, "the goal "+other.ID+" is about the same value, and is acted on")
		}
	}
	if why != "" {
		v.Reason += "; " + why
		return nil
	}
	able := t.able(g, v)
	if len(able) == 0 {
		v.Reason += "; no worker has an effect that would mend it"
		return t.propose(ctx, g, v)
	}
	awake := slices.DeleteFunc(slices.Clone(able), func(a action) bool { return t.now.Before(r.Rests[a.worker.Name]) })
	if len(awake) == 0 {
		v.Reason += "; who could mend it rests after failures"
		return nil
	}
	first, err := t.first(ctx, g, awake)
	if err != nil {
		return err
	}
	r.N++
	r.Run, r.Worker, r.Skill = fmt.Sprintf("goal/%s/%06d", g.ID, r.N), first.worker.Name, first.skill
	r.Began, r.Judge = t.now, ""
	if err := t.keep(ctx, g, r); err != nil {
		r.Run = ""
		return err
	}
	t.busy = append(t.busy, g)
	t.begin(ctx, g, r, v)
	return nil
}

// action is a worker that would mend a goal, and the skill by which it is asked to.
type action struct {
	worker *act.Worker
	skill  string
}

// able are the workers that have an effect which would mend the goal.
func (t *tick) able(g *goal, v *verdict) (able []action) {
	for _, w := range t.agent.Workers() {
		if !slices.ContainsFunc(w.Effects, func(e reason.Delta) bool { return g.mends(e, v.actual) }) {
			continue
		}
		a := action{worker: w}
		if len(w.Skills) > 0 {
			a.skill = w.Skills[0]
		}
		able = append(able, a)
	}
	return able
}

// mends reports whether an effect may bring a value to where the goal wants it: it is about that value, or one above or
// below it, and is not known to move it the wrong way.
func (g *goal) mends(e reason.Delta, actual any) bool {
	p, err := parsePath(e.Path)
	if err != nil || !p.overlaps(g.place) {
		return false
	}
	value, err := plainly(e.Value)
	if len(e.Value) == 0 || err != nil || len(p.keys) != len(g.place.keys) {
		return true // how much, or of what, is not known
	}
	switch is, number := actual.(float64); e.Op {
	case "set":
		met, _ := g.judge(value)
		return met
	case "inc":
		by, ok := value.(float64)
		up := ok && number && g.Type == "threshold" && g.Min != nil && is < *g.Min
		down := ok && number && g.Type == "threshold" && g.Max != nil && is > *g.Max
		return !(up && by <= 0) && !(down && by >= 0)
	}
	return true
}

// first ranks the actions. Those of each skill are compared by the policy, and all by their scores.
func (t *tick) first(ctx context.Context, g *goal, able []action) (action, error) {
	policy := t.o.Policy
	if policy == nil {
		book, err := t.view.Book(ctx)
		if err != nil {
			return action{}, err
		}
		policy = book.Learned()
	}
	bySkill := map[string][]rank.Candidate{}
	for _, a := range able {
		w := a.worker
		bySkill[a.skill] = append(bySkill[a.skill], rank.Candidate{Name: w.Name, Prior: w.Prior, Blast: int(w.Blast), Price: w.Price})
	}
	var all []rank.Scored
	for _, skill := range slices.Sorted(maps.Keys(bySkill)) {
		scored, err := call.Do(ctx, time.Minute, func(ctx context.Context) ([]rank.Scored, error) {
			return policy.Score(ctx, rank.Task{Skill: skill, Key: situation(g)}, bySkill[skill])
		})
		if err != nil {
			return action{}, fmt.Errorf("the policy: %w", err)
		}
		all = append(all, scored...)
	}
	if len(bySkill) > 1 { // the order of one policy is its own
		slices.SortStableFunc(all, func(a, b rank.Scored) int { return cmp.Compare(b.Score, a.Score) })
	}
	for _, s := range all {
		for _, a := range able {
			if a.worker.Name == s.Name {
				return a, nil
			}
		}
	}
	return action{}, errors.New("the policy has left out all who could mend it")
}

func situation(g *goal) string { return "goal " + g.ID }

// begin begins the run of a dispatch, or goes on with it: it is the same run, whoever begins it.
func (t *tick) begin(ctx context.Context, g *goal, r *record, v *verdict) {
	data, err := json.Marshal(map[string]any{"goal": g.ID, "selector": g.Selector, "actual": clip(text(v.actual)), "reason": v.Reason})
	text := strings.TrimSuffix(fmt.Sprintf("Keep the goal %s: %s", g.ID, cmp.Or(g.Description, g.Selector+" is "+g.wanted())), ": ")
	o := arc.Objective{
		ID: r.Run, Scope: t.world.scope, Session: "goal/" + g.ID, Situation: situation(g), Text: text, Data: data, Provisional: true,
		Tasks: []reason.Task{{Objective: text, Worker: r.Worker, Skill: r.Skill, Verify: g.Selector + " is " + g.wanted()}},
	}
	t.mu.Lock()
	t.flying[o.ID] = true
	t.mu.Unlock()
	k := t.Keeper
	k.runs.Go(func() {
		if err == nil {
			_, err = k.agent.Run(context.WithoutCancel(ctx), o) // it ends with the Agent
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.flying, o.ID)
		others := func(of error) bool { return errors.Is(err, of) } // another process has it, or goes on with it
		if err != nil && !slices.ContainsFunc([]error{arc.ErrRunning, arc.ErrTaken, arc.ErrClosed, store.ErrConflict}, others) {
			k.o.Logger.Error("goal: a dispatch", "run", o.ID, "error", err)
		}
	})
}

// begun reports whether a run was begun here and has not returned, and how many have not.
func (k *Keeper) begun(run string) (is bool, all int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.flying[run], len(k.flying)
}

// propose has an action drafted for a goal that nobody can mend, at most once an hour.
func (t *tick) propose(ctx context.Context, g *goal, v *verdict) error {
	if t.o.Proposals == nil || t.now.Sub(t.proposed[g.ID]) < time.Hour {
		return nil
	}
	_, err := t.o.Proposals.Propose(ctx, proposal.Proposal{
		Kind: "action", Subject: "goal " + g.ID + " has no action",
		Reason: fmt.Sprintf("%s\n%s\nA worker is missing that has an effect on %s.", g.Description, v.Reason, g.Selector),
	})
	if err == nil {
		t.proposed[g.ID] = t.now
	}
	return err
}
