package memory

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/succession"
	"github.com/arc-learn/arc/internal/tally"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/store"
)

// Similarities from which on two records say the same.
const (
	mergeSimilarity       = 0.85 // Remember
	sameSimilarity        = 0.95 // Remember, of Facts in the same words, articles aside
	consolidateSimilarity = 0.9  // Consolidate
)

// maxVariants is the number of variants that a record keeps. After that, a
// near-duplicate in other words is a record of its own, and the source of one
// in the same words is not noted.
const maxVariants = 16

// Similarity tells how alike two texts are, in [0,1]: the cosine of the
// counts of their stemmed words, function words weighing an eighth. It is
// symmetrical, does not depend on word order, and is 1 for texts of the same
// words, 0 for texts that share none or have none. Salton and McGill,
// Introduction to Modern Information Retrieval, 1983.
func Similarity(a, b string) float64 {
	return text.Similarity(text.Append(nil, a), text.Append(nil, b))
}

// twin returns the record that c is to be merged into, or nil: the most
// similar one, among equals a trusted one, then the one with the earlier At and
// then the smaller ID.
func (b *Bank) twin(ctx context.Context, sh *shard, sc *index.Scratch, c candidate) (*entry, error) {
	r := c.rec
	if r.Kind == Episode {
		return nil, nil
	}
	var best *entry
	var alike float64
	least := mergeSimilarity
	if r.Kind == Fact {
		least = sameSimilarity
	}
	similar, err := b.similar(ctx, sh, sc, c.doc, r.Kind.flag(), least)
	if err != nil {
		return nil, err
	}
	for _, p := range similar {
		e, sum := p.entry, p.trigger+p.content
		if best != nil && (sum < alike || sum == alike && !preferred(e, best)) {
			continue
		}
		old, err := b.record(ctx, sh, e)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if takes(old, r) && !sh.overtaken(e, r) {
			best, alike = e, sum
		}
	}
	return best, nil
}

func preferred(a, b *entry) bool {
	if x, y := a.flags.trusted(), b.flags.trusted(); x != y {
		return x
	}
	return before(a, b) < 0
}

// alike is a record that says nearly the same as a text: how similar its
// trigger and its content are.
type alike struct {
	*entry
	trigger, content float64
}

// similar returns the records of a kind whose texts are at least that similar
// to those of d.
func (b *Bank) similar(ctx context.Context, sh *shard, sc *index.Scratch, d index.Doc, kind flags, least float64) ([]alike, error) {
	l := index.NewLikeness(d.Trigger, d.Content, least)
	var out []alike
	for _, e := range sh.like(sc, l, kind) {
		r, err := b.record(ctx, sh, e)
		if errors.Is(err, store.ErrNotFound) {
			continue // it has just gone, or else what returns it says so
		}
		if err != nil {
			return nil, err
		}
		if t, c, ok := l.Of(b.terms(r.Trigger), b.terms(r.Content)); ok {
			out = append(out, alike{e, t, c})
		}
	}
	return out, nil
}

// like returns the records of a kind that may be as similar.
func (sh *shard) like(sc *index.Scratch, l *index.Likeness, kind flags) (out []*entry) {
	sh.mu.Enter()
	defer sh.mu.Leave()
	for _, row := range sh.index.Like(sc, l) {
		if e := sh.rows[row]; e.flags&kind != 0 {
			out = append(out, e)
		}
	}
	return out
}

// trusts reports whether r is trusted by where it comes from: what is Derived,
// as much as the least trusted of what it quotes and of its parents. A parent
// that is not there is not trusted.
func (sh *shard) trusts(r *Record) bool {
	if r.Source.Origin != Derived {
		return r.Source.Origin == Host
	}
	return !slices.ContainsFunc(r.Quotes, func(s Source) bool { return !s.Origin.trusted() }) &&
		!slices.ContainsFunc(r.Links, func(l Link) bool {
			if l.Rel != "" {
				return false
			}
			parent := sh.entry(l.To)
			return parent == nil || !parent.flags.trusted()
		})
}

