package arc_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/reason"
)

// What is not permitted, or cannot be done at all, is called once, in whatever words or
// types a worker or a model says so.
func TestWhatCannotSucceedIsCalledOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err   error
		cause arc.Cause
		calls int // of the worker
		asked int // the reasoner
	}{
		{errors.New("HTTP 401"), arc.CausePermission, 1, 1},
		{errors.New(`POST "https://api.example/v1": 401 Unauthorized {"error":"who?"}`), arc.CausePermission, 1, 1},
		{errors.New("StatusCode: 403, request 7"), arc.CausePermission, 1, 1},
		{errors.New("rpc error: code = PermissionDenied desc = no"), arc.CausePermission, 1, 1},
		{&reason.ModelError{Status: 403}, arc.CausePermission, 1, 1},
		{&reason.ModelError{Status: 400}, arc.CauseWorker, 1, 3},
		{act.Permanent(errors.New("no such table")), arc.CauseWorker, 1, 3},
		{errors.New("HTTP 418"), arc.CauseWorker, 3, 3},
	} {
		s := &script{do: func(int, act.Work) (act.Result, error) { return act.Result{}, c.err }}
		r := run(t, agent(t, s.host(), nil), arc.Objective{Text: "mend the cache"})
		require.Equal(t, []any{arc.Blocked, c.cause, c.calls}, []any{r.Status, r.Cause, len(s.work)}, c.err)

		h, calls := new(script).host(), 0
		h.Reasoner = reason.ReasonerFunc(func(context.Context, reason.Brief) (reason.Decision, error) {
			calls++
			return reason.Decision{}, c.err
		})
		a := agent(t, h, nil)
		r = run(t, a, arc.Objective{Text: "mend the cache"})
		require.Equal(t, []any{arc.Blocked, arc.CauseModel, c.asked}, []any{r.Status, r.Cause, calls}, c.err)
		calls = 0
		_, err := a.Think(t.Context(), arc.Objective{Text: "mend the cache"})
		require.ErrorIs(t, err, c.err)
		require.Equal(t, c.asked, calls)
	}
}
