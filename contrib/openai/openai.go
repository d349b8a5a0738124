package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"slices"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/shared"

	"github.com/arc-learn/arc/internal/provider"
	"github.com/arc-learn/arc/reason"
)

// SchemaMode is how an endpoint is told which schema an answer must satisfy.
type SchemaMode string

// The modes, from the one that asks most of an endpoint to the one that asks
// nothing.
const (
	Strict SchemaMode = "strict" // json_schema that is enforced; OpenAI then takes only schemas whose properties are all required and no others allowed, which that of reason.LLM is not
	Schema SchemaMode = ""       // json_schema
	Object SchemaMode = "object" // json_object, and the schema in words
	Words  SchemaMode = "words"  // in words alone
)

// Options fit a Model to an endpoint. The zero value, and nil, are for OpenAI's.
type Options struct {
	Schema        SchemaMode
	OldMaxTokens  bool // sends the bound of tokens as max_tokens, not as max_completion_tokens
	NoTemperature bool // never sends a temperature, which reasoning models refuse
	NoStreamUsage bool // does not ask for the usage of a stream, which some endpoints refuse
}

// Model is a [reason.Model] and a [reason.Streamer]. New makes one. It is safe
// for concurrent use.
type Model struct {
	chat  sdk.ChatCompletionService // not the client, all of whose methods would be linked
	model string
	o     Options
}

// New returns the model of that name at the client's endpoint, without asking it
// for anything.
func New(client sdk.Client, model string, opts *Options) *Model {
	m := &Model{chat: client.Chat.Completions, model: model}
	if opts != nil {
		m.o = *opts
	}
	return m
}

// perCall are what arc adds to each call of the host's client.
var perCall = []option.RequestOption{option.WithMaxRetries(0), option.WithMiddleware(provider.Do)}

// Generate asks for a whole answer. A failed call is a *reason.ModelError.
// Response.Raw is a *openai.ChatCompletion of the SDK; a refusal's words are its
// Text.
func (m *Model) Generate(ctx context.Context, req *reason.Request) (*reason.Response, error) {
	c, err := m.chat.New(ctx, m.params(req), perCall...)
	if err != nil {
		return nil, provider.Fail(ctx, err)
	}
	if c == nil { // the answer was null
		return nil, provider.None(nil)
	}
	if len(c.Choices) == 0 {
		return nil, provider.Costing(provider.None([]byte(c.RawJSON())), usage(c.Usage))
	}
	choice := c.Choices[0]
	if err := cmp.Or(provider.Told(c.RawJSON()), provider.Told(choice.RawJSON())); err != nil {
		return nil, provider.Costing(err, usage(c.Usage))
	}
	text := choice.Message.Content + choice.Message.Refusal
	if err := provider.Costing(new(provider.Text).Add(text), usage(c.Usage)); err != nil {
		return nil, err
	}
	return &reason.Response{
		Text: text, Stop: stop(choice.FinishReason, choice.Message.Refusal != ""),
		Model: c.Model, Usage: usage(c.Usage), Raw: c,
	}, nil
}

// Stream asks for an answer piece by piece. Response.Raw of a piece is an
// openai.ChatCompletionChunk of the SDK.
func (m *Model) Stream(ctx context.Context, req *reason.Request) iter.Seq2[*reason.Response, error] {
	return func(yield func(*reason.Response, error) bool) {
		p := m.params(req)
		if !m.o.NoStreamUsage {
			p.StreamOptions.IncludeUsage = sdk.Bool(true)
		}
		var answer *http.Response
		asStream := []option.RequestOption{option.WithJSONSet("stream", true), option.WithResponseBodyInto(&answer)}
		if _, err := m.chat.New(ctx, p, slices.Concat(perCall, asStream)...); err != nil {
			yield(nil, provider.Fail(ctx, err))
			return
		}
		s := ssestream.NewDecoder(answer) // the SDK's own stream takes an error of null for one
		defer s.Close()
		var last reason.Response
		var text provider.Text
		refused := false
		fail := func(err error) { yield(nil, provider.Costing(err, last.Usage)) }
		for s.Next() && !bytes.HasPrefix(s.Event().Data, []byte("[DONE]")) {
			var c sdk.ChatCompletionChunk
			err := provider.Told(string(s.Event().Data))
			if bad := json.Unmarshal(s.Event().Data, &c); err == nil && bad != nil {
				err = provider.Fail(ctx, bad)
			}
			last.Model, last.Raw = cmp.Or(c.Model, last.Model), c
			if u := usage(c.Usage); u != (reason.Usage{}) { // of all, and after the last choice
				last.Usage = u
			}
			if err != nil {
				fail(err)
				return
			}
			if len(c.Choices) == 0 {
				continue
			}
			choice := c.Choices[0]
			refused = refused || choice.Delta.Refusal != ""
			if choice.FinishReason != "" {
				if err := provider.Told(choice.RawJSON()); err != nil {
					fail(err)
					return
				}
				last.Stop = stop(choice.FinishReason, refused)
			}
			piece := choice.Delta.Content + choice.Delta.Refusal
			if piece == "" {
				continue
			}
			if err := text.Add(piece); err != nil {
				fail(err)
				return
			}
			if !yield(&reason.Response{Text: piece, Model: c.Model, Raw: c}, nil) {
				return
			}
		}
		if err := s.Err(); err != nil || last.Stop == "" {
			fail(provider.Fail(ctx, cmp.Or(err, io.ErrUnexpectedEOF))) // it ended before the answer did
			return
		}
		yield(&last, nil)
	}
}

func (m *Model) params(req *reason.Request) sdk.ChatCompletionNewParams {
	p := sdk.ChatCompletionNewParams{Model: m.model}
	system := req.System
	if req.Schema != nil {
		switch m.o.Schema {
		case Strict, Schema:
			format := shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "answer", Schema: req.Schema}
			if m.o.Schema == Strict {
				format.Strict = sdk.Bool(true)
			}
			p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: format}
		case Object:
			p.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
			system = provider.System(system, req.Schema)
		default:
			system = provider.System(system, req.Schema)
		}
	}
	if system != "" {
		p.Messages = append(p.Messages, sdk.SystemMessage(system))
	}
	for _, msg := range req.Messages {
		if msg.Role == "assistant" {
			p.Messages = append(p.Messages, sdk.AssistantMessage(msg.Text))
		} else {
			p.Messages = append(p.Messages, sdk.UserMessage(msg.Text))
		}
	}
	switch {
	case req.MaxTokens != 0 && m.o.OldMaxTokens:
		p.MaxTokens = sdk.Int(int64(req.MaxTokens))
	case req.MaxTokens != 0:
		p.MaxCompletionTokens = sdk.Int(int64(req.MaxTokens))
	}
	if req.Temperature != nil && !m.o.NoTemperature {
		p.Temperature = sdk.Float(*req.Temperature)
	}
	return p
}

func stop(finish string, refused bool) string {
	switch {
	case refused || finish == "content_filter":
		return reason.StopRefusal
	case finish == "stop":
		return reason.StopEnd
	}
	return finish
}

// usage counts cached tokens as read, and those of reasoning as answered: OpenAI
// has them among the completion's, others only in the total.
func usage(u sdk.CompletionUsage) reason.Usage {
	in := max(0, u.PromptTokens)
	return reason.Usage{
		TokensIn: int(in), TokensOut: int(max(0, u.CompletionTokens, u.TotalTokens-in)),
		CacheRead: int(min(in, max(0, u.PromptTokensDetails.CachedTokens))),
	}
}
