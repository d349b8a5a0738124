package meta

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/internal/journal"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/uplift"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// Options of a [Monitor]. Nil and the zero value are the defaults.
type Options struct {
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Sanitizer takes secrets out of texts; nil: the zero Sanitizer.
	Sanitizer *redact.Sanitizer
	// Shared: several processes have a Monitor of the Tenant open, all of them Shared.
	// Each enters its records in a journal, which is folded now and then.
	// [Monitor.Refresh] takes in what the others have entered.
	Shared bool
	// Tenant whose sessions and experiments they are, as memory.Scope.Tenant has it:
	// Monitors of several tenants share a store and see nothing of one another. "":
	// of none.
	Tenant string
}

// loadedSessions is the number of sessions, and of approaches, that stay in
// memory: those used last.
const loadedSessions = 4096

// Monitor keeps the outcomes of sessions and assesses them. It keeps experiments and
// endings, too. It may be used concurrently. It reads a session from the store when
// the session is first named; the last 4096 stay in memory.
type Monitor struct {
	opts Options
	turn chan struct{} // holds one token; its holder has the fields up to batch

	j *journal.Journal[*Monitor] // nil: this is the only opener; else st is its view
	records
	closed   bool
	sessions *simplelru.LRU[string, *history]
	odds     *simplelru.LRU[uint64, *odds] // by approach
	all      *odds                         // of all approaches together
	begun    digests                       // outcomes of sessions that began in the era
	era      int

	batch flush.Batch
	// The Writer's lock guards these: outcomes whose group is not written yet, and what
	// they become.
	fresh []entered
	texts block

	clean [64]atomic.Pointer[string] // texts without secrets, by their hash
}

// mostBegun bounds what is known of the outcomes of sessions that began in an era.
const mostBegun = 1 << 19

// recorded reports whether an outcome may have been recorded. Of a session that began in
// the era this is known without the store.
func (m *Monitor) recorded(ctx context.Context, s *history, o *Outcome) (bool, error) {
	if s.era == m.era && m.begun.add(uint32(s.salt^maphash.String(seed, o.Key))) {
		if m.begun.n > mostBegun {
			m.begun, m.era = digests{}, m.era+1
		}
		return false, nil
	}
	return m.found(ctx, m.seenKey(o.Session, o.Key))
}

// digests is a set that adds in a few nanoseconds. At most three quarters of its table,
// whose length is a power of two, are taken; zero is not.
type digests struct {
	table []uint32
	n     int
}

// add reports whether the digest was not there. Another may have been taken for it.
func (d *digests) add(digest uint32) bool {
	if 4*d.n >= 3*len(d.table) {
		old := d.table
		d.table, d.n = make([]uint32, max(64, 2*len(old))), 0
		for _, o := range old {
			if o != 0 {
				d.add(o)
			}
		}
	}
	digest = max(1, digest)
	last := uint32(len(d.table) - 1)
	i := digest & last
	for ; d.table[i] != 0; i = (i + 1) & last {
		if d.table[i] == digest {
			return false
		}
	}
	d.table[i] = digest
	d.n++
	return true
}

// mostClean bounds the texts that are known to have no secrets, in bytes.
const mostClean = 256

// sanitize takes secrets out of a text. One that had none is known for a while: sessions
// repeat their goals and approaches.
func (m *Monitor) sanitize(text string) string {
	if text == "" {
		return text
	}
	known := &m.clean[maphash.String(seed, text)%uint64(len(m.clean))]
	if k := known.Load(); k != nil && *k == text {
		return text
	}
	clean := m.opts.Sanitizer.Sanitize(strings.ToValidUTF8(text, "\uFFFD"))
	if clean == text && len(text) <= mostClean {
		own := strings.Clone(text) // it may be part of a longer one
		known.Store(&own)
	}
	return clean
}

