package learn_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

func ExampleLearner_Maintain() {
	ctx := context.Background()
	p, err := open(ctx, store.NewMem(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.close()
	s := p.bank.In(scope)
	now := memory.Draft{Kind: memory.Fact, Content: "The nightly build takes an hour."}
	page := now // the same from a page, which the host has come to trust
	page.Source.Origin = memory.Web
	old := memory.Draft{Kind: memory.Episode, Content: "We went sailing.", At: noon.Add(-60 * 24 * time.Hour)}
	receipts, err := s.RememberAll(ctx, []memory.Draft{now, page, old})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.Trust(ctx, receipts[1].ID); err != nil {
		fmt.Println(err)
	}
	// A host with a loop of its own does this once a day:
	//
	//	for range time.Tick(24 * time.Hour) {
	for range 2 {
		report, err := p.learner.Maintain(ctx, scope)
		if err != nil {
			fmt.Println(err)
		}
		fmt.Println(report)
	}
	// Output:
	// 3 memories: 0 archived now, 0 before; 1 of 1 near-duplicates merged, 2 left
	// 2 memories: 0 archived now, 0 before; 0 of 0 near-duplicates merged, 2 left
}

// Maintenance that was interrupted reports what was done, and is completed by
// the next call.
func TestMaintain(t *testing.T) {
	t.Parallel()
	p := setup(t, nil)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.learner.Maintain(ended, scope)
	require.ErrorIs(t, err, context.Canceled)
	_, err = p.learner.Maintain(t.Context(), "no scope!")
	require.ErrorIs(t, err, memory.ErrScope)
	report, err := p.learner.Maintain(t.Context(), scope)
	require.NoError(t, err)
	require.Zero(t, report)

	_, err = p.learner.Learn(t.Context(), delivered("r1", "the cache"))
	require.NoError(t, err)
	report, err = p.learner.Maintain(t.Context(), scope)
	require.NoError(t, err)
	require.Equal(t, learn.MaintenanceReport{
		Decay:       memory.DecayReport{Total: 1, Kept: 1},
		Consolidate: memory.ConsolidateReport{Before: 1, After: 1},
	}, report)
}
