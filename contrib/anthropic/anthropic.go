// Package anthropic is the [reason.Model] for Claude, by Anthropic's messages API.
//
//	m := anthropic.New("claude-sonnet-4-5", nil)
//
// It needs net/http and nothing else. A schema is told in words. Thinking, which Options.Extra asks for, is
// not in the text; with its signatures it is in Response.Opaque and goes back with the results of tools. A
// call is one request: who calls waits and tries again.
package anthropic

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"

	"github.com/arc-learn/arc/reason"
)

// Options configure a Model. The zero value, and nil, are ready.
type Options struct {
	URL    string         // of the API, to whose path "/v1/messages" is added; "": https://api.anthropic.com
	Key    string         // "": that of the variable KeyEnv
	KeyEnv string         // the variable that has it where Key is ""; "": ANTHROPIC_API_KEY. Errors name it
	Cache  bool           // has the provider cache prompts: it pays where they begin alike within five minutes
	Extra  map[string]any // further members of each request, e.g. "thinking"
	Client *http.Client   // nil: http.DefaultClient; its Transport is wrapped by [reason.Transport]
}

// defaultTokens bounds an answer where the Request does not, as the API wants a bound.
const defaultTokens = 8192

// Model is a model of Anthropic's. It may be used concurrently.
type Model struct {
	name string
	o    Options
}

// New returns the model of that name, without asking the API for anything.
func New(name string, o *Options) *Model {
	m := &Model{name: name, o: *cmp.Or(o, &Options{})}
	m.o.URL = cmp.Or(m.o.URL, "https://api.anthropic.com")
	if m.o.Key == "" { // errors name the one that counts
		m.o.KeyEnv = cmp.Or(m.o.KeyEnv, "ANTHROPIC_API_KEY")
	}
	m.o.KeyEnv = cmp.Or(m.o.KeyEnv, "Options.Key")
	m.o.Key = strings.TrimSpace(cmp.Or(m.o.Key, os.Getenv(m.o.KeyEnv))) // a file ends with a line end
	m.o.Extra = maps.Clone(m.o.Extra)
	m.o.Client = new(*cmp.Or(m.o.Client, http.DefaultClient))
	m.o.Client.Transport = reason.Transport(m.o.Client.Transport)
	return m
}

// Generate makes a request, a stream where r.OnText is set.
func (m *Model) Generate(ctx context.Context, r *reason.Request) (*reason.Response, error) {
	h := http.Header{"X-Api-Key": {m.o.Key}, "Anthropic-Version": {"2023-06-01"}}
	resp, err := reason.Post(ctx, m.o.Client, m.o.URL, "/v1/messages", h, m.body(r), m.name, m.o.KeyEnv)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	a, in := &answer{onText: r.OnText}, bufio.NewReader(resp.Body)
	// An endpoint that cannot stream, such as a gateway, answers with the one object all the same.
	if head, _ := in.Peek(8); r.OnText != nil && !bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) {
		if err := a.stream(in); err != nil {
			return nil, err
		}
	} else if err := json.NewDecoder(in).Decode(a); err != nil {
		return nil, a.malformed(err)
	}
	return a.response()
}

// malformed is the error of what cannot be read, with what was told until then of what it took.
func (a *answer) malformed(err error) error {
	e, ok := errors.AsType[*reason.Error](err)
	if !ok {
		e = &reason.Error{Class: reason.Invalid, Err: fmt.Errorf("the provider's answer cannot be read: %w", err)}
	}
	e.Usage = a.Usage.used()
	return e
}

type object = map[string]any

