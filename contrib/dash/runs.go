package dash

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

const (
	pageOfRuns = 50
	maxShown   = 8 // memories that one step names
)

// runList is a page of runs.
type runList struct {
	Rows     []runRow
	Status   string
	Statuses []arc.Status
	Session  string
	After    string // the page is behind this run
	Next     string // the run behind which the next page is; "": there is none
}

type runRow struct {
	*arc.Report
	Took time.Duration
}

// runPage is a run as it went.
type runPage struct {
	*arc.Report
	Took  time.Duration
	Steps []step
	Timed bool // the steps have times
	Over  bool
}

// step is something that happened in a run.
type step struct {
	At       time.Time
	Label    string
	Tone     string // "", "good", "bad", "warn" or "work"
	Who      string
	Gate     string // that did not pass it
	Text     string
	Items    []string
	Memories []memo
	Ranking  []rank.Scored
	Wall     time.Duration
}

// memo names a memory. One that is Told is of a scope below, where it is told how runs
// have ended.
type memo struct {
	ID    memory.ID
	Title string
	Told  bool
}

func (d *desk) runs(q *ask) (any, error) {
	l := runList{
		Status: q.query.Get("status"), Session: q.query.Get("session"), After: q.query.Get("after"),
		Statuses: []arc.Status{arc.Running, arc.Waiting, arc.Asking, arc.Delivered, arc.Blocked},
	}
	if l.Status != "" && !slices.Contains(l.Statuses, arc.Status(l.Status)) {
		return nil, fmt.Errorf("%w: no such status", errBad)
	}
	rows, err := d.latest(q, arc.Filter{
		Status: arc.Status(l.Status), Session: l.Session, After: l.After, Limit: pageOfRuns + 1,
	})
	if len(rows) > pageOfRuns {
		rows = rows[:pageOfRuns]
		l.Next = rows[pageOfRuns-1].ID
	}
	l.Rows = rows
	return live{body: l, runs: true}, err
}

// latest returns runs in the scope at hand.
func (d *desk) latest(q *ask, f arc.Filter) (rows []runRow, err error) {
	f.Scope = q.scope
	for r, err := range q.view.Runs(q.Context(), f) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, runRow{r, d.lasted(r)})
	}
	return rows, nil
}

// lasted is how long a run took, or has taken so far, beside what it has waited.
func (d *desk) lasted(r *arc.Report) time.Duration {
	end := r.Ended
	if end.IsZero() {
		end = d.now()
	}
	return max(0, end.Sub(r.Started)-r.Waited)
}

func (d *desk) oneRun(q *ask) (any, error) {
	r, err := d.report(q, q.query.Get("id"))
	if err != nil {
		return nil, err
	}
	p := runPage{Report: r, Took: d.lasted(r), Over: r.Status == arc.Delivered || r.Status == arc.Blocked}
	events := d.journal.eventsOf(q.scope.Tenant(), r.ID)
	if p.Timed = len(events) > 0; p.Timed {
		for i := range events {
			p.Steps = append(p.Steps, told(&events[i]))
		}
	} else {
		p.Steps = recounted(r)
	}
	for i := range p.Steps {
		if err := d.entitle(q, r.Scope, p.Steps[i].Memories); err != nil {
			return nil, err
		}
	}
	if p.Over || r.Status == arc.Asking {
		return p, nil // to renew it would take away what is being typed
	}
	return live{p, true, r.ID}, nil
}

// entitle gives memories their titles. One that the scopes of a run do not know, or not
// any more, has none.
func (d *desk) entitle(q *ask, scope memory.Scope, memories []memo) error {
	for i := range memories {
		m := &memories[i]
		rec, err := d.agent.In(scope).Memory().Get(q.Context(), m.ID)
		if errors.Is(err, store.ErrNotFound) {
			rec, err = d.agent.In(scope+"/episodes").Memory().Get(q.Context(), m.ID)
			m.Told = true
		}
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, memory.ErrScope) {
			continue
		} else if err != nil {
			return err
		}
		m.Title = title(&rec)
	}
	return nil
}

// title is what a list says of a memory.
func title(r *memory.Record) string {
	if r.Trigger != "" {
		return shortened(r.Trigger, 120)
	}
	return shortened(r.Content, 96)
}

func memos(ids []memory.ID) (out []memo) {
	for _, id := range ids[:min(len(ids), maxShown)] {
		out = append(out, memo{ID: id})
	}
	return out
}

// wording is how a page says what has happened, and in which tone.
var wording = map[arc.EventKind]struct{ label, tone string }{
	arc.EventAssessed: {"Assessed", "warn"},
	arc.EventPivot:    {"Pivot", "warn"},
	arc.EventRecalled: {"Recalled", ""},
	arc.EventFired:    {"A chunk fired", "work"},
	arc.EventDecided:  {"Decided", "work"},
	arc.EventRefused:  {"Decision refused", "bad"},
	arc.EventExecuted: {"Executed", ""},
	arc.EventVerified: {"Gate refused", "bad"},
	arc.EventBlocked:  {"Given up", "bad"},
	"learned":         {"Learned", "work"},
	"delivered":       {"Goal reached", "good"},
	"waiting":         {"Waits", "warn"},
	"asked":           {"Asked", "warn"},
	"subgoal":         {"Subgoal", ""},
	"escalated":       {"A person is to be told", "warn"},
}

