package memory

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc/internal/slots"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/store"
)

// Slot is a statement that a host gives with a [Draft], instead of leaving it
// to be read from the text: that the attribute of a subject has a value. Words
// that mean the same in other forms or in another order make one slot: "home"
// of "Alice", "residence" of "alice". "I" and "me" are the Actor.
type Slot struct {
	Subject   string // whom or what it is about; may be empty if the Attribute says it
	Attribute string // what of it
	Value     string // at most MaxText bytes, with the others
}

// MaxSlot is the number of bytes of a Slot, all of it.
const MaxSlot = 4 << 10

// conflictWindow is the time within which two who say different things of one
// slot contradict one another, rather than the later one telling a change.
const conflictWindow = time.Hour

// askedRelevance is the least relevance of a record that states the slot for
// which a question asks: its words need not be those of the question.
const askedRelevance = 0.95

// said is what a record says of one slot. It is stored with the record, so
// that what a later version of the parser reads differently stays as it was.
type said struct {
	key    uint64 // of the slot
	value  uint64
	former uint64 // the value that it replaces, as far as the text says so; 0: none
	how    saidFlags
}

type saidFlags uint8

const (
	saidChange saidFlags = 1 << iota // in words of change
	saidMany                         // the slot may have several values
	saidWhole                        // most of the record's text says it
	saidAlias                        // the slot with "user" for the Actor; the one that it stands for is the one before
)

// prime spreads times over values.
const prime = 0x9e3779b97f4a7c15

// saidSize is the number of bytes of a said as it is stored.
const saidSize = 3*8 + 1

// maxSaid is the number of a record: each may have an alias.
const maxSaid = 2 * slots.MaxStatements

// readSlots returns what the record says: what the host gave, or else what its
// text says, if it is of a kind that states something.
func (b *Bank) readSlots(r *Record) []said {
	if r.Slot != (Slot{}) {
		return appendSaid(nil, slots.Of(r.Slot.Subject, r.Slot.Attribute, r.Slot.Value, r.Actor), saidWhole)
	}
	if b.o.NoSlots || b.lang != text.English || r.Kind != Fact && r.Kind != Episode {
		return nil
	}
	reading := slots.Read(r.Content, r.Actor)
	whole := saidFlags(0)
	if reading.Rest <= reading.Used {
		whole = saidWhole
	}
	var out []said
	for _, st := range reading.Statements {
		if st.Secret { // nobody can tell whether it is the same: it counts as another
			st.Value ^= uint64(r.At.UnixMicro())*prime + uint64(r.Known.UnixMicro())
			st.Value |= 1
		}
		if !slices.ContainsFunc(out, func(o said) bool { return o.key == st.Key && o.value == st.Value }) {
			out = appendSaid(out, st, whole)
		}
	}
	return out
}

func appendSaid(out []said, st slots.Statement, how saidFlags) []said {
	if st.Change {
		how |= saidChange
	}
	if st.Many {
		how |= saidMany
	}
	out = append(out, said{st.Key, st.Value, st.Former, how})
	if st.Self != 0 {
		out = append(out, said{st.Self, st.Value, 0, how | saidAlias})
	}
	return out
}

func encodeSaid(all []said) []byte {
	if len(all) == 0 {
		return nil
	}
	buf := make([]byte, 0, saidSize*len(all))
	for _, s := range all {
		for _, x := range [...]uint64{s.key, s.value, s.former} {
			buf = binary.LittleEndian.AppendUint64(buf, x)
		}
		buf = append(buf, byte(s.how))
	}
	return buf
}

// decodeSaid reports false if the bytes cannot be what encodeSaid returned.
func decodeSaid(buf []byte) ([]said, bool) {
	if len(buf)%saidSize != 0 || len(buf) > saidSize*maxSaid {
		return nil, false
	}
	if len(buf) == 0 {
		return nil, true
	}
	all := make([]said, 0, len(buf)/saidSize)
	for ; len(buf) > 0; buf = buf[saidSize:] {
		x := func(i int) uint64 { return binary.LittleEndian.Uint64(buf[8*i:]) }
		all = append(all, said{x(0), x(1), x(2), saidFlags(buf[saidSize-1])})
	}
	return all, all[0].how&saidAlias == 0
}

