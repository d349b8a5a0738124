// Package reasontest holds an adapter of a model provider to the rules of [reason.Model], and has a Model by
// script for the tests of what calls one.
package reasontest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/arc-learn/arc/reason"
)

// Script is a Model that answers by its turns, in order, whatever it is asked. A call after the last turn is
// an error. It may be used concurrently.
type Script struct {
	mu       sync.Mutex
	turns    []reason.ModelFunc
	requests []reason.Request
}

// NewScript returns a Script of these turns: those of [Say], [Call] and [Fail], or a host's own.
func NewScript(turns ...reason.ModelFunc) *Script { return &Script{turns: turns} }

// Generate answers by the next turn.
func (s *Script) Generate(ctx context.Context, r *reason.Request) (*reason.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	n := len(s.requests)
	copied := *r
	copied.Messages = slices.Clone(r.Messages)
	s.requests = append(s.requests, copied)
	s.mu.Unlock()
	if n >= len(s.turns) {
		return nil, fmt.Errorf("reasontest: the script has %d turns, and this is request %d", len(s.turns), n+1)
	}
	return s.turns[n](ctx, r)
}

// Requests are those that were made so far.
func (s *Script) Requests() []reason.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Say is a turn with a text, in the pieces in which it is streamed.
func Say(pieces ...string) reason.ModelFunc {
	return func(_ context.Context, r *reason.Request) (*reason.Response, error) {
		if r.OnText != nil {
			for _, p := range pieces {
				r.OnText(p)
			}
		}
		text := strings.Join(pieces, "")
		used := &reason.Usage{Calls: 1, Input: 100, Output: len(text)}
		return &reason.Response{Text: text, Stop: reason.StopEnd, Usage: used}, nil
	}
}

// Call is a turn that calls a tool, with inputs in JSON.
func Call(name, inputs string) reason.ModelFunc {
	return func(context.Context, *reason.Request) (*reason.Response, error) {
		return &reason.Response{
			Calls: []reason.ToolCall{{Name: name, Inputs: json.RawMessage(inputs)}}, Stop: reason.StopTools,
			Usage: &reason.Usage{Calls: 1, Input: 100, Output: len(inputs)},
		}, nil
	}
}

// Fail is a turn that fails.
func Fail(err error) reason.ModelFunc {
	return func(context.Context, *reason.Request) (*reason.Response, error) { return nil, err }
}
