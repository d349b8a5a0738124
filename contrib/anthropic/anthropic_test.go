package anthropic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/contrib/anthropic"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/reasontest"
)

type m = map[string]any

func TestModel(t *testing.T) {
	reasontest.CheckModel(t, reasontest.Provider{
		Model: func(url, key string) reason.Model {
			return anthropic.New("claude", &anthropic.Options{URL: url + "/?beta=true", Key: key, Cache: true})
		},
		Decode: decode, Write: write,
	})
}

func decode(r *http.Request) (s reasontest.Seen, err error) {
	var b struct {
		Model, Version string
		MaxTokens      int `json:"max_tokens"`
		System         []struct{ Text string }
		Messages       []struct {
			Role    string
			Content []json.RawMessage
		}
		Tools       []struct{ Name string }
		Temperature *float64
		Stream      bool
	}
	if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
		return s, err
	}
	if r.URL.String() != "/v1/messages?beta=true" || b.Model != "claude" ||
		!strings.HasPrefix(r.Header.Get("X-Api-Key"), "sk-") ||
		r.Header.Get("Anthropic-Version") == "" || b.MaxTokens == 0 {
		return s, errors.New("headers, path or bound are not as the API wants them")
	}
	s.Stream, s.MaxTokens, s.Temperature = b.Stream, b.MaxTokens, b.Temperature
	for _, t := range b.System {
		s.System += t.Text
	}
	for _, t := range b.Tools {
		s.Tools = append(s.Tools, reason.Tool{Name: t.Name})
	}
	last := ""
	for _, msg := range b.Messages {
		if msg.Role == last || len(msg.Content) == 0 {
			return s, errors.New("two messages of a role, or one without content")
		}
		last = msg.Role
		out := reason.Message{Role: map[string]string{"user": reason.RoleUser,
			"assistant": reason.RoleModel}[msg.Role]}
		results := []reason.Message{}
		for _, raw := range msg.Content {
			var c struct {
				Type, Text, Signature, ID, Name, Content string
				Input                                    json.RawMessage
				ToolUseID                                string `json:"tool_use_id"`
				IsError                                  bool   `json:"is_error"`
			}
			if err := json.Unmarshal(raw, &c); err != nil {
				return s, err
			}
			switch c.Type {
			case "text":
				out.Text += c.Text
			case "thinking":
				out.Opaque = raw
			case "tool_use":
				out.Calls = append(out.Calls, reason.ToolCall{ID: c.ID, Name: c.Name, Inputs: c.Input})
			case "tool_result":
				results = append(results, reason.Message{Role: reason.RoleTool, CallID: c.ToolUseID, Text: c.Content})
			}
		}
		if len(results) == 0 {
			results = []reason.Message{out}
		}
		s.Messages = append(s.Messages, results...)
	}
	return s, nil
}

func write(w http.ResponseWriter, stream bool, a reasontest.Answer, next func()) {
	stop := map[string]string{
		reason.StopEnd: "end_turn", reason.StopTools: "tool_use", reason.StopLength: "max_tokens",
		reason.StopFilter: "refusal",
	}[a.Stop]
	use := m{"input_tokens": a.Usage.Input - a.Usage.Cached, "cache_read_input_tokens": a.Usage.Cached,
		"cache_creation_input_tokens": 0, "output_tokens": a.Usage.Output}
	blocks := []m{}
	if a.Thought != "" {
		blocks = append(blocks, m{"type": "thinking", "thinking": a.Thought, "signature": a.Signed})
	}
	blocks = append(blocks, m{"type": "text", "text": strings.Join(a.Pieces, "")})
	for _, c := range a.Calls {
		blocks = append(blocks, m{"type": "tool_use", "id": c.ID, "name": c.Name, "input": c.Inputs})
	}
	if !stream {
		w.Header().Set("Content-Type", "application/json")
		raw, _ := json.Marshal(m{"type": "message", "content": blocks, "stop_reason": stop, "usage": use})
		if a.Unclosed {
			raw = raw[:len(raw)/2]
		}
		_, _ = w.Write(raw)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(e m) {
		raw, _ := json.Marshal(e)
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["type"], raw)
		w.(http.Flusher).Flush()
	}
	use["output_tokens"] = 1
	event(m{"type": "message_start", "message": m{"usage": use}})
	for i, b := range blocks {
		piece := func(name string, of any) {
			event(m{"type": "content_block_delta", "index": i, "delta": m{"type": name + "_delta", map[string]string{
				"text": "text", "input_json": "partial_json", "thinking": "thinking",
				"signature": "signature"}[name]: of}})
		}
		switch b["type"] {
		case "thinking":
			event(m{"type": "content_block_start", "index": i, "content_block": m{"type": "thinking", "thinking": "",
				"signature": ""}})
			piece("thinking", a.Thought[:3])
			piece("thinking", a.Thought[3:])
			piece("signature", a.Signed)
		case "text":
			event(m{"type": "content_block_start", "index": i, "content_block": m{"type": "text", "text": ""}})
			for j, p := range a.Pieces {
				if j > 0 {
					next()
				}
				piece("text", p)
			}
		case "tool_use":
			event(m{"type": "content_block_start", "index": i, "content_block": m{"type": "tool_use", "id": b["id"],
				"name": b["name"], "input": m{}}})
			args := []rune(string(b["input"].(json.RawMessage)))
			piece("input_json", string(args[:1]))
			piece("input_json", string(args[1:]))
		}
		event(m{"type": "ping"})
		if !a.Unclosed {
			event(m{"type": "content_block_stop", "index": i})
		}
	}
	if a.Unclosed {
		return
	}
	event(m{"type": "message_delta", "delta": m{"stop_reason": stop},
		"usage": m{"output_tokens": a.Usage.Output}})
	event(m{"type": "message_stop"})
}

