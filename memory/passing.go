package memory

import (
	"context"
	"slices"

	"github.com/arc-learn/arc/store"
)

// maxPassing is the number of passing Episodes of a scope.
const maxPassing = 256

// hand has the Writer store the records of the group, all of which are passing
// Episodes, and remove those that give way to them. They have no revision yet, see
// [Bank.revision].
func (g *group) hand(ctx context.Context) error {
	g.sh.edit.Lock()
	defer g.sh.edit.Unlock()
	ops, err := g.unread(slices.Clip(g.ops))
	if err != nil {
		return err
	}
	for i := range ops {
		ops[i].If = store.Any // the Writer takes no conditions, and the claims are ours
	}
	queue := g.sh.passed()
	over := max(0, len(queue)+len(g.new)-maxPassing)
	var going []leaving
	for _, k := range queue[:min(over, len(queue))] {
		e := g.sh.find(k)
		more, err := g.b.leave(ctx, g.sh, e)
		if err != nil {
			return err
		}
		r, err := g.b.record(ctx, g.sh, e)
		if err != nil {
			return err
		}
		ops = append(ops, more...)
		going = append(going, leaving{entry: e, doc: g.b.document(r, e.stowed)})
	}
	taken, err := g.b.add(ctx, ops...)
	if !taken {
		return err
	}
	for _, c := range g.new {
		queue = append(queue, keyOf(c.rec.ID))
	}
	g.sh.passing = queue[over:]
	g.show(0)
	if len(going) > 0 {
		g.sh.remove(going...)
	}
	return err
}

// leave returns the writes that remove a record, without a receipt.
func (b *Bank) leave(ctx context.Context, sh *shard, e *entry) ([]store.Op, error) {
	id := e.name()
	ops, err := b.unwritten(ctx, sh, id)
	return append(ops, store.Op{Key: sh.recordKey(id), Delete: true}, store.Op{Key: sh.countsKey(id), Delete: true}), err
}

// unqueue takes a record that goes, or stays for good, from the passing ones. The
// caller holds edit.
func (sh *shard) unqueue(e *entry) {
	if e.flags&isPassing != 0 {
		sh.passing = slices.DeleteFunc(sh.passing, func(k idKey) bool { return k == e.id })
	}
}

// passed returns the passing Episodes of the scope, the oldest first. The caller
// holds edit.
func (sh *shard) passed() []idKey {
	if sh.passing == nil {
		sh.passing = make([]idKey, 0, maxPassing)
		for _, e := range byTime(sh.snapshot()) {
			if e.flags&isPassing != 0 {
				sh.passing = append(sh.passing, e.id)
			}
		}
	}
	return sh.passing
}

// revision returns the revision of a record in the store, for a condition. One
// that was written behind is there before revision returns. The caller holds edit.
func (b *Bank) revision(ctx context.Context, sh *shard, e *entry) (store.Revision, error) {
	if e.rev != 0 {
		return e.rev, nil
	}
	if err := b.w.Flush(ctx); err != nil {
		return 0, err
	}
	stored, err := b.st.Get(ctx, sh.recordKey(e.name()))
	return stored.Rev, err
}
