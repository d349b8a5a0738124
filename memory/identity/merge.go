package identity

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// join merges the facts of two identities. It depends on which facts there are, and on
// nothing else: neither on the order, nor on whose they are.
func join(a, b []Fact) []Fact {
	all := slices.Concat(a, b)
	lead := map[ID]ID{} // of each id, another one of the same fact
	find := func(id ID) ID {
		for lead[id] != "" {
			id = lead[id]
		}
		return id
	}
	for i := range all {
		for _, v := range all[i].Variants {
			if from, to := find(v.ID), find(all[i].ID); v.ID != "" && from != to {
				lead[from] = to
			}
		}
	}
	byID := unite(all, func(f *Fact) string { return string(find(f.ID)) })
	return unite(byID, (*Fact).claim)
}

// unite makes one fact of those with one key, the senior first.
func unite(facts []Fact, keyOf func(*Fact) string) (out []Fact) {
	sorted := slices.Clone(facts)
	slices.SortFunc(sorted, senior)
	at := map[string]int{}
	for i := range sorted {
		f := &sorted[i]
		k := keyOf(f)
		if n, seen := at[k]; seen {
			out[n] = out[n].merge(f)
			continue
		}
		at[k] = len(out)
		out = append(out, *f)
	}
	return out
}

// senior orders facts by which of two that say the same keeps its id and wording: one
// that was made here before one of a document, and then the one that was learned first.
func senior(a, b Fact) int {
	drawn := func(f *Fact) int {
		return number(len(f.ID) != 24 || strings.Trim(string(f.ID), "0123456789abcdefghijklmnopqrstuv") != "")
	}
	return cmp.Or(drawn(&a)-drawn(&b), older(&a, &b), b.Updated.Compare(a.Updated), bytes.Compare(encoded(&a), encoded(&b)))
}

// encoded is a fact as it is stored.
func encoded(f *Fact) []byte {
	raw, err := json.Marshal(f)
	if err != nil { // which its put returns
		return nil
	}
	return raw
}

// equal reports whether two facts are stored as the same bytes.
func equal(a, b *Fact) (bool, error) {
	u, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	v, err := json.Marshal(b)
	return bytes.Equal(u, v), err
}

// merge returns f with what another state of it, or another fact that says the
// same, knows beyond it. Of two states, the senior is the one that was updated last.
func (f *Fact) merge(other *Fact) Fact {
	newer := other.Updated.Compare(f.Updated)
	if f.ID == other.ID && cmp.Or(newer, bytes.Compare(encoded(f), encoded(other))) > 0 {
		f, other = other, f
	}
	out := *f
	if f.ID != other.ID || newer == 0 {
		out.Validations = max(f.Validations, other.Validations)
		if other.Maturity.rank() > f.Maturity.rank() {
			out.Maturity = other.Maturity
		}
		// The surer of the two, compared at one time.
		if at := later(f.Validated, other.Validated); other.Effective(at, 0) > f.Effective(at, 0) {
			out.Confidence, out.Validated, out.Demoted = other.Confidence, other.Validated, other.Demoted
		}
		if other.Created.Before(f.Created) {
			out.Created = other.Created
		}
		switch c := other.Updated.Compare(f.Updated); {
		case c > 0:
			out.Updated, out.Archived = other.Updated, other.Archived
		case c == 0:
			out.Archived = later(f.Archived, other.Archived)
		}
		if other.Visibility.rank() > f.Visibility.rank() {
			out.Visibility = other.Visibility
		}
		if f.Slot == "" {
			out.Subject, out.Slot = other.Subject, other.Slot
		}
	}
	out.Restored, out.Rejected = later(f.Restored, other.Restored), time.Time{}
	if at := later(f.Rejected, other.Rejected); !at.IsZero() && !out.Restored.After(at) {
		out.reject(at)
	}
	out.Past = once(slices.Concat(f.Past, other.Past), Past.order)
	out.Evidence = lastOf(both(f.Evidence, other.Evidence, Evidence.order), maxEvidence)
	lost := Variant{ID: other.ID, Content: other.Content, Ref: other.Ref}
	if f.ID == other.ID {
		out.Extra, out.Damaged = union(out.Extra, other.Extra), union(out.Damaged, other.Damaged)
	} else {
		lost.Extra = union(other.Extra, other.Damaged)
	}
	out.Variants = both(f.Variants, append(slices.Clip(other.Variants), lost), Variant.order)
	out.Variants = slices.DeleteFunc(out.Variants, func(v Variant) bool {
		said := v.Content == out.Content || slices.ContainsFunc(out.Past, func(p Past) bool { return p.Content == v.Content })
		return v.ID == out.ID && said && len(v.Extra) == 0
	})
	return out
}

// both returns what two lists hold, in order: each as often as the list that has it
// more often.
func both[T any](a, b []T, compare func(T, T) int) []T {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.SortStableFunc(a, compare)
	slices.SortStableFunc(b, compare)
	var out []T
	for len(a) > 0 && len(b) > 0 {
		c := compare(a[0], b[0])
		if c <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out = append(out, b[0])
		}
		if c >= 0 {
			b = b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// once returns a list in order, with each once.
func once[T any](list []T, compare func(T, T) int) []T {
	list = both(list, nil, compare)
	return slices.CompactFunc(list, func(a, b T) bool { return compare(a, b) == 0 })
}

func (p Past) order(o Past) int {
	return cmp.Or(p.Until.Compare(o.Until), cmp.Compare(p.Content, o.Content))
}

func (e Evidence) order(o Evidence) int {
	return cmp.Or(e.At.Compare(o.At), cmp.Compare(e.Key, o.Key), cmp.Compare(e.Reason, o.Reason))
}

func (v Variant) order(o Variant) int {
	c := cmp.Or(cmp.Compare(v.ID, o.ID), cmp.Compare(v.Content, o.Content), cmp.Compare(v.Ref, o.Ref))
	for _, field := range slices.Sorted(maps.Keys(union(v.Extra, o.Extra))) {
		c = cmp.Or(c, bytes.Compare(v.Extra[field], o.Extra[field]))
	}
	return c
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
