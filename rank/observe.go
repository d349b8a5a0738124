package rank

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/journal"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/rank/internal/skill"
	"github.com/arc-learn/arc/store"
)

// Open returns the Book in st, an empty one if there is none. Close the Book before the store. For options
// out of range the error is ErrOptions.
func Open(ctx context.Context, st store.Store, opts *Options) (*Book, error) {
	if err := store.CheckContext(ctx); err != nil {
		return nil, err
	}
	o, err := opts.withDefaults()
	if guard.IsNil(st) {
		err = errors.Join(err, fmt.Errorf("%w: the store is nil", ErrOptions))
	}
	if err != nil {
		return nil, err
	}
	b, err := openBook(st, o)
	if err == nil && b.j == nil { // what others have left is for the only opener
		_, err = b.journal(st).Leave(ctx)
	}
	return b, err
}

// openBook is Open, but does not take in what Shared Books have left in the journal.
func openBook(st store.Store, o Options) (*Book, error) {
	b := &Book{st: st, opts: o, turn: make(chan struct{}, 1), space: key.Under(o.Tenant, "rank")}
	if o.Shared {
		b.j = b.journal(st)
		b.st = b.j
	}
	b.w = flush.New(b.st)
	b.turn <- struct{}{}
	b.mu.members = make(map[string]*member)
	b.mu.pairs = make(map[string]pairs)
	b.mu.models = make(map[string]*skill.Model)
	var err error
	b.mu.hot, err = simplelru.NewLRU(hotWindows, restWindow)
	return b, err
}

// Observe adds a sample. It is idempotent on s.Key, until Release. The sample counts at once, and is in the
// store within 50 ms, together with others, or when Observe returns with Options.Sync. If an earlier sample
// could not be written, the next call returns the error; its own sample counts all the same. To call again
// with the same Key is always safe.
//
// The error is ErrSample or a *store.LimitError for a sample that the Book does not accept, store.ErrClosed,
// or one of the store.
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

func (b *Book) observe(ctx context.Context, s *Sample) error {
	if err := b.take(ctx); err != nil {
		return err
	}
	defer b.give()
	fact := s.fact()
	return b.countSample(ctx, s, &fact)
}

// countSample is observe by the holder of the turn; fact is what s teaches.
func (b *Book) countSample(ctx context.Context, s *Sample, fact *skill.Fact) error {
	b.x.Reset(len(s.Key) + 3*len(s.Candidate) + 5*len(s.Situation.Skill) + 7*len(b.space) + 80)
	marker := b.x.Keys.Join(b.space, "seen", s.Key)
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
		w = newWindow(0)
	}
	r := &b.x.sample
	*r = record{Seq: w.next}
	r.fill(s)
	b.cleanRecord(r)
	var out *entry
	var gone hourRecord
	if s.Judges != "" {
		out, err = b.judged(ctx, s, w, r, fact)
	} else {
		out, err = b.pushedOut(ctx, s.Candidate, s.Situation.Skill, w)
	}
	if err != nil {
		if err = b.reread(ctx, s.Candidate, err); err != nil {
			return err
		}
		return b.countSample(ctx, s, fact)
	}
	if s.Judges == "" && out != nil {
		if gone, err = b.left(ctx, s.Candidate, s.Situation.Skill, w, out); err != nil {
			return err
		}
	}
	kept := s.Judges == "" || out != nil
	u := &b.x.update
	known.Learn(u, fact, b.opts.Stationary)
	b.x.Ops = append(b.x.Ops, store.Op{Key: marker, Value: present})
	if kept {
		slot := b.x.Keys.Join(b.space, "slot", s.Candidate, s.Situation.Skill, slotNumber(r.Seq))
		if err := b.x.Put(slot, r); err != nil {
			return err
		}
	}
	if err := b.x.learned.Put(&b.x.Batch, b.space, s.Situation.Skill, u); err != nil {
		return err
	}
	added := false // the error may be that of an earlier group
	failed := b.w.Change(ctx, func() { added = true }, nil, b.x.Ops...)
	if !added {
		return failed
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if kept && w.next == 0 {
		b.enterLocked(m, s.Candidate, s.Situation.Skill, w)
	}
	if kept {
		w.add(r.Seq, r.entry(), out)
	}
	if gone.Samples > 0 {
		w.keep(gone, b.opts.Now().UnixNano())
	}
	w.rate(b.opts.Calibrated)
	b.usedLocked(w)
	known.Apply(u)
	return failed
}

