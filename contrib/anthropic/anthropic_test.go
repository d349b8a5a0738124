package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/contrib/anthropic"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/reasontest"
)

var _ reason.Streamer = (*anthropic.Model)(nil)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client returns the SDK's, with retries as they are by default, and leaves no
// connection behind.
func client(t *testing.T, url, key string) sdk.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return sdk.NewClient(option.WithBaseURL(url), option.WithAPIKey(key), option.WithHTTPClient(&http.Client{Transport: transport}))
}

func TestModel(t *testing.T) {
	reasontest.CheckModel(t, reasontest.Provider{
		Model: func(url, key string) (reason.Model, error) {
			return anthropic.New(client(t, url, key), "small", &anthropic.Options{MaxTokens: unset}), nil
		},
		Decode: decode, Answer: answer, Stream: stream,
		Fail: func(w http.ResponseWriter, status int, code, message string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(failed(code, message))
		},
		StreamFail: func(w http.ResponseWriter, message string) { event(w, "error", failed("overloaded_error", message)) },
	})
}

func failed(kind, message string) map[string]any {
	return map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}}
}

// unset is the bound that the Model sends where a request has none.
const unset = 8000

func decode(r *http.Request) (reasontest.Call, error) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/messages" || r.Header.Get("X-Api-Key") != reasontest.Key || r.Header.Get("Anthropic-Version") == "" {
		return reasontest.Call{}, fmt.Errorf("%s %s, or a header is missing", r.Method, r.URL)
	}
	type block struct{ Type, Text string }
	var in struct {
		Model    string
		System   []block
		Messages []struct {
			Role    string
			Content []block
		}
		Stream bool
		Most   int `json:"max_tokens"`
		Config struct {
			Format struct {
				Type   string
				Schema json.RawMessage
			}
		} `json:"output_config"`
		Temperature *float64
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Model != "small" || in.Most == 0 {
		return reasontest.Call{}, fmt.Errorf("%+v: %w", in, err)
	}
	if in.Most == unset {
		in.Most = 0
	}
	call := reasontest.Call{Schema: in.Config.Format.Schema, MaxTokens: in.Most, Temperature: in.Temperature, Stream: in.Stream}
	for _, b := range in.System {
		call.System += b.Text
	}
	for _, m := range in.Messages {
		call.Messages = append(call.Messages, reason.Message{Role: m.Role, Text: m.Content[0].Text})
	}
	return call, nil
}

var finish = map[string]string{reason.StopEnd: "end_turn", reason.StopLength: "max_tokens", reason.StopRefusal: "refusal"}

func answer(w http.ResponseWriter, r reasontest.Reply) {
	content := []any{
		map[string]any{"type": "thinking", "thinking": "hm", "signature": "s"},
		map[string]any{"type": "text", "text": r.Text},
	}
	if r.Empty {
		content = content[:0]
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(message(r, content, finish[r.Stop], r.Usage))
}

func message(r reasontest.Reply, content []any, stop any, u reason.Usage) map[string]any {
	return map[string]any{
		"id": "m1", "type": "message", "role": "assistant", "model": r.Model, "content": content, "stop_reason": stop,
		"usage": map[string]any{"input_tokens": u.TokensIn - 3, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 1, "output_tokens": u.TokensOut},
	}
}

func stream(w http.ResponseWriter, r reasontest.Reply) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	event(w, "message_start", map[string]any{"message": message(r, []any{}, nil, reason.Usage{TokensIn: r.Usage.TokensIn, TokensOut: 1})})
	event(w, "ping", map[string]any{})
	block := func(i int, start, delta map[string]any) {
		event(w, "content_block_start", map[string]any{"index": i, "content_block": start})
		event(w, "content_block_delta", map[string]any{"index": i, "delta": delta})
		event(w, "content_block_stop", map[string]any{"index": i})
	}
	block(0, map[string]any{"type": "thinking", "thinking": ""}, map[string]any{"type": "thinking_delta", "thinking": "hm"})
	event(w, "content_block_start", map[string]any{"index": 1, "content_block": map[string]any{"type": "text", "text": ""}})
	for piece := range r.Pieces {
		event(w, "content_block_delta", map[string]any{"index": 1, "delta": map[string]any{"type": "text_delta", "text": piece}})
	}
	event(w, "content_block_stop", map[string]any{"index": 1})
	event(w, "message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": finish[r.Stop], "stop_sequence": nil}, "usage": map[string]any{"output_tokens": r.Usage.TokensOut},
	})
	event(w, "message_stop", map[string]any{})
}

