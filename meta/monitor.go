package meta

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/internal/journal"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// Options of a [Monitor]. Nil and the zero value are the defaults.
type Options struct {
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Sanitizer takes secrets out of texts; nil: the zero Sanitizer.
	Sanitizer *redact.Sanitizer
	// Apply makes the change of an approved proposal, all of it or nothing, and
	// returns the change that would undo it; nil if nothing can. It has one
	// minute. Apply is called again with the same ID if the process ended before
	// the Monitor had noted its answer. Nil: no proposal can be approved.
	Apply func(ctx context.Context, p Proposal) (undo json.RawMessage, err error)
	// Shared says that the store has several openers with a Monitor of the Tenant, all
	// Shared. What each records is entered beside what the others do, and folded
	// together now and then; [Monitor.Refresh] sees what is new of them.
	Shared bool
	// Tenant whose sessions, experiments and proposals they are, as
	// memory.Scope.Tenant has it: Monitors of several tenants share a store and
	// see nothing of one another. "": of none.
	Tenant string
}

// loadedSessions is the number of sessions, and of approaches, that stay in
// memory: those used last.
const loadedSessions = 4096

// Monitor keeps the outcomes of sessions and assesses them, and with them
// experiments and proposals. It may be used concurrently. It reads a session
// from the store when the session is first named; the last 4096 stay in memory.
type Monitor struct {
	opts Options
	turn chan struct{} // holds one token; its holder has the five fields below

	j *journal.Journal[*Monitor] // nil: this is the only opener; else st is its view
	records
	closed   bool
	sessions *simplelru.LRU[string, *history]
	odds     *simplelru.LRU[uint64, *odds] // by approach
	all      *odds                         // of all approaches together
	write    struct {                      // what an outcome writes
		totals   totals
		record   record
		all, own storedOdds
	}
}

// Open returns the Monitor that st holds, empty if there is none, and has
// Options.Apply finish the proposals that were approved when their process
// ended. The caller closes the Monitor before the store.
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
	if err == nil {
		err = m.finishProposals(ctx)
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
	m.records = records{st: st, space: key.Under(m.opts.Tenant, "meta")}
	if m.opts.Shared {
		m.j = m.journal(st)
		m.st = m.j
	}
	m.w = flush.New(m.st)
	m.unlock()
	m.all, err = m.readOdds(ctx, m.allKey())
	return err
}

// exclusive calls fn with the turn, which one call at a time has. An error says
// what was to be done, and with what.
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
		err := checkName("session", name)
		if err != nil {
			return err
		}
		s, err := m.session(ctx, name)
		if err != nil {
			return err
		}
		return fn(s)
	})
}

// Record adds an outcome to its session. It is idempotent on o.Key within the
// session for all time. The outcome counts at once, and is written within
// 50 ms together with others; [Monitor.Flush] waits for that. The next call
// reports an earlier outcome that could not be written, and its own outcome
// counts all the same; a call with the same Key is always safe.
//
// It returns ErrInvalid or a *store.LimitError for a bad outcome,
// store.ErrClosed, and the errors of the store.
func (m *Monitor) Record(ctx context.Context, o Outcome) error {
	if o.At.IsZero() {
		o.At = m.opts.Now()
	}
	if err := o.check(); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	for _, text := range []*string{&o.Goal, &o.Approach, &o.Note} {
		*text = m.opts.Sanitizer.Sanitize(strings.ToValidUTF8(*text, "\uFFFD"))
	}
	return m.exclusive(ctx, "record", o.Key, func() error {
		if m.j != nil {
			r := o.record(0)
			if err := m.enterEvent(ctx, &happened{Session: o.Session, Outcome: &r}, "outcome", o.Session, o.Key); err != nil {
				return err
			}
		}
		return m.record(ctx, &o)
	})
}

