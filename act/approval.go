package act

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Approval asks a person to allow a call. Characters that do not show, or reorder others, are escaped in its
// Inputs and left out of About. The ID belongs to one run, and stays; another attempt, or another try of an
// irreversible call, has another. Once asked, only a person decides; a stricter Mode asks anew.
type Approval struct {
	reason.ToolCall
	Scope    store.Scope // of the run that waits
	Run      string      // its ID
	About    string      // what it is for, in words: the task's objective
	Mode     Mode        // Veto, Gated or Compound
	Why      []string    // "mode is gated", "amount is 120, above 100", and the run's irreversible calls
	Deadline time.Time   // afterwards silence lets a Veto go on and denies the others
	Begun    bool        // this or another irreversible call of the run may have been made: see Why before a yes
}

// Ruling is a person's answer to an Approval. One without By is none, neither a yes nor a no.
type Ruling struct {
	Approval, By, Note string // the Approval's ID; who has ruled, and why, in words
	Allow              bool   // false: a no

	// Result, with Allow, says that the call has been made, by arc before a crash or by hand, and what it
	// returned: JSON that is not null, of a worker its Output. The run goes on with it, and makes no call.
	Result json.RawMessage `json:",omitempty"`
}

// Approver asks a person, or a policy that stands for one. The zero Ruling abstains. That, an error, and a
// Ruling without By or on another Approval leave this one open: the attempt is pending, and asks again when
// it goes on. An error, and a yes or a Note without By, is told in an Event. ctx ends with the time for an
// answer, or the attempt's. In Compound a second call asks a second person.
type Approver func(ctx context.Context, a Approval) (Ruling, error)

// PendingError says that an attempt cannot go on before people have ruled or answered. An executor or gate
// that has a question returns one, and passes on one that [Do] or [Step] has returned to it. It spends no
// attempt: the executor is called again with the same number and the answers.
type PendingError struct {
	Approvals []Approval // what people have to rule on
	Questions []string   // what a person has to answer; those of an executor the reasoner may
}

func (e *PendingError) Error() string {
	return fmt.Sprintf("act: waiting for people: %d approvals, questions %q", len(e.Approvals), e.Questions)
}

// ErrDenied is in the chain of the error of a call that was refused, or that nobody has allowed in time.
var ErrDenied = errors.New("act: denied")

// asking is an Approval and what people have ruled on it, in one record. Who shows it, who rules on it and
// the call that it is about all go by that, and by nothing else.
type asking struct {
	Approval                 // Why also names who has agreed
	Agreed   []string        // the people, each once
	Denied   string          // who has not, and why
	Made     json.RawMessage // what the call has returned, as one of them says
	Decided  bool            // by people; silence does at the Deadline
}

// Rule commits a person's ruling in the journal of the run that asked. No By, or an Approval that the run has
// not asked for, is an error. The first ruling counts: a second one is [store.ErrConflict], as is one after
// the deadline, when silence has ruled. In Compound, until two have agreed, a person may still say no.
func Rule(ctx context.Context, j *Journal, r Ruling) error {
	if r.By = fence.Line(r.By); r.Approval == "" || r.By == "" {
		return fmt.Errorf("act: %w: a ruling names its approval, and who it is By", store.ErrInvalid)
	}
	raw, err := schema.Marshal(r)
	if err != nil {
		return fmt.Errorf("act: the ruling's result: %w", err)
	}
	word, now := map[bool]string{true: "yes", false: "no"}[r.Allow], j.now()
	return j.ask(ctx, r.Approval, func(q *asking) (e Event, err error) {
		same := func(by string) bool { return strings.EqualFold(text.Fold(by), text.Fold(r.By)) }
		switch {
		case q.ID == "":
			return e, fmt.Errorf("act: the run has not asked for approval %q", r.Approval)
		case !now.Before(q.Deadline):
			return e, fmt.Errorf("act: approval %q was open until %v: %w", q.ID, q.Deadline, store.ErrConflict)
		case q.Decided:
			return e, fmt.Errorf("act: somebody has ruled on approval %q before: %w", q.ID, store.ErrConflict)
		case !r.Allow:
			q.Denied = fmt.Sprintf(" by %s: %s", r.By, cmp.Or(r.Note, "no"))
		case !slices.ContainsFunc(q.Agreed, same):
			q.Agreed, q.Why = append(q.Agreed, r.By), append(q.Why, r.By+" has agreed")
		}
		if len(r.Result) > 0 && string(r.Result) != "null" {
			q.Made = r.Result
		}
		return Event{Kind: "ruled", Name: r.By, Text: strings.TrimSuffix(word+": "+r.Note, ": "), Data: raw}, nil
	})
}

