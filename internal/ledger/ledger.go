// Package ledger keeps what runs have used of the budgets that they share.
//
// An attempt reserves its price before it begins, and the commit after it settles what the
// run has used. Openers that share a store write a ledger on condition that it has not changed
// since they read it; an opener that has the store alone writes it behind.
package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// Keys is the part of a ledger's key behind the tenant. The kind and the name of what shares the
// budget follow.
const Keys = "ledger"

// ledger is what the runs that share a budget have used.
type ledger struct {
	Runs int    `cbor:"75,keyasint,omitempty"`
	Used Amount `cbor:"76,keyasint,omitempty"`
	Day  int64  `cbor:"77,keyasint,omitempty"` // see Share
	Held []hold `cbor:"240,keyasint,omitempty"`

	rev store.Revision // at which it was read or written last
}

// hold is what a run has reserved for its attempt in flight.
type hold struct {
	Run   string `cbor:"241,keyasint,omitempty"`
	Price Amount `cbor:"242,keyasint,omitempty"`
}

// letGo removes the reservation of a run, and reports whether there was one.
func (l *ledger) letGo(run string) bool {
	n := len(l.Held)
	l.Held = slices.DeleteFunc(l.Held, func(h hold) bool { return h.Run == run })
	return len(l.Held) < n
}

// held returns the sum of all reservations.
func (l *ledger) held() (all Amount) {
	for _, h := range l.Held {
		all = all.Plus(h.Price)
	}
	return all
}

// purse returns what the runs may spend on average, and what they have spent or reserved.
func (l *ledger) purse(each float64) rank.Purse {
	return rank.Purse{Each: each, Tasks: l.Runs, Spent: l.Used.Plus(l.held()).CostUSD}
}

// Share is a ledger that a run draws on, and the bound of it.
type Share struct {
	Key   string // of the store
	Bound Amount
	Day   int64   // days since 1970: the bound holds for this day; 0: for all time
	Each  float64 // of a purse: US dollars for each run; 0: no purse
}

// counts reports whether what was used counts against a bound of the ledger.
func (s *Share) counts(used Amount) bool {
	for _, f := range fields() {
		if f.of(s.Bound) != 0 && f.of(used) != 0 {
			return true
		}
	}
	return s.Each != 0 && used.CostUSD != 0
}

// lacks returns why a ledger has no room for an attempt, or "". Cost is what the run has cost so
// far, in US dollars, price what the attempt takes.
func (s *Share) lacks(l *ledger, cost float64, price Amount) string {
	held := l.held()
	if p := l.purse(s.Each); s.Each != 0 && !p.Affords(cost, price.CostUSD) {
		return fmt.Sprintf("takes about %s, and %d runs have used %s and reserved %s of a budget of %s each",
			dollars(price.CostUSD), p.Tasks, dollars(l.Used.CostUSD), dollars(held.CostUSD), dollars(s.Each))
	}
	return s.Bound.Lacks("the "+s.sharer(), l.Used, held, price)
}

// sharer returns the kind of what shares the ledger: a session, a scope, a day.
func (s *Share) sharer() string {
	parts := key.Split(s.Key)
	return parts[len(parts)-2]
}

// Book has the ledgers of a tenant. Where several openers share them it has them as they were
// read last. It is safe for concurrent use.
type Book struct {
	st     store.Store
	w      *flush.Writer
	prefix string
	shared bool // by several openers

	turn chan struct{} // a lock for the maps; it is held during commits
	at   map[string]*ledger
	// torn are the ledgers that are damaged, with the Day of the Share that has met that first.
	torn map[string]int64
}

// Open returns the ledgers of a tenant. Shared says that other openers use the store too.
func Open(st store.Store, w *flush.Writer, tenant string, shared bool) *Book {
	return &Book{
		st: st, w: w, prefix: key.Under(tenant, Keys, ""), shared: shared,
		turn: make(chan struct{}, 1), at: make(map[string]*ledger), torn: make(map[string]int64),
	}
}

// Check returns an error if an entry does not decode as a ledger.
func Check(e store.Entry) error { return codec.Decode(e, new(ledger)) }

