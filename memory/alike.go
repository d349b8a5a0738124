package memory

import (
	"encoding/binary"
	"slices"

	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/succession"
)

// The least similarities of two records that say the same.
const (
	mergeSimilarity       = 0.85 // Remember
	sameSimilarity        = 0.95 // Remember, of Facts in the same words, articles aside
	consolidateSimilarity = 0.9  // Consolidate
)

// maxVariants is the number of variants that a record keeps. After that, a near-duplicate in
// other words becomes a record of its own, and the source of one in the same words is dropped.
const maxVariants = 16

// maxApart bounds the records that a record is known to stay apart from. A record that has so
// many is not tried again until its texts change.
const maxApart = 32

// takes reports whether the near-duplicate r can become part of old.
func takes(old, r *Record) bool {
	if !confirms(old, r) && !supports(old, r) && !kindred(old, r) || !duplicates(old, r) {
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

// duplicates reports whether a near-duplicate says the same and has the same phrases. Facts say
// the same in the same words, with the same Actor, slot and value. A near-duplicate of a Failure
// or Pattern always does: the record keeps both texts.
func duplicates(old, r *Record) bool {
	if !slices.Equal(old.Triggers, r.Triggers) {
		return false
	}
	return r.Kind.learned() || old.Slot == r.Slot && old.Actor == r.Actor &&
		succession.SaysSame(old.Trigger, r.Trigger) && succession.SaysSame(old.Content, r.Content)
}

// kindred reports whether two texts have the same trust, arc has derived both or neither, and
// Revoke would follow what r was derived from.
func kindred(old, r *Record) bool {
	if old.Trusted != r.Trusted || !slices.Equal(old.Quotes, r.Quotes) || !old.Trusted && !alikeDerived(old, r) {
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

// supports reports whether r is an outcome that says in the same words what old says: it adds a use, and
// neither a text nor a plan. Old stands without what r was derived from. Outcomes of one user's runs do not
// support what those of another have derived.
func supports(old, r *Record) bool {
	derived := old.Trusted || old.Source.Origin == Derived && old.asker() == r.asker()
	return derived && r.Source.Origin == Derived && alikeToTheLetter(old, r) && (len(old.Plan) > 0 || len(r.Plan) == 0)
}

func alikeToTheLetter(old, r *Record) bool {
	return old.Trigger == r.Trigger && old.Content == r.Content
}

// confirms reports whether r ends the quarantine of old: r is a trusted outcome in exactly the
// same words. It comes from a run and a source that no text of old comes from, and was derived
// neither from old nor from what old was derived from.
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

// in returns v as a variant of r: without texts that equal r's.
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
		n.Trusted, n.Vouched, n.Quotes = true, r.Known, r.Quotes
	}
	if !noted {
		n.Variants, n.apart = append(n.Variants, v), nil
	}
	return &n
}

// joined returns the record that stays, with the other as part of it. It is nil if that would be
// too large, or Revoke would remove it by other sources than the two.
func joined(stays, goes *Record) *Record {
	links, ok := joinedLinks(stays, goes)
	if !ok || !slices.Equal(stays.Quotes, goes.Quotes) || !stays.Trusted && !alikeDerived(stays, goes) {
		return nil
	}
	n := stays.Clone()
	n.Links, n.apart = links, nil
	v := variantOf(stays, goes)
	v.ID = goes.ID
	n.Variants = append(n.Variants, v)
	for _, v := range goes.Variants {
		n.Variants = append(n.Variants, v.from(goes).in(&n))
	}
	if len(n.Plan) == 0 {
		n.Plan = goes.Plan
	}
	if len(n.Variants) > maxVariants || n.size() > MaxRecord {
		return nil
	}
	return &n
}

// joinedLinks returns the links of two records that become one: those of both without those
// between the two. It reports false if they were derived from different records, or one from the
// other with another Source.
func joinedLinks(stays, goes *Record) (links []Link, ok bool) {
	within := func(l Link) bool { return l.To == stays.ID || l.To == goes.ID }
	missing := func(l Link, in []Link) bool { return !within(l) && !slices.Contains(in, l) }
	for _, side := range [][2]*Record{{stays, goes}, {goes, stays}} {
		for _, l := range side[0].Links {
			if l.Rel == "" && (missing(l, side[1].Links) || within(l) && stays.Source != goes.Source) {
				return nil, false
			}
			if missing(l, links) {
				links = append(links, l)
			}
		}
	}
	return links, len(links) <= MaxLinks
}

// apart reports whether two records are known to stay apart.
func apart(a, b *Record) bool {
	if len(a.apart)+len(b.apart) == 0 {
		return false
	}
	mark := apartMark(a, b)
	return slices.Contains(a.apart, mark) || slices.Contains(b.apart, mark)
}

// apartMark names two records with their texts, the same in either order.
func apartMark(a, b *Record) uint64 {
	if a.ID > b.ID {
		a, b = b, a
	}
	parts := []string{"apart"}
	for _, r := range []*Record{a, b} {
		parts = append(parts, string(r.ID), r.Trigger, r.Content)
		for _, v := range r.Variants {
			parts = append(parts, v.Trigger, v.Content)
		}
	}
	sum := ident.Digest(parts...)
	return binary.BigEndian.Uint64(sum[:])
}

// without returns r without what came from src, nil if that changes nothing, and whether a text
// is left. If the record's own text goes, that of the first variant that stays takes its place.
func without(r *Record, src Source) (rec *Record, left bool) {
	own := src.coversOf(r.Source, r.Actor)
	covers := func(v Variant) bool { // who says a Fact again is its Actor
		return src.covers(v.Source) || r.Kind == Fact && src.coversOf(v.Source, r.Actor)
	}
	if !own && !slices.ContainsFunc(r.Variants, covers) {
		return nil, true
	}
	n := *r
	n.Variants, n.apart = nil, nil
	for _, v := range r.Variants {
		if !covers(v) {
			n.Variants = append(n.Variants, v.from(r))
		}
	}
	if own {
		if len(n.Variants) == 0 {
			return nil, false
		}
		first := n.Variants[0]
		n.Source, n.At, n.Trigger, n.Content = first.Source, first.At, first.Trigger, first.Content
		n.Plan = nil // it came with the text that goes
		n.Trusted = n.Trusted && first.Source.Origin == Host
		n.Variants = n.Variants[1:]
	}
	for i, v := range n.Variants {
		n.Variants[i] = v.in(&n)
	}
	return &n, true
}

// coversOf reports whether src covers a record's own text, from a source and an actor.
func (src Source) coversOf(from Source, actor string) bool {
	if src.covers(from) {
		return true
	}
	from.Ref = actor
	return actor != "" && from.Origin != Host && src.covers(from)
}

func (src Source) covers(s Source) bool {
	switch {
	case src.Ref != "" && (s.Origin != src.Origin || s.Ref != src.Ref):
		return false
	case src.Run != "" && s.Run != src.Run:
		return false
	}
	return src.Ref != "" || src.Run != "" || s.Origin == src.Origin
}