// takes reports whether the near-duplicate r can become part of old.
func takes(old, r *Record) bool {
	if !confirms(old, r) && !supports(old, r) && !kindred(old, r) {
		return false
	}
	if !duplicates(old, r) {
		return false
	}
	if r.Kind == Failure && old.Thread != r.Thread {
		return false // Latest would not find it where it was said
	}
	if v := variantOf(old, r); v.Content != "" && len(old.Variants) >= maxVariants && !hasVariant(old, v) {
		return false
	}
	return old.size()+r.size() <= MaxRecord
}

// duplicates reports whether a near-duplicate says the same, and comes by the same
// phrases. Facts do in the same
// words, of one slot and value if the host gave one. What is learned does if it
// is alike: both texts are kept.
func duplicates(old, r *Record) bool {
	if !slices.Equal(old.Triggers, r.Triggers) {
		return false
	}
	return r.Kind.learned() || old.Slot == r.Slot && old.Actor == r.Actor && succession.SaysSame(old.Trigger, r.Trigger) && succession.SaysSame(old.Content, r.Content)
}

// overtaken reports whether something was said since e that replaces it, at least
// perhaps: who says the same now says that it holds again. Nor does what states a
// slot at an earlier time become part of e.
func (sh *shard) overtaken(e *entry, r *Record) bool {
	sh.mu.Enter()
	defer sh.mu.Leave()
	q := all()
	return e.slot() != nil && r.At.UnixMicro() < e.at || len(sh.guesses[e.id]) > 0 || q.superseding(sh, e) != nil
}

// kindred reports whether two texts are trusted alike, of whom arc has derived
// both or neither, and Revoke would follow what r was derived from.
func kindred(old, r *Record) bool {
	if old.Trusted != r.Trusted || !slices.Equal(old.Quotes, r.Quotes) {
		return false
	}
	if !old.Trusted && !alikeDerived(old, r) {
		return false
	}
	return !slices.ContainsFunc(r.Links, func(l Link) bool {
		return l.Rel == "" && l.To != old.ID && !slices.Contains(old.Links, l)
	})
}

// alikeDerived reports whether arc has derived both texts, or neither.
func alikeDerived(a, b *Record) bool {
	return (a.Source.Origin == Derived) == (b.Source.Origin == Derived)
}

// supports reports whether r is an outcome that says in the same words what old
// says: it adds a use, and neither a text nor a plan. Old stands without what r
// was derived from. What one user's runs have derived, another's do not support.
func supports(old, r *Record) bool {
	derived := old.Trusted || old.Source.Origin == Derived && old.asker() == r.asker()
	return derived && r.Source.Origin == Derived && alikeToTheLetter(old, r) && (len(old.Plan) > 0 || len(r.Plan) == 0)
}

func alikeToTheLetter(old, r *Record) bool {
	return old.Trigger == r.Trigger && old.Content == r.Content
}

// confirms reports whether r makes the quarantined record old trusted: a trusted
// outcome that says exactly the same. It comes from a run and a source that none
// of old's texts comes from, and was derived neither from old nor from what old
// was derived from.
func confirms(old, r *Record) bool {
	if old.Trusted || !r.Trusted || r.Source.Origin != Derived || !alikeToTheLetter(old, r) {
		return false
	}
	same := func(s Source) bool { return s.Run == r.Source.Run || s.Ref != "" && s.Ref == r.Source.Ref }
	if same(old.Source) || slices.ContainsFunc(old.Variants, func(v Variant) bool { return same(v.Source) }) {
		return false
	}
	return !slices.ContainsFunc(r.Links, func(l Link) bool {
		return l.Rel == "" && (l.To == old.ID || slices.Contains(old.Links, l))
	})
}

// variantOf returns r as a variant of old.
func variantOf(old, r *Record) Variant {
	return Variant{Source: r.Source, At: r.At, Trigger: r.Trigger, Content: r.Content}.in(old)
}

// in returns v as a variant of r: without texts that are r's.
func (v Variant) in(r *Record) Variant {
	if v.Trigger == r.Trigger && v.Content == r.Content {
		v.Trigger, v.Content = "", ""
	}
	return v
}

// from returns v, a variant of r, with its texts in any case.
func (v Variant) from(r *Record) Variant {
	if v.Content == "" {
		v.Trigger, v.Content = r.Trigger, r.Content
	}
	return v
}

// hasVariant reports whether old has the texts of v from the source of v.
func hasVariant(old *Record, v Variant) bool {
	if v.Content == "" && v.Source == old.Source {
		return true
	}
	return slices.ContainsFunc(old.Variants, func(o Variant) bool {
		return o.Source == v.Source && o.Trigger == v.Trigger && o.Content == v.Content
	})
}

// absorb returns old with r as part of it: old itself if that changes nothing.
func absorb(old, r *Record) *Record {
	v := variantOf(old, r)
	confirmed := confirms(old, r)
	planned := len(old.Plan) == 0 && len(r.Plan) > 0
	noted := hasVariant(old, v) || len(old.Variants) == maxVariants
	if !confirmed && !planned && noted {
		return old
	}
	n := old.Clone()
	if planned || confirmed { // what a quarantined record would run was not verified
		n.Plan = slices.Clone(r.Plan)
	}
	if confirmed {
		n.Trusted, n.Quotes = true, r.Quotes
	}
	if !noted {
		n.Variants, n.apart = append(n.Variants, v), nil
	}
	return &n
}

// merge makes r part of the record with the id. It reports false if that is
// not possible any more.
func (b *Bank) merge(ctx context.Context, sh *shard, r *Record, id ID) (Receipt, bool, error) {
	sh.edit.Lock()
	defer sh.edit.Unlock()
	e := sh.entry(id)
	if e == nil {
		return Receipt{}, false, nil
	}
	old, err := b.record(ctx, sh, e)
	if err != nil || !takes(old, r) || sh.overtaken(e, r) {
		return Receipt{}, false, err
	}
	rec := absorb(old, r)
	if rec != old {
		if err := b.rewrite(ctx, sh, e, rec); err != nil {
			return Receipt{}, false, err
		}
		e = sh.entry(id)
	}
	receipt := Receipt{ID: rec.ID, Disposition: Merged, Into: rec.ID}
	if r.Source.Origin == Derived {
		receipt.Disposition = Strengthened
	}
	var ops []store.Op
	if r.ID != "" {
		op, err := sh.encodeReceipt(r.ID, receipt)
		if err != nil {
			return Receipt{}, false, err
		}
		ops = append(ops, op)
	}
	for again := true; again; {
		c := e.counts().Clone()
		c.Said, c.Archived = tally.InstantOf(r.Known), false
		if r.Source.Origin == Derived && c.Heeds(r.asker(), r.Known) {
			c.Helped++
			c.Used(r.Known, b.o.uses())
		}
		again, err = b.count(ctx, sh, slices.Clip(ops), nil, change{e, c})
	}
	if err != nil {
		return Receipt{}, false, err
	}
	return receipt, true, b.w.Flush(ctx)
}

// asker is the user, by the name that the host has given, whose words the record
// repeats; "" if it is none.
func (r *Record) asker() string {
	if i := slices.IndexFunc(r.Quotes, func(s Source) bool { return s.Origin == User && s.Ref != "" }); i >= 0 {
		return r.Quotes[i].Ref
	}
	return ""
}

