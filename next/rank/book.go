package rank

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/store"
)

// Options of a Book. Nil and the zero value are the defaults.
type Options struct {
	Now    func() time.Time // nil: time.Now
	Seed   uint64           // of the draws of Learned, Weighted and Ladder
	Logger *slog.Logger     // is told of records that cannot be read; nil: nobody is
}

// Book keeps the outcomes of the candidates' attempts, one scope at a time: see [Book.In]. All of a tenant's
// statistics are in memory. It may be used concurrently, also by several processes on one store: each change is
// conditional on the record that it was made from.
type Book struct {
	*book
	scope store.Scope
}

// book is what the Books of a tenant's scopes share.
type book struct {
	group *store.Group
	opts  Options

	mu     sync.RWMutex
	scopes map[store.Scope]*scope
	pacers map[string]*account // by key
}

// scope has the records of a scope.
type scope struct {
	skills     map[string]*skill
	candidates map[string][]*pair // those of a candidate at all skills
}

// skill has the records of the candidates for a skill.
type skill struct {
	name   string
	pairs  map[string]*pair
	sorted []*pair           // by candidate: sums of floats depend on the order
	byKind map[int64][]*pair // those, in the same order, that were tried at a kind of case
	model  model             // what the records come to, while fresh
	fresh  bool
}

// pair is the record of a candidate for a skill.
type pair struct {
	skill, candidate string
	rev              store.Revision
	rec              *record
	stats            *Stats // of the ring, while it is as it was
}

const (
	kindName  = "rank"  // of keys with records
	pacerName = "pacer" // of keys with the accounts of pacers
)

// Open returns the Book of a tenant over its store; its scope is the empty one. The Group is the tenant's, shared
// with the other parts, or store.NewGroup(st) for a Book of its own.
func Open(ctx context.Context, g *store.Group, o *Options) (*Book, error) {
	b := &Book{book: &book{group: g, scopes: map[store.Scope]*scope{}, pacers: map[string]*account{}}}
	if o != nil {
		b.opts = *o
	}
	if b.opts.Now == nil {
		b.opts.Now = time.Now
	}
	if b.opts.Logger == nil {
		b.opts.Logger = slog.New(slog.DiscardHandler)
	}
	g.Follow("s/", b.apply)
	for e, err := range g.Store().Scan(ctx, store.Range{Prefix: "s/"}) {
		if err != nil {
			return nil, fmt.Errorf("rank: %w", err)
		}
		b.apply(e)
	}
	return b, nil
}

// In returns the Book of a scope of the tenant. Scopes do not see one another's figures.
func (b *Book) In(s store.Scope) *Book { return &Book{b.book, s} }

// Observe takes a sample in, and returns once that is durable.
func (b *Book) Observe(ctx context.Context, s Sample) error {
	return b.group.Update(ctx, func(batch *store.Batch) error { return b.Stage(ctx, batch, s) })
}

// Stage puts a sample into the commit of a step. The Book's figures change when that has succeeded. A sample that
// cannot be used is an error that wraps ErrInvalid.
func (b *Book) Stage(ctx context.Context, batch *store.Batch, s Sample) error {
	if err := check(s.Task.Skill, s.Candidate); err != nil {
		return err
	}
	if !slices.Contains(outcomes[1:], s.Outcome) {
		return fmt.Errorf("%w: outcome %q", ErrInvalid, s.Outcome)
	}
	if s.At.IsZero() {
		s.At = b.opts.Now()
	}
	key := b.scope.Key(kindName, url.PathEscape(s.Task.Skill)+"/"+url.PathEscape(s.Candidate))
	staged, again := batch.Staged(key)

	b.mu.Lock()
	defer b.mu.Unlock()
	sk := b.skill(b.scope, s.Task.Skill)
	p := b.pair(b.scope, sk, s.Candidate)
	rec, cond := p.rec.clone(), store.At(p.rev)
	if again { // by an earlier step of the same commit, whose condition holds
		cond = store.Any
		var err error
		if rec, err = decode(staged); err != nil {
			return err
		}
	}
	b.observe(sk, rec, &s)
	value, err := codec.Marshal(rec)
	if err != nil {
		return err
	}
	if err := batch.Put(key, value, cond); err != nil {
		return err
	}
	batch.After(func(rev store.Revision) { b.publish(b.scope, p.skill, p.candidate, rev, rec) })
	return nil
}

