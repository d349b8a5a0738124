package arc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/rows"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta/fleet"
	"github.com/arc-learn/arc/store"
)

// Health is the state of an agent: of the memory of a scope, and of the recent runs of its
// tenant. It prints as a report of at most 80 columns, and encodes to JSON.
type Health struct {
	// Health is that of the scope's memory. Its Status and Issues are about the whole report.
	memory.Health
	// Uplift is how much memory helps in the scope: see learn.Options.Holdout.
	Uplift learn.Uplift
	// Fleet has the statistics of the workers over the last day, and their claims.
	Fleet fleet.Health
	// Resonance is that of the last attempts that settled a task, at most 64, oldest first.
	Resonance []float64
	// Proposals counts the tenant's proposals that wait for a person's decision.
	Proposals int `json:",omitempty"`
	// Damaged are the IDs of the tenant's proposals that cannot be read. If one had changed how a
	// worker is used or a goal is kept, that holds until the tenant is opened anew.
	Damaged []string `json:",omitempty"`
	// Dropped counts the failed calls of hooks, logger and telemetry providers since the Agent
	// was opened: those that panicked, did not return in time, or were not made because an
	// earlier one had not returned.
	Dropped int64 `json:",omitempty"`
	// Unpriced counts tokens, since the Agent was opened, of runs that have a budget in US
	// dollars while no part reports what tokens cost.
	Unpriced int64 `json:",omitempty"`
}

// Bounds of the issues.
const (
	boastful   = 0.15 // mean confidence above the success rate
	minClaims  = 20   // claims that this needs
	failing    = 0.5  // failure rate of a worker over the last hour
	minSamples = 5    // outcomes in that hour that this needs
)

// Health returns the health of a scope's memory and of its tenant's runs. The scope "" is
// Options.Scope.
func (a *Agent) Health(ctx context.Context, scope memory.Scope) (Health, error) {
	scope = cmp.Or(scope, a.o.Scope)
	var h Health
	var err error
	if h.Health, err = a.bank.In(scope).Health(ctx); err != nil {
		return h, err
	}
	own, err := a.tenant(ctx, scope)
	if err != nil {
		return h, err
	}
	defer a.handBack(own)
	if h.Uplift, err = own.learner.Uplift(ctx, scope); err != nil {
		return h, err
	}
	if h.Fleet, err = fleet.Measure(ctx, own.book, a.o.Now(), nil); err != nil {
		return h, err
	}
	if h.Proposals, h.Damaged, err = own.waiting(ctx); err != nil {
		return h, err
	}
	h.Resonance = own.monitor.Resonance()
	h.Unpriced = a.unpriced.Load()
	if h.Dropped = a.hooks.Lost() + guard.Lost(a.o.Logger); a.watch != nil {
		h.Dropped += a.watch.Lost()
	}
	damaged, err := own.ledgers.Damaged(ctx)
	if err != nil {
		return h, err
	}
	for _, sharer := range damaged {
		h.Issues = append(h.Issues, memory.Issue{
			Text:   "the ledger of a budget is damaged, and stops the runs that share it: " + sharer,
			Advice: "restore a backup, or Repair the store; that of Bounds.Day begins anew on the next day",
		})
	}
	h.judge()
	return h, nil
}

