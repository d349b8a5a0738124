package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/contrib/openai"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/memorytest"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/reasontest"
)

var (
	_ reason.Streamer = (*openai.Model)(nil)
	_ memory.Embedder = (*openai.Embedder)(nil)
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client returns the SDK's, with retries as they are by default, and leaves no
// connection behind.
func client(t *testing.T, url, key string) sdk.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return sdk.NewClient(option.WithBaseURL(url+"/v1/"), option.WithAPIKey(key), option.WithHTTPClient(&http.Client{Transport: transport}))
}

func TestModel(t *testing.T) {
	for name, o := range map[string]*openai.Options{
		"of OpenAI": nil,
		"of others": {OldMaxTokens: true, Schema: openai.Strict},
	} {
		t.Run(name, func(t *testing.T) {
			reasontest.CheckModel(t, reasontest.Provider{
				Model: func(url, key string) (reason.Model, error) {
					return openai.New(client(t, url, key), "small", o), nil
				},
				Decode: decode, Answer: answer, Stream: stream,
				StreamFail: func(w http.ResponseWriter, message string) {
					event(w, map[string]any{"error": map[string]any{"message": message, "code": "server_error"}})
				},
			})
		})
	}
}

// request is what the endpoint reads of one.
type request struct {
	Model     string              `json:"model"`
	Messages  []map[string]string `json:"messages"`
	Stream    bool                `json:"stream"`
	Most      int                 `json:"max_completion_tokens"`
	OldMost   int                 `json:"max_tokens"`
	Heat      *float64            `json:"temperature"`
	WithUsage struct {
		Include bool `json:"include_usage"`
	} `json:"stream_options"`
	Format struct {
		Type   string
		Schema struct {
			Name   string
			Schema json.RawMessage
			Strict bool
		} `json:"json_schema"`
	} `json:"response_format"`
}

func decode(r *http.Request) (reasontest.Call, error) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer "+reasontest.Key {
		return reasontest.Call{}, fmt.Errorf("%s %s, or the key is missing", r.Method, r.URL)
	}
	var in request
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Model != "small" || in.Stream != in.WithUsage.Include {
		return reasontest.Call{}, fmt.Errorf("%+v: %w", in, err)
	}
	call := reasontest.Call{Schema: in.Format.Schema.Schema, MaxTokens: in.Most + in.OldMost, Temperature: in.Heat, Stream: in.Stream}
	for _, m := range in.Messages {
		if m["role"] == "system" {
			call.System += m["content"]
		} else {
			call.Messages = append(call.Messages, reason.Message{Role: m["role"], Text: m["content"]})
		}
	}
	return call, nil
}

var finish = map[string]string{reason.StopEnd: "stop", reason.StopLength: "length", reason.StopRefusal: "content_filter"}

func tokens(u reason.Usage) map[string]any {
	return map[string]any{"prompt_tokens": u.TokensIn, "completion_tokens": u.TokensOut} // some endpoints leave out the total
}

func answer(w http.ResponseWriter, r reasontest.Reply) {
	choices := []any{map[string]any{"index": 0, "finish_reason": finish[r.Stop], "message": map[string]any{"role": "assistant", "content": r.Text, "refusal": nil}}}
	if r.Empty {
		choices = choices[:0]
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"id": "c1", "object": "chat.completion", "model": r.Model, "choices": choices, "usage": tokens(r.Usage)})
}

func stream(w http.ResponseWriter, r reasontest.Reply) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	chunk := func(usage any, choices ...any) {
		event(w, map[string]any{"id": "c1", "object": "chat.completion.chunk", "model": r.Model, "choices": choices, "usage": usage})
	}
	choice := func(delta map[string]any, finish any) any {
		return map[string]any{"index": 0, "delta": delta, "finish_reason": finish}
	}
	chunk(nil, choice(map[string]any{"role": "assistant", "content": ""}, nil))
	for piece := range r.Pieces {
		chunk(nil, choice(map[string]any{"content": piece}, nil))
	}
	chunk(nil, choice(map[string]any{}, finish[r.Stop]))
	chunk(tokens(r.Usage))
	io.WriteString(w, "data: [DONE]\n\n")
}

