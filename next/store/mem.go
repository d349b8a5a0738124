package store

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/tidwall/btree"
)

// Mem is a [Store] in memory, for tests and for what need not outlive the process. It is a [Changer]. Use [NewMem].
type Mem struct {
	mu     sync.RWMutex
	live   *btree.Map[string, version] // nil when closed; a copy shares the nodes until they are written to
	gone   map[string]Revision         // deleted keys, for Changes
	log    *btree.BTreeG[logged]       // each key of live and gone at its revision, for Changes
	rev    Revision
	forgot Revision // what was deleted up to it is in gone no more
}

// version is a value at a revision. It is never changed in place.
type version struct {
	value []byte
	rev   Revision
}

// logged is the last change of a key.
type logged struct {
	rev Revision
	key string
}

func (a logged) less(b logged) bool {
	return cmp.Or(cmp.Compare(a.rev, b.rev), strings.Compare(a.key, b.key)) < 0
}

// maxGone bounds the deleted keys that a Mem remembers.
const maxGone = 1 << 16

// NewMem returns an empty store.
func NewMem() *Mem {
	log := btree.NewBTreeGOptions(logged.less, btree.Options{NoLocks: true})
	return &Mem{live: new(btree.Map[string, version]), gone: map[string]Revision{}, log: log}
}

// usable returns the error of a call with ctx; m.mu is held.
func (m *Mem) usable(ctx context.Context) error {
	if m.live == nil {
		return ErrClosed
	}
	return ctx.Err()
}

// Get returns the entry of key, or ErrNotFound.
func (m *Mem) Get(ctx context.Context, key string) (Entry, error) {
	if err := CheckKey(key); err != nil {
		return Entry{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.usable(ctx); err != nil {
		return Entry{}, err
	}
	v, ok := m.live.Get(key)
	if !ok {
		return Entry{}, ErrNotFound
	}
	return v.entry(key), nil
}

func (v version) entry(key string) Entry {
	return Entry{Key: key, Value: bytes.Clone(v.value), Rev: v.rev}
}

// Scan yields the entries of r as of the moment when the iteration began.
func (m *Mem) Scan(ctx context.Context, r Range) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		m.mu.Lock()
		err := m.usable(ctx)
		if err != nil {
			m.mu.Unlock()
			yield(Entry{}, err)
			return
		}
		snapshot := m.live.Copy()
		m.mu.Unlock()
		left := r.Limit
		snapshot.Ascend(max(r.Prefix, r.After), func(key string, v version) bool {
			switch {
			case !strings.HasPrefix(key, r.Prefix):
				return false
			case key == r.After:
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

// Commit applies all ops or none.
func (m *Mem) Commit(ctx context.Context, ops ...Op) (Revision, error) {
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
		v, _ := m.live.Get(op.Key) // of revision 0 where the key does not exist
		if !op.If.Holds(v.rev) {
			return 0, &ConflictError{Key: op.Key}
		}
		writes = writes || !op.Check
	}
	if !writes {
		return 0, nil
	}
	m.rev++
	for _, op := range ops {
		v, existed := m.live.Get(op.Key)
		if op.Check || op.Delete && !existed {
			continue
		}
		last := v.rev
		if !existed {
			last = m.gone[op.Key]
		}
		m.log.Delete(logged{last, op.Key})
		m.log.Set(logged{m.rev, op.Key})
		if op.Delete {
			m.live.Delete(op.Key)
			m.gone[op.Key] = m.rev
		} else {
			m.live.Set(op.Key, version{bytes.Clone(op.Value), m.rev})
			delete(m.gone, op.Key)
		}
	}
	if len(m.gone) > maxGone {
		for key, rev := range m.gone {
			m.log.Delete(logged{rev, key})
		}
		clear(m.gone)
		m.forgot = m.rev
	}
	return m.rev, nil
}

// Changes looks at what was changed after that revision only. Of deleted keys it knows 65,536 at most.
func (m *Mem) Changes(ctx context.Context, after Revision) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		changed, err := m.changed(ctx, after)
		if err != nil {
			yield(Entry{}, err)
		}
		for _, e := range changed {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (m *Mem) changed(ctx context.Context, after Revision) (changed []Entry, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.usable(ctx); err != nil {
		return nil, err
	}
	if after > 0 && after < m.forgot {
		return nil, fmt.Errorf("%w: what was deleted since revision %d", ErrNotFound, after)
	}
	m.log.Ascend(logged{rev: after}, func(l logged) bool {
		if l.rev == after {
			return true
		}
		if v, ok := m.live.Get(l.key); ok {
			changed = append(changed, v.entry(l.key))
		} else {
			changed = append(changed, Entry{Key: l.key, Rev: l.rev, Deleted: true})
		}
		return true
	})
	return append(changed, Entry{Rev: m.rev}), nil
}

// Close drops everything.
func (m *Mem) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.live, m.gone, m.log = nil, nil, nil
	return nil
}
