// Package lease lets one of several openers of a store work on a thing at a time.
//
// A lease is a record that names its owner. Every commit under the context of a lease
// writes the record anew, on condition that it is as the owner wrote it last. So a
// commit renews the lease, and fails for good once another opener has taken the lease:
// the revision is the fencing token. An opener judges by its own clock alone whether an
// owner is gone: it has watched the record for as long as a lease lasts, and the record
// has not changed.
package lease

import (
	"bytes"
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

// Store is a store as one of its openers uses it. It is safe for concurrent use.
type Store struct {
	store.Store
	name string         // of the opener
	born store.Revision // of a commit by it: see Begin
	last time.Duration  // how long a lease lasts after it was renewed
	now  func() time.Time

	mu   sync.Mutex
	held map[string]*Lease // by key, those entered here
	seen map[string]sight  // by key, those of others
}

// sight is the revision of another opener's record, and when this opener saw it first.
type sight struct {
	rev   store.Revision
	since time.Time
}

type record struct {
	Owner string         `cbor:"170,keyasint,omitempty"`
	Born  store.Revision `cbor:"331,keyasint,omitempty"`
}

// Held is the error of a lease that another opener holds.
type Held struct{ Owner string }

// Error names the owner.
func (h *Held) Error() string { return fmt.Sprintf("replica %q has it", h.Owner) }

// New returns st as the opener with this name uses it. Its leases last for the duration last
// after each renewal.
func New(st store.Store, name string, last time.Duration, now func() time.Time) *Store {
	return &Store{
		Store: st, name: name, last: last, now: now, held: make(map[string]*Lease), seen: make(map[string]sight),
	}
}

// Begin is called first, with the revision of a commit by this opener. Of two openers with
// one name the later one takes the leases.
func (s *Store) Begin(at store.Revision) { s.born = at }

// Commit implements store.Store. Under the context of a lease it commits on condition that
// the lease still holds, and renews it.
func (s *Store) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	l := Of(ctx)
	if l == nil || len(ops) == 0 {
		return s.Store.Commit(ctx, ops...)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.commitLocked(ctx, ops)
}

// Lease is the right to work on something, or a claim to it until the first commit that keeps
// the lease. Fresh, Keep and Release do nothing on a nil Lease.
type Lease struct {
	s      *Store
	key    string
	value  []byte
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	rev     store.Revision // 0: there is no record
	keep    bool           // the next commit writes the record; else it deletes it
	renewed time.Time
	lost    error
}

type under struct{}

// Of returns the lease of a context, or nil.
func Of(ctx context.Context) *Lease {
	l, _ := ctx.Value(under{}).(*Lease)
	return l
}

// Enter returns a context that is under the lease of a key until Leave. The context ends with
// a *[Held] as its cause when the lease is lost. Enter itself returns a *Held while another
// opener holds the lease. It takes a lease that this opener has left behind, and one that has
// lapsed. The caller must not enter a key that it has entered and not left.
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

// Check returns a *[Held] while another opener holds the lease of a key. It does not take it.
func (s *Store) Check(ctx context.Context, key string) error {
	_, err := s.unheld(ctx, key)
	return err
}

// unheld returns the record of a key, or the zero Entry if there is none. The error is a *Held
// while another opener holds the lease.
func (s *Store) unheld(ctx context.Context, key string) (store.Entry, error) {
	e, err := s.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return store.Entry{}, nil
	}
	if err != nil {
		return e, err
	}
	if free, owner, _ := s.free(e); !free { // a damaged one lapses too
		return e, &Held{owner}
	}
	return e, nil
}

// Leave ends the work under a lease. It leaves the record in the store.
func (s *Store) Leave(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.held[key]; l != nil {
		l.cancel(nil)
		delete(s.held, key)
	}
}

// Alone calls do under the lease of a key, and releases it afterwards. The error is a *[Held]
// while another opener holds the lease. A nil Store has no other openers: it just calls do.
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
		_ = l.Release(ctx) // if that fails, the lease lapses
		s.Leave(key)
	}()
	if err = l.Fresh(ctx); err != nil {
		return err
	}
	return do(ctx)
}

// free reports whether this opener may take the lease of a record, and returns its owner. One that cannot be read is
// another's, and damage until it has lapsed.
func (s *Store) free(e store.Entry) (free bool, owner string, damage error) {
	var r record
	if damage = codec.Decode(e, &r); damage == nil && r.Owner == s.name && r.Born <= s.born || s.still(e) {
		return true, r.Owner, nil
	}
	return false, r.Owner, damage
}

