package eino_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	arceino "github.com/arc-learn/arc/contrib/eino"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/reasontest"
)

// remote is a chat model whose server answers with messages of eino, a line each.
type remote struct {
	url, key string
	http     *http.Client
}

type asked struct {
	Messages    []*schema.Message
	Tools       []string
	MaxTokens   int
	Temperature *float32
	Stream      bool
}

func (m *remote) post(
	ctx context.Context, stream bool, in []*schema.Message, opts []model.Option,
) (*json.Decoder, io.Closer, error) {
	o := model.GetCommonOptions(nil, opts...)
	q := asked{Messages: in, Stream: stream, Temperature: o.Temperature}
	if o.MaxTokens != nil {
		q.MaxTokens = *o.MaxTokens
	}
	for _, t := range o.Tools {
		q.Tools = append(q.Tools, t.Name)
	}
	body, err := json.Marshal(q)
	if err != nil {
		return nil, nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+m.key)
	resp, err := m.http.Do(r)
	if err != nil {
		return nil, nil, err
	}
	return json.NewDecoder(resp.Body), resp.Body, nil
}

func next(d *json.Decoder) (*schema.Message, error) {
	var m *schema.Message
	err := d.Decode(&m)
	var typed *reason.Error
	switch {
	case err == io.EOF || m == nil && err == nil:
		return nil, io.ErrUnexpectedEOF
	case err != nil && !errors.As(err, &typed):
		return nil, &reason.Error{Class: reason.Invalid, Err: err}
	}
	return m, err
}

func (m *remote) Generate(
	ctx context.Context, in []*schema.Message, opts ...model.Option,
) (*schema.Message, error) {
	d, c, err := m.post(ctx, false, in, opts)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return next(d)
}

func (m *remote) Stream(
	ctx context.Context, in []*schema.Message, opts ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	d, c, err := m.post(ctx, true, in, opts)
	if err != nil {
		return nil, err
	}
	r, w := schema.Pipe[*schema.Message](0)
	go func() {
		defer w.Close()
		defer c.Close()
		for {
			msg, err := next(d)
			if w.Send(msg, err) || err != nil || msg.ResponseMeta != nil {
				return
			}
		}
	}()
	return r, nil
}

func TestModel(t *testing.T) {
	for name, parts := range map[string]bool{"strings": false, "parts": true} {
		t.Run(name, func(t *testing.T) {
			reasontest.CheckModel(t, reasontest.Provider{
				Model: func(url, key string) reason.Model {
					return arceino.Model(&remote{url, key, &http.Client{Transport: reason.Transport(nil)}})
				},
				Decode: decode,
				Write: func(w http.ResponseWriter, stream bool, a reasontest.Answer, next func()) {
					write(w, stream, parts, a, next)
				},
			})
		})
	}
}

func decode(r *http.Request) (s reasontest.Seen, err error) {
	var q asked
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		return s, err
	}
	s.MaxTokens, s.Stream = q.MaxTokens, q.Stream
	if q.Temperature != nil {
		s.Temperature = new(float64(*q.Temperature))
	}
	for _, name := range q.Tools {
		s.Tools = append(s.Tools, reason.Tool{Name: name})
	}
	roles := map[schema.RoleType]string{schema.User: reason.RoleUser, schema.Assistant: reason.RoleModel,
		schema.Tool: reason.RoleTool}
	for _, m := range q.Messages {
		if m.Role == schema.System {
			s.System = m.Content
			continue
		}
		out := reason.Message{Role: roles[m.Role], Text: m.Content, CallID: m.ToolCallID}
		if m.Extra != nil {
			out.Opaque, err = json.Marshal(m.Extra)
		}
		for _, c := range m.ToolCalls {
			out.Calls = append(out.Calls, reason.ToolCall{ID: c.ID, Name: c.Function.Name,
				Inputs: json.RawMessage(c.Function.Arguments)})
		}
		s.Messages = append(s.Messages, out)
	}
	return s, err
}