func TestErrorsOfAnAnswer(t *testing.T) {
	for body, class := range map[string]reason.ErrorClass{
		`{"type":"error","error":{"type":"overloaded_error",` +
			`"message":"Overloaded"}}`: reason.Unavailable,
		`{"type":"error","error":{"type":"rate_limit_error",` +
			`"message":"slower"}}`: reason.RateLimited,
		`{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to ` +
			`access the API."}}`: reason.Permanent,
	} {
		for _, stream := range []bool{false, true} {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if stream {
					_, _ = fmt.Fprintln(w, `data: {"type":"message_start","message":{"usage":{"input_tokens":7}}}`)
					_, _ = fmt.Fprintf(w, "event: error\ndata: %s\n\n", body)
				} else {
					_, _ = fmt.Fprint(w, body)
				}
			}))
			r := &reason.Request{}
			if stream {
				r.OnText = func(string) {}
			}
			_, err := reason.Generate(t.Context(), anthropic.New("claude", &anthropic.Options{URL: srv.URL}), r)
			srv.Close()
			var e *reason.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, class, e.Class, err)
			if stream { // what it told before was taken
				require.Equal(t, &reason.Usage{Calls: 1, Input: 7}, e.Usage)
			}
		}
	}
}

// Inputs that are no object were refused by the tool; the API refuses the whole request for them.
func TestInputsThatAreNoObject(t *testing.T) {
	var sent struct {
		Messages []struct{ Content []struct{ Input any } }
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&sent)
		fmt.Fprint(w, `{"content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`)
	}))
	defer s.Close()
	var msgs []reason.Message
	for i, in := range []string{`"{\"a\": "`, `[1]`, `null`, ``, `{"a":1}`} {
		call := reason.ToolCall{ID: fmt.Sprint(i), Name: "pay", Inputs: json.RawMessage(in)}
		msgs = append(msgs, reason.Message{Role: reason.RoleModel, Calls: []reason.ToolCall{call}},
			reason.Message{Role: reason.RoleTool, CallID: call.ID, Text: "refused"})
	}
	_, err := reason.Generate(t.Context(), anthropic.New("claude", &anthropic.Options{URL: s.URL, Key: "k"}),
		&reason.Request{Messages: msgs})
	require.NoError(t, err)
	var got []any
	for i := 0; i < len(sent.Messages); i += 2 {
		got = append(got, sent.Messages[i].Content[0].Input)
	}
	require.Equal(t, []any{m{"arguments": `"{\"a\": "`}, m{"arguments": "[1]"}, m{"arguments": "null"},
		m{"arguments": ""}, m{"a": 1.}}, got)
}

// An endpoint that cannot stream, such as a gateway, answers with the one object all the same. It is paid for.
func TestNoStream(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "\n "+`{"type":"message","content":[{"type":"text","text":"yes"},`+
			`{"type":"tool_use","id":"1","name":"look","input":{}}],"stop_reason":"tool_use"}`)
	}))
	defer srv.Close()
	told := ""
	resp, err := reason.Generate(t.Context(), anthropic.New("claude", &anthropic.Options{URL: srv.URL}),
		&reason.Request{OnText: func(text string) { told += text }})
	require.NoError(t, err)
	require.Equal(t, []string{"yes", "yes", "look"}, []string{told, resp.Text, resp.Calls[0].Name})
}

// Figures that are none are unknown; the answer is an answer.
func TestOddUsage(t *testing.T) {
	for _, odd := range []string{`"none"`, `[]`, `{"%s":"12"}`, `{"%s":1.5}`, `{"%s":-1}`, `{"%s":1e40}`} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"type":"message","content":[{"type":"text","text":"yes"}],`+
				`"stop_reason":"end_turn","usage":`+strings.ReplaceAll(odd, "%s", "input_tokens")+"}")
		}))
		resp, err := reason.Generate(t.Context(), anthropic.New("claude", &anthropic.Options{URL: srv.URL}),
			&reason.Request{})
		srv.Close()
		require.NoError(t, err, odd)
		require.Equal(t, "yes", resp.Text)
		require.Nil(t, resp.Usage, odd)
	}
}

// A connection that breaks is an outage, wherever in a line; what was told until then was taken.
func TestCutInALine(t *testing.T) {
	for _, end := range []any{nil, http.ErrAbortHandler} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, `data: {"type":"message_start","message":{"usage":{"input_tokens":7}}}`+"\n\n"+
				`data: {"type":"content_block_st`)
			_ = http.NewResponseController(w).Flush()
			if end != nil {
				panic(end)
			}
		}))
		_, err := reason.Generate(t.Context(), anthropic.New("claude", &anthropic.Options{URL: srv.URL}),
			&reason.Request{OnText: func(string) {}})
		srv.Close()
		var e *reason.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, reason.Unavailable, e.Class, err)
		require.Equal(t, &reason.Usage{Calls: 1, Input: 7}, e.Usage)
	}
}
