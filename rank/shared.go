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

// takeIn observes an entry of the journal. The caller has the turn.
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
	fold := func(ctx context.Context) error { return b.foldNew(ctx, nil) }
	return journal.Refresh(ctx, b.catch, fold)
}

func (b *Book) catch(ctx context.Context) (n int, err error) {
	if b.j == nil {
		return 0, nil
	}
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

// foldNew has the samples of the journal in the base, and what fn then changes of it.
func (b *Book) foldNew(ctx context.Context, fn func(*Book) error) error {
	return b.j.Fold(ctx, func(st store.Store, entries []store.Entry, last bool) error {
		o := b.opts
		o.Shared = false
		base, err := openBook(st, o)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err == nil {
				err = base.takeIn(ctx, e) // no other has the turn
			}
		}
		if err == nil && last && fn != nil {
			err = fn(base)
		}
		if wrong := base.Close(); err == nil {
			err = wrong
		}
		return err
	})
}

// changeBase has fn change what the store keeps of samples, and the Book go by that.
func (b *Book) changeBase(ctx context.Context, fn func(*Book) error) error {
	if err := b.foldNew(ctx, fn); err != nil {
		return err
	}
	return b.Refresh(ctx)
}

// forgetShared is Forget, some at a time: as many as a commit has room for.
func (b *Book) forgetShared(ctx context.Context, drop func(Sample) bool) error {
	const pairs, samples = 8, 500
	type of struct{ candidate, skill string }
	for more := true; more; {
		err := b.changeBase(ctx, func(base *Book) error {
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
