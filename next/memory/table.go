package memory

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/arc-learn/arc/next/internal/index"
	"github.com/arc-learn/arc/next/internal/text"
	"github.com/arc-learn/arc/next/internal/vector"
	"github.com/arc-learn/arc/next/store"
)

// table holds the records of a scope. Rows are those of its index. One goroutine at a time changes a table (see
// Bank.apply); it reads without the lock, and writes with it.
type table struct {
	scope Scope
	an    *text.Analyzer

	mu      sync.RWMutex
	ix      *index.Index
	rows    []*entry
	byID    map[ID]uint32       // also by former ids
	slots   map[string][]*entry // Facts that state a slot
	over    map[ID][]*entry     // what says that it supersedes an id
	linkers map[ID][]*entry     // what links to an id
	rules   map[string][]*rule  // by the first word of a phrase; "": told in every run
	names   map[string]string   // actors and threads, each once in memory
	vectors map[uint32]struct{} // rows that have a vector
	set     *vector.Set         // nil: no vector yet
}

// rule is a phrase that brings a Rule.
type rule struct {
	e     *entry
	words []string
}

func newTable(scope Scope, an *text.Analyzer) *table {
	return &table{
		scope: scope, an: an, ix: index.New(an), byID: map[ID]uint32{}, slots: map[string][]*entry{},
		over: map[ID][]*entry{}, linkers: map[ID][]*entry{}, rules: map[string][]*rule{}, names: map[string]string{},
		vectors: map[uint32]struct{}{},
	}
}

// entry returns the record with an id, also with a former one, or nil.
func (t *table) entry(id ID) *entry {
	if row, ok := t.byID[id]; ok {
		return t.rows[row]
	}
	return nil
}

