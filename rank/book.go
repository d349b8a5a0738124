package rank

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/internal/journal"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/rank/internal/batch"
	"github.com/arc-learn/arc/rank/internal/skill"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// Options of a [Book]. Nil and the zero value are the defaults.
type Options struct {
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Seed varies the draws of Weighted between hosts that are otherwise equal.
	Seed uint64
	// Explore is the share of probability that Weighted spreads evenly over all candidates, in (0,1];
	// zero: 0.05. Without it a candidate that only failed would never be tried again.
	Explore float64
	// Sanitizer takes secrets out of a situation's key before it is stored;
	// nil: the zero Sanitizer.
	Sanitizer *redact.Sanitizer
	// Stationary tells Learned that candidates do not change: it does not look for changes of quality,
	// and old samples count like new ones.
	Stationary bool
	// Calibrated makes Observed correct the confidence that candidates report by the outcomes. An
	// Agent's Books do.
	Calibrated bool
	// Sync makes Observe wait until the sample is in the store.
	Sync bool
	// Shared says that several openers of the store have a Book of the Tenant, all of them Shared. Each Book
	// adds its samples to a common journal. Now and then the journal is folded into the book. [Book.Refresh]
	// takes in what the others have added.
	Shared bool
	// Damaged is called with the error of a record that cannot be read, each time when it is left out. All others count,
	// and new samples take its place. nil: damage is not told. [Book.Samples] and [Book.Forget] return it too.
	Damaged func(error)
	// Tenant is whose samples they are, as in memory.Scope.Tenant: Books of several tenants share a store
	// and see nothing of each other. "": no tenant's.
	Tenant string
}

func (o *Options) withDefaults() (Options, error) {
	out := *cmp.Or(o, new(Options))
	if out.Now == nil {
		out.Now = time.Now
	}
	if out.Damaged == nil {
		out.Damaged = func(error) {}
	}
	if !unit(out.Explore) {
		return out, fmt.Errorf("%w: Explore is %v, want a number in (0,1]", ErrOptions, out.Explore)
	}
	if err := key.CheckID("Tenant", out.Tenant); err != nil {
		return out, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	out.Explore = cmp.Or(out.Explore, 0.05)
	return out, nil
}

// Book keeps the outcomes of the candidates' attempts in the store. It may be used concurrently. The
// Book reads a candidate from the store when a call first names it. The candidate's figures then stay
// in memory, its samples while they are in use.
type Book struct {
	st   store.Store
	w    *flush.Writer
	opts Options
	turn chan struct{} // holds one token; its holder loads and observes
	x    scratch       // belongs to the turn

	space string // begins all keys of the Book

	j *journal.Journal[*Book] // nil: this is the only opener; else st is its view

	mu struct {
		sync.RWMutex
		closed  bool
		members map[string]*member      // by candidate, those that are loaded
		made    int                     // members ever
		pairs   map[string]pairs        // by skill, the windows of members
		models  map[string]*skill.Model // by skill, those that are loaded
		hot     *simplelru.LRU[*window, struct{}]
	}
}

// pairs has the windows of a skill by candidate. They are the same as those of the members, and are
// here so that one lookup finds them.
type pairs map[string]pair

type pair struct {
	member *member
	window *window
}

// member is a candidate in memory. The holder of the turn may read it, and write
// it with the lock held.
type member struct {
	number  int                // no other has it
	windows map[string]*window // by skill
}

// scratch is the holder of the turn's buffer for records to write.
type scratch struct {
	batch.Batch
	update  skill.Update
	learned skill.Records
	sample  record
	out     entry // of pushedOut
	hour    hourRecord
	damaged []error // records that were left out
}

// few is how many contenders are handled without a further allocation.
const few = 32

// hotWindows is the number of windows with their samples in memory, up to 12 KiB each.
const hotWindows = 4096

// restWindow drops the samples of a window from memory: they are in the store.
func restWindow(w *window, _ struct{}) { w.ring = nil }

// present is the value of a marker.
var present = []byte{1}

func isNotFound(err error) bool { return errors.Is(err, store.ErrNotFound) }

// isDamaged reports whether a record cannot be read, by later versions neither: another may take its place.
func isDamaged(err error) bool { return errors.Is(err, store.ErrDamaged) }

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

// give ends the turn, and tells of the damage that was seen in it.
func (b *Book) give() {
	damaged := b.x.damaged
	b.x.damaged = nil
	b.turn <- struct{}{}
	for _, err := range damaged {
		b.opts.Damaged(err)
	}
}

// leaveOut notes a record that cannot be read. The caller has the turn.
func (b *Book) leaveOut(err error) { b.x.damaged = append(b.x.damaged, err) }

// seen reports whether the marker is in the store or on its way there.
func (b *Book) seen(ctx context.Context, marker string) (bool, error) {
	_, err := b.current(ctx, marker)
	if isNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// current returns the value of a key in the store, or the one that is about to be written.
func (b *Book) current(ctx context.Context, k string) (store.Entry, error) {
	switch op, ok := b.w.Pending(k); {
	case !ok:
		return b.st.Get(ctx, k)
	case op.Delete:
		return store.Entry{}, store.NotFound(k)
	default:
		return store.Entry{Key: k, Value: op.Value}, nil
	}
}

// Flush writes every sample that is not in the store yet. It returns when all are there.
func (b *Book) Flush(ctx context.Context) error {
	if b.j != nil {
		return errors.Join(b.w.Flush(ctx), b.j.Flush(ctx))
	}
	return b.w.Flush(ctx)
}

// Close flushes and stops. It does not close the store. Other methods return store.ErrClosed from then
// on. Close is idempotent.
func (b *Book) Close() error {
	b.mu.Lock()
	b.mu.closed = true
	b.mu.Unlock()
	if b.j != nil {
		return errors.Join(b.w.Close(), b.j.Stop())
	}
	return b.w.Close()
}

// member returns the candidate if it is in memory, else nil.
func (b *Book) member(candidate string) (*member, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.mu.closed {
		return nil, store.ErrClosed
	}
	return b.mu.members[candidate], nil
}

// ready returns the candidate. It waits for the turn only if it has to read the candidate from the
// store.
func (b *Book) ready(ctx context.Context, candidate string) (*member, error) {
	if err := store.CheckContext(ctx); err != nil {
		return nil, err
	}
	if m, err := b.member(candidate); m != nil || err != nil {
		return m, err
	}
	if err := key.CheckID("candidate", candidate); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCandidate, err)
	}
	if err := b.take(ctx); err != nil {
		return nil, err
	}
	defer b.give()
	return b.load(ctx, candidate)
}