// exclusive calls fn with the turn, which one call at a time has. An error names the
// verb and its object.
func (m *Monitor) exclusive(ctx context.Context, verb, name string, fn func() error) error {
	err := store.CheckContext(ctx)
	if err == nil {
		select {
		case <-m.turn:
			defer m.unlock()
			if err = store.ErrClosed; !m.closed {
				err = fn()
			}
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		return fmt.Errorf("%s %.64q: %w", verb, name, err)
	}
	return nil
}

func (m *Monitor) unlock() { m.turn <- struct{}{} }

// inSession is exclusive with a session.
func (m *Monitor) inSession(ctx context.Context, verb, name string, fn func(*history) error) error {
	return m.exclusive(ctx, verb, name, func() error {
		s, err := m.session(ctx, name)
		if err == nil {
			err = fn(s)
		}
		return err
	})
}

// session returns a session, from the store unless it is in memory: of one that is damaged in part
// what can be read. The caller has the turn.
func (m *Monitor) session(ctx context.Context, name string) (*history, error) {
	if s, ok := m.sessions.Get(name); ok {
		return s, nil
	}
	if err := checkName("session", name); err != nil {
		return nil, err
	}
	s := newHistory(m.totalsKey(name))
	found, err := m.decode(ctx, s.Key, &s.totals)
	t := s.totals
	damaged := errors.Is(err, store.ErrDamaged)
	if err != nil && !damaged {
		return nil, err
	}
	whole, err := m.replay(ctx, name, s, t)
	if err != nil {
		return nil, err
	}
	if damaged || found && (!t.valid() || whole && s.totals.Failures != min(t.Failures, kept)) {
		if t, err = m.recount(ctx, name); err != nil {
			return nil, err
		}
		if _, err = m.replay(ctx, name, s, t); err != nil {
			return nil, err
		}
	}
	s.totals = t
	if s.unpacked = t.Outcomes; !found && !damaged {
		s.era = m.era
	}
	m.sessions.Add(name, s)
	return s, nil
}

// replay adds the outcomes that are kept to an empty session, and reports whether none was left out
// since it is damaged.
func (m *Monitor) replay(ctx context.Context, name string, s *history, t totals) (whole bool, err error) {
	s.totals, s.tries = totals{}, nil
	whole = true
	for n := t.Outcomes - min(t.Outcomes, kept); n < t.Outcomes; n++ {
		var r record
		found, err := m.decode(ctx, m.slotKey(name, n), &r)
		switch {
		case err != nil && !errors.Is(err, store.ErrDamaged):
			return false, err
		case !found || r.Number != n:
			whole = false
		default:
			s.add(&r, failureOf(r.Goal, r.Approach))
		}
	}
	return whole, nil
}

// recount returns the counts of the outcomes that are kept, for totals that are damaged.
func (m *Monitor) recount(ctx context.Context, name string) (t totals, err error) {
	var all []record
	for n := range uint64(kept) {
		var r record
		found, err := m.decode(ctx, m.slotKey(name, n), &r)
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return t, err
		}
		if found && r.Number%kept == n && r.Number < maxOutcomes {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b record) int { return cmp.Compare(a.Number, b.Number) })
	for _, r := range all {
		t = t.next(r.Success)
		t.Outcomes = r.Number + 1
	}
	return t, nil
}

// oddsOf returns the odds of an approach, empty ones if there are none. The
// caller has the turn.
func (m *Monitor) oddsOf(ctx context.Context, approach uint64) (*odds, error) {
	if o, ok := m.odds.Get(approach); ok {
		return o, nil
	}
	o, err := m.readOdds(ctx, m.oddsKey(approach))
	if err == nil {
		m.odds.Add(approach, o)
	}
	return o, err
}

// readOdds reads the odds of a key, empty ones if it has none or if they are damaged.
func (m *Monitor) readOdds(ctx context.Context, k string) (*odds, error) {
	var s storedOdds
	found, err := m.decode(ctx, k, &s)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return nil, err
	}
	counts, ok := uplift.OddsOf(s.Counts)
	if !found || !ok {
		return newOdds(k, uplift.Odds{}, nil), nil
	}
	return newOdds(k, counts, s.Pulse), nil
}

// enterEvent has something in the journal, under an id of its own.
func (m *Monitor) enterEvent(ctx context.Context, h *happened, id ...string) error {
	return m.j.Add(ctx, key.Join(id...), h)
}

// Resonance returns the last 64 resonances that were recorded, of all sessions,
// oldest first, to two decimals.
func (m *Monitor) Resonance() []float64 {
	<-m.turn
	defer m.unlock()
	out := make([]float64, len(m.all.pulse))
	for i, b := range m.all.pulse {
		out[i] = min(1, float64(b)/100)
	}
	return out
}

// Flush writes every outcome that is not in the store yet, and waits for it.
func (m *Monitor) Flush(ctx context.Context) error {
	if m.j != nil {
		return errors.Join(m.w.Flush(ctx), m.j.Flush(ctx))
	}
	return m.w.Flush(ctx)
}

// Close flushes and stops; it does not close the store. Later calls that record,
// assess or change return store.ErrClosed. It is idempotent.
func (m *Monitor) Close() error {
	<-m.turn
	m.closed = true
	m.unlock()
	if m.j != nil {
		return errors.Join(m.w.Close(), m.j.Stop())
	}
	return m.w.Close()
}
