package act_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/rank"
)

// everyone is an Approver for the mode Compound: all of them have to agree.
type everyone []act.Approver

func (all everyone) Approve(ctx context.Context, r act.ApprovalRequest) (bool, error) {
	for _, one := range all {
		if ok, err := one.Approve(ctx, r); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// Two humans have to agree before anything is deployed.
func ExampleApprover() {
	owner := act.ApproverFunc(func(context.Context, act.ApprovalRequest) (bool, error) { return true, nil })
	guard := act.ApproverFunc(func(_ context.Context, r act.ApprovalRequest) (bool, error) { return r.Blast < act.Public, nil })
	r, err := act.NewRunner(act.Options{
		Workers: []act.Worker{
			{Card: rank.Candidate{Name: "stage"}, Executor: act.ExecutorFunc(deploy), Mode: act.Compound, Blast: act.Fleet},
			{Card: rank.Candidate{Name: "release"}, Executor: act.ExecutorFunc(deploy), Mode: act.Compound, Blast: act.Public},
		},
		Gates:    []act.Gate{act.NoGate},
		Approver: everyone{owner, guard},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, worker := range []string{"stage", "release"} {
		a := r.Execute(context.Background(), worker, act.Work{Task: act.Task{Objective: "deploy"}})
		fmt.Printf("%s %s %q\n", worker, a.End, a.Complaint)
	}
	// Output:
	// stage finished ""
	// release denied "denied: approval was refused"
}

func deploy(context.Context, act.Work) (act.Result, error) { return success(`"deployed"`), nil }

// A yes that is given once the time for it is over is a no, however soon it
// comes. Which of the two is seen first is up to the scheduler, whose choices
// the race detector makes at random.
func TestLateApprovalIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		r, err := act.NewRunner(act.Options{
			Workers: []act.Worker{{Card: rank.Candidate{Name: "w"}, Executor: act.ExecutorFunc(deploy), Mode: act.Veto}},
			Gates:   []act.Gate{act.NoGate},
			Approver: act.ApproverFunc(func(ctx context.Context, _ act.ApprovalRequest) (bool, error) {
				asked.Add(1)
				<-ctx.Done()
				return true, nil
			}),
			ApprovalTTL: time.Second,
		})
		require.NoError(t, err)
		const times = 100
		for range times {
			a := r.Execute(t.Context(), "w", act.Work{})
			require.Equal(t, act.Denied, a.End)
			require.ErrorIs(t, a.Err, act.ErrDenied)
		}
		synctest.Wait()
		require.EqualValues(t, times, asked.Load())
	})
}

// Whatever an Approver does but agree is a refusal, and the worker's attempt
// is not made.
func TestApproverThatMisbehavesHasRefused(t *testing.T) {
	t.Parallel()
	for name, approve := range map[string]func() (bool, error){
		"error":  func() (bool, error) { return true, context.Canceled },
		"panic":  func() (bool, error) { panic("boom") },
		"goexit": func() (bool, error) { runtime.Goexit(); return true, nil },
	} {
		r, err := act.NewRunner(act.Options{
			Workers: []act.Worker{{Card: rank.Candidate{Name: "w"}, Mode: act.Gated, Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
				panic("called")
			})}},
			Gates:    []act.Gate{act.NoGate},
			Approver: act.ApproverFunc(func(context.Context, act.ApprovalRequest) (bool, error) { return approve() }),
		})
		require.NoError(t, err)
		a := r.Execute(t.Context(), "w", act.Work{})
		require.Equal(t, act.Denied, a.End, name)
		require.ErrorIs(t, a.Err, act.ErrDenied, name)
	}
}
