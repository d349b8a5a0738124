package meta

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

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
	// Sync makes Record wait until the outcome is in the store.
	Sync bool
}

// loadedSessions is how many sessions stay in memory, those used last.
const loadedSessions = 4096

// Monitor keeps the outcomes of sessions and assesses them. It may be used
// concurrently. A session is read from the store when it is first named; the
// last 4096 sessions stay in memory.
type Monitor struct {
	st   store.Store
	w    *flush.Writer
	opts Options
	seed maphash.Seed
	turn chan struct{} // holds one token; whoever has it loads and records

	write write // belongs to the turn

	mu struct {
		sync.Mutex
		closed   bool
		sessions *simplelru.LRU[string, *session]
		odds     *simplelru.LRU[uint64, *odds] // by approach
		all      *odds
	}
}

// Open returns the Monitor that st holds, empty if there is none. The caller
// closes the Monitor before the store.
func Open(ctx context.Context, st store.Store, opts *Options) (*Monitor, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m := &Monitor{st: st, w: flush.New(st), seed: maphash.MakeSeed(), turn: make(chan struct{}, 1)}
	if opts != nil {
		m.opts = *opts
	}
	if m.opts.Now == nil {
		m.opts.Now = time.Now
	}
	sessions, err := simplelru.NewLRU[string, *session](loadedSessions, nil)
	if err != nil {
		return nil, err
	}
	m.mu.sessions = sessions
	if m.mu.odds, err = simplelru.NewLRU[uint64, *odds](loadedSessions, nil); err != nil {
		return nil, err
	}
	if m.mu.all, err = m.readOdds(ctx, allKey); err != nil {
		return nil, errors.Join(fmt.Errorf("meta: open: %w", err), m.w.Close())
	}
	m.turn <- struct{}{}
	return m, nil
}

// Record adds an outcome to its session. It is idempotent on o.Key within the
// session for all time. The outcome counts at once, and is written within
// 50 ms together with others; Options.Sync waits for that. An earlier outcome
// that could not be written is reported by the next call, whose own outcome
// counts all the same; a call with the same Key is always safe.
//
// It returns ErrOutcome or a *store.LimitError for an outcome that it does
// not take, store.ErrClosed, and the errors of the store.
func (m *Monitor) Record(ctx context.Context, o Outcome) error {
	if err := ctx.Err(); err != nil {
		return err
	}
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
	if m.opts.Sync {
		return m.Flush(ctx)
	}
	return nil
}

// present is the value of a marker.
var present = []byte{1}

func (m *Monitor) record(ctx context.Context, o *Outcome) error {
	if err := m.take(ctx); err != nil {
		return err
	}
	defer m.give()
	seen := seenKey(o.Session, o.Key)
	_, err := m.get(ctx, seen)
	if err == nil {
		return m.w.Add(ctx) // adds nothing, reports what went wrong before
	}
	if !errors.Is(err, store.ErrNotFound) {
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
	err = errors.Join(s.joins(w, o), m.mu.all.tries(w, same, all, o.Success, beat), own.tries(w, same, all, o.Success, nil))
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

// take waits for the right to load and record.
func (m *Monitor) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-m.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.closed {
		m.give()
		return store.ErrClosed
	}
	return nil
}

func (m *Monitor) give() { m.turn <- struct{}{} }

// Assess says how the session is doing, by the first of these rules that
// applies:
//
//   - three failures of the same approach since the last success: PivotNow
//   - the chance that another try of the last approach delivers is below 0.25,
//     as learned from at least 5 tries after as many failures, and below that of
//     another approach (see [Monitor.Chances]): PivotNow
//   - a success rate below 0.4 over at least two outcomes: ConsiderPivot
//   - a failure last: SlowDown
//   - else: KeepGoing, also for a session without outcomes (State NoData)
//
// Two failures are of the same approach if their Approach is equal, or, where
// one of them names none, if their Goal is equal; outcomes that name neither
// are of the same. Failures of different approaches do not add up to a
// PivotNow, however many: the evidence says so. What a run tells of itself
// before it has an outcome is not asked here: [Assessment.With] adds it.
//
// It returns ErrOutcome for a session without a name, store.ErrClosed, and
// the errors of the store when the session has to be read.
func (m *Monitor) Assess(ctx context.Context, session string) (Assessment, error) {
	if err := checkSession(session); err != nil {
		return Assessment{}, fmt.Errorf("assess: %w", err)
	}
	if a, ok, err := m.assess(ctx, session); ok || err != nil {
		return a, err
	}
	if err := m.take(ctx); err != nil {
		return Assessment{}, fmt.Errorf("assess %q: %w", session, err)
	}
	defer m.give()
	s, err := m.load(ctx, session)
	if err != nil {
		return Assessment{}, fmt.Errorf("assess %q: %w", session, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return s.assess(session, m.mu.all), nil
}

// assess reports false if the session is not in memory.
func (m *Monitor) assess(ctx context.Context, name string) (Assessment, bool, error) {
	if err := ctx.Err(); err != nil {
		return Assessment{}, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.closed {
		return Assessment{}, false, fmt.Errorf("assess %q: %w", name, store.ErrClosed)
	}
	s, ok := m.mu.sessions.Get(name)
	if !ok {
		return Assessment{}, false, nil
	}
	return s.assess(name, m.mu.all), true, nil
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
