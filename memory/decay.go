package memory

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A record is archived when it is older than unusedAfter and had fewer than
// minUses uses. With the default half-life its recency is below 0.06 then.
const (
	unusedAfter = 30 * 24 * time.Hour
	minUses     = 2
)

// DecayReport says what Decay did. Total = Kept + Archived + Already + Removed.
type DecayReport struct {
	Total    int // records
	Kept     int // in use, or young
	Archived int // by this call
	Already  int // archived before
	Removed  int // passing Episodes, by this call
}

// Decay archives what is not used: records that have had fewer than two
// feedbacks and that were neither used, said again, made, nor dated within
// the last 30 days. A Fact that states the current value of a Slot stays,
// however old it is. No quarantined text supersedes a trusted one here.
//
// Passing Episodes that would be archived are removed for good. Nothing else is
// deleted: Query.Archived finds what was archived, and being said or used again
// brings it back. Fading itself needs no call, since recency is
// computed when it is read.
func (s Space) Decay(ctx context.Context) (DecayReport, error) {
	var report DecayReport
	if err := s.ready(ctx); err != nil {
		return report, err
	}
	sh := s.b.shard(s.scope)
	if sh == nil {
		return report, nil
	}
	sh.edit.Lock()
	defer sh.edit.Unlock()
	cutoff := s.b.now().Add(-unusedAfter)
	var unused, passing []*entry
	for _, e := range sh.snapshot() {
		report.Total++
		switch {
		case e.flags&isPassing != 0 && e.unused(cutoff):
			passing = append(passing, e)
		case e.counts().Archived:
			report.Already++
		case e.unused(cutoff) && !sh.current(e):
			unused = append(unused, e)
		default:
			report.Kept++
		}
	}
	for chunk := range slices.Chunk(unused, maxGroupOps/4) {
		if err := s.b.archive(ctx, sh, chunk, true); err != nil {
			report.Kept += len(unused) - report.Archived
			return report, fmt.Errorf("memory: decay: %w", err)
		}
		report.Archived += len(chunk)
	}
	for chunk := range slices.Chunk(passing, eraseChunk) {
		if err := s.b.erase(ctx, sh, chunk); err != nil {
			report.Kept += len(passing) - report.Removed
			return report, fmt.Errorf("memory: decay: %w", err)
		}
		report.Removed += len(chunk)
	}
	if err := s.b.w.Flush(ctx); err != nil {
		return report, fmt.Errorf("memory: decay: %w", err)
	}
	return report, nil
}

// Archive sets a record aside as Decay does, or brings it back if it was
// archived. It is on disk when Archive returns, and idempotent. As after Decay,
// being said or used again brings a record back.
func (s Space) Archive(ctx context.Context, id ID, archived bool) error {
	return s.change(ctx, "archive", id, func(sh *shard, e *entry) error {
		if e.counts().Archived == archived {
			return nil
		}
		if err := s.b.archive(ctx, sh, []*entry{e}, archived); err != nil {
			return err
		}
		return s.b.w.Flush(ctx)
	})
}

func (e *entry) unused(cutoff time.Time) bool {
	c := e.counts()
	return c.feedback() < minUses && max(int64(c.LastUsed), int64(c.Said), e.known, e.at) <= cutoff.UnixMicro()
}

// current reports whether e is a Fact that states what holds of a slot that its
// host gave: no trusted record supersedes it, or none at all if it is not trusted.
func (sh *shard) current(e *entry) bool {
	if e.flags&isFact == 0 || e.slot() == nil {
		return false
	}
	sh.mu.enter()
	defer sh.mu.leave()
	q := all()
	q.without = e.flags&isQuarantined ^ isQuarantined
	return q.superseding(sh, e) == nil
}

// archive sets the records aside, or brings them back. The caller holds edit.
func (b *Bank) archive(ctx context.Context, sh *shard, es []*entry, archived bool) error {
	var changes []change
	for _, e := range es {
		c := e.counts().clone()
		c.Archived = archived
		changes = append(changes, change{e, c})
	}
	ops, err := sh.encodeCounts(nil, nil, changes...)
	if err != nil {
		return err
	}
	taken, err := b.add(ctx, ops...)
	if taken {
		sh.tally(changes...)
	}
	return err
}
