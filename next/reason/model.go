package reason

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Model is a language model, by an adapter. Generate may be called concurrently. An error that the caller can act
// on is an *[Error].
type Model interface {
	Generate(ctx context.Context, r *Request) (*Response, error)
}

// Request is one call of a Model.
type Request struct {
	System      string
	Messages    []Message
	Schema      json.RawMessage // the JSON Schema of the answer; nil: free text
	Tools       []Tool          // what the model may call
	MaxTokens   int             // of the answer; 0: the adapter's default
	Temperature *float64
	OnText      func(string) // gets the answer's text as it is generated; nil: not streamed
}

// Role says whose a Message is.
type Role string

const (
	UserRole  Role = "user"
	ModelRole Role = "model"
	ToolRole  Role = "tool"
)

// Message is a turn of the conversation. A ModelRole message may have Calls and Opaque of the Response it repeats;
// a ToolRole message answers the call CallID.
type Message struct {
	Role   Role
	Text   string
	Calls  []ToolCall
	CallID string
	Error  bool            // of a ToolRole message: the call failed
	Opaque json.RawMessage // sent back verbatim
}

// Tool is what a model is told of a tool.
type Tool struct {
	Name, Description string
	Input             json.RawMessage // a JSON Schema
}

// ToolCall is a model's call of a tool.
type ToolCall struct {
	ID, Name string
	Inputs   json.RawMessage
}

// Response is a Model's answer. Text has no thoughts in it.
type Response struct {
	Text   string
	Calls  []ToolCall
	Usage  *Usage // nil: unknown
	Stop   string // "end", "tools", "length", "filter", or the provider's word
	Opaque json.RawMessage
}

// Usage is what calls of models took. A nil *Usage and a nil figure are unknown, which is not 0.
type Usage struct {
	Calls         int
	Input, Output int      // tokens; Input includes Cached
	Cached        int      // input tokens read from a cache
	CostUSD       *float64 // as reported by the provider
	EstimateUSD   *float64 // tokens times list price
}

// ErrorClass says what can be done about an error of a model, worker or tool.
type ErrorClass string

const (
	RateLimited ErrorClass = "rate_limited" // wait; spends no attempt
	Unavailable ErrorClass = "unavailable"  // server error, connection, timeout: another try may succeed
	Permanent   ErrorClass = "permanent"    // wrong key, wrong model, empty account: a person has to act
	Permission  ErrorClass = "permission"   // not allowed; not retried
	Invalid     ErrorClass = "invalid"      // malformed request or answer
)

// Error is an error with a class. Status is an HTTP status, Code the provider's word, Wait when to try again at
// the earliest (0: not known).
type Error struct {
	Class  ErrorClass
	Status int
	Code   string
	Wait   time.Duration
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Class, e.Err) }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }
