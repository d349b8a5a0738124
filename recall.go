package arc

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/arc-learn/arc/internal/gist"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// recall finds what is known about the aim, and lets a chunk fire. No chunk fires if the plan is
// the host's, if metacognition recommends to pivot (the chunk's plan is the one that keeps
// failing), or if a person has answered a question, which the chunk does not know.
//
// It searches once an aim, and again after a subgoal of it. The ids of what was found are committed
// with the step, so that a resumed run is told the same memories (remind), and feedback counts each
// of them once. A run that is Fresh recalls nothing.
func (t *turn) recall(ctx context.Context) (phase, error) {
	o, g := &t.s.Objective, t.s.aim()
	g.Searched = true
	if !o.Fresh {
		if err := t.search(ctx); err != nil {
			return "", err
		}
		t.emit(EventRecalled, Event{IDs: g.Recalled})
	}
	if len(o.Tasks) > 0 && t.s.Deliberations == 0 {
		if why := t.a.unable(o.Tasks); why != "" {
			return t.block(CauseNoWorker, why), nil
		}
		g.follow(o.Tasks, g.Approach, "")
		return phaseAssign, nil
	}
	if o.Fresh || t.s.Assessment.Pivot || g.Next > 0 || len(g.Answers) > 0 {
		return phaseReason, nil
	}
	chunk, ok := t.fires(ctx)
	if !ok {
		return phaseReason, nil
	}
	g.follow(chunk.Tasks, chunk.Approach, chunk.ID)
	t.s.Fired++
	t.emit(EventFired, Event{IDs: []memory.ID{chunk.ID}, Text: chunk.Approach})
	return phaseAssign, nil
}

// fires returns the chunk that acts without deliberation, if one does: the first that may, and for
// which the host's sources and manuals say the same as when its plan was made.
func (t *turn) fires(ctx context.Context) (learn.Chunk, bool) {
	g, asked := t.s.aim(), false
	var ps []reason.Passage
	for { // the next one, if a chunk does not fire
		c, ok := learn.Fire(t.matched(), g.Spent)
		if !ok || t.a.unable(c.Tasks) != "" {
			return c, false
		}
		if !asked {
			ps, asked = t.passages(ctx, g.Text), true
		}
		why := "what the host's sources and manuals say of it has changed since it was made"
		switch failed := func(err error) bool { return err != nil }; {
		case slices.ContainsFunc(t.did.sources, failed):
			why = "a source of the host failed"
		case slices.Contains(c.Said, t.grounds(ps, c.Tasks)):
			return c, true
		}
		i := slices.IndexFunc(t.shown.Chunks, func(is learn.Chunk) bool { return is.ID == c.ID })
		t.shown.Chunks[i].Differs = []string{why} // try the next one
	}
}

// Bounds of a source: its time, and the size of its passages.
const (
	sourceTimeout = 10 * time.Second
	sourceTokens  = 2000
)

// passages asks the host's sources about an objective, all at once. If a source fails, panics or
// hangs, only its own passages are missing: the reasoner decides without them, while no chunk fires,
// since what the source would say is not known to be the same.
func (t *turn) passages(ctx context.Context, objective string) []reason.Passage {
	if len(t.a.sources) == 0 {
		return nil
	}
	found := make([][]reason.Passage, len(t.a.sources))
	t.did.sources = make([]error, len(t.a.sources))
	var all sync.WaitGroup
	for i, source := range t.a.sources {
		all.Go(func() {
			ps, err := guard.Do(ctx, sourceTimeout, func(ctx context.Context) ([]reason.Passage, error) {
				return source(ctx, objective, sourceTokens)
			})
			found[i], t.did.sources[i] = bounded(ps), err
		})
	}
	all.Wait()
	return slices.Concat(found...)
}

// bounded returns the passages that fit a source's bound, at three bytes a token.
func bounded(ps []reason.Passage) []reason.Passage {
	room := 3 * sourceTokens
	for i, p := range ps {
		if room -= len(p.Name) + len(p.Text); room < 0 {
			return ps[:i]
		}
	}
	return ps
}

