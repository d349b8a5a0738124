package reason

import (
	"context"
	"encoding/json"
)

// Model is a language model of the host.
//
// Generate may be called concurrently. It returns when ctx ends. The Request
// must not be changed or kept. An error means that there is no answer; a nil
// Response with a nil error is treated as an error by callers in arc.
type Model interface {
	Generate(ctx context.Context, req *Request) (*Response, error)
}

// ModelFunc adapts a function to [Model].
type ModelFunc func(ctx context.Context, req *Request) (*Response, error)

// Generate calls f.
func (f ModelFunc) Generate(ctx context.Context, req *Request) (*Response, error) { return f(ctx, req) }

// Request is one call of a Model.
type Request struct {
	System   string          // instructions; "": none
	Messages []Message       // the conversation, oldest first
	Schema   json.RawMessage // JSON Schema that the answer must satisfy; nil: free text
}

// Message is one turn of a conversation.
type Message struct {
	Role string // "user" or "assistant"
	Text string
}

// Response is a Model's answer.
type Response struct {
	Text  string
	Usage Usage
}
