package store

import (
	"bytes"
	"context"
	"iter"
	"strings"
	"sync"

	"github.com/tidwall/btree"
)

// mem is a store in memory.
type mem struct {
	mu      sync.RWMutex
	keys    *btree.Map[string, version] // nil when closed; a copy shares the nodes until they are written to
	changes btree.Map[Revision, string] // keys by when they were last written: the revision and a number in its commit
	rev     Revision
}

// version is what a key holds. It is never changed in place.
type version struct {
	value   []byte
	at      Revision // in changes
	deleted bool     // kept for Changes
}

// NewMem returns an empty store in memory, for tests and for what need not outlive the process. It keeps the names of
// deleted keys until it is closed.
func NewMem() Changer { return &mem{keys: new(btree.Map[string, version])} }

// usable returns the error of a call with ctx; m.mu is held.
func (m *mem) usable(ctx context.Context) error {
	if m.keys == nil {
		return ErrClosed
	}
	return ctx.Err()
}

func (v version) entry(key string) Entry {
	return Entry{Key: key, Value: bytes.Clone(v.value), Rev: v.at / maxCommitOps, Deleted: v.deleted}
}

// live returns what a key holds, the zero version if it does not exist; m.mu is held.
func (m *mem) live(key string) version {
	if v, _ := m.keys.Get(key); !v.deleted {
		return v
	}
	return version{}
}

func (m *mem) Get(ctx context.Context, key string) (Entry, error) {
	if err := Check(Op{Key: key}); err != nil {
		return Entry{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.usable(ctx); err != nil {
		return Entry{}, err
	}
	v := m.live(key)
	if v.at == 0 {
		return Entry{}, ErrNotFound
	}
	return v.entry(key), nil
}

func (m *mem) Scan(ctx context.Context, r Range) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		m.mu.Lock()
		err, from, left := m.usable(ctx), max(r.Prefix, r.After), r.Limit
		var now *btree.Map[string, version]
		if err == nil {
			first := m.keys.Iter()
			if first.Seek(from) && strings.HasPrefix(first.Key(), r.Prefix) { // a copy makes later writes slower
				now = m.keys.Copy()
			}
		}
		m.mu.Unlock()
		if err != nil {
			yield(Entry{}, err)
		}
		if now == nil {
			return
		}
		now.Ascend(from, func(key string, v version) bool {
			switch {
			case !strings.HasPrefix(key, r.Prefix):
				return false
			case key == r.After || v.deleted:
				return true
			case ctx.Err() != nil:
				yield(Entry{}, ctx.Err())
				return false
			}
			left--
			return yield(v.entry(key), nil) && left != 0
		})
	}
}

func (m *mem) Commit(ctx context.Context, ops ...Op) (Revision, error) {
	if err := Check(ops...); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return 0, err
	}
	rev := Revision(0)
	for _, op := range ops {
		if op.If != Any && op.If != At(m.live(op.Key).at/maxCommitOps) {
			return 0, &ConflictError{Key: op.Key}
		}
		if !op.Check {
			rev = m.rev + 1
		}
	}
	m.rev = max(m.rev, rev)
	for i, op := range ops {
		if op.Check || op.Delete && m.live(op.Key).at == 0 {
			continue
		}
		now := version{bytes.Clone(op.Value), rev*maxCommitOps + Revision(i), op.Delete}
		if was, changed := m.keys.Set(op.Key, now); changed {
			m.changes.Delete(was.at)
		}
		m.changes.Set(now.at, op.Key)
	}
	return rev, nil
}

func (m *mem) Changes(ctx context.Context, after Revision) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		m.mu.RLock()
		err := m.usable(ctx)
		var changed []Entry
		if err == nil {
			m.changes.Ascend((min(after, m.rev)+1)*maxCommitOps, func(_ Revision, key string) bool {
				v, _ := m.keys.Get(key)
				changed = append(changed, v.entry(key))
				return true
			})
		}
		changed = append(changed, Entry{Rev: m.rev})
		m.mu.RUnlock()
		for _, e := range changed {
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func (m *mem) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keys, m.changes = nil, btree.Map[Revision, string]{}
	return nil
}
