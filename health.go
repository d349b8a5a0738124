package arc

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
)

// Health says how the runs of a scope and those below it went in seven days, and which wait or are blocked.
type Health struct {
	State string // "no_data", "healthy", "struggling" or "failing", see [View.Health]

	// Uplift is what memory changes in runs whose Lessons (if empty, whose Scope) are this scope. Without
	// Options.Learn.Holdout nothing can be said, and each N is 0. Text does not mention it.
	Uplift meta.Uplift

	text string
}

const (
	healthSpan = 7 * 24 * time.Hour
	maxShown   = 5
)

// Health returns the figures of the scope and of those below it. Without a run that has ended the State is
// "no_data". It is "failing" where the last three that ended were not delivered, or fewer than half were;
// "struggling" where the last one was not, or fewer than nine in ten were; else "healthy". Where a person has
// judged a run, the last verdict counts. Canceled runs do not count.
func (v View) Health(ctx context.Context) (Health, error) {
	a, since := v.agent, v.agent.opts.Now().Add(-healthSpan)
	h := Health{State: "no_data"}
	t, err := a.tenant(ctx, v.scope)
	if err != nil {
		return h, err
	}
	a.mu.Lock()
	rests := maps.Clone(a.rests)
	a.mu.Unlock()
	var ended []*record         // since then, and before that what is still blocked and nobody has judged
	var waiting, wrong []string // runs that wait, ask or were left; that are blocked, or were judged wrong
	goals := ""                 // lines of goals that are not met
	for scope, err := range t.scopes(ctx, v.scope) {
		told, _, unread := codec.Load[string](ctx, t.group.Store(), scope.Key("health", "goal")) // of goal.Keeper
		if err = cmp.Or(err, unread); err != nil {
			return h, err
		}
		goals += told
		for r, err := range t.records(ctx, scope, false) {
			switch {
			case err != nil:
				return h, err
			case r.Status == Waiting, r.Status == Asking,
				r.Status == Running && (r.Left || !rests[runKey(r.Scope, r.ID)].IsZero()):
				line, err := t.line(ctx, v.scope, r)
				if err != nil {
					return h, err
				}
				waiting = append(waiting, line)
			case r.Status == Running, r.Status == Canceled:
			case r.Ended.Before(since) && (r.Status != Blocked || r.Verdict != ""):
			default:
				r.Usage, r.Aims = r.usage(), nil // most of it
				ended = append(ended, r)
			}
		}
	}
	slices.SortFunc(ended, func(a, b *record) int { // the newest first
		return cmp.Or(b.Ended.Compare(a.Ended), strings.Compare(b.ID, a.ID))
	})
	row := 0                  // of the newest runs, how many are wrong in a row
	recent, delivered := 0, 0 // how many have ended since then; how many of these were delivered
	for i, r := range ended {
		if !r.Ended.Before(since) {
			recent++
		}
		if r.good() {
			delivered++
			continue
		}
		if row == i {
			row++
		}
		line, _ := t.line(ctx, v.scope, r) // of one that has ended nothing is read
		wrong = append(wrong, line)
	}
	share := float64(delivered) / float64(max(1, recent))
	switch {
	case recent == 0:
	case row >= 3, share < .5:
		h.State = "failing"
	case row > 0, share < .9:
		h.State = "struggling"
	default:
		h.State = "healthy"
	}
	day, open := since.Format(time.DateOnly), few("blocked or judged wrong", wrong)+few("waiting", waiting)+goals
	h.text = "no data: no run of this scope has ended since " + day + open
	if recent > 0 {
		h.text = fmt.Sprintf("%s: %d of %d runs were delivered since %s%s\nlearned plans: %s",
			h.State, delivered, recent, day, open, savings(ended[:recent]))
	}
	h.Uplift, err = t.layer.Uplift(ctx, v.scope)
	return h, err
}

// few are the first lines of a list, and how many runs of what it has more.
func few(what string, lines []string) string {
	text := strings.Join(lines[:min(maxShown, len(lines))], "")
	if n := len(lines) - maxShown; n > 0 {
		text += fmt.Sprintf("\n%s: %d more runs", what, n)
	}
	return text
}

// Text returns the Health in words, a line a finding: the State and how many of the runs were delivered, a
// line for each of the last five that were judged wrong or are blocked, however long, and of the first five
// that ask, wait or were left by their caller, goals that are not met, and what learned plans have saved.
func (h Health) Text() string { return h.text }

// savings says what learned plans have saved: the difference a delivered run, in model calls and dollars,
// between those by a plan and those that a reasoner has thought about, of the runs that told. They are other
// cases, so it says what plans save where cases are alike.
func savings(ended []*record) string {
	var arms meta.Arms
	for _, r := range ended {
		fired := r.Deliberations == 0
		if r.good() && (!fired || r.Fired > 0) { // else it is no delivery, or nobody has thought about it
			arms.Add(fired, true, r.Usage, 1)
		}
	}
	u := arms.Uplift()
	return saved(u.Calls, "model calls", "%v model calls", 10) + ";\n  " + saved(u.USD, "dollars", "$%v", 1e4)
}

// line tells a run that is not delivered, or was judged wrong, on a line; with a scope below top.
func (t *tenant) line(ctx context.Context, top memory.Scope, r *record) (string, error) {
	out, err := t.report(ctx, r, &delivered{Text: r.Reason}) // what it delivered is not read
	id := strings.TrimPrefix(runKey(r.Scope, r.ID), runKey(top, ""))
	status, why := string(r.Status), ""
	switch r.Status {
	case Delivered:
		status = "judged wrong"
	case Blocked:
		why = fmt.Sprintf(" (%s)", r.Cause)
	case Running:
		why = " (nobody works on it: View.Resume)"
	}
	return "\n" + status + ": " + id + " " + fence.Line(out.Objective) + why + ": " + fence.Line(out.Text), err
}

// saved says what plans have saved in all, and between which bounds a run where these are known: figures of a
// form, rounded to parts of one.
func saved(i meta.Interval, what, form string, parts float64) string {
	in := func(v float64) string { return fmt.Sprintf(form, math.Round(parts*v)/parts) }
	if i.N == 0 {
		return "no data on " + what
	}
	text := fmt.Sprintf("about %s saved in %d runs", in(-i.Mean*float64(i.N)), i.N)
	if i.Margin != nil {
		text += fmt.Sprintf(", between %s and %s a run", in(-i.Mean-*i.Margin), in(-i.Mean+*i.Margin))
	}
	return text
}
