// Package openai is the [reason.Model] for OpenAI's chat completions and every endpoint that speaks them:
// vLLM, llama.cpp, Ollama, OpenRouter, Gemini, Mistral, DeepSeek and others.
//
//	m := openai.New("qwen3", &openai.Options{URL: "http://localhost:11434/v1"})
//
// It needs net/http and nothing else. Content comes as text or as parts; thoughts that the endpoint marks
// (reasoning_content, a part of another type than text) are not in the text, and what it wants back of them
// with the results of tools is in Response.Opaque. A call is one request: who calls waits and tries again.
package openai

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

// Options fit a Model to an endpoint. The zero value, and nil, are for OpenAI's.
type Options struct {
	URL    string         // of the API, before "/chat/completions" in its path; "": https://api.openai.com/v1
	Key    string         // "": that of the variable KeyEnv
	KeyEnv string         // the variable that has it where Key is ""; "": OPENAI_API_KEY. Errors name it
	Words  bool           // a schema is told in words, for endpoints without response_format
	Extra  map[string]any // further members of each request, e.g. "reasoning_effort"
	Client *http.Client   // nil: http.DefaultClient; its Transport is wrapped by [reason.Transport]
}

// Model is a model at an endpoint. It may be used concurrently.
type Model struct {
	name string
	o    Options
}

// New returns the model of that name, without asking the endpoint for anything.
func New(name string, o *Options) *Model {
	m := &Model{name: name, o: *cmp.Or(o, &Options{})}
	m.o.URL = cmp.Or(m.o.URL, "https://api.openai.com/v1")
	if m.o.Key == "" { // errors name the one that counts
		m.o.KeyEnv = cmp.Or(m.o.KeyEnv, "OPENAI_API_KEY")
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
	resp, err := m.post(ctx, "/chat/completions", m.body(r))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	a := &answer{onText: r.OnText}
	in := bufio.NewReader(resp.Body)
	// An endpoint that cannot stream, or not with tools, answers with the one object all the same.
	var data []byte
	if head, _ := in.Peek(8); r.OnText != nil && !bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) {
		err = a.stream(in)
	} else if data, err = io.ReadAll(in); err == nil {
		err = a.add(data)
	}
	if err != nil {
		return nil, err
	}
	return a.response()
}

func (m *Model) post(ctx context.Context, path string, body object) (*http.Response, error) {
	h := http.Header{}
	if m.o.Key != "" {
		h.Set("Authorization", "Bearer "+m.o.Key)
	}
	return reason.Post(ctx, m.o.Client, m.o.URL, path, h, body, m.name, m.o.KeyEnv)
}

type object = map[string]any

func (m *Model) body(r *reason.Request) object {
	b := object{"model": m.name}
	maps.Copy(b, m.o.Extra)
	system := r.System
	switch {
	case len(r.Schema) > 0 && m.o.Words:
		system += "\n\nAnswer with one JSON object of this JSON Schema, and nothing else:\n" + string(r.Schema)
	case len(r.Schema) > 0:
		schema := object{"name": "answer", "schema": r.Schema}
		b["response_format"] = object{"type": "json_schema", "json_schema": schema}
	}
	messages := make([]object, 0, len(r.Messages)+1)
	if system != "" {
		messages = append(messages, object{"role": "system", "content": system})
	}
	for i := range r.Messages {
		messages = append(messages, message(&r.Messages[i]))
	}
	b["messages"] = messages
	var tools []object
	for _, t := range r.Tools {
		f := object{"name": t.Name, "description": t.Description, "parameters": t.Input}
		tools = append(tools, object{"type": "function", "function": f})
	}
	if tools != nil {
		b["tools"] = tools
	}
	if r.MaxTokens > 0 { // most endpoints know the first name alone, and OpenAI's reasoning models refuse it
		name := "max_tokens"
		if strings.Contains(m.o.URL, ".openai.") {
			name = "max_completion_tokens"
		}
		b[name] = r.MaxTokens
	}
	if r.Temperature != nil {
		b["temperature"] = *r.Temperature
	}
	if r.OnText != nil {
		b["stream"], b["stream_options"] = true, object{"include_usage": true}
	}
	return b
}

