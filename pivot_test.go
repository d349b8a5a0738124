package arc_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/reason"
)

// With PivotAuto a run whose session has failed by three approaches asks a
// human instead of trying a fourth; the other policies do not.
func TestPivotAutoAsksWhenApproachesRunOut(t *testing.T) {
	t.Parallel()
	for policy, want := range map[arc.PivotPolicy]arc.Status{arc.PivotAuto: arc.Asking, arc.PivotFlag: arc.Blocked} {
		s := &script{judge: fail("still nil")}
		s.decide = func(n int, b reason.Brief) (reason.Decision, error) {
			d := plan(b.Objective)
			d.Approach = fmt.Sprint("approach ", n%3)
			return d, nil
		}
		a := agent(t, s.host(), &arc.Options{Pivot: policy, Attempts: 1})
		var last *arc.Report
		for range 8 {
			last = run(t, a, arc.Objective{Text: "mend the cache", Situation: situation, Session: "s"})
			if last.Status == arc.Asking {
				break
			}
		}
		require.Equal(t, want, last.Status)
		if want == arc.Asking {
			require.Contains(t, last.Questions[0], "ask_human: ")
		}
	}
}