func write(w http.ResponseWriter, stream, parts bool, a reasontest.Answer, next func()) {
	e := json.NewEncoder(w)
	line := func(m *schema.Message) {
		if m.Content != "" && parts {
			m.AssistantGenMultiContent = []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeText,
				Text: m.Content}}
			m.Content = ""
		}
		m.Role = schema.Assistant
		_ = e.Encode(m)
		w.(http.Flusher).Flush()
	}
	last := &schema.Message{ReasoningContent: a.Thought, ResponseMeta: &schema.ResponseMeta{
		FinishReason: map[string]string{reason.StopEnd: "stop", reason.StopTools: "tool_calls",
			reason.StopLength: "max_tokens",
			reason.StopFilter: "SAFETY"}[a.Stop],
		Usage: &schema.TokenUsage{PromptTokens: a.Usage.Input, CompletionTokens: a.Usage.Output,
			PromptTokenDetails: schema.PromptTokenDetails{CachedTokens: a.Usage.Cached}},
	}}
	if a.Signed != "" {
		last.Extra = map[string]any{"signature": a.Signed}
	}
	for i, c := range a.Calls {
		last.ToolCalls = append(last.ToolCalls, schema.ToolCall{Index: new(i), ID: c.ID, Type: "function",
			Function: schema.FunctionCall{Name: c.Name, Arguments: string(c.Inputs)}})
	}
	if !stream {
		if last.Content = strings.Join(a.Pieces, ""); !a.Unclosed {
			line(last)
		}
		return
	}
	for i, p := range a.Pieces {
		if i > 0 {
			next()
		}
		line(&schema.Message{Content: p})
	}
	if !a.Unclosed {
		line(last)
	}
}

func TestTool(t *testing.T) {
	type in struct {
		Amount int `json:"amount" jsonschema:"description=in euros"`
	}
	its, err := utils.InferTool("pay", "Pays.", func(_ context.Context, i in) (string, error) {
		if i.Amount < 0 {
			return "", errors.New("no")
		}
		return `paid <"">`, nil
	})
	require.NoError(t, err)
	pay, err := arceino.Tool(t.Context(), its)
	require.NoError(t, err)
	require.Equal(t, "pay", pay.Name)
	require.Contains(t, string(pay.Input), `"in euros"`)
	out, err := pay.Call(t.Context(), json.RawMessage(`{"amount":5}`))
	require.NoError(t, err)
	require.JSONEq(t, `"paid <\"\">"`, string(out))
	_, err = pay.Call(t.Context(), json.RawMessage(`{"amount":-5}`))
	require.ErrorContains(t, err, "no")
	_, err = arceino.Tool(t.Context(), noInfo{its})
	require.ErrorContains(t, err, "info")
}

type noInfo struct{ tool.InvokableTool }

func (noInfo) Info(context.Context) (*schema.ToolInfo, error) { return nil, nil }

// endless is a chat model whose stream never ends.
type endless struct {
	chat
	piece *schema.Message
}

func (e endless) Stream(
	context.Context, []*schema.Message, ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	r, w := schema.Pipe[*schema.Message](0)
	go func() {
		for !w.Send(e.piece, nil) { // until the reader closes
		}
	}()
	return r, nil
}

func TestEndlessStream(t *testing.T) {
	r := &reason.Request{OnText: func(string) {}}
	long := strings.Repeat("x", 1<<20)
	arguments := []schema.ToolCall{{Index: new(0), Function: schema.FunctionCall{Arguments: long}}}
	for _, piece := range []*schema.Message{
		schema.AssistantMessage(long, nil), {Role: schema.Assistant, ReasoningContent: long},
		schema.AssistantMessage("", arguments), schema.AssistantMessage("", nil),
	} {
		_, err := arceino.Model(endless{piece: piece}).Generate(t.Context(), r)
		require.ErrorContains(t, err, "more than 8 MiB")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := arceino.Model(endless{}).Generate(ctx, r)
	require.ErrorIs(t, err, context.Canceled, "pieces that are none do not hold it")
}
