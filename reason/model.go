package reason

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/url"
	"syscall"
	"time"

	"github.com/arc-learn/arc/internal/guard"
)

// Model is a language model of the host.
//
// Generate may be called concurrently. It returns when ctx ends. The Request
// must not be changed or kept. An error means that there is no answer; callers
// in arc take a nil Response with a nil error for an error too. An adapter
// reports a failed call of a provider as a [ModelError], so that callers know
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
// [As] finds it behind middleware.
//
// The pieces of Text make up the answer; the last Response also carries Stop,
// Model and Usage of the whole. An error comes last, and what came before it is
// not an answer then. Breaking out of the loop ends the call.
type Streamer interface {
	Stream(ctx context.Context, req *Request) iter.Seq2[*Response, error]
}

// maxWrapped bounds how many models wrap one another.
const maxWrapped = 64

// As finds the first T, such as a [Streamer], in a model and in the models that
// it wraps. A model that wraps another one has a method Unwrap() Model. A
// wrapper that has to act on streams too streams itself, if the model within
// does; As goes past every other one. All of package reason/model do so.
func As[T any](m Model) (T, bool) {
	for n := 0; m != nil && n < maxWrapped; n++ {
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
	// System has the instructions. "": none.
	System string
	// Messages are the conversation, oldest first.
	Messages []Message
	// Schema is the JSON Schema that the answer must satisfy. nil: free text.
	// An adapter whose provider enforces no schemas tells it in words.
	Schema json.RawMessage
	// MaxTokens bounds the answer. 0: as the model is set up.
	MaxTokens int
	// Temperature is that of the draws of tokens. nil: as the model is set up.
	Temperature *float64
}

// Message is one turn of a conversation.
type Message struct {
	// Role is "user" or "assistant".
	Role string `json:"role"`
	Text string `json:"text"`
}

// Response is a Model's answer.
type Response struct {
	Text string
	// Stop says why the answer ended. An adapter passes a provider's own word on
	// where neither StopEnd, StopLength nor StopRefusal fits. "": the model does
	// not say.
	Stop string
	// Model is the one that has answered, in the provider's words. "": not
	// said.
	Model string
	Usage Usage
	// Raw is the provider's own answer, for hosts that know its type. It is
	// never kept.
	Raw any
}

// The reasons to stop that callers in arc act on.
const (
	StopEnd     = "end"     // the answer is complete
	StopLength  = "length"  // cut off at a bound of tokens
	StopRefusal = "refusal" // the model, or a filter, refused to answer
)

// ErrModel is the error of a model that gave no answer: its call failed or
// panicked, or came back with nothing, or with more than [MaxAnswer].
var ErrModel = errors.New("no answer of the model")

// ModelError is a failed call of a provider, as an adapter reports it.
type ModelError struct {
	// Status is that of HTTP. 0: there was no answer.
	Status int
	// Code is the provider's own word for the failure. "": none.
	Code string
	// Again says that another try may help: rate limits, overload, cut
	// connections.
	Again bool
	// After is how long the provider asks to wait first. 0: it does not say.
	After time.Duration
	// Err is the cause. It says nothing of the key.
	Err error
	// Usage is what the call has cost all the same. The zero value: not known.
	Usage Usage
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

// Unwrap returns [ErrModel] and Err.
func (e *ModelError) Unwrap() []error { return []error{ErrModel, e.Err} }

// Retryable reports whether the call that gave err may be tried again, and how
// long the provider asks to wait first: 0 or more, as it said, which may be
// years. It does not look at how often that has happened.
//
// A [ModelError] says so by Again and After; another error of a host may have a
// method Retryable() (again bool, after time.Duration), and the outermost with
// it in the chain counts, before a ModelError. Of errors that say nothing,
// timeouts and broken connections may be tried again, and nothing else. What
// the caller itself has ended is never tried again: any chain with
// context.Canceled, and one with context.DeadlineExceeded of which no error
// says otherwise. A caller that tries again looks at its own context first.
func Retryable(err error) (again bool, after time.Duration) {
	if err = guard.Error(err); err == nil || errors.Is(err, context.Canceled) {
		return false, 0
	}
	if says, ok := errors.AsType[interface {
		error
		Retryable() (bool, time.Duration)
	}](err); ok {
		again, after = says.Retryable()
	} else if e, ok := errors.AsType[*ModelError](err); ok {
		again, after = e.Again, e.After
	} else {
		again = broken(err)
	}
	if !again {
		return false, 0
	}
	return true, max(0, after)
}

// broken reports whether err is a timeout or a broken connection of its own.
func broken(err error) bool {
	if holds(err, context.DeadlineExceeded) {
		return false
	}
	if t, ok := errors.AsType[net.Error](err); ok && t.Timeout() {
		return true
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) {
		return true
	}
	if sent, ok := errors.AsType[*url.Error](err); ok && errors.Is(sent.Err, io.EOF) {
		return true // the server closed the connection, as one does that restarts
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return !dns.IsNotFound
	}
	op, ok := errors.AsType[*net.OpError](err)
	// Other operations are about what was said, such as TLS alerts.
	return ok && (op.Op == "dial" || op.Op == "read" || op.Op == "write")
}

// holds reports whether target itself is in the chain of err. Timeouts of
// package net claim to be context.DeadlineExceeded; those of a context hold it.
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
