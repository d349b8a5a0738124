package benchmarks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/memorytest"
	"github.com/arc-learn/arc/store"
)

// TestLocomoACTR asks the same questions under the policy ACTR, each turn made
// when it was said and the clock at the end, so that base levels differ as
// much as they can. What that costs depends on the penalty.
func TestLocomoACTR(t *testing.T) {
	cs := locomo(t)
	at := func(p memory.Policy) float64 {
		b := &bench{banks: map[string]*memory.Bank{}, names: map[memory.ID]string{}}
		var turns []memorytest.Question
		for _, c := range cs {
			turns = append(turns, c.questions...)
			now := c.end
			bank, err := memory.Open(t.Context(), store.NewMem(), &memory.Options{Now: func() time.Time { return now }, Policy: p})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, bank.Close()) })
			b.banks[string(c.scope)] = bank
			for _, d := range c.drafts {
				now = d.At
				r, err := bank.In(c.scope).Remember(t.Context(), d)
				require.NoError(t, err)
				b.names[r.ID] = d.Key
			}
			now = c.end
		}
		r, err := memorytest.Measure(t.Context(), b.records, turns, nil)
		require.NoError(t, err)
		value := func(name string) float64 { return 100 * r.Metric("", name).Value }
		t.Logf("| %+v | %.1f | %.1f | %.1f |", p, value("R@5"), value("R@10"), value("R@50"))
		return value("R@10")
	}
	weighted := at(memory.Weighted{})
	for _, penalty := range []float64{1, 4, 8, 16, 32} {
		got := at(memory.ACTR{MismatchPenalty: penalty})
		if penalty == 16 { // the default
			require.GreaterOrEqual(t, got, weighted-1.5)
		}
	}
}