// opaque is what an endpoint wants back of an answer that calls tools.
type opaque struct {
	Message object            // members of the message: reasoning_content, reasoning_details
	Calls   []json.RawMessage // extra_content of each call (Gemini's signatures)
}

func message(m *reason.Message) object {
	switch m.Role {
	case reason.RoleTool:
		return object{"role": "tool", "tool_call_id": m.CallID, "content": m.Text}
	case reason.RoleModel:
	default:
		return object{"role": "user", "content": m.Text}
	}
	out, kept := object{}, opaque{}
	_ = json.Unmarshal(m.Opaque, &kept) // of another adapter: nothing is kept
	maps.Copy(out, kept.Message)
	out["role"], out["content"] = "assistant", m.Text
	var calls []object
	for i, c := range m.Calls {
		f := object{"name": c.Name, "arguments": string(c.Inputs)}
		call := object{"id": c.ID, "type": "function", "function": f}
		if i < len(kept.Calls) && len(kept.Calls[i]) > 0 && string(kept.Calls[i]) != "null" {
			call["extra_content"] = kept.Calls[i]
		}
		calls = append(calls, call)
	}
	if calls != nil {
		out["tool_calls"] = calls
	}
	return out
}

// completion is an answer, or a piece of one.
type completion struct {
	Error   json.RawMessage
	Choices []struct {
		Message, Delta delta
		FinishReason   string `json:"finish_reason"`
	}
	Usage json.RawMessage
}