// pushedOut returns the sample that the next one pushes out of the window, nil if there is none. It
// is valid until the next call. The caller has the turn.
func (b *Book) pushedOut(ctx context.Context, candidate, skill string, w *window) (*entry, error) {
	if !w.full() || slices.Contains(w.lost, w.oldest()) {
		return nil, nil
	}
	if w.ring != nil {
		b.x.out = w.ring[w.oldest()%Window]
		return &b.x.out, nil
	}
	r, err := b.slot(ctx, candidate, skill, w.oldest())
	if err != nil {
		return nil, err
	}
	b.x.out = r.entry()
	return &b.x.out, nil
}

// judged turns r, a verdict, into the record of the attempt that it is about, and fact into what that
// teaches. It returns the attempt as the window has it, valid until the next call. If the window has it no
// longer, it returns nil, and fact is the verdict on an attempt of average wall time and cost. The caller has
// the turn.
func (b *Book) judged(
	ctx context.Context, s *Sample, w *window, r *record, fact *skill.Fact,
) (was *entry, err error) {
	said, setting, again, n := r.Situation, fact.Setting, true, w.sums.samples
	r.Wall, r.Cost = int64(mean(float64(w.sums.wall), n)), mean(w.sums.cost.float(), n)
	for seq := w.next; seq > w.oldest() && was == nil; seq-- {
		if slices.Contains(w.lost, seq-1) {
			continue
		}
		old, err := b.slot(ctx, s.Candidate, s.Situation.Skill, seq-1)
		if err != nil {
			return nil, err
		}
		if old.Key == s.Judges {
			b.x.out = old.entry()
			was, again = &b.x.out, old.Outcome != unknown
			old.Outcome, old.Reason = r.Outcome, r.Reason
			*r = *old
		}
	}
	about := r.sample(s.Candidate, s.Situation.Skill)
	*fact = about.fact()
	if fact.Again = again; r.Situation == said {
		fact.Setting = setting // from before secrets were taken out
	}
	return was, nil
}

// left counts a sample that the next one pushes out of a window, and returns its hour. The caller has the
// turn.
func (b *Book) left(ctx context.Context, candidate, skill string, w *window, out *entry) (h hourRecord, err error) {
	at := hourOf(out.at)
	k := b.x.Keys.Join(b.space, "left", candidate, skill, hourPart(at))
	if i := slices.IndexFunc(w.left, func(h hourRecord) bool { return h.hour == at }); i >= 0 {
		h = w.left[i]
	} else if h, err = b.hour(ctx, k, at); err != nil {
		return h, err
	}
	h.add(out)
	b.x.hour = h
	return h, b.x.Put(k, &b.x.hour)
}

// hour returns the record of an hour in the store, or the one that is about to be written.
func (b *Book) hour(ctx context.Context, k string, at int64) (h hourRecord, err error) {
	e, err := b.current(ctx, k)
	if err == nil {
		h, err = decodeHour(e, hourPart(at))
	}
	if isDamaged(err) {
		b.leaveOut(err)
	}
	if isDamaged(err) || isNotFound(err) {
		return hourRecord{hour: at, SuccessUSD: []float64{0, 0}, FailureUSD: []float64{0, 0}}, nil
	}
	return h, err
}

// cleanRecord takes secrets out of a record.
func (b *Book) cleanRecord(r *record) {
	r.Situation = b.opts.Sanitizer.Sanitize(r.Situation)
	r.Reason = strings.ToValidUTF8(b.opts.Sanitizer.Sanitize(r.Reason), "")
	r.Reason = strings.ToValidUTF8(r.Reason[:min(len(r.Reason), MaxReason)], "")
}

// Release forgets that samples of these keys were observed; what they have taught stays. It is for keys that
// will not come again. Without it, the keys that make Observe idempotent add up.
func (b *Book) Release(ctx context.Context, keys ...string) error {
	for {
		some := keys[:min(len(keys), released)]
		if err := b.unmark(ctx, some); err != nil || len(some) == len(keys) {
			return err
		}
		keys = keys[len(some):]
	}
}

// released is how many keys one commit releases: a fold has room for them beside entries.
const released = 512

