package rank

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// The keys of a book, below those of its tenant: a marker per sample that was
// ever observed, and a slot per sample in a window.
//
//	rank seen <sample key>
//	rank slot <candidate> <skill> <sequence number modulo Window>

func (b *Book) slotKey(candidate, skill string, seq uint64) string {
	return key.Join(b.space, "slot", candidate, skill, slotNumber(seq))
}

func slotNumber(seq uint64) string { return strconv.FormatUint(seq%Window, 10) }

// Outcomes of a stored sample.
const (
	failure = iota
	success
	unknown
)

// record is a sample as it is stored. Its candidate and skill are in its key.
type record struct {
	Seq        uint64    `cbor:"1,keyasint,omitempty"`
	At         int64     `cbor:"2,keyasint,omitempty"` // nanoseconds since 1970
	Outcome    uint8     `cbor:"3,keyasint,omitempty"`
	Confidence *float64  `cbor:"4,keyasint,omitempty"`
	Wall       int64     `cbor:"5,keyasint,omitempty"` // nanoseconds
	Cost       float64   `cbor:"6,keyasint,omitempty"` // US dollars
	In         int32     `cbor:"7,keyasint,omitempty"` // tokens
	Out        int32     `cbor:"8,keyasint,omitempty"` // tokens
	Reward     *float64  `cbor:"9,keyasint,omitempty"`
	Situation  string    `cbor:"10,keyasint,omitempty"`
	Features   []float64 `cbor:"11,keyasint,omitempty"`
	Key        string    `cbor:"12,keyasint,omitempty"`  // of the sample
	Failed     []string  `cbor:"75,keyasint,omitempty"`  // before, at the same task
	API        float64   `cbor:"185,keyasint,omitempty"` // US dollars, estimated
	Reason     string    `cbor:"186,keyasint,omitempty"`
}

// fill sets everything but Seq from a sample that has been checked.
func (r *record) fill(s *Sample) {
	r.At = s.At.UnixNano()
	switch {
	case s.Unknown:
		r.Outcome = unknown
	case s.Success:
		r.Outcome = success
	}
	r.Confidence, r.Reward = s.Confidence, s.Reward
	r.Wall, r.Cost, r.API = int64(min(s.Wall, MaxWall)), s.CostUSD, s.APICostUSD
	r.In, r.Out = int32(s.TokensIn), int32(s.TokensOut)
	r.Situation, r.Features = s.Situation.Key, s.Situation.Features
	r.Key, r.Failed, r.Reason = s.Key, s.Situation.Failed, s.Reason
}

// sample is the opposite of fill.
func (r *record) sample(candidate, skill string) Sample {
	return Sample{
		Key: r.Key, Candidate: candidate,
		Situation: Situation{Skill: skill, Key: r.Situation, Features: r.Features, Failed: r.Failed},
		Success:   r.Outcome == success, Unknown: r.Outcome == unknown, Confidence: r.Confidence,
		Wall: time.Duration(r.Wall), CostUSD: r.Cost, APICostUSD: r.API, TokensIn: int(r.In), TokensOut: int(r.Out),
		Reward: r.Reward, Reason: r.Reason, At: time.Unix(0, r.At).UTC(),
	}
}

// entry returns what the window keeps in memory.
func (r *record) entry() entry {
	e := entry{at: r.At, wall: r.Wall, cost: r.Cost, api: r.API, in: r.In, out: r.Out, outcome: r.Outcome, confidence: -1}
	if r.Confidence != nil && r.Outcome != unknown {
		e.confidence = *r.Confidence
	}
	return e
}

