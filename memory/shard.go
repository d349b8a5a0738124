package memory

import (
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/arc-learn/arc/internal/index"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/turns"
	"github.com/arc-learn/arc/memory/internal/vectors"
)

// shard holds the records of one scope in memory, and their index.
type shard struct {
	scope Scope
	place

	// edit is for a change of records that exist: the caller holds it from
	// reading them until the change is in the store and in memory. Remember
	// holds claims instead for new records, so that many share a commit.
	edit   sync.Mutex
	claims turns.Claims
	// passing are the passing Episodes, the oldest first; nil: not known yet. It
	// belongs to edit.
	passing []ident.Key

	// What follows belongs to mu: searches enter, and what is in the store already
	// is changed while none is in. Neither waits for the disk, nor for a host.
	mu      *turns.Turnstile
	size    *atomic.Int64        // of the tenant; nil: it does not matter
	rows    []*entry             // nil: gone
	ids     map[ident.Key]uint32 // rows, by former ids too
	live    int
	vouched atomic.Int64 // of live, those that are trusted

	injected atomic.Int64  // recalls with Query.Inject or Background that found something
	seq      atomic.Uint32 // the largest of the records

	ties

	index   *index.Index
	vectors *vectors.Rows

	queue vectors.Queue // of the worker that has the turn to embed
}

func newShard(s Scope) *shard {
	return &shard{
		scope: s, place: newPlace(s), mu: turns.New(), ids: make(map[ident.Key]uint32), ties: newTies(),
		index: index.New(), vectors: vectors.New(),
	}
}

// entry returns the record that the id leads to, or nil.
func (sh *shard) entry(id ID) *entry { return sh.find(ident.Of(id)) }

// find returns the record that a key leads to, or nil.
func (sh *shard) find(k ident.Key) *entry {
	sh.mu.Enter()
	defer sh.mu.Leave()
	return sh.findLocked(k)
}

func (sh *shard) findLocked(k ident.Key) *entry {
	if row, ok := sh.ids[k]; ok {
		return sh.rows[row]
	}
	return nil
}

// holds reports whether e is what the Bank has of its record.
func (sh *shard) holds(e *entry) bool {
	sh.mu.Enter()
	defer sh.mu.Leave()
	return sh.rows[e.row] == e
}

// snapshot returns all entries, in the order in which they were indexed.
func (sh *shard) snapshot() []*entry {
	sh.mu.Enter()
	defer sh.mu.Leave()
	return slices.AppendSeq(make([]*entry, 0, sh.live), sh.all())
}

// all yields the entries in order of row. The caller holds mu.
func (sh *shard) all() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		for _, e := range sh.rows {
			if e != nil && !yield(e) {
				return
			}
		}
	}
}

// put makes a record visible, in place of the one with its id, if any, and of
// those that became part of it.
func (sh *shard) put(e *entry, d index.Doc, replaced ...leaving) {
	sh.mu.Change(func() { sh.putLocked(e, d, replaced...) })
}

// putLocked reports whether it had to.
func (sh *shard) putLocked(e *entry, d index.Doc, replaced ...leaving) bool {
	if old := sh.findLocked(e.id); old != nil && old.rev == e.rev && e.rev != 0 && len(replaced) == 0 {
		return false // Follow has heard of it before its writer was told
	}
	e.row = uint32(len(sh.rows))
	sh.rows = append(sh.rows, e)
	for k := range e.keys() {
		sh.ids[k] = e.row
	}
	sh.stateLocked(e)
	sh.live++
	sh.reckon(e, 1)
	if e.flags.trusted() {
		sh.vouched.Add(1)
	}
	for last := sh.seq.Load(); last < e.seq && !sh.seq.CompareAndSwap(last, e.seq); {
		last = sh.seq.Load()
	}
	d.Flags = e.marks()
	sh.index.Put(e.row, d)
	for _, old := range replaced {
		if old.same {
			sh.vectors.Move(old.row, e.row, uint32(e.marks()))
		}
		sh.leaveLocked(old)
	}
	return true
}

// reckon adds a record to the size of the tenant, by 1, or takes it out, by -1.
func (sh *shard) reckon(e *entry, by int64) {
	n := len(e.text)
	if e.flags&isCold != 0 {
		n = coldText
	}
	sh.grow(by * int64(recordBytes+textBytes*n+int(e.dim)))
}

func (sh *shard) grow(bytes int64) {
	if sh.size != nil {
		sh.size.Add(bytes)
	}
}

// A scope takes so many bytes in memory, a record of it so many, and so many for each of
// its text, see BenchmarkColdTenant.
const (
	scopeBytes  = 8 << 10
	recordBytes = 350
	textBytes   = 2
)

// changed is when a record was last made, said again or used, in microseconds since 1970.
func (sh *shard) changed() (last int64) {
	for _, e := range sh.snapshot() {
		c := e.counts()
		last = max(last, e.known, int64(c.LastUsed), int64(c.Said))
	}
	return last
}

