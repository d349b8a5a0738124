package meta

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/journal"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/uplift"
	"github.com/arc-learn/arc/store"
)

// Open returns the Monitor that st holds, empty if there is none. The caller closes
// the Monitor before the store.
func Open(ctx context.Context, st store.Store, opts *Options) (*Monitor, error) {
	m := &Monitor{turn: make(chan struct{}, 1)}
	if opts != nil {
		m.opts = *opts
	}
	if m.opts.Now == nil {
		m.opts.Now = time.Now
	}
	bad := key.CheckID("Tenant", m.opts.Tenant)
	if guard.IsNil(st) {
		bad = errors.Join(bad, errors.New("the store is nil"))
	}
	if bad != nil {
		return nil, fmt.Errorf("meta: open: %w: %w", ErrInvalid, bad)
	}
	err := m.openBase(ctx, st)
	if err == nil && m.j == nil { // what others have left is for the only opener
		var some bool
		if some, err = m.journal(st).Leave(ctx); some && err == nil {
			m.all, err = m.readOdds(ctx, m.allKey())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("meta: open: %w", err) // m.w, which others may share, has nothing of it
	}
	return m, nil
}

// openBase opens a Monitor that leaves the journal of Shared ones alone.
func (m *Monitor) openBase(ctx context.Context, st store.Store) (err error) {
	// These fail for a size of zero, and for limits below it.
	m.sessions, _ = simplelru.NewLRU[string, *history](loadedSessions, nil)
	m.odds, _ = simplelru.NewLRU[uint64, *odds](loadedSessions, nil)
	m.era = 1
	m.records = records{st: st, space: key.Under(m.opts.Tenant, "meta")}
	if m.opts.Shared {
		m.j = m.journal(st)
		m.st = m.j
	}
	m.w = flush.New(m.st)
	m.batch = flush.BatchOf(m.unpack)
	m.unlock()
	m.all, err = m.readOdds(ctx, m.allKey())
	return err
}

// takeIn counts an entry of the journal. The caller has the turn.
func (m *Monitor) takeIn(ctx context.Context, e store.Entry) error {
	var h happened
	if err := codec.Decode(e, &h); err != nil {
		return err
	}
	switch {
	case h.Outcome != nil:
		o := h.Outcome.given(h.Session)
		for _, k := range []string{m.seenKey(o.Session, o.Key), m.slotKey(o.Session, kept-1)} {
			if err := store.CheckKey(k); err != nil {
				return err
			}
		}
		return m.record(ctx, &o)
	case h.Ending != nil:
		return m.conclude(ctx, h.Scope, *h.Ending)
	case h.Episode != nil:
		return m.recordEpisode(ctx, h.Episode)
	}
	return fmt.Errorf("%w: %q says nothing", store.ErrDamaged, e.Key)
}

// Refresh takes in what Monitors of other openers have recorded: see Options.Shared. The
// caller says when, such as after a change of the store by others.
func (m *Monitor) Refresh(ctx context.Context) error {
	return m.j.Refresh(ctx, m.catch)
}

func (m *Monitor) catch(ctx context.Context) (n int, err error) {
	err = m.exclusive(ctx, "refresh", "", func() error {
		again := func() error {
			if err := m.w.Flush(ctx); err != nil {
				return err
			}
			m.sessions.Purge()
			m.odds.Purge()
			m.ended = ended{}
			m.all, err = m.readOdds(ctx, m.allKey())
			return err
		}
		n, err = m.j.Catch(ctx, again, func(e store.Entry) error { return m.takeIn(ctx, e) })
		return err
	})
	return n, err
}

// journal is that of all openers. What they have entered is counted by Monitors that are
// alone with a view of the store.
func (m *Monitor) journal(st store.Store) *journal.Journal[*Monitor] {
	o := m.opts
	o.Shared = false
	open := func(ctx context.Context, st store.Store) (*Monitor, error) {
		base := &Monitor{opts: o, turn: make(chan struct{}, 1)}
		return base, base.openBase(ctx, st)
	}
	return journal.New(st, m.space, open, (*Monitor).takeIn)
}

// amend calls fn with the Monitor that may change what the store keeps: m itself or,
// if there are several, one over the base of their journal.
func (m *Monitor) amend(ctx context.Context, verb, name string, fn func(*Monitor) error) error {
	if m.j != nil {
		return m.j.Change(ctx, m.catch, func(base *Monitor) error { return base.amend(ctx, verb, name, fn) })
	}
	return m.exclusive(ctx, verb, name, func() error { return fn(m) })
}

// Check returns store.ErrDamaged, or store.ErrNewer, for an entry that no Monitor of the
// tenant has written.
func Check(e store.Entry, tenant string) error {
	rest, ok := strings.CutPrefix(e.Key, key.Under(tenant, "meta", ""))
	p := key.Split(rest)
	family := fmt.Sprint(p[0], len(p)-1)
	var t totals
	var r record
	var o storedOdds
	var trial uplift.Trial
	var err error
	switch family {
	case "seen2", "episode1", "base0":
		ok = ok && bytes.Equal(e.Value, present)
	case "totals1":
		err = codec.Decode(e, &t)
		ok = ok && t.valid()
	case "slot2":
		err = codec.Decode(e, &r)
	case "odds1":
		err = codec.Decode(e, &o)
		_, valid := uplift.OddsOf(o.Counts)
		ok = ok && valid
	case "uplift1":
		err = codec.Decode(e, &trial)
		ok = ok && trial.Valid()
	case "past1":
		err = codec.Decode(e, new([]Ending))
	default: // of a part that is added later
		err = codec.Decode(e, new(any))
	}
	if err == nil && !ok {
		err = fmt.Errorf("%w: %q is not a monitor's", store.ErrDamaged, e.Key)
	}
	return err
}