func event(w http.ResponseWriter, v any) {
	data, _ := json.Marshal(v)
	fmt.Fprintf(w, "data: %s\n\n", data)
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

const yes = `{"model":"m","choices":[{"finish_reason":"stop","message":{"content":"yes"}}]}`

func TestOptions(t *testing.T) {
	schema := json.RawMessage(`{"type":"object"}`)
	req := &reason.Request{System: "Be kind.", Messages: []reason.Message{{Role: "user", Text: "hi"}}, Schema: schema, MaxTokens: 9, Temperature: new(0.5)}
	format := func(strict string) string {
		return `"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object"}` + strict + `}}`
	}
	for name, c := range map[string]struct {
		o    *openai.Options
		want string // but for model and messages
		told bool   // the schema is told in words
	}{
		"none":           {nil, `"max_completion_tokens":9,"temperature":0.5,` + format(""), false},
		"strict":         {&openai.Options{Schema: openai.Strict}, `"max_completion_tokens":9,"temperature":0.5,` + format(`,"strict":true`), false},
		"schema":         {&openai.Options{Schema: openai.Schema}, `"max_completion_tokens":9,"temperature":0.5,` + format(""), false},
		"object":         {&openai.Options{Schema: openai.Object}, `"max_completion_tokens":9,"temperature":0.5,"response_format":{"type":"json_object"}`, true},
		"words":          {&openai.Options{Schema: openai.Words}, `"max_completion_tokens":9,"temperature":0.5`, true},
		"unknown mode":   {&openai.Options{Schema: openai.SchemaMode("yaml")}, `"max_completion_tokens":9,"temperature":0.5`, true},
		"old max tokens": {&openai.Options{OldMaxTokens: true}, `"max_tokens":9,"temperature":0.5,` + format(""), false},
		"no temperature": {&openai.Options{NoTemperature: true}, `"max_completion_tokens":9,` + format(""), false},
	} {
		t.Run(name, func(t *testing.T) {
			endpoint, got := serve(t, "application/json", yes)
			resp, err := openai.New(endpoint, "m", c.o).Generate(t.Context(), req)
			require.NoError(t, err)
			require.Equal(t, "yes", resp.Text)
			require.Equal(t, "yes", resp.Raw.(*sdk.ChatCompletion).Choices[0].Message.Content)
			var sent map[string]any
			require.NoError(t, json.Unmarshal(*got, &sent))
			system := sent["messages"].([]any)[0].(map[string]any)["content"].(string)
			require.Equal(t, c.told, strings.Contains(system, string(schema)))
			require.True(t, strings.HasPrefix(system, "Be kind."))
			delete(sent, "messages")
			rest, err := json.Marshal(sent)
			require.NoError(t, err)
			require.JSONEq(t, `{"model":"m",`+c.want+`}`, string(rest))
		})
	}
	endpoint, got := serve(t, "text/event-stream", "data: "+strings.Replace(yes, "message", "delta", 1)+"\n\n")
	for _, err := range openai.New(endpoint, "m", &openai.Options{NoStreamUsage: true}).Stream(t.Context(), req) {
		require.NoError(t, err)
	}
	require.NotContains(t, string(*got), "stream_options")
}

func TestRefusalIsNoAnswer(t *testing.T) {
	endpoint, _ := serve(t, "application/json", `{"choices":[{"finish_reason":"stop","message":{"content":null,"refusal":"I would rather not."}}]}`)
	resp, err := openai.New(endpoint, "m", nil).Generate(t.Context(), &reason.Request{})
	require.NoError(t, err)
	require.Equal(t, reason.StopRefusal, resp.Stop)
	require.Equal(t, "I would rather not.", resp.Text)

	endpoint, _ = serve(t, "text/event-stream", `data: {"choices":[{"delta":{"refusal":"I would "}}]}

data: {"choices":[{"delta":{"refusal":"rather not."}}]}

data: {"choices":[{"delta":{},"finish_reason":"stop"}]}

`)
	text, last := "", ""
	for piece, err := range openai.New(endpoint, "m", nil).Stream(t.Context(), &reason.Request{}) {
		require.NoError(t, err)
		text, last = text+piece.Text, piece.Stop
	}
	require.Equal(t, "I would rather not.", text)
	require.Equal(t, reason.StopRefusal, last)
}

func TestUsage(t *testing.T) {
	for said, want := range map[string]reason.Usage{
		`{"prompt_tokens":10,"completion_tokens":30,"total_tokens":40,"prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":25}}`: {TokensIn: 10, TokensOut: 30, CacheRead: 8},
		`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":40,"completion_tokens_details":{"reasoning_tokens":25}}`:                                              {TokensIn: 10, TokensOut: 30},
		`{"prompt_tokens":10,"completion_tokens":5}`:    {TokensIn: 10, TokensOut: 5},
		`{"prompt_tokens":-1,"completion_tokens":null}`: {},
		`null`: {},
	} {
		endpoint, _ := serve(t, "application/json", strings.TrimSuffix(yes, "}")+`,"usage":`+said+`}`)
		resp, err := openai.New(endpoint, "m", nil).Generate(t.Context(), &reason.Request{Messages: []reason.Message{{Role: "user", Text: "hi"}}})
		require.NoError(t, err)
		require.Equal(t, want, resp.Usage, said)
	}
}

// Some endpoints answer with a status of 200 and an error.
func TestErrorWithStatus200(t *testing.T) {
	const body = `{"error":{"message":"no provider is available","code":"upstream"}}`
	endpoint, _ := serve(t, "application/json", body)
	_, err := openai.New(endpoint, "m", nil).Generate(t.Context(), &reason.Request{})
	require.ErrorContains(t, err, "(upstream): no provider is available")
	endpoint, _ = serve(t, "text/event-stream", "data: "+body+"\n\n")
	for _, err := range openai.New(endpoint, "m", nil).Stream(t.Context(), &reason.Request{}) {
		require.ErrorContains(t, err, "(upstream): no provider is available")
	}
}

// Half of an answer is none: gateways send what came, with the error of the provider behind them.
func TestErrorBesideText(t *testing.T) {
	const said = `"error":{"message":"upstream has gone","code":502}`
	choice := `{"finish_reason":"error","message":{"content":"half of"}`
	for _, body := range []string{
		`{"choices":[` + choice + `}],` + said + `}`, `{"choices":[` + choice + `,` + said + `}]}`,
	} {
		endpoint, _ := serve(t, "application/json", body)
		_, err := openai.New(endpoint, "m", nil).Generate(t.Context(), &reason.Request{})
		require.ErrorContains(t, err, "upstream has gone")
		again, _ := reason.Retryable(err)
		require.True(t, again)
	}
	endpoint, _ := serve(t, "text/event-stream", `data: {"choices":[{"delta":{"content":"half of"}}]}

data: {"choices":[{"delta":{"content":""},"finish_reason":"error",`+said+`}]}

data: [DONE]

`)
	var last error
	for _, last = range openai.New(endpoint, "m", nil).Stream(t.Context(), &reason.Request{}) {
		continue
	}
	require.ErrorContains(t, last, "upstream has gone")
}

// Some endpoints send an error of null with each piece.
func TestNoErrorInAStream(t *testing.T) {
	c, _ := serve(t, "text/event-stream", `data: {"error":null,"choices":[{"delta":{"content":"forty-two"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	text := ""
	for r, err := range openai.New(c, "small", nil).Stream(t.Context(), &reason.Request{}) {
		require.NoError(t, err)
		text += r.Text
	}
	require.Equal(t, "forty-two", text)
}

// An empty body is what a gateway sends that restarts.
func TestAnEmptyBodyIsTriedAgain(t *testing.T) {
	endpoint, _ := serve(t, "application/json", "")
	_, err := openai.New(endpoint, "m", nil).Generate(t.Context(), &reason.Request{})
	again, _ := reason.Retryable(err)
	require.True(t, again, "%v", err)
}

func TestUnknownWords(t *testing.T) {
	endpoint, _ := serve(t, "application/json", `{"choices":[{"finish_reason":"tool_calls","message":{"content":null}}],"usage":{"prompt_tokens":-1}}`)
	resp, err := openai.New(endpoint, "m", nil).Generate(t.Context(), &reason.Request{})
	require.NoError(t, err)
	require.Equal(t, "tool_calls", resp.Stop, "passed on")
	require.True(t, resp.Usage.Valid())
}

func TestEmbedder(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Model string
			Input []string
		}
		if json.NewDecoder(r.Body).Decode(&in) != nil || r.URL.Path != "/v1/embeddings" || in.Model != "vectors" {
			http.Error(w, `{"error":{"message":"not understood"}}`, 400)
			return
		}
		var data []any
		for i := range in.Input { // the last first
			i = len(in.Input) - 1 - i
			text := in.Input[i]
			if text == "" || len(text) > 16<<10 {
				http.Error(w, `{"error":{"message":"too short or too long"}}`, 400)
				return
			}
			data = append(data, map[string]any{"index": i, "embedding": []float64{float64(len(text)), float64(strings.Count(text, "e")), 1}})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"model": in.Model, "data": data})
	}))
	defer s.Close()
	e := openai.NewEmbedder(client(t, s.URL, "key"), "vectors")
	require.NoError(t, memorytest.CheckEmbedder(t.Context(), e))
	require.Equal(t, "openai/vectors", e.Model())
	got, err := e.Embed(t.Context(), []string{"e", " ", "eel"})
	require.NoError(t, err)
	require.Equal(t, [][]float32{{1, 1, 1}, nil, {3, 2, 1}}, got)
	_, err = e.Embed(t.Context(), []string{strings.Repeat("é", 1<<14)})
	require.NoError(t, err, "cut between two characters")
}

func TestEmbedderFailures(t *testing.T) {
	for body, says := range map[string]string{
		`{"data":[{"index":0,"embedding":[1]}]}`:                               "1 vectors for 2 texts",
		`{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[2]}]}`:   "or a second one",
		`{"data":[{"index":0,"embedding":[1]},{"index":-1,"embedding":[2]}]}`:  "text 0 of 2",
		`{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[2]}]}`:   "text 3 of 2",
		`{"error":{"message":"this model has no vectors","type":"not_found"}}`: "0 vectors for 2 texts",
		`null`: "is empty", `[`: "EOF",
	} {
		endpoint, _ := serve(t, "application/json", body)
		_, err := openai.NewEmbedder(endpoint, "vectors").Embed(t.Context(), []string{"a", "b"})
		require.ErrorContains(t, err, says, body)
	}
}

// What a call has cost counts though it gave no answer.
func TestFailuresSayWhatTheyCost(t *testing.T) {
	const told = `"usage":{"prompt_tokens":7,"completion_tokens":2},"error":{"message":"upstream has gone","code":502}`
	for _, body := range []string{`{"choices":[],` + told + `}`, `{"choices":[{"message":{"content":"half of"}}],` + told + `}`} {
		endpoint, _ := serve(t, "application/json", body)
		_, err := openai.New(endpoint, "m", nil).Generate(t.Context(), &reason.Request{})
		e, ok := errors.AsType[*reason.ModelError](err)
		require.True(t, ok, err)
		require.Equal(t, reason.Usage{TokensIn: 7, TokensOut: 2}, e.Usage)
	}
	const piece = `data: {"choices":[{"delta":{"content":"half of"}}],"usage":{"prompt_tokens":7,"completion_tokens":2}}` + "\n\n"
	for _, end := range []string{"", "data: {" + told + "}\n\n"} {
		endpoint, _ := serve(t, "text/event-stream", piece+end)
		var last error
		for _, last = range openai.New(endpoint, "m", nil).Stream(t.Context(), &reason.Request{}) {
			continue
		}
		e, ok := errors.AsType[*reason.ModelError](last)
		require.True(t, ok, last)
		require.Equal(t, reason.Usage{TokensIn: 7, TokensOut: 2}, e.Usage)
	}
}

// Some endpoints name the model in the pieces alone, and not beside the usage.
func TestModelOfAStream(t *testing.T) {
	c, _ := serve(t, "text/event-stream", `data: {"model":"m1","choices":[{"delta":{"content":"yes"},"finish_reason":"stop"}]}

data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}

data: [DONE]

`)
	var last *reason.Response
	for resp, err := range openai.New(c, "m", nil).Stream(t.Context(), &reason.Request{}) {
		require.NoError(t, err)
		last = resp
	}
	require.Equal(t, "m1", last.Model)
	require.Equal(t, 7, last.Usage.TokensIn)
}