// load returns the candidate, from the store unless it is in memory. The
// caller has the turn.
func (b *Book) load(ctx context.Context, candidate string) (*member, error) {
	if m, err := b.member(candidate); m != nil || err != nil {
		return m, err
	}
	if err := b.restore(ctx, candidate); err != nil {
		return nil, err
	}
	return b.member(candidate)
}

// restore is load for candidates that are not in memory. Many of them take one
// pass over all samples.
func (b *Book) restore(ctx context.Context, candidates ...string) error {
	slots := key.Prefix(b.space, "slot")
	prefixes := []string{slots}
	if len(candidates) <= few {
		prefixes = prefixes[:0]
		for _, c := range candidates {
			prefixes = append(prefixes, key.Prefix(b.space, "slot", c))
		}
	}
	type of struct{ candidate, skill string }
	records := make(map[of][]record)
	for _, prefix := range prefixes {
		for e, err := range b.st.Scan(ctx, store.Range{Prefix: prefix}) {
			if err != nil {
				return err
			}
			var r record
			parts := key.Split(e.Key[len(slots):]) // candidate, skill and slot
			err := codec.Decode(e, &r)
			if err == nil && (len(parts) != 3 || !r.valid() || b.slotKey(parts[0], parts[1], r.Seq) != e.Key) {
				err = fmt.Errorf("%w: %q is not a sample", store.ErrDamaged, e.Key)
			}
			if isDamaged(err) {
				b.leaveOut(err)
				continue
			}
			if err != nil {
				return err
			}
			pair := of{parts[0], parts[1]}
			records[pair] = append(records[pair], r)
		}
	}
	windows := make(map[of]*window, len(records))
	for pair, rs := range records {
		windows[pair] = replay(rs, b.opts.Calibrated)
	}
	members := make([]member, len(candidates))
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.mu.members) == 0 {
		b.mu.members = make(map[string]*member, len(candidates))
	}
	for i, c := range candidates {
		if b.mu.members[c] == nil {
			members[i].number = b.mu.made
			b.mu.members[c] = &members[i]
			b.mu.made++
		}
	}
	for pair, w := range windows {
		if m := b.mu.members[pair.candidate]; m != nil && m.windows[pair.skill] == nil {
			b.enterLocked(m, pair.candidate, pair.skill, w)
			b.usedLocked(w)
		}
	}
	return nil
}

