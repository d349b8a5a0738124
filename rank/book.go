package rank

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/internal/journal"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// Options of a [Book]. Nil and the zero value are the defaults.
type Options struct {
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Seed varies the draws of Weighted between hosts that are otherwise
	// equal.
	Seed uint64
	// Explore is the share of probability that Weighted spreads evenly over
	// all candidates, in (0,1]; zero: 0.05. Without it a candidate that only
	// failed would never be tried again.
	Explore float64
	// Sanitizer takes secrets out of a situation's key before it is stored;
	// nil: the zero Sanitizer.
	Sanitizer *redact.Sanitizer
	// Stationary tells Learned that candidates do not change: it then does
	// not look for changes of quality, and old samples count like new ones.
	Stationary bool
	// Calibrated has Observed correct what candidates report of their
	// confidence by what came of it. An Agent's Books do.
	Calibrated bool
	// Sync makes Observe wait until the sample is in the store.
	Sync bool
	// Shared says that the store has several openers with a Book of the Tenant, all
	// Shared. What each observes is entered beside what the others do, and
	// folded together now and then; [Book.Refresh] sees what is new of them.
	Shared bool
	// Tenant whose samples they are, as memory.Scope.Tenant has it: Books of
	// several tenants share a store and see nothing of one another. "": of none.
	Tenant string
}

func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Now == nil {
		out.Now = time.Now
	}
	if !unit(out.Explore) {
		return out, fmt.Errorf("%w: Explore is %v, want a number in (0,1]", ErrOptions, out.Explore)
	}
	if err := key.CheckID("Tenant", out.Tenant); err != nil {
		return out, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	if out.Explore == 0 {
		out.Explore = 0.05
	}
	return out, nil
}

// Book keeps what came of each candidate's attempts, durably. It may be used
// concurrently. A candidate is read from the store when it is first named; its
// figures then stay in memory, its samples while they are in use.
type Book struct {
	st   store.Store
	w    *flush.Writer
	opts Options
	turn chan struct{} // holds one token; whoever has it loads and observes
	x    scratch       // belongs to the turn

	space string // begins all keys of the Book

	j *journal.Journal[*Book] // nil: this is the only opener; else st is its view

	mu struct {
		sync.RWMutex
		closed  bool
		members map[string]*member // by candidate, those that are loaded
		made    int                // members ever
		pairs   map[string]pairs   // by skill, the windows of members
		models  map[string]*model  // by skill, those that are loaded
		hot     *simplelru.LRU[*window, struct{}]
	}
}

// pairs are the windows of a skill by candidate. They are those of the
// members, for finding one with a single look.
type pairs map[string]pair

type pair struct {
	member *member
	window *window
}

// member is a candidate in memory. Whoever has the turn may read it, and write
// it with the lock held.
type member struct {
	number  int                // no other has it
	windows map[string]*window // by skill
}

// Open returns the Book that st holds, empty if there is none. The caller
// closes the Book before the store. It returns ErrOptions.
func Open(ctx context.Context, st store.Store, opts *Options) (*Book, error) {
	if err := store.CheckContext(ctx); err != nil {
		return nil, err
	}
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	b, err := openBook(st, o)
	if err == nil && b.j == nil { // what others have left is for the only opener
		_, err = b.journal(st).Leave(ctx)
	}
	return b, err
}

// openBook is Open of a Book for which what Shared ones have left is nothing.
func openBook(st store.Store, o Options) (*Book, error) {
	b := &Book{st: st, opts: o, turn: make(chan struct{}, 1), space: key.Under(o.Tenant, "rank")}
	if o.Shared {
		b.j = b.journal(st)
		b.st = b.j
	}
	b.w = flush.New(b.st)
	b.x.space = b.space
	b.turn <- struct{}{}
	b.mu.members = make(map[string]*member)
	b.mu.pairs = make(map[string]pairs)
	b.mu.models = make(map[string]*model)
	var err error
	b.mu.hot, err = simplelru.NewLRU(hotWindows, restWindow)
	return b, err
}

// restWindow has the samples of a window in the store only.
func restWindow(w *window, _ struct{}) { w.ring = nil }

// Observe adds a sample. It is idempotent on s.Key for all time. The sample
// counts at once, and is written within 50 ms together with others;
// Options.Sync waits for that. An earlier sample that could not be written is
// reported by the next call, whose own sample counts all the same; a call
// with the same Key is always safe.
//
// It returns ErrSample or a *store.LimitError for a sample that it does not
// take, store.ErrClosed, and the errors of the store.
func (b *Book) Observe(ctx context.Context, s Sample) error {
	if err := store.CheckContext(ctx); err != nil {
		return err
	}
	if s.At.IsZero() {
		s.At = b.opts.Now()
	}
	if err := s.check(); err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	var err error
	if b.j != nil {
		err = b.enterSample(ctx, &s)
	}
	if err == nil {
		err = b.observe(ctx, &s)
	}
	if err != nil {
		return fmt.Errorf("observe %q: %w", s.Key, err)
	}
	if b.opts.Sync {
		return b.Flush(ctx)
	}
	return nil
}

