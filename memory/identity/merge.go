package identity

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/memory/identity/internal/lists"
	"github.com/arc-learn/arc/memory/identity/internal/loosejson"
	"github.com/arc-learn/arc/memory/identity/internal/names"
	"github.com/arc-learn/arc/memory/identity/internal/union"
)

// join merges the facts of two identities. It depends on which facts there are, and on
// nothing else: neither on the order, nor on whose they are.
func join(a, b []Fact) []Fact {
	all := slices.Concat(a, b)
	var same union.Sets
	for i := range all {
		for _, v := range all[i].Variants {
			if v.ID != "" {
				same.Join(string(v.ID), string(all[i].ID))
			}
		}
	}
	byID := unite(all, func(f *Fact) string { return same.Find(string(f.ID)) })
	slotted := map[string]string{} // of what is said first, the least claim to a slot
	for i := range byID {
		said, claim := byID[i].said(), byID[i].claim()
		if byID[i].Slot != "" && !byID[i].Again && (slotted[said] == "" || claim < slotted[said]) {
			slotted[said] = claim
		}
	}
	return unite(byID, func(f *Fact) string {
		if f.Slot == "" {
			return cmp.Or(slotted[f.said()], f.claim())
		}
		return f.claim()
	})
}

// unite makes one fact of those with one key, the senior first.
func unite(facts []Fact, keyOf func(*Fact) string) (out []Fact) {
	sorted := slices.SortedFunc(slices.Values(facts), senior)
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
	drawn := func(f *Fact) int { return lists.Number(names.Drawn(string(f.ID))) }
	if c := cmp.Or(drawn(&b)-drawn(&a), older(&a, &b), b.Updated.Compare(a.Updated)); c != 0 {
		return c
	}
	return bytes.Compare(encoded(&a), encoded(&b))
}

// merge returns f with what another state of it, or another fact that says the
// same, knows beyond it. Of two states, the senior is the one that was updated last.
func (f *Fact) merge(other *Fact) Fact {
	newer := other.Updated.Compare(f.Updated)
	if f.ID == other.ID && cmp.Or(newer, bytes.Compare(f.unmixed(), other.unmixed())) > 0 {
		f, other = other, f
	}
	out := *f
	known := slices.IndexFunc(f.Variants, func(v Variant) bool {
		return v.ID == other.ID && f.ID != other.ID && !v.Updated.Before(other.Updated)
	})
	if known < 0 && (f.ID != other.ID || newer == 0) {
		out.Validations = max(f.Validations, other.Validations)
		if cmp.Or(other.Maturity.rank()-f.Maturity.rank(), other.Demoted.Compare(f.Demoted)) > 0 {
			out.Maturity, out.Demoted = other.Maturity, other.Demoted
		}
		// The surer of the two, compared at one time.
		if at := later(f.Validated, other.Validated); other.Effective(at, 0) > f.Effective(at, 0) {
			out.Confidence, out.Validated = other.Confidence, other.Validated
		}
		out.Created = slices.MinFunc([]time.Time{f.Created, other.Created}, time.Time.Compare)
		if cmp.Or(newer, other.Archived.Compare(f.Archived)) > 0 {
			out.Updated, out.Archived = other.Updated, other.Archived
		}
		out.Visibility = stricter(f.Visibility, other.Visibility)
		if f.Slot == "" {
			out.Subject, out.Slot = other.Subject, other.Slot
		}
	}
	out.Restored, out.Rejected = later(f.Restored, other.Restored), time.Time{}
	if at := later(f.Rejected, other.Rejected); !at.IsZero() && !out.Restored.After(at) {
		out.reject(at)
	}
	out.Past = lists.Latest(lists.Once(slices.Concat(f.Past, other.Past), Past.order), maxPast)
	out.Evidence = lists.Latest(lists.Union(f.Evidence, other.Evidence, Evidence.order), maxEvidence)
	said := func(text, now string) bool {
		return text == now || slices.ContainsFunc(out.Past, func(p Past) bool { return p.Content == text })
	}
	out.Variants = lists.Union(f.Variants, other.Variants, Variant.order)
	lost := []Variant{{ID: other.ID, Content: other.Content, Ref: other.Ref}}
	switch {
	case known >= 0: // what is older than what was merged before changes none of it
		v := f.Variants[known]
		at := slices.IndexFunc(out.Variants, func(o Variant) bool { return o.order(v) == 0 })
		out.Variants[at].Extra = loosejson.Union(v.Extra, loosejson.Union(other.Extra, other.Damaged))
		if said(other.Content, v.Content) {
			lost = nil
		}
	case f.ID == other.ID:
		out.Extra, out.Damaged = loosejson.Union(out.Extra, other.Extra), loosejson.Union(out.Damaged, other.Damaged)
	default:
		lost[0].Extra, lost[0].Updated = loosejson.Union(other.Extra, other.Damaged), other.Updated
	}
	out.Variants = slices.DeleteFunc(lists.Union(out.Variants, lost, Variant.order), func(v Variant) bool {
		return v.ID == out.ID && said(v.Content, out.Content) && len(v.Extra) == 0
	})
	return out
}

