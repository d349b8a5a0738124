package arc

import (
	"context"
	"fmt"
	"strings"

	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
)

// Health is how an agent is doing: the memory of a scope, and what the whole
// agent has done lately. It prints as a report and encodes to JSON.
type Health struct {
	// Health is that of the scope's memory. Its Status and Issues are those of
	// the whole report.
	memory.Health
	// Advice says what to do about each of Issues, in their order.
	Advice []string
	// Uplift is how much memory helps in the scope; see learn.Options.Holdout.
	Uplift learn.Uplift
	// Fleet is how the workers did over the last day.
	Fleet meta.Fleet
	// Resonance is that of the last attempts, at most 64, oldest first.
	Resonance []float64
	// Dropped counts the calls of hooks, logger and telemetry providers since
	// the Agent was opened that panicked, did not return in time, or were not
	// made because an earlier one had not returned.
	Dropped int64 `json:",omitempty"`
}

// Bounds of what Health takes for an issue.
const (
	miscalibrated = 0.15 // expected calibration error
	claims        = 20   // confidences before that is said
	failing       = 0.5  // failure rate of a worker over the last hour
	failures      = 5    // samples before that is said
)

// Health says how the memory of a scope and the agent as a whole are doing.
// The scope "" is Options.Scope.
func (a *Agent) Health(ctx context.Context, scope memory.Scope) (Health, error) {
	setDefault(&scope, a.o.Scope)
	var h Health
	var err error
	if h.Health, err = a.bank.In(scope).Health(ctx); err != nil {
		return h, err
	}
	if h.Uplift, err = a.learner.Uplift(ctx, scope); err != nil {
		return h, err
	}
	now := a.o.Now()
	if h.Fleet, err = meta.NewFleet(now, a.book.Samples(ctx, now.Add(-meta.FleetWindow)), nil); err != nil {
		return h, err
	}
	h.Resonance = a.monitor.Resonance()
	h.Dropped = a.dropped()
	h.judge()
	return h, nil
}

// judge fills Issues, Advice and Status.
func (h *Health) judge() {
	for range h.Issues {
		advice := "run objectives, or remember what is known already"
		if h.Total > 0 {
			advice = "let workers and reasoner name what they used: act.Result.Utilized, reason.Decision.Applied"
		}
		h.Advice = append(h.Advice, advice)
	}
	add := func(advice, format string, args ...any) {
		h.Issues, h.Advice = append(h.Issues, fmt.Sprintf(format, args...)), append(h.Advice, advice)
	}
	if n := h.Quarantined; n > h.Total/2 {
		add("Trust what is right, Revoke the sources of what is not", "%d of %d memories are quarantined", n, h.Total)
	}
	if h.Uplift.Delivered.Harms() {
		add("look for the memories that do: Agent.UpliftOf", "memory %v", h.Uplift.Delivered)
	}
	if e := h.Fleet.Calibration.ECE(); h.Fleet.Calibration.Count() >= claims && e > miscalibrated {
		add("take iar.Calibration.Correct of what they claim", "what workers claim is off by %.2f on average", e)
	}
	for _, w := range h.Fleet.Workers {
		if w.Known >= failures && w.FailureRate > failing {
			add("look at "+strings.Join(w.Failures, ", "), "%s failed %.0f %% of the last hour", w.Name, 100*w.FailureRate)
		}
	}
	for _, skill := range h.Fleet.Orphaned {
		add("add a worker for it, or take it from the reasoner's list", "nobody has delivered %q for a day", skill)
	}
	for _, f := range iar.Findings(h.Resonance) {
		add("read the reflections of the last runs", "%s: %s", f.Kind, f.Text)
	}
	if h.Dropped > 0 {
		add("see the errors of the Logger", "%d calls of hooks, logger or telemetry failed or were dropped", h.Dropped)
	}
	if len(h.Issues) > 0 {
		h.Status = memory.NeedsAttention
	}
}

// String is the report.
func (h Health) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", h.Status)
	fmt.Fprintf(&b, "memory     %d: %d patterns, %d failures, %d facts, %d episodes; %d archived, %d quarantined\n", h.Total,
		h.Kinds[memory.Pattern], h.Kinds[memory.Failure], h.Kinds[memory.Fact], h.Kinds[memory.Episode], h.Archived, h.Quarantined)
	fmt.Fprintf(&b, "effective  %.2f, by feedback on %d of them\n", h.Effectiveness, h.Feedback)
	fmt.Fprintf(&b, "uplift     %v\n", h.Uplift.Delivered)
	if n := h.Fleet.Calibration.Count(); n > 0 {
		fmt.Fprintf(&b, "confidence off by %.2f on average (Brier %.2f, %d claims)\n", h.Fleet.Calibration.ECE(), h.Fleet.Calibration.Brier(), n)
	}
	if len(h.Resonance) > 0 {
		fmt.Fprintf(&b, "resonance  %s %.2f\n", sparkline(h.Resonance), h.Resonance[len(h.Resonance)-1])
	}
	for _, w := range h.Fleet.Workers {
		fmt.Fprintf(&b, "worker     %s: %d of %d delivered, p50 %v, p95 %v, $%.4f\n", w.Name, w.Successes, w.Known, w.P50, w.P95, w.CostUSD)
	}
	for i, issue := range h.Issues {
		fmt.Fprintf(&b, "issue      %s\n           → %s\n", issue, h.Advice[i])
	}
	return b.String()
}

// sparkline draws values in [0,1].
func sparkline(values []float64) string {
	const bars = "▁▂▃▄▅▆▇█"
	var b strings.Builder
	for _, v := range values {
		b.WriteRune([]rune(bars)[min(7, max(0, int(v*8)))])
	}
	return b.String()
}
