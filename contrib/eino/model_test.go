package eino_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/contrib/eino"
	"github.com/arc-learn/arc/internal/provider"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/reasontest"
)

var _ reason.Streamer = (*eino.Model)(nil)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// remote is an eino chat model on a server that takes a call, and answers with
// messages as JSON: one, or one in a line.
type remote struct {
	url, key string
	client   *http.Client
}

type call struct {
	Messages    []*schema.Message
	Stream      bool
	MaxTokens   *int
	Temperature *float32
}

func (r *remote) post(ctx context.Context, c call, opts []model.Option) (io.ReadCloser, error) {
	o := model.GetCommonOptions(nil, opts...)
	c.MaxTokens, c.Temperature = o.MaxTokens, o.Temperature
	body, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/chat", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+r.key)
	resp, err := provider.Do(req, r.client.Do)
	if err != nil {
		return nil, fmt.Errorf("[remote] %w", err)
	}
	return resp.Body, nil
}

func (r *remote) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	body, err := r.post(ctx, call{Messages: in}, opts)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var msg *schema.Message
	err = json.NewDecoder(body).Decode(&msg)
	return msg, err
}

func (r *remote) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	body, err := r.post(ctx, call{Messages: in, Stream: true}, opts)
	if err != nil {
		return nil, err
	}
	reader, writer := schema.Pipe[*schema.Message](0)
	go func() {
		defer body.Close()
		defer writer.Close()
		for lines := json.NewDecoder(body); ; {
			line := struct {
				*schema.Message
				Error any
			}{}
			err := lines.Decode(&line)
			switch {
			case err == io.EOF:
				err = io.ErrUnexpectedEOF
			case err == nil && line.Error != nil:
				err = fmt.Errorf("%v", line.Error)
			case err == nil && line.Message == nil:
				err = errors.New("no message")
			}
			if writer.Send(line.Message, err) || err != nil || line.ResponseMeta != nil {
				return
			}
		}
	}()
	return reader, nil
}

func TestModel(t *testing.T) {
	reasontest.CheckModel(t, reasontest.Provider{
		Model: func(url, key string) (reason.Model, error) {
			transport := &http.Transport{}
			t.Cleanup(transport.CloseIdleConnections)
			return eino.NewModel(&remote{url, key, &http.Client{Transport: transport}}, nil), nil
		},
		Decode: decode,
		Answer: func(w http.ResponseWriter, r reasontest.Reply) {
			if r.Empty {
				io.WriteString(w, "null")
				return
			}
			send(w, end(r, r.Text))
		},
		Stream: func(w http.ResponseWriter, r reasontest.Reply) {
			for piece := range r.Pieces {
				send(w, schema.AssistantMessage(piece, nil))
			}
			send(w, end(r, ""))
		},
		StreamFail: func(w http.ResponseWriter, message string) { send(w, map[string]any{"error": message}) },
		NoModel:    true,
	})
}

func send(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

func end(r reasontest.Reply, text string) *schema.Message {
	msg := schema.AssistantMessage(text, nil)
	msg.ResponseMeta = &schema.ResponseMeta{
		FinishReason: map[string]string{reason.StopEnd: "stop", reason.StopLength: "length", reason.StopRefusal: "content_filter"}[r.Stop],
		Usage:        &schema.TokenUsage{PromptTokens: r.Usage.TokensIn, CompletionTokens: r.Usage.TokensOut},
	}
	return msg
}

func decode(r *http.Request) (reasontest.Call, error) {
	var in call
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.URL.Path != "/chat" || r.Header.Get("Authorization") != "Bearer "+reasontest.Key {
		return reasontest.Call{}, fmt.Errorf("%s: %w", r.URL, err)
	}
	out := reasontest.Call{Stream: in.Stream}
	if in.MaxTokens != nil {
		out.MaxTokens = *in.MaxTokens
	}
	if in.Temperature != nil {
		out.Temperature = new(float64(*in.Temperature))
	}
	for _, m := range in.Messages {
		if m.Role != schema.System {
			out.Messages = append(out.Messages, reason.Message{Role: string(m.Role), Text: m.Content})
			continue
		}
		said, schema, told := strings.Cut(m.Content, "JSON Schema:\n")
		if out.System = said; told {
			out.System, _, _ = strings.Cut(said, "\n\nAnswer with one JSON object")
			out.Schema = json.RawMessage(schema)
		}
	}
	return out, nil
}

// chat is an eino chat model that answers with what it has.
type chat struct {
	pieces []*schema.Message
	err    error
}

func (c chat) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	if c.err != nil || len(c.pieces) == 0 {
		return nil, c.err
	}
	return schema.ConcatMessages(c.pieces)
}

