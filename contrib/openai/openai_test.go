package openai_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/contrib/openai"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/reasontest"
)

type m = map[string]any

// provider speaks chat completions: content as a string, or as parts with the thought among them.
func provider(parts bool) reasontest.Provider {
	return reasontest.Provider{
		Model: func(url, key string) reason.Model {
			return openai.New("small", &openai.Options{URL: url + "/v1/?api-version=1", Key: key})
		},
		Decode: decode,
		Write: func(w http.ResponseWriter, stream bool, a reasontest.Answer, next func()) {
			write(w, stream, parts, a, next)
		},
	}
}

func TestModel(t *testing.T) {
	for name, parts := range map[string]bool{"strings": false, "parts": true} {
		t.Run(name, func(t *testing.T) { reasontest.CheckModel(t, provider(parts)) })
	}
}

func decode(r *http.Request) (s reasontest.Seen, err error) {
	var b struct {
		Model    string
		Messages []struct {
			Role, Content string
			ToolCallID    string          `json:"tool_call_id"`
			Details       json.RawMessage `json:"reasoning_details"`
			ToolCalls     []struct {
				ID, Type string
				Function struct{ Name, Arguments string }
				Extra    json.RawMessage `json:"extra_content"`
			} `json:"tool_calls"`
		}
		Tools []struct {
			Type     string
			Function struct{ Name string }
		}
		ResponseFormat struct {
			JSONSchema struct{ Schema json.RawMessage } `json:"json_schema"`
		} `json:"response_format"`
		MaxTokens   int `json:"max_tokens"`
		Temperature *float64
		Stream      bool
	}
	if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
		return s, err
	}
	if r.URL.String() != "/v1/chat/completions?api-version=1" || b.Model != "small" ||
		!strings.HasPrefix(r.Header.Get("Authorization"), "Bearer sk-") {
		return s, fmt.Errorf("%s, model %q", r.URL, b.Model)
	}
	s.Stream, s.MaxTokens, s.Temperature = b.Stream, b.MaxTokens, b.Temperature
	s.Schema = b.ResponseFormat.JSONSchema.Schema
	for _, t := range b.Tools {
		s.Tools = append(s.Tools, reason.Tool{Name: t.Function.Name})
	}
	roles := map[string]string{"user": reason.RoleUser, "assistant": reason.RoleModel, "tool": reason.RoleTool}
	for _, msg := range b.Messages {
		if msg.Role == "system" {
			s.System = msg.Content
			continue
		}
		out := reason.Message{Role: roles[msg.Role], Text: msg.Content, CallID: msg.ToolCallID, Opaque: msg.Details}
		for _, c := range msg.ToolCalls {
			out.Calls = append(out.Calls, reason.ToolCall{ID: c.ID, Name: c.Function.Name,
				Inputs: json.RawMessage(c.Function.Arguments)})
			if c.Extra != nil {
				out.Opaque = c.Extra
			}
		}
		s.Messages = append(s.Messages, out)
	}
	return s, nil
}