type delta struct {
	Content          json.RawMessage // a string, or parts
	Refusal          string
	ReasoningContent string            `json:"reasoning_content"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
	ToolCalls        []struct {
		Index    int
		ID       string
		Function struct {
			Name      string
			Arguments json.RawMessage // a string, and of some an object
		}
		ExtraContent json.RawMessage `json:"extra_content"`
	} `json:"tool_calls"`
}

type usage struct {
	PromptTokens        int `json:"prompt_tokens"`
	CompletionTokens    int `json:"completion_tokens"`
	TotalTokens         int `json:"total_tokens"`
	PromptTokensDetails struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	PromptCacheHitTokens int      `json:"prompt_cache_hit_tokens"` // DeepSeek
	Cost                 *float64 // OpenRouter, in US dollars
}

// answer is put together from its pieces.
type answer struct {
	onText        func(string)
	text, refusal strings.Builder
	thought       strings.Builder
	details       []json.RawMessage
	calls         []call
	finish        string
	usage         *reason.Usage
}

type call struct {
	index int
	id    string
	name  string
	args  []byte
	extra json.RawMessage
}

// stream reads server-sent events until the end of the answer.
func (a *answer) stream(body *bufio.Reader) error {
	for ended := false; !ended; {
		line, err := body.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return a.malformed(err)
		}
		data, ok := bytes.CutPrefix(line, []byte("data:")) // else it is a comment, or the name of an event
		data = bytes.TrimSpace(data)
		ended = err == io.EOF || string(data) == "[DONE]" // that also within a line, which was cut off
		if ok && !ended {
			if err := a.add(data); err != nil {
				return err
			}
		}
	}
	if a.finish == "" {
		return &reason.Error{Class: reason.Unavailable, Usage: a.usage, Err: io.ErrUnexpectedEOF}
	}
	return nil
}

// malformed is the error of what cannot be read, with what was told until then of what it took.
func (a *answer) malformed(err error) error {
	e, ok := errors.AsType[*reason.Error](err)
	if !ok {
		e = &reason.Error{Class: reason.Invalid, Err: fmt.Errorf("the endpoint's answer cannot be read: %w", err)}
	}
	e.Usage = a.usage
	return e
}

// add adds an answer, or a piece of one.
func (a *answer) add(data []byte) error {
	var c completion
	if err := json.Unmarshal(data, &c); err != nil {
		return a.malformed(err)
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		var status struct{ Code int }
		_ = json.Unmarshal(c.Error, &status) // without a number, it is the server's
		return a.malformed(reason.Refusal(cmp.Or(status.Code, http.StatusInternalServerError), nil, data))
	}
	// Figures that are none are unknown, and no reason to lose the answer. No prompt is empty: an endpoint that
	// says so does not count.
	var u usage
	if json.Unmarshal(c.Usage, &u) == nil && (u.PromptTokens+u.CompletionTokens > 0 || u.Cost != nil) {
		// Where thoughts are no part of the completion, as with xAI and Gemini, they are of the total.
		a.usage = &reason.Usage{
			Calls: 1, Input: u.PromptTokens, Output: max(u.CompletionTokens, u.TotalTokens-u.PromptTokens),
			CostUSD: u.Cost, Cached: cmp.Or(u.PromptTokensDetails.CachedTokens, u.PromptCacheHitTokens),
		}
	}
	if len(c.Choices) == 0 {
		return nil
	}
	choice := &c.Choices[0]
	a.finish = cmp.Or(choice.FinishReason, a.finish)
	for _, d := range []*delta{&choice.Message, &choice.Delta} { // of which one is there
		text, err := content(d.Content)
		if err != nil {
			return a.malformed(err)
		}
		a.text.WriteString(text)
		if a.onText != nil && text != "" {
			a.onText(text)
		}
		a.refusal.WriteString(d.Refusal)
		a.thought.WriteString(d.ReasoningContent)
		a.details = append(a.details, d.ReasoningDetails...)
		for _, t := range d.ToolCalls {
			var args string
			if json.Unmarshal(t.Function.Arguments, &args) != nil {
				args = string(t.Function.Arguments)
			}
			c := a.call(t.Index, t.ID)
			c.name += strings.TrimPrefix(t.Function.Name, c.name) // some say it with each fragment
			c.args = append(c.args, args...)
			if len(t.ExtraContent) > 0 {
				c.extra = t.ExtraContent
			}
		}
	}
	return nil
}

// call returns the call that a piece belongs to. Some endpoints give every call one index; no id comes twice.
func (a *answer) call(index int, id string) *call {
	for i := len(a.calls) - 1; i >= 0; i-- {
		if c := &a.calls[i]; c.index == index && (id == "" || id == c.id) {
			return c
		}
	}
	a.calls = append(a.calls, call{index: index, id: id})
	return &a.calls[len(a.calls)-1]
}

// content is the text of a message: a string, or the parts of type text.
func content(raw json.RawMessage) (string, error) {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var parts []struct{ Type, Text string }
	err := json.Unmarshal(raw, &parts)
	for _, p := range parts {
		if p.Type == "text" || p.Type == "output_text" {
			text += p.Text
		}
	}
	return text, err
}

var stops = map[string]string{
	"stop": reason.StopEnd, "tool_calls": reason.StopTools, "function_call": reason.StopTools,
	"length": reason.StopLength, "error": reason.StopLength, "content_filter": reason.StopFilter,
}

// response is the answer when all has come.
func (a *answer) response() (*reason.Response, error) {
	if a.finish == "" && a.text.Len()+a.refusal.Len()+len(a.calls) == 0 {
		return nil, a.malformed(errors.New("it is empty"))
	}
	out := &reason.Response{Text: a.text.String(), Usage: a.usage, Stop: cmp.Or(stops[a.finish], a.finish)}
	if a.refusal.Len() > 0 {
		out.Text, out.Stop = cmp.Or(out.Text, a.refusal.String()), reason.StopFilter
	}
	if len(a.calls) == 0 {
		return out, nil
	}
	if out.Stop == reason.StopEnd {
		out.Stop = reason.StopTools
	}
	kept := opaque{Message: object{}}
	if a.thought.Len() > 0 {
		kept.Message["reasoning_content"] = a.thought.String()
	}
	if len(a.details) > 0 {
		kept.Message["reasoning_details"] = a.details
	}
	extra := false
	for _, c := range a.calls {
		out.Calls = append(out.Calls, reason.ToolCall{ID: c.id, Name: c.name, Inputs: json.RawMessage(c.args)})
		kept.Calls = append(kept.Calls, c.extra)
		extra = extra || len(c.extra) > 0
	}
	if extra || len(kept.Message) > 0 {
		out.Opaque, _ = json.Marshal(kept) // it came as JSON
	}
	return out, nil
}