// record counts an outcome once its records are on their way. The caller has
// the turn.
func (m *Monitor) record(ctx context.Context, o *Outcome) error {
	loaded := m.sessions.Contains(o.Session)
	s, err := m.session(ctx, o.Session)
	if err != nil {
		return err
	}
	seen, slot := m.outcomeKeys(o.Session, o.Key, s.totals.Outcomes)
	if loaded || s.totals.Outcomes > 0 { // a session that the store does not know has none
		if found, err := m.found(ctx, seen); found || err != nil {
			return err
		}
	}
	own, err := m.oddsOf(ctx, approachKey(o.Approach))
	if err != nil {
		return err
	}
	same, all := s.tried(failureOf(o.Goal, o.Approach))
	ofAll, ofOwn := *m.all, *own
	ofAll.Odds, ofOwn.Odds = ofAll.After(same, all, o.Success), ofOwn.After(same, all, o.Success)
	if o.Resonance != nil {
		older := ofAll.pulse[max(0, len(ofAll.pulse)+1-pulseLength):]
		ofAll.pulse = append(older, byte(math.Round(100**o.Resonance)))
	}
	w := &m.write
	w.totals, w.record = s.totals.next(o.Success), o.record(s.totals.Outcomes)
	w.all, w.own = storedOdds{ofAll.Append(w.all.Counts[:0]), ofAll.pulse}, storedOdds{Counts: ofOwn.Append(w.own.Counts[:0])}
	added, err := m.add(ctx, seen,
		put{s.key, &w.totals}, put{slot, &w.record},
		put{ofAll.key, &w.all}, put{ofOwn.key, &w.own})
	if added {
		s.add(o.Success, o.Goal, o.Approach, o.At.UnixNano())
		*m.all, *own = ofAll, ofOwn
	}
	return err
}

// record returns what is stored of the outcome.
func (o *Outcome) record(number uint64) record {
	return record{number, o.At.UnixNano(), o.Success, o.Key, o.Goal, o.Approach, o.Note, o.Resonance}
}

// given is the opposite of Outcome.record.
func (r *record) given(session string) Outcome {
	return Outcome{
		Key: r.Key, Session: session, Goal: r.Goal, Approach: r.Approach, Success: r.Success,
		Resonance: r.Resonance, Note: r.Note, At: time.Unix(0, r.At).UTC(),
	}
}

// Outcomes yields the outcomes that are kept, the last 256 of each session, by
// session and in the order in which they were recorded. It writes what is pending
// and reads the store. It yields the errors of the store, and then ends.
func (m *Monitor) Outcomes(ctx context.Context) iter.Seq2[Outcome, error] {
	return func(yield func(Outcome, error) bool) {
		if err := m.w.Flush(ctx); err != nil {
			yield(Outcome{}, fmt.Errorf("outcomes: %w", err))
			return
		}
		var session string
		var kept []record
		give := func() bool {
			slices.SortFunc(kept, func(a, b record) int { return cmp.Compare(a.Number, b.Number) })
			for i := range kept {
				if !yield(kept[i].given(session), nil) {
					return false
				}
			}
			kept = kept[:0]
			return true
		}
		slots := key.Prefix(m.space, "slot")
		for e, err := range m.st.Scan(ctx, store.Range{Prefix: slots}) {
			var r record
			if err == nil {
				err = codec.Decode(e, &r)
			}
			if err != nil {
				yield(Outcome{}, fmt.Errorf("outcomes: %w", err))
				return
			}
			of := key.Split(e.Key[len(slots):])[0]
			if of != session && !give() {
				return
			}
			session, kept = of, append(kept, r)
		}
		give()
	}
}

// Assess says how the session is doing, by the first of these rules that
// applies:
//
//   - three failures of the same approach since the last success: pivot_now
//   - the chance that another try of the last approach delivers is below 0.25,
//     as learned from at least 5 tries after as many failures, and below that of
//     another approach (see [Monitor.Chances]): pivot_now
//   - a success rate below 0.4 over at least two outcomes: consider_pivot
//   - a failure last: slow_down
//   - else: [KeepGoing], also for a session without outcomes (State no_data)
//
// Two failures are of the same approach if their Approach is equal, or, where
// one of them names none, if their Goal is equal; outcomes that name neither
// are of the same. Failures of different approaches do not add up to a
// pivot_now, whatever their number: the evidence says so. Signs of a run that
// has no outcome yet do not count here: [Assessment.With] adds them.
//
// It returns ErrInvalid for a bad name of a session, store.ErrClosed, and the
// errors of the store when the session has to be read.
func (m *Monitor) Assess(ctx context.Context, session string) (a Assessment, err error) {
	err = m.inSession(ctx, "assess", session, func(s *history) (err error) {
		var own *odds
		if s.totals.Failures > 0 {
			own, err = m.oddsOf(ctx, approachKey(s.approach))
		}
		if err == nil {
			a = s.assess(session, m.all, own)
		}
		return err
	})
	return a, err
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

// Close flushes and stops; it does not close the store. Later calls of other
// methods return store.ErrClosed. It is idempotent.
func (m *Monitor) Close() error {
	<-m.turn
	m.closed = true
	m.unlock()
	if m.j != nil {
		return errors.Join(m.w.Close(), m.j.Stop())
	}
	return m.w.Close()
}