// leaving is a record that goes, with what is indexed of it.
type leaving struct {
	*entry
	doc  index.Doc
	same bool // what takes its place has its texts, and its vector
}

// remove makes records invisible.
func (sh *shard) remove(es ...leaving) {
	sh.mu.Change(func() {
		for _, e := range es {
			sh.leaveLocked(e)
		}
	})
}

// leaveLocked takes a record out of the index, with the ids that lead to it still.
func (sh *shard) leaveLocked(e leaving) {
	for k := range e.keys() {
		if sh.ids[k] == e.row {
			delete(sh.ids, k)
		}
	}
	sh.index.Delete(e.row, e.doc)
	sh.vectors.Delete(e.row)
	sh.unstateLocked(e.entry)
	sh.rows[e.row] = nil
	sh.live--
	sh.reckon(e.entry, -1)
	if e.flags.trusted() {
		sh.vouched.Add(-1)
	}
}

// tally replaces counters. The caller holds edit.
func (sh *shard) tally(changes ...change) {
	for _, c := range changes {
		marks := c.entry.marks()
		c.entry.tally(c.counts)
		if now := c.entry.marks(); now != marks {
			sh.mu.Change(func() {
				sh.index.SetFlags(c.entry.row, now)
				sh.vectors.SetFlags(c.entry.row, uint32(now))
			})
		}
	}
}

// putVector is put with the vector that a draft came with, if it did.
func (sh *shard) putVector(e *entry, d index.Doc, x []float32) {
	sh.mu.Change(func() {
		if sh.putLocked(e, d) && x != nil {
			sh.vectors.Put(e.row, uint32(e.marks()), x)
		}
	})
}

// setVector makes the vector of e visible, nil if there is none for its text.
func (sh *shard) setVector(e *entry, x []float32) {
	sh.mu.Change(func() { sh.vectors.Put(e.row, uint32(e.marks()), x) })
}

// vectorless reports whether e waits for a vector.
func (sh *shard) vectorless(e *entry) bool {
	sh.mu.Enter()
	defer sh.mu.Leave()
	return sh.vectors.Waits(e.row)
}

// nextVectorless returns the first record from a row on that waits for a vector, and its
// row, or nil and the row that the next record will have.
func (sh *shard) nextVectorless(row uint32) (*entry, uint32) {
	sh.mu.Enter()
	defer sh.mu.Leave()
	for ; int(row) < len(sh.rows); row++ {
		if e := sh.rows[row]; e != nil && sh.vectors.Waits(row) {
			return e, row
		}
	}
	return nil, row
}

// linkedLocked returns what is linked with e: what it was drawn from, and what was drawn
// from it. What it supersedes is no company for it.
func (sh *shard) linkedLocked(e *entry) (out []*entry) {
	for _, l := range e.links() {
		if to := sh.findLocked(ident.Of(l.To)); to != nil && l.Rel != supersedes {
			out = append(out, to)
		}
	}
	for k := range e.keys() {
		for _, from := range sh.into[k] {
			if !slices.Contains(sh.over[k], from) {
				out = append(out, from)
			}
		}
	}
	return out
}

// fanLocked returns how many links begin or end at a record.
func (sh *shard) fanLocked(k ident.Key) int {
	n := len(sh.into[k])
	if e := sh.findLocked(k); e != nil && e.id == k {
		n += len(e.links())
	}
	return n
}

// unqueue takes a record that goes, or stays for good, from the passing ones. The
// caller holds edit.
func (sh *shard) unqueue(e *entry) {
	if e.flags&isPassing != 0 {
		sh.passing = slices.DeleteFunc(sh.passing, func(k ident.Key) bool { return k == e.id })
	}
}

// passed returns the passing Episodes of the scope, the oldest first. The caller
// holds edit.
func (sh *shard) passed() []ident.Key {
	if sh.passing == nil {
		sh.passing = make([]ident.Key, 0, maxPassing)
		for _, e := range byTime(sh.snapshot()) {
			if e.flags&isPassing != 0 {
				sh.passing = append(sh.passing, e.id)
			}
		}
	}
	return sh.passing
}

// maxPassing is the number of passing Episodes of a scope.
const maxPassing = 256

// parts are the shards by their part of keys.
type parts map[string]*shard

// record returns the record that an entry of the store is of, nil if it is gone, and whether
// the entry is its own: not that of one which became part of it.
func (in parts) record(k string) (sh *shard, e *entry, its bool) {
	if p := key.Split(k); len(p) == 4 && in[p[2]] != nil {
		sh = in[p[2]]
		e = sh.entry(ID(p[3]))
		its = e != nil && e.id == ident.Of(ID(p[3]))
	}
	return sh, e, its
}
