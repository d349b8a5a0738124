package memory

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/ident"
	"github.com/arc-learn/arc/internal/phrase"
	"github.com/arc-learn/arc/internal/template"
	"github.com/arc-learn/arc/internal/text"
)

// Slot is what the host says that a record states: that the attribute of a
// subject has a value. It hides what states another value of an earlier At.
// Words that differ in form or order only make one slot: "hosts of the cache",
// "Cache host". "I", "me" and "my" are the Actor.
type Slot struct {
	Subject   string `cbor:"1,keyasint,omitempty"` // whom or what it is about; may be empty if the Attribute says it
	Attribute string `cbor:"2,keyasint,omitempty"` // what of it
	Value     string `cbor:"3,keyasint,omitempty"` // at most 4 KiB, with the others
}

// maxSlot is the number of bytes of a Slot, all of it.
const maxSlot = 4 << 10

// conflictWindow is the time within which two who say different things of one
// slot contradict one another, rather than the later one telling a change.
const conflictWindow = time.Hour

// supersedes is the Rel of a link to what a record replaces, see Supersede.
const supersedes = "supersedes"

// key names the slot, whatever the order and form of its words.
func (s Slot) key(actor string) string {
	var words []string
	for _, t := range text.Append(nil, s.Subject+" "+s.Attribute) {
		switch own := t.Text == "i" || t.Text == "me" || t.Text == "my"; {
		case own && actor != "":
			for _, t := range text.Append(nil, actor) {
				words = append(words, t.Text)
			}
		case own || !t.Stop:
			words = append(words, t.Text)
		}
	}
	slices.Sort(words)
	return strings.Join(slices.Compact(words), " ")
}

// folded is the value for comparison: -18 is not 18, nor C++ C.
func (s Slot) folded() string { return strings.ToLower(strings.Join(template.Folded(s.Value), " ")) }

// stated is a record that states a slot. The value is folded.
type stated struct {
	*entry
	value string
}

// compareStated orders the statements of a slot: the later one replaces.
func compareStated(a, b stated) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.known, b.known), compareIDs(a.entry, b.entry), cmp.Compare(a.row, b.row))
}

// stateLocked notes what a record states and supersedes, and what brings it. The caller holds mu.
func (sh *shard) stateLocked(e *entry) {
	if slot := e.slot(); slot != nil {
		k, x := slot.key(name(e.actor)), stated{e, slot.folded()}
		i, _ := slices.BinarySearchFunc(sh.slots[k], x, compareStated)
		sh.slots[k] = slices.Insert(sh.slots[k], i, x)
	}
	if e.more != nil {
		for _, p := range e.more.triggers {
			sh.triggers = append(sh.triggers, trigger{e, phrase.Parts(p)})
		}
	}
	for _, l := range e.links() {
		to := ident.Of(l.To)
		if sh.into[to] = append(sh.into[to], e); l.Rel == supersedes {
			sh.over[to] = append(sh.over[to], e)
		}
	}
}

// unstateLocked takes that back.
func (sh *shard) unstateLocked(e *entry) {
	is := func(x *entry) bool { return x == e }
	if slot := e.slot(); slot != nil {
		k := slot.key(name(e.actor))
		if sh.slots[k] = slices.DeleteFunc(sh.slots[k], func(x stated) bool { return is(x.entry) }); len(sh.slots[k]) == 0 {
			delete(sh.slots, k)
		}
	}
	if e.more != nil && e.more.triggers != nil {
		sh.triggers = slices.DeleteFunc(sh.triggers, func(t trigger) bool { return is(t.e) })
	}
	for _, l := range e.links() {
		for _, from := range []map[ident.Key][]*entry{sh.into, sh.over} {
			to := ident.Of(l.To)
			if from[to] = slices.DeleteFunc(from[to], is); len(from[to]) == 0 {
				delete(from, to)
			}
		}
	}
}

func (e *entry) slot() *Slot {
	if e.more == nil {
		return nil
	}
	return e.more.slot
}

// sees reports whether e counts for the query: what it leaves out replaces
// nothing. What Decay has archived still does.
func (q *query) sees(e *entry) bool {
	return q.without&e.flags&(kindFlags|isQuarantined) == 0 && e.at <= q.before && e.known <= q.known
}

// statements returns what is said of the slot that e states, as the query sees
// it, in order, and the value that e says.
func (q *query) statements(sh *shard, e *entry) (all []stated, value string) {
	slot := e.slot()
	if slot == nil {
		return nil, ""
	}
	for _, x := range sh.slots[slot.key(name(e.actor))] {
		if x.entry == e {
			value = x.value
		}
		if q.sees(x.entry) {
			all = append(all, x)
		}
	}
	return all, value
}

// contradicts reports whether two who differ about a slot do so at one time: of
// the same At, or of two who speak within an hour.
// What is in quarantine contradicts what is trusted and was said before, at any
// time.
func contradicts(a, b *entry) bool {
	if a.at < b.at && !replaces(b, a) || b.at < a.at && !replaces(a, b) {
		return true
	}
	apart := max(a.at, b.at) - min(a.at, b.at)
	return apart == 0 || apart <= conflictWindow.Microseconds() && (a.actor != b.actor || a.source != b.source)
}

// maxSteps ends a circle of records that supersede one another.
const maxSteps = 64

// standing returns what holds in place of e for the query: e itself, or what a
// host's Slot or Supersede says to replace it. The caller holds mu.
func (q *query) standing(sh *shard, e *entry) *entry {
	last := e
	for range maxSteps {
		switch by := q.superseding(sh, last); by {
		case nil:
			return last
		case e:
			return e // a circle hides none of its own
		default:
			last = by
		}
	}
	return last
}

