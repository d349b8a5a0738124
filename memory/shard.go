package memory

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/table"
	"github.com/arc-learn/arc/memory/internal/turns"
	"github.com/arc-learn/arc/memory/internal/vectors"
)

// shard is a scope of a Bank: its records in memory, where they are in the store, and whose turn it
// is to change them.
type shard struct {
	*table.Table
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

	injected atomic.Int64  // recalls with Query.Inject or Background that found something
	queue    vectors.Queue // of the worker that has the turn to embed
}

func newShard(s Scope, size *atomic.Int64) *shard {
	return &shard{Table: table.New(string(s), size), scope: s, place: newPlace(s)}
}

// entry returns the record that the id leads to, or nil.
func (sh *shard) entry(id ID) *table.Entry { return sh.Find(ident.Of(id)) }

// unqueue takes a record that goes, or stays for good, from the passing ones. The
// caller holds edit.
func (sh *shard) unqueue(e *table.Entry) {
	if e.Flags&table.Passing != 0 {
		sh.passing = slices.DeleteFunc(sh.passing, func(k ident.Key) bool { return k == e.Key })
	}
}

// passed returns the passing Episodes of the scope, the oldest first. The caller
// holds edit.
func (sh *shard) passed() []ident.Key {
	if sh.passing == nil {
		sh.passing = make([]ident.Key, 0, maxPassing)
		for _, e := range table.ByTime(sh.Snapshot()) {
			if e.Flags&table.Passing != 0 {
				sh.passing = append(sh.passing, e.Key)
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
func (in parts) record(k string) (sh *shard, e *table.Entry, its bool) {
	if p := key.Split(k); len(p) == 4 && in[p[2]] != nil {
		sh = in[p[2]]
		e = sh.entry(ID(p[3]))
		its = e != nil && e.Key == ident.Of(ID(p[3]))
	}
	return sh, e, its
}