// replacing returns what has rec in place of a record in the store, nil to remove it, and
// what is kept with it. The vector stays if the texts do, and goes with them. The caller
// holds edit.
func (b *Bank) replacing(ctx context.Context, sh *shard, e *entry, old, rec *Record) (was leaving, with stowed, ops []store.Op, err error) {
	was, with = leaving{e, b.document(old, e.stowed), rec != nil && alikeToTheLetter(old, rec)}, e.stowed
	rev, err := b.revision(ctx, sh, e)
	if err == nil && !was.same {
		with.dim = 0
		ops, err = b.unwritten(ctx, sh, old.ID)
	}
	op := store.Op{Key: sh.recordKey(old.ID), Delete: true}
	if err == nil && rec != nil {
		op, err = sh.encodeRecord(rec, with)
	}
	op.If = store.At(rev)
	return was, with, append(ops, op), err
}

// rewrite stores a record anew and makes that visible. The caller holds edit.
func (b *Bank) rewrite(ctx context.Context, sh *shard, old *entry, rec *Record) error {
	r, err := b.record(ctx, sh, old)
	if err != nil {
		return err
	}
	was, with, ops, err := b.replacing(ctx, sh, old, r, rec)
	if err != nil {
		return err
	}
	rev, err := b.st.Commit(ctx, ops...)
	if b.o.Shared && errors.Is(err, store.ErrConflict) { // the caller may try again
		err = errors.Join(err, b.reread(ctx, sh, old.name()))
	}
	if err != nil {
		return err
	}
	sh.put(newEntry(rec, with, old.counts(), rev), b.document(rec, with), was)
	b.bodies.Remove(old)
	b.uncache(r)
	b.wanted(sh)
	return nil
}

// Amended is a record as it was read, and what it becomes. The zero Was says that
// there was none, the zero Is that it goes.
type Amended struct{ Was, Is Record }

// Amend changes records to the letter, in one commit that keeps all changes or none.
// It is for a package that keeps records of a shape of its own in a Space, under IDs
// of its own, as memory/identity does: nothing is sanitised, merged or superseded.
// The error is store.ErrConflict where the Plan of a record is not that of Was any
// more: read it again.
func (s Space) Amend(ctx context.Context, changes ...Amended) error {
	done, err := s.ready(ctx)
	defer done()
	if err != nil {
		return err
	}
	sh := s.b.shardFor(s.scope)
	sh.edit.Lock()
	defer sh.edit.Unlock()
	var ops []store.Op
	for i := range changes {
		more, err := s.b.amend(ctx, sh, &changes[i])
		if err != nil {
			return fmt.Errorf("memory: amend: %w", err)
		}
		ops = append(ops, more...)
	}
	if len(ops) == 0 {
		return nil
	}
	_, err = s.b.st.Commit(ctx, ops...)
	for _, c := range changes { // also after an error: its outcome may be unknown
		err = errors.Join(err, s.b.reread(context.WithoutCancel(ctx), sh, cmp.Or(c.Is.ID, c.Was.ID)))
	}
	if err != nil {
		return fmt.Errorf("memory: amend: %w", err)
	}
	return nil
}

// amend returns what a change writes. The caller holds edit.
func (b *Bank) amend(ctx context.Context, sh *shard, c *Amended) (ops []store.Op, err error) {
	id, rec := cmp.Or(c.Is.ID, c.Was.ID), c.Is
	rec.Scope = sh.scope
	e := sh.entry(id)
	switch {
	case e == nil && c.Was.ID != "", e != nil && (c.Was.ID == "" || e.name() != id):
		return nil, store.ErrConflict
	case e == nil && c.Is.ID == "":
		return nil, nil
	case e == nil:
		op, err := sh.encodeRecord(&rec, stowed{seq: sh.seq.Add(1)})
		op.If = store.Absent
		return []store.Op{op}, err
	}
	old, err := b.record(ctx, sh, e)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(old.Plan, c.Was.Plan) {
		return nil, store.ErrConflict
	}
	is := &rec
	if c.Is.ID == "" {
		is = nil
	}
	_, _, ops, err = b.replacing(ctx, sh, e, old, is)
	return ops, err
}