func event(w http.ResponseWriter, kind string, v map[string]any) {
	v["type"] = kind
	data, _ := json.Marshal(v)
	fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
}

// serve returns the client of an endpoint that answers with a body, and where
// it puts the request.
func serve(t *testing.T, contentType, body string) (sdk.Client, *json.RawMessage) {
	t.Helper()
	got := new(json.RawMessage)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*got, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return client(t, s.URL, "key"), got
}

const yes = `{"type":"message","model":"m","content":[{"type":"text","text":"y"},{"type":"text","text":"es"}],"stop_reason":"stop_sequence"}`

// ofDecision returns the schema that a reasoner asks for.
func ofDecision(t *testing.T) (schema string) {
	t.Helper()
	llm, err := reason.NewLLM(reason.ModelFunc(func(_ context.Context, req *reason.Request) (*reason.Response, error) {
		schema = string(req.Schema)
		return &reason.Response{Stop: reason.StopRefusal}, nil
	}), nil)
	require.NoError(t, err)
	_, err = llm.Reason(t.Context(), reason.Brief{Objective: "mend it", Skills: []string{"edit"}})
	require.ErrorIs(t, err, reason.ErrRefusal)
	require.Contains(t, schema, `["","edit"]`)
	return schema
}

func TestSchema(t *testing.T) {
	for name, c := range map[string]struct {
		schema, want string // "": told in words
		o            *anthropic.Options
	}{
		"enforced":             {schema: `{"type":"object","properties":{"a":{"enum":["x",""]}},"additionalProperties":false}`, want: `{"type":"object","properties":{"a":{"enum":["x",""]}},"additionalProperties":false}`},
		"bounds are described": {schema: `{"type":"array","maxItems":7,"items":{"type":"string"}}`, want: `{"type":"array","items":{"type":"string"},"description":"{maxItems: 7}"}`},
		"anything":             {schema: `{}`},
		"anything inside":      {schema: `{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{}}}}}}`},
		"anything of several":  {schema: `{"anyOf":[{"type":"string"},true]}`},
		"no properties":        {schema: `{"type":"object","properties":{}}`, want: `{"type":"object","properties":{},"additionalProperties":false}`},
		"not an object":        {schema: `true`},
		"of a decision":        {schema: ofDecision(t)},
		"as the host says":     {schema: `{"type":"string"}`, o: &anthropic.Options{Words: true}},
	} {
		t.Run(name, func(t *testing.T) {
			endpoint, got := serve(t, "application/json", yes)
			resp, err := anthropic.New(endpoint, "m", c.o).Generate(t.Context(), &reason.Request{System: "Be kind.", Schema: json.RawMessage(c.schema)})
			require.NoError(t, err)
			require.Equal(t, "yes", resp.Text)
			require.Equal(t, reason.StopEnd, resp.Stop)
			require.Len(t, resp.Raw.(*sdk.Message).Content, 2)
			var sent struct {
				System []struct{ Text string }
				Config struct {
					Format struct {
						Type   string
						Schema json.RawMessage
					}
				} `json:"output_config"`
				Most int `json:"max_tokens"`
			}
			require.NoError(t, json.Unmarshal(*got, &sent))
			require.Equal(t, 8192, sent.Most)
			require.True(t, strings.HasPrefix(sent.System[0].Text, "Be kind."))
			require.Equal(t, c.want == "", strings.HasSuffix(sent.System[0].Text, c.schema))
			if c.want == "" {
				require.NotContains(t, string(*got), "output_config")
				return
			}
			require.Equal(t, "json_schema", sent.Config.Format.Type)
			require.JSONEq(t, c.want, string(sent.Config.Format.Schema))
		})
	}
}

