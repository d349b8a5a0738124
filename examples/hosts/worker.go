package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
)

// service is the world of this host.
type service struct{ replicas atomic.Int64 }

// scale is an Executor. It does the task and says how it went.
func (s *service) scale(_ context.Context, w act.Work) (act.Result, error) {
	to, err := wanted(&w.Task)
	switch {
	case err != nil:
		return act.Result{}, err // a failed attempt, whose text goes into the next
	case to < 1:
		return act.Result{}, fmt.Errorf("%w: it must stay up", act.ErrDenied) // not asked again
	}
	s.replicas.Store(to)
	n, err := json.Marshal(to)
	return act.Result{
		Output:     n,
		Reflection: iar.Reflection{Status: iar.Success, Confidence: 0.9, Summary: "scaled"},
		Deltas:     []act.Delta{{Domain: "web", Path: "data.replicas", Value: n}},
	}, err
}

// wanted is the number of replicas that a task asks for; 2 if it names none.
func wanted(t *act.Task) (n int64, err error) {
	if len(t.Inputs) == 0 {
		return 2, nil
	}
	err = json.Unmarshal(t.Inputs, &n)
	return n, err
}

// scaled is a Gate. It looks at the world and not at what the worker says.
func (s *service) scaled(_ context.Context, w act.Work, _ act.Result) (act.Verdict, error) {
	want, err := wanted(&w.Task)
	if err != nil {
		return act.Verdict{}, err // nothing was verified: nothing is delivered
	}
	got := s.replicas.Load()
	return act.Verdict{Pass: got == want, Complaint: fmt.Sprintf("%d replicas run", got)}, nil
}

// onlySmall is an Approver. A person would be asked here.
func onlySmall(ctx context.Context, r *act.Call) (bool, error) {
	to, err := wanted(&r.Work.Task)
	if err != nil {
		return false, err
	}
	return to <= 10, ctx.Err()
}