// asked returns what is asked under an ID, the zero asking if nothing is.
func (j *Journal) asked(ctx context.Context, id string) (asking, error) {
	q, _, err := codec.Load[asking](ctx, j.g.Store(), j.prefix+"a/"+id)
	return q, j.kept(ctx, err)
}

// ask commits what f makes of what is asked under an ID, with the event of f; or nothing, and f's error.
func (j *Journal) ask(ctx context.Context, id string, f func(*asking) (Event, error)) error {
	key, refused := j.prefix+"a/"+id, error(nil)
	err := j.commit(ctx, func(b *store.Batch) ([]Event, error) {
		q, was, err := codec.Load[asking](ctx, b, key)
		if err != nil {
			return nil, err
		}
		var e Event
		if e, refused = f(&q); refused != nil {
			return nil, refused
		}
		e.At = j.now()
		q.Decided = q.Denied != "" || len(q.Agreed) > 1 || len(q.Agreed) == 1 && q.Mode != Compound
		return []Event{e}, codec.Put(b, key, q, was)
	})
	if refused != nil {
		return refused
	}
	return j.kept(ctx, err)
}

// await returns no error when people have allowed the call that they were asked for under an ID, and what it
// returned if one says that it has been made. It reads all rulings, by whatever door they came, then asks the
// Approver, and reads again, as long as that brings another person. So an Approver that rules like one who
// has ruled before is no second person, and a no counts whenever it came. What is no ruling of an Approver,
// or comes when somebody has ruled or it is too late, leaves all as it is.
func (s *scene) await(ctx context.Context, id string) (json.RawMessage, error) {
	for people := -1; ; {
		q, err := s.journal.asked(context.WithoutCancel(ctx), id) // also when the attempt's time is over
		left := q.Deadline.Sub(s.journal.now())
		switch {
		case err != nil:
			return nil, err
		case q.Decided && q.Denied == "", !q.Decided && left <= 0 && q.Mode == Veto:
			return q.Made, nil
		case q.Decided, left <= 0:
			why := cmp.Or(q.Denied, ": nobody has ruled on "+q.Name+" by "+q.Deadline.Format(time.RFC3339))
			if q.Begun {
				why += "; this run may have made such a call already, and nobody knows whether it has"
			}
			return nil, fmt.Errorf("%w%s", ErrDenied, why)
		case len(q.Agreed) == people, s.host.approver == nil, ctx.Err() != nil:
			return nil, &PendingError{Approvals: []Approval{q.Approval}}
		}
		people = len(q.Agreed)
		ask := s.host.approver
		r, err := call.Do(ctx, left, func(ctx context.Context) (Ruling, error) { return ask(ctx, q.Approval) })
		if abstains := !r.Allow && r.By+r.Note == ""; err == nil && !abstains && cmp.Or(r.Approval, id) == id {
			r.Approval, r.By = id, fence.Clip(s.clean.Prose(r.By), maxShown)
			r.Note = fence.Clip(s.clean.Prose(r.Note), maxComplaint)
			err = Rule(ctx, s.journal, r)
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrConflict) {
			s.note(Event{Kind: "approver_failed", Name: q.Name, Text: err.Error()})
		}
	}
}