func (v Variant) order(o Variant) int {
	c := cmp.Or(
		cmp.Compare(v.ID, o.ID), cmp.Compare(v.Content, o.Content), cmp.Compare(v.Ref, o.Ref), v.Updated.Compare(o.Updated))
	if c == 0 {
		return bytes.Compare(encoded(&v), encoded(&o))
	}
	return c
}

// unreadable is the field that holds entries that could not be read.
const unreadable = "unreadable"

// merge takes in what a document has: of two values that of the later profile, and of
// two as late the smaller.
func (p *Profile) merge(o *Profile) time.Time {
	turn := o.Updated.Compare(p.Updated)
	pick := func(a, b string) string {
		if a == "" || b != "" && (turn > 0 || turn == 0 && b < a) {
			return b
		}
		return a
	}
	p.Name, p.Role = pick(p.Name, o.Name), pick(p.Role, o.Role)
	p.UserID, p.DeviceID = pick(p.UserID, o.UserID), pick(p.DeviceID, o.DeviceID)
	p.Visibility = stricter(p.Visibility, o.Visibility)
	domains := lists.Once(slices.Concat(p.Settings.ExcludedDomains, o.Settings.ExcludedDomains), strings.Compare)
	said := func(s Settings) string { // "": the defaults
		s.HalfLife, s.ExcludedDomains = s.halfLife(""), nil
		if s.HalfLife == DefaultHalfLife && len(s.HalfLives) == 0 && !s.AutoInfer {
			return ""
		}
		return string(encoded(&s))
	}
	if is := said(o.Settings); pick(said(p.Settings), is) == is {
		p.Settings = o.Settings
	}
	p.Settings.ExcludedDomains = domains
	extra := loosejson.Fields{}
	for field := range loosejson.Union(p.Extra, o.Extra) {
		extra[field] = json.RawMessage(pick(string(p.Extra[field]), string(o.Extra[field])))
	}
	lost := slices.Concat(loosejson.Elements(p.Extra[unreadable]), loosejson.Elements(o.Extra[unreadable]))
	if lost = lists.Once(lost, func(a, b json.RawMessage) int { return bytes.Compare(a, b) }); len(lost) > 0 {
		extra[unreadable] = encoded(&lost)
	}
	p.Extra, p.Updated = extra, later(p.Updated, o.Updated)
	return time.Time{}
}

// merge takes in another state of a rejection. A reason that both have was given when the later one says.
func (r *Rejection) merge(o Rejection, now time.Time) time.Time {
	o.At = cmp.Or(o.At, r.At, now)
	both := slices.Concat(r.reasons(), o.reasons())
	if cmp.Or(o.At.Compare(r.At), cmp.Compare(o.Content, r.Content)) > 0 {
		r.Content, r.At = o.Content, o.At
	}
	r.keep(both)
	return r.At
}

// reasons returns Reasons with their times. Those that have none are older than all others.
func (r *Rejection) reasons() []Evidence {
	out := make([]Evidence, len(r.Reasons))
	for i, reason := range r.Reasons {
		out[i] = Evidence{Reason: reason, At: time.Time{}.Add(time.Duration(i))}
		if len(r.Given) == len(r.Reasons) {
			out[i].At = r.Given[i]
		}
	}
	return out
}

// give adds a reason, which is later than all others, though the clock was put back.
func (r *Rejection) give(reason string, at time.Time) {
	all := r.reasons()
	if n := len(all); n > 0 {
		at = later(at, all[n-1].At.Add(time.Microsecond))
	}
	r.keep(append(all, Evidence{Reason: reason, At: at}))
}

// keep sets Reasons, of which it keeps the latest.
func (r *Rejection) keep(all []Evidence) {
	last := map[string]time.Time{}
	for _, e := range all {
		last[e.Reason] = later(last[e.Reason], e.At)
	}
	all = slices.DeleteFunc(all, func(e Evidence) bool { return !e.At.Equal(last[e.Reason]) })
	all = lists.Latest(lists.Once(all, Evidence.order), maxReasons)
	r.Reasons, r.Given = nil, nil
	timed := len(all) > 0 && all[len(all)-1].At.Year() > 1
	for _, e := range all {
		r.Reasons = append(r.Reasons, e.Reason)
		if timed {
			r.Given = append(r.Given, e.At)
		}
	}
}