// put takes a record in. Terms are those of its doc; nil: not made yet.
func (t *table) put(n *entry, terms *index.Terms) {
	old := t.entry(n.id)
	if old != nil && (old.id != n.id || old.rev > n.rev) {
		return // it was merged into another, or what is here is newer
	}
	var gone *index.Terms
	again := old == nil || !n.indexedAs(old)
	if again {
		if terms == nil {
			terms = t.ix.Analyze(n.doc())
		}
		if old != nil {
			gone = t.ix.Analyze(old.doc())
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	n.actor, n.thread = t.once(n.actor), t.once(n.thread)
	row := t.byID[n.id]
	if old != nil {
		t.detach(old)
	}
	if again {
		if old != nil {
			t.ix.Remove(row, gone)
			t.rows[row] = nil
			t.dropVector(row)
		}
		row = t.ix.Insert(terms)
		for int(row) >= len(t.rows) {
			t.rows = append(t.rows, nil)
		}
	}
	t.ix.SetFlags(row, n.flags())
	t.rows[row], t.byID[n.id] = n, row
	t.attach(n, row)
}

// remove takes a record out that was deleted at a revision, 0: just now.
func (t *table) remove(id ID, rev store.Revision) {
	old := t.entry(id)
	if old == nil || old.id != id || rev != 0 && old.rev > rev {
		return
	}
	gone := t.ix.Analyze(old.doc())
	t.mu.Lock()
	defer t.mu.Unlock()
	row := t.byID[id]
	t.detach(old)
	t.ix.Remove(row, gone)
	t.dropVector(row)
	t.rows[row] = nil
	delete(t.byID, id)
}

// once returns the one copy of a name.
func (t *table) once(s string) string {
	if s == "" {
		return ""
	}
	if _, ok := t.names[s]; !ok {
		s = strings.Clone(s)
		t.names[s] = s
	}
	return t.names[s]
}

// attach enters a record into what is found by other things than words.
func (t *table) attach(e *entry, row uint32) {
	m := e.rest()
	for _, id := range m.former {
		t.byID[id] = row
	}
	if m.slot != "" && e.is(Fact) {
		t.slots[m.slot] = append(t.slots[m.slot], e)
	}
	for _, id := range m.supersedes {
		t.over[id] = append(t.over[id], e)
	}
	for _, l := range m.links {
		t.linkers[l.To] = append(t.linkers[l.To], e)
	}
	for _, p := range t.phrases(e) {
		t.rules[p.words[0]] = append(t.rules[p.words[0]], p)
	}
}

func (t *table) detach(e *entry) {
	m := e.rest()
	for _, id := range m.former {
		delete(t.byID, id)
	}
	if m.slot != "" && e.is(Fact) {
		without(t.slots, m.slot, e)
	}
	for _, id := range m.supersedes {
		without(t.over, id, e)
	}
	for _, l := range m.links {
		without(t.linkers, l.To, e)
	}
	for _, p := range t.phrases(e) {
		first := p.words[0]
		t.rules[first] = slices.DeleteFunc(t.rules[first], func(r *rule) bool { return r.e == e })
		if len(t.rules[first]) == 0 {
			delete(t.rules, first)
		}
	}
}

func without[K comparable](m map[K][]*entry, key K, e *entry) {
	if m[key] = slices.DeleteFunc(m[key], func(o *entry) bool { return o == e }); len(m[key]) == 0 {
		delete(m, key)
	}
}

// phrases returns the phrases of a Rule, at least one; nil for other kinds.
func (t *table) phrases(e *entry) (out []*rule) {
	if !e.is(Rule) {
		return nil
	}
	for phrase := range strings.Lines(e.trigger) {
		if words := t.words(phrase); len(words) > 0 {
			out = append(out, &rule{e, words})
		}
	}
	if out == nil && strings.TrimSpace(e.trigger) == "" {
		return []*rule{{e, []string{""}}}
	}
	return out // a trigger without words brings nothing
}

// words are the terms of a text in order, without the parts of ReactJS and with those of dark_mode alone.
func (t *table) words(s string) (out []string) {
	for _, term := range t.an.Append(nil, strings.ToLower(strings.ReplaceAll(s, "_", " "))) {
		out = append(out, term.Text)
	}
	return out
}

// due returns the Rules whose turn it is for a text: those without a Trigger, oldest first, then those whose phrase
// stands in the text, in the order of the text.
func (t *table) due(s string) (out []*entry) {
	if len(t.rules) == 0 {
		return nil
	}
	add := func(e *entry) {
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	for _, r := range t.rules[""] {
		add(r.e)
	}
	slices.SortFunc(out, (*entry).later)
	words := t.words(s)
	for i, w := range words {
		found := slices.DeleteFunc(slices.Clone(t.rules[w]), func(r *rule) bool {
			return len(r.words) > len(words)-i || !slices.Equal(r.words, words[i:i+len(r.words)])
		})
		slices.SortFunc(found, func(a, b *rule) int {
			return cmp.Or(cmp.Compare(len(b.words), len(a.words)), a.e.later(b.e))
		})
		for _, r := range found {
			add(r.e)
		}
	}
	return out
}

// standing returns what holds in the place of a record at a time: the latest Fact of its slot, or what says that it
// supersedes it, where that is as much trusted. It is the record itself where nothing does, or in a circle.
func (t *table) standing(e *entry, at int64) *entry {
	if len(t.slots) == 0 && len(t.over) == 0 {
		return e
	}
	now := e
	for range maxSteps {
		next := t.successor(now, at)
		if next == nil {
			return now
		}
		if now = next; now == e {
			break
		}
	}
	return e
}

const maxSteps = 32

func (t *table) successor(e *entry, at int64) (best *entry) {
	may := func(o *entry) bool {
		return o != e && o.at <= at && (o.trusted || !e.trusted) && !o.archived && (best == nil || o.later(best) > 0)
	}
	m := e.rest()
	if m.slot != "" && e.is(Fact) {
		for _, o := range t.slots[m.slot] {
			if may(o) && o.later(e) > 0 {
				best = o
			}
		}
	}
	for _, id := range append([]ID{e.id}, m.former...) {
		for _, o := range t.over[id] {
			if may(o) {
				best = o
			}
		}
	}
	return best
}

// record returns a record for a host. The caller holds the lock.
func (t *table) record(e *entry, at int64) Record {
	r := e.record(t.scope)
	if o := t.standing(e, at); o != e {
		r.SupersededBy = o.id
	}
	return r
}

func (t *table) dropVector(row uint32) {
	if _, ok := t.vectors[row]; ok {
		t.set.Delete(row)
		delete(t.vectors, row)
	}
}
