package rank

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/store"
)

// pacer is what a Book has that keeps an average price.
type pacer struct {
	key     string
	average float64
}

// account is the state of a pacer.
type account struct {
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

// Pacer returns a Book of the scope for a stream of tasks that may cost average US dollars each, and are each
// tried once. Its Learned values a success in dollars, by what the stream has left to spend, and takes the
// candidate whose worth ([Book.Learned]) at that value is most above its price: the Score is by how much.
// Left out is who the account cannot bear, but never the cheapest. Stage and Observe charge the account, once
// for each Run; a sample without a cost counts as what its candidate usually costs.
//
// What was saved raises the value of a success, debts lower it. Debts are at most ten tasks' worth, as long
// as the cheapest candidate costs less than average; of what was saved, twenty can be spent later. The
// account is in the store under the name, an id. Candidates and prices may change with every call. An average
// that is not above 0, or over a million, is [store.ErrInvalid].
func (b *Book) Pacer(name string, average float64) (*Book, error) {
	if err := store.CheckID(name); err != nil {
		return nil, err
	}
	if !(average > 0 && average <= maxUSD) {
		return nil, fmt.Errorf("rank: %w: an average price of %v", store.ErrInvalid, average)
	}
	return &Book{b.book, b.scope, &pacer{b.scope.name.Key(pacerName, name), average}}, nil
}

// paced is Learned of a Book with a pacer.
type paced struct{ *Book }

func (b paced) Score(ctx context.Context, t Task, cs []Candidate) ([]Scored, error) {
	a, _, err := codec.Load[account](ctx, b.group.Store(), b.pacer.key)
	if err != nil {
		return nil, fmt.Errorf("rank: %w", err)
	}
	rank := func(sk *skill, t Task, cs []Candidate) []contender { return b.borne(a, sk, t, cs) }
	return policy{b.Book, rank}.Score(ctx, t, cs)
}

// borne returns the candidates whom an account can bear.
func (b paced) borne(a account, sk *skill, t Task, cs []Candidate) []contender {
	p, v := b.pacer, b.view(sk, t, cs)
	rungs := sk.rungs(Task{}, cs)
	success := 2 * p.average * math.Exp(a.Lean+thrift*a.Saved)
	cheapest := slices.MinFunc(rungs, func(x, y rung) int { return cmp.Compare(x.price, y.price) }).price
	var fs []contender
	for i := range rungs {
		price := rungs[i].price
		if price > cheapest && a.Saved+1-price/p.average < -mostDebt {
			continue
		}
		worth, extra := v.estimate(&cs[i])
		fs = append(fs, contender{i, success*worth - price, success*(worth+extra) - price})
	}
	return fs
}

// charge stages what a sample cost, of a candidate that was rated so before.
func (b *Book) charge(ctx context.Context, batch *store.Batch, s *Sample, was *rating) error {
	p := b.pacer
	usd, known := s.cost()
	if !known {
		usd = was.USD / max(1, was.Priced)
	}
	a, c, err := codec.Load[account](ctx, batch, p.key)
	if err != nil {
		return err
	}
	a.Saved = min(mostSaved, a.Saved+1-usd/p.average)
	a.Lean = min(mostLean, max(-mostLean, a.Lean+drift*a.Saved))
	return codec.Put(batch, p.key, &a, c)
}
