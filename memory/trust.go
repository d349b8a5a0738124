package memory

import "context"

// Trust ends the quarantine of a record: the host, or a person whom it asked,
// vouches for the text. It is on disk when Trust returns, and idempotent.
func (s Space) Trust(ctx context.Context, id ID) error {
	return s.change(ctx, "trust", id, func(sh *shard, e *entry) error {
		if e.flags&(isQuarantined|isPassing) == 0 {
			return nil
		}
		old, err := s.b.record(ctx, sh, e)
		if err != nil {
			return err
		}
		rec := *old
		rec.Trusted, rec.Passing = true, false
		if err := s.b.rewrite(ctx, sh, e, &rec); err != nil {
			return err
		}
		sh.unqueue(e)
		return nil
	})
}
