package learn

import (
	"context"
	"fmt"

	"github.com/arc-learn/arc/memory"
)

// MaintenanceReport says what Maintain did.
type MaintenanceReport struct {
	Decay       memory.DecayReport
	Consolidate memory.ConsolidateReport
}

// String is the report on one line.
func (r MaintenanceReport) String() string {
	d, c := r.Decay, r.Consolidate
	return fmt.Sprintf("%d memories: %d archived now, %d before; %d of %d near-duplicates merged, %d left",
		d.Total, d.Archived, d.Already, c.Merged, c.Tried, c.After)
}

// Maintain keeps the memory of a scope in order: what is unused is archived
// ([memory.Space.Decay]), and then near-duplicates are merged where replay finds
// nothing worse for it ([memory.Space.Consolidate]). No text is deleted.
//
// It is idempotent, and one that was interrupted is completed by the next call;
// with an error comes the report of what was done until then. It may be called
// while others learn and recall.
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
