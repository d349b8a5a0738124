package arc

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/reason"
)

// Bounds of a worker's questions: how often it asks in one attempt, and how many at once.
const (
	maxAsked     = 8
	maxQuestions = 16
)

// asked records the questions of the current attempt's worker. If there are none, or the worker
// asks too often, the attempt has failed.
func (t *turn) asked(at *act.Attempt) bool {
	c := t.s.Current
	var open []string
	for _, q := range at.Questions[:min(len(at.Questions), maxQuestions)] {
		if q = strings.ToValidUTF8(clip(q), ""); strings.TrimSpace(q) != "" {
			open = append(open, q)
		}
	}
	if len(open) == 0 || len(c.Answers) >= maxAsked {
		at.End = act.Failed
		at.Complaint = fmt.Sprintf("it asks again after %d answers: %s", len(c.Answers), at.Complaint)
		return false
	}
	c.Questions = open
	t.s.Usage = t.s.Usage.Add(at.Result.Usage)
	return true
}

// consult asks the reasoner the worker's questions, and a person those that the reasoner cannot
// answer. The attempt continues with the answer: it is the same attempt, with the same key, and
// costs none of Objective.Attempts.
//
// The questions and the answer are committed apart, so that neither is asked for again after a
// crash. While a person is asked the run is Asking, and Run returns; View.Answer continues it.
func (t *turn) consult(ctx context.Context) (phase, error) {
	c := t.s.Current
	if len(c.Questions) == 0 { // a person has answered
		return phaseAct, nil
	}
	text, err := t.answer(ctx, c.Questions)
	if err != nil {
		return "", err
	}
	if ctx.Err() != nil && t.did.used != (reason.Usage{}) {
		return phaseAsk, nil // the commit keeps what it has cost
	}
	if text != "" {
		c.answer(text)
		return phaseAct, nil
	}
	t.s.Status = Asking
	t.emit(eventAsked, Event{Text: strings.Join(c.Questions, "\n")})
	return phaseAsk, nil
}

// answer returns the reasoner's answer, or "".
func (t *turn) answer(ctx context.Context, questions []string) (string, error) {
	r, ok := t.a.reasoner.(reason.Answerer)
	if !ok || t.lacks() != "" {
		return "", nil
	}
	b, err := t.brief(ctx)
	if err != nil {
		return "", err
	}
	type reply struct {
		text string
		used reason.Usage // counts even with an error
		err  error
	}
	asked := slices.Clone(questions)
	said, err := guard.Do(ctx, t.a.o.ReasonTimeout, func(ctx context.Context) (reply, error) {
		text, used, err := r.Answer(ctx, b, asked)
		return reply{text, used, guard.Error(err)}, nil
	})
	if err = cmp.Or(err, said.err); said.used.Valid() {
		t.s.Usage, t.did.used = t.s.Usage.Add(said.used), said.used
	}
	if ctx.Err() != nil && t.did.used == (reason.Usage{}) {
		return "", ctx.Err()
	}
	if t.did.fault = err; ctx.Err() != nil || err != nil || !said.used.Valid() || len(said.text) > maxText {
		return "", nil
	}
	return strings.TrimSpace(strings.ToValidUTF8(said.text, "")), nil
}