// judge adds the issues that are not about memory, and sets Status. Each issue says what it was found
// from, and what a person can do. None is raised on few outcomes: the bounds above say how many it
// takes.
func (h *Health) judge() {
	add := func(advice, format string, args ...any) {
		h.Issues = append(h.Issues, memory.Issue{Text: fmt.Sprintf(format, args...), Advice: advice})
	}
	if n := h.Quarantined - h.Lessons; n > h.Total/2 { // lessons are used, as background
		add("Trust what is right, Revoke the sources of what is not", "%d of %d memories are quarantined", n, h.Total)
	}
	if u := h.Uplift.Delivered; u.High < 0 {
		add("find the memories that do by View.Uplift, and Forget them", "memory %v", u)
	}
	c, boast := &h.Fleet.Calibration, 0.0
	for i := range c.Bins { // a worker that succeeds more often than it claims is no issue
		boast += max(0, c.Bins[i].Confidence-float64(c.Bins[i].Successes))
	}
	if n := c.Count(); n >= minClaims && boast > boastful*float64(n) {
		add("see Fleet for who claims what, and trust gates rather than claims",
			"what workers claim is off by %.2f on average", c.ECE())
	}
	for _, w := range h.Fleet.Workers {
		if w.Recent >= minSamples && w.FailureRate > failing {
			keys := make([]string, len(w.Failures))
			for i, f := range w.Failures {
				keys[i] = f.Key
			}
			add("look at "+strings.Join(keys, ", "), "%s failed %.0f %% of the last hour", w.Name, 100*w.FailureRate)
		}
	}
	for _, s := range h.Fleet.Orphaned {
		add("add a worker for it, or take it from the reasoner's list", "%q was asked for and not delivered in 24 hours", s)
	}
	for _, f := range iar.Findings(h.Resonance) {
		add("read the reflections of the last runs", "%s: %s", f.Kind, f.Text)
	}
	if h.Proposals > 0 {
		add("see View.Proposals: Approve or Reject them", "proposals that wait for a decision: %d", h.Proposals)
	}
	for _, id := range h.Damaged {
		add("restore a backup, or delete it by View.Reject, and decide again about what is proposed again",
			"proposal %s is damaged", id)
	}
	if h.Dropped > 0 {
		add("see the errors of the Logger", "calls of hooks, logger or telemetry that failed or were dropped: %d", h.Dropped)
	}
	if h.Unpriced > 0 {
		add("put model.Price around the model, have executors report Usage.CostUSD, or bound Tokens",
			"a budget in US dollars is set, and no part said what %d tokens cost", h.Unpriced)
	}
	if len(h.Issues) > 0 {
		h.Status = memory.NeedsAttention
	}
}

// String returns the report.
func (h Health) String() string {
	var b strings.Builder
	row := func(label, format string, args ...any) { rows.Write(&b, label, fmt.Sprintf(format, args...)) }
	fmt.Fprintf(&b, "%s\n", h.Status)
	row("memory", "%d: patterns %d, failures %d, facts %d, episodes %d", h.Total,
		h.Kinds[memory.Pattern], h.Kinds[memory.Failure], h.Kinds[memory.Fact], h.Kinds[memory.Episode])
	row("", "%d archived, %d quarantined, %d of these as lessons", h.Archived, h.Quarantined, h.Lessons)
	if h.Behind > 0 {
		row("", "%v behind what is written", h.Behind.Round(time.Millisecond))
	}
	row("effective", "%.2f, by feedback on %d of them", h.Effectiveness, h.Feedback)
	row("uplift", "%v", h.Uplift.Delivered)
	if u := h.Uplift.Unasked; u.With > 0 {
		row("unasked", "%v", u)
	}
	if c := &h.Fleet.Calibration; c.Count() > 0 {
		row("confidence", "off by %.2f on average (Brier %.2f, claims %d)", c.ECE(), c.Brier(), c.Count())
	}
	if n := len(h.Resonance); n > 0 {
		row("resonance", "%s %.2f", rows.Spark(h.Resonance), h.Resonance[n-1])
	}
	for _, w := range h.Fleet.Workers {
		row("worker", "%s: %d of %d delivered, p50 %v, p95 %v, $%.4f",
			w.Name, w.Successes, w.Known, w.P50.Round(time.Millisecond), w.P95.Round(time.Millisecond), w.CostUSD)
		if w.CostUSD > 0 {
			row("", "%v", w.PerSuccess)
		}
	}
	for _, issue := range h.Issues {
		row("issue", "%s", issue.Text)
		row("", "→ %s", issue.Advice)
	}
	return b.String()
}

// waiting counts the proposals that a person can decide about, and names those that are damaged.
func (own *tenant) waiting(ctx context.Context) (n int, damaged []string, err error) {
	for p, err := range own.proposals.All(ctx) {
		switch {
		case errors.Is(err, store.ErrDamaged):
			damaged = append(damaged, p.ID)
		case err != nil:
			return 0, nil, err
		case p.Status == "open":
			n++
		}
	}
	return n, damaged, nil
}
