package reason

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/rank"
)

// Model is a language model, by an adapter. Generate may be called concurrently. An error that the caller can
// act on is an *[Error]. Hosts call the function [Generate], not this.
type Model interface {
	Generate(ctx context.Context, r *Request) (*Response, error)
}

// Request is one call of a Model.
type Request struct {
	System      string          // the host's rules; "": none
	Messages    []Message       // the oldest first, at least one
	Schema      json.RawMessage `json:",omitempty"` // the JSON Schema of the answer; nil: free text
	Tools       []Tool          // what the model may call
	MaxTokens   int             // of the answer; 0: the adapter's default
	Temperature *float64        // nil: the provider's default
	OnText      func(string)    `json:"-"` // gets the text as it comes, by Generate in words; nil: no stream
}

// Whose a Message is.
const (
	RoleUser  = "user"
	RoleModel = "model"
	RoleTool  = "tool"
)

// Message is a turn of the conversation. One of the RoleModel may have the Calls and Opaque of the Response
// that it repeats. One of the RoleTool answers the call CallID; that this has failed its Text says in words.
type Message struct {
	Role   string          // RoleUser, RoleModel or RoleTool
	Text   string          // of the RoleTool: what the tool returned, or why it failed
	Calls  []ToolCall      // of the RoleModel: what it called
	CallID string          // of the RoleTool: the ID of the ToolCall
	Opaque json.RawMessage `json:",omitempty"` // sent back verbatim
}

// Tool is what a model is told of a tool.
type Tool struct {
	Name, Description string          // what the model calls it, and what it is for
	Input             json.RawMessage `json:",omitempty"` // the JSON Schema of an object
}

// ToolCall is a model's call of a tool.
type ToolCall struct {
	ID, Name string          // unique in its answer; the Tool's
	Inputs   json.RawMessage `json:",omitempty" cbor:"Inputs"` // of the Tool's schema, if the model obeys it
}

// Response is a Model's answer. Thoughts that the provider marks are not in Text; those that stand in it
// between tags are taken out by [Generate].
type Response struct {
	Text   string          // "" where it only calls
	Calls  []ToolCall      // what it wants called; messages of the RoleTool answer them
	Usage  *Usage          // nil: unknown
	Stop   string          // StopEnd, StopTools, StopLength, StopFilter, or the provider's word
	Opaque json.RawMessage `json:",omitempty"` // what the provider wants back with the next request
}

// Why an answer stopped.
const (
	StopEnd    = "end"    // it is whole
	StopTools  = "tools"  // it calls tools
	StopLength = "length" // it is cut off at MaxTokens or at what the model can hold
	StopFilter = "filter" // the model, or a filter of its provider, refuses
)

// Usage is what calls of models took.
type Usage = rank.Usage

// Price returns m with answers whose Usage has an EstimateUSD, where m gives none, by a list price: US
// dollars for a million tokens of input, of output, and of input from a cache (0: as input).
func Price(m Model, input, output, cached float64) Model {
	return &priced{m, input, output, cmp.Or(cached, input)}
}

type priced struct {
	Model
	input, output, cached float64
}

func (p *priced) Generate(ctx context.Context, r *Request) (*Response, error) {
	resp, err := p.Model.Generate(ctx, r)
	if resp != nil {
		resp = new(*resp)
		resp.Usage = p.estimate(resp.Usage)
	}
	if e, ok := errors.AsType[*Error](err); ok && e != nil && e.Usage != nil {
		e = new(*e)
		e.Usage = p.estimate(e.Usage)
		err = e
	}
	return resp, err
}

func (p *priced) estimate(u *Usage) *Usage {
	if u == nil || u.EstimateUSD != nil {
		return u
	}
	u = new(*u)
	usd := float64(u.Input-u.Cached)*p.input + float64(u.Cached)*p.cached + float64(u.Output)*p.output
	u.EstimateUSD = new(usd / 1e6)
	return u
}

// ModelFunc adapts a function to [Model].
type ModelFunc func(ctx context.Context, r *Request) (*Response, error)

func (f ModelFunc) Generate(ctx context.Context, r *Request) (*Response, error) { return f(ctx, r) }

