package memory

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory/internal/vector"
	"github.com/arc-learn/arc/store"
)

// table holds the records of a scope. Rows are those of its index. One goroutine at a time changes a table
// (see Bank.apply): it reads without the lock, and writes with it.
type table struct {
	scope Scope
	an    *text.Analyzer

	mu      sync.RWMutex
	ix      *index.Index
	rows    []*record
	byID    map[ID]uint32        // also by former ids
	slots   map[string][]*record // Facts that state a slot
	over    map[ID][]*record     // what says that it supersedes an id
	linkers map[ID][]*record     // what links to an id
	rules   map[string][]*record // by a phrase; "": told in every run
	had     []record             // the Kind, Trusted and Archived that records have had, and nothing else
	voices  map[voice]*voice     // each once
	vectors map[int]*vector.Set  // by dimension: no others can be compared
}

func newTable(scope Scope, an *text.Analyzer) *table {
	t := &table{
		scope: scope, an: an, byID: map[ID]uint32{}, slots: map[string][]*record{},
		over: map[ID][]*record{}, linkers: map[ID][]*record{}, rules: map[string][]*record{},
		voices: map[voice]*voice{}, vectors: map[int]*vector.Set{},
	}
	t.ix = index.New(an, func(a, b uint32) int { return t.rows[a].compare(t.rows[b]) })
	return t
}

// get returns the record with an id, also with a former one, or nil.
func (t *table) get(id ID) *record {
	if row, ok := t.byID[id]; ok {
		return t.rows[row]
	}
	return nil
}

// current is get for those who do not hold the lock. A nil table has no records.
func (t *table) current(id ID) *record {
	if t == nil {
		return nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.get(id)
}

// insert takes in records that are not known yet, with the terms of their docs. The caller holds the lock.
func (t *table) insert(terms *index.Terms, rs ...*record) {
	row := t.ix.Insert(terms)
	if more := int(row) + len(rs) - len(t.rows); more > 0 {
		t.rows = append(t.rows, make([]*record, more)...)
	}
	for i, r := range rs {
		row := row + uint32(i)
		t.rows[row], t.byID[r.id] = r, row
		t.ix.Join(row, r.voice().Thread)
		t.enter(r, row, true)
	}
}

// put takes a record in. Whoever searches meanwhile finds that or the one before it. A record whose words are
// others gets the row of the one before, since an insert of one takes the row that was freed last: a vector,
// which is kept by row, stays where the text is the same.
func (t *table) put(n *record) {
	for _, id := range n.more().Former { // whose delete may come later
		t.remove(id, 0)
	}
	old := t.get(n.id)
	if old != nil && (old.id != n.id || old.rev > n.rev) {
		return // it was merged into another, or what is here is newer
	}
	if old != nil && n.sameDoc(old) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.enter(old, 0, false)
		row := t.byID[n.id]
		t.rows[row] = n
		t.enter(n, row, true)
		return
	}
	var gone *index.Terms
	if old != nil {
		gone = analyze(t.an, old)
	}
	terms := analyze(t.an, n)
	t.mu.Lock()
	defer t.mu.Unlock()
	if old != nil {
		t.takeOut(old, gone) // its row is that of the next insert
	}
	t.insert(terms, n)
	if old != nil && old.text() != n.text() {
		t.dropVector(t.byID[n.id])
	}
}

// remove takes a record out that was deleted at a revision, 0: just now. A nil table has none.
func (t *table) remove(id ID, rev store.Revision) {
	old := t.current(id)
	if old == nil || old.id != id || rev != 0 && old.rev > rev {
		return
	}
	gone := analyze(t.an, old)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropVector(t.byID[old.id])
	t.takeOut(old, gone)
}

// takeOut takes out a record, with these terms, and leaves the vector of its row.
func (t *table) takeOut(old *record, terms *index.Terms) {
	row := t.byID[old.id]
	t.enter(old, row, false)
	t.ix.Remove(row, terms)
	t.rows[row] = nil
	delete(t.byID, old.id)
}

// setVector takes in a stored vector (nil: it was deleted), and reports whether a record has its id and text.
func (t *table) setVector(id ID, kept *storedVector) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.get(id)
	if r == nil || r.id != id || kept != nil && kept.Of != hashed(r.text()) {
		return false
	}
	row := t.byID[id]
	t.dropVector(row)
	if kept == nil {
		return true
	}
	v := make([]float32, len(kept.Bytes)/4)
	_, _ = binary.Decode(kept.Bytes, binary.LittleEndian, v) // an error: of fewer bytes
	if t.vectors[len(v)] == nil {
		t.vectors[len(v)] = vector.New(len(v))
	}
	_ = t.vectors[len(v)].Put(row, v) // an error: it has no length, which Remember refuses
	return true
}

func (t *table) dropVector(row uint32) {
	for _, set := range t.vectors {
		set.Delete(row)
	}
}

func (t *table) hasVector(row uint32) (has bool) {
	for _, set := range t.vectors {
		has = has || set.Has(row)
	}
	return has
}

