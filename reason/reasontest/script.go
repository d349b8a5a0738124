package reasontest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/arc-learn/arc/reason"
)

// Script is a model that gives its answers in order, whatever it is asked, and
// remembers the requests. A call after the last answer fails. It answers whole
// and in pieces; reason.ModelFunc(s.Generate) is the same without streaming. It
// is safe for concurrent use.
type Script struct {
	mu struct {
		sync.Mutex
		answers  []Answer
		given    int
		requests []reason.Request
	}
}

// Answer is one answer of a [Script]. The zero value is an empty text.
type Answer struct {
	Pieces []string // of the text, as they are streamed
	Stop   string
	Model  string
	Usage  reason.Usage
	Err    error            // ends the answer; those who stream get the pieces first
	Func   reason.ModelFunc // answers in place of all of the above, and is streamed as one piece
}

// Say is the complete answer that these pieces make up.
func Say(pieces ...string) Answer { return Answer{Pieces: pieces, Stop: reason.StopEnd} }

// Fail is a call that fails.
func Fail(err error) Answer { return Answer{Err: err} }

// NewScript returns a model that gives these answers.
func NewScript(answers ...Answer) *Script {
	s := new(Script)
	s.mu.answers = slices.Clone(answers)
	return s
}

// Requests returns copies of what was asked so far, the oldest first.
func (s *Script) Requests() []reason.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mu.requests)
}

// Generate gives the next answer whole.
func (s *Script) Generate(ctx context.Context, req *reason.Request) (*reason.Response, error) {
	a, err := s.next(ctx, req)
	switch {
	case err != nil:
		return nil, err
	case a.Func != nil:
		return a.Func(ctx, req)
	case a.Err != nil:
		return nil, a.Err
	}
	return a.last(strings.Join(a.Pieces, "")), nil
}

// Stream gives the next answer piece by piece.
func (s *Script) Stream(ctx context.Context, req *reason.Request) iter.Seq2[*reason.Response, error] {
	return func(yield func(*reason.Response, error) bool) {
		a, err := s.next(ctx, req)
		switch {
		case err != nil:
			yield(nil, err)
			return
		case a.Func != nil:
			yield(a.Func(ctx, req))
			return
		}
		for i, p := range a.Pieces {
			resp := &reason.Response{Text: p}
			if a.Err == nil && i == len(a.Pieces)-1 {
				resp = a.last(p)
			}
			if ctx.Err() != nil {
				yield(nil, ctx.Err())
				return
			}
			if !yield(resp, nil) {
				return
			}
		}
		if a.Err != nil {
			yield(nil, a.Err)
		} else if len(a.Pieces) == 0 {
			yield(a.last(""), nil)
		}
	}
}

func (a *Answer) last(text string) *reason.Response {
	return &reason.Response{Text: text, Stop: a.Stop, Model: a.Model, Usage: a.Usage}
}

func (s *Script) next(ctx context.Context, req *reason.Request) (*Answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.requests = append(s.mu.requests, *clone(req))
	if s.mu.given == len(s.mu.answers) {
		return nil, fmt.Errorf("reasontest: the script is at its end, after %d answers", s.mu.given)
	}
	s.mu.given++
	return &s.mu.answers[s.mu.given-1], nil
}

// clone returns a copy of req that shares nothing with it.
func clone(req *reason.Request) *reason.Request {
	c := *req
	c.Messages = slices.Clone(req.Messages)
	c.Schema = json.RawMessage(slices.Clone(req.Schema))
	if req.Temperature != nil {
		c.Temperature = new(*req.Temperature)
	}
	return &c
}
