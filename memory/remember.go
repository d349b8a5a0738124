package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/stored"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/tally"
	"github.com/arc-learn/arc/store"
)

// RememberAll commits a group before it outgrows a commit.
const (
	maxGroupOps   = store.MaxCommitOps / 4
	maxGroupBytes = store.MaxCommitBytes - store.MaxValue
)

// Remember keeps a draft. When it returns without an error, the record is visible and on
// disk.
//
// A draft that says the same as a record of its kind becomes a [Variant] of that record:
// Strengthened if the draft's origin is Derived, else Merged. Two Facts say the same if they
// have the same words and symbols, articles and sentence punctuation aside, and the same
// Actor and Slot. Two Failures or Patterns do if triggers and contents are each at least 0.85
// similar by [Similarity], with the same numbers and negations; the record keeps both texts,
// and the plan that it has. Episodes are never merged, nor are Failures of different Threads.
//
// A Fact, or an Episode in which its Actor speaks of themselves, perhaps replaces an earlier
// record of the Actor if it speaks of a change of the same: see Hit.Replaced.
//
// A draft of origin Host is trusted. A Derived one is trusted if each of its Quotes is, and
// each record that a Link without a Rel names. All others are in quarantine. Texts of
// different trust or quotes are not merged, with two exceptions for a Derived draft in the
// very words of a record. It strengthens a trusted record, whatever the draft was derived
// from. And a trusted draft ends the quarantine of the record, which gets the draft's plan,
// if the draft is of another run and source and was not derived from the record's words. To
// repeat a quarantined text does not end its quarantine.
//
// A Failure or Pattern whose trigger has fewer than 10 characters is Rejected, without an error.
// A sign of Han, Hiragana, Katakana or Hangul counts as three.
//
// The errors are ErrEmpty, ErrKind, ErrOrigin, ErrVector, ErrPlan, ErrID and *store.LimitError
// for a bad draft, and those of the store. If the store does not call its error definite, the
// draft may have been kept: retry with a Key.
func (s Space) Remember(ctx context.Context, d Draft) (Receipt, error) {
	receipts, err := s.remember(ctx, []Draft{d})
	if err != nil {
		return Receipt{}, fmt.Errorf("memory: remember: %w", err)
	}
	return receipts[0], nil
}

// RememberAll keeps drafts, in order, as Remember does. It writes them in groups, each with
// one commit that keeps the whole group or nothing. A group ends before it outgrows a commit,
// and around each near-duplicate. If a draft is bad, nothing is kept. If a commit fails, the
// receipts are those of the drafts before its group.
func (s Space) RememberAll(ctx context.Context, ds []Draft) ([]Receipt, error) {
	receipts, err := s.remember(ctx, ds)
	if err != nil {
		return receipts, fmt.Errorf("memory: remember all: %w", err)
	}
	return receipts, nil
}

func (s Space) remember(ctx context.Context, ds []Draft) ([]Receipt, error) {
	done, err := s.ready(ctx)
	defer done()
	if err != nil {
		return nil, err
	}
	now := s.b.stamp(s.scope)
	cs := make([]candidate, len(ds))
	for i := range ds {
		c, err := s.b.clean(s.scope, &ds[i], now)
		if err != nil {
			if len(ds) > 1 {
				err = fmt.Errorf("draft %d: %w", i, err)
			}
			return nil, err
		}
		cs[i] = c
	}
	if len(cs) == 0 {
		return nil, nil
	}
	sh := s.b.shardFor(s.scope)
	for _, c := range cs {
		c.rec.Trusted = sh.trusts(c.rec)
	}
	if err := s.b.checkDimensions(cs); err != nil {
		return nil, err
	}
	release, err := sh.claims.Claim(ctx, claimed(cs))
	if err != nil {
		return nil, err
	}
	defer release()
	sc := s.b.scratch.Get().(*scratch)
	defer s.b.release(sc)
	g := group{b: s.b, sh: sh, sc: sc, receipts: make([]Receipt, 0, len(cs))}
	for _, c := range cs {
		if err := g.take(ctx, c); err != nil {
			return g.receipts[:g.done], err
		}
	}
	if err := g.commit(ctx); err != nil {
		return g.receipts[:g.done], err
	}
	for i := range g.receipts {
		if r := &g.receipts[i]; s.b.o.Shared && r.ID != "" {
			if e := sh.entry(r.ID); e != nil {
				r.Revision = max(e.Rev, e.Counts().Rev)
			}
		}
	}
	return g.receipts, nil
}