func TestNoTemperature(t *testing.T) {
	endpoint, got := serve(t, "application/json", yes)
	req := &reason.Request{Temperature: new(0.5)}
	_, err := anthropic.New(endpoint, "m", &anthropic.Options{NoTemperature: true}).Generate(t.Context(), req)
	require.NoError(t, err)
	require.NotContains(t, string(*got), "temperature")
}

func TestStops(t *testing.T) {
	for finish, want := range map[string]string{
		"end_turn": reason.StopEnd, "stop_sequence": reason.StopEnd, "max_tokens": reason.StopLength,
		"model_context_window_exceeded": reason.StopLength, "refusal": reason.StopRefusal, "pause_turn": "pause_turn",
	} {
		endpoint, _ := serve(t, "application/json", strings.Replace(yes, "stop_sequence", finish, 1))
		resp, err := anthropic.New(endpoint, "m", nil).Generate(t.Context(), &reason.Request{})
		require.NoError(t, err)
		require.Equal(t, want, resp.Stop)
	}
	endpoint, _ := serve(t, "application/json", `{"type":"message","content":[],"stop_reason":"refusal","stop_details":{"type":"refusal","explanation":"Rather not."}}`)
	resp, err := anthropic.New(endpoint, "m", nil).Generate(t.Context(), &reason.Request{})
	require.NoError(t, err)
	require.Equal(t, reason.StopRefusal, resp.Stop)
	require.Equal(t, "Rather not.", resp.Text)
}

func TestOverloadedInside(t *testing.T) {
	endpoint, _ := serve(t, "text/event-stream", "event: error\ndata: "+`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`+"\n\n")
	for _, err := range anthropic.New(endpoint, "m", nil).Stream(t.Context(), &reason.Request{}) {
		require.ErrorContains(t, err, "(overloaded_error): Overloaded")
		again, _ := reason.Retryable(err)
		require.True(t, again)
	}
}

func TestTooManyTokensForGenerate(t *testing.T) {
	endpoint, got := serve(t, "application/json", yes)
	_, err := anthropic.New(endpoint, "m", nil).Generate(t.Context(), &reason.Request{MaxTokens: 30000})
	require.ErrorContains(t, err, "streaming is required")
	require.Empty(t, *got)
}

// What a call has cost counts though it gave no answer.
func TestFailuresSayWhatTheyCost(t *testing.T) {
	endpoint, _ := serve(t, "application/json", `{"type":"message","content":[],"stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":2}}`)
	_, err := anthropic.New(endpoint, "m", nil).Generate(t.Context(), &reason.Request{})
	e, ok := errors.AsType[*reason.ModelError](err)
	require.True(t, ok, err)
	require.Equal(t, reason.Usage{TokensIn: 7, TokensOut: 2}, e.Usage)

	const start = "event: message_start\ndata: " + `{"type":"message_start","message":{"usage":{"input_tokens":7,"output_tokens":1}}}` + "\n\n"
	for _, end := range []string{"", "event: error\ndata: " + `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}` + "\n\n"} {
		endpoint, _ = serve(t, "text/event-stream", start+end)
		for _, err = range anthropic.New(endpoint, "m", nil).Stream(t.Context(), &reason.Request{}) {
			e, ok = errors.AsType[*reason.ModelError](err)
			require.True(t, ok, err)
			require.Equal(t, reason.Usage{TokensIn: 7, TokensOut: 1}, e.Usage)
		}
	}
}
