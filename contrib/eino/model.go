package eino

import (
	"context"
	"io"
	"iter"
	"strings"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/internal/provider"
	"github.com/arc-learn/arc/reason"
)

// ModelOptions configure a Model. The zero value, and nil, are ready.
type ModelOptions struct {
	// Failure says what the error of a failed call means, which only those know
	// who know the chat model's own types. nil, or an answer of nil: what it says
	// in words, see act.Classify.
	Failure func(error) *reason.ModelError
}

// Model is a [reason.Model] and a [reason.Streamer] on an eino chat model.
// NewModel makes one. It is safe for concurrent use if the chat model is.
//
// eino has no common option for a schema, so the chat model is told in words.
// It does not say which model has answered.
type Model struct {
	chat model.BaseChatModel
	o    ModelOptions
}

// NewModel returns a Model on chat.
func NewModel(chat model.BaseChatModel, opts *ModelOptions) *Model {
	m := &Model{chat: chat}
	if opts != nil {
		m.o = *opts
	}
	return m
}

// Generate asks for a whole answer. A failed call is a *reason.ModelError.
// Response.Raw is a *schema.Message of eino.
func (m *Model) Generate(ctx context.Context, req *reason.Request) (*reason.Response, error) {
	in, opts := messages(req)
	msg, err := m.chat.Generate(ctx, in, opts...)
	if err != nil {
		return nil, m.failure(ctx, err)
	}
	if msg == nil {
		return nil, provider.None(nil)
	}
	resp := &reason.Response{Text: msg.Content, Raw: msg}
	note(resp, msg.ResponseMeta)
	if err := provider.Costing(new(provider.Text).Add(msg.Content), resp.Usage); err != nil {
		return nil, err
	}
	return resp, nil
}

// Stream asks for an answer piece by piece. It takes the chat model's word for it
// that a stream has come to its end.
func (m *Model) Stream(ctx context.Context, req *reason.Request) iter.Seq2[*reason.Response, error] {
	return func(yield func(*reason.Response, error) bool) {
		in, opts := messages(req)
		call, cancel := context.WithCancel(ctx)
		defer cancel() // Close alone is noticed with the next piece
		s, err := m.chat.Stream(call, in, opts...)
		if err != nil {
			yield(nil, m.failure(ctx, err))
			return
		}
		defer s.Close()
		last, some := new(reason.Response), false
		var text provider.Text
		for {
			msg, err := s.Recv()
			switch {
			case err == io.EOF && !some:
				err = provider.None(nil)
			case err == io.EOF:
				yield(last, nil)
				return
			case err == nil && msg == nil:
				continue
			case err == nil:
				err = text.Add(msg.Content)
			}
			if err != nil {
				yield(nil, provider.Costing(m.failure(ctx, err), last.Usage))
				return
			}
			some, last.Raw = true, msg
			note(last, msg.ResponseMeta)
			if msg.Content != "" && !yield(&reason.Response{Text: msg.Content, Raw: msg}, nil) {
				return
			}
		}
	}
}

func (m *Model) failure(ctx context.Context, err error) error {
	if m.o.Failure != nil && ctx.Err() == nil {
		if e := m.o.Failure(err); e != nil {
			return e
		}
	}
	return provider.Fail(ctx, act.Classify(err)) // chat models say the status in words
}

func messages(req *reason.Request) ([]*schema.Message, []model.Option) {
	var in []*schema.Message
	if system := provider.System(req.System, req.Schema); system != "" {
		in = append(in, schema.SystemMessage(system))
	}
	for _, msg := range req.Messages {
		if msg.Role == "assistant" {
			in = append(in, schema.AssistantMessage(msg.Text, nil))
		} else {
			in = append(in, schema.UserMessage(msg.Text))
		}
	}
	var opts []model.Option
	if req.MaxTokens != 0 {
		opts = append(opts, model.WithMaxTokens(req.MaxTokens))
	}
	if req.Temperature != nil {
		opts = append(opts, model.WithTemperature(float32(*req.Temperature)))
	}
	return in, opts
}

// note adds what a message says of the answer. In a stream, any may say it; eino
// takes the last word for the reason and the largest count of tokens.
func note(resp *reason.Response, meta *schema.ResponseMeta) {
	if meta == nil {
		return
	}
	if meta.FinishReason != "" {
		resp.Stop = stop(meta.FinishReason)
	}
	if meta.Usage != nil {
		resp.Usage.TokensIn = max(resp.Usage.TokensIn, meta.Usage.PromptTokens)
		resp.Usage.TokensOut = max(resp.Usage.TokensOut, meta.Usage.CompletionTokens)
	}
}

// stop knows the words of the providers for which eino has chat models, which
// pass them on.
func stop(finish string) string {
	switch strings.ToLower(finish) {
	case "stop", "end_turn", "stop_sequence":
		return reason.StopEnd
	case "length", "max_tokens":
		return reason.StopLength
	case "content_filter", "refusal", "safety":
		return reason.StopRefusal
	}
	return finish
}
