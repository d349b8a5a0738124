package reason

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"time"
)

// Model is a language model of the host.
//
// Generate may be called concurrently. It returns when ctx ends. The Request
// must not be changed or kept. An error means that there is no answer; a nil
// Response with a nil error is treated as an error by callers in arc. A failed
// call of a provider is best reported as a [ModelError], so that callers know
// whether to try again.
type Model interface {
	Generate(ctx context.Context, req *Request) (*Response, error)
}

// ModelFunc adapts a function to Model.
type ModelFunc func(ctx context.Context, req *Request) (*Response, error)

// Generate calls f.
func (f ModelFunc) Generate(ctx context.Context, req *Request) (*Response, error) {
	return f(ctx, req)
}

// Streamer is a Model that can also answer piece by piece. It is optional, and
// found by [As], so that middleware does not hide it.
//
// The pieces of Text make up the answer; the last Response that is yielded also
// carries Stop, Model and Usage of the whole. An error is the last thing
// yielded: what came before it is then not an answer. Breaking out of the loop
// ends the call.
type Streamer interface {
	Stream(ctx context.Context, req *Request) iter.Seq2[*Response, error]
}

// As finds the first T, such as a [Streamer], in a model and those that it
// wraps. A model that wraps another one has a method Unwrap() Model. If what it
// adds has to act on streams too, it streams itself, and only if the model that
// it wraps does; else As goes past it. All of package reason/model do so.
func As[T any](m Model) (T, bool) {
	for m != nil {
		if t, ok := m.(T); ok {
			return t, true
		}
		u, ok := m.(interface{ Unwrap() Model })
		if !ok {
			break
		}
		m = u.Unwrap()
	}
	var zero T
	return zero, false
}

// Request is one call of a Model.
type Request struct {
	System      string          // instructions; "": none
	Messages    []Message       // the conversation, oldest first
	Schema      json.RawMessage // JSON Schema that the answer must satisfy; nil: free text
	MaxTokens   int             // bound of the answer; 0: as the model is set up
	Temperature *float64        // nil: as the model is set up
}

// Message is one turn of a conversation.
type Message struct {
	Role string `json:"role"` // "user" or "assistant"
	Text string `json:"text"`
}

// Response is a Model's answer.
type Response struct {
	Text  string
	Stop  Stop   // why it ended; "": the model does not say
	Model string // that has answered, in the provider's words; "": not said
	Usage Usage
	Raw   any // the provider's own answer, for hosts that know its type; never kept
}

// Stop says why an answer ended. A provider's own word may be passed on where
// none of these fits.
type Stop string

// The reasons that callers in arc act on.
const (
	StopEnd     Stop = "end"     // the answer is complete
	StopLength  Stop = "length"  // cut off at a bound of tokens
	StopRefusal Stop = "refusal" // the model, or a filter, refused to answer
)

// ModelError is a failed call of a provider, as an adapter reports it.
type ModelError struct {
	Status int           // of HTTP; 0: there was no answer
	Code   string        // the provider's own word for it; "": none
	Again  bool          // another try may help: rate limits, overload, cut connections
	After  time.Duration // how long the provider asks to wait first; 0: it does not say
	Err    error
}

// Error is the text of the error.
func (e *ModelError) Error() string {
	s := "model call failed"
	if e.Status != 0 {
		s += fmt.Sprintf(" with status %d", e.Status)
	}
	if e.Code != "" {
		s += " (" + e.Code + ")"
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns Err.
func (e *ModelError) Unwrap() error { return e.Err }

// Retryable returns Again. Callers in arc ask any error in a chain that has
// this method, so that a host's own errors can say it too.
func (e *ModelError) Retryable() bool { return e.Again }

// RetryAfter returns After. It is asked for like Retryable.
func (e *ModelError) RetryAfter() time.Duration { return e.After }

// Is reports that a ModelError is an [ErrModel].
func (e *ModelError) Is(target error) bool { return target == ErrModel }

// Retryable reports whether the call that gave err may be tried again, and how
// long whoever answered asks to wait first: 0 or more, as they said it, which
// may be years. It does not look at how often that has happened.
//
// An error says so itself by a method Retryable() bool, as [ModelError] does,
// and by RetryAfter() time.Duration; the outermost in the chain counts. Of those
// that say nothing, timeouts and broken connections may be tried again, and
// nothing else. What the caller itself has ended is never tried again: that is
// any chain with context.Canceled, and one with context.DeadlineExceeded of
// which no error says otherwise. A caller that tries again looks at its own
// context first.
func Retryable(err error) (again bool, after time.Duration) {
	if err == nil || errors.Is(err, context.Canceled) {
		return false, 0
	}
	if says, ok := errors.AsType[interface {
		error
		Retryable() bool
	}](err); ok {
		again = says.Retryable()
	} else {
		again = broken(err)
	}
	if !again {
		return false, 0
	}
	if asks, ok := errors.AsType[interface {
		error
		RetryAfter() time.Duration
	}](err); ok {
		after = max(0, asks.RetryAfter())
	}
	return true, after
}

// broken reports whether err is a timeout or a broken connection of its own.
func broken(err error) bool {
	if holds(err, context.DeadlineExceeded) {
		return false
	}
	if t, ok := errors.AsType[net.Error](err); ok && t.Timeout() {
		return true
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return !dns.IsNotFound
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && (op.Op == "dial" || op.Op == "read" || op.Op == "write") // others are about what was said, such as TLS alerts
}

// holds reports whether target itself is in the chain of err. Timeouts of
// package net say that they are context.DeadlineExceeded, and only those of a
// context hold it.
func holds(err, target error) bool {
	if err == target {
		return true
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return holds(e.Unwrap(), target)
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			if holds(err, target) {
				return true
			}
		}
	}
	return false
}