// present is the value of a marker.
var present = []byte{1}

func (b *Book) observe(ctx context.Context, s *Sample) error {
	if err := b.take(ctx); err != nil {
		return err
	}
	defer b.give()
	return b.countSample(ctx, s)
}

// countSample is observe of who has the turn.
func (b *Book) countSample(ctx context.Context, s *Sample) error {
	b.x.reset(s)
	marker := b.x.keys.Join(b.space, "seen", s.Key)
	seen, err := b.seen(ctx, marker)
	if err != nil {
		return err
	}
	if seen {
		return b.w.Add(ctx) // adds nothing, reports what went wrong before
	}
	m, err := b.load(ctx, s.Candidate)
	if err != nil {
		return err
	}
	known, err := b.model(ctx, s.Situation.Skill)
	if err != nil {
		return err
	}
	w := m.windows[s.Situation.Skill]
	if w == nil {
		w = new(window)
	}
	r := &b.x.sample
	*r = record{Seq: w.next}
	r.fill(s)
	b.cleanRecord(r)
	out, err := b.pushedOut(ctx, s.Candidate, s.Situation.Skill, w)
	if err != nil {
		return err
	}
	fact := s.fact()
	var gone hourRecord
	if out != nil {
		if gone, err = b.left(ctx, s.Candidate, s.Situation.Skill, w, out); err != nil {
			return err
		}
	}
	u := &b.x.update
	known.learn(u, &fact, b.opts.Stationary)
	b.x.ops = append(b.x.ops, store.Op{Key: marker, Value: present})
	slot := b.x.keys.Join(b.space, "slot", s.Candidate, s.Situation.Skill, slotNumber(r.Seq))
	if err := b.x.put(slot, r); err != nil {
		return err
	}
	if err := u.puts(&b.x, s.Situation.Skill); err != nil {
		return err
	}
	failed := b.w.Add(ctx, b.x.ops...)
	if failed != nil {
		// Either these were refused, or they were added and the error is
		// that of an earlier group.
		if added, err := b.seen(ctx, marker); err != nil || !added {
			return failed
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if w.next == 0 {
		b.enterLocked(m, s.Candidate, s.Situation.Skill, w)
	}
	w.add(r.entry(), out)
	if out != nil {
		w.keep(gone, b.opts.Now().UnixNano())
	}
	w.rate(b.opts.Calibrated)
	b.usedLocked(w)
	known.apply(u)
	w.arm = u.index + 1
	return failed
}

// Release forgets that samples of these keys were observed, and nothing else: what
// they have taught stays. It is for keys that will not come again, and keeps what
// makes Observe idempotent from growing for ever.
func (b *Book) Release(ctx context.Context, keys ...string) error {
	if err := store.CheckContext(ctx); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	if b.j != nil {
		return b.j.Change(ctx, b.catch, func(base *Book) error { return base.Release(ctx, keys...) })
	}
	if err := b.take(ctx); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	defer b.give()
	var ops []store.Op
	for _, k := range keys {
		marker := key.Join(b.space, "seen", k)
		seen, err := b.seen(ctx, marker)
		if err != nil {
			return fmt.Errorf("release %q: %w", k, err)
		}
		if seen {
			ops = append(ops, store.Op{Key: marker, Delete: true})
		}
	}
	return b.w.Add(ctx, ops...)
}

// enterLocked makes the window known that a member has for a skill.
func (b *Book) enterLocked(m *member, candidate, skill string, w *window) {
	if m.windows == nil {
		m.windows = make(map[string]*window)
	}
	m.windows[skill] = w
	ps := b.mu.pairs[skill]
	if ps == nil {
		ps = make(pairs)
		b.mu.pairs[skill] = ps
	}
	ps[candidate] = pair{m, w}
}

// take waits for the right to load and observe.
func (b *Book) take(ctx context.Context) error {
	select {
	case <-b.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.mu.closed {
		b.give()
		return store.ErrClosed
	}
	return nil
}

func (b *Book) give() { b.turn <- struct{}{} }

// seen reports whether the marker is in the store or on its way there.
func (b *Book) seen(ctx context.Context, marker string) (bool, error) {
	if op, ok := b.w.Pending(marker); ok {
		return !op.Delete, nil
	}
	_, err := b.st.Get(ctx, marker)
	if isNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

func isNotFound(err error) bool { return errors.Is(err, store.ErrNotFound) }

// Flush writes every sample that is not in the store yet, and waits for it.
func (b *Book) Flush(ctx context.Context) error {
	if b.j != nil {
		return errors.Join(b.w.Flush(ctx), b.j.Flush(ctx))
	}
	return b.w.Flush(ctx)
}

// Close flushes and stops; it does not close the store. Later calls of other
// methods return store.ErrClosed. It is idempotent.
func (b *Book) Close() error {
	b.mu.Lock()
	b.mu.closed = true
	b.mu.Unlock()
	if b.j != nil {
		return errors.Join(b.w.Close(), b.j.Stop())
	}
	return b.w.Close()
}
