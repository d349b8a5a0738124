package memory

import (
	"slices"
	"time"

	"github.com/arc-learn/arc/memory/internal/ident"
)

// conflictWindow is the time within which two who say different things of one
// slot contradict one another, rather than the later one telling a change.
const conflictWindow = time.Hour

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
			g.Ratio, g.Relevance, g.Lexical = max(g.Ratio, f.Ratio), max(g.Relevance, f.Relevance), max(g.Lexical, f.Lexical)
		} else if c := by.counts(); sc.query.excludes(by, c) == "" {
			sc.found = append(sc.found, found{entry: by, sh: sh, tally: c, Rated: f.Rated})
		}
	}
	stay := slices.DeleteFunc(sc.found[from:], func(f found) bool { return sc.hidden[f.entry] != nil })
	sc.found = sc.found[:from+len(stay)]
	return went
}
