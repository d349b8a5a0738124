package learn

import (
	"context"
	"fmt"

	"github.com/arc-learn/arc/memory"
)

// MaintenanceReport is what Maintain did.
type MaintenanceReport struct {
	Decay       memory.DecayReport
	Consolidate memory.ConsolidateReport
}

// String returns the report on one line.
func (r MaintenanceReport) String() string {
	d, c := r.Decay, r.Consolidate
	return fmt.Sprintf("%d memories: %d archived now, %d before; %d of %d near-duplicates merged, %d left",
		d.Total, d.Archived, d.Already, c.Merged, c.Tried, c.After)
}

// Maintain maintains the memory of a scope: it archives unused memories ([memory.Space.Decay]), and then merges
// near-duplicates if replay shows that no recall gets worse by that ([memory.Space.Consolidate]). It deletes
// no text.
//
// It is idempotent; if it is interrupted, the next call completes it. Beside an error it reports what was done
// until then. It may be called while others learn and recall.
func (l *Learner) Maintain(ctx context.Context, scope memory.Scope) (r MaintenanceReport, err error) {
	s := l.bank.In(scope)
	if r.Decay, err = s.Decay(ctx); err != nil {
		return r, fmt.Errorf("maintain: %w", err)
	}
	if r.Consolidate, err = s.Consolidate(ctx); err != nil {
		return r, fmt.Errorf("maintain: %w", err)
	}
	return r, nil
}