// enter enters a record into what is found by other things than words, or takes it out there. A record never
// changes, so what is taken out is what was entered.
func (t *table) enter(r *record, row uint32, in bool) {
	if v := r.Voice; in && v != nil {
		if t.voices[*v] == nil {
			t.voices[*v] = v
		}
		r.Voice = t.voices[*v]
	}
	if is := (record{Kind: r.Kind, Trusted: r.Trusted, Archived: r.Archived}); !slices.Contains(t.had, is) {
		t.had = append(t.had, is)
	}
	m := r.more()
	for _, id := range m.Former {
		if in {
			t.byID[id] = row
		} else {
			delete(t.byID, id)
		}
	}
	if m.Slot != "" && r.is(Fact) {
		enter(t.slots, m.Slot, r, in)
	}
	for _, id := range m.Supersedes {
		enter(t.over, id, r, in)
	}
	for _, l := range m.Links {
		enter(t.linkers, l.To, r, in)
	}
	for _, p := range t.phrases(r) {
		enter(t.rules, p, r, in)
	}
}

// enter puts r once under a key of m, where later has it, or takes it out there.
func enter[K comparable](m map[K][]*record, key K, r *record, in bool) {
	rs := m[key]
	i, there := slices.BinarySearchFunc(rs, r, (*record).later)
	switch {
	case in && !there:
		rs = slices.Insert(rs, i, r)
	case !in && there:
		rs = slices.Delete(rs, i, i+1)
	}
	m[key] = rs
	if len(rs) == 0 {
		delete(m, key)
	}
}

// phrases returns those that bring a Rule: of each line of its Trigger the words, and where it has five
// letters or more ("pipe" is no pipeline) its letters, which may stand within words. One without a Trigger
// has the phrase "", which stands everywhere; a line without words brings nothing.
func (t *table) phrases(r *record) (out []string) {
	if !r.is(Rule) {
		return nil
	}
	if strings.TrimSpace(r.Trigger) == "" {
		return []string{""}
	}
	for line := range strings.Lines(r.Trigger) {
		line = strings.TrimSpace(line)
		if p := t.words(line); p != " " {
			out = append(out, p)
			if utf8.RuneCountInString(line) > 4 {
				out = append(out, text.Plain(line))
			}
		}
	}
	return out
}

// words are the terms of a text in order, without the parts of ReactJS and with those of dark_mode alone.
func (t *table) words(s string) string {
	out := []string{""}
	for _, term := range t.an.Append(nil, strings.ToLower(strings.ReplaceAll(s, "_", " "))) {
		out = append(out, term.Text)
	}
	return strings.Join(append(out, ""), " ")
}

// due returns the Rules whose turn it is for a text: those without a Trigger, the oldest first, then those
// whose phrase stands in the text, in its order and the longer phrase first. A word that has the letters of
// one may be a form of it: a Rule that is told in vain does less harm than one that is not told.
func (t *table) due(s string) (out []*record) {
	if len(t.rules) == 0 {
		return nil
	}
	s = "\n" + t.words(s) + text.Plain(s)
	lacks := func(p string) bool { return !strings.Contains(s, p) }
	found := slices.DeleteFunc(slices.Collect(maps.Keys(t.rules)), lacks)
	slices.SortFunc(found, func(p, q string) int {
		return cmp.Or(strings.Index(s, p)-strings.Index(s, q), len(q)-len(p))
	})
	for _, p := range found {
		for _, r := range t.rules[p] {
			if !slices.Contains(out, r) {
				out = append(out, r)
			}
		}
	}
	return out
}

// standing returns what holds in the place of a record at a time: the latest Fact of its slot, or what says
// that it supersedes it, where that is as much trusted, also from the archive. It is the record itself where
// nothing does, or where that leads into a circle, as hosts say who supersedes whom.
func (t *table) standing(r *record, at int64) *record {
	if len(t.slots)+len(t.over) == 0 {
		return r
	}
	now, passed, steps := r, r, 1
	for n := 1; ; n++ {
		next := t.successor(now, at)
		switch {
		case next == nil:
			return now
		case next == passed:
			return r
		}
		now = next
		if n == steps { // a circle of so many will be seen (Brent 1980)
			passed, steps, n = now, 2*steps, 0
		}
	}
}

func (t *table) successor(r *record, at int64) (best *record) {
	consider := func(os []*record, than *record) {
		for _, o := range slices.Backward(os) { // the first that holds is the latest
			if o != r && o.At <= at && (o.Trusted || !r.Trusted) {
				if than == nil || o.later(than) > 0 {
					best = o
				}
				return
			}
		}
	}
	if slot := r.more().Slot; slot != "" && r.is(Fact) {
		consider(t.slots[slot], r)
	}
	for _, id := range r.ids() {
		consider(t.over[id], best)
	}
	return best
}

// export returns a record for a host, with what holds in its place. The caller holds the lock.
func (t *table) export(r *record) Record {
	out := r.export(t.scope)
	if o := t.standing(r, forever); o != r {
		out.SupersededBy = o.id
	}
	return out
}

// snapshot returns all records, the oldest first. A nil table has none.
func (t *table) snapshot() (out []*record) {
	if t == nil {
		return nil
	}
	t.mu.RLock()
	out = slices.DeleteFunc(slices.Clone(t.rows), func(r *record) bool { return r == nil })
	t.mu.RUnlock()
	slices.SortFunc(out, (*record).compare)
	return out
}
