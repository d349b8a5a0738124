package meta

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/flush"
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
	if err := key.CheckID("Tenant", m.opts.Tenant); err != nil {
		return nil, fmt.Errorf("meta: open: %w: %w", ErrInvalid, err)
	}
	err := m.openBase(ctx, st)
	if err == nil && m.j == nil { // what others have left is for the only opener
		var some bool
		if some, err = m.journal(st).Leave(ctx); some && err == nil {
			m.all, err = m.readOdds(ctx, m.allKey())
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("meta: open: %w", err), m.w.Close())
	}
	return m, nil
}

// openBase is Open of a Monitor for which what Shared ones have left is nothing.
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
		e := Episode(*h.Episode)
		return m.recordEpisode(ctx, &e)
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

// Release forgets that outcomes of these keys were recorded in a session, and
// episodes of those keys, and nothing else: what they count for stays. It is for
// keys that will not come again.
func (m *Monitor) Release(ctx context.Context, session string, outcomes, episodes []string) error {
	if m.j != nil {
		return m.j.Change(ctx, m.catch, func(base *Monitor) error { return base.Release(ctx, session, outcomes, episodes) })
	}
	return m.inSession(ctx, "release", session, func(*history) error {
		var markers []string
		for _, k := range outcomes {
			markers = append(markers, m.seenKey(session, k))
		}
		for _, k := range episodes {
			markers = append(markers, m.episodeKey(k))
		}
		var ops []store.Op
		for _, k := range markers {
			found, err := m.decode(ctx, k, nil)
			if err != nil {
				return err
			}
			if found {
				ops = append(ops, store.Op{Key: k, Delete: true})
			}
		}
		return m.w.Add(ctx, ops...)
	})
}

// Forget removes a session with all its outcomes. What approaches have learned
// from them stays, which holds no text.
func (m *Monitor) Forget(ctx context.Context, session string) error {
	if m.j != nil {
		return m.j.Change(ctx, m.catch, func(base *Monitor) error { return base.Forget(ctx, session) })
	}
	return m.inSession(ctx, "forget", session, func(s *history) error {
		if err := m.w.Flush(ctx); err != nil {
			return err
		}
		ops := []store.Op{{Key: s.Key, Delete: true}}
		for _, of := range [...]string{"slot", "seen"} {
			for e, err := range m.st.Scan(ctx, store.Range{Prefix: key.Prefix(m.space, of, session)}) {
				if err != nil {
					return err
				}
				ops = append(ops, store.Op{Key: e.Key, Delete: true})
			}
		}
		m.sessions.Remove(session) // an error of Add may be that of others
		for group := range slices.Chunk(ops, forgotten) {
			if err := m.w.Add(ctx, group...); err != nil {
				return err
			}
		}
		return nil
	})
}

// forgotten is how many deletes join a group at once.
const forgotten = 256

// Retract takes the ending of a run from those of a scope.
func (m *Monitor) Retract(ctx context.Context, scope, run string) error {
	if m.j != nil {
		return m.j.Change(ctx, m.catch, func(base *Monitor) error { return base.Retract(ctx, scope, run) })
	}
	return m.exclusive(ctx, "retract", run, func() error {
		past, err := m.endings(ctx, scope)
		left := slices.DeleteFunc(slices.Clone(past), func(e Ending) bool { return e.Run == run })
		if err != nil || len(left) == len(past) {
			return err
		}
		return m.replace(ctx, left)
	})
}

// EntriesBelow yields what the store holds by scope, as it lies there: how runs ended in
// a scope and in those below it, and the experiments whose names begin so. It writes
// what is pending before, and ends after the first error.
func (m *Monitor) EntriesBelow(ctx context.Context, scope string, experiments ...string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := m.w.Flush(ctx); err != nil {
			yield(store.Entry{}, err)
			return
		}
		e, err := m.st.Get(ctx, m.pastKey(scope))
		if !errors.Is(err, store.ErrNotFound) && !yield(e, err) {
			return
		}
		prefixes := []string{m.pastKey(scope + "/")}
		for _, name := range experiments {
			prefixes = append(prefixes, m.treatmentKey(name))
		}
		for _, prefix := range prefixes {
			for e, err := range m.st.Scan(ctx, store.Range{Prefix: prefix}) {
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
	}
}

// ForgetBelow removes what EntriesBelow yields.
func (m *Monitor) ForgetBelow(ctx context.Context, scope string, experiments ...string) error {
	if m.j != nil {
		return m.j.Change(ctx, m.catch, func(base *Monitor) error { return base.ForgetBelow(ctx, scope, experiments...) })
	}
	return m.exclusive(ctx, "forget", scope, func() error {
		for e, err := range m.EntriesBelow(ctx, scope, experiments...) {
			if err == nil {
				err = m.w.Add(ctx, store.Op{Key: e.Key, Delete: true})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
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