// valid reports whether Observe could have written the record. The checksum
// has been verified, so anything else was written by something else.
func (r *record) valid() bool {
	return r.At >= 0 && r.Outcome <= unknown && (r.Confidence == nil || unit(*r.Confidence)) &&
		r.Wall >= 0 && r.Wall <= int64(MaxWall) && r.Cost >= 0 && r.Cost <= MaxCostUSD && r.API >= 0 && r.API <= MaxCostUSD &&
		r.In >= 0 && r.Out >= 0 && r.Seq < math.MaxUint64
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
			if err := codec.Decode(e, &r); err != nil {
				return err
			}
			parts := key.Split(e.Key[len(slots):]) // candidate, skill and slot
			if len(parts) != 3 || !r.valid() || b.slotKey(parts[0], parts[1], r.Seq) != e.Key {
				return fmt.Errorf("%w: %q is not a sample", store.ErrDamaged, e.Key)
			}
			pair := of{parts[0], parts[1]}
			records[pair] = append(records[pair], r)
		}
	}
	windows := make(map[of]*window, len(records))
	for pair, rs := range records {
		w, err := replay(rs, b.opts.Calibrated)
		if err != nil {
			return fmt.Errorf("window of %q for %q: %w", pair.candidate, pair.skill, err)
		}
		if w.full() {
			if err := b.restoreLeft(ctx, pair.candidate, pair.skill, w); err != nil {
				return fmt.Errorf("window of %q for %q: %w", pair.candidate, pair.skill, err)
			}
		}
		windows[pair] = w
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

// member returns the candidate if it is in memory, else nil.
func (b *Book) member(candidate string) (*member, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.mu.closed {
		return nil, store.ErrClosed
	}
	return b.mu.members[candidate], nil
}

// ready returns the candidate, and waits for the turn only if it has to be
// read from the store.
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

// replay builds the window of a pair from its samples, in any order.
func replay(rs []record, calibrated bool) (*window, error) {
	slices.SortFunc(rs, func(a, b record) int { return cmp.Compare(a.Seq, b.Seq) })
	last := rs[len(rs)-1].Seq
	first := last + 1 - min(last+1, Window)
	w := &window{next: first}
	for i := range rs {
		if rs[i].Seq != w.next {
			return nil, fmt.Errorf("%w: sample %d is missing", store.ErrDamaged, w.next)
		}
		w.add(rs[i].entry(), nil)
	}
	w.rate(calibrated)
	return w, nil
}

// slot returns the sample of a sequence number as it is stored, or is about
// to be.
func (b *Book) slot(ctx context.Context, candidate, skill string, seq uint64) (*record, error) {
	k := b.slotKey(candidate, skill, seq)
	e := store.Entry{Key: k}
	if op, ok := b.w.Pending(k); ok {
		e.Value = op.Value
	} else {
		var err error
		if e, err = b.st.Get(ctx, k); err != nil {
			return nil, fmt.Errorf("sample %d: %w", seq, err)
		}
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

// rewrite writes a window anew without the samples of these keys.
func (b *Book) rewrite(ctx context.Context, candidate, skill string, gone []string) error {
	m, err := b.ready(ctx, candidate)
	if err != nil {
		return err
	}
	if err := b.take(ctx); err != nil {
		return err
	}
	defer b.give()
	w := m.windows[skill]
	if err := b.w.Flush(ctx); err != nil || w == nil {
		return err
	}
	ops := make([]store.Op, 0, 2*Window)
	next := uint64(0)
	for seq := w.oldest(); seq < w.next; seq++ {
		r, err := b.slot(ctx, candidate, skill, seq)
		if err != nil {
			return err
		}
		if slices.Contains(gone, r.Key) {
			ops = append(ops, store.Op{Key: key.Join(b.space, "seen", r.Key), Delete: true})
			continue
		}
		r.Seq = next
		next++
		k := b.slotKey(candidate, skill, r.Seq)
		value, err := codec.Encode(k, r)
		if err != nil {
			return err
		}
		ops = append(ops, store.Op{Key: k, Value: value})
	}
	for seq := next; seq < min(w.next, Window); seq++ {
		ops = append(ops, store.Op{Key: b.slotKey(candidate, skill, seq), Delete: true})
	}
	if _, err := b.st.Commit(ctx, ops...); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.mu.members, candidate) // to be read again
	for _, ps := range b.mu.pairs {
		delete(ps, candidate)
	}
	return nil
}

// pushedOut returns the sample that the next one pushes out of the window,
// nil if the window is not full; it holds until the next call. The caller has
// the turn.
func (b *Book) pushedOut(ctx context.Context, candidate, skill string, w *window) (*entry, error) {
	if !w.full() {
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

// wake reads the samples of a window at rest into memory. The caller has the
// turn.
func (b *Book) wake(ctx context.Context, candidate, skill string, w *window) error {
	if w.ring != nil {
		return nil
	}
	var ring []entry
	for seq := w.oldest(); seq < w.next; seq++ {
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

// hotWindows is how many windows have their samples in memory, up to 12 KiB
// each.
const hotWindows = 4096

// usedLocked notes that the window was used. One that was not for long comes
// to rest.
func (b *Book) usedLocked(w *window) {
	if w.ring != nil {
		b.mu.hot.Add(w, struct{}{})
	}
}
