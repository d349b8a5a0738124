package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/model"
)

var update = flag.Bool("update", false, "write testdata anew")

// talk runs the lines over a memory in dir and returns what is on the screen.
func talk(t *testing.T, dir string, m reason.Model, lines ...string) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, run(dir, m, strings.NewReader(strings.Join(lines, "\n")), &out, true, nil))
	return out.String()
}

// converse has the conversation of testdata/transcript.txt, in two runs.
func converse(t *testing.T, m reason.Model) string {
	t.Helper()
	dir := t.TempDir()
	return talk(t, dir, m,
		"hello",
		"remember I live in Lisbon with two cats",
		"What is the capital of Australia?",
		"/wrong It is Canberra.",
	) + "---- the second run ----\n" + talk(t, dir, m,
		"Where do I live?",
		"/why",
		"tell me, what is the capital of Australia?",
		"/why",
		"/notes",
		"/forget 2",
		"What is the capital of Australia?",
		"/quit",
	)
}

// The second run knows what the first was told, and does not say again what
// was wrong, although the model would.
func TestTranscript(t *testing.T) {
	t.Parallel()
	var calls bytes.Buffer
	got := converse(t, model.Record(script{}, &calls, recording))
	for name, data := range map[string][]byte{"transcript.txt": []byte(got), "calls.jsonl": calls.Bytes()} {
		path := filepath.Join("testdata", name)
		if *update {
			require.NoError(t, os.WriteFile(path, data, 0o600))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), string(data), name)
	}
	for line := range strings.Lines(got) {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 80+1)
	}
}

// The recorded model leads to the same conversation in a memory of its own, and
// has no answer to what was not asked.
func TestReplay(t *testing.T) {
	t.Parallel()
	m, who, err := dial("", filepath.Join("testdata", "calls.jsonl"))
	require.NoError(t, err)
	require.Equal(t, "a recording", who)
	want, err := os.ReadFile(filepath.Join("testdata", "transcript.txt"))
	require.NoError(t, err)
	require.Equal(t, string(want), converse(t, m))
	require.Contains(t, talk(t, "", m, "hello again"), "the recording has no answer to this)")
	_, _, err = dial("", filepath.Join("testdata", "transcript.txt"))
	require.ErrorContains(t, err, "not a file of recorded calls")
}

func TestCommandsSayWhatTheyNeed(t *testing.T) {
	t.Parallel()
	got := talk(t, "", script{}, "", "/why", "/notes", "/wrong", "/remember", "/forget", "/forget 7", "/what",
		"remember the key is sk-proj-arcTest7Qm2Zx9Lw4Rk8Vt3Nb6Yc1Hd5Jf0Gs", "/notes", "hello", "/why", "/wrong", "/quit", "not read")
	for _, want := range []string{
		"nothing was said yet", "nothing is kept", "say /wrong and what is right", "remember what?", "give the numbers", "/quit           as",
		"fact: the key is [REDACTED:openai_key", "nothing that is kept has to do with it",
	} {
		require.Contains(t, got, want)
	}
	require.NotContains(t, got, "not read")
}

// server speaks as much of OpenAI's protocol as the chat needs, and keeps what
// it is asked.
type server struct {
	mu    sync.Mutex
	asked []string
	reply func(w http.ResponseWriter, flush func())
}

func (s *server) start(t *testing.T) *endpoint {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer key" || !json.Valid(body) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		s.asked = append(s.asked, string(body))
		s.mu.Unlock()
		s.reply(w, func() { _ = http.NewResponseController(w).Flush() })
	}))
	t.Cleanup(srv.Close)
	return &endpoint{base: srv.URL + "/v1/", key: "key", model: "m"}
}

func event(text, finish string) string {
	data, err := json.Marshal(map[string]any{"model": "m-1", "choices": []any{map[string]any{"delta": map[string]string{"content": text}, "finish_reason": finish}}})
	if err != nil {
		panic(err) // texts are always encoded
	}
	return "data: " + string(data) + "\n\n"
}