// Generate calls m, and makes an error of all that is no answer: no model, a panic, a typed nil, no Response,
// one of more than 8 MiB, one that is not UTF-8. All calls of a Model go through it.
//
// It takes thoughts off the front of the Text and of what OnText gets: leading blocks <x>…</x>, [X]…[/X] and
// ◁x▷…◁/x▷, nested and repeated. Where the model's template has opened the block, a closing tag alone in a
// line ends it, but OnText has got the thought by then. An answer that is nothing but a thought, or whose
// thought never ends, is an error. An answer that has to begin with such a block needs a Schema.
//
// A provider that signs what its models say refuses calls in Messages that it has not signed, such as those
// of a plan. After a status 400 calls without Opaque are told in words, with their results.
//
// A call without an ID gets one; blank inputs and null become {}, and what is no JSON a JSON string, so that
// the schema of the tool refuses it in words. A Usage that cannot be is nil. Errors are an *[Error] where
// [Classify] knows a class (a model has no permissions: Permission is Permanent), and ctx's once that ended.
func Generate(ctx context.Context, m Model, r *Request) (*Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	own := *r
	own.Tools = each(r.Tools, shaped)
	told := &teller{to: r.OnText}
	if r.OnText != nil {
		own.OnText = told.feed
	}
	resp, err := call.Do(ctx, 0, func(ctx context.Context) (*Response, error) {
		if m == nil {
			return nil, &Error{Class: Permanent, Err: errors.New("there is no model")}
		}
		resp, err := m.Generate(ctx, &own)
		if e := Classify(err); e != nil && e.Status == http.StatusBadRequest {
			if own.Messages = inWords(r.Messages); own.Messages != nil {
				return m.Generate(ctx, &own)
			}
		}
		return resp, err
	})
	if err != nil {
		return nil, failure(ctx, err)
	}
	resp = new(*resp)
	resp.Usage = validUsage(resp.Usage)
	if err := resp.unthink(len(r.Schema) > 0); err != nil {
		return nil, &Error{Class: Invalid, Usage: resp.Usage, Err: err}
	}
	told.end(resp.Text)
	resp.Calls = callable(resp.Calls, r.Tools)
	return resp, nil
}

// teller passes a stream on in words, without thoughts. Whoever is told cleans each piece for itself, so that
// a secret has to be in one piece with what names it: up to 4 KiB that may be the beginning of one are held
// back until they go on as something else.
type teller struct {
	to   func(string) // nil: nobody is told
	text thoughts
	held string
}

var (
	// begins matches the end of a text that may be the beginning of a secret: a word, and up to four before
	// it that name it, by a sign, as "key = x", or as "the password is x"; or of a letter.
	begins = regexp.MustCompile(`(?i)(?:[!-~]*(?:\s*[:=]|authorization\W+[a-z][\w-]*|passw\w*|passphrase|` +
		`passcode|secret|token|key|bearer|basic|is|was)["']?\s*){0,4}[!-~]*\s*\x{FFFD}{0,3}$`)
	gap = regexp.MustCompile(`[^!-~]`) // what ends a word
)

func (t *teller) feed(piece string) {
	was := len(t.held)
	t.held += t.text.feed(piece)
	n := len(t.held) - 4<<10
	if gap.MatchString(t.held[max(0, was-1):]) { // else the last word goes on
		n = max(n, begins.FindStringIndex(t.held)[0])
	}
	if n > 0 {
		t.to(t.held[:n])
		t.held = t.held[n:]
	}
}

// end tells what is left of an answer that is whole.
func (t *teller) end(whole string) {
	if !t.text.past {
		t.held = whole // the model does not stream, or it was held back as a thought and is none
	}
	if t.to != nil && t.held != "" {
		t.to(t.held)
	}
}

// inWords returns messages in which calls without Opaque, and their results, are the user's words; nil: none.
func inWords(messages []Message) (out []Message) {
	called := map[string]ToolCall{}
	for _, m := range messages {
		if m.Role == RoleModel && len(m.Calls) > 0 && len(m.Opaque) == 0 {
			for _, c := range m.Calls {
				called[c.ID] = c
			}
			if m.Calls = nil; m.Text == "" {
				continue
			}
		}
		if c, ok := called[m.CallID]; ok && m.Role == RoleTool {
			text := fence.Text(fmt.Sprintf("%s %s returned: %s", c.Name, c.Inputs, m.Text))
			block := fence.Block("called", fence.Mark(text), "a call that was made; do not repeat it", text)
			m = Message{Role: RoleUser, Text: block}
			if last := len(out) - 1; last >= 0 && out[last].Role == RoleUser {
				out[last].Text += "\n" + block
				continue
			}
		}
		out = append(out, m)
	}
	if len(called) == 0 {
		return nil
	}
	return out
}