// observe takes a sample into a record. The caller has the lock.
func (b *Book) observe(sk *skill, rec *record, s *Sample) {
	e := entry{
		run: uint32(hash(s.Run)), key: hash(s.Task.Key), at: max(0, s.At.UnixMilli()), wall: max(0, s.Wall.Milliseconds()),
		outcome: int64(slices.Index(outcomes[:], s.Outcome)), in: int64(max(0, s.TokensIn)), out: int64(max(0, s.TokensOut)),
		confidence: -1, usd: -1,
	}
	if s.Confidence != nil && !math.IsNaN(*s.Confidence) {
		e.confidence = int64(math.Round(min(1, max(0, *s.Confidence)) * billion))
	}
	if usd, ok := s.cost(); ok {
		e.usd = int64(math.Round(usd * billion))
		if s.CostUSD == nil {
			e.estimated = 1
		}
	}
	if s.Reward != nil && !math.IsNaN(*s.Reward) && !math.IsInf(*s.Reward, 0) {
		e.reward, e.rewarded = *s.Reward, 1
	}
	if at, n := rec.find(e.run); n > 0 && e.run != 0 {
		rec.correct(&e, at, n)
		return
	}
	rec.push(&e)
	rec.Totals.Attempts++
	rec.tally(&e, 1)
	if s.Outcome.ill() {
		class := strings.ToValidUTF8(s.Class[:min(len(s.Class), longClass)], "")
		rec.Recent = append(rec.Recent, Failure{Run: s.Run, Class: class, At: s.At.UTC()})
		rec.Recent = rec.Recent[max(0, len(rec.Recent)-recent):]
	}
	if s.Outcome.judged() {
		rec.Totals.Rating.learn(sk.difficulty(s.Task.Failed), s.Outcome == Delivered, e.usd)
	}
	y, teaches := e.worth()
	if !teaches {
		return
	}
	now := s.At.Unix()
	rec.predict(sk, e.key, y, now)
	rec.Totals.All.add(1, y, now, mostKnown)
	if e.key != 0 {
		rec.note(e.key, 1, y, now)
	}
}

// correct replaces the sample that stands at a place of the ring, and what it counted. What a former outcome has done
// to the rating fades with later ones.
func (r *record) correct(e *entry, at, n int) {
	var former entry
	former.unpack(r.Ring[at:])
	e.at, e.key = former.at, former.key
	r.tally(&former, -1)
	r.tally(e, 1)
	r.Ring = append(e.pack(r.Ring[:at:at]), r.Ring[at+n:]...)
	for i, x := range []*entry{&former, e} {
		by := float64(2*i - 1)
		y, teaches := x.worth()
		if !teaches {
			continue
		}
		r.Totals.All.add(by, y, r.Totals.All.Last, mostKnown)
		if c, at := r.cell(e.key); at < len(r.Cells) {
			r.note(e.key, by, y, c.Last)
		}
	}
}

// skill returns the records of a scope and a skill, and makes them if need be. The caller has the lock.
func (b *book) skill(s store.Scope, name string) *skill {
	sc := b.scopes[s]
	if sc == nil {
		sc = &scope{skills: map[string]*skill{}, candidates: map[string][]*pair{}}
		b.scopes[s] = sc
	}
	sk := sc.skills[name]
	if sk == nil {
		sk = &skill{name: name, pairs: map[string]*pair{}, byKind: map[int64][]*pair{}}
		sc.skills[name] = sk
	}
	return sk
}

// pair returns the record of a candidate at a skill, and makes it if need be. The caller has the lock.
func (b *book) pair(s store.Scope, sk *skill, candidate string) *pair {
	p := sk.pairs[candidate]
	if p == nil {
		p = &pair{skill: sk.name, candidate: candidate, rec: new(record)}
		sk.pairs[candidate] = p
		sk.sorted = insert(sk.sorted, p)
		b.scopes[s].candidates[candidate] = append(b.scopes[s].candidates[candidate], p)
	}
	return p
}

// insert puts p into pairs that are sorted by candidate, unless it is there.
func insert(ps []*pair, p *pair) []*pair {
	i, found := slices.BinarySearchFunc(ps, p, func(a, b *pair) int { return strings.Compare(a.candidate, b.candidate) })
	if found {
		return ps
	}
	return slices.Insert(ps, i, p)
}

// publish makes a record the current one, unless a newer one is. Revision 0 is that of a key that was deleted.
func (b *book) publish(s store.Scope, name, candidate string, rev store.Revision, rec *record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	sk := b.skill(s, name)
	p := b.pair(s, sk, candidate)
	if rev < p.rev && rev != 0 {
		return
	}
	p.rev, p.rec, p.stats, sk.fresh = rev, rec, nil, false
	for at := 0; at < len(rec.Cells); at += cellSize {
		key := int64(binary.LittleEndian.Uint64(rec.Cells[at:]))
		sk.byKind[key] = insert(sk.byKind[key], p)
	}
}

// apply takes in an entry as it stands in the store: at Open, after a conflict, from another process.
func (b *book) apply(e store.Entry) {
	s, kind, id, ok := store.ParseKey(e.Key)
	if !ok || kind != kindName && kind != pacerName {
		return
	}
	if kind == pacerName {
		b.applyAccount(e)
		return
	}
	skill, candidate, ok := strings.Cut(id, "/")
	skill, err := url.PathUnescape(skill)
	candidate, err2 := url.PathUnescape(candidate)
	if !ok || err != nil || err2 != nil {
		return
	}
	rec, rev := new(record), store.Revision(0)
	if !e.Deleted {
		if rec, err = decode(e.Value); err != nil {
			b.opts.Logger.Warn("rank: a record cannot be read and begins anew", "key", e.Key, "error", err)
			rec = new(record)
		}
		rev = e.Rev
	}
	b.publish(s, skill, candidate, rev, rec)
}

// Stats are the figures of a candidate's last 200 attempts at a skill. Means are over the attempts that reported
// the figure, but for tokens and cost, where an unknown one counts as 0.
type Stats struct {
	Samples   int
	Judged    int // of these, that tell about skill
	Delivered int
	Success   float64 // Delivered of Judged; 0 if there are none
	Wall      time.Duration
	CostUSD   float64
	TokensIn  float64
	TokensOut float64

	Confidences            int // judged samples with a confidence
	Confidence             float64
	ConfidenceOnSuccess    float64
	ConfidenceOnFailure    float64
	HighConfidenceFailures int // failures that claimed .8 or more
}

// Stats returns the figures of a candidate at a skill; the zero Stats if there are none.
func (b *Book) Stats(candidate, skill string) Stats {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if sk := b.lookup(skill); sk != nil && sk.pairs[candidate] != nil {
		return statsOf(sk.pairs[candidate].rec)
	}
	return Stats{}
}

// lookup returns the records of a skill, or nil. The caller has the lock.
func (b *Book) lookup(name string) *skill {
	if sc := b.scopes[b.scope]; sc != nil {
		return sc.skills[name]
	}
	return nil
}

const highConfidence = 0.8

func statsOf(r *record) Stats {
	s := Stats{Samples: int(r.Totals.Len)}
	var wall, usd, all, good, bad, failed int64
	for e := range r.entries {
		s.TokensIn += float64(e.in)
		s.TokensOut += float64(e.out)
		wall += e.wall
		usd += max(0, e.usd)
		if !e.is().judged() {
			continue
		}
		s.Judged++
		if e.is() == Delivered {
			s.Delivered++
		}
		if e.confidence < 0 {
			continue
		}
		s.Confidences++
		all += e.confidence
		if e.is() == Delivered {
			good += e.confidence
			continue
		}
		failed++
		bad += e.confidence
		if e.confidence >= highConfidence*billion {
			s.HighConfidenceFailures++
		}
	}
	s.Wall = time.Duration(ratio(float64(wall)*float64(time.Millisecond), s.Samples))
	s.CostUSD = ratio(float64(usd)/billion, s.Samples)
	s.TokensIn, s.TokensOut = ratio(s.TokensIn, s.Samples), ratio(s.TokensOut, s.Samples)
	s.Success = ratio(float64(s.Delivered), s.Judged)
	s.Confidence = ratio(float64(all)/billion, s.Confidences)
	s.ConfidenceOnSuccess = ratio(float64(good)/billion, s.Confidences-int(failed))
	s.ConfidenceOnFailure = ratio(float64(bad)/billion, int(failed))
	return s
}

func ratio(sum float64, n int) float64 {
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}
