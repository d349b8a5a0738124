package identity

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// The numbers of the design that this package follows.
const (
	// DefaultHalfLife is the time in which confidence halves.
	DefaultHalfLife = 60 * 24 * time.Hour
	// DemoteBelow is the effective confidence below which Maintain takes a
	// step of maturity back, Project leaves a fact out, and Due asks about it.
	DemoteBelow = 0.3
	// archiveBelow is the effective confidence below which Maintain archives.
	archiveBelow = 0.1
	// validationBoost is what a validation adds to the confidence, up to 1.
	validationBoost = 0.2
)

// Limits, in bytes unless said otherwise. Over one the error is a
// *store.LimitError.
const (
	maxContent  = memory.MaxText // Content of a fact or event
	maxDocument = 16 << 20       // what Import reads
	maxEvents   = 1000           // events that are kept one by one
	maxEvidence = 16             // validations whose reasons are kept
	maxReasons  = 16             // reasons of a rejection that are kept
	maxVariants = 1000
)

var (
	// ErrValue: a field of a draft, edit or event is not one of those that
	// its type allows. Nothing was stored.
	ErrValue = errors.New("bad value")
	// ErrFormat: a document is not an identity of version 1 or 2. Nothing
	// was stored.
	ErrFormat = errors.New("not an identity document")
	// ErrKnown: another fact says what an edit would make this one say.
	// Nothing was stored.
	ErrKnown = errors.New("said by another fact")
	// ErrRejected: what is suggested was rejected before. Nothing was stored.
	ErrRejected = errors.New("rejected before")
)

// Options configure an [Identity]. Nil and the zero value are ready.
type Options struct {
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
	// Seed makes ids repeatable. 0: random ones.
	Seed uint64
	// Sanitizer takes secrets out of every text before it is kept. Nil: the
	// zero Sanitizer.
	Sanitizer *redact.Sanitizer
	// Tokens counts the tokens of a text, for Project. It has to be safe for
	// concurrent use. Nil: EstimateTokens.
	Tokens func(text string) int
}

// Identity is the identity of one person or project: a view of a Bank that holds
// no state of its own, so that any number of them may work on the same one. All
// methods may be called concurrently.
//
// Every method returns the errors of the store. A change is on disk when its
// method returns; after an error of the store that is not definite, call it
// again.
type Identity struct {
	space    memory.Space // that the records are in, below the scope
	now      func() time.Time
	seed     uint64
	draws    atomic.Uint64
	sanitize *redact.Sanitizer
	tokens   func(string) int
}

// New returns the identity of a scope, such as that of a [memory.Space]. It
// reads nothing yet. A bad scope is [memory.ErrScope]; it is an error too if
// there is no Bank.
func New(bank *memory.Bank, scope memory.Scope, opts *Options) (*Identity, error) {
	if bank == nil {
		return nil, errors.New("identity: no bank")
	}
	if err := scope.Check(); err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	var o Options
	if opts != nil {
		o = *opts
	}
	x := &Identity{
		space: bank.In(scope + "/" + memory.Apart), now: o.Now, seed: o.Seed, sanitize: o.Sanitizer, tokens: o.Tokens,
	}
	if x.now == nil {
		x.now = time.Now
	}
	if x.tokens == nil {
		x.tokens = EstimateTokens
	}
	return x, nil
}

// clock is the time as it is kept: in UTC, to the microsecond, so that it is
// the same after any export.
func (x *Identity) clock() time.Time { return keptTime(x.now()) }

