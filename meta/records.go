package meta

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/flush"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// kept is the number of a session's last outcomes that stay in the store.
// Totals count all of them.
const kept = 256

// The keys of a monitor, below those of its tenant: a marker per outcome that was
// ever recorded, the totals of a session, a slot per outcome that is kept, and the
// odds; a marker per episode and the trial of a treatment; how the last objectives of a
// scope ended.
//
//	meta seen <session> <outcome key>
//	meta totals <session>
//	meta slot <session> <number of the outcome modulo kept>
//	meta odds <all, or an approach's hash>
//	meta episode <episode key>
//	meta uplift <treatment>
//	meta past <scope>
func (r *records) allKey() string { return key.Join(r.space, "odds", "all") } // of all approaches together

func (r *records) totalsKey(session string) string { return key.Join(r.space, "totals", session) }

func (r *records) oddsKey(approach uint64) string {
	return key.Join(r.space, "odds", strconv.FormatUint(approach, 16))
}

// episodeKey is that of an episode's marker.
func (r *records) episodeKey(episode string) string { return key.Join(r.space, "episode", episode) }

func (r *records) treatmentKey(name string) string { return key.Join(r.space, "uplift", name) }

func (r *records) pastKey(scope string) string { return key.Join(r.space, "past", scope) }

func (r *records) slotKey(session string, n uint64) string {
	return key.Join(r.space, "slot", session, strconv.FormatUint(n%kept, 10))
}

// seenKey is that of an outcome's marker.
func (r *records) seenKey(session, outcome string) string {
	return key.Join(r.space, "seen", session, outcome)
}

// totals are the counts of a session, as they are stored.
type totals struct {
	Outcomes  uint64 `cbor:"1,keyasint,omitempty"`
	Successes uint64 `cbor:"2,keyasint,omitempty"`
	Failures  uint64 `cbor:"3,keyasint,omitempty"` // since the last success
}

// maxOutcomes of one session: beyond it a float64 does not count exactly, and no session gets there.
const maxOutcomes = 1 << 53

// valid reports whether the counts can be those of outcomes.
func (t totals) valid() bool {
	return t.Outcomes > 0 && t.Outcomes <= maxOutcomes && t.Successes <= t.Outcomes && t.Failures <= t.Outcomes-t.Successes
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
	User      string   `cbor:"9,keyasint,omitempty"`
}

// records are those of a store, as last written: some are on their way.
type records struct {
	st    store.Store
	w     *flush.Writer
	block block
	space string // begins all keys
	ended ended
}

// block is memory that encoded records share, until it is full.
type block []byte

// blockSize is enough for some twenty outcomes.
const blockSize = 8 << 10

// present is the value of a marker.
var present = []byte{1}

// encode returns a record as it is stored.
func (b *block) encode(k string, v any) ([]byte, error) {
	if cap(*b)-len(*b) < blockSize/8 {
		*b = make([]byte, 0, blockSize)
	}
	start := len(*b)
	out, err := codec.Append(*b, k, v)
	if err != nil {
		return nil, err
	}
	*b = out
	return slices.Clip(out[start:]), nil
}

// found reports whether a marker was written before, and what went wrong since.
func (r *records) found(ctx context.Context, marker string) (bool, error) {
	found, err := r.decode(ctx, marker, nil)
	if found {
		err = r.w.Add(ctx) // adds nothing
	}
	return found, err
}

// decode reads the record of a key into v unless that is nil, and reports
// whether there is one.
func (r *records) decode(ctx context.Context, k string, v any) (found bool, err error) {
	e, err := r.get(ctx, k)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err == nil && v != nil {
		err = codec.Decode(e, v)
	}
	return err == nil, err
}

// get returns the entry of a key as last written.
func (r *records) get(ctx context.Context, k string) (store.Entry, error) {
	if op, ok := r.w.Pending(k); ok && op.Delete {
		return store.Entry{}, store.ErrNotFound
	} else if ok {
		return store.Entry{Key: k, Value: op.Value}, nil
	}
	return r.st.Get(ctx, k)
}

// record returns what is stored of the outcome.
func (o *Outcome) record(number uint64) record {
	return record{number, o.At.UnixNano(), o.Success, o.Key, o.Goal, o.Approach, o.Note, o.Resonance, o.User}
}

// given is the opposite of Outcome.record.
func (r *record) given(session string) Outcome {
	return Outcome{
		Key: r.Key, Session: session, Goal: r.Goal, Approach: r.Approach, Success: r.Success,
		Resonance: r.Resonance, Note: r.Note, At: time.Unix(0, r.At).UTC(), User: r.User,
	}
}

// happened is an entry of the journal that Monitors of several openers share: one of
// three.
type happened struct {
	Session string   `cbor:"171,keyasint,omitempty"`
	Outcome *record  `cbor:"172,keyasint,omitempty"`
	Scope   string   `cbor:"173,keyasint,omitempty"`
	Ending  *Ending  `cbor:"174,keyasint,omitempty"`
	Episode *Episode `cbor:"175,keyasint,omitempty"`
}

// ended are the endings of the scope that was asked for last, as its record had
// them. The list is never changed.
type ended struct {
	scope, key string
	value      []byte
	past       []Ending
}