// unmark is Release of what fits a commit.
func (b *Book) unmark(ctx context.Context, keys []string) error {
	if err := store.CheckContext(ctx); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	if b.j != nil {
		return b.j.Change(ctx, b.catch, func(base *Book) error { return base.unmark(ctx, keys) })
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

// Forget removes the samples for which drop is true from the windows, and forgets that they were observed. The
// means of [Book.Learned], which have no text, stay. An hour of [Book.Left] is a sample without a Key. Forget
// reads all samples. If the error is that some could not be read, these are left, and all others were looked at.
func (b *Book) Forget(ctx context.Context, drop func(Sample) bool) error {
	if b.j != nil {
		return b.forgetShared(ctx, drop)
	}
	return b.strike(ctx, drop, false)
}

// strike is Forget. folds says that all is written in one commit with a fold.
func (b *Book) strike(ctx context.Context, drop func(Sample) bool, folds bool) error {
	type of struct{ candidate, skill string }
	gone := make(map[of]forgotten)
	var damaged error
	for s, err := range b.Samples(ctx, time.Time{}) {
		if codec.Unreadable(err) {
			damaged = errors.Join(damaged, err)
			continue
		}
		if err != nil {
			return err
		}
		if drop(s) {
			pair := of{s.Candidate, s.Situation.Skill}
			gone[pair] = forgotten{append(gone[pair].samples, moment{s.Key, s.At.UnixNano()}), nil}
		}
	}
	for t, err := range b.Left(ctx, time.Time{}) {
		if codec.Unreadable(err) {
			damaged = errors.Join(damaged, err)
			continue
		}
		if err != nil {
			return err
		}
		if drop(Sample{Candidate: t.Candidate, Situation: Situation{Skill: t.Skill}, At: t.From}) {
			pair := of{t.Candidate, t.Skill}
			gone[pair] = forgotten{gone[pair].samples, append(gone[pair].hours, hourOf(t.From.UnixNano()))}
		}
	}
	for pair, f := range gone {
		if err := b.rewrite(ctx, pair.candidate, pair.skill, f, folds); err != nil {
			return fmt.Errorf("forget: %w", err)
		}
	}
	if damaged != nil {
		return fmt.Errorf("forget: %w", damaged)
	}
	return nil
}

// forgotten is what Forget removes of a pair: samples, and hours of those that have left its window.
type forgotten struct {
	samples []moment
	hours   []int64
}

// moment names a sample: a second one may have a released key.
type moment struct {
	key string
	at  int64
}

// rewrite removes samples from a window, and moves those before them up, the latest first. What is too much for one
// commit it moves in the next: in between the window has a gap. If it folds there is no next, and the gap stays, until
// new samples push it out.
func (b *Book) rewrite(ctx context.Context, candidate, skill string, gone forgotten, folds bool) error {
	room := store.MaxCommitBytes / 4
	if folds {
		room /= foldedPairs
	}
	if err := b.take(ctx); err != nil {
		return err
	}
	defer b.give()
	if err := b.w.Flush(ctx); err != nil {
		return err
	}
	unload := func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.unloadLocked(candidate)
	}
	unload() // what can be read now is known after load
	m, err := b.load(ctx, candidate)
	if err != nil {
		return err
	}
	defer unload()
	w := m.windows[skill]
	if w == nil {
		w = newWindow(0)
	}
	slots := make(map[string]store.Op) // of one commit: a sample that moves is there once
	remove := func(seq uint64) {
		k := b.slotKey(candidate, skill, seq)
		slots[k] = store.Op{Key: k, Delete: true}
	}
	known := make(map[string]bool) // keys that were observed, and whether they still are
	var kept []*record
	for seq := w.oldest(); seq < w.next; seq++ {
		if slices.Contains(w.lost, seq) {
			continue
		}
		r, err := b.slot(ctx, candidate, skill, seq)
		if err != nil {
			return err
		}
		stays := !slices.Contains(gone.samples, moment{r.Key, r.At})
		if known[r.Key] = known[r.Key] || stays; stays {
			kept = append(kept, r)
		} else {
			remove(seq)
		}
	}
	var ops []store.Op
	for k, still := range known {
		if !still {
			ops = append(ops, store.Op{Key: key.Join(b.space, "seen", k), Delete: true})
		}
	}
	for _, h := range gone.hours {
		ops = append(ops, store.Op{Key: key.Join(b.space, "left", candidate, skill, hourPart(h)), Delete: true})
	}
	for ; len(ops) > released; ops = ops[released:] {
		if _, err := b.st.Commit(ctx, ops[:released]...); err != nil {
			return err
		}
	}
	write := func() error {
		_, err := b.st.Commit(ctx, slices.AppendSeq(ops, maps.Values(slots))...)
		ops = nil
		clear(slots)
		return err
	}
	to, left := w.next, room
	for _, r := range slices.Backward(kept) {
		for to--; slices.Contains(w.lost, to); to-- { // a damaged record stays where it is
		}
		if r.Seq == to {
			continue
		}
		was := r.Seq
		r.Seq = to
		k := b.slotKey(candidate, skill, to)
		value, err := codec.Encode(k, r)
		if err != nil {
			return err
		}
		if left -= len(value); left < 0 && folds {
			break
		} else if left < 0 {
			if err := write(); err != nil {
				return err
			}
			left = room - len(value)
		}
		remove(was)
		slots[k] = store.Op{Key: k, Value: value}
	}
	return write()
}

// happened is a sample in the journal that Books of several openers share.
type happened struct {
	Candidate string `cbor:"171,keyasint,omitempty"`
	Skill     string `cbor:"172,keyasint,omitempty"`
	Sample    record `cbor:"173,keyasint,omitzero"`
	Setting   uint64 `cbor:"302,keyasint,omitempty"` // of the situation's key, where a secret was taken out of that
}

// enterSample adds a sample to the journal, unless it was observed before.
func (b *Book) enterSample(ctx context.Context, s *Sample) error {
	if s.Judges != "" { // what another opener has observed, perhaps
		if err := b.Refresh(ctx); err != nil {
			return err
		}
	}
	seen, err := b.seen(ctx, key.Join(b.space, "seen", s.Key))
	if seen || err != nil {
		return err
	}
	o := happened{Candidate: s.Candidate, Skill: s.Situation.Skill}
	o.Sample.fill(s)
	b.cleanRecord(&o.Sample)
	if o.Sample.Situation != s.Situation.Key {
		o.Setting = skill.SettingOf(s.Situation.Key)
	}
	return b.j.Add(ctx, s.Key, &o)
}

// journal returns the journal of all openers. To fold its entries, it opens an unshared Book on a view of the
// store, which counts them.
func (b *Book) journal(st store.Store) *journal.Journal[*Book] {
	o := b.opts
	o.Shared = false
	open := func(_ context.Context, st store.Store) (*Book, error) { return openBook(st, o) }
	return journal.New(st, b.space, open, (*Book).takeIn)
}

// takeIn observes an entry of the journal. The caller has the turn, or is the only user of the Book.
func (b *Book) takeIn(ctx context.Context, e store.Entry) error {
	var o happened
	if err := codec.Decode(e, &o); err != nil {
		return err
	}
	s := o.Sample.sample(o.Candidate, o.Skill)
	fact := s.fact()
	fact.Setting = cmp.Or(o.Setting, fact.Setting)
	return b.countSample(ctx, &s, &fact)
}

// Refresh takes in the samples of Books of other openers: see Options.Shared. Call it after a change of the
// store by others.
func (b *Book) Refresh(ctx context.Context) error {
	if _, err := b.member(""); err != nil {
		return err
	}
	return b.j.Refresh(ctx, b.catch)
}

func (b *Book) catch(ctx context.Context) (n int, err error) {
	if err := b.take(ctx); err != nil {
		return 0, err
	}
	defer b.give()
	forget := func() error { return errors.Join(b.w.Flush(ctx), b.forgetAll()) }
	return b.j.Catch(ctx, forget, func(e store.Entry) error { return b.takeIn(ctx, e) })
}

// forgetAll unloads everything.
func (b *Book) forgetAll() (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.mu.members)
	clear(b.mu.pairs)
	clear(b.mu.models)
	// The old one would let windows rest that are being read.
	b.mu.hot, err = simplelru.NewLRU(hotWindows, restWindow)
	return err
}

// foldedPairs is how many windows one fold forgets samples of.
const foldedPairs = 8

// forgetShared is Forget in groups of as many as a commit has room for.
func (b *Book) forgetShared(ctx context.Context, drop func(Sample) bool) error {
	const samples = 500
	type of struct{ candidate, skill string }
	var damaged error
	for more := true; more; {
		err := b.j.Change(ctx, b.catch, func(base *Book) error {
			some, n := make(map[of]bool), 0
			more, damaged = false, nil
			err := base.strike(ctx, func(s Sample) bool {
				pair := of{s.Candidate, s.Situation.Skill}
				switch full := n == samples || len(some) == foldedPairs && !some[pair]; {
				case !drop(s):
					return false
				case full:
					more = true
					return false
				}
				some[pair], n = true, n+1
				return true
			}, true)
			if codec.Unreadable(err) { // what could be read is forgotten
				damaged, err = err, nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return damaged
}