// lock waits for the turn, until ctx ends.
func (b *Book) lock(ctx context.Context) error {
	select {
	case b.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *Book) unlock() { <-b.turn }

// post writes ledgers: at once if openers share them, else behind.
func (b *Book) post(ctx context.Context, ops ...store.Op) (rev store.Revision, err error) {
	switch {
	case len(ops) == 0:
		return 0, nil
	case b.shared:
		rev, err = b.st.Commit(ctx, ops...)
	default:
		err = b.w.Add(ctx, ops...)
	}
	if err != nil {
		err = fmt.Errorf("budget: %w", err)
	}
	return rev, err
}

// Damaged returns what shares each ledger that the last call on it found damaged, in order: "day", "session s".
func (b *Book) Damaged(ctx context.Context) (sharers []string, err error) {
	if err := b.lock(ctx); err != nil {
		return nil, err
	}
	defer b.unlock()
	for _, k := range slices.Sorted(maps.Keys(b.torn)) {
		sharers = append(sharers, strings.TrimSpace(strings.Join(key.Split(strings.TrimPrefix(k, b.prefix)), " ")))
	}
	return sharers, nil
}

// ledgerLocked returns a ledger, from the store unless it is in memory. One that is damaged is an error: how much
// is left is unknown. That of a day begins anew on the next one.
func (b *Book) ledgerLocked(ctx context.Context, s Share) (*ledger, error) {
	l := b.at[s.Key]
	if l == nil {
		l = new(ledger)
		e, err := b.st.Get(ctx, s.Key)
		if err == nil {
			err = codec.Decode(e, l)
		}
		if errors.Is(err, store.ErrDamaged) {
			if day, met := b.torn[s.Key]; !met {
				b.torn[s.Key] = s.Day
			} else if s.Day > day {
				*l, err = ledger{}, nil
			}
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, fmt.Errorf("budget: %w", err)
		}
		delete(b.torn, s.Key)
		if l.rev = e.Rev; !b.shared {
			l.Held = nil // reserved by an earlier opener
		}
		b.at[s.Key] = l
	}
	if l.Day < s.Day || l.Day > s.Day+1 { // another opener's clock may be ahead, by less than a day
		*l = ledger{Day: s.Day, Held: l.Held, rev: l.rev}
	}
	return l, nil
}

// amend passes a copy of each ledger to change, and those for which change returns true to
// keep, which writes them. Where openers share the ledgers, the ops are conditional on the
// ledgers that change has seen; if another opener has written one, both are called again.
func (b *Book) amend(
	ctx context.Context, shares []Share, change func(Share, *ledger) (bool, error), keep Commit,
) error {
	if err := b.lock(ctx); err != nil {
		return err
	}
	defer b.unlock()
	for {
		var ops []store.Op
		var was, is []*ledger
		var of []Share // parallel to was and is
		for _, s := range shares {
			l, err := b.ledgerLocked(ctx, s)
			if err != nil {
				return err
			}
			n := *l
			n.Held = slices.Clone(l.Held)
			changed, err := change(s, &n)
			if err != nil {
				return err
			}
			if !changed {
				continue
			}
			op, kept := store.Op{Key: s.Key, If: store.At(l.rev)}, n
			if !b.shared {
				op.If, kept.Held = store.Any, nil
			}
			if op.Value, err = codec.Encode(s.Key, &kept); err != nil {
				return fmt.Errorf("budget: %w", err)
			}
			ops, was, is, of = append(ops, op), append(was, l), append(is, &n), append(of, s)
		}
		for i, s := range of {
			b.at[s.Key] = is[i]
		}
		rev, err := keep(ctx, ops...)
		if !b.shared || err == nil {
			for i := range is {
				is[i].rev = rev
			}
			return err
		}
		others := false
		for i, s := range of {
			delete(b.at, s.Key)
			l, look := b.ledgerLocked(ctx, s)
			others = others || look == nil && l.rev != was[i].rev
		}
		if !others || !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// Commit commits a run together with the ops of ledgers.
type Commit = func(ctx context.Context, ops ...store.Op) (store.Revision, error)

// Bill is what a run has to settle.
type Bill struct {
	Run    string
	Begins bool   // this is the run's first commit
	Since  Amount // used since the run was last settled
	Done   bool   // the run needs its reservation no longer
}

// Settle calls keep to commit the run of a bill, and adds what it has used to its ledgers. Openers
// that share ledgers write them in the same commit, if a bound depends on what was used. It
// reports whether the bill is settled.
func (b *Book) Settle(ctx context.Context, shares []Share, bill Bill, keep Commit) (settled bool, err error) {
	if len(shares) == 0 {
		_, err := keep(ctx)
		return false, err
	}
	counts := bill.Begins || !b.shared || slices.ContainsFunc(shares, func(s Share) bool { return s.counts(bill.Since) })
	change := func(_ Share, l *ledger) (bool, error) {
		released := bill.Done && l.letGo(bill.Run)
		if bill.Begins {
			l.Runs++
		}
		l.Used = l.Used.Plus(bill.Since)
		return counts || released, nil
	}
	if b.shared {
		err := b.amend(ctx, shares, change, func(ctx context.Context, ops ...store.Op) (store.Revision, error) {
			rev, err := keep(ctx, ops...)
			settled = err == nil && len(ops) > 0
			return rev, err
		})
		return settled, err
	}
	var behind error // of an earlier write behind: it does not keep this run from its commit
	err = b.amend(ctx, shares, change, func(ctx context.Context, ops ...store.Op) (store.Revision, error) {
		_, behind = b.post(ctx, ops...)
		return 0, nil
	})
	if err == nil {
		_, err = keep(ctx)
	}
	return true, cmp.Or(err, behind)
}

// Reached returns a text that names the first bound of the ledgers that is reached, or "".
func (b *Book) Reached(ctx context.Context, shares []Share) (string, error) {
	if err := b.lock(ctx); err != nil {
		return "", err
	}
	defer b.unlock()
	for _, s := range shares {
		if b.shared {
			delete(b.at, s.Key) // another opener may have written it
		}
		l, err := b.ledgerLocked(ctx, s)
		if err != nil {
			return "", err
		}
		if why := s.Bound.Reached(l.Used); why != "" {
			return s.sharer() + " " + why, nil
		}
	}
	return "", nil
}

// Lacks returns why the first ledger without room for an attempt has none, or "". Cost is what
// the run has cost so far, in US dollars, price what the attempt takes.
func (b *Book) Lacks(ctx context.Context, shares []Share, cost float64, price Amount) (string, error) {
	if err := b.lock(ctx); err != nil {
		return "", err
	}
	defer b.unlock()
	for _, s := range shares {
		l, err := b.ledgerLocked(ctx, s)
		if err != nil {
			return "", err
		}
		if why := s.lacks(l, cost, price); why != "" {
			return why, nil
		}
	}
	return "", nil
}

// Purse returns what the runs of a share may spend on average, and what they have spent.
func (b *Book) Purse(ctx context.Context, s Share) (rank.Purse, error) {
	if err := b.lock(ctx); err != nil {
		return rank.Purse{}, err
	}
	defer b.unlock()
	l, err := b.ledgerLocked(ctx, s)
	if err != nil {
		return rank.Purse{}, err
	}
	return l.purse(s.Each), nil
}

var errFull = errors.New("the budget has no room")

// Reserve reserves the price of an attempt, in place of what the run had reserved, until the run
// is settled. Cost is what the run has
// cost so far, in US dollars. It reports false if a ledger has no room for it.
func (b *Book) Reserve(ctx context.Context, shares []Share, run string, cost float64, price Amount) (bool, error) {
	err := b.amend(ctx, shares, func(s Share, l *ledger) (bool, error) {
		if l.letGo(run); s.lacks(l, cost, price) != "" {
			return false, errFull
		}
		l.Held = append(l.Held, hold{run, price})
		return true, nil
	}, b.post)
	if errors.Is(err, errFull) {
		return false, nil
	}
	return err == nil, err
}

// Release removes what a run has reserved and will not use.
func (b *Book) Release(ctx context.Context, shares []Share, run string) error {
	return b.amend(ctx, shares, func(_ Share, l *ledger) (bool, error) { return l.letGo(run), nil }, b.post)
}

// Drop forgets the ledger of a session, and returns the op that deletes it.
func (b *Book) Drop(ctx context.Context, session string) (op store.Op, err error) {
	if err := b.lock(ctx); err != nil {
		return op, err
	}
	defer b.unlock()
	k := b.prefix + key.Join("session", session)
	delete(b.at, k)
	return store.Op{Key: k, Delete: true}, nil
}

// Erase deletes the ledgers for whose kind and name which returns true.
func (b *Book) Erase(ctx context.Context, which func(kind, name string) bool) error {
	if err := b.lock(ctx); err != nil {
		return err
	}
	defer b.unlock()
	if err := b.w.Flush(ctx); err != nil {
		return err
	}
	for e, err := range b.st.Scan(ctx, store.Range{Prefix: b.prefix}) {
		if err != nil {
			return err
		}
		parts := key.Split(e.Key)
		if n := len(parts); !which(parts[n-2], parts[n-1]) {
			continue
		}
		delete(b.at, e.Key)
		if err := b.w.Add(ctx, store.Op{Key: e.Key, Delete: true}); err != nil {
			return err
		}
	}
	return nil
}
