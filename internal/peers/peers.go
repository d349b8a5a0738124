// Package peers connects one opener of a store with the others: it announces itself, sees which others are
// alive, and follows what they commit.
package peers

import (
	"context"
	crand "crypto/rand"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/lease"
	"github.com/arc-learn/arc/internal/upkeep"
	"github.com/arc-learn/arc/store"
)

// keys lead from the name of an opener to its record, which it keeps writing while it is alive.
const keys = "arc/replica"

// Self is this opener. Join has to be called first, and once. The other methods except Meet are safe for
// concurrent use.
type Self struct {
	o    Options
	mark string                   // tells it from another of its name
	live atomic.Pointer[[]string] // names of the live openers, in order
	met  time.Time                // when Meet last looked
}

// Options configure a Self. All fields are required.
type Options struct {
	Name   string
	Lease  time.Duration // as that of Leases
	Leases *lease.Store
	Store  store.Store    // above Leases, for its record
	Upkeep *upkeep.Keeper // runs the goroutines
	Now    func() time.Time
	Logger *slog.Logger
	Hide   func(string) string // takes secrets out of an error

	// Hear is called with each change, in order. A change that is not fresh was committed before Join
	// returned, and can be read from the store by then.
	Hear func(e store.Entry, fresh bool)
	// Missed is called if changes may have been missed, after a fault.
	Missed func()
	// Changed is called when the set of live openers has changed.
	Changed func()
}

// New returns a Self that has not joined the others.
func New(o Options) *Self { return &Self{o: o, mark: crand.Text()} }

func (s *Self) mine() string { return key.Join(keys, s.o.Name) }

// touch writes the record of this opener.
func (s *Self) touch(ctx context.Context) (store.Revision, error) {
	return s.o.Store.Commit(ctx, store.Op{Key: s.mine(), Value: []byte(s.mark)})
}

// Join begins to follow the commits of others. It has to return before the store is read: what was
// committed earlier and not heard of can be read there.
func (s *Self) Join(ctx context.Context, w store.Watcher) error {
	from, err := s.touch(ctx)
	if err != nil {
		return err
	}
	s.o.Leases.Begin(from)
	first := make(chan struct{})
	warn := sync.OnceFunc(func() {
		s.o.Logger.Warn("another Agent is open under this name, and runs are with the one that was opened last: "+
			"each needs an Options.Replica of its own", "replica", s.o.Name)
	})
	s.o.Upkeep.Go(func() {
		heard, fresh := sync.OnceFunc(func() { close(first) }), false
		s.hear(w, from, func(e store.Entry) {
			if e.Key != s.mine() {
				s.o.Hear(e, fresh)
				return
			}
			fresh = true                                                // what was committed before is there to be read
			if heard(); len(e.Value) > 1 && string(e.Value) != s.mark { // not gone, or of before
				warn()
			}
		})
	})
	if _, err = s.touch(ctx); err != nil {
		return err
	}
	select {
	case <-first:
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.see(ctx)
}

// hear calls fn with each change after a revision, until the opener stops. A Watch that ends before is
// begun again at the last revision, and Missed is called, since deletions in between are not told.
func (s *Self) hear(w store.Watcher, whole store.Revision, fn func(store.Entry)) {
	ctx := s.o.Upkeep.Context()
	for again := false; ctx.Err() == nil; again = true {
		last, fresh := whole, again
		var ended error
		err := guard.Call(func() {
			for e, err := range w.Watch(ctx, "", whole) {
				if ended = err; err != nil {
					return
				}
				if fresh {
					fresh = false
					s.o.Missed()
				}
				if e.Rev != last { // the previous commit is complete
					whole, last = last, e.Rev
				}
				fn(e)
			}
		})
		if err = errors.Join(err, ended); ctx.Err() != nil || errors.Is(err, store.ErrClosed) {
			return
		}
		why := "it ended"
		if err != nil {
			why = s.o.Hide(err.Error())
		}
		s.o.Logger.Error("the store's changes could not be followed", "error", why)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// Meet announces this opener and looks for others, unless it did so within a third of a Lease.
func (s *Self) Meet(ctx context.Context) error {
	now := s.o.Now()
	if since := now.Sub(s.met); since >= 0 && since < s.o.Lease/3 { // negative: the clock was put back
		return nil
	}
	s.met = now
	_, err := s.touch(ctx)
	return errors.Join(err, s.see(ctx))
}

// see finds out which openers are alive.
func (s *Self) see(ctx context.Context) error {
	found, err := s.o.Leases.Live(ctx, key.Prefix(keys))
	if err != nil {
		return err
	}
	names := []string{s.o.Name}
	for _, k := range found {
		names = append(names, key.Split(k)[1])
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if before := s.live.Load(); before != nil && slices.Equal(*before, names) {
		return nil
	}
	s.live.Store(&names)
	s.o.Changed()
	return nil
}

// Names returns the live openers, in order; none before Join. It returns the same list until that changes.
func (s *Self) Names() *[]string { return s.live.Load() }

// Home returns the opener to which a thing belongs; "" before Join.
func (s *Self) Home(thing string) string {
	names := s.live.Load()
	if names == nil {
		return ""
	}
	return lease.Home(thing, *names)
}

// Depart deletes the record of this opener, so that the others do not wait until it lapses.
func (s *Self) Depart() {
	if s.live.Load() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = s.o.Store.Commit(ctx, store.Op{Key: s.mine(), Delete: true}) // if that fails it lapses
}
