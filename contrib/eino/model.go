package eino

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/tools"
	"github.com/arc-learn/arc/reason"
)

// Model returns an eino chat model as a [reason.Model]. A schema is told in words: eino has no option.
//
// Errors are classified by their words; of a chat model whose HTTP client has a [reason.Transport] they are
// typed, with the provider's wait. Where a stream ends, and what a thought is, the chat model knows.
func Model(chat model.BaseChatModel) reason.Model { return &chatModel{chat} }

type chatModel struct{ chat model.BaseChatModel }

func (m *chatModel) Generate(ctx context.Context, r *reason.Request) (*reason.Response, error) {
	in, opts, err := messages(r)
	if err != nil {
		return nil, err
	}
	if r.OnText == nil {
		return response(m.chat.Generate(ctx, in, opts...))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // a stream that is left notices it before its next piece
	s, err := m.chat.Stream(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	size := 0
	msg, err := schema.ConcatMessageStream(schema.StreamReaderWithConvert(s, // which close it
		func(piece *schema.Message) (*schema.Message, error) {
			if err := ctx.Err(); err != nil || piece == nil {
				return nil, cmp.Or(err, schema.ErrNoValue)
			}
			size += 32 + len(piece.String()) // with its thoughts and calls, and what it takes when it is empty
			if size > 8<<20 {                // more than that is no answer, and may never end
				return nil, malformed(errors.New("a stream of more than 8 MiB"))
			}
			if t := text(piece); t != "" {
				r.OnText(t)
			}
			return piece, nil
		}))
	return response(msg, cmp.Or(ctx.Err(), err)) // one that closes when ctx ends is not whole
}

func malformed(err error) error { return &reason.Error{Class: reason.Invalid, Err: err} }

func messages(r *reason.Request) (in []*schema.Message, opts []model.Option, err error) {
	system := r.System
	if len(r.Schema) > 0 {
		system += "\n\nAnswer with one JSON object of this JSON Schema, and nothing else:\n" + string(r.Schema)
	}
	if system != "" {
		in = append(in, schema.SystemMessage(system))
	}
	for _, m := range r.Messages {
		switch m.Role {
		case reason.RoleTool:
			in = append(in, schema.ToolMessage(m.Text, m.CallID))
		case reason.RoleModel:
			said := new(schema.Message)
			_ = json.Unmarshal(m.Opaque, said) // of another adapter: nothing is kept
			said.Role, said.Content = schema.Assistant, m.Text
			said.ToolCalls = slices.Grow(said.ToolCalls, len(m.Calls))[:len(m.Calls)]
			for i, c := range m.Calls {
				call := &said.ToolCalls[i] // with the Extra of the provider
				call.ID, call.Type = c.ID, "function"
				call.Function = schema.FunctionCall{Name: c.Name, Arguments: string(c.Inputs)}
			}
			in = append(in, said)
		default:
			in = append(in, schema.UserMessage(m.Text))
		}
	}
	if r.MaxTokens > 0 {
		opts = append(opts, model.WithMaxTokens(r.MaxTokens))
	}
	if r.Temperature != nil {
		opts = append(opts, model.WithTemperature(float32(*r.Temperature)))
	}
	var infos []*schema.ToolInfo
	for _, t := range r.Tools {
		input := new(jsonschema.Schema)
		if err := json.Unmarshal(t.Input, input); err != nil {
			return nil, nil, malformed(fmt.Errorf("the schema of tool %s: %w", t.Name, err))
		}
		params := schema.NewParamsOneOfByJSONSchema(input)
		infos = append(infos, &schema.ToolInfo{Name: t.Name, Desc: t.Description, ParamsOneOf: params})
	}
	if infos != nil {
		opts = append(opts, model.WithTools(infos))
	}
	return in, opts, nil
}

// text is that of a message, also of one whose content is parts.
func text(m *schema.Message) string {
	t := m.Content
	for _, p := range m.AssistantGenMultiContent {
		if p.Type == schema.ChatMessagePartTypeText {
			t += p.Text
		}
	}
	return t
}

// stops has the words of the providers for which there are chat models, in lower case.
var stops = map[string]string{
	"stop": reason.StopEnd, "end_turn": reason.StopEnd, "stop_sequence": reason.StopEnd,
	"tool_calls": reason.StopTools, "tool_use": reason.StopTools,
	"length": reason.StopLength, "max_tokens": reason.StopLength,
	"content_filter": reason.StopFilter, "refusal": reason.StopFilter, "safety": reason.StopFilter,
}

func response(m *schema.Message, err error) (*reason.Response, error) {
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, malformed(errors.New("the chat model returned no message"))
	}
	out := &reason.Response{Text: text(m)}
	if meta := m.ResponseMeta; meta != nil {
		out.Stop = cmp.Or(stops[strings.ToLower(meta.FinishReason)], meta.FinishReason)
		if u := meta.Usage; u != nil {
			out.Usage = &reason.Usage{Calls: 1, Input: u.PromptTokens, Output: u.CompletionTokens}
			out.Usage.Cached = u.PromptTokenDetails.CachedTokens
		}
	}
	if out.Text == "" && len(m.ToolCalls) == 0 && out.Stop == "" {
		return nil, malformed(errors.New("the chat model's answer is empty"))
	}
	if len(m.ToolCalls) == 0 {
		return out, nil
	}
	for _, c := range m.ToolCalls {
		inputs := json.RawMessage(c.Function.Arguments)
		out.Calls = append(out.Calls, reason.ToolCall{ID: c.ID, Name: c.Function.Name, Inputs: inputs})
	}
	kept := *m // what the provider wants back of it lies in ReasoningContent and Extra
	kept.ResponseMeta, kept.AssistantGenMultiContent, kept.Content = nil, nil, ""
	out.Opaque, err = json.Marshal(kept)
	return out, err
}

// Tool returns an eino tool as one of [tools.New]. Set its Irreversible, Mode and AskAbove.
func Tool(ctx context.Context, t tool.InvokableTool) (tools.Tool, error) {
	info, err := t.Info(ctx)
	if err != nil || info == nil {
		return tools.Tool{}, cmp.Or(err, errors.New("eino: a tool without an info"))
	}
	out := tools.Tool{Worker: act.Worker{Name: info.Name, Description: info.Desc}}
	input, err := info.ToJSONSchema()
	if err == nil && input != nil {
		out.Input, err = json.Marshal(input)
	}
	out.Call = func(ctx context.Context, inputs json.RawMessage) (json.RawMessage, error) {
		result, err := t.InvokableRun(ctx, string(inputs))
		if err != nil {
			return nil, err
		}
		return json.Marshal(result)
	}
	return out, err
}
