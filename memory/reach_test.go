package memory_test

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// others is how many records TestFactsStayWithinReach has besides the facts, and
// facts how many of these there are. For the figures of docs/benchmarks.md:
//
//	go test ./memory -run WithinReach -v -timeout 60m -args -reach.others 10000 -reach.facts 1000
var (
	reachOthers = flag.Int("reach.others", 300, "records besides the facts")
	reachFacts  = flag.Int("reach.facts", 30, "facts that are remembered once")
)

// A fact that was remembered once is found 400 days later, after maintenance every
// day and among many others, by other forms of some of its words.
func TestFactsStayWithinReach(t *testing.T) {
	t.Parallel()
	ctx, now := context.Background(), epoch
	bank, err := memory.Open(ctx, store.NewMem(), &memory.Options{Now: func() time.Time { return now }, Seed: 1})
	require.NoError(t, err)
	defer func() { require.NoError(t, bank.Close()) }()
	s := bank.In("acme")
	ids := make([]memory.ID, *reachFacts)
	for i := range ids {
		r, err := s.Remember(ctx, memory.Draft{Kind: memory.Fact, Content: fmt.Sprintf("The %s workshop repairs the %ss of the harbour.", word(uint64(i)), word(uint64(i+40_000)))})
		require.NoError(t, err)
		require.Equal(t, memory.Stored, r.Disposition)
		ids[i] = r.ID
	}
	z := newZipf(30_000, 1)
	for day := range 400 {
		now = epoch.AddDate(0, 0, day)
		for range *reachOthers*(day+1)/400 - *reachOthers*day/400 {
			text := ""
			for range 12 {
				text += word(uint64(z.rank())) + " "
			}
			_, err := s.Remember(ctx, memory.Draft{Kind: memory.Fact, Content: text + "workshop harbour"})
			require.NoError(t, err)
		}
		_, err := s.Decay(ctx)
		require.NoError(t, err)
		if day%7 == 0 {
			_, err = s.Consolidate(ctx)
			require.NoError(t, err)
		}
	}
	lost, late := 0, 0
	for i, id := range ids {
		hits, err := s.Recall(ctx, memory.Query{Text: fmt.Sprintf("who is repairing %s in workshops at harbours?", word(uint64(i+40_000)))})
		require.NoError(t, err)
		at := -1
		for j, h := range hits {
			if h.Record.ID == id {
				at = j
			}
		}
		if at < 0 {
			lost++
		} else if at > 2 {
			late++
		}
	}
	t.Logf("of %d facts among %d others: %d not found, %d after the third", len(ids), *reachOthers, lost, late)
	require.Zero(t, lost)
	require.Zero(t, late)
}
