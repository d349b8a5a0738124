package store

import (
	"cmp"
	"context"
	"iter"
	"strings"
	"sync"

	"github.com/tidwall/btree"
)

// mem is a store in memory. Its entries, which are never changed in place, have as Rev their place in
// changes: maxCommitOps times the revision, and a number in their commit.
type mem struct {
	mu      sync.Mutex
	keys    *btree.Map[string, Entry] // nil when closed; a copy shares the nodes until they are written to
	changes btree.Map[Revision, string]
	rev     Revision
}

// NewMem returns an empty store in memory, for tests and for what need not outlive the process. It keeps the
// names of deleted keys until it is closed.
func NewMem() Changer { return &mem{keys: new(btree.Map[string, Entry])} }

// lock locks m for some ops, unless they are malformed, it is closed, or ctx has ended.
func (m *mem) lock(ctx context.Context, ops ...Op) error {
	m.mu.Lock()
	err := cmp.Or(Check(ops...), ctx.Err())
	if m.keys == nil {
		err = ErrClosed
	}
	if err != nil {
		m.mu.Unlock()
	}
	return err
}

// live returns the entry of a key as it is for callers, or ErrNotFound.
func (m *mem) live(key string) (Entry, error) {
	e, _ := m.keys.Get(key)
	if e.Rev /= maxCommitOps; e.Rev == 0 || e.Deleted {
		return Entry{}, ErrNotFound
	}
	return e, nil
}

func (m *mem) Get(ctx context.Context, key string) (Entry, error) {
	if err := m.lock(ctx, Op{Key: key}); err != nil {
		return Entry{}, err
	}
	defer m.mu.Unlock()
	return m.live(key)
}

func (m *mem) Scan(ctx context.Context, r Range) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := m.lock(ctx); err != nil {
			yield(Entry{}, err)
			return
		}
		now, from, left := new(btree.Map[string, Entry]), max(r.Prefix, r.After), r.Limit
		if first := m.keys.Iter(); first.Seek(from) && strings.HasPrefix(first.Key(), r.Prefix) {
			now = m.keys.Copy() // writes that follow copy what they change
		}
		m.mu.Unlock()
		now.Ascend(from, func(key string, e Entry) bool {
			switch {
			case !strings.HasPrefix(key, r.Prefix):
				return false
			case key == r.After || e.Deleted:
				return true
			case ctx.Err() != nil:
				yield(Entry{}, ctx.Err())
				return false
			}
			left--
			return yield(Entry{Key: key, Value: e.Value, Rev: e.Rev / maxCommitOps}, nil) && left != 0
		})
	}
}

func (m *mem) Commit(ctx context.Context, ops ...Op) (Revision, error) {
	if err := m.lock(ctx, ops...); err != nil {
		return 0, err
	}
	defer m.mu.Unlock()
	var rev Revision
	at := func(key string) Revision { // most ops need no look at it
		e, _ := m.live(key)
		return e.Rev
	}
	for _, op := range ops {
		if op.If != Any && op.If != At(at(op.Key)) {
			return 0, &ConflictError{Key: op.Key}
		}
		if !op.Check {
			rev = m.rev + 1
		}
	}
	m.rev = max(m.rev, rev)
	for i, op := range ops {
		if op.Check || op.Delete && at(op.Key) == 0 {
			continue
		}
		e := Entry{op.Key, op.Value, rev*maxCommitOps + Revision(i), op.Delete}
		if was, changed := m.keys.Set(op.Key, e); changed {
			m.changes.Delete(was.Rev)
		}
		m.changes.Set(e.Rev, op.Key)
	}
	return rev, nil
}

func (m *mem) Changes(ctx context.Context, prefix string, after Revision) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := m.lock(ctx); err != nil {
			yield(Entry{}, err)
			return
		}
		var changed []Entry
		m.changes.Ascend((min(after, m.rev)+1)*maxCommitOps, func(_ Revision, key string) bool {
			e, _ := m.keys.Get(key)
			changed = append(changed, Entry{key, e.Value, e.Rev / maxCommitOps, e.Deleted})
			return true
		})
		changed = append(changed, Entry{Rev: m.rev})
		m.mu.Unlock()
		for _, e := range changed {
			if (e.Key == "" || strings.HasPrefix(e.Key, prefix)) && !yield(e, nil) {
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
