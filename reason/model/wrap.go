package model

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// pieces are those of one answer, or of one call that failed. A whole answer is
// one piece.
type pieces = iter.Seq2[*reason.Response, error]

// call makes a call of a model. It is made when the pieces are ranged over.
type call func(ctx context.Context, req *reason.Request) pieces

// whole is a model in whose calls something has been put.
type whole struct {
	inner reason.Model
	call  call
}

// streaming is one whose inner model streams.
type streaming struct {
	whole
	stream call
}

// wrap puts around into the calls of m, those that stream and those that do
// not. There are two types, so that no model says it streams that does not, and
// none that streams leaves it to reason.As to go past it.
func wrap(m reason.Model, around func(next call) call) reason.Model {
	w := whole{inner: m, call: around(func(ctx context.Context, req *reason.Request) pieces {
		return func(yield func(*reason.Response, error) bool) { yield(reason.Generate(ctx, m, req)) }
	})}
	s, ok := reason.As[reason.Streamer](m)
	if !ok {
		return &w
	}
	return &streaming{whole: w, stream: around(func(ctx context.Context, req *reason.Request) pieces {
		return reason.Stream(ctx, s, req)
	})}
}

// Unwrap returns the model inside.
func (w *whole) Unwrap() reason.Model { return w.inner }

// Generate makes a call and waits for the whole answer.
func (w *whole) Generate(ctx context.Context, req *reason.Request) (*reason.Response, error) {
	if ctx == nil {
		return nil, store.CheckContext(ctx)
	}
	return join(w.call(ctx, req))
}

// Stream makes a call and gives its pieces as they come.
func (s *streaming) Stream(ctx context.Context, req *reason.Request) iter.Seq2[*reason.Response, error] {
	if ctx == nil {
		return func(yield func(*reason.Response, error) bool) { yield(nil, store.CheckContext(ctx)) }
	}
	return s.stream(ctx, req)
}

// join makes one response of pieces.
func join(ps pieces) (*reason.Response, error) {
	var last *reason.Response
	var text strings.Builder
	n := 0
	for p, err := range ps {
		if err != nil {
			return nil, err
		}
		last = p
		text.WriteString(p.Text)
		n++
	}
	switch {
	case n == 0:
		return nil, fmt.Errorf("%w: neither a response nor an error", reason.ErrModel)
	case n == 1:
		return last, nil
	}
	all := *last
	all.Text = text.String()
	return &all, nil
}

// clone returns a copy of req that shares nothing with it.
func clone(req *reason.Request) *reason.Request {
	c := *req
	c.Messages = slices.Clone(req.Messages)
	c.Schema = slices.Clone(req.Schema)
	if req.Temperature != nil {
		c.Temperature = new(*req.Temperature)
	}
	return &c
}

// digest is a hash of all of req. Lengths go before texts, so that no two
// requests write the same bytes.
func digest(req *reason.Request) [sha256.Size]byte {
	h := sha256.New()
	var n [8]byte
	number := func(u uint64) {
		binary.LittleEndian.PutUint64(n[:], u)
		h.Write(n[:]) // a hash never fails
	}
	text := func(s string) {
		number(uint64(len(s)))
		h.Write([]byte(s))
	}
	text(req.System)
	number(uint64(len(req.Messages)))
	for _, m := range req.Messages {
		text(m.Role)
		text(m.Text)
	}
	text(string(req.Schema))
	number(uint64(req.MaxTokens))
	if req.Temperature != nil {
		number(math.Float64bits(*req.Temperature))
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// estimate is how many tokens a text has if nobody has counted them: one for
// each four bytes, which is near for English and too many for few texts.
func estimate(text string) int { return (len(text) + 3) / 4 }

// prompt is how many tokens a request has, by count.
func prompt(req *reason.Request, count func(string) int) int {
	n := count(req.System) + count(string(req.Schema))
	for _, m := range req.Messages {
		n += count(m.Text)
	}
	return n
}

// used is what an answer has used, or, as far as the model does not say, what
// count makes of the texts.
func used(last *reason.Response, text string, req *reason.Request, count func(string) int) reason.Usage {
	var u reason.Usage
	if last != nil {
		u = last.Usage
	}
	if u.TokensIn == 0 {
		u.TokensIn = prompt(req, count)
	}
	if u.TokensOut == 0 {
		u.TokensOut = count(text)
	}
	return u
}
