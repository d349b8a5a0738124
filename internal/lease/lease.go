// Package lease has one of several openers of a store work on a thing at a time.
//
// A lease is a record that names its owner. Every commit under the context of a lease
// writes the record anew, on condition that it is as the owner wrote it last. So a
// commit renews the lease, and fails for good once another opener has taken it over:
// the revision is the fencing token. An opener judges by its own clock alone whether an
// owner is gone: the record has not changed for as long as a lease lasts while this
// opener has looked.
package lease

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/store"
)

// Store is a store as one of its openers uses it. It may be used concurrently.
type Store struct {
	store.Store
	name string
	born store.Revision
	last time.Duration
	now  func() time.Time

	mu   sync.Mutex
	held map[string]*Lease // by key, those that are worked under here
	seen map[string]sight  // by key, those of others
}

// sight is a lease of another opener: the revision, and when it was seen first.
type sight struct {
	rev   store.Revision
	since time.Time
}

type record struct {
	Owner string         `cbor:"170,keyasint,omitempty"`
	Born  store.Revision `cbor:"331,keyasint,omitempty"`
}

// Held says that another opener works under a lease.
type Held struct{ Owner string }

// Error names the owner.
func (h *Held) Error() string { return fmt.Sprintf("replica %q has it", h.Owner) }

// New returns st as the opener of a name uses it, whose leases last for so long after
// they were renewed.
func New(st store.Store, name string, last time.Duration, now func() time.Time) *Store {
	return &Store{
		Store: st, name: name, last: last, now: now, held: make(map[string]*Lease), seen: make(map[string]sight),
	}
}

// Begin is called before all else, with the revision of a commit by the opener: of two of one
// name the later has the leases.
func (s *Store) Begin(at store.Revision) { s.born = at }

// Commit is that of the store, and under the context of a lease on condition of that.
func (s *Store) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	l := Of(ctx)
	if l == nil || len(ops) == 0 {
		return s.Store.Commit(ctx, ops...)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.commitLocked(ctx, ops)
}

// Lease is the right to work on something, or a claim to it: the first commit that keeps
// the lease takes it. Those of its
// methods that every run calls do nothing with a nil Lease.
type Lease struct {
	s      *Store
	key    string
	value  []byte
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	rev     store.Revision // 0: there is no record
	keep    bool           // the next commit keeps the record, else it removes it
	renewed time.Time
	lost    error
}

type under struct{}

// Of returns the lease that a context is under, or nil.
func Of(ctx context.Context) *Lease {
	l, _ := ctx.Value(under{}).(*Lease)
	return l
}

// Enter returns a context that is under the lease of a key, until Leave: it ends with a
// *[Held] as cause when the lease is lost. The error is a *Held too while another opener
// has the lease. One that this opener has left behind is its own, as is one that has
// lapsed. The caller enters a key once at a time.
func (s *Store) Enter(ctx context.Context, key string) (context.Context, error) {
	e, err := s.unheld(ctx, key)
	if err != nil {
		return nil, err
	}
	value, err := codec.Encode(key, record{s.name, s.born})
	if err != nil {
		return nil, err
	}
	l := &Lease{s: s, key: key, value: value, rev: e.Rev, keep: e.Rev != 0}
	ctx, l.cancel = context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[key] = l
	return context.WithValue(ctx, under{}, l), nil
}

// Check returns a *[Held] while another opener has the lease of a key. It takes nothing.
func (s *Store) Check(ctx context.Context, key string) error {
	_, err := s.unheld(ctx, key)
	return err
}

// unheld returns the record of a key, the zero Entry if there is none. It is a *Held while
// another opener has the lease.
func (s *Store) unheld(ctx context.Context, key string) (store.Entry, error) {
	e, err := s.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return store.Entry{}, nil
	}
	if err != nil {
		return e, err
	}
	free, owner, err := s.free(e)
	if err == nil && !free {
		err = &Held{owner}
	}
	return e, err
}

// Leave ends the work under a lease, and leaves its record as it is.
func (s *Store) Leave(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.held[key]; l != nil {
		l.cancel(nil)
		delete(s.held, key)
	}
}

// Alone has do work under the lease of a key, by one opener at a time. The error is a *[Held]
// while another has it. A nil Store has no other opener.
func (s *Store) Alone(ctx context.Context, key string, do func(context.Context) error) error {
	if s == nil {
		return do(ctx)
	}
	ctx, err := s.Enter(ctx, key)
	if err != nil {
		return err
	}
	l := Of(ctx)
	l.Keep(true)
	defer func() {
		_ = l.Release(context.WithoutCancel(ctx)) // else it lapses
		s.Leave(key)
	}()
	if err = l.Fresh(ctx); err != nil {
		return err
	}
	return do(ctx)
}

// free reports whether this opener may take the lease of a record, and whose it is.
func (s *Store) free(e store.Entry) (free bool, owner string, err error) {
	var r record
	if err := codec.Decode(e, &r); err != nil {
		return false, "", err
	}
	if r.Owner == s.name && r.Born <= s.born {
		return true, r.Owner, nil
	}
	return s.still(e), r.Owner, nil
}

