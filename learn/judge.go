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

	// Credit: Right makes the delivery count as helped, which it does not. Counted are the keys under which
	// it may count so: of Outcomes, of judgements with Credit, and GoalKey. A wrong judgement takes that back.
	Credit  bool
	Counted []string
	GoalKey string

	Session   string
	Objective string // of the run
	Situation string
	Approach  string
	User      string // of the run
	At        time.Time

	Scopes   []memory.Scope // where the memories may be
	Memories []memory.ID    // the memories used, with the chunk that fired or was learned
	Recalled []memory.ID    // for the goal
	Injected []memory.Hit   // for Credit: the Recalled, if a chunk Fired
	Fired    memory.ID      // of Memories, the chunk that fired; "": none
	Made     memory.ID      // of Memories, the chunk that the run made; "": none
	Work     []Outcome      // the deliveries judged: Key, Skill and Worker of each
}

// Judge records a judgement. A wrong one charges the memories that the delivery used, and takes back that they, and
// the warnings that its worker was shown, have helped; a right one takes back what the opposite of the same source
// has charged, and counts as having helped with Credit alone. The last judgement decides whether a worker's attempt
// was a success. The session gets one more outcome. If it returns an error, calling it again with the same judgement
// completes it.
func (l *Learner) Judge(ctx context.Context, j Judgement) error {
	if err := checkGoal(j.GoalKey); err != nil {
		return err
	}
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
		shown, err := l.warned(ctx, scope, &j)
		if err != nil {
			return fmt.Errorf("warnings: %w", err)
		}
		for _, f := range append(j.feedbacks(), shown...) {
			if err := l.bank.In(scope).Feedback(ctx, f); err != nil {
				return fmt.Errorf("feedback: %w", err)
			}
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

// feedbacks returns the judgement as feedback on the memories.
func (j *Judgement) feedbacks() (all []memory.Feedback) {
	misled := memory.Feedback{Key: j.Key, Situation: situationKey(j.Situation), Misled: slices.Clone(j.Memories)}
	if !j.Right {
		named := slices.Concat(j.Memories, j.Recalled)
		for _, k := range j.counted() {
			all = append(all, j.taken(k, named))
		}
		return append(all, misled)
	}
	if j.Changed {
		misled.Key, misled.Undo = j.Key+"/back", true
		all = append(all, misled)
	}
	if j.Credit {
		o, made := Outcome{Fired: j.Fired, Injected: j.Injected}, func(id memory.ID) bool { return id == j.Made }
		helped := append(slices.DeleteFunc(slices.Clone(j.Memories), made), o.restsOn()...)
		all = append(all, memory.Feedback{
			Key: j.Key, Situation: misled.Situation, Injected: helped, Utilized: helped, Delivered: true,
		})
	}
	return all
}

// taken returns the feedback that takes back what memories have counted as helped under a key.
func (j *Judgement) taken(k string, of []memory.ID) memory.Feedback {
	return memory.Feedback{
		Key: digest(k, "taken"), Undo: true, Of: k, Situation: situationKey(j.Situation),
		Injected: of, Utilized: of, Delivered: true,
	}
}

// warned returns what takes back that warnings have helped, as an attempt that was shown them passed, though wrong.
func (l *Learner) warned(ctx context.Context, scope memory.Scope, j *Judgement) (all []memory.Feedback, err error) {
	if j.Right {
		return nil, nil
	}
	records, err := l.bank.In(scope).Latest(ctx, warningThread(j.Situation), maxKnown)
	var ids []memory.ID
	for i := range records {
		ids = append(ids, records[i].ID)
	}
	for i := range j.Work {
		all = append(all, j.taken(digest(j.Work[i].Key, "warnings"), ids))
	}
	return all, err
}

// counted returns the keys under which the delivery may count as helped.
func (j *Judgement) counted() []string {
	if j.GoalKey == "" {
		return j.Counted
	}
	return append(slices.Clip(j.Counted), digest(j.GoalKey, "chunk"), j.GoalKey+"/chunk")
}