func (q *query) superseding(sh *shard, e *entry) *entry {
	for k := range e.keys() {
		for _, by := range slices.Backward(sh.over[k]) {
			if by != e && q.sees(by) && replaces(by, e) {
				return by
			}
		}
	}
	all, value := q.statements(sh, e)
	for _, last := range slices.Backward(all) {
		switch {
		case last.at < e.at:
			return nil
		case !replaces(last.entry, e):
		case last.value == value:
			return nil
		case !contradicts(last.entry, e):
			return last.entry
		}
	}
	return nil
}

// keys yields the ids that lead to e.
func (e *entry) keys() iter.Seq[ident.Key] {
	return func(yield func(ident.Key) bool) {
		if !yield(e.id) || e.more == nil {
			return
		}
		for _, k := range e.more.former {
			if !yield(k) {
				return
			}
		}
	}
}

// superseded returns the record that e, which holds, has replaced last, or nil.
func (q *query) superseded(sh *shard, e *entry) *entry {
	for _, l := range e.links() {
		if l.Rel == supersedes {
			if old := sh.findLocked(ident.Of(l.To)); old != nil && old != e && q.sees(old) && replaces(e, old) {
				return old
			}
		}
	}
	all, value := q.statements(sh, e)
	for _, x := range slices.Backward(all) {
		if x.value != value && x.at <= e.at && !contradicts(x.entry, e) {
			return x.entry
		}
	}
	return nil
}

// conflicts returns the records that contradict e, and hold as e does.
func (q *query) conflicts(sh *shard, e *entry) (ids []ID) {
	all, value := q.statements(sh, e)
	for _, x := range slices.Backward(all) {
		if len(ids) < maxConflicts && x.value != value && contradicts(x.entry, e) && q.superseding(sh, x.entry) == nil {
			ids = append(ids, x.name())
		}
	}
	return ids
}

// giveWay takes out what is superseded. What takes its place has its relevance,
// if that is higher, and comes once, unless the query leaves it out. It returns how many went. The caller holds
// mu of sh, of which sc.found has those from from on.
func (sc *scratch) giveWay(sh *shard, from int) int {
	if len(sh.slots)+len(sh.over) == 0 {
		return 0
	}
	went := 0
	for i := from; i < len(sc.found); i++ {
		f := sc.found[i]
		by := sc.query.standing(sh, f.entry)
		if by == f.entry {
			continue
		}
		if sc.hidden == nil {
			sc.hidden = make(map[*entry]*entry)
		}
		sc.hidden[f.entry] = by
		went++
		if at := slices.IndexFunc(sc.found[from:], func(g found) bool { return g.entry == by }); at >= 0 {
			g := &sc.found[from+at]
			g.ratio, g.relevance, g.lexical = max(g.ratio, f.ratio), max(g.relevance, f.relevance), max(g.lexical, f.lexical)
		} else if c := by.counts(); sc.query.excludes(by, c) == "" {
			sc.found = append(sc.found, found{entry: by, sh: sh, tally: c, rated: f.rated})
		}
	}
	stay := slices.DeleteFunc(sc.found[from:], func(f found) bool { return sc.hidden[f.entry] != nil })
	sc.found = sc.found[:from+len(stay)]
	return went
}

// relate fills in what a hit replaces and what contradicts it.
func (s Space) relate(ctx context.Context, q *query, f *found, h *Hit) error {
	if f.more == nil || f.more.slot == nil && len(f.more.links) == 0 {
		return nil
	}
	f.sh.mu.Enter()
	old := q.superseded(f.sh, f.entry)
	h.Conflicts = q.conflicts(f.sh, f.entry)
	f.sh.mu.Leave()
	if old == nil {
		return nil
	}
	r := Record{ID: old.name()}
	if err := s.b.copy(ctx, f.sh, old, old.counts(), &r); err == nil {
		h.Superseded = &r
	} else if f.sh.holds(old) {
		return err
	}
	return nil
}

// cleanSlot checks and sanitises a slot that the host gives.
func (b *Bank) cleanSlot(s Slot) (Slot, error) {
	if s == (Slot{}) {
		return s, nil
	}
	if err := limit("slot", maxSlot, len(s.Subject)+len(s.Attribute)+len(s.Value)); err != nil {
		return s, err
	}
	clean := func(s string) string { return b.sanitize.Sanitize(strings.ToValidUTF8(s, "\uFFFD")) }
	s = Slot{clean(s.Subject), clean(s.Attribute), clean(s.Value)}
	return s, cmp.Or(required("slot attribute", s.Attribute), required("slot value", s.Value))
}

// Supersede says that one record replaces another: from its At on, a recall
// gives the place of the old one to it. Query.At, Query.Known and All find the old
// one. It is on disk when Supersede returns, and idempotent: a link of the record
// with the Rel "supersedes", which a Draft may bring as well. From quarantine a record
// replaces nothing that is trusted: Trust it as well.
func (s Space) Supersede(ctx context.Context, old, by ID) error {
	done, err := s.ready(ctx)
	defer done()
	if err != nil {
		return err
	}
	if _, _, err := s.lookup(old); err != nil {
		return err
	}
	return s.change(ctx, "supersede", by, func(sh *shard, e *entry) error {
		r, err := s.b.record(ctx, sh, e)
		if err != nil || e.is(ident.Of(old)) || slices.Contains(r.Links, Link{old, supersedes}) {
			return err
		}
		rec := *r
		rec.Links = append(slices.Clip(r.Links), Link{old, supersedes})
		if err := limit("links", MaxLinks, len(rec.Links)); err != nil {
			return err
		}
		return s.b.rewrite(ctx, sh, e, &rec)
	})
}
