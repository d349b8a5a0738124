package model

import (
	"context"
	"errors"
	"math"

	"github.com/arc-learn/arc/internal/price"
	"github.com/arc-learn/arc/reason"
)

// Rate is what a model's tokens cost, in US dollars for a million of them. Those that come
// from a cache, or go to it, cost In where theirs is 0.
type Rate struct{ In, Out, CacheRead, CacheWrite float64 }

// Price returns m with answers that say what they cost, at r. Without it, budgets in US
// dollars bind no model whose provider reports tokens alone, as all of contrib do.
//
// It sets [reason.Usage].CostUSD, of failed calls too, unless the model inside has set it. A
// price that is negative or not a finite number counts as 0.
func Price(m reason.Model, r Rate) reason.Model {
	for _, usd := range []*float64{&r.In, &r.Out, &r.CacheRead, &r.CacheWrite} {
		if !(*usd > 0 && *usd <= math.MaxFloat64) {
			*usd = 0
		}
	}
	return wrap(m, pricer{r}.run)
}

// pricer says what calls cost.
type pricer struct{ rate Rate }

func (p pricer) run(ctx context.Context, req *reason.Request, next target, yield sink) {
	for resp, err := range next.call(ctx, req) {
		if failed, ok := errors.AsType[*reason.ModelError](err); ok && failed.Usage != (reason.Usage{}) {
			priced := *failed // the model's own may be shared
			priced.Usage = p.priced(failed.Usage)
			err = &costly{err, &priced}
		}
		if err == nil {
			priced := *resp
			priced.Usage = p.priced(resp.Usage)
			resp = &priced
		}
		if !yield(resp, err) {
			return
		}
	}
}

// priced returns u with what it costs.
func (p pricer) priced(u reason.Usage) reason.Usage {
	if u.CostUSD == 0 && u.Valid() {
		u.CostUSD = price.Rate(p.rate).Of(u)
	}
	return u
}

// costly is the error of a call whose ModelError says what it cost.
type costly struct {
	error
	priced *reason.ModelError
}

// As finds the ModelError with its cost before the one without.
func (c *costly) As(target any) bool {
	e, ok := target.(**reason.ModelError)
	if ok {
		*e = c.priced
	}
	return ok
}

func (c *costly) Unwrap() error { return c.error }
