package ollama_test

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
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/contrib/ollama"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/memorytest"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

var (
	_ reason.Streamer = (*ollama.Model)(nil)
	_ memory.Embedder = (*ollama.Embedder)(nil)
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve returns the address of a server that answers as h says.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func model(t *testing.T, base string, opts *ollama.Options) *ollama.Model {
	t.Helper()
	if opts == nil {
		opts = &ollama.Options{}
	}
	opts.Client = client(t)
	m, err := ollama.New(base, "small", opts)
	require.NoError(t, err)
	return m
}

// client returns one that leaves no connection behind.
func client(t *testing.T) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// says answers with a text.
func says(status int, text string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, text)
	}
}

// cuts answers with a text and resets the connection.
func cuts(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if text != "" {
			io.WriteString(w, text)
			w.(http.Flusher).Flush()
		}
		panic(http.ErrAbortHandler)
	}
}

func ask(text string) *reason.Request {
	return &reason.Request{Messages: []reason.Message{{Role: "user", Text: text}}}
}

// stream collects the pieces of a stream and its last response.
func stream(ctx context.Context, m *ollama.Model, req *reason.Request) (text string, last *reason.Response, err error) {
	for piece, err := range m.Stream(ctx, req) {
		if err != nil {
			return text, last, err
		}
		text, last = text+piece.Text, piece
	}
	return text, last, nil
}

func TestRequest(t *testing.T) {
	var got map[string]any
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = nil
		if r.Method == http.MethodPost && r.URL.Path == "/api/chat" && r.Header.Get("Content-Type") == "application/json" {
			_ = json.NewDecoder(r.Body).Decode(&got)
		}
		io.WriteString(w, `{"model":"small:latest","message":{"role":"assistant","content":"42"},"done":true,"done_reason":"stop","prompt_eval_count":11,"eval_count":3}`)
	})
	temperature := 0.25
	params := map[string]any{"num_ctx": 8192, "temperature": 1}
	m := model(t, base, &ollama.Options{Parameters: params, KeepAlive: -time.Second})
	params["num_ctx"] = 1 // copied before
	resp, err := m.Generate(t.Context(), &reason.Request{
		System:   "Be short.",
		Messages: []reason.Message{{Role: "user", Text: "6 x 7?"}, {Role: "assistant", Text: "41"}, {Role: "user", Text: "No."}},
		Schema:   json.RawMessage(`{"type":"integer"}`), MaxTokens: 9, Temperature: &temperature,
	})
	require.NoError(t, err)
	raw := resp.Raw.(json.RawMessage)
	require.Contains(t, string(raw), "prompt_eval_count")
	resp.Raw = nil
	require.Equal(t, &reason.Response{Text: "42", Stop: reason.StopEnd, Model: "small:latest", Usage: reason.Usage{TokensIn: 11, TokensOut: 3}}, resp)
	sent, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, `{"model":"small","stream":false,"truncate":false,"shift":false,"keep_alive":"-1s","format":{"type":"integer"},
		"options":{"num_ctx":8192,"num_predict":9,"temperature":0.25},
		"messages":[{"role":"system","content":"Be short."},{"role":"user","content":"6 x 7?"},{"role":"assistant","content":"41"},{"role":"user","content":"No."}]}`, string(sent))

	_, err = model(t, base, nil).Generate(t.Context(), ask("hi"))
	require.NoError(t, err)
	sent, err = json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, `{"model":"small","stream":false,"truncate":false,"shift":false,"options":{},"messages":[{"role":"user","content":"hi"}]}`, string(sent))
}

func TestStream(t *testing.T) {
	base := serve(t, says(200, `{"model":"small","message":{"content":"for"},"done":false}
{"model":"small","message":{"content":"ty-"},"done":false}
{"model":"small","message":{"content":"two"},"done":false}
{"model":"small","message":{"content":""},"done":true,"done_reason":"length","prompt_eval_count":5,"eval_count":4}
`, "Content-Type", "application/x-ndjson"))
	text, last, err := stream(t.Context(), model(t, base, nil), ask("hi"))
	require.NoError(t, err)
	require.Equal(t, "forty-two", text)
	require.Equal(t, reason.StopLength, last.Stop)
	require.Equal(t, reason.Usage{TokensIn: 5, TokensOut: 4}, last.Usage)
	require.Equal(t, "small", last.Model)
}

// Failures in the form of this server; those of any provider are in TestModel.
func TestFailures(t *testing.T) {
	whole := `{"message":{"content":"forty-two"},"done":true}`
	for name, c := range map[string]struct {
		h     http.HandlerFunc
		want  reason.ModelError // but for Err
		says  string            // what the text of the error contains
		limit bool
	}{
		"a text":          {h: says(200, `hello`), says: "invalid character"},
		"malformed":       {h: says(200, `{"message":{"content":]}`), says: "invalid character"},
		"wrong types":     {h: says(200, `{"message":{"content":7},"done":true}`), says: "cannot unmarshal"},
		"nothing":         {h: says(200, ``), want: reason.ModelError{Again: true}},
		"cut inside":      {h: cuts(whole[:20]), want: reason.ModelError{Again: true}},
		"ended inside":    {h: says(200, whole[:20]), want: reason.ModelError{Again: true}},
		"failed inside":   {h: says(200, `{"error":"the runner has died"}`), want: reason.ModelError{Again: true}, says: "the runner has died"},
		"not of a chat":   {h: says(200, `{}`), want: reason.ModelError{Again: true}},
		"unfinished":      {h: says(200, `{"message":{"content":"forty"},"done":false}`), want: reason.ModelError{Again: true}},
		"too long":        {h: says(200, `{"message":{"content":"`+strings.Repeat("a", 1<<20+1)+`"},"done":true}`), limit: true},
		"nested too deep": {h: says(200, strings.Repeat("[", 20000)), says: "max depth"},
		"without end":     {h: endless, limit: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := model(t, serve(t, c.h), nil)
			check := func(err error) {
				t.Helper()
				e, ok := errors.AsType[*reason.ModelError](err)
				require.True(t, ok, "%v", err)
				require.Contains(t, err.Error(), c.says)
				_, limit := errors.AsType[*store.LimitError](err)
				require.Equal(t, c.limit, limit, "%v", err)
				e.Err = nil
				require.Equal(t, c.want, *e)
			}
			resp, err := m.Generate(t.Context(), ask("hi"))
			require.Nil(t, resp)
			check(err)
			_, _, err = stream(t.Context(), m, ask("hi"))
			check(err)
		})
	}
}