// grounds returns a digest of passages and of the manuals of a plan. 0: there are none. A chunk
// keeps the digest of its reasoner's decision, and fires only beside the same: a plan is as good as
// what it was made from. Passages that are Volatile, such as the time of day, do not count.
func (t *turn) grounds(ps []reason.Passage, tasks []reason.Task) uint64 {
	if len(ps) == 0 && len(t.a.skills.Names) == 0 {
		return 0
	}
	var said []string
	for _, p := range ps {
		if !p.Volatile {
			said = append(said, p.Name+"\n"+p.Text)
		}
	}
	manuals := slices.Clone(t.s.Objective.Skills)
	for i := range tasks {
		manuals = append(manuals, tasks[i].Skill)
	}
	for _, name := range manuals {
		if m := t.a.skills.All[name].Body; m != "" {
			said = append(said, m)
		}
	}
	if len(said) == 0 {
		return 0
	}
	slices.Sort(said)
	return gist.Sum(slices.Compact(said)...)
}

// wanted returns the aim as the learner sees it.
func (t *turn) wanted() learn.Ask {
	o, g := &t.s.Objective, t.s.aim()
	return learn.Ask{
		Scope: o.Scope, Also: o.Also, Episodes: o.Episodes,
		Situation: t.veil.Hide(g.Situation), Objective: t.veil.Hide(g.Text), At: t.a.o.Now(),
		Case: t.situated(),
	}
}

// situated returns what distinguishes the aim from others of similar words.
func (t *turn) situated() learn.Case {
	g, o := t.s.aim(), &t.s.Objective
	c := learn.Case{
		Vouched: g.Vouched, Inputs: o.Inputs, Conditions: o.Conditions, User: o.User, Facts: t.shown.facts,
	}
	for _, above := range t.s.Aims[:len(t.s.Aims)-1] {
		c.Goals = append(c.Goals, above.Text)
	}
	return c
}

// matched returns the chunks among the memories, matched against the aim.
func (t *turn) matched() []learn.Chunk {
	if !t.shown.matched {
		t.shown.Chunks, t.shown.matched = t.own.learner.Match(t.shown.Hits, t.wanted()), true
	}
	return t.shown.Chunks
}

// maxSuggestions is how many plans of other cases a brief has at most.
const maxSuggestions = 2

// suggestions returns the plans of cases like the aim's that did not fire.
func (t *turn) suggestions() (out []reason.Suggestion) {
	for _, c := range t.matched() {
		if len(out) < maxSuggestions && !slices.Contains(t.s.aim().Spent, c.ID) {
			out = append(out, c.Suggestion)
		}
	}
	return out
}

// search looks up facts about the person or project, and recalls memories and background for the
// aim. In a holdout the memories are withheld.
func (t *turn) search(ctx context.Context) error {
	facts, err := t.project(ctx)
	if err != nil {
		return err
	}
	t.shown = shown{facts: facts}
	g, ask := t.s.aim(), t.wanted()
	if t.a.o.Learn.Holdout > 0 {
		ask.GoalKey = t.s.aimKey(t.own.name + "/") // tenants draw apart
	}
	found, err := t.own.learner.Recall(ctx, ask)
	if err != nil {
		return fmt.Errorf("recall: %w", err)
	}
	// In a holdout the run is told nothing, and its outcome is compared with those that were told.
	ids := make([]memory.ID, len(found.Hits))
	for i := range found.Hits {
		ids[i] = found.Hits[i].Record.ID
	}
	if found.Withheld {
		g.Recalled, g.Withheld = nil, ids
	} else {
		t.shown.Found, g.Recalled, t.shown.matched = found, ids, true
	}
	g.Facts = nil
	for i := range facts {
		g.Facts = append(g.Facts, facts[i].Record.ID)
	}
	return nil
}

// unable returns the first of the tasks that no worker can take, and why; "" if there is none.
func (a *Agent) unable(tasks []reason.Task) string {
	for i := range tasks {
		ok, wrong := a.runner.Able(&tasks[i])
		switch {
		case ok:
			continue
		case wrong != "":
			return fmt.Sprintf("no worker can take task %d: %s", i+1, wrong)
		}
		why := fmt.Sprintf("no worker can take task %d: its skill is %q, of %q", i+1, tasks[i].Skill, a.runner.Skills())
		if e := tasks[i].Effect; e != nil {
			why += fmt.Sprintf(", and its effect %q, of %q; without an effect, any worker with the skill will do",
				*e, a.runner.Effects())
		}
		return why
	}
	return ""
}
