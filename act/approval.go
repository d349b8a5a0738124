package act

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Approval asks a person to allow a call. Characters that do not show, or reorder others, are escaped in its
// Inputs and left out of About. The ID belongs to one run, and stays over restarts; another attempt, or another
// try of an irreversible call, has another. Once asked, only a person decides; a stricter Mode asks anew.
type Approval struct {
	reason.ToolCall
	Scope    store.Scope // of the run that waits
	Run      string      // its ID
	About    string      // what it is for, in words: the task's objective
	Mode     Mode        // Veto, Gated or Compound
	Why      []string    // "mode is gated", "amount is 120, above 100", and the run's irreversible calls
	Deadline time.Time   // afterwards silence lets a Veto go on and denies the others
	Begun    bool        // it may have been made already: a yes without a Ruling's Result makes it again
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
// Ruling without By or on another Approval leave this one open: the attempt is pending, and asks again when it
// goes on. An error, and a yes or a Note without By, is told in an Event and in Why, for others who rule. ctx
// ends with the time for an answer, or the attempt's. In Compound a second call asks a second person.
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

// Rule commits a person's ruling in the journal of the run that asked. It is an error if it has no By, or if
// the run has not asked for that Approval. The first ruling counts: a second one is [store.ErrConflict], as is
// one after the deadline, when silence has ruled. In Compound a person's last counts, however By is spelled.
func Rule(ctx context.Context, j *Journal, r Ruling) error {
	if r.By = fence.Line(r.By); r.Approval == "" || r.By == "" {
		return fmt.Errorf("act: %w: a ruling names its approval, and who it is By", store.ErrInvalid)
	}
	a := Approval{ToolCall: reason.ToolCall{ID: r.Approval}}
	asked, err := j.asked(ctx, &a)
	now := j.now()
	switch {
	case err != nil:
		return err
	case !asked:
		return fmt.Errorf("act: the run has not asked for approval %q", r.Approval)
	case !now.Before(a.Deadline):
		return fmt.Errorf("act: approval %q was open until %v: %w", r.Approval, a.Deadline, store.ErrConflict)
	}
	raw, err := schema.Marshal(r)
	if err != nil {
		return fmt.Errorf("act: the ruling's result: %w", err)
	}
	word := map[bool]string{true: "yes", false: "no"}[r.Allow]
	step := record{Name: "ruling/" + r.Approval + "/", State: stepDone, Value: raw, cond: store.Absent}
	if a.Mode == Compound {
		step.Name, step.cond = step.Name+person(r.By), store.Any
	}
	err = j.put(ctx, step,
		Event{At: now, Kind: "ruled", Name: r.By, Text: strings.TrimSuffix(word+": "+r.Note, ": "), Data: raw})
	if errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("act: somebody has ruled on approval %q before: %w", r.Approval, store.ErrConflict)
	}
	return err
}

// person identifies who has ruled, whatever the door's spelling.
func person(by string) string { return digest([]byte(strings.ToLower(text.Fold(by)))) }

// asked makes an Approval, of which the ID counts, what it was when it was asked, and reports whether it was.
func (j *Journal) asked(ctx context.Context, a *Approval) (bool, error) {
	r, err := j.get(ctx, "ask/"+a.ID)
	if err != nil || r.State != stepDone {
		return false, err
	}
	return true, json.Unmarshal(r.Value, a)
}

// ask returns no error when people have allowed the call that a is about, and what it returned if one says
// that it has been made. It reads all rulings, by whatever door they came, then asks the Approver, and reads
// again: once for each person who is needed. So an Approver that rules like one who has ruled before is no
// second person, and a no counts whenever it came.
func (s *scene) ask(ctx context.Context, a Approval) (json.RawMessage, error) {
	why, wanted := slices.Clip(a.Why), 1
	if a.Mode == Compound {
		wanted = 2
	}
	for left := wanted; ; left-- {
		people, made, err := s.agreed(context.WithoutCancel(ctx), a.ID) // also when the attempt's time is over
		if err != nil {
			return nil, err
		}
		a.Why = why
		for _, by := range slices.Sorted(maps.Values(people)) {
			a.Why = append(a.Why, by+" has agreed")
		}
		silent := !s.journal.now().Before(a.Deadline)
		switch {
		case len(people) >= wanted, silent && a.Mode == Veto:
			return made, nil
		case silent:
			return nil, fmt.Errorf("%w: nobody has ruled on %s by %s", ErrDenied, a.Name, a.Deadline.Format(time.RFC3339))
		case left == 0 || s.host.approver == nil || ctx.Err() != nil:
			return nil, &PendingError{Approvals: []Approval{a}}
		}
		s.consult(ctx, a, &why)
	}
}

// consult asks the host's Approver within the time that there is, and commits its answer. What is no ruling,
// or comes when somebody has ruled or it is too late, leaves all as it is. why gets the Approver's error.
func (s *scene) consult(ctx context.Context, a Approval, why *[]string) {
	r, err := call.Do(ctx, max(1, a.Deadline.Sub(s.journal.now())), func(ctx context.Context) (Ruling, error) {
		a.Inputs = slices.Clone(a.Inputs) // the approver's own
		return s.host.approver(ctx, a)
	})
	if err == nil && fence.Line(r.By) == "" && (r.Allow || r.Note != "") {
		err = errors.New("its ruling does not say who it is By")
	}
	if err != nil && ctx.Err() == nil {
		*why = append(*why, fence.Clip("the approver failed: "+s.clean.Prose(err.Error()), maxShown))
		s.note(Event{Kind: "approver_failed", Name: a.Name, Text: err.Error()})
	}
	if err == nil && (r.Approval == "" || r.Approval == a.ID) {
		r.Approval, r.By = a.ID, fence.Clip(s.clean.Prose(r.By), maxShown)
		r.Note = fence.Clip(s.clean.Prose(r.Note), maxComplaint)
		_ = Rule(ctx, s.journal, r) // the Journal has the errors of the store
	}
}

func (s *scene) file(ctx context.Context, a *Approval) error {
	now := s.journal.now()
	a.Deadline = now.Add(cmp.Or(s.host.open, 24*time.Hour))
	raw, _ := schema.Marshal(a) // its inputs are JSON
	return s.journal.put(ctx, record{Name: "ask/" + a.ID, State: stepDone, Value: raw},
		Event{At: now, Kind: "approval_asked", Name: a.Name, Text: strings.Join(a.Why, "; "), Data: raw})
}

// agreed returns who has allowed the call, each person once, and what it returned if one of them says that it
// was made. The error says who has denied it.
func (s *scene) agreed(ctx context.Context, id string) (people map[string]string, made json.RawMessage, err error) {
	people = map[string]string{}
	for step, err := range scan[record](ctx, s.journal, store.Range{Prefix: "s/ruling/" + id + "/"}) {
		var r Ruling
		if err == nil {
			err = json.Unmarshal(step.Value, &r)
		}
		if err == nil && !r.Allow {
			err = fmt.Errorf("%w by %s: %s", ErrDenied, r.By, cmp.Or(r.Note, "no"))
		}
		if err != nil {
			return nil, nil, err
		}
		people[person(r.By)] = r.By
		if r.Result != nil && string(r.Result) != "null" {
			made = r.Result
		}
	}
	return people, made, nil
}
