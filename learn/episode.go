package learn

import (
	"context"
	"fmt"
	"strings"

	"github.com/arc-learn/arc/memory"
)

// tell remembers how a goal ended as an Episode in each of the scopes that the
// host has named: of a user, of an agent with a user, of the system. It is
// idempotent on the goal's key.
func (l *Learner) tell(ctx context.Context, o *Outcome) error {
	if o.Goal == Open {
		return nil
	}
	for _, scope := range o.Episodes {
		d := memory.Draft{
			Kind: memory.Episode, Content: episodeText(o), Key: digest(o.GoalKey, "episode"), At: o.At, Thread: digest(o.Session, "session"),
			Source: memory.Source{Origin: memory.Derived, Run: o.Run, Ref: o.GoalKey},
		}
		if _, err := l.bank.In(scope).Remember(ctx, d); err != nil {
			return fmt.Errorf("in %q: %w", scope, err)
		}
	}
	return nil
}

// episodeText says what was asked for and what came of it.
func episodeText(o *Outcome) string {
	var b strings.Builder
	how := "Delivered"
	if o.Goal == Blocked {
		how = "Not delivered"
	}
	fmt.Fprintf(&b, "%s: %s.", how, line(o.Objective))
	if o.Approach != "" {
		fmt.Fprintf(&b, " Approach: %s.", line(o.Approach))
	}
	if o.Worker != "" {
		fmt.Fprintf(&b, " By %s.", o.Worker)
	}
	if n := len(o.Failed); n > 0 {
		fmt.Fprintf(&b, " After %d failed attempts.", n)
	}
	if o.Goal == Blocked && o.Complaint != "" {
		fmt.Fprintf(&b, " Because: %s", line(o.Complaint))
	}
	return b.String()
}