func (m *Model) body(r *reason.Request) object {
	b := object{"model": m.name, "max_tokens": cmp.Or(r.MaxTokens, defaultTokens)}
	maps.Copy(b, m.o.Extra)
	system := r.System
	if len(r.Schema) > 0 {
		system += "\n\nAnswer with one JSON object of this JSON Schema, and nothing else:\n" + string(r.Schema)
	}
	if system != "" {
		b["system"] = []object{m.cached(object{"type": "text", "text": system})}
	}
	type said struct {
		Role    string `json:"role"`
		Content []any  `json:"content"`
	}
	var messages []*said
	last := &said{}
	for i := range r.Messages {
		role, blocks := message(&r.Messages[i])
		if role != last.Role && len(blocks) > 0 { // the results of one answer's calls stand in one message
			last = &said{Role: role}
			messages = append(messages, last)
		}
		last.Content = append(last.Content, blocks...)
	}
	if n := len(last.Content); n > 0 {
		if end, ok := last.Content[n-1].(object); ok {
			m.cached(end)
		}
	}
	b["messages"] = messages
	var tools []object
	for _, t := range r.Tools {
		tools = append(tools, object{"name": t.Name, "description": t.Description, "input_schema": t.Input})
	}
	if tools != nil {
		b["tools"] = tools
	}
	if r.Temperature != nil {
		b["temperature"] = *r.Temperature
	}
	if r.OnText != nil {
		b["stream"] = true
	}
	return b
}

// cached marks a block as the end of what is cached.
func (m *Model) cached(block object) object {
	if m.o.Cache {
		block["cache_control"] = object{"type": "ephemeral"}
	}
	return block
}

