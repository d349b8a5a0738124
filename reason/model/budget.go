package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/arc-learn/arc/reason"
)

// ErrBudget is the error of a call that was not made, because the budget is
// used up. Its text says which part of it.
var ErrBudget = errors.New("model budget is used up")

// BudgetOptions are the bounds of a [Budget]. A field of 0 is no bound.
type BudgetOptions struct {
	Calls   int     // that are made, whether they fail or not
	Tokens  int     // of prompts and answers together
	CostUSD float64 // as the model reports it, else by its list prices, else by those below

	InUSD, OutUSD float64 // list prices of a million tokens, for models that report no cost
}

// Budget counts what calls have used, of all models that are charged to it
// ([Charge]), and says when it is enough. It is safe for concurrent use.
type Budget struct {
	opts BudgetOptions
	mu   struct {
		sync.Mutex
		calls    int
		usage    reason.Usage
		cost     float64
		unpriced bool // an answer of which nobody says what it cost
	}
}

// NewBudget returns a budget of which nothing is used; with nil it counts only.
// A bound that is negative or not a number is an error.
func NewBudget(opts *BudgetOptions) (*Budget, error) {
	b := new(Budget)
	if opts != nil {
		b.opts = *opts
	}
	var errs []error
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"Calls", float64(b.opts.Calls)}, {"Tokens", float64(b.opts.Tokens)}, {"CostUSD", b.opts.CostUSD},
		{"InUSD", b.opts.InUSD}, {"OutUSD", b.opts.OutUSD},
	} {
		if !(f.value >= 0 && f.value <= math.MaxFloat64) {
			errs = append(errs, fmt.Errorf("model: budget: %s is %v", f.name, f.value))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return b, nil
}

// Spent returns the number of calls so far, those under way included, and what
// the others have used. APICostUSD holds what was reckoned by the prices of the
// budget.
func (b *Budget) Spent() (calls int, usage reason.Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.calls, b.mu.usage
}

// Charge returns m with calls that are charged to b, and are not made when b is
// used up: then they fail with [ErrBudget].
//
// Calls are counted exactly. What a call will use is not known before, so the
// last ones, which were under way together when the budget ended, may exceed
// it by what they use. Tokens that a model does not report are estimated from
// the texts, four bytes each, also for streams that were broken off. Where
// CostUSD bounds, and neither the model nor a price says what an answer has
// cost, there are no further calls after it. A call that fails before its first
// piece has used no tokens.
func Charge(m reason.Model, b *Budget) reason.Model {
	return wrap(m, func(next call) call {
		return func(ctx context.Context, req *reason.Request) pieces {
			return func(yield func(*reason.Response, error) bool) { b.run(ctx, req, next, yield) }
		}
	})
}

func (b *Budget) run(ctx context.Context, req *reason.Request, next call, yield func(*reason.Response, error) bool) {
	err := ctx.Err()
	if err == nil {
		err = b.begin()
	}
	if err != nil {
		yield(nil, err)
		return
	}
	var text []byte
	var last *reason.Response
	defer func() { // also if the loop body panics
		if last != nil {
			b.charge(used(last, string(text), req, estimate))
		}
	}()
	for p, err := range next(ctx, req) {
		if err == nil {
			last = p
			text = append(text, p.Text...)
		}
		if !yield(p, err) {
			return
		}
	}
}

// begin counts a call, or says why there must not be one.
func (b *Budget) begin() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	tokens := b.mu.usage.TokensIn + b.mu.usage.TokensOut
	switch o := b.opts; {
	case o.Calls > 0 && b.mu.calls >= o.Calls:
		return fmt.Errorf("%w: %d of %d calls", ErrBudget, b.mu.calls, o.Calls)
	case o.Tokens > 0 && tokens >= o.Tokens:
		return fmt.Errorf("%w: %d of %d tokens", ErrBudget, tokens, o.Tokens)
	case o.CostUSD > 0 && b.mu.cost >= o.CostUSD:
		return fmt.Errorf("%w: %.4f of %.4f USD", ErrBudget, b.mu.cost, o.CostUSD)
	case o.CostUSD > 0 && b.mu.unpriced:
		return fmt.Errorf("%w: nobody says what the calls cost: the budget has no prices, and the model reports none", ErrBudget)
	}
	b.mu.calls++
	return nil
}

func (b *Budget) charge(u reason.Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	cost := u.CostUSD
	if cost == 0 {
		if u.APICostUSD == 0 {
			u.APICostUSD = (float64(u.TokensIn)*b.opts.InUSD + float64(u.TokensOut)*b.opts.OutUSD) / 1e6
		}
		cost = u.APICostUSD
	}
	b.mu.unpriced = b.mu.unpriced || cost == 0
	b.mu.cost += cost
	sum := b.mu.usage.Add(u)
	if sum.TokensIn < 0 || sum.TokensOut < 0 || sum.TokensIn+sum.TokensOut < 0 { // absurd reports must not overflow into credit
		sum.TokensIn, sum.TokensOut = math.MaxInt/2, math.MaxInt/2
	}
	b.mu.usage = sum
}