// still reports whether an entry has not changed for as long as a lease lasts while this
// opener has looked.
func (s *Store) still(e store.Entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if at, ok := s.seen[e.Key]; ok && at.rev == e.Rev && !now.Before(at.since) { // else the clock was put back
		return now.Sub(at.since) >= s.last
	}
	s.seen[e.Key] = sight{e.Rev, now}
	return false
}

// Lapsed returns the keys below a prefix whose leases are free to be taken. It has to be
// called again and again: what it sees for the first time has not lapsed.
func (s *Store) Lapsed(ctx context.Context, prefix string) (keys []string, err error) {
	return s.those(ctx, prefix, func(e store.Entry) (bool, error) {
		s.mu.Lock()
		mine := s.held[e.Key] != nil
		s.mu.Unlock()
		if mine {
			return false, nil
		}
		free, _, err := s.free(e)
		return free, err
	})
}

// Live returns the keys below a prefix that were written within the time of a lease, while this
// opener has looked, in order: each opener writes one of its own, as often as it renews
// leases. It deletes the others. It has to be called again and again, as Lapsed.
func (s *Store) Live(ctx context.Context, prefix string) (keys []string, err error) {
	return s.those(ctx, prefix, func(e store.Entry) (bool, error) {
		if !s.still(e) {
			return true, nil
		}
		_, err := s.Store.Commit(ctx, store.Op{Key: e.Key, Delete: true, If: store.At(e.Rev)})
		if errors.Is(err, store.ErrConflict) {
			return true, nil // it is back
		}
		return false, err
	})
}

// those returns the keys below a prefix of whose entries yes says so.
func (s *Store) those(
	ctx context.Context, prefix string, yes func(store.Entry) (bool, error),
) (keys []string, lost error) {
	there := make(map[string]bool)
	for e, err := range s.Scan(ctx, store.Range{Prefix: prefix}) {
		if err != nil {
			return nil, err
		}
		there[e.Key] = true
		ok, bad := yes(e)
		lost = errors.Join(lost, bad) // of this one: others are found
		if ok {
			keys = append(keys, e.Key)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.seen {
		if strings.HasPrefix(k, prefix) && !there[k] {
			delete(s.seen, k)
		}
	}
	return keys, lost
}

// Renew renews the leases that were not by a commit for a third of their time. One that
// cannot be is tried again with the next call.
func (s *Store) Renew(ctx context.Context) {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.held))
	s.mu.Unlock()
	for _, l := range all {
		if l.mu.TryLock() { // else a commit is under way, which renews it
			_ = l.freshLocked(ctx) // whoever works under it is told by its context
			l.mu.Unlock()
		}
	}
}

// Fresh returns nil while the lease is the caller's, if there is one: it was renewed in the last
// third of its time, or is now.
func (l *Lease) Fresh(ctx context.Context) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.freshLocked(ctx)
}

func (l *Lease) freshLocked(ctx context.Context) error {
	since := l.s.now().Sub(l.renewed) // negative if the clock was put back
	if l.lost != nil || !l.keep || since >= 0 && since < l.s.last/3 {
		return l.lost
	}
	_, err := l.commitLocked(ctx, nil)
	return err
}

// Keep says whether commits from now on keep the lease, or give it up.
func (l *Lease) Keep(keep bool) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep = keep
}

// Claimed reports whether there is a record of the lease, as far as its user knows.
func (l *Lease) Claimed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rev != 0
}

// Release gives the lease up, unless it is lost or was never taken.
func (l *Lease) Release(ctx context.Context) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rev == 0 || l.lost != nil {
		return nil
	}
	l.keep = false
	_, err := l.commitLocked(ctx, nil)
	return err
}

// commitLocked commits ops on condition of the lease.
func (l *Lease) commitLocked(ctx context.Context, ops []store.Op) (store.Revision, error) {
	if l.lost != nil {
		return 0, l.lost
	}
	own := store.Op{Key: l.key, Value: l.value, If: store.At(l.rev)}
	if !l.keep {
		own.Delete, own.Value = true, nil
	}
	at := l.s.now() // before others can see it
	rev, err := l.s.Store.Commit(ctx, append(slices.Clip(ops), own)...)
	if errors.Is(err, store.ErrConflict) {
		if err = l.whose(ctx, err); err == nil {
			return l.commitLocked(ctx, ops)
		}
	}
	if err != nil {
		return 0, err
	}
	if l.rev, l.renewed = rev, at; !l.keep {
		l.rev = 0
	}
	return rev, nil
}

// whose finds out whether a conflict was about the lease, which is then lost. It is nil if a
// commit of this one did take place, of which it was not told.
func (l *Lease) whose(ctx context.Context, conflict error) error {
	e, err := l.s.Get(ctx, l.key)
	if err != nil && !errors.Is(err, store.ErrNotFound) || e.Rev == l.rev {
		return conflict
	}
	var r record
	if err == nil {
		_ = codec.Decode(e, &r) // it is lost whoever has it
	}
	l.s.mu.Lock()
	current := l.s.held[l.key] == l
	l.s.mu.Unlock()
	if current && r == (record{l.s.name, l.s.born}) {
		l.rev = e.Rev
		return nil
	}
	l.lost = &Held{r.Owner}
	l.cancel(l.lost)
	return l.lost
}