func (c chat) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	return schema.StreamReaderFromArray(c.pieces), c.err
}

func said(text, finish string, in, out int) *schema.Message {
	msg := schema.AssistantMessage(text, nil)
	msg.ResponseMeta = &schema.ResponseMeta{FinishReason: finish, Usage: &schema.TokenUsage{PromptTokens: in, CompletionTokens: out}}
	return msg
}

// What is said of an answer may come with any of its pieces.
func TestPieces(t *testing.T) {
	m := eino.NewModel(chat{pieces: []*schema.Message{said("one ", "", 5, 1), nil, schema.AssistantMessage("two", nil), said("", "END_TURN", 0, 2), schema.AssistantMessage("", nil)}}, nil)
	text, last := "", &reason.Response{}
	for piece, err := range m.Stream(t.Context(), &reason.Request{}) {
		require.NoError(t, err)
		text, last = text+piece.Text, piece
	}
	require.Equal(t, "one two", text)
	require.Equal(t, reason.StopEnd, last.Stop)
	require.Equal(t, reason.Usage{TokensIn: 5, TokensOut: 2}, last.Usage)

	for _, err := range eino.NewModel(chat{}, nil).Stream(t.Context(), &reason.Request{}) {
		require.ErrorContains(t, err, "empty")
	}
}

func TestStops(t *testing.T) {
	for finish, want := range map[string]string{
		"": "", "stop": reason.StopEnd, "STOP": reason.StopEnd, "max_tokens": reason.StopLength, "MAX_TOKENS": reason.StopLength,
		"SAFETY": reason.StopRefusal, "refusal": reason.StopRefusal, "tool_calls": "tool_calls",
	} {
		resp, err := eino.NewModel(chat{pieces: []*schema.Message{said("yes", finish, 0, 0)}}, nil).Generate(t.Context(), &reason.Request{})
		require.NoError(t, err)
		require.Equal(t, want, resp.Stop, finish)
		require.Equal(t, "yes", resp.Raw.(*schema.Message).Content)
	}
}

func TestFailure(t *testing.T) {
	limited := errors.New("429: slow down, sk-proj-0123456789abcdefghijABCDEFGHIJ0123456789")
	failure := func(err error) *reason.ModelError {
		if errors.Is(err, limited) {
			return &reason.ModelError{Status: 429, Again: true, After: time.Second, Err: errors.New("slow down")}
		}
		return nil
	}
	for _, c := range []struct {
		o     *eino.ModelOptions
		err   error
		again bool
		after time.Duration
	}{
		{nil, limited, true, 0},
		{nil, errors.New("error, status code: 401, message: who?"), false, 0},
		{&eino.ModelOptions{Failure: failure}, limited, true, time.Second},
		{&eino.ModelOptions{Failure: failure}, io.ErrUnexpectedEOF, true, 0},
	} {
		m := eino.NewModel(chat{err: c.err}, c.o)
		_, err := m.Generate(t.Context(), &reason.Request{})
		again, after := reason.Retryable(err)
		require.Equal(t, c.again, again)
		require.Equal(t, c.after, after)
		require.ErrorIs(t, err, reason.ErrModel)
		require.NotContains(t, err.Error(), "sk-proj")
		for _, streamed := range m.Stream(t.Context(), &reason.Request{}) {
			require.Equal(t, err, streamed)
		}
	}
}
