// Package price says what tokens cost.
package price

import (
	"cmp"

	"github.com/arc-learn/arc/reason"
)

// Rate is in US dollars for a million tokens. Those that come from a cache, or go to it,
// cost In where theirs is 0.
type Rate struct{ In, Out, CacheRead, CacheWrite float64 }

// Of is what a usage costs at that rate, by its tokens.
func (r Rate) Of(u reason.Usage) float64 {
	plain := u.TokensIn - u.CacheRead - u.CacheWrite
	return (float64(plain)*r.In + float64(u.CacheRead)*cmp.Or(r.CacheRead, r.In) +
		float64(u.CacheWrite)*cmp.Or(r.CacheWrite, r.In) + float64(u.TokensOut)*r.Out) / 1e6
}
