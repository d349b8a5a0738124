package rank

import (
	"context"
	"strings"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/journal"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// happened is a sample as an entry of the journal that Books of several openers share.
type happened struct {
	Candidate string `cbor:"171,keyasint,omitempty"`
	Skill     string `cbor:"172,keyasint,omitempty"`
	Sample    record `cbor:"173,keyasint,omitzero"`
}

// enterSample has a sample in the journal, unless it was observed before.
func (b *Book) enterSample(ctx context.Context, s *Sample) error {
	seen, err := b.seen(ctx, key.Join(b.space, "seen", s.Key))
	if seen || err != nil {
		return err
	}
	o := happened{Candidate: s.Candidate, Skill: s.Situation.Skill}
	o.Sample.fill(s)
	b.cleanRecord(&o.Sample)
	return b.j.Add(ctx, s.Key, &o)
}

// cleanRecord takes secrets out of a record.
func (b *Book) cleanRecord(r *record) {
	r.Situation = b.opts.Sanitizer.Sanitize(r.Situation)
	r.Reason = strings.ToValidUTF8(b.opts.Sanitizer.Sanitize(r.Reason), "")
	r.Reason = strings.ToValidUTF8(r.Reason[:min(len(r.Reason), MaxReason)], "")
}

// takeIn observes an entry of the journal. The caller has the turn, or the Book to itself.
func (b *Book) takeIn(ctx context.Context, e store.Entry) error {
	var o happened
	if err := codec.Decode(e, &o); err != nil {
		return err
	}
	s := o.Sample.sample(o.Candidate, o.Skill)
	return b.countSample(ctx, &s)
}

// Refresh takes in what Books of other openers have observed: see Options.Shared. The
// caller says when, such as after a change of the store by others.
func (b *Book) Refresh(ctx context.Context) error {
	return b.j.Refresh(ctx, b.catch)
}

func (b *Book) catch(ctx context.Context) (n int, err error) {
	if err := b.take(ctx); err != nil {
		return 0, err
	}
	defer b.give()
	if err := b.w.Flush(ctx); err != nil { // to the view, before that is begun anew
		return 0, err
	}
	return b.j.Catch(ctx, b.forgetAll, func(e store.Entry) error { return b.takeIn(ctx, e) })
}

// forgetAll takes what is loaded out of memory.
func (b *Book) forgetAll() (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.mu.members)
	clear(b.mu.pairs)
	clear(b.mu.models)
	b.mu.hot, err = simplelru.NewLRU(hotWindows, restWindow) // the old one would have windows rest that are being read
	return err
}

// journal is that of all openers. What they have entered is counted by Books that are
// alone with a view of the store.
func (b *Book) journal(st store.Store) *journal.Journal[*Book] {
	o := b.opts
	o.Shared = false
	open := func(_ context.Context, st store.Store) (*Book, error) { return openBook(st, o) }
	return journal.New(st, b.space, journal.Keeper[*Book]{Open: open, Take: (*Book).takeIn})
}

// forgetShared is Forget, some at a time: as many as a commit has room for.
func (b *Book) forgetShared(ctx context.Context, drop func(Sample) bool) error {
	const pairs, samples = 8, 500
	type of struct{ candidate, skill string }
	for more := true; more; {
		err := b.j.Change(ctx, b.catch, func(base *Book) error {
			some, n := make(map[of]bool), 0
			more = false
			return base.Forget(ctx, func(s Sample) bool {
				pair := of{s.Candidate, s.Situation.Skill}
				switch full := n == samples || len(some) == pairs && !some[pair]; {
				case !drop(s):
					return false
				case full:
					more = true
					return false
				}
				some[pair], n = true, n+1
				return true
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}
