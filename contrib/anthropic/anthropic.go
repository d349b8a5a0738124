package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/arc-learn/arc/internal/provider"
	"github.com/arc-learn/arc/reason"
)

// Options configure a Model. The zero value, and nil, are ready.
type Options struct {
	// MaxTokens bounds the answers of requests that set no bound, which the API
	// wants to have. Thinking counts too, if the client asks for it. 0: 8192.
	MaxTokens int
	// Words tells schemas in words, for models without structured outputs.
	Words bool
	// NoTemperature never sends a temperature, which some models refuse.
	NoTemperature bool
}

// Model is a [reason.Model] and a [reason.Streamer]. New makes one. It is safe
// for concurrent use.
type Model struct {
	messages sdk.MessageService // not the client, all of whose methods would be linked
	model    string
	o        Options
}

// New returns the model of that name, without asking it for anything.
func New(client sdk.Client, model string, opts *Options) *Model {
	m := &Model{messages: client.Messages, model: model}
	if opts != nil {
		m.o = *opts
	}
	if m.o.MaxTokens == 0 {
		m.o.MaxTokens = 8192
	}
	return m
}

// perCall are what arc adds to each call of the host's client.
var perCall = []option.RequestOption{option.WithMaxRetries(0), option.WithMiddleware(provider.Do)}

// Generate asks for a whole answer. A failed call is a *reason.ModelError.
// Response.Raw is an *anthropic.Message of the SDK.
func (m *Model) Generate(ctx context.Context, req *reason.Request) (*reason.Response, error) {
	msg, err := m.messages.New(ctx, m.params(req), perCall...)
	if err != nil {
		return nil, provider.Fail(ctx, err)
	}
	if msg == nil { // the answer was null
		return nil, provider.None(nil)
	}
	resp := &reason.Response{Stop: stop(msg.StopReason), Model: msg.Model, Usage: usage(msg.Usage), Raw: msg}
	for _, block := range msg.Content {
		if block.Type == "text" {
			resp.Text += block.Text
		}
	}
	switch {
	case resp.Stop == reason.StopRefusal && resp.Text == "":
		resp.Text = msg.StopDetails.Explanation
	case len(msg.Content) == 0:
		return nil, provider.Costing(provider.None([]byte(msg.RawJSON())), resp.Usage)
	}
	if err := provider.Costing(new(provider.Text).Add(resp.Text), resp.Usage); err != nil {
		return nil, err
	}
	return resp, nil
}

// Stream asks for an answer piece by piece. Response.Raw of the last one is an
// *anthropic.Message of the SDK, without its content.
func (m *Model) Stream(ctx context.Context, req *reason.Request) iter.Seq2[*reason.Response, error] {
	return func(yield func(*reason.Response, error) bool) {
		s := m.messages.NewStreaming(ctx, m.params(req), perCall...)
		defer s.Close()
		whole, ended := new(sdk.Message), false
		var text provider.Text
		for s.Next() {
			event := s.Current()
			switch event.Type {
			case "message_start", "message_delta":
				if err := whole.Accumulate(event); err != nil {
					yield(nil, provider.Fail(ctx, err))
					return
				}
			case "message_stop":
				ended = true
			}
			piece := event.ContentBlock.Text + event.Delta.Text // of these events, at most one has it
			if piece == "" {
				continue
			}
			if err := text.Add(piece); err != nil {
				yield(nil, provider.Costing(err, usage(whole.Usage)))
				return
			}
			if !yield(&reason.Response{Text: piece, Model: whole.Model}, nil) {
				return
			}
		}
		err := s.Err()
		if told, ok := errors.AsType[*sdk.Error](err); ok {
			err = provider.None([]byte(told.RawJSON()))
		} else if err != nil || !ended {
			err = provider.Fail(ctx, cmp.Or(err, io.ErrUnexpectedEOF)) // it ended before the answer did
		}
		if err != nil {
			yield(nil, provider.Costing(err, usage(whole.Usage)))
			return
		}
		yield(&reason.Response{Stop: stop(whole.StopReason), Model: whole.Model, Usage: usage(whole.Usage), Raw: whole}, nil)
	}
}

func (m *Model) params(req *reason.Request) sdk.MessageNewParams {
	p := sdk.MessageNewParams{Model: m.model, MaxTokens: int64(m.o.MaxTokens)}
	if req.MaxTokens != 0 {
		p.MaxTokens = int64(req.MaxTokens)
	}
	if req.Temperature != nil && !m.o.NoTemperature {
		p.Temperature = sdk.Float(*req.Temperature)
	}
	system := req.System
	if req.Schema != nil {
		if schema := enforceable(req.Schema); schema != nil && !m.o.Words {
			p.OutputConfig.Format.Schema = schema
		} else {
			system = provider.System(system, req.Schema)
		}
	}
	if system != "" {
		p.System = []sdk.TextBlockParam{{Text: system}}
	}
	for _, msg := range req.Messages {
		text := sdk.NewTextBlock(msg.Text)
		if msg.Role == "assistant" {
			p.Messages = append(p.Messages, sdk.NewAssistantMessage(text))
		} else {
			p.Messages = append(p.Messages, sdk.NewUserMessage(text))
		}
	}
	return p
}

// enforceable returns a schema in the form that the API enforces, with what it
// does not, such as bounds, in words; nil if it takes no such schema.
func enforceable(raw json.RawMessage) map[string]any {
	var schema map[string]any
	if json.Unmarshal(raw, &schema) != nil || anything(schema) {
		return nil
	}
	form, _ := sdk.BetaJSONSchemaOutputFormat(schema).Schema.(map[string]any) // nil if it is no schema
	return form
}

// anything reports whether a schema, or one within it, does not say what a value
// is. It may see one in data that is none, such as an enum.
func anything(schema any) bool {
	switch s := schema.(type) {
	case bool:
		return s
	case map[string]any:
		if len(s) == 0 {
			return true
		}
		for name, inner := range s {
			if name == "properties" || name == "$defs" {
				all, _ := inner.(map[string]any)
				for _, one := range all {
					if anything(one) {
						return true
					}
				}
			} else if anything(inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(s, anything)
	}
	return false
}

func stop(r sdk.StopReason) string {
	switch r {
	case sdk.StopReasonEndTurn, sdk.StopReasonStopSequence:
		return reason.StopEnd
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return reason.StopLength
	case sdk.StopReasonRefusal:
		return reason.StopRefusal
	}
	return string(r)
}

// usage counts tokens that came from a cache, or went to it, as given too.
func usage(u sdk.Usage) reason.Usage {
	read, written := max(0, u.CacheReadInputTokens), max(0, u.CacheCreationInputTokens)
	return reason.Usage{
		TokensIn: int(max(0, u.InputTokens) + read + written), TokensOut: int(max(0, u.OutputTokens)),
		CacheRead: int(read), CacheWrite: int(written),
	}
}
