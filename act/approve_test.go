package act_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
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

func (all everyone) Approve(ctx context.Context, r *act.Call) (bool, error) {
	for _, one := range all {
		if ok, err := one.Approve(ctx, r); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// Two humans have to agree before anything is deployed.
func ExampleApprover() {
	owner := act.ApproverFunc(func(context.Context, *act.Call) (bool, error) { return true, nil })
	guard := act.ApproverFunc(func(_ context.Context, r *act.Call) (bool, error) { return r.Blast < act.Public, nil })
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
		a := r.Execute(context.Background(), &act.Call{Worker: worker, Work: act.Work{Task: act.Task{Objective: "deploy"}}})
		fmt.Printf("%s %s %q\n", worker, a.End, a.Complaint)
	}
	// Output:
	// stage finished ""
	// release refused "denied: approval was refused"
}

func deploy(context.Context, act.Work) (act.Result, error) { return success(`"deployed"`), nil }

// A yes that is given once the time for it is over is none, however soon it
// comes. Which of the two is seen first is up to the scheduler, whose choices
// the race detector makes at random. A no that late does not stop what only a veto does.
func TestLateApprovalIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		r, err := act.NewRunner(act.Options{
			Workers: []act.Worker{
				{Card: rank.Candidate{Name: "w"}, Executor: act.ExecutorFunc(deploy), Mode: act.Gated},
				{Card: rank.Candidate{Name: "free"}, Executor: act.ExecutorFunc(deploy), Mode: act.Veto},
			},
			Gates: []act.Gate{act.NoGate},
			Approver: act.ApproverFunc(func(ctx context.Context, c *act.Call) (bool, error) {
				asked.Add(1)
				<-ctx.Done()
				return c.Worker == "w", nil
			}),
			ApprovalTTL: time.Second,
		})
		require.NoError(t, err)
		const times = 100
		for range times {
			a := r.Execute(t.Context(), &act.Call{Worker: "w", Work: act.Work{}})
			require.Equal(t, act.Unanswered, a.End)
			require.ErrorIs(t, a.Err, act.ErrDenied)
			require.Equal(t, act.Finished, r.Execute(t.Context(), &act.Call{Worker: "free"}).End)
		}
		synctest.Wait()
		require.EqualValues(t, 2*times, asked.Load())
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
			Approver: act.ApproverFunc(func(context.Context, *act.Call) (bool, error) { return approve() }),
		})
		require.NoError(t, err)
		a := r.Execute(t.Context(), &act.Call{Worker: "w", Work: act.Work{}})
		require.Equal(t, act.Undecided, a.End, name)
		require.ErrorIs(t, a.Err, act.ErrDenied, name)
	}
}

// A request that has expired is gone, says so, and means no; one that has not
// is still to be answered, and a yes counts until the end.
func TestExpiryOfApprovals(t *testing.T) {
	raw, err := os.ReadFile("testdata/hitl-expiry.json")
	require.NoError(t, err)
	var f struct {
		Cases []struct {
			Name  string
			Input struct {
				Expires int64 `json:"expires_at_ms"`
				Now     int64 `json:"now_ms"`
			}
			Want struct {
				Published [][]any
				Pending   int
			}
		}
	}
	require.NoError(t, json.Unmarshal(raw, &f))
	require.Len(t, f.Cases, 3)
	for _, c := range f.Cases {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answer, calls := make(chan bool, 1), 0
				r, err := act.NewRunner(act.Options{
					Workers: []act.Worker{{Card: rank.Candidate{Name: "w"}, Mode: act.Gated, Executor: act.ExecutorFunc(
						func(ctx context.Context, w act.Work) (act.Result, error) { calls++; return deploy(ctx, w) })}},
					Gates:       []act.Gate{act.NoGate},
					Approver:    act.ApproverFunc(func(context.Context, *act.Call) (bool, error) { return <-answer, nil }),
					ApprovalTTL: time.Duration(c.Input.Expires) * time.Millisecond,
				})
				require.NoError(t, err)
				ended := make(chan act.Attempt, 1)
				go func() { ended <- r.Execute(t.Context(), &act.Call{Worker: "w", Work: act.Work{}}) }()
				<-time.After(time.Duration(c.Input.Now) * time.Millisecond)
				synctest.Wait()
				require.Equal(t, 1-c.Want.Pending, len(ended))
				answer <- true
				a := <-ended
				require.Equal(t, c.Want.Pending, calls)
				if len(c.Want.Published) > 0 {
					require.Equal(t, act.Unanswered, a.End)
					require.ErrorIs(t, a.Err, act.ErrDenied)
					require.Contains(t, a.Complaint, "no answer in time")
				} else {
					require.Equal(t, act.Finished, a.End)
				}
			})
		})
	}
}