// cleanSlot checks and sanitises a slot that the host gives.
func (b *Bank) cleanSlot(s Slot) (Slot, error) {
	if s == (Slot{}) {
		return s, nil
	}
	if n := len(s.Subject) + len(s.Attribute) + len(s.Value); n > MaxSlot {
		return s, &store.LimitError{Field: "slot", Limit: MaxSlot, Got: n}
	}
	clean := func(s string) string { return b.sanitize.Sanitize(strings.ToValidUTF8(s, "\uFFFD")) }
	s = Slot{clean(s.Subject), clean(s.Attribute), clean(s.Value)}
	for _, f := range [...]struct{ name, text string }{{"attribute", s.Attribute}, {"value", s.Value}} {
		if strings.TrimSpace(f.text) == "" {
			return s, fmt.Errorf("slot %s: %w", f.name, ErrEmpty)
		}
	}
	return s, nil
}

// Restate settles by hand what a record says: the slot takes the place of what
// was read from its text or given with its draft. The zero Slot says that the
// record states nothing, so that it neither supersedes another nor is
// superseded: this undoes a supersession that is wrong. It is on disk when
// Restate returns, and idempotent.
//
// The errors are ErrEmpty and *store.LimitError for a bad slot.
func (s Space) Restate(ctx context.Context, id ID, slot Slot) error {
	slot, err := s.b.cleanSlot(slot)
	if err != nil {
		return fmt.Errorf("memory: restate: %w", err)
	}
	return s.change(ctx, "restate", id, func(sh *shard, e *entry) error {
		old, err := s.b.record(ctx, sh, e)
		if err != nil {
			return err
		}
		rec := *old
		rec.Slot, rec.said = slot, nil
		if slot != (Slot{}) {
			rec.said = s.b.readSlots(&rec)
		}
		if rec.Slot == old.Slot && slices.Equal(rec.said, old.said) {
			return nil
		}
		return s.b.rewrite(ctx, sh, e, &rec)
	})
}

// slotTable leads from slots to the records that speak of them. Readers need
// no lock; writers are one at a time.
type slotTable struct {
	lists sync.Map     // key -> *slotList
	live  atomic.Int64 // statements
}

// slotList is what is said of a slot. Nobody changes what a reader sees. Of
// those that came out of order, a few are kept apart, so that not each of them
// has all that come later moved.
type slotList struct {
	inOrder, late []stated // each in order
}

// maxLate is the number of statements that are kept apart from n others:
// moving these then takes as long as moving those.
func maxLate(n int) int { return 16 + int(math.Sqrt(float64(n))) }

// all returns the statements in order.
func (l *slotList) all() []stated {
	if len(l.late) == 0 {
		return l.inOrder
	}
	out := make([]stated, 0, len(l.inOrder)+len(l.late))
	rest := l.inOrder
	for _, x := range l.late {
		i, _ := slices.BinarySearchFunc(rest, x, compareStated)
		out = append(append(out, rest[:i]...), x)
		rest = rest[i:]
	}
	return append(out, rest...)
}

// with returns the list with x.
func (l slotList) with(x stated) slotList {
	if n := len(l.inOrder); n == 0 || compareStated(l.inOrder[n-1], x) < 0 {
		l.inOrder = append(l.inOrder, x) // whoever reads the old one sees only what it had
		return l
	}
	i, _ := slices.BinarySearchFunc(l.late, x, compareStated)
	l.late = slices.Insert(slices.Clip(l.late), i, x)
	if len(l.late) > maxLate(len(l.inOrder)) {
		l = slotList{inOrder: l.all()}
	}
	return l
}

// without returns the list without x, and whether it was there.
func (l slotList) without(x stated) (slotList, bool) {
	for _, part := range []*[]stated{&l.inOrder, &l.late} {
		if i, ok := slices.BinarySearchFunc(*part, x, compareStated); ok {
			*part = slices.Delete(slices.Clone(*part), i, i+1)
			return l, true
		}
	}
	return l, false
}

// stated is a statement of a record.
type stated struct {
	e *entry
	said
}

// compareStated orders the statements of a slot: the later one replaces. Of the
// same time, one in words of change is later.
func compareStated(a, b stated) int {
	return cmp.Or(
		cmp.Compare(a.e.at, b.e.at),
		cmp.Compare(a.how&saidChange, b.how&saidChange),
		cmp.Compare(a.e.known, b.e.known),
		compareIDs(a.e, b.e),
		cmp.Compare(a.e.row, b.e.row),
		cmp.Compare(a.value, b.value),
	)
}

// of returns the statements of a slot, in order. Nobody changes them.
func (t *slotTable) of(key uint64) []stated {
	l := t.list(key)
	return l.all()
}

