package meta

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strconv"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// kept is the number of a session's last outcomes that stay in the store.
// Totals count all of them.
const kept = 256

// The keys of a monitor: a marker per outcome that was ever recorded, the
// totals of a session, and a slot per outcome that is kept.
//
//	meta seen <session> <outcome key>
//	meta totals <session>
//	meta slot <session> <number of the outcome modulo kept>
//	meta odds <all, or an approach's hash>
const space = "meta"

func seenKey(session, outcome string) string { return key.Join(space, "seen", session, outcome) }

func totalsKey(session string) string { return key.Join(space, "totals", session) }

func slotsPrefix(session string) string { return key.Prefix(space, "slot", session) }

func slotKey(prefix string, n uint64) string { return prefix + strconv.FormatUint(n%kept, 10) }

// totals are the counts of a session, as they are stored.
type totals struct {
	Outcomes  uint64 `cbor:"1,keyasint,omitempty"`
	Successes uint64 `cbor:"2,keyasint,omitempty"`
	Failures  uint64 `cbor:"3,keyasint,omitempty"` // since the last success
}

func (t totals) valid() bool {
	return t.Outcomes > 0 && t.Outcomes <= math.MaxInt && t.Successes <= t.Outcomes &&
		t.Failures <= t.Outcomes-t.Successes && (t.Successes > 0 || t.Failures == t.Outcomes)
}

func (t totals) next(success bool) totals {
	t.Outcomes++
	t.Failures++
	if success {
		t.Successes++
		t.Failures = 0
	}
	return t
}

// record is an outcome as it is stored. Its session is in its key.
type record struct {
	Number    uint64   `cbor:"1,keyasint,omitempty"`
	At        int64    `cbor:"2,keyasint,omitempty"` // nanoseconds since 1970
	Success   bool     `cbor:"3,keyasint,omitempty"`
	Key       string   `cbor:"4,keyasint,omitempty"`
	Goal      string   `cbor:"5,keyasint,omitempty"`
	Approach  string   `cbor:"6,keyasint,omitempty"`
	Note      string   `cbor:"7,keyasint,omitempty"`
	Resonance *float64 `cbor:"8,keyasint,omitempty"`
}

// session is what the rules need to know of a session.
type session struct {
	seed           maphash.Seed // of the digests
	key, slots     string       // of the totals, and before those of the slots
	totals         totals
	failures       []failure // since the last success, at most the last kept
	goal, approach string    // of the last of these
	tries          []failure // since the last success of their goal, at most the last kept
	own            *odds     // of the last failure's approach; nil if there is none
}

func (s *session) add(success bool, goal, approach string) {
	s.totals = s.totals.next(success)
	f := s.failure(goal, approach)
	if success {
		s.failures, s.goal, s.approach, s.own = nil, "", "", nil
		s.tries = slices.DeleteFunc(s.tries, func(t failure) bool { return t.goal == f.goal })
		return
	}
	s.goal, s.approach = goal, approach
	s.failures, s.tries = appendLast(s.failures, f), appendLast(s.tries, f)
}

// appendLast appends f, and drops the oldest over kept.
func appendLast(fs []failure, f failure) []failure {
	if len(fs) == kept {
		fs = append(fs[:0], fs[1:]...)
	}
	return append(fs, f)
}

// tried returns how often the goal has failed since it was last delivered: by
// the approach, and by any.
func (s *session) tried(f failure) (same, all int) {
	for _, t := range s.tries {
		if t.goal == f.goal {
			all++
			if t.approach == f.approach {
				same++
			}
		}
	}
	return same, all
}

// failure holds digests of a failure's texts, which may be long. Zero is an
// empty text. The goal's digest holds within this process.
type failure struct{ goal, approach uint64 }

func (s *session) failure(goal, approach string) (f failure) {
	if goal != "" {
		f.goal = max(1, maphash.String(s.seed, goal))
	}
	if approach != "" {
		f.approach = max(1, approachKey(approach))
	}
	return f
}

// same reports whether two failures are of one approach.
func (f failure) same(g failure) bool {
	if f.approach != 0 && g.approach != 0 {
		return f.approach == g.approach
	}
	return f.goal == g.goal
}