// message is a message's role and blocks. An answer with signed thoughts goes back as it came.
func message(m *reason.Message) (role string, blocks []any) {
	switch m.Role {
	case reason.RoleTool:
		return "user", []any{object{"type": "tool_result", "tool_use_id": m.CallID, "content": m.Text}}
	case reason.RoleModel:
	default:
		return "user", []any{object{"type": "text", "text": m.Text}}
	}
	var kept []json.RawMessage
	if json.Unmarshal(m.Opaque, &kept) == nil && len(kept) > 0 { // else it is another adapter's, or nothing
		for _, block := range kept {
			blocks = append(blocks, block)
		}
		return "assistant", blocks
	}
	if m.Text != "" { // the API refuses an empty block
		blocks = append(blocks, object{"type": "text", "text": m.Text})
	}
	for _, c := range m.Calls {
		if in := object(nil); json.Unmarshal(c.Inputs, &in) != nil || in == nil { // which the API does not take
			c.Inputs, _ = json.Marshal(object{"arguments": string(c.Inputs)})
		}
		blocks = append(blocks, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": c.Inputs})
	}
	return "assistant", blocks
}

// answer is a message of the API, or is put together from the events of a stream.
type answer struct {
	Type       string
	Content    []json.RawMessage
	StopReason string `json:"stop_reason"`
	Usage      *usage
	Error      json.RawMessage

	onText func(string)
	open   []*block // of a stream
}

type usage struct {
	InputTokens  int `json:"input_tokens"`
	CacheRead    int `json:"cache_read_input_tokens"`
	CacheWritten int `json:"cache_creation_input_tokens"`
	OutputTokens int `json:"output_tokens"`
}

// UnmarshalJSON takes figures that are none as unknown, which is no reason to lose the answer.
func (u *usage) UnmarshalJSON(raw []byte) error {
	type figures usage // without this method
	if json.Unmarshal(raw, (*figures)(u)) != nil {
		*u = usage{OutputTokens: -1}
	}
	return nil
}

// block is what is read of a block of content, and of its pieces.
type block struct {
	Type        string          `json:"type"`
	Text        string          `json:"text,omitempty"`
	Thinking    *string         `json:"thinking,omitempty"`
	Signature   string          `json:"signature,omitempty"`
	Data        string          `json:"data,omitempty"` // of redacted thinking
	ID          string          `json:"id,omitempty"`
	Name        string          `json:"name,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	PartialJSON string          `json:"partial_json,omitempty"`
}

// stream reads server-sent events until the end of the message.
func (a *answer) stream(body *bufio.Reader) error {
	for ended := false; !ended; {
		line, err := body.ReadBytes('\n')
		if err == io.EOF { // also within a line: one that nothing ends was cut off
			return &reason.Error{Class: reason.Unavailable, Usage: a.Usage.used(), Err: io.ErrUnexpectedEOF}
		}
		if err != nil {
			return a.malformed(err)
		}
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue // the name of the event, which is in its data as well
		}
		var e struct {
			Type    string
			Index   int
			Message struct{ Usage *usage }
			Block   *block `json:"content_block"`
			Delta   struct {
				block
				StopReason string `json:"stop_reason"`
			}
			Usage *usage
			Error json.RawMessage
		}
		if err := json.Unmarshal(data, &e); err != nil {
			return a.malformed(err)
		}
		switch e.Type {
		case "error":
			return a.malformed(failed(e.Error))
		case "message_start":
			a.Usage = e.Message.Usage
		case "content_block_start":
			if e.Block != nil {
				a.open = append(a.open, e.Block)
				a.tell(e.Block.Text)
			}
		case "content_block_delta":
			if e.Index < 0 || e.Index >= len(a.open) {
				return a.malformed(fmt.Errorf("a piece of block %d, which has not begun", e.Index))
			}
			b, more := a.open[e.Index], e.Delta
			b.Text += more.Text
			b.Signature += more.Signature
			b.PartialJSON += more.PartialJSON
			if more.Thinking != nil {
				b.Thinking = new(*cmp.Or(b.Thinking, new("")) + *more.Thinking)
			}
			a.tell(more.Text)
		case "message_delta":
			a.StopReason = e.Delta.StopReason
			if a.Usage != nil && e.Usage != nil {
				a.Usage.OutputTokens = e.Usage.OutputTokens
			}
		case "message_stop":
			ended = true
		}
	}
	for _, b := range a.open {
		if b.PartialJSON != "" {
			b.Input, b.PartialJSON = json.RawMessage(b.PartialJSON), ""
		}
		if b.Type == "tool_use" && !json.Valid(b.Input) {
			b.Input, _ = json.Marshal(string(b.Input)) // a string, which the tool's schema refuses in words
		}
		raw, err := json.Marshal(b)
		if err != nil {
			return a.malformed(err)
		}
		a.Content = append(a.Content, raw)
	}
	return nil
}

func (a *answer) tell(text string) {
	if a.onText != nil && text != "" {
		a.onText(text)
	}
}

// statuses are those of errors that come in a stream, by type.
var statuses = map[string]int{
	"invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
	"not_found_error": 404, "rate_limit_error": 429, "overloaded_error": 529,
}

func failed(raw json.RawMessage) error {
	var e struct{ Type string }
	_ = json.Unmarshal(raw, &e) // without a type, it is the server's
	said := fmt.Appendf(nil, `{"error":%s}`, cmp.Or(string(raw), "null"))
	return reason.Refusal(cmp.Or(statuses[e.Type], 500), nil, said)
}

// used counts what came from a cache or went to it as input.
func (u *usage) used() *reason.Usage {
	if u == nil || u.OutputTokens < 0 {
		return nil
	}
	return &reason.Usage{
		Calls: 1, Input: u.InputTokens + u.CacheRead + u.CacheWritten, Cached: u.CacheRead, Output: u.OutputTokens,
	}
}

var stops = map[string]string{
	"end_turn": reason.StopEnd, "stop_sequence": reason.StopEnd, "tool_use": reason.StopTools,
	"refusal": reason.StopFilter, "max_tokens": reason.StopLength,
	"model_context_window_exceeded": reason.StopLength, "pause_turn": reason.StopLength,
}

// response is the answer when all has come.
func (a *answer) response() (*reason.Response, error) {
	if a.Type == "error" {
		return nil, failed(a.Error)
	}
	if len(a.Content) == 0 && a.StopReason == "" {
		return nil, a.malformed(errors.New("it is empty"))
	}
	out := &reason.Response{Usage: a.Usage.used(), Stop: cmp.Or(stops[a.StopReason], a.StopReason)}
	signed := false
	var text strings.Builder
	for _, raw := range a.Content {
		var b block
		if err := json.Unmarshal(raw, &b); err != nil {
			return nil, a.malformed(err)
		}
		switch b.Type {
		case "text":
			text.WriteString(b.Text)
		case "tool_use":
			out.Calls = append(out.Calls, reason.ToolCall{ID: b.ID, Name: b.Name, Inputs: b.Input})
		default:
			signed = true
		}
	}
	if out.Text = text.String(); a.open == nil { // it was no stream
		a.tell(out.Text)
	}
	if signed {
		out.Opaque, _ = json.Marshal(a.Content) // it came as JSON
	}
	return out, nil
}
