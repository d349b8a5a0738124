package learn

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/known"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory"
)

// tell remembers how a goal ended, as a passing Episode in each of the scopes that the outcome names: of a
// user, of an agent with a user, of the system. It is idempotent on the goal's key, and adds no commit to
// the outcome's. The text is that of the reasoner and the executors, so it is quarantined.
func (l *Learner) tell(ctx context.Context, o *Outcome) error {
	if o.Goal == Open || len(o.Episodes) == 0 {
		return nil
	}
	content := episodeText(o)
	if told(o.Injected, content) {
		return nil
	}
	for _, scope := range o.Episodes {
		d := memory.Draft{
			Kind: memory.Episode, Content: content, Key: digest(o.GoalKey, "episode"), At: o.At, Passing: true,
			Thread: digest(o.Session, "session"), Quotes: o.quotes(),
			Source: memory.Source{Origin: memory.Derived, Run: o.Run, Ref: o.GoalKey},
		}
		if _, err := l.bank.In(scope).Remember(ctx, d); err != nil {
			return fmt.Errorf("in %q: %w", scope, err)
		}
	}
	return nil
}

// offer remembers what a worker has delivered, for the bank's Extractor, if there is one: as the executor's
// words, in quarantine, as are the facts extracted from it.
func (l *Learner) offer(ctx context.Context, o *Outcome) error {
	if o.Task != Delivered || !l.bank.Extracts() {
		return nil
	}
	made := known.Made(o.Result.Output, o.Result.Reflection.Summary)
	if made == "" {
		return nil
	}
	_, err := kept(l.bank.In(o.Scope).Remember(ctx, memory.Draft{
		Kind: memory.Episode, Content: made, Key: digest(o.Key, "output"), At: o.At, Passing: true,
		Source: memory.Source{Origin: memory.Executor, Run: o.Run, Ref: o.Worker},
	}))
	return err
}

// told reports whether an episode that was shown for the goal says the same. Another one would displace others
// and make each recall slower.
func told(hits []memory.Hit, text string) bool {
	return slices.ContainsFunc(hits, func(h memory.Hit) bool { return h.Record.Passing && h.Record.Content == text })
}

// maxTold is how many episodes are shown for a goal.
const maxTold = 3

// distinct keeps the first maxTold of the passing episodes, one for each run, which may have one in several
// scopes.
func distinct(hits []memory.Hit) []memory.Hit {
	out := hits[:0]
	for _, h := range hits {
		r := &h.Record
		same := func(o memory.Hit) bool { return o.Record.Source.Run == r.Source.Run }
		tells := r.Passing && r.Source.Origin == memory.Derived
		if tells && len(out) < maxTold && !slices.ContainsFunc(out, same) {
			out = append(out, h)
		}
	}
	return out
}

// episodeText returns the objective and its outcome as text.
func episodeText(o *Outcome) string {
	var b strings.Builder
	how := delivered
	if o.Goal == Blocked {
		how = notDelivered
	}
	o.ours(&b, how)
	if o.Worker != "" {
		b.WriteString(" By " + o.Worker + ".")
	}
	if n := len(o.Failed); n > 0 {
		b.WriteString(fmt.Sprintf(" After %d failed attempts.", n))
	}
	if o.Goal == Blocked && o.Complaint != "" {
		b.WriteString("\nBecause: " + text.Line(o.Complaint))
	}
	return b.String()
}

// failureText returns the obstacle, and what was tried against it, each approach once.
func failureText(o *Outcome) string {
	var b strings.Builder
	o.ours(&b, notDelivered)
	if o.Complaint != "" {
		fmt.Fprintf(&b, "\nObstacle: %s", text.Line(o.Complaint))
	}
	type way struct{ worker, complaint string }
	var ways []way
	times := make(map[way]int)
	for _, f := range o.Failed {
		w := way{f.Worker, text.Line(f.Complaint)}
		if times[w]++; times[w] == 1 {
			ways = append(ways, w)
		}
	}
	for i, w := range ways {
		if i == maxFailed {
			fmt.Fprintf(&b, "\nand in %d more ways", len(ways)-i)
			break
		}
		often := ""
		if times[w] > 1 {
			often = fmt.Sprintf(", %d times", times[w])
		}
		fmt.Fprintf(&b, "\nTried %s%s: %s", w.worker, often, w.complaint)
	}
	b.WriteString("\nDo differently: take another approach, or other workers than these.")
	return b.String()
}

// maxFailed is how many approaches a failure names at most.
const maxFailed = 16