func (t *slotTable) list(key uint64) slotList {
	if l, ok := t.lists.Load(key); ok {
		return *l.(*slotList)
	}
	return slotList{}
}

func (t *slotTable) put(e *entry) {
	for _, s := range e.said() {
		l := t.list(s.key).with(stated{e, s})
		t.lists.Store(s.key, &l)
		t.live.Add(1)
	}
}

func (t *slotTable) remove(e *entry) {
	for _, s := range e.said() {
		l, was := t.list(s.key).without(stated{e, s})
		if !was {
			continue
		}
		t.live.Add(-1)
		if len(l.inOrder)+len(l.late) == 0 {
			t.lists.Delete(s.key)
			continue
		}
		t.lists.Store(s.key, &l)
	}
}

// overtaken reports whether r, a near-duplicate of e, cannot become part of it:
// they do not say the same of the same slots, or r says it of an earlier time,
// or something else was said of the slot between the two.
func (sh *shard) overtaken(e *entry, r *Record) bool {
	says := e.said()
	if !slices.EqualFunc(says, r.said, func(a, b said) bool { return a.key == b.key && a.value == b.value }) {
		return true
	}
	at := r.At.UnixMicro()
	if len(says) > 0 && at < e.at {
		return true
	}
	for _, s := range says {
		for _, x := range sh.slots.of(s.key) {
			if x.value != s.value && x.e.at >= e.at && x.e.at <= at {
				return true
			}
		}
	}
	return false
}

// standing is how the statements of a slot stand for a query.
type standing struct {
	seen   []stated            // what the query may see, in order
	tops   []stated            // those that hold, the latest first; not of slots with many values
	values map[uint64]struct{} // of tops, if those are many
	below  *entry              // the latest that they replace
	by     []*entry            // what replaces each of seen, if one of those is of a slot with many values
}

// fewTops is how many values are compared one by one.
const fewTops = 8

// standing returns how a slot stands for the query. It is computed once.
func (sc *scratch) standing(sh *shard, key uint64) *standing {
	ref := slotRef{sh, key}
	if st, ok := sc.standings[ref]; ok {
		return st
	}
	st := new(standing)
	for _, x := range sh.slots.of(key) {
		if sc.query.sees(sh, x.e) {
			st.seen = append(st.seen, x)
		}
	}
	st.settle()
	if sc.standings == nil {
		sc.standings = make(map[slotRef]*standing)
	}
	sc.standings[ref] = st
	return st
}

// sees reports whether a statement of e counts for the query: what it leaves
// out replaces nothing. What Decay has archived still does.
func (q *query) sees(sh *shard, e *entry) bool {
	return q.without&e.flags&(kindFlags|isQuarantined) == 0 && e.at <= q.before && e.known <= q.known && sh.entries.at(e.row) == e
}

// settle finds which statements hold: the latest, and those that contradict it.
func (st *standing) settle() {
	for _, x := range slices.Backward(st.seen) {
		if x.how&(saidMany|saidAlias) == 0 && (len(st.tops) == 0 || x.contradicts(st.tops[0])) {
			st.tops = append(st.tops, x)
		}
	}
	if len(st.tops) > fewTops {
		st.values = make(map[uint64]struct{})
		for _, x := range st.tops {
			st.values[x.value] = struct{}{}
		}
	}
	for _, x := range slices.Backward(st.seen) {
		if x.how&(saidMany|saidAlias) == 0 && !st.holds(x.value) {
			st.below = x.e
			break
		}
	}
	if slices.ContainsFunc(st.seen, func(x stated) bool { return x.how&saidMany != 0 }) {
		st.follow()
	}
}

// follow finds by what each is replaced if its slot has many values: only that
// value is replaced which a text names, and what replaces it may be replaced in
// turn.
func (st *standing) follow() {
	st.by = make([]*entry, len(st.seen))
	next := make(map[uint64]*entry) // what a value comes to that was said just before
	for i, x := range slices.Backward(st.seen) {
		st.by[i] = next[x.value]
		if x.former == 0 {
			delete(next, x.value) // it was said again
		} else {
			next[x.former] = cmp.Or(st.by[i], x.e)
		}
	}
}

// holds reports whether one that holds has the value.
func (st *standing) holds(value uint64) bool {
	if st.values != nil {
		_, ok := st.values[value]
		return ok
	}
	return slices.ContainsFunc(st.tops, func(x stated) bool { return x.value == value })
}