func write(w http.ResponseWriter, stream, parts bool, a reasontest.Answer, next func()) {
	finish := map[string]string{
		reason.StopEnd: "stop", reason.StopTools: "tool_calls", reason.StopLength: "length",
		reason.StopFilter: "content_filter",
	}[a.Stop]
	use := m{"prompt_tokens": a.Usage.Input, "completion_tokens": a.Usage.Output, "total_tokens": 0,
		"prompt_tokens_details": m{"cached_tokens": a.Usage.Cached}}
	said := func(text, thought string) m {
		d := m{"role": "assistant", "content": text}
		if parts {
			all := []m{}
			if thought != "" {
				all = append(all, m{"type": "thinking", "thinking": []m{{"type": "text", "text": thought}}})
			}
			d["content"] = append(all, m{"type": "text", "text": text})
		} else if thought != "" {
			d["reasoning_content"] = thought
		}
		return d
	}
	calls, signed := []m{}, []m{}
	for i, c := range a.Calls {
		calls = append(calls, m{"index": i, "id": c.ID, "type": "function",
			"function": m{"name": c.Name, "arguments": string(c.Inputs)}})
		if parts && i == 0 && a.Signed != "" {
			calls[0]["extra_content"] = m{"google": m{"thought_signature": a.Signed}}
		}
	}
	if a.Signed != "" && !parts {
		signed = append(signed, m{"type": "reasoning.encrypted", "data": a.Signed})
	}
	if !stream {
		w.Header().Set("Content-Type", "application/json")
		msg := said(strings.Join(a.Pieces, ""), a.Thought)
		msg["tool_calls"], msg["reasoning_details"] = calls, signed
		raw, _ := json.Marshal(m{"choices": []m{{"index": 0, "message": msg, "finish_reason": finish}},
			"usage": use})
		if a.Unclosed {
			raw = raw[:len(raw)/2]
		}
		_, _ = w.Write(raw)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(delta m, finish any) {
		raw, _ := json.Marshal(m{"choices": []m{{"index": 0, "delta": delta, "finish_reason": finish}},
			"usage": nil})
		_, _ = fmt.Fprintf(w, ": comment\n\ndata: %s\n\n", raw)
		w.(http.Flusher).Flush()
	}
	if a.Thought != "" {
		event(said("", a.Thought), nil)
		event(m{"reasoning_details": signed}, nil)
	}
	for i, p := range a.Pieces {
		if i > 0 {
			next()
		}
		event(said(p, ""), nil)
	}
	for _, c := range calls {
		f := c["function"].(m)
		args := []rune(f["arguments"].(string))
		f["arguments"] = ""
		event(m{"tool_calls": []m{c}}, nil)
		event(m{"tool_calls": []m{{"index": c["index"], "function": m{"arguments": string(args[:1])}}}}, nil)
		f["arguments"] = string(args[1:]) // some say the rest with each fragment
		event(m{"tool_calls": []m{c}}, nil)
	}
	if a.Unclosed {
		return
	}
	event(m{}, finish)
	raw, _ := json.Marshal(m{"choices": []m{}, "usage": use})
	_, _ = fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", raw)
}

// What endpoints of the wild answer.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name, body, text, err, stop string
		status                      int
		class                       reason.ErrorClass
	}{
		{name: "arguments as an object, equal indices, no finish of its own",
			body: `{"choices":[{"message":{"content":null,"tool_calls":[{"index":0,"id":"a","function":{"name":"f",` +
				`"arguments":{"n":1}}},` +
				`{"index":0,"id":"b","function":{"name":"g"}}]},"finish_reason":"stop"}]}`},
		{name: "an error in a 200", body: `{"error":{"code":429,"message":"Provider returned error"}}`,
			class: reason.RateLimited},
		{name: "an error in words in a 200", body: `{"error":"the model crashed"}`, class: reason.Unavailable,
			err: "crashed"},
		{name: "a refusal", body: `{"choices":[{"message":{"refusal":"I will not."},"finish_reason":"stop"}]}`,
			text: "I will not."},
		{name: "an upstream that broke", body: `{"choices":[{"message":{"content":"ha"},"finish_reason":"error"}]}`,
			text: "ha", stop: reason.StopLength},
		{name: "wrong model", status: 404,
			body:  `{"error":{"message":"The model does not exist","code":"model_not_found"}}`,
			class: reason.Permanent, err: `(the model is "small" at http://`},
		{name: "wrong key", status: 401, body: `{"error":{"message":"Incorrect API key provided"}}`,
			class: reason.Permanent, err: ", the key that of LOCAL_KEY)"},
		{name: "an empty account", status: 429, body: `{"error":{"message":"Pay first","code":"insufficient_quota"}}`,
			class: reason.Permanent, err: `(the model is "small" at http://`},
		{name: "too long", status: 400, body: `{"error":{"message":"Too long","code":"context_length_exceeded"}}`,
			class: reason.Permanent, err: `(the model is "small" at http://`},
		{name: "Gemini's wait", status: 429, class: reason.RateLimited, err: "current quota",
			body: `[{"error":{"code":429,"status":` +
				`"RESOURCE_EXHAUSTED","message":"You exceeded your current quota","details":[{"@type":"RetryInfo",` +
				`"retryDelay":"39s"}]}}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if c.status > 0 {
					w.WriteHeader(c.status)
				}
				_, _ = io.WriteString(w, "\n "+c.body) // a gateway may send blanks while it waits
			}))
			defer srv.Close()
			model := openai.New("small", &openai.Options{URL: srv.URL, KeyEnv: "LOCAL_KEY"})
			resp, err := reason.Generate(t.Context(), model, &reason.Request{})
			told := "" // a stream was asked for, and there is none
			whole, err2 := reason.Generate(t.Context(), model, &reason.Request{OnText: func(s string) { told += s }})
			if c.class != "" {
				for _, err := range []error{err, err2} {
					var e *reason.Error
					require.ErrorAs(t, err, &e)
					require.Equal(t, c.class, e.Class, err)
					require.ErrorContains(t, err, c.err)
				}
				return
			}
			require.NoError(t, err)
			require.NoError(t, err2)
			require.Equal(t, resp, whole)
			require.Equal(t, resp.Text, told)
			require.Equal(t, c.text, resp.Text)
			if c.text == "" {
				require.Equal(t, reason.StopTools, resp.Stop)
				require.Equal(t, []reason.ToolCall{{ID: "a", Name: "f", Inputs: json.RawMessage(`{"n":1}`)},
					{ID: "b", Name: "g", Inputs: json.RawMessage(`{}`)}}, resp.Calls)
			} else {
				require.Equal(t, cmp.Or(c.stop, reason.StopFilter), resp.Stop)
			}
		})
	}
}

// Figures that are none are unknown; the answer is an answer. Thoughts beside the completion, as of xAI, are
// output.
func TestOddUsage(t *testing.T) {
	beside := `{"%s":32,"completion_tokens":9,"total_tokens":135,` +
		`"completion_tokens_details":{"reasoning_tokens":94}}`
	for _, odd := range []string{`"none"`, `[]`, `{"%s":"12"}`, `{"%s":1.5}`, `{"%s":-1}`, `{"%s":1e40}`, `{}`,
		`{"%s":0}`, beside} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"yes"},"finish_reason":"stop"}],"usage":`+
				strings.ReplaceAll(odd, "%s", "prompt_tokens")+"}")
		}))
		resp, err := reason.Generate(t.Context(), openai.New("small", &openai.Options{URL: srv.URL}),
			&reason.Request{})
		srv.Close()
		require.NoError(t, err, odd)
		require.Equal(t, "yes", resp.Text)
		if odd == beside {
			require.Equal(t, &reason.Usage{Calls: 1, Input: 32, Output: 103}, resp.Usage)
			continue
		}
		require.Nil(t, resp.Usage, odd)
	}
}

