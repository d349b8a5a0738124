package benchmarks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/embed"
	"github.com/arc-learn/arc/memory/memorytest"
	"github.com/arc-learn/arc/store"
)

// Vectors of the weakest embedder there is lower no category of questions.
func TestLocomoHybrid(t *testing.T) {
	cs := locomo(t)
	var turns []memorytest.Question
	words := ingest(t, cs, 0)
	both := &bench{banks: map[string]*memory.Bank{}, names: map[memory.ID]string{}}
	for _, c := range cs {
		turns = append(turns, c.questions...)
		bank, err := memory.Open(t.Context(), store.NewMem(), &memory.Options{
			Now: func() time.Time { return c.end }, Embedder: embed.Hashed{},
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, bank.Close()) })
		both.banks[string(c.scope)] = bank
		receipts, err := bank.In(c.scope).RememberAll(t.Context(), c.drafts)
		require.NoError(t, err)
		require.NoError(t, bank.Embed(t.Context()))
		for i, r := range receipts {
			both.names[r.ID] = c.drafts[i].Key
		}
	}
	was := measure(t, "turns, by words", words.records, turns)
	got := measure(t, "turns, by words and hashed spelling", both.records, turns)
	for _, row := range was.Rows {
		for _, k := range []string{"R@10", "R@50"} {
			require.GreaterOrEqual(t, got.Metric(row.Category, k).Value, was.Metric(row.Category, k).Value, "%s of category %s", k, row.Category)
		}
	}
}
