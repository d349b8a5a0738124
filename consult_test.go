package arc_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// knowing is a script whose reasoner answers what workers ask.
type knowing struct {
	*script
	asked  []string
	answer func() (string, error)
}

func (k *knowing) Answer(_ context.Context, _ reason.Brief, questions []string) (string, reason.Usage, error) {
	k.asked = append(k.asked, questions...)
	text, err := k.answer()
	return text, reason.Usage{CostUSD: 1}, err
}

// asks is a script of two workers that have to know which valve it is.
func asks() *script {
	return &script{do: func(_ int, w act.Work) (act.Result, error) {
		if len(w.Answers) == 0 {
			r := done(`1`)
			r.Usage = act.Usage{CostUSD: .25}
			return r, &act.InputRequiredError{Questions: []string{"which valve?", " "}}
		}
		return done(`"` + w.Answers[0].Text + `"`), nil
	}}
}

// What a worker has to know is asked of the reasoner first; the answer reaches its next
// call of the same attempt.
func TestAskedWorkerIsAnsweredByItsReasoner(t *testing.T) {
	t.Parallel()
	s := asks()
	k := &knowing{script: s, answer: func() (string, error) { return " the main one ", nil }}
	h := s.host("one", "two")
	h.Reasoner = k
	r := run(t, agent(t, h, nil), arc.Objective{Text: "mend the pump"})
	require.Equal(t, arc.Delivered, r.Status, r.Reason)
	require.Equal(t, []string{"which valve?"}, k.asked)
	require.Equal(t, 1, r.Attempts)
	require.Equal(t, 1.25, r.Usage.CostUSD)
	require.Len(t, s.work, 2)
	first, second := s.work[0], s.work[1]
	require.Equal(t, []any{first.Task.Worker, first.Key, first.Attempt}, []any{second.Task.Worker, second.Key, second.Attempt})
	require.Equal(t, []reason.Answer{{Questions: []string{"which valve?"}, Text: "the main one"}}, second.Answers)
	require.JSONEq(t, `"the main one"`, string(r.Deliveries[0].Output))
}

// What the reasoner does not know, or fails to say, a human is asked: the question and
// the answer outlive the process.
func TestAskedWorkerIsAnsweredByAHuman(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func() (string, error){
		"no answerer": nil,
		"unknown":     func() (string, error) { return "", nil },
		"error":       func() (string, error) { return "perhaps", errors.New("no idea") },
		"panic":       func() (string, error) { panic("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, st := asks(), store.NewMem()
			h := s.host("one", "two")
			if answer != nil {
				h.Reasoner = &knowing{script: s, answer: answer}
			}
			a := agentOn(t, st, h, nil)
			o := arc.Objective{ID: "run", Text: "mend the pump", Once: true}
			r := run(t, a, o)
			require.Equal(t, arc.Asking, r.Status)
			require.Equal(t, []string{"which valve?"}, r.Questions)
			require.Equal(t, s.work[0].Task.Worker, r.AskedBy)
			require.Zero(t, r.Attempts)
			require.NoError(t, a.Close())

			a = agentOn(t, st, h, nil)
			require.Equal(t, arc.Asking, run(t, a, o).Status, "it is not asked again")
			require.Len(t, s.work, 1)
			r, err := a.In("").Answer(t.Context(), "run", "the main one")
			require.NoError(t, err)
			require.Equal(t, arc.Delivered, r.Status, r.Reason)
			require.Empty(t, r.AskedBy)
			require.Equal(t, 1, r.Attempts)
			first, second := s.work[0], s.work[1]
			require.Equal(t, []any{first.Task.Worker, first.Key}, []any{second.Task.Worker, second.Key})
			require.Equal(t, "the main one", second.Answers[0].Text)
			_, err = a.In("").Answer(t.Context(), "run", "late")
			require.ErrorIs(t, err, arc.ErrNotAsking)
		})
	}
}

// A worker that asks without an end, or nothing, has failed.
func TestWorkersThatOnlyAsk(t *testing.T) {
	t.Parallel()
	for name, questions := range map[string][]string{"without an end": {"why?"}, "nothing": {" "}} {
		s := &script{do: func(int, act.Work) (act.Result, error) {
			return act.Result{}, &act.InputRequiredError{Questions: questions}
		}}
		h := s.host()
		h.Reasoner = &knowing{script: s, answer: func() (string, error) { return "because", nil }}
		r := run(t, agent(t, h, &arc.Options{Attempts: 1}), arc.Objective{Text: "mend the pump"})
		require.Equal(t, arc.Blocked, r.Status, name)
		require.Contains(t, r.Reason, "asks again", name)
	}
}

// A job whose worker asks is parked, without holding a worker of the queue.
func TestJobsWaitForAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, st := asks(), store.NewMem()
		a := agentOn(t, st, s.host(), &arc.Options{Now: time.Now})
		q, err := queue.Open(t.Context(), st, nil)
		require.NoError(t, err)
		d, err := q.Dispatch(a.QueueHandler(), nil)
		require.NoError(t, err)
		j, _, err := q.Enqueue(t.Context(), queue.Draft{Subject: "mend the pump", Scope: "local"})
		require.NoError(t, err)
		idle(time.Minute)
		j, err = q.Get(t.Context(), j.ID)
		require.NoError(t, err)
		require.Equal(t, []any{queue.Parked, "which valve?"}, []any{j.State, j.Detail})
		_, err = a.In("").Answer(t.Context(), "job/"+j.ID, "the main one")
		require.NoError(t, err)
		idle(2 * time.Second)
		j, err = q.Get(t.Context(), j.ID)
		require.NoError(t, err)
		require.Equal(t, queue.Completed, j.State)
		require.Len(t, s.work, 2)
		require.NoError(t, d.Close(t.Context()))
		require.NoError(t, a.Close())
	})
}