// What a stream told before it broke was taken.
func TestUsageOfACutStream(t *testing.T) {
	for _, end := range []string{"data: {\"error\":{\"code\":503}}\n\n", "data: {\n\n", ""} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"y"}}],"usage":{"prompt_tokens":7,`+
				`"completion_tokens":1}}`+"\n\n"+end)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}))
		_, err := reason.Generate(t.Context(), openai.New("small", &openai.Options{URL: srv.URL}),
			&reason.Request{OnText: func(string) {}})
		srv.Close()
		var e *reason.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, &reason.Usage{Calls: 1, Input: 7, Output: 1}, e.Usage, err)
	}
}

// An error names the variable of the key only where the key is from there.
func TestWrongKey(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer srv.Close()
	for _, o := range []openai.Options{{}, {Key: "own"}, {Key: "own", KeyEnv: "MY_KEY"}} {
		o.URL = srv.URL
		_, err := reason.Generate(t.Context(), openai.New("small", &o), &reason.Request{})
		want := map[string]string{"": "OPENAI_API_KEY)", "own": "Options.Key)", "ownMY_KEY": "MY_KEY)"}[o.Key+o.KeyEnv]
		require.ErrorContains(t, err, want)
	}
}

// A connection that breaks is an outage, wherever in a line.
func TestCutInALine(t *testing.T) {
	for _, end := range []any{nil, http.ErrAbortHandler} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"Order "}}]}`+"\n\n"+`data: {"choices":[{"de`)
			_ = http.NewResponseController(w).Flush()
			if end != nil {
				panic(end)
			}
		}))
		_, err := reason.Generate(t.Context(), openai.New("small", &openai.Options{URL: srv.URL}),
			&reason.Request{OnText: func(string) {}})
		srv.Close()
		var e *reason.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, reason.Unavailable, e.Class, err)
	}
}
