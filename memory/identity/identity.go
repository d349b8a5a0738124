package identity

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// The numbers of the design that this package follows.
const (
	// DefaultHalfLife is the time in which confidence halves.
	DefaultHalfLife = 60 * 24 * time.Hour
	// DemoteBelow is the effective confidence below which Maintain takes a
	// step of maturity back, and Project leaves a fact out.
	DemoteBelow = 0.3
	// ArchiveBelow is the effective confidence below which Maintain archives.
	ArchiveBelow = 0.1
	// ValidationBoost is what a validation adds to the confidence, up to 1.
	ValidationBoost = 0.2
)

// Limits, in bytes unless said otherwise. Over one the error is a
// *store.LimitError.
const (
	MaxContent  = memory.MaxText // Content of a fact or event
	MaxDocument = 16 << 20       // what Import reads
	MaxEvents   = 1000           // events that are kept one by one
	maxRecord   = memory.MaxRecord
	maxEvidence = 16 // validations whose reasons are kept
	maxReasons  = 16 // reasons of a rejection that are kept
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
	// Sites says what visits to a site are about, for Infer, by host or
	// domain, in lower case and without "www."; beside the built-in ones,
	// which it overrides. A Site without a Content is ignored.
	Sites map[string]Site
}

// Identity is the identity of one person or project: a view of the store that
// holds no state of its own, so that any number of them, in any number of
// processes, may work on the same one. All methods may be called concurrently.
//
// Every method returns the errors of the store. A change is on disk when its
// method returns; after an error of the store that is not definite, call it
// again.
type Identity struct {
	st       store.Store
	part     string // the scope, as part of a key
	now      func() time.Time
	seed     uint64
	draws    atomic.Uint64
	sanitize *redact.Sanitizer
	tokens   func(string) int
	sites    map[string]Site
}

// New returns the identity of a scope, such as that of a [memory.Space]. It
// reads nothing yet. A bad scope is
// [memory.ErrScope]; it is an error too if there is no store.
func New(st store.Store, scope memory.Scope, opts *Options) (*Identity, error) {
	if st == nil {
		return nil, errors.New("identity: no store")
	}
	if err := scope.Check(); err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	var o Options
	if opts != nil {
		o = *opts
	}
	x := &Identity{st: st, part: scopePart(scope), now: o.Now, seed: o.Seed, sanitize: o.Sanitizer, tokens: o.Tokens, sites: knownSites(o.Sites)}
	if x.now == nil {
		x.now = time.Now
	}
	if x.tokens == nil {
		x.tokens = EstimateTokens
	}
	return x, nil
}

// scopePart is the scope as part of a key. A long one is hashed; no scope begins so.
func scopePart(scope memory.Scope) string {
	if len(scope) > 512 {
		return "#" + digest(string(scope))
	}
	return string(scope)
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

// Everything lies under "identity": p the profile, f the facts, c their
// canonical forms, b what was rejected, s how often something was suggested,
// h the state of the ring of events, e the events, k their keys, and r the
// roll-ups by day.
const (
	root           = "identity"
	profilePart    = "p"
	factPart       = "f"
	canonPart      = "c"
	rejectionPart  = "b"
	suggestionPart = "s"
	headPart       = "h"
	eventPart      = "e"
	markPart       = "k"
	rollupPart     = "r"
)

func (x *Identity) key(part, name string) string {
	if name == "" {
		return key.Join(root, part, x.part)
	}
	return key.Join(root, part, x.part, name)
}

func (x *Identity) prefix(part string) string { return key.Prefix(root, part, x.part) }

// row is a record with the revision at which it was read; rev is 0 if there is
// none.
type row[T any] struct {
	name string
	rev  store.Revision
	v    T
}

// fetch reads a record. One that does not exist is a zero row.
func fetch[T any](ctx context.Context, x *Identity, part, name string) (row[T], error) {
	r := row[T]{name: name}
	e, err := x.st.Get(ctx, x.key(part, name))
	if errors.Is(err, store.ErrNotFound) {
		return r, nil
	}
	if err == nil {
		r.rev = e.Rev
		err = codec.Decode(e, &r.v)
	}
	if err != nil {
		return r, fmt.Errorf("identity: %w", err)
	}
	return r, nil
}

// each reads the records of a part, in order of their names.
func each[T any](ctx context.Context, x *Identity, part string, limit int) iter.Seq2[row[T], error] {
	return func(yield func(row[T], error) bool) {
		prefix := x.prefix(part)
		for e, err := range x.st.Scan(ctx, store.Range{Prefix: prefix, Limit: limit}) {
			var r row[T]
			if err == nil {
				r.name, r.rev = strings.TrimPrefix(e.Key, prefix), e.Rev
				err = codec.Decode(e, &r.v)
			}
			if err != nil {
				yield(r, fmt.Errorf("identity: %w", err))
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// batch collects the writes of one commit. Its first error stays.
type batch struct {
	x     *Identity
	ops   []store.Op
	err   error
	topic string // of the suggestion that becomes a fact
}

// put writes a record where rev is still what is stored; 0: nothing.
func (b *batch) put(part, name string, rev store.Revision, v any) {
	k := b.x.key(part, name)
	value, err := codec.Encode(k, v)
	if err == nil && len(value) > maxRecord {
		err = &store.LimitError{Field: "record", Limit: maxRecord, Got: len(value)}
	}
	if err != nil {
		b.err = errors.Join(b.err, err)
		return
	}
	b.ops = append(b.ops, store.Op{Key: k, Value: value, If: store.At(rev)})
}

func (b *batch) remove(part, name string, rev store.Revision) {
	b.ops = append(b.ops, store.Op{Key: b.x.key(part, name), Delete: true, If: store.At(rev)})
}

func (b *batch) commit(ctx context.Context) error {
	if b.err == nil && len(b.ops) > 0 {
		_, b.err = b.x.st.Commit(ctx, b.ops...)
	}
	if b.err != nil {
		return fmt.Errorf("identity: %w", b.err)
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