// still reports whether this opener has watched an entry for as long as a lease lasts, and
// the entry has not changed.
func (s *Store) still(e store.Entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if at, ok := s.seen[e.Key]; ok && at.rev == e.Rev && !now.Before(at.since) { // before: the clock was put back
		return now.Sub(at.since) >= s.last
	}
	s.seen[e.Key] = sight{e.Rev, now}
	return false
}

// Lapsed returns the keys below a prefix whose leases this opener may take. It has to be
// polled: a lease that it sees for the first time has not lapsed.
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

// Live returns, in order, the keys below a prefix whose entries have changed within the time of
// a lease: each opener writes one of its own as often as it renews leases. It deletes the
// others. It has to be polled, as Lapsed.
func (s *Store) Live(ctx context.Context, prefix string) (keys []string, err error) {
	return s.those(ctx, prefix, func(e store.Entry) (bool, error) {
		if !s.still(e) {
			return true, nil
		}
		_, err := s.Store.Commit(ctx, store.Op{Key: e.Key, Delete: true, If: store.At(e.Rev)})
		if errors.Is(err, store.ErrConflict) {
			return true, nil // written meanwhile: its opener is alive
		}
		return false, err
	})
}

// those returns the keys below a prefix for whose entries yes returns true.
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
		lost = errors.Join(lost, bad) // one bad entry does not hide the others
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

// Renew renews, all at once, the leases that no commit has renewed for a third of their time. A renewal that
// fails is tried again by the next call.
func (s *Store) Renew(ctx context.Context) {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.held))
	s.mu.Unlock()
	var every sync.WaitGroup // in turns, a slow store would let the last lapse
	for _, l := range all {
		every.Go(func() {
			if l.mu.TryLock() { // if locked, a commit is in flight, which renews it
				_ = l.freshLocked(ctx) // a loss ends the lease's context
				l.mu.Unlock()
			}
		})
	}
	every.Wait()
}

// Fresh returns nil if the lease was renewed within a third of its time, and renews it if not.
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

// Keep sets whether later commits keep the lease or release it.
func (l *Lease) Keep(keep bool) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep = keep
}

// Claimed reports whether the lease has a record, as of its last commit here.
func (l *Lease) Claimed() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rev != 0
}

// Release deletes the record of the lease, unless the lease is lost or was never taken. It does so
// though ctx has ended, and gives up after a third of the lease's time.
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.s.last/3)
	defer cancel()
	_, err := l.commitLocked(ctx, nil)
	return err
}

// commitLocked commits ops on condition that the lease holds.
func (l *Lease) commitLocked(ctx context.Context, ops []store.Op) (store.Revision, error) {
	if l.lost != nil {
		return 0, l.lost
	}
	own := store.Op{Key: l.key, Value: l.value, If: store.At(l.rev)}
	if !l.keep {
		own.Delete, own.Value = true, nil
	}
	at := l.s.now() // not later than others can see the commit
	rev, err := l.s.Store.Commit(ctx, append(slices.Clip(ops), own)...)
	if errors.Is(err, store.ErrConflict) {
		if before, ok := l.released(ctx, ops); ok {
			rev, err = before, nil
		} else if err = l.whose(ctx, err); err == nil {
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

// released reports whether an earlier commit of these ops has released the lease, though it returned an error: there is
// no record, and the ops stand in the store. It returns the revision of the first write.
func (l *Lease) released(ctx context.Context, ops []store.Op) (rev store.Revision, ok bool) {
	if _, err := l.s.Get(ctx, l.key); l.keep || !errors.Is(err, store.ErrNotFound) {
		return 0, false
	}
	for _, op := range ops {
		e, err := l.s.Get(ctx, op.Key)
		if op.Delete != errors.Is(err, store.ErrNotFound) || !op.Delete && (err != nil || !bytes.Equal(e.Value, op.Value)) {
			return 0, false
		}
		if rev == 0 {
			rev = e.Rev
		}
	}
	return rev, true
}

// whose finds out whether a conflict was about the lease, which is then lost. It returns nil if
// an earlier commit under this lease has succeeded though it returned an error: the caller
// can try again.
func (l *Lease) whose(ctx context.Context, conflict error) error {
	e, err := l.s.Get(ctx, l.key)
	if err != nil && !errors.Is(err, store.ErrNotFound) || e.Rev == l.rev {
		return conflict
	}
	var r record
	if err == nil {
		_ = codec.Decode(e, &r) // of a damaged record the owner is unknown; it is lost anyway
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