// told is an event as a step.
func told(e *arc.Event) step {
	w := wording[e.Kind]
	s := step{
		At: e.At, Label: cmp.Or(w.label, string(e.Kind)), Tone: w.tone, Text: e.Text, Who: e.Worker,
		Memories: memos(e.IDs), Wall: e.Wall,
	}
	switch e.Kind {
	case arc.EventRecalled:
		s.Text = memories(e.IDs)
		if len(e.IDs) == 0 {
			s.Text = "nothing is known"
		}
	case arc.EventAttempt:
		s.Label, s.Ranking = fmt.Sprintf("Attempt %d at task %d", e.Attempt, e.Task), e.Ranking
		if e.Mode == act.Notification {
			s.Label += ", to be announced"
		}
	case arc.EventExecuted:
		if s.Text == string(act.Finished) {
			s.Text = "" // the gates say more
		}
	case arc.EventVerified:
		if s.Gate = e.Gate; e.Pass {
			s.Label, s.Tone = "Gates passed", "good"
		}
	case arc.EventFinished:
		s.Label, s.Tone, s.Text = ended(arc.Status(e.Text), "")
	case "learned":
		if e.Text == "" { // nothing was rejected
			s.Text = memories(e.IDs)
		}
	case "delivered":
		s.Text = e.Goal
	}
	return s
}

// ended is the last step of a run.
func ended(status arc.Status, reason string) (label, tone, text string) {
	switch status {
	case arc.Delivered:
		return "Delivered", "good", reason
	case arc.Blocked:
		return "Blocked", "bad", reason
	case arc.Waiting:
		return "Waits", "warn", reason
	case arc.Asking:
		return "Asks", "warn", reason
	}
	return "Goes on", "work", reason
}

// recounted is what a run's record tells of how it went.
func recounted(r *arc.Report) []step {
	steps := []step{{At: r.Started, Label: "Began", Text: r.Objective}}
	for i := range r.Aims {
		if i > 0 {
			steps = append(steps, step{Label: "Subgoal", Text: r.Aims[i].Text})
		}
		done := r.Deliveries
		if i < len(r.Aims)-1 {
			done = nil // they stand behind what the last aim has failed
		}
		steps = append(append(steps, planned(&r.Aims[i])...), attempted(&r.Aims[i], done)...)
	}
	for _, p := range r.Pivots {
		steps = append(steps, step{Label: "Pivot", Tone: "warn", Text: p})
	}
	if len(r.Learned) > 0 {
		steps = append(steps, step{Label: "Learned", Tone: "work", Text: memories(r.Learned), Memories: memos(r.Learned)})
	}
	last := step{At: r.Ended, Items: r.Questions}
	last.Label, last.Tone, last.Text = ended(r.Status, r.Reason)
	return append(steps, last)
}

// planned is what was recalled and decided for an aim.
func planned(g *arc.Aim) (steps []step) {
	if len(g.Recalled) > 0 {
		steps = append(steps, step{Label: "Recalled", Text: memories(g.Recalled), Memories: memos(g.Recalled)})
	}
	if len(g.Withheld) > 0 {
		steps = append(steps, step{
			Label: "Withheld", Text: memories(g.Withheld) + ", by chance, to measure what memory adds", Memories: memos(g.Withheld),
		})
	}
	for _, a := range g.Answers {
		steps = append(steps, step{Label: "Answered", Text: a.Text, Items: a.Questions})
	}
	if g.Refused != "" {
		steps = append(steps, step{Label: "Decision refused", Tone: "bad", Text: g.Refused})
	}
	plan := step{At: g.Decided, Label: "Decided", Tone: "work", Text: g.Approach}
	for i := range g.Tasks {
		plan.Items = append(plan.Items, g.Tasks[i].Objective)
	}
	if g.Fired != "" {
		plan.Label, plan.Memories = "A chunk fired", memos([]memory.ID{g.Fired})
	}
	if plan.Text != "" || len(plan.Items) > 0 {
		steps = append(steps, plan)
	}
	return steps
}

// attempted is what was tried for an aim, each failure before what was delivered of
// its task.
func attempted(g *arc.Aim, done []act.Delivery) (steps []step) {
	failed := g.Failed
	refused := func() {
		f := &failed[0]
		steps = append(steps, step{
			At: f.At, Label: "Not passed", Tone: "bad", Who: f.Worker, Gate: f.Gate, Text: f.Objective, Items: listed(f.Complaint),
		})
		failed = failed[1:]
	}
	for i := range done {
		for len(failed) > 0 && failed[0].Objective == done[i].Task.Objective {
			refused()
		}
		steps = append(steps, step{
			At: done[i].At, Label: "Gates passed", Tone: "good", Who: done[i].Worker, Text: done[i].Task.Objective,
			Items: listed(done[i].Summary),
		})
	}
	for len(failed) > 0 {
		refused()
	}
	return steps
}

// listed is a list of a text, unless that is empty.
func listed(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func memories(ids []memory.ID) string { return counted(len(ids), "memory", "memories") }

func counted(n int, single, many string) string {
	if n == 1 {
		return "1 " + single
	}
	return fmt.Sprintf("%d %s", n, many)
}
