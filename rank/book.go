package rank

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/store"
)

// Book keeps the outcomes of the candidates' attempts, one scope at a time: see [Book.In]. All of a tenant's
// statistics are in memory. It may be used concurrently, also by several processes on one store: what others
// have observed of a candidate it knows after a sample of its own, or [store.Group.Refresh] of its Group.
type Book struct {
	*book
	scope *scope
	pacer *pacer // nil: none
}

// book is what the Books of a tenant's scopes share.
type book struct {
	group  *store.Group
	now    func() time.Time
	seed   uint64
	logger *slog.Logger

	mu     sync.Mutex
	scopes map[store.Scope]*scope
}

// scope has the records of a scope.
type scope struct {
	name   store.Scope
	skills map[string]*skill
}

// skill has the records of the candidates for a skill.
type skill struct {
	pairs  map[string]*pair
	sorted []*pair // by candidate: sums of floats depend on the order
	model  model   // what the records come to, while fresh
	fresh  bool
}

// pair is the record of a candidate for a skill.
type pair struct {
	skill     *skill
	candidate string
	key       string // what those of its pieces begin with
	rev       store.Revision
	rec       *record
	sum       *summary // of the ring, while it is as it was
}

const (
	kindName   = "rank" // of keys with records, in pieces of so many bytes
	pieceBytes = 512
	pacerName  = "pacer" // of keys with the accounts of pacers
)