// contradicts reports whether x and the later statement y are a contradiction
// and no change: they are of the same time, or of two who speak within an hour
// without words of change.
func (x stated) contradicts(y stated) bool {
	switch {
	case x.value == y.value || y.how&saidChange != 0 || y.former != 0:
		return false
	case x.e.at == y.e.at:
		return true
	}
	return y.e.at-x.e.at <= conflictWindow.Microseconds() && (x.e.actor != y.e.actor || x.e.source != y.e.source)
}

// over returns the record that replaces what x says, or nil.
func (st *standing) over(x stated) *entry {
	if x.how&saidMany == 0 {
		if len(st.tops) == 0 || st.holds(x.value) {
			return nil
		}
		return st.tops[0].e
	}
	if i, ok := slices.BinarySearchFunc(st.seen, x, compareStated); ok {
		return st.by[i]
	}
	return nil // it has just gone
}

// under returns what x, which holds, has replaced last, or nil.
func (st *standing) under(x stated) *entry {
	if x.how&saidMany == 0 {
		if slices.ContainsFunc(st.tops, func(y stated) bool { return y.e == x.e }) {
			return st.below
		}
		return nil
	}
	if x.former == 0 {
		return nil
	}
	for _, y := range slices.Backward(st.seen) {
		if y.value == x.former && compareStated(y, x) < 0 {
			return y.e
		}
	}
	return nil
}

// stand is how things stand for a recall.
type stand struct {
	standings map[slotRef]*standing
	replaced  map[*entry]*entry // by which record
	question  slots.Question
	matched   []int // by scope, before anything gave its place
}

type slotRef struct {
	sh  *shard
	key uint64
}

func (st *stand) clear() {
	clear(st.standings)
	clear(st.replaced)
	st.question = slots.Question{}
}

// given returns the record to which e gave its place, or nil.
func (st *stand) given(e *entry) *entry { return st.replaced[e] }

// findStanding is find for what holds: what is superseded gives its place to
// what supersedes it, once.
func (sc *scratch) findStanding(b *Bank, n int) {
	for want := n; ; want *= 2 {
		sc.gather(want)
		sc.countMatches()
		if gone := sc.replace(b); gone == 0 || want == 0 || !sc.short(n, want) {
			break
		}
	}
	sc.query.rank(sc.found)
}

// countMatches counts what was found in each scope.
func (sc *scratch) countMatches() {
	sc.matched = sc.matched[:0]
	for _, sh := range sc.query.shards {
		n := 0
		for i := range sc.found {
			if sc.found[i].sh == sh {
				n++
			}
		}
		sc.matched = append(sc.matched, n)
	}
}

// short reports whether a scope may have more that belongs to the n best: it
// gave all that it was asked for, and not enough of that has stayed.
func (sc *scratch) short(n, want int) bool {
	before := slices.Clone(sc.matched)
	sc.countMatches()
	for i, stay := range sc.matched {
		if before[i] >= want && stay < n {
			return true
		}
	}
	return false
}

// replace gives the places of what is superseded to what supersedes it, and
// brings in what states the slot that the text asks for. It reports how many
// records gave their place.
func (sc *scratch) replace(b *Bank) int {
	sc.stand.clear()
	if !slices.ContainsFunc(sc.query.shards, func(sh *shard) bool { return sh.slots.live.Load() > 0 }) {
		return 0
	}
	if !sc.query.all && b.lang == text.English && !b.o.NoSlots {
		sc.question = slots.Ask(sc.query.asked)
	}
	if !sc.question.Past {
		sc.giveWay()
	}
	sc.answer()
	return len(sc.replaced)
}

// giveWay takes out what is superseded. What takes its place has its relevance,
// if that is higher.
func (sc *scratch) giveWay() {
	for i := range sc.found {
		f := &sc.found[i]
		if by := sc.superseding(f.sh, f.entry); by != nil {
			if sc.replaced == nil {
				sc.replaced = make(map[*entry]*entry)
			}
			sc.replaced[f.entry] = by
		}
	}
	if len(sc.replaced) == 0 {
		return
	}
	best := make(map[*entry]found) // of what gives its place, by what takes it
	stay := sc.found[:0]
	for _, f := range sc.found {
		by, ok := sc.replaced[f.entry]
		if !ok {
			stay = append(stay, f)
			continue
		}
		b := best[by]
		b.sh, b.ratio, b.relevance = f.sh, max(b.ratio, f.ratio), max(b.relevance, f.relevance)
		best[by] = b
	}
	clear(sc.found[len(stay):])
	for i := range stay {
		f := &stay[i]
		if b, ok := best[f.entry]; ok {
			f.ratio, f.relevance = max(f.ratio, b.ratio), max(f.relevance, b.relevance)
			delete(best, f.entry)
		}
	}
	for e, b := range best {
		b.entry, b.tally = e, e.counts()
		stay = append(stay, b)
	}
	sc.found = stay
}