// leftSince reads the hours of samples that have left a window, from an hour on. The caller has the turn.
func (b *Book) leftSince(ctx context.Context, candidate, skill string, hour int64) (all []hourRecord, err error) {
	at := store.Range{Prefix: key.Prefix(b.space, "left", candidate, skill)}
	if hour > 0 {
		at.After = at.Prefix + hourPart(hour-1)
	}
	for e, err := range b.st.Scan(ctx, at) {
		if err != nil {
			return nil, err
		}
		h, err := decodeHour(e, e.Key[len(at.Prefix):])
		if isDamaged(err) {
			b.leaveOut(err)
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, h)
	}
	return all, nil
}

// reread makes a candidate be read again whose sample cannot be read any more. It returns any other error. The caller
// has the turn.
func (b *Book) reread(ctx context.Context, candidate string, err error) error {
	if !isDamaged(err) && !isNotFound(err) {
		return err
	}
	if err := b.w.Flush(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unloadLocked(candidate)
	return nil
}

// unloadLocked drops a candidate of which nothing is about to be written, to be read again.
func (b *Book) unloadLocked(candidate string) {
	delete(b.mu.members, candidate)
	for _, ps := range b.mu.pairs {
		delete(ps, candidate)
	}
}

// enterLocked enters the window of a member for a skill.
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

// usedLocked notes that the window was used. One that was not for long comes to rest.
func (b *Book) usedLocked(w *window) {
	if w.ring != nil {
		b.mu.hot.Add(w, struct{}{})
	}
}

// The keys of a book, below those of its tenant: a marker per sample that was
// ever observed, and a slot per sample in a window.
//
//	rank seen <sample key>
//	rank slot <candidate> <skill> <sequence number modulo Window>

func (b *Book) slotKey(candidate, skill string, seq uint64) string {
	return key.Join(b.space, "slot", candidate, skill, slotNumber(seq))
}

// slot returns the sample of a sequence number as it is in the store, or is about to be.
func (b *Book) slot(ctx context.Context, candidate, skill string, seq uint64) (*record, error) {
	k := b.slotKey(candidate, skill, seq)
	e, err := b.current(ctx, k)
	if err != nil {
		return nil, fmt.Errorf("sample %d: %w", seq, err)
	}
	var r record
	if err := codec.Decode(e, &r); err != nil {
		return nil, err
	}
	if !r.valid() || r.Seq != seq {
		return nil, fmt.Errorf("%w: %q is not sample %d", store.ErrDamaged, k, seq)
	}
	return &r, nil
}

// wake reads into memory the samples since then that a window lacks there. The caller has the turn.
func (b *Book) wake(ctx context.Context, candidate, skill string, w *window, since int64) error {
	if from := hourOf(since); from < w.from {
		if len(w.left) > 0 { // some may not be written yet
			if err := b.w.Flush(ctx); err != nil {
				return err
			}
		}
		left, err := b.leftSince(ctx, candidate, skill, from)
		if err != nil {
			return err
		}
		b.mu.Lock()
		w.regain(left, from)
		b.mu.Unlock()
	}
	if w.awake(since) {
		return nil
	}
	var ring []entry
	for seq := w.oldest(); seq < w.next; seq++ {
		if slices.Contains(w.lost, seq) {
			continue
		}
		r, err := b.slot(ctx, candidate, skill, seq)
		if err != nil {
			return err
		}
		ring = w.put(ring, seq, r.entry())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	w.ring = ring
	b.usedLocked(w)
	return nil
}

// model returns the model of a skill, from the store unless it is in memory. The caller has the turn.
func (b *Book) model(ctx context.Context, name string) (*skill.Model, error) {
	b.mu.RLock()
	m := b.mu.models[name]
	b.mu.RUnlock()
	if m != nil {
		return m, nil
	}
	m, err := skill.Load(ctx, b.st, b.space, name, b.leaveOut)
	if err != nil {
		return nil, fmt.Errorf("what is learned of %q: %w", name, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.models[name] = m
	return m, nil
}