// endless answers with lines until nobody reads them.
func endless(w http.ResponseWriter, r *http.Request) {
	line := fmt.Sprintf(`{"message":{"content":%q},"done":false}`+"\n", strings.Repeat("a", 1<<10))
	var in struct{ Stream bool }
	_ = json.NewDecoder(r.Body).Decode(&in)
	if !in.Stream { // one line is all of it
		line = strings.Repeat("[0],", 1<<10)
		io.WriteString(w, "[")
	}
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, line); err != nil {
			return
		}
	}
}

func TestCutStreamIsNoAnswer(t *testing.T) {
	line := `{"message":{"content":"forty"},"done":false}` + "\n"
	for name, h := range map[string]http.HandlerFunc{
		"reset": cuts(line), "reset in a line": cuts(line + line[:10]),
		"ended": says(200, line), "ended in a line": says(200, line+line[:10]),
	} {
		text, _, err := stream(t.Context(), model(t, serve(t, h), nil), ask("hi"))
		require.Equal(t, "forty", text, name)
		e, ok := errors.AsType[*reason.ModelError](err)
		require.True(t, ok, name)
		require.True(t, e.Again, name)
	}
}

func TestNoServer(t *testing.T) {
	s := httptest.NewServer(nil)
	base := strings.Replace(s.URL, "http://", "http://someone:pass-word@", 1)
	s.Close()
	_, err := model(t, base, nil).Generate(t.Context(), ask("hi"))
	e, ok := errors.AsType[*reason.ModelError](err)
	require.True(t, ok)
	require.True(t, e.Again)
	require.NotContains(t, err.Error(), "pass-word")
}

func TestNew(t *testing.T) {
	for _, base := range []string{"", "localhost:11434", "http://", "http://user:pass-word@[::1"} {
		_, err := ollama.New(base, "small", nil)
		require.Error(t, err, base)
		require.NotContains(t, err.Error(), "pass-word")
		_, err = ollama.NewEmbedder(base, "small", nil)
		require.Error(t, err, base)
	}
	_, err := ollama.New("http://localhost", "", nil)
	require.Error(t, err)

	m, err := ollama.New("http://localhost", "small", &ollama.Options{Parameters: map[string]any{"seed": func() {}}})
	require.NoError(t, err)
	_, err = m.Generate(t.Context(), ask("hi"))
	require.ErrorContains(t, err, "unsupported type")
}

func TestEmbedder(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Model   string
			Input   []string
			Options map[string]any
		}
		if json.NewDecoder(r.Body).Decode(&in) != nil || r.URL.Path != "/prefix/api/embed" || in.Model != "vectors" || in.Options["num_ctx"] != 512.0 {
			http.Error(w, `{"error":"not understood"}`, 400)
			return
		}
		out := make([][]float32, len(in.Input))
		for i, text := range in.Input {
			out[i] = []float32{float32(len(text)), float32(strings.Count(text, "e")), 1}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"model": in.Model, "embeddings": out})
	})
	e, err := ollama.NewEmbedder(base+"/prefix/", "vectors", &ollama.Options{Client: client(t), Parameters: map[string]any{"num_ctx": 512}})
	require.NoError(t, err)
	require.NoError(t, memorytest.CheckEmbedder(t.Context(), e))
	require.Equal(t, "ollama/vectors", e.Model())
	got, err := e.Embed(t.Context(), []string{"e", " ", "eel"})
	require.NoError(t, err)
	require.Equal(t, [][]float32{{1, 1, 1}, nil, {3, 2, 1}}, got)
}

func TestEmbedderFailures(t *testing.T) {
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		says string
	}{
		"too few":   {says(200, `{"embeddings":[[1,2]]}`), "1 vectors for 2 texts"},
		"none":      {says(200, `{}`), "0 vectors for 2 texts"},
		"malformed": {says(200, `{"embeddings":[["a"]]}`), "cannot unmarshal"},
		"not one":   {says(400, `{"error":"this model does not support embeddings"}`), "does not support"},
		"cut":       {cuts(`{"embeddings":[[1,`), "unexpected EOF"},
		"no answer": {cuts(""), "EOF"},
	} {
		e, err := ollama.NewEmbedder(serve(t, c.h), "vectors", &ollama.Options{Client: client(t)})
		require.NoError(t, err)
		_, err = e.Embed(t.Context(), []string{"a", "b"})
		require.ErrorContains(t, err, c.says, name)
	}
}