// shaped is a tool as providers take it: its schema is of an object, with properties, and the rest in words.
func shaped(t Tool) Tool {
	var given map[string]json.RawMessage
	_ = json.Unmarshal(t.Input, &given) // none, and true, take any object
	out := map[string]json.RawMessage{"properties": json.RawMessage("{}")}
	maps.Copy(out, given)
	about := t.Description + "\nThe JSON Schema of its inputs: " + string(t.Input)
	for _, key := range []string{"$ref", "allOf", "anyOf", "enum", "not", "oneOf"} {
		if out[key] != nil {
			t.Description = about // whoever calls the tool holds the inputs to it
			delete(out, key)
		}
	}
	out["type"] = json.RawMessage(`"object"`)
	t.Input, _ = schema.Marshal(out) // its members were JSON
	return t
}

func (r *Response) unthink(structured bool) error {
	var t thoughts
	whole, calls := r.Text, len(r.Calls) > 0
	said := t.feed(whole)
	rest, err := t.end(whole, !structured && !calls)
	r.Text = answered(said+rest, structured)
	if err == nil && r.Text == "" && !calls && strings.TrimSpace(whole) != "" {
		err = errThought
	}
	return err
}

// failure is the error of a call that has failed. That of ctx comes first: who has canceled a call must not
// find an outage to wait for.
func failure(ctx context.Context, err error) error {
	e := Classify(err)
	_, panicked := errors.AsType[*call.PanicError](err)
	switch {
	case ctx.Err() != nil && e != nil && e.Usage != nil:
		return fmt.Errorf("%w: %w", ctx.Err(), e) // it has cost something all the same
	case ctx.Err() != nil:
		return ctx.Err()
	case panicked || errors.Is(err, call.ErrMalformed):
		return &Error{Class: Invalid, Err: err}
	case e == nil:
		return err
	case e.Class == Permission:
		e = new(*e)
		e.Class = Permanent
		return e
	case errors.As(err, new(*Error)):
		return err
	}
	return e
}

// validUsage is u, or nil where its figures cannot be.
func validUsage(u *Usage) *Usage {
	if u == nil {
		return nil
	}
	bad := func(usd *float64) bool { return usd != nil && !(*usd >= 0 && *usd <= math.MaxInt32) }
	if min(u.Calls, u.Input, u.Output, u.Cached) < 0 || max(u.Calls, u.Input, u.Output) > math.MaxInt32 ||
		u.Cached > u.Input || bad(u.CostUSD) || bad(u.EstimateUSD) {
		return nil
	}
	u = new(*u)
	u.Calls = max(u.Calls, 1)
	return u
}

// callable returns calls with IDs that differ, inputs that are JSON, and names that are one.
func callable(calls []ToolCall, tools []Tool) []ToolCall {
	calls = slices.Clone(calls)
	seen := map[string]bool{}
	for i := range calls {
		c := &calls[i]
		for n := i + 1; c.ID == "" || seen[c.ID]; n++ {
			c.ID = fmt.Sprintf("call_%d", n)
		}
		seen[c.ID] = true
		if s := strings.TrimSpace(string(c.Inputs)); s == "" || s == "null" {
			c.Inputs = json.RawMessage("{}")
		} else if !json.Valid(c.Inputs) {
			c.Inputs, _ = schema.Marshal(string(c.Inputs)) // a string always can be
		}
		named := func(t Tool) bool { return t.Name == c.Name }
		n := len(c.Name)
		if bad := odd.MatchString(c.Name) || n == 0 || n > 64; bad && !slices.ContainsFunc(tools, named) {
			c.Name = "unknown_" + odd.ReplaceAllString(c.Name[:min(n, 50)], "_") // providers take that back
		}
	}
	return calls
}
