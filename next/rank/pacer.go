package rank

import (
	"context"
	"fmt"
	"math"

	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/store"
)

// Pacer is the policy for an open stream of tasks that may cost so much on average, each tried once: it takes the
// candidate whose worth (see [Book.Learned]), at what a success may cost at the moment, is most above its price. What
// was saved raises that, debts lower it. The debt of a stream is at most ten tasks' worth, as long as its cheapest
// candidate costs less than the average; of what was saved twenty tasks' worth can be spent later.
//
// Candidates and their prices may change with every call: a Candidate's Price counts at once where it is given, and
// what it was observed to cost where it is not.
//
// The account is kept in the store under the Pacer's name. Each task is told to [Pacer.Stage] or [Pacer.Observe]
// instead of the Book's.
type Pacer struct {
	b       *Book
	name    string
	average float64
}

// account is the state of a Pacer.
type account struct {
	rev   store.Revision
	Saved float64 // multiples of the average price
	Lean  float64 // logarithm of what a success may cost, in multiples of twice the average price
}

const (
	mostSaved = 20
	mostDebt  = 10
	thrift    = .15 // what a saved multiple adds to the logarithm at once …
	drift     = .01 // … and for good
	mostLean  = 12
)

// Pacer returns the Pacer of that name in the scope. average is in US dollars a task, and more than 0.
func (b *Book) Pacer(name string, average float64) (*Pacer, error) {
	if err := store.CheckID(name); err != nil {
		return nil, err
	}
	if !(average > 0 && average <= maxUSD) {
		return nil, fmt.Errorf("%w: an average price of %v", ErrInvalid, average)
	}
	return &Pacer{b, name, average}, nil
}

func (p *Pacer) key() string { return p.b.scope.name.Key(pacerName, p.name) }

// Score returns the candidates that the account can bear, best first, and at least the cheapest one. The Score is
// worth, in dollars, less price.
func (p *Pacer) Score(ctx context.Context, t Task, cs []Candidate) ([]Scored, error) {
	return policy{p.b, p.rank}.Score(ctx, t, cs)
}

func (p *Pacer) rank(sk *skill, t Task, cs []Candidate) []contender {
	a, es := p.b.pacers[p.key()], p.b.estimates(sk, t, cs)
	rungs, _ := sk.rungs(Task{}, cs)
	success := 2 * p.average * math.Exp(a.Lean+thrift*a.Saved)
	cheapest := math.Inf(1)
	for i := range rungs {
		cheapest = min(cheapest, rungs[i].price)
	}
	var fs []contender
	for i := range rungs {
		price := rungs[i].price
		if price > cheapest && a.Saved+1-price/p.average < -mostDebt {
			continue
		}
		s := Scored{Candidate: cs[i], Score: success*es[i].worth - price, Warm: es[i].known > 0}
		fs = append(fs, contender{s, success*es[i].total() - price})
	}
	return fs
}

// Observe takes in what came of a task, and returns once that is durable.
func (p *Pacer) Observe(ctx context.Context, s Sample) error {
	return p.b.group.Update(ctx, func(batch *store.Batch) error { return p.Stage(ctx, batch, s) })
}

// Stage puts what came of a task into the commit of a step. A sample without a cost is taken to have cost what its
// candidate usually does.
func (p *Pacer) Stage(ctx context.Context, batch *store.Batch, s Sample) error {
	p.b.mu.Lock()
	a := p.b.pacers[p.key()]
	usd, known := s.cost()
	if !known {
		r := &p.b.scope.skill(s.Task.Skill).record(s.Candidate).Rating
		usd = r.USD / max(1, r.Priced)
	}
	p.b.mu.Unlock()
	cond := store.At(a.rev)
	if value, again := batch.Staged(p.key()); again {
		if err := codec.Unmarshal(value, &a); err != nil {
			return err
		}
		cond = store.Any
	}
	a.Saved = min(mostSaved, a.Saved+1-usd/p.average)
	a.Lean = min(mostLean, max(-mostLean, a.Lean+drift*a.Saved))
	value, err := codec.Marshal(&a)
	if err != nil {
		return err
	}
	if err := p.b.Stage(ctx, batch, s); err != nil {
		return err
	}
	if err := batch.Put(p.key(), value, cond); err != nil {
		return err
	}
	batch.After(func(rev store.Revision) { p.b.applyAccount(store.Entry{Key: p.key(), Value: value, Rev: rev}) })
	return nil
}

// applyAccount takes an account in, unless a newer one is there.
func (b *book) applyAccount(e store.Entry) {
	var a account
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.Deleted {
		delete(b.pacers, e.Key)
		return
	}
	if err := codec.Unmarshal(e.Value, &a); err != nil {
		b.opts.Logger.Warn("rank: the account of a pacer cannot be read and begins anew", "key", e.Key, "error", err)
		a = account{}
	}
	if a.rev = e.Rev; a.rev >= b.pacers[e.Key].rev {
		b.pacers[e.Key] = a
	}
}
