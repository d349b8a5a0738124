package store

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/tidwall/btree"

	"github.com/arc-learn/arc/internal/notify"
)

// Mem is the reference implementation of [Store]. It keeps everything in
// memory and loses it at Close. A scan works on a copy-on-write snapshot, so
// readers never hold up writers.
//
// The zero Mem is not usable: use [NewMem]. All methods may be called
// concurrently.
type Mem struct {
	mu struct {
		sync.RWMutex
		tree   *btree.Map[string, version]
		snap   *btree.Map[string, version] // of tree as it stands, or nil
		rev    Revision
		closed bool
	}
	feed notify.Feed[[]Entry] // a value is a commit; published under mu
}

// version is the value of a key at a revision. It is never changed in place: snapshots share it.
type version struct {
	value []byte
	rev   Revision
}

var (
	_ Store   = (*Mem)(nil)
	_ Watcher = (*Mem)(nil)
)

// NewMem returns an empty store.
func NewMem() *Mem {
	m := new(Mem)
	m.mu.tree = new(btree.Map[string, version])
	return m
}

// Get returns the entry of key, or ErrNotFound.
func (m *Mem) Get(ctx context.Context, key string) (Entry, error) {
	if err := CheckContext(ctx); err != nil {
		return Entry{}, err
	}
	if err := CheckKey(key); err != nil {
		return Entry{}, err
	}
	m.mu.RLock()
	if m.mu.closed {
		m.mu.RUnlock()
		return Entry{}, ErrClosed
	}
	v, ok := m.mu.tree.Get(key)
	m.mu.RUnlock()
	if !ok {
		return Entry{}, NotFound(key)
	}
	return v.entry(key), nil
}

func (v version) entry(key string) Entry {
	return Entry{Key: key, Value: bytes.Clone(v.value), Rev: v.rev}
}

// smallScan is the number of entries up to which a scan collects them under the read lock. A snapshot is free,
// but makes the next commit copy the nodes that it touches, which is dear for a short scan.
const smallScan = 64

// Scan yields the entries of r in key order, as of the moment at which the
// iteration began, also while the store changes or is closed.
func (m *Mem) Scan(ctx context.Context, r Range) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := CheckContext(ctx); err != nil {
			yield(Entry{}, err)
			return
		}
		entry := func(key string, v version) bool {
			if err := ctx.Err(); err != nil {
				yield(Entry{}, err)
				return false
			}
			return yield(v.entry(key), nil)
		}
		few, all, err := m.few(r)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		if all {
			for i := range few {
				if !entry(few[i].key, few[i].version) {
					return
				}
			}
			return
		}
		snap, err := m.snapshot()
		if err != nil {
			yield(Entry{}, err)
			return
		}
		ascend(snap, r, entry)
	}
}

type item struct {
	key string
	version
}

// few returns the entries of r, and whether those are all of them.
func (m *Mem) few(r Range) (found []item, all bool, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.mu.closed {
		return nil, false, ErrClosed
	}
	all = true
	ascend(m.mu.tree, r, func(key string, v version) bool {
		all = len(found) < smallScan
		if all {
			found = append(found, item{key, v})
		}
		return all
	})
	return found, all, nil
}

func (m *Mem) snapshot() (*btree.Map[string, version], error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.closed {
		return nil, ErrClosed
	}
	if m.mu.snap == nil {
		m.mu.snap = m.mu.tree.Copy()
	}
	return m.mu.snap, nil
}

// ascend calls fn for the keys of r in order, until it returns false.
func ascend(tree *btree.Map[string, version], r Range, fn func(string, version) bool) {
	left := r.Limit
	tree.Ascend(max(r.Prefix, r.After), func(key string, v version) bool {
		if !strings.HasPrefix(key, r.Prefix) {
			return false
		}
		if key == r.After {
			return true
		}
		left--
		return fn(key, v) && left != 0
	})
}

// Commit applies all ops or none.
func (m *Mem) Commit(ctx context.Context, ops ...Op) (Revision, error) {
	if err := CheckContext(ctx); err != nil {
		return 0, err
	}
	if err := CheckOps(ops); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.closed {
		return 0, ErrClosed
	}
	if len(ops) == 0 {
		return 0, nil
	}
	for i := range ops {
		if ops[i].If == Any {
			continue
		}
		// A key that does not exist has the zero version, of revision 0.
		v, _ := m.mu.tree.Get(ops[i].Key)
		if !ops[i].If.Holds(v.rev) {
			return 0, fmt.Errorf("%w: %q", ErrConflict, ops[i].Key)
		}
	}
	m.mu.rev++
	m.mu.snap = nil
	var block []byte
	for i := range ops {
		if ops[i].Delete {
			m.mu.tree.Delete(ops[i].Key)
			continue
		}
		var v []byte
		v, block = keep(block, ops[i:])
		m.mu.tree.Set(ops[i].Key, version{v, m.mu.rev})
	}
	if m.feed.Followed() {
		m.feed.Publish(changes(m.mu.rev, ops))
	}
	return m.mu.rev, nil
}

// maxBlock bounds the memory that the small values of a commit share: one that stays keeps the whole block.
const maxBlock = 512

// keep returns a copy of the value of the first of ops, and the rest of the block that it lies in. The small
// values of a commit share a block.
func keep(block []byte, ops []Op) (value, rest []byte) {
	n := len(ops[0].Value)
	if n > maxBlock/4 {
		return bytes.Clone(ops[0].Value), block
	}
	if n > len(block) {
		size := 0
		for i := range ops {
			if v := len(ops[i].Value); v <= maxBlock/4 {
				size += v
			}
			if size >= maxBlock {
				size = maxBlock
				break
			}
		}
		block = make([]byte, size)
	}
	copy(block, ops[0].Value)
	return block[:n:n], block[n:]
}

// Close drops everything. It is idempotent and returns nil.
func (m *Mem) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.closed = true
	m.mu.tree, m.mu.snap = nil, nil
	m.feed.Close()
	return nil
}
