package memory

import (
	"context"
	"fmt"
)

// Trust ends the quarantine of a record: the host, or a person whom it asked,
// vouches for the text. It is on disk when Trust returns, and idempotent.
func (s Space) Trust(ctx context.Context, id ID) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	sh, _, err := s.lookup(id)
	if err != nil {
		return err
	}
	sh.edit.Lock()
	defer sh.edit.Unlock()
	_, e, err := s.lookup(id) // again: it may have changed
	if err != nil || e.flags.trusted() {
		return err
	}
	old, err := s.b.record(ctx, sh, e)
	if err == nil {
		rec := *old
		rec.Trusted = true
		err = s.b.rewrite(ctx, sh, e, &rec)
	}
	if err != nil {
		return fmt.Errorf("memory: trust %q: %w", id, err)
	}
	return nil
}
