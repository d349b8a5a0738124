package store

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/btree"
)

// mem is a store in memory.
type mem struct {
	mu   sync.RWMutex
	keys *btree.Map[string, version] // nil when closed; a copy shares the nodes until they are written to
	log  []change                    // by revision; of a key the last one counts
	rev  Revision
}

// version is what a key holds. It is never changed in place.
type version struct {
	value   []byte
	rev     Revision
	deleted bool // kept for Changes
}

type change struct {
	rev Revision
	key string
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

// live returns what a key holds, the zero version if it does not exist.
func (m *mem) live(key string) version {
	v, _ := m.keys.Get(key)
	if v.deleted {
		return version{}
	}
	return v
}

func (v version) entry(key string) Entry {
	return Entry{Key: key, Value: bytes.Clone(v.value), Rev: v.rev, Deleted: v.deleted}
}

func (m *mem) Get(ctx context.Context, key string) (Entry, error) {
	if err := CheckKey(key); err != nil {
		return Entry{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.usable(ctx); err != nil {
		return Entry{}, err
	}
	v := m.live(key)
	if v.rev == 0 {
		return Entry{}, ErrNotFound
	}
	return v.entry(key), nil
}

func (m *mem) Scan(ctx context.Context, r Range) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		m.mu.Lock()
		err := m.usable(ctx)
		if err != nil {
			m.mu.Unlock()
			yield(Entry{}, err)
			return
		}
		if !m.has(r) { // what a copy shares is copied by the writes that follow
			m.mu.Unlock()
			return
		}
		snapshot := m.keys.Copy()
		m.mu.Unlock()
		left := r.Limit
		snapshot.Ascend(max(r.Prefix, r.After), func(key string, v version) bool {
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

// has reports whether a range has a key, also one that was deleted; m.mu is held.
func (m *mem) has(r Range) (some bool) {
	m.keys.Ascend(max(r.Prefix, r.After), func(key string, _ version) bool {
		some = key != r.After && strings.HasPrefix(key, r.Prefix)
		return key == r.After
	})
	return some
}

func (m *mem) Commit(ctx context.Context, ops ...Op) (Revision, error) {
	if err := CheckOps(ops); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return 0, err
	}
	writes := false
	for _, op := range ops {
		if !op.If.Holds(m.live(op.Key).rev) {
			return 0, &ConflictError{Key: op.Key}
		}
		writes = writes || !op.Check
	}
	if !writes {
		return 0, nil
	}
	m.rev++
	for _, op := range ops {
		if op.Check || op.Delete && m.live(op.Key).rev == 0 {
			continue
		}
		m.keys.Set(op.Key, version{bytes.Clone(op.Value), m.rev, op.Delete})
		m.log = append(m.log, change{m.rev, op.Key})
	}
	if len(m.log) > 2*m.keys.Len()+1024 {
		m.log = slices.DeleteFunc(m.log, m.outdated)
	}
	return m.rev, nil
}

// outdated reports whether the key was changed again.
func (m *mem) outdated(c change) bool {
	v, _ := m.keys.Get(c.key)
	return v.rev != c.rev
}

func (m *mem) Changes(ctx context.Context, after Revision) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		m.mu.RLock()
		err := m.usable(ctx)
		from, _ := slices.BinarySearchFunc(m.log, after, func(c change, after Revision) int {
			return cmp.Or(cmp.Compare(c.rev, after), -1) // behind those of after
		})
		var changed []Entry
		for _, c := range m.log[from:] {
			if v, _ := m.keys.Get(c.key); v.rev == c.rev {
				changed = append(changed, v.entry(c.key))
			}
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
	m.keys, m.log = nil, nil
	return nil
}