func TestChatOverAnEndpoint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	talk(t, dir, script{}, "remember that my cats are Ada and Grace")
	s := &server{reply: func(w http.ResponseWriter, flush func()) {
		fmt.Fprint(w, ": a comment\n\n"+event("Your cats are ", ""))
		flush()
		fmt.Fprint(w, event("Ada and Grace\x1b[31m.", "")+event("", "stop")+"data: [DONE]\n\n")
	}}
	got := talk(t, dir, s.start(t), "what are my cats called?", "/why")
	require.Contains(t, got, "Your cats are Ada and Grace[31m.\n", "no escape sequence reaches the terminal")
	require.Contains(t, got, "shown to the model")
	require.Len(t, s.asked, 1)
	require.Contains(t, s.asked[0], "my cats are Ada and Grace")
	require.NotContains(t, s.asked[0], "that my cats")
	require.Contains(t, s.asked[0], `"stream":true`)

	s.reply = func(w http.ResponseWriter, _ func()) { w.WriteHeader(http.StatusUnauthorized) }
	require.Contains(t, talk(t, dir, s.start(t), "and now?"), "(no answer: ")
}

func TestStreamErrors(t *testing.T) {
	t.Parallel()
	req := &reason.Request{System: "s", Messages: []reason.Message{{Role: "user", Text: "u"}}}
	for name, c := range map[string]struct {
		reply func(w http.ResponseWriter, flush func())
		again bool
		after time.Duration
	}{
		"rate limit": {func(w http.ResponseWriter, _ func()) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		}, true, 7 * time.Second},
		"overloaded": {func(w http.ResponseWriter, _ func()) { w.WriteHeader(http.StatusServiceUnavailable) }, true, 0},
		"no such":    {func(w http.ResponseWriter, _ func()) { w.WriteHeader(http.StatusNotFound) }, false, 0},
		"cut":        {func(w http.ResponseWriter, _ func()) { fmt.Fprint(w, event("half", "")) }, true, 0},
		"damaged":    {func(w http.ResponseWriter, _ func()) { fmt.Fprint(w, "data: {\n\n") }, true, 0},
		"error": {func(w http.ResponseWriter, _ func()) {
			fmt.Fprint(w, `data: {"error":{"message":"it broke"}}`+"\n\n")
		}, true, 0},
	} {
		_, err := reason.Generate(t.Context(), (&server{reply: c.reply}).start(t), req)
		again, after := reason.Retryable(err)
		require.Equal(t, c.again, again, "%s: %v", name, err)
		require.Equal(t, c.after, after, name)
		require.NotContains(t, err.Error(), "key")
	}
	s := &server{reply: func(w http.ResponseWriter, _ func()) { fmt.Fprint(w, event("a", "")+event("b", "length")) }}
	resp, err := reason.Generate(t.Context(), s.start(t), req)
	require.NoError(t, err)
	require.Equal(t, "ab", resp.Text)
	require.Equal(t, reason.StopLength, resp.Stop)
}

// An interrupt stops the answer, and at the prompt the program.
func TestInterrupts(t *testing.T) {
	t.Parallel()
	interrupts := make(chan os.Signal)
	calls := 0
	m := reason.ModelFunc(func(ctx context.Context, _ *reason.Request) (*reason.Response, error) {
		if calls++; calls > 1 {
			return &reason.Response{Text: "still here"}, nil
		}
		interrupts <- os.Interrupt
		<-ctx.Done()
		return nil, ctx.Err()
	})
	var out bytes.Buffer
	require.NoError(t, run("", m, strings.NewReader("first\nsecond\n"), &out, true, interrupts))
	require.Equal(t, "> first\n\n(stopped)\n> second\nstill here\n> \n", out.String())

	in, keyboard := io.Pipe()
	defer keyboard.Close()
	go func() { interrupts <- os.Interrupt }()
	out.Reset()
	require.NoError(t, run("", m, in, &out, true, interrupts))
	require.Equal(t, "> \n", out.String())
}