// checkDimensions returns ErrVector unless all vectors have the dimension of the Bank's. In
// a Bank without vectors, the first one settles it.
func (b *Bank) checkDimensions(cs []candidate) error {
	dim := b.vectors.Model().Dim
	for i, c := range cs {
		n := len(c.rec.Vector)
		if n == 0 {
			continue
		}
		if dim = cmp.Or(dim, n); n != dim {
			return fmt.Errorf("draft %d: %w: dimension %d, not %d", i, ErrVector, n, dim)
		}
	}
	if dim != 0 && !b.vectors.Fits(dim) {
		return b.checkDimensions(cs) // another call has settled it
	}
	return nil
}

// claimed returns the Keys and the texts, in order. No other call may store the same ones at
// the same time.
func claimed(cs []candidate) []string {
	var names []string
	for _, c := range cs {
		r := c.rec
		if r.ID != "" {
			names = append(names, string(r.ID))
		}
		sum := ident.Digest("text", string(r.Kind), r.Trigger, r.Content)
		names = append(names, string(sum[:]))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// group collects new records for one commit.
type group struct {
	b        *Bank
	sh       *shard
	sc       *scratch
	receipts []Receipt // of all candidates that were taken
	done     int       // how many of them are certain

	new     []candidate
	bytes   int
	index   *index.Index // of the first of new, by position; Episodes are not in it
	indexed int          // how many
}

// take decides what becomes of a candidate: it is known, a duplicate, or joins the group.
func (g *group) take(ctx context.Context, c candidate) error {
	if c.rejected != "" {
		g.settled(Receipt{Disposition: Rejected, Reason: c.rejected})
		return nil
	}
	for {
		if g.holds(c) {
			if err := g.commit(ctx); err != nil {
				return err
			}
		}
		if known, err := g.known(ctx, c.rec); known || err != nil {
			return err
		}
		twin, err := g.b.twin(ctx, g.sh, g.sc, c)
		if err != nil {
			return err
		}
		if twin == nil {
			return g.add(ctx, c)
		}
		if err := g.commit(ctx); err != nil {
			return err
		}
		receipt, ok, err := g.b.merge(ctx, g.sh, c.rec, ID(twin.Name()))
		if g.b.o.Shared && errors.Is(err, store.ErrConflict) {
			continue // another Bank has changed the twin
		}
		if err != nil {
			return err
		}
		if ok {
			g.settled(receipt)
			return nil
		}
		// The twin has gone or changed meanwhile: look again.
	}
}

// settled notes the receipt of a candidate that needs no commit of the group. The receipt is
// certain if no candidate before it waits for a commit.
func (g *group) settled(r Receipt) {
	g.receipts = append(g.receipts, r)
	if len(g.new) == 0 {
		g.done = len(g.receipts)
	}
}

// known settles a candidate whose Key was seen before.
func (g *group) known(ctx context.Context, r *Record) (bool, error) {
	if r.ID == "" {
		return false, nil
	}
	if g.sh.entry(r.ID) != nil {
		g.settled(Receipt{ID: r.ID, Disposition: Stored})
		return true, nil
	}
	e, err := g.b.late.Get(ctx, g.sh.key(stored.Receipts, r.ID))
	if errors.Is(err, store.ErrNotFound) {
		if !r.Passing || !g.b.o.Shared {
			return false, nil
		}
		// What is written behind has no condition: another Bank may have made it.
		g.sh.edit.Lock()
		err := g.b.reread(ctx, g.sh, r.ID)
		g.sh.edit.Unlock()
		if err == nil && g.sh.entry(r.ID) != nil {
			return g.known(ctx, r)
		}
		return false, err
	}
	if err != nil {
		return false, err
	}
	receipt, err := decodeReceipt(e)
	if err != nil {
		return false, err
	}
	if receipt.Into != "" && g.sh.entry(receipt.Into) == nil {
		receipt = forgotten // it was merged into a record that has gone
	}
	g.settled(receipt)
	return true, nil
}

// holds reports whether the group has a record that c may be a duplicate of.
func (g *group) holds(c candidate) bool {
	if len(g.new) == 0 {
		return false
	}
	if c.rec.ID != "" && g.has(c.rec.ID) {
		return true
	}
	if g.index == nil {
		g.index = index.New()
	}
	for ; g.indexed < len(g.new); g.indexed++ {
		if n := &g.new[g.indexed]; n.rec.Kind != Episode {
			g.index.Put(uint32(g.indexed), n.doc)
		}
	}
	l := index.NewLikeness(c.doc.Trigger, c.doc.Content, mergeSimilarity)
	return c.rec.Kind != Episode && slices.ContainsFunc(g.index.Like(&g.sc.Index, l), func(i uint32) bool {
		_, _, ok := l.Of(g.new[i].doc.Trigger, g.new[i].doc.Content)
		return ok
	})
}

func (g *group) has(id ID) bool {
	return slices.ContainsFunc(g.new, func(c candidate) bool { return c.rec.ID == id })
}

// add puts a new record in the group. It commits a full group before.
func (g *group) add(ctx context.Context, c candidate) error {
	r := c.rec
	full := len(g.new) == maxGroupOps || c.behind && len(g.new) >= maxPassing
	if full || g.bytes > 0 && g.bytes+r.size() > maxGroupBytes {
		if err := g.commit(ctx); err != nil {
			return err
		}
	}
	of := [4]string{string(r.Scope), string(r.Kind), r.Trigger, r.Content}
	for n := uint64(0); r.ID == ""; n++ {
		if id := ID(ident.Timed(g.b.o.Seed, r.Known, n, of)); g.sh.entry(id) == nil && !g.has(id) {
			r.ID = id
		}
	}
	c.with.seq = g.sh.NextSeq()
	c.doc.Tie = r.tie(c.with.seq)
	var err error
	if c.record, err = g.sh.encodeRecord(r, c.with); err != nil {
		return err
	}
	if len(r.Vector) > 0 {
		if c.vector, err = stored.PutVector(g.sh.key(stored.Vectors, r.ID), g.b.vectors.Model().Name, r.Vector); err != nil {
			return err
		}
	}
	g.new = append(g.new, c)
	g.bytes += len(c.record.Key) + len(c.record.Value) + len(c.vector.Key) + len(c.vector.Value)
	g.receipts = append(g.receipts, Receipt{ID: r.ID, Disposition: Stored})
	return nil
}

// commit stores the records of the group and makes them visible.
func (g *group) commit(ctx context.Context) error {
	if len(g.new) == 0 {
		return nil
	}
	if !slices.ContainsFunc(g.new, func(c candidate) bool { return !c.behind }) {
		return g.hand(ctx)
	}
	rev, err := g.write(ctx)
	for err != nil {
		// A commit whose outcome was unknown may have taken place.
		if !errors.Is(err, store.ErrConflict) {
			g.unsure()
			return err
		}
		found, look := g.adopt(ctx)
		if look != nil {
			return look
		}
		if !found {
			return err
		}
		rev, err = g.write(ctx)
	}
	new := g.new
	g.show(rev)
	if slices.ContainsFunc(new, func(c candidate) bool { return c.rec.Passing }) {
		g.sh.edit.Lock()
		g.sh.passing = nil          // they count as well
		_ = g.b.makeRoom(ctx, g.sh) // the next one tries again
		g.sh.edit.Unlock()
	}
	if g.sh.doubts.Load() {
		g.sh.edit.Lock()
		_ = g.b.resolve(ctx, g.sh, resolved) // the next one tries again
		g.sh.edit.Unlock()
	}
	for _, c := range new {
		if e := g.sh.entry(c.rec.ID); e != nil {
			g.b.succeed(ctx, g.sh, g.sc, e, &c)
		}
	}
	g.read(new) // after what words guess, which the Extractor may contradict
	return nil
}

// unsure notes that records of the group may be in the store though their commit failed.
func (g *group) unsure() {
	g.sh.edit.Lock()
	defer g.sh.edit.Unlock()
	for _, c := range g.new {
		g.sh.doubt = append(g.sh.doubt, c.rec.ID)
	}
	g.sh.doubt = g.sh.doubt[max(0, len(g.sh.doubt)-maxDoubt):]
	g.sh.doubts.Store(true)
}

// Bounds of the records that are looked for because their commit failed: per scope, all of
// which a Revoke looks for, and beside one commit.
const maxDoubt, resolved = 4096, 64

// read has the Extractor read records that are visible.
func (g *group) read(cs []candidate) {
	for _, c := range cs {
		g.b.reading.unread(g.sh.scope, c.rec)
	}
}

// show makes the records of the group visible.
func (g *group) show(rev store.Revision) {
	for _, c := range g.new {
		g.sh.PutVector(newEntry(c.rec, c.with, nil, rev), c.doc, c.rec.Vector)
	}
	g.b.vectors.Want(g.sh.Table.Scope)
	g.new, g.bytes, g.index, g.indexed = nil, 0, nil, 0
	g.done = len(g.receipts)
}

func (g *group) write(ctx context.Context) (store.Revision, error) {
	ops, err := g.records(store.Absent)
	if err != nil {
		return 0, err
	}
	records := len(ops)
	for _, c := range g.new {
		if c.vector.Key != "" {
			ops = append(ops, c.vector)
		}
	}
	if len(ops) == records {
		return g.b.st.Commit(ctx, ops...)
	}
	m, note, err := g.b.vectors.Note()
	if err != nil {
		return 0, err
	}
	rev, err := g.b.st.Commit(ctx, append(ops, note...)...)
	if err == nil {
		g.b.vectors.Noted(m)
	}
	return rev, err
}

// adopt makes visible the records of the group that the store has, as the store has them,
// and takes them out of the group. It reports whether there were any.
func (g *group) adopt(ctx context.Context) (bool, error) {
	var rest []candidate
	for _, c := range g.new {
		e, err := g.b.st.Get(ctx, c.record.Key)
		if errors.Is(err, store.ErrNotFound) {
			rest = append(rest, c)
			continue
		}
		if err != nil {
			return false, err
		}
		r, with, err := decodeRecord(e)
		if err != nil {
			return false, err
		}
		adopted := newEntry(r, with, nil, e.Rev)
		var x []float32
		if with.dim != 0 {
			if x, err = g.b.vector(ctx, g.sh, adopted); err != nil {
				return false, err
			}
		}
		g.sh.PutVector(adopted, g.b.document(r, with), x)
	}
	found := len(rest) < len(g.new)
	g.new = rest
	return found, nil
}

// hand gives the Writer the records of the group, all of them passing Episodes, and the
// removal of those that give way to them. They have no revision yet, see [Bank.revision].
// Where another Bank may have vouched for one that gives way, makeRoom removes it.
func (g *group) hand(ctx context.Context) error {
	g.sh.edit.Lock()
	defer g.sh.edit.Unlock()
	ops, err := g.records(store.Any) // the Writer takes no conditions, and the claims are ours
	if err != nil {
		return err
	}
	queue := g.sh.passed()
	over := min(max(0, len(queue)+len(g.new)-maxPassing), maxPassing) // more go with the next group
	if g.b.o.Shared {
		over = 0
	}
	var going []table.Leaving
	for _, k := range queue[:over] {
		e := g.sh.Find(k)
		more, err := g.b.leave(ctx, g.sh, e)
		if err != nil {
			return err
		}
		r, err := g.b.record(ctx, g.sh, e)
		if err != nil {
			return err
		}
		ops = append(ops, more...)
		going = append(going, g.b.leaving(e, r, false))
	}
	taken, err := g.b.late.Add(ctx, ops...)
	if !taken {
		return err
	}
	for _, c := range g.new {
		queue = append(queue, ident.Of(c.rec.ID))
	}
	g.sh.passing = queue[over:]
	new := g.new
	g.show(0)
	g.read(new)
	if len(going) > 0 {
		g.sh.Remove(going...)
	}
	if g.b.o.Shared {
		_ = g.b.makeRoom(ctx, g.sh) // the next one tries again
	}
	return err
}

// makeRoom erases the passing Episodes that are too many; for the next ones too if each would take a commit for it. The
// caller holds edit.
func (b *Bank) makeRoom(ctx context.Context, sh *shard) error {
	queue := sh.passed()
	n := max(0, len(queue)-maxPassing)
	if n > 0 && b.o.Shared {
		n += maxPassing / 16
	}
	var over []*table.Entry
	for _, k := range queue[:n] {
		over = append(over, sh.Find(k))
	}
	return b.eraseAll(ctx, sh, over)
}

// leave returns the writes that remove a record, without a receipt.
func (b *Bank) leave(ctx context.Context, sh *shard, e *table.Entry) ([]store.Op, error) {
	id := ID(e.Name())
	ops, err := b.unwritten(ctx, sh, id)
	return append(append(ops, store.Op{Key: sh.key(stored.Records, id), Delete: true}), b.besides(sh, id)...), err
}

// records returns the writes of the group's records and of the marks of those that the
// Extractor is to read.
func (g *group) records(cond store.Condition) ([]store.Op, error) {
	ops := make([]store.Op, 0, len(g.new))
	for _, c := range g.new {
		c.record.If = cond
		ops = append(ops, c.record)
		if g.b.reading.states(c.rec) {
			at := applied{At: tally.InstantOf(c.rec.Known)}
			op, err := stored.Put(g.sh.key(stored.Unread, c.rec.ID), at)
			if err != nil {
				return nil, err
			}
			ops = append(ops, op)
		}
	}
	return ops, nil
}