// load returns the session, from the store unless it is in memory. The caller
// has the turn.
func (m *Monitor) load(ctx context.Context, name string) (*session, error) {
	return cached(m, m.mu.sessions, name, func() (*session, error) { return m.readSession(ctx, name) })
}

// cached returns the value of a key, which read gives if the cache has none.
func cached[K comparable, V any](m *Monitor, cache *simplelru.LRU[K, V], k K, read func() (V, error)) (V, error) {
	m.mu.Lock()
	v, ok := cache.Get(k)
	m.mu.Unlock()
	if ok {
		return v, nil
	}
	v, err := read()
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		cache.Add(k, v)
	}
	return v, err
}

// decode reads the record of a key into v, and reports whether there is one.
func (m *Monitor) decode(ctx context.Context, k string, v any) (found bool, err error) {
	e, err := m.get(ctx, k)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		err = codec.Decode(e, v)
	}
	return err == nil, err
}

func (m *Monitor) readSession(ctx context.Context, name string) (*session, error) {
	s := &session{seed: m.seed, key: totalsKey(name), slots: slotsPrefix(name)}
	var t totals
	if found, err := m.decode(ctx, s.key, &t); !found {
		return s, err
	}
	if !t.valid() {
		return nil, fmt.Errorf("%w: %q holds impossible counts", store.ErrDamaged, s.key)
	}
	for n := t.Outcomes - min(t.Outcomes, kept); n < t.Outcomes; n++ {
		r, err := m.readSlot(ctx, s.slots, n)
		if err != nil {
			return nil, err
		}
		s.add(r.Success, r.Goal, r.Approach)
	}
	if uint64(len(s.failures)) != min(t.Failures, kept) {
		return nil, fmt.Errorf("%w: %q does not count the failures that are kept", store.ErrDamaged, s.key)
	}
	s.totals = t
	if len(s.failures) == 0 {
		return s, nil
	}
	var err error
	s.own, err = m.odds(ctx, approachKey(s.approach))
	return s, err
}

// readSlot reads outcome n of a session.
func (m *Monitor) readSlot(ctx context.Context, slots string, n uint64) (r record, err error) {
	k := slotKey(slots, n)
	found, err := m.decode(ctx, k, &r)
	switch {
	case err != nil:
		return r, err
	case !found:
		return r, fmt.Errorf("%w: %q is missing", store.ErrDamaged, k)
	case r.Number != n || r.At < 0 || r.Resonance != nil && !unit(*r.Resonance):
		return r, fmt.Errorf("%w: %q is not outcome %d", store.ErrDamaged, k, n)
	}
	return r, nil
}

// write is where the records of an outcome are put together, again and again:
// all but what is in buf, since the flush.Writer keeps that.
type write struct {
	ops    []store.Op
	buf    []byte
	totals totals
	record record
	odds   storedOdds
	counts [oddsLength]byte
}

// block is the size of a buf, for some twenty outcomes.
const block = 8 << 10

func (w *write) reset() {
	clear(w.ops)
	w.ops = w.ops[:0]
	if cap(w.buf)-len(w.buf) < block/8 {
		w.buf = make([]byte, 0, block)
	}
}

// encode adds the write of a record.
func (w *write) encode(k string, v any) error {
	start := len(w.buf)
	buf, err := codec.Append(w.buf, k, v)
	if err != nil {
		return err
	}
	w.buf = buf
	w.ops = append(w.ops, store.Op{Key: k, Value: buf[start:len(buf):len(buf)]})
	return nil
}

// encode adds what has to be written when o joins the session.
func (s *session) encode(w *write, o *Outcome) error {
	w.record = record{
		Number: s.totals.Outcomes, At: o.At.UnixNano(), Success: o.Success, Key: o.Key,
		Goal: o.Goal, Approach: o.Approach, Note: o.Note, Resonance: o.Resonance,
	}
	w.totals = s.totals.next(o.Success)
	return errors.Join(w.encode(s.key, &w.totals), w.encode(slotKey(s.slots, w.record.Number), &w.record))
}
