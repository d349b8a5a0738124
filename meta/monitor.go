package meta

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/arc-learn/arc/internal/cooldown"
	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// Options of a [Monitor]. Nil and the zero value are the defaults.
type Options struct {
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Sanitizer takes secrets out of texts; nil: the zero Sanitizer.
	Sanitizer *redact.Sanitizer
	// Sync makes Record and RecordEpisode wait for the store.
	Sync bool
	// Apply makes the change of an approved proposal, all of it or nothing, and
	// returns the change that would undo it; nil if nothing can. It has one
	// minute. Apply is called again with the same ID if the process ended before
	// the Monitor had noted its answer. Nil: no proposal can be approved.
	Apply func(ctx context.Context, p Proposal) (undo json.RawMessage, err error)
}

// loadedSessions is the number of sessions, and of approaches, that stay in
// memory: those used last.
const loadedSessions = 4096

// Monitor keeps the outcomes of sessions and assesses them, and with them
// experiments and proposals. It may be used concurrently. It reads a session
// from the store when the session is first named; the last 4096 stay in memory.
type Monitor struct {
	st   store.Store
	w    *flush.Writer
	opts Options
	seed maphash.Seed
	turn chan struct{} // holds one token; its holder loads and records

	write write // belongs to the holder of the turn

	mu struct {
		sync.Mutex
		closed   bool
		sessions *simplelru.LRU[string, *session]
		odds     *simplelru.LRU[uint64, *odds] // by approach
		all      *odds
		guard    *cooldown.Guard
		flying   map[cooldown.Key]time.Time // until when the lease runs
	}
}

// Open returns the Monitor that st holds, empty if there is none, and has
// Options.Apply finish the proposals that were approved when their process
// ended. The caller closes the Monitor before the store.
func Open(ctx context.Context, st store.Store, opts *Options) (*Monitor, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m := &Monitor{st: st, seed: maphash.MakeSeed(), turn: make(chan struct{}, 1)}
	if opts != nil {
		m.opts = *opts
	}
	if m.opts.Now == nil {
		m.opts.Now = time.Now
	}
	var errs [3]error
	m.mu.sessions, errs[0] = simplelru.NewLRU[string, *session](loadedSessions, nil)
	m.mu.odds, errs[1] = simplelru.NewLRU[uint64, *odds](loadedSessions, nil)
	m.mu.guard, errs[2] = cooldown.NewGuard(cooldown.Limits{})
	m.mu.flying = map[cooldown.Key]time.Time{}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	m.w = flush.New(st)
	m.turn <- struct{}{}
	var err error
	if m.mu.all, err = m.readOdds(ctx, allKey); err == nil {
		err = m.finishProposals(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("meta: open: %w", err), m.w.Close())
	}
	return m, nil
}

// Record adds an outcome to its session. It is idempotent on o.Key within the
// session for all time. The outcome counts at once, and is written within
// 50 ms together with others; Options.Sync waits for that. The next call
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
	if err := m.record(ctx, &o); err != nil {
		return fmt.Errorf("record %q: %w", o.Key, err)
	}
	return m.sync(ctx)
}

func (m *Monitor) record(ctx context.Context, o *Outcome) error {
	if err := m.startTurn(ctx); err != nil {
		return err
	}
	defer m.endTurn()
	seen := seenKey(o.Session, o.Key)
	if found, err := m.found(ctx, seen); found || err != nil {
		return err
	}
	s, err := m.load(ctx, o.Session)
	if err != nil {
		return err
	}
	own, err := m.odds(ctx, approachKey(o.Approach))
	if err != nil {
		return err
	}
	same, all := s.tried(s.failure(o.Goal, o.Approach))
	beat := m.mu.all.pulse.beat(o.Resonance)
	w := &m.write
	w.reset()
	w.ops = append(w.ops, store.Op{Key: seen, Value: present})
	err = errors.Join(
		s.encode(w, o), m.mu.all.encode(w, same, all, o.Success, beat), own.encode(w, same, all, o.Success, nil))
	if err != nil {
		return err
	}
	failed := m.w.Add(ctx, w.ops...)
	if failed != nil {
		// Either these were refused, or they were added and the error is
		// that of an earlier group.
		if _, err := m.get(ctx, seen); err != nil {
			return failed
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s.add(o.Success, o.Goal, o.Approach)
	m.mu.all.count(same, all, o.Success)
	m.mu.all.pulse = beat
	own.count(same, all, o.Success)
	if !o.Success {
		s.own = own
	}
	return failed
}

// present is the value of a marker.
var present = []byte{1}

// found reports whether a marker was written before, and what went wrong since.
func (m *Monitor) found(ctx context.Context, marker string) (bool, error) {
	_, err := m.get(ctx, marker)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		err = m.w.Add(ctx) // adds nothing
	}
	return true, err
}

// sync waits for the store if Options.Sync is set.
func (m *Monitor) sync(ctx context.Context) error {
	if !m.opts.Sync {
		return nil
	}
	return m.Flush(ctx)
}

// startTurn waits for the turn, the right to load and record.
func (m *Monitor) startTurn(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-m.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	err := m.usable(ctx)
	if err != nil {
		m.endTurn()
	}
	return err
}

func (m *Monitor) endTurn() { m.turn <- struct{}{} }

// exclusive calls fn with the turn.
func (m *Monitor) exclusive(ctx context.Context, fn func() error) error {
	if err := m.startTurn(ctx); err != nil {
		return err
	}
	defer m.endTurn()
	return fn()
}

// usable returns the error of a context that has ended, or of a closed Monitor.
func (m *Monitor) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.closed {
		return store.ErrClosed
	}
	return nil
}

// get returns the entry of a key as last written, whether stored or on its way.
func (m *Monitor) get(ctx context.Context, k string) (store.Entry, error) {
	if op, ok := m.w.Pending(k); ok {
		return store.Entry{Key: k, Value: op.Value}, nil
	}
	return m.st.Get(ctx, k)
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
	if err := checkName("session", session); err != nil {
		return a, fmt.Errorf("assess: %w", err)
	}
	if err := m.usable(ctx); err != nil {
		return a, fmt.Errorf("assess %q: %w", session, err)
	}
	m.mu.Lock()
	s, ok := m.mu.sessions.Get(session)
	if ok {
		a = s.assess(session, m.mu.all)
	}
	m.mu.Unlock()
	if ok {
		return a, nil
	}
	err = m.exclusive(ctx, func() error {
		s, err := m.load(ctx, session)
		if err == nil {
			m.mu.Lock()
			defer m.mu.Unlock()
			a = s.assess(session, m.mu.all)
		}
		return err
	})
	if err != nil {
		return a, fmt.Errorf("assess %q: %w", session, err)
	}
	return a, nil
}

// Resonance returns the last 64 resonances that were recorded, of all sessions,
// oldest first, to two decimals.
func (m *Monitor) Resonance() []float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]float64, len(m.mu.all.pulse))
	for i, b := range m.mu.all.pulse {
		out[i] = min(1, float64(b)/100)
	}
	return out
}

// Flush writes every outcome that is not in the store yet, and waits for it.
func (m *Monitor) Flush(ctx context.Context) error { return m.w.Flush(ctx) }

// Close flushes and stops; it does not close the store. Later calls of other
// methods return store.ErrClosed. It is idempotent.
func (m *Monitor) Close() error {
	m.mu.Lock()
	m.mu.closed = true
	m.mu.Unlock()
	return m.w.Close()
}
