package learn

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
)

// Judgement is a finding about a delivery after the gates had passed it.
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
	Memories []memory.ID    // the memories used, with the chunk that fired or was learned
	Work     []Outcome      // the deliveries judged: Key, Skill and Worker of each
}

// Judge records a judgement. It credits or charges the memories that the delivery used, and takes back what an
// opposite judgement of the same source did to them. The last judgement decides whether a worker's attempt
// was a success. The session gets one more outcome.
func (l *Learner) Judge(ctx context.Context, j Judgement) error {
	for i := range j.Work {
		w := &j.Work[i]
		if err := l.book.Observe(ctx, rank.Sample{
			Key: j.Key + "/" + strconv.Itoa(i), Candidate: w.Worker, Judges: cmp.Or(w.Key, j.Key),
			Situation: Situation(w.Skill, j.Situation), Success: j.Right, At: j.At,
			Reason: text.Shorten(j.Why, rank.MaxReason),
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
		Key: j.Key, Session: j.Session, Goal: text.Shorten(j.Objective, maxNote), Approach: text.Shorten(j.Approach, maxNote),
		User: j.User, Success: j.Right, At: j.At, Note: text.Shorten(j.Why, maxNote),
	}); err != nil {
		return fmt.Errorf("record the outcome: %w", err)
	}
	return nil
}

// feedback returns a verdict as feedback on the memories.
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
