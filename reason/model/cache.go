package model

import (
	"context"
	"crypto/sha256"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/arc-learn/arc/reason"
)

// CacheOptions are those of [Cache].
type CacheOptions struct {
	Entries int // the most answers that are kept; 0 or less: 256
}

// maxCached is the longest answer that is kept, in bytes.
const maxCached = 64 << 10

// Cache returns m with answers that are kept in memory and given again to
// requests that are equal in everything. It keeps the last ones used, and only
// complete ones: those with Stop [reason.StopEnd] that were read to their end
// and have at most 64 KiB; never errors, refusals, or what was cut off. An
// answer that is given again has no Usage, since it has used nothing, and no
// Raw; as a stream it is one piece.
//
// A request with a temperature above 0, or with none, asks for a draw, and gets
// the same one each time. Equal requests that come at the same time each go to
// m. Errors that the answer leads to are not known here: a caller that asks
// again because an answer was unusable says so in its request, as reason.LLM
// does.
func Cache(m reason.Model, opts *CacheOptions) reason.Model {
	entries := 256
	if opts != nil && opts.Entries > 0 {
		entries = opts.Entries
	}
	kept, err := lru.New[[sha256.Size]byte, reason.Response](entries)
	if err != nil {
		panic(err) // only for a size that is not positive
	}
	return wrap(m, func(next call) call {
		return func(ctx context.Context, req *reason.Request) pieces {
			return func(yield func(*reason.Response, error) bool) {
				if err := ctx.Err(); err != nil {
					yield(nil, err)
					return
				}
				key := digest(req)
				if hit, ok := kept.Get(key); ok {
					yield(&hit, nil)
					return
				}
				if answer := passOn(next(ctx, req), yield); answer != nil && answer.Stop == reason.StopEnd &&
					answer.Text != "" && len(answer.Text) <= maxCached {
					kept.Add(key, reason.Response{Text: answer.Text, Stop: answer.Stop, Model: answer.Model})
				}
			}
		}
	})
}

// passOn yields pieces and returns the answer that they make up, or nil if it
// was not read to its end.
func passOn(ps pieces, yield func(*reason.Response, error) bool) *reason.Response {
	broken := false
	answer, err := join(func(collect func(*reason.Response, error) bool) {
		for p, err := range ps {
			if !yield(p, err) {
				broken = true
				return
			}
			if !collect(p, err) {
				return
			}
		}
	})
	if err != nil || broken {
		return nil
	}
	return answer
}
