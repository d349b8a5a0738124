package model

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// pieces are the parts of one answer, in order. A whole answer is one piece. A
// call that fails ends in an error.
type pieces = iter.Seq2[*reason.Response, error]

// sink takes the pieces of an answer, and reports whether it wants more.
type sink = func(*reason.Response, error) bool

// target is the model inside a wrapper, called in one of two ways.
type target struct {
	model    reason.Model
	streamer reason.Streamer // nil: the caller wants a whole answer
}

// call returns the pieces of an answer. The model is called when they are ranged
// over.
func (t target) call(ctx context.Context, req *reason.Request) pieces {
	if t.streamer != nil {
		return reason.Stream(ctx, t.streamer, req)
	}
	return func(yield func(*reason.Response, error) bool) { yield(reason.Generate(ctx, t.model, req)) }
}

// around is what a wrapper does in one call: it calls next and hands the pieces
// that the caller gets to yield.
type around func(ctx context.Context, req *reason.Request, next target, yield sink)

// whole is a wrapped model. It holds no state of a call, so it is as safe for
// concurrent use as its around is.
type whole struct {
	inner  reason.Model
	around around
}

// streaming is a wrapped model that streams.
type streaming struct {
	whole
	streamer reason.Streamer
}

// wrap returns m with each call made through a. The result streams if and only
// if m does. There are two types, because reason.As finds a Streamer by its
// method: one type would claim a stream that m lacks, or hide the one it has.
func wrap(m reason.Model, a around) reason.Model {
	w := whole{inner: m, around: a}
	if s, ok := reason.As[reason.Streamer](m); ok {
		return &streaming{whole: w, streamer: s}
	}
	return &w
}

// check returns the error of a call that is not made: it has no request, or a
// context that is nil or has ended. Wrappers need not look again.
func check(ctx context.Context, req *reason.Request) error {
	if req == nil {
		return fmt.Errorf("%w: nil request", reason.ErrModel)
	}
	return store.CheckContext(ctx)
}

// Unwrap returns the model inside.
func (w *whole) Unwrap() reason.Model { return w.inner }

// Generate makes a call and waits for the whole answer.
func (w *whole) Generate(ctx context.Context, req *reason.Request) (*reason.Response, error) {
	if err := check(ctx, req); err != nil {
		return nil, err
	}
	return join(func(yield func(*reason.Response, error) bool) { w.around(ctx, req, target{model: w.inner}, yield) })
}

// Stream makes a call and yields its pieces as they come.
func (s *streaming) Stream(ctx context.Context, req *reason.Request) iter.Seq2[*reason.Response, error] {
	return func(yield func(*reason.Response, error) bool) {
		if err := check(ctx, req); err != nil {
			yield(nil, err)
			return
		}
		s.around(ctx, req, target{s.inner, s.streamer}, yield)
	}
}

// join makes one response of pieces: all of the last one, with the text of all.
func join(ps pieces) (*reason.Response, error) {
	var last *reason.Response
	var text strings.Builder
	for p, err := range ps {
		if err != nil {
			return nil, err
		}
		last = p
		text.WriteString(p.Text)
	}
	if last == nil {
		return nil, fmt.Errorf("%w: neither a response nor an error", reason.ErrModel)
	}
	all := *last
	all.Text = text.String()
	return &all, nil
}

// clip returns at most n bytes of s.
func clip(s string, n int) string { return strings.ToValidUTF8(s[:min(len(s), n)], "") }