// Open returns the Book of a tenant; its scope is the empty one. The Group is that of its other parts,
// or its own: over the part of a tenant, see [store.Sub], beside an Agent or a Layer. now is the clock; nil:
// time.Now. The draws of Learned and Weighted depend on the seed. The logger hears of unreadable records.
func Open(
	ctx context.Context, g *store.Group, now func() time.Time, seed uint64, logger *slog.Logger,
) (*Book, error) {
	if g == nil || call.None(g.Store()) {
		return nil, errors.New("rank: no store: give it store.NewGroup(st), of store.NewMem() or badger.Open")
	}
	b := &book{group: g, now: call.Clock(now), seed: seed, scopes: map[store.Scope]*scope{}}
	b.logger = cmp.Or(logger, slog.New(slog.DiscardHandler))
	read := func(ctx context.Context) error {
		all := &book{logger: b.logger, scopes: map[store.Scope]*scope{}}
		if err := all.load(codec.Scan(ctx, g.Store(), kindName)); err != nil {
			return err // what is known stays
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		for name, sc := range b.scopes {
			sc.skills = all.scopeOf(name).skills // what others have deleted is not among them
			all.scopes[name] = sc
		}
		b.scopes = all.scopes
		return nil
	}
	g.Follow("s/", b.apply, read)
	if err := read(ctx); err != nil {
		return nil, fmt.Errorf("rank: %w", err)
	}
	return (&Book{book: b}).In(""), nil
}

// In returns the Book of a scope of the tenant. Scopes do not see one another's figures.
func (b *Book) In(s store.Scope) *Book {
	if s == "_" { // the empty scope, by its tenant's name
		s = ""
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return &Book{book: b.book, scope: b.book.scopeOf(s)}
}

// Observe takes a sample in, and returns once that is durable.
func (b *Book) Observe(ctx context.Context, s Sample) error {
	return b.group.Update(ctx, func(batch *store.Batch) error { return b.Stage(ctx, batch, s) })
}

// Stage puts a sample into the commit of a step. The Book's figures change when that has succeeded. A sample
// that cannot be used is an error that wraps store.ErrInvalid.
func (b *Book) Stage(ctx context.Context, batch *store.Batch, s Sample) error {
	if err := cmp.Or(check(s.Skill, s.Candidate), b.scope.name.Check()); err != nil {
		return err
	}
	if !slices.Contains(outcomes[1:], s.Outcome) {
		return fmt.Errorf("rank: %w: outcome %q", store.ErrInvalid, s.Outcome)
	}
	if s.Reward != nil && math.Abs(*s.Reward) > maxReward {
		return fmt.Errorf("rank: %w: a reward of %v is not within ±%v", store.ErrInvalid, *s.Reward, maxReward)
	}
	if now := b.now(); s.At.IsZero() || s.At.After(now) {
		s.At = now
	}
	b.mu.Lock()
	p := b.scope.pair(s.Skill, s.Candidate)
	was, cond := p.latest(batch)
	rec := &record{was.head, slices.Clone(was.value)} // to be changed, and dropped after an error
	added, err := rec.observe(p.skill, &s)
	b.mu.Unlock()
	if err != nil {
		return err
	}
	if added && b.pacer != nil {
		err = b.charge(ctx, batch, &s, &was.Rating)
	}
	if err = cmp.Or(err, p.put(batch, was.value, rec.seal(), cond)); err != nil {
		return err
	}
	batch.After(func(rev store.Revision) { b.publish(p, rev, rec) })
	return nil
}

// latest returns the record as earlier samples of the commit have staged it, or else the current one, and the
// condition on which it may be replaced. A commit may have several samples of a pair, each made from the one
// before: what is staged are the pieces that these have changed, and the others are those of the current one.
func (p *pair) latest(batch *store.Batch) (*record, store.Condition) {
	value, staged := batch.Staged(p.pieceKey(0))
	switch {
	case !staged:
		return p.rec, store.At(p.rev)
	case len(value) == 0: // an erasure of the same commit has deleted it
		return nothing, store.Any
	}
	value = bytes.Clone(value)
	for n := 1; ; n++ {
		next, staged := batch.Staged(p.pieceKey(n))
		if !staged {
			next = piece(p.rec.value, n)
		}
		if len(next) == 0 {
			value = sealed(value) // as an earlier sample has staged it
			return &record{unpack[head](value[prefix:]), value}, store.Any
		}
		value = append(value, next...)
	}
}

// piece returns the n-th piece of a record, empty behind its end.
func piece(value []byte, n int) []byte {
	return value[min(n*pieceBytes, len(value)):min((n+1)*pieceBytes, len(value))]
}

func (p *pair) pieceKey(n int) string { return p.key + strconv.Itoa(10+n) } // two digits, so that they sort

// put stages the first piece of a record, and those that are not as they were.
func (p *pair) put(batch *store.Batch, was, value []byte, c store.Condition) error {
	err := batch.Put(p.pieceKey(0), bytes.Clone(piece(value, 0)), c) // a store may keep it, and no more
	for n := 1; n*pieceBytes < len(value) && err == nil; n++ {
		if !bytes.Equal(piece(was, n), piece(value, n)) {
			err = batch.Put(p.pieceKey(n), bytes.Clone(piece(value, n)), store.Any)
		}
	}
	return err
}

// entry returns what the ring keeps of the sample.
func (s *Sample) entry() entry {
	e := entry{
		Run: hash(s.Run), Key: hash(s.Key), At: max(0, s.At.UnixMilli()),
		Outcome: int32(slices.Index(outcomes[:], s.Outcome)),
		Wall:    held(s.Wall.Milliseconds()), In: held(int64(s.Input)), Out: held(int64(s.Output)),
		Confidence: -1, USD: -1, Reward: float32(math.NaN()), // until one is given
	}
	if s.Confidence != nil && !math.IsNaN(*s.Confidence) {
		e.Confidence = int32(math.Round(min(1, max(0, *s.Confidence)) * billion))
	}
	if usd, ok := s.cost(); ok {
		e.USD = int64(math.Round(usd * billion))
		if s.CostUSD == nil {
			e.Outcome |= estimated
		}
	}
	if s.Reward != nil {
		e.Reward = float32(*s.Reward)
	}
	return e
}

// observe takes a sample in, and reports whether it is another one.
func (r *record) observe(sk *skill, s *Sample) (added bool, err error) {
	e := s.entry()
	if r.replace(&e) {
		return false, nil
	}
	if s.Outcome.judged() {
		r.Rating.learn(sk.difficulty(s.Failed), s.Outcome == Delivered, e.USD)
	}
	if y, teaches := e.worth(); teaches {
		e.Common = float32(r.predict(sk, e.Key, y, s.At))
	}
	if s.Outcome.ill() {
		err = r.fail(Sample{Run: fence.Cut(s.Run, maxName), Class: fence.Cut(s.Class, maxName), At: s.At.UTC()})
	}
	r.push(&e)
	return true, err
}

// held is a number of milliseconds or tokens as an entry has it.
func held(n int64) int32 { return int32(min(max(0, n), math.MaxInt32)) }

// scopeOf returns the records of a scope, and makes room for them if need be. The caller has the lock.
func (b *book) scopeOf(name store.Scope) *scope {
	if b.scopes[name] == nil {
		b.scopes[name] = &scope{name: name, skills: map[string]*skill{}}
	}
	return b.scopes[name]
}

func (sc *scope) skill(name string) *skill {
	if sc.skills[name] == nil {
		sc.skills[name] = &skill{pairs: map[string]*pair{}}
	}
	return sc.skills[name]
}

// pair returns the record of a candidate for a skill, and makes room for it if need be.
func (sc *scope) pair(name, candidate string) *pair {
	sk := sc.skill(name)
	p := sk.pairs[candidate]
	if p == nil {
		id := url.PathEscape(name) + "/" + url.PathEscape(candidate)
		p = &pair{skill: sk, candidate: candidate, key: sc.name.Key(kindName, id) + "/", rec: nothing}
		sk.pairs[candidate] = p
		byName := func(q *pair, c string) int { return strings.Compare(q.candidate, c) }
		at, _ := slices.BinarySearchFunc(sk.sorted, candidate, byName)
		sk.sorted = slices.Insert(sk.sorted, at, p)
	}
	return p
}

var nobody = &pair{rec: nothing, sum: new(summary)} // a candidate that was never tried

func (sk *skill) known(candidate string) *pair {
	return cmp.Or(sk.pairs[candidate], nobody)
}

// summary sums up the ring of a candidate, and keeps that until it changes.
func (sk *skill) summary(candidate string) *summary {
	p := sk.known(candidate)
	if p.sum == nil {
		p.sum = summaryOf(p.rec)
	}
	return p.sum
}

// publish makes a record the current one. Revision 0: it is not in the store.
func (b *book) publish(p *pair, rev store.Revision, rec *record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p.rev, p.rec, p.sum, p.skill.fresh = rev, rec, nil, false
}

// apply takes in what others have written or deleted, or what a conflict was about. Each sample writes the
// first piece of a record, so where that has changed all are read at once, and are of one state.
func (b *book) apply(e store.Entry) {
	switch p := b.named(e.Key); {
	case p == nil: // an account, which is read where it is wanted
	case e.Deleted:
		b.publish(p, 0, nothing)
	case e.Rev != p.rev: // what cannot be read now is read after the conflict of a later sample
		_ = b.load(b.group.Store().Scan(context.Background(), store.Range{Prefix: p.key}))
	}
}

// named returns the record whose first piece has a key, nil if none has.
func (b *book) named(key string) *pair {
	s, kind, id, _ := store.ParseKey(key)
	name, candidate, _ := strings.Cut(strings.TrimSuffix(id, "/10"), "/")
	if kind != kindName || !strings.HasSuffix(id, "/10") {
		return nil
	}
	name, _ = url.PathUnescape(name) // which pair has escaped
	candidate, _ = url.PathUnescape(candidate)
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.scopeOf(s).pair(name, candidate)
}

// load makes records the current ones. The pieces of a record follow one another.
func (b *book) load(entries iter.Seq2[store.Entry, error]) error {
	var p *pair
	var whole store.Entry // the first piece of p, and in its value the others
	publish := func() {
		if p == nil {
			return
		}
		rec, err := decode(whole.Value) // behind it may be pieces of a longer one
		if err != nil {
			b.logger.Warn("rank: a record cannot be read and begins anew", "key", whole.Key, "error", err)
		}
		b.publish(p, whole.Rev, rec)
	}
	for e, err := range entries {
		if err != nil {
			return err
		}
		if p == nil || !strings.HasPrefix(e.Key, p.key) {
			publish()
			p, whole = b.named(e.Key), store.Entry{Key: e.Key, Rev: e.Rev}
		}
		whole.Value = append(whole.Value, e.Value...)
	}
	publish()
	return nil
}