// superseding returns the record to which e gives its place, or nil: that which
// supersedes what it says. It has to say nothing else that holds, nor much
// besides.
func (sc *scratch) superseding(sh *shard, e *entry) (by *entry) {
	for _, x := range e.said() {
		if x.how&saidAlias != 0 {
			continue
		}
		over := sc.standing(sh, x.key).over(stated{e, x})
		if over == nil || over == e || x.how&saidWhole == 0 {
			return nil
		}
		by = over
	}
	return by
}

// answer raises the records that state the slot for which the text asks, as
// things stand. They are above all that only shares words with it.
func (sc *scratch) answer() {
	if len(sc.question.Keys) == 0 {
		return
	}
	ratio, relevance := sc.raised()
	for _, sh := range sc.query.shards {
		for _, key := range sc.question.Keys {
			for _, x := range sc.standing(sh, key).seen {
				if x.how&saidAlias != 0 {
					x = x.e.aliased(x.said)
				}
				if sc.question.Past || sc.standing(sh, x.key).over(x) == nil {
					sc.raise(sh, x.e, ratio, relevance)
				}
			}
		}
	}
}

// raise puts e above what is only as good as the best match by words: so far
// that those are not near the best any more.
func (sc *scratch) raise(sh *shard, e *entry, ratio, relevance float64) {
	i := slices.IndexFunc(sc.found, func(f found) bool { return f.entry == e })
	if i < 0 {
		c := e.counts()
		if sc.query.excludes(e, c) != "" {
			return
		}
		i = len(sc.found)
		sc.found = append(sc.found, found{entry: e, sh: sh, tally: c})
	}
	f := &sc.found[i]
	f.ratio, f.relevance = max(f.ratio, ratio), max(f.relevance, relevance)
}

// raised returns the score by words of a record that states what is asked for,
// and its relevance, which is at least askedRelevance.
func (sc *scratch) raised() (ratio, relevance float64) {
	ratio, relevance = 1, askedRelevance
	var best found
	for i := range sc.found {
		if f := &sc.found[i]; f.ratio > best.ratio {
			best = *f
		}
	}
	if best.ratio == 0 {
		return ratio, relevance
	}
	// As Parts.Relevance has it, what is 1/gate as good as the best.
	odds := best.relevance / (1 - best.relevance)
	more := math.Sqrt(math.Sqrt(relevance / (1 - relevance) / odds))
	more = max(more, (1+1e-9)/gate)
	odds *= more * more * more * more
	return best.ratio * more, odds / (1 + odds)
}

// aliased returns the statement for which an alias of it stands.
func (e *entry) aliased(alias said) stated {
	all := e.said()
	i := slices.Index(all, alias)
	return stated{e, all[max(i-1, 0)]}
}

// relate fills in what a hit replaces and what contradicts it.
func (s Space) relate(ctx context.Context, sc *scratch, f *found, h *Hit) error {
	for _, x := range f.said() {
		if x.how&saidAlias != 0 {
			continue
		}
		st := sc.standing(f.sh, x.key)
		if old := st.under(stated{f.entry, x}); old != nil && h.Superseded == nil {
			r := Record{ID: old.name()}
			if err := s.b.copy(ctx, f.sh, old, old.counts(), &r); err == nil {
				h.Superseded = &r
			} else if f.sh.entries.at(old.row) == old {
				return err
			}
		}
		if len(st.tops) > 1 && slices.ContainsFunc(st.tops, func(y stated) bool { return y.e == f.entry }) {
			h.conflict(x, st.tops)
		}
	}
	return nil
}

// conflict adds to Conflicts those that contradict x.
func (h *Hit) conflict(x said, tops []stated) {
	for _, y := range tops {
		if len(h.Conflicts) == MaxConflicts {
			return
		}
		if y.value == x.value {
			continue
		}
		if id := y.e.name(); !slices.Contains(h.Conflicts, id) {
			h.Conflicts = append(h.Conflicts, id)
		}
	}
}
