package arc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/register"
	"github.com/arc-learn/arc/store"
)

// Backup writes a snapshot of the Agent's whole store, of all tenants, and returns the number
// of entries. Runs continue meanwhile. store.Verify checks a backup, and store.Restore
// restores it into an empty store, which Open or New can then use.
func (a *Agent) Backup(ctx context.Context, w io.Writer) (entries int, err error) {
	if err := store.CheckContext(ctx); err != nil {
		return 0, err
	}
	if guard.IsNil(w) {
		return 0, errors.New("backup: the writer is nil")
	}
	if err := a.w.Flush(ctx); err != nil {
		return 0, fmt.Errorf("backup: %w", err)
	}
	return store.Backup(ctx, a.st, w)
}

// maxDamaged bounds the errors that Verify joins.
const maxDamaged = 100

// Verify reads the Agent's whole store, and compares each record with its checksum; marks,
// whose values have fewer than two bytes, have none. It returns the number of entries that it
// has read. The error joins a store.ErrDamaged for each damaged key, at most 100, or is that
// of the store.
func (a *Agent) Verify(ctx context.Context) (entries int, err error) {
	if err := store.CheckContext(ctx); err != nil {
		return 0, err
	}
	var damaged []error
	for e, err := range a.st.Scan(ctx, store.Range{}) {
		if err != nil {
			return entries, fmt.Errorf("verify: %w", errors.Join(append(damaged, err)...))
		}
		entries++
		parts := key.Split(e.Key)
		ours := slices.Contains([]string{"memory", "identity", "tenant"}, parts[0])
		if !ours || len(e.Value) < 2 || len(parts) > 2 && (parts[2] == register.Statuses || parts[2] == spoolKeys) {
			continue // of the host, or without a checksum of its own
		}
		if _, err := codec.Move(e, e.Key); err != nil && len(damaged) < maxDamaged {
			damaged = append(damaged, err)
		}
	}
	if len(damaged) > 0 {
		return entries, fmt.Errorf("verify: %w", errors.Join(damaged...))
	}
	return entries, nil
}
