package act_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Whatever attempts come in whatever order, each by a process of its own, an irreversible worker is called only where
// nothing was done that it could repeat, or where a person has said so.
func TestOnceAgainstAModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		st := store.NewMem()
		done, open := map[int]string{}, map[int]bool{} // results, and inputs of calls whose end is not known
		calls, behave, say := 0, "", ""
		pay := act.ExecutorFunc(func(context.Context, *act.Call) (*act.Result, error) {
			switch calls++; behave {
			case "declined":
				return nil, errors.New("declined")
			case "outage":
				return nil, &reason.Error{Class: reason.Unavailable, Err: errors.New("no connection")}
			}
			return &act.Result{Text: fmt.Sprint("payment ", calls)}, nil
		})
		approver := act.Approver(func(context.Context, act.Approval) (act.Ruling, error) {
			if say != "yes" && say != "no" {
				return act.Ruling{}, nil
			}
			return act.Ruling{By: "anna", Allow: say == "yes"}, nil
		})
		gates := []act.Gate{act.GateFunc(func(context.Context, *act.Call, *act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: behave != "refused", Complaint: "no receipt"}, nil
		})}
		for attempt := range rapid.IntRange(1, 12).Draw(rt, "attempts") {
			input := rapid.IntRange(1, 2).Draw(rt, "input")
			behave = rapid.SampledFrom([]string{"good", "declined", "outage", "refused"}).Draw(rt, "behave")
			say = rapid.SampledFrom([]string{"", "what?", "yes", "no"}).Draw(rt, "say")
			r, err := act.NewRunner([]act.Worker{{Name: "pay", Executor: pay, Gates: gates, Irreversible: true}},
				approver, 0, nil)
			require.NoError(rt, err)
			before := calls
			ctx := act.WithJournal(context.Background(), act.NewJournal(store.NewGroup(st), "", nil, nil, nil), nil)
			a := r.Run(ctx, call(r, attempt+1, fmt.Sprintf(`{"n":%d}`, input)))

			result, is := done[input]
			delete(done, input) // those of other inputs are left
			mustAsk := !is && len(done)+len(open) > 0
			want, outcome := before, rank.Outcome("")
			switch {
			case is:
				outcome = rank.Delivered
			case mustAsk && say == "no":
				outcome = rank.Denied
			case mustAsk && say != "yes":
			default:
				want++
				outcome = map[string]rank.Outcome{"declined": rank.Failed, "outage": rank.Away}[behave]
				if outcome == "" {
					outcome, result, is = rank.Delivered, fmt.Sprint("payment ", want), true
					delete(open, input)
				} else if behave == "outage" {
					open[input] = true
				}
			}
			if is {
				done[input] = result
				if behave == "refused" {
					outcome = rank.Failed
				}
			}
			require.Equal(rt, want, calls, "calls")
			require.Equal(rt, outcome, a.Outcome, a.Complaint)
			if outcome == rank.Delivered {
				require.Equal(rt, result, a.Result.Text)
			}
			if outcome == "" {
				require.Len(rt, asks(a), 1)
			}
		}
	})
}