func keptTime(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// A fact is a record under its own ID, with its text as Content, and all of it as JSON
// in Plan. All else is records of other threads, whose ids begin with own.
const own = "identity:"

const (
	profileID      ID = own + "profile"
	headID         ID = own + "head"
	factPart          = own + "fact"
	rejectionPart     = own + "rejection"
	suggestionPart    = own + "suggestion"
	eventPart         = own + "event"
	rollupPart        = own + "rollup"
)

func idOf(part, name string) ID { return ID(part + ":" + name) }

// row is a record of a Space, with what its Plan holds. The zero row is none.
type row[T any] struct {
	was memory.Record
	v   T
}

func (r *row[T]) stored() bool { return r.was.ID != "" }

// name is the part of the id behind its part's.
func (r *row[T]) name() string { return strings.TrimPrefix(string(r.was.ID), r.was.Thread+":") }

func decoded[T any](rec memory.Record) (r row[T], err error) {
	r.was = rec
	if err = json.Unmarshal(rec.Plan, &r.v); err != nil {
		err = fmt.Errorf("identity: %w: %q: %v", store.ErrDamaged, rec.ID, err)
	}
	return r, err
}

// fetch reads a record. One that does not exist is a zero row.
func fetch[T any](ctx context.Context, x *Identity, id ID) (r row[T], err error) {
	rec, err := x.space.Get(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("identity: %w", err)
	}
	return decoded[T](rec)
}

// each reads the records of a part, in order of their time.
func each[T any](ctx context.Context, x *Identity, part string) ([]row[T], error) {
	recs, err := x.space.Latest(ctx, part, math.MaxInt)
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	out := make([]row[T], len(recs))
	for i := range recs {
		if out[i], err = decoded[T](recs[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// batch collects the writes of one commit. Its first error stays.
type batch struct {
	x       *Identity
	changes []memory.Amended
	err     error
	topic   string // of the suggestion that becomes a fact
}

// put writes v in place of what was read. is says of the record what v does not.
func put[T any](b *batch, was row[T], is memory.Record, v *T) {
	plan, err := json.Marshal(v)
	if err == nil && len(plan) > memory.MaxRecord {
		err = &store.LimitError{Field: "record", Limit: memory.MaxRecord, Got: len(plan)}
	}
	b.err = errors.Join(b.err, err)
	if is.Plan, is.Trusted = plan, true; is.Content == "" {
		is.Content = is.Thread // what is not to be found or embedded
	}
	if is.Kind == "" {
		is.Kind, is.Known = memory.Episode, b.x.clock() // which is never merged
	}
	b.changes = append(b.changes, memory.Amended{Was: was.was, Is: is})
}

func (b *batch) remove(was memory.Record) {
	b.changes = append(b.changes, memory.Amended{Was: was})
}

func (b *batch) commit(ctx context.Context) error {
	err := b.err
	if err == nil {
		err = b.x.space.Amend(ctx, b.changes...)
	}
	if err != nil {
		return fmt.Errorf("identity: %w", err)
	}
	return nil
}

// change reads, decides and writes until no other writer was in between: of
// several that collide, one has always got through, so all of them will.
func (x *Identity) change(ctx context.Context, attempt func(*batch) error) error {
	for {
		b := &batch{x: x}
		err := attempt(b)
		if err == nil {
			err = b.commit(ctx)
		}
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// head is written by whoever adds records, having read which there are.
type head struct{ Changes int }

// alone has fn decide by all records which to add: a writer in between is a conflict.
func (x *Identity) alone(ctx context.Context, fn func(*batch) error) error {
	return x.change(ctx, func(b *batch) error {
		h, err := fetch[head](ctx, x, headID)
		if err == nil {
			err = fn(b)
		}
		if err == nil && len(b.changes) > 0 {
			next := head{h.v.Changes + 1}
			put(b, h, memory.Record{ID: headID, Thread: string(headID)}, &next)
		}
		return err
	})
}

// clean makes text valid and takes secrets out of it.
func (x *Identity) clean(s string) string { return cleanBy(x.sanitize, s) }

func cleanBy(san *redact.Sanitizer, s string) string {
	return san.Sanitize(strings.ToValidUTF8(s, string(utf8.RuneError)))
}

var base = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// digest hashes parts, each with its length, into a name for a key.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(p)))
		h.Write(size[:])
		h.Write([]byte(p))
	}
	return base.EncodeToString(h.Sum(nil)[:15])
}

// draw returns a name that sorts by time, within one view also by order, and
// that is not in use with overwhelming odds; with a seed another view may have
// drawn it, which the commit finds out.
func (x *Identity) draw() string {
	n := x.draws.Add(1)
	var b [15]byte
	binary.BigEndian.PutUint64(b[:], uint64(max(x.now().UnixMilli(), 0))<<16)
	b[6], b[7], b[8] = byte(n>>16), byte(n>>8), byte(n)
	if x.seed != 0 {
		copy(b[9:], digest("draw", fmt.Sprint(x.seed), fmt.Sprint(n)))
	} else if _, err := rand.Read(b[9:]); err != nil {
		panic(err) // crypto/rand never fails
	}
	return base.EncodeToString(b[:])
}
