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
// the last 30 days. A Fact that states the current value of a slot stays,
// however old it is, if the host gave the slot with its Draft, or if the slot
// had another value before: somebody keeps it up to date. No quarantined text
// supersedes a trusted one here. Other Facts go, as does what is superseded,
// and so do all Episodes: what they tell of a slot still supersedes what was
// before it, see the package comment.
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
	current := currentFacts{sh: sh, standings: make(map[currentSlot]*standing)}
	for _, e := range sh.snapshot() {
		report.Total++
		switch {
		case e.flags&isPassing != 0 && e.unused(cutoff):
			passing = append(passing, e)
		case e.counts().Archived:
			report.Already++
		case e.unused(cutoff) && !current.has(e):
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

// currentFacts tells which Facts state what holds of slots that are kept up to
// date.
type currentFacts struct {
	sh        *shard
	standings map[currentSlot]*standing
}

type currentSlot struct {
	key     uint64
	trusted bool // what is quarantined is left out
}

func (c *currentFacts) has(e *entry) bool {
	if e.flags&isFact == 0 {
		return false
	}
	for _, x := range e.said() {
		for _, trusted := range []bool{false, true} {
			if x.how&saidAlias != 0 || trusted && !e.flags.trusted() {
				continue
			}
			st, own := c.standing(x.key, trusted), stated{e, x}
			if st.over(own) == nil && (e.more.slot != nil || st.under(own) != nil) {
				return true
			}
		}
	}
	return false
}

func (c *currentFacts) standing(key uint64, trusted bool) *standing {
	of := currentSlot{key, trusted}
	st := c.standings[of]
	if st == nil {
		st = new(standing)
		for _, x := range c.sh.slots.of(key) {
			if !trusted || x.e.flags.trusted() {
				st.seen = append(st.seen, x)
			}
		}
		st.settle()
		c.standings[of] = st
	}
	return st
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
