package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason"
)

// command runs a command in a folder, with its output in a pipe.
func command(t *testing.T, dir string, args ...string) (string, int) {
	var out bytes.Buffer
	s := &screen{in: strings.NewReader(""), out: &out, err: &out}
	n := commandLine(t.Context(), s, append([]string{"--dir", dir}, args...))
	return out.String(), n
}

// works runs a command that has to succeed.
func works(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, n := command(t, dir, args...)
	require.Zero(t, n, "%v: %s", args, out)
	return out
}

func plainText(text string) string {
	return regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(text, "")
}

// Each template delivers what it tries, without a model, in ten lines, and the second
// time without a plan being asked for.
func TestTemplates(t *testing.T) {
	for _, template := range []string{"notes", "keeper", "desk"} {
		t.Run(template, func(t *testing.T) {
			dir := t.TempDir()
			lines := strings.Count(works(t, dir, "init", "--template", template), "\n")
			first := works(t, dir, "do")
			require.LessOrEqual(t, lines+strings.Count(first, "\n"), 10, first)
			require.Contains(t, first, "planner asked 1 time")
			second := works(t, dir, "do")
			require.Contains(t, second, "DELIVERED  1 attempt, planner asked 0 times")
			require.Contains(t, second, "fired")
			require.NotContains(t, works(t, dir, "memory"), " Case ")
			text, err := os.ReadFile(filepath.Join(dir, "arc.yaml"))
			require.NoError(t, err)
			text = bytes.Replace(text, []byte("    blast:"), []byte("    mode: notification\n    blast:"), 1)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "arc.yaml"), text, 0o600))
			require.Contains(t, works(t, dir, "do"), "(its mode is notification)")
			out, n := command(t, dir, "init")
			require.Equal(t, exitUsage, n, out)
		})
	}
}

// The example of an objective that has inputs.
func TestInputs(t *testing.T) {
	dir := made(t, "notes")
	works(t, dir, "do", "--text", "note: buy $(milk) && `bread`")
	works(t, dir, "do", "--text", "write down call ada")
	text, err := os.ReadFile(filepath.Join(dir, "notes", "inbox.md"))
	require.NoError(t, err)
	require.Equal(t, "- buy $(milk) && `bread`\n- call ada\n", string(text))
}

// provider is a scripted server of OpenAI's protocol.
func provider(t *testing.T, answers ...string) (url string, asked *atomic.Int32, last *atomic.Value) {
	asked, last = new(atomic.Int32), new(atomic.Value)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body json.RawMessage
		if json.NewDecoder(r.Body).Decode(&body) == nil {
			last.Store(string(body))
		}
		n := int(asked.Add(1))
		if n > len(answers) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		text, err := json.Marshal(answers[n-1])
		if err == nil {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"id":"1","object":"chat.completion","model":"test","choices":[{"index":0,"finish_reason":"stop",
				"message":{"role":"assistant","content":%s}}],"usage":{"prompt_tokens":900,"completion_tokens":40,"total_tokens":940}}`, text)
		}
	}))
	t.Cleanup(web.Close)
	return web.URL, asked, last
}

// A model plans by one line of arc.yaml. It is told SOUL.md and MEMORY.md, and is not
// asked again for what it knew before.
func TestModel(t *testing.T) {
	dir := made(t, "notes")
	url, asked, last := provider(t, `{"thought":"t","complexity":"simple","approach":"let the collector do it",
		"tasks":[{"objective":"collect what is open","verify":"todo.md has every TODO","skill":"todos"}]}`)
	file := filepath.Join(dir, "arc.yaml")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	text = bytes.Replace(text, []byte("\ntry:"), []byte("\nmodel: openai test "+url+"\ntry:"), 1)
	require.NoError(t, os.WriteFile(file, text, 0o600))
	first := works(t, dir, "do", "--text", "what is left to do?")
	require.Contains(t, first, "decided    let the collector do it (asked: openai test")
	require.Contains(t, first, "900+40 tokens")
	require.Contains(t, last.Load(), "I keep one person's notes in order")
	require.Contains(t, last.Load(), "Notes are in notes/, one file for each subject.")
	second := works(t, dir, "do", "--text", "what is left to do?")
	require.Contains(t, second, "planner asked 0 times")
	require.EqualValues(t, 1, asked.Load())
}

// OLLAMA_HOST is as Ollama itself takes it: without a scheme.
func TestOllamaHost(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"message":{"content":"yes"},"done":true}`)
	}))
	defer server.Close()
	c := &config{Model: "ollama qwen3"}
	for _, host := range []string{server.URL, server.Listener.Addr().String()} {
		t.Setenv("OLLAMA_HOST", host)
		m, err := c.dial(nil)
		require.NoError(t, err, host)
		said, err := m.Generate(t.Context(), &reason.Request{})
		require.NoError(t, err, host)
		require.Equal(t, "yes", said.Text)
	}
	t.Setenv("OLLAMA_HOST", "0.0.0.0")
	_, err := c.dial(nil)
	require.NoError(t, err)
}

// A budget in dollars binds a model by its price, and is refused without one.
func TestModelWithABudget(t *testing.T) {
	url, _, _ := provider(t, `{"thought":"t","complexity":"simple","approach":"let the collector do it",
		"tasks":[{"objective":"collect what is open","verify":"todo.md has every TODO","skill":"todos"}]}`)
	dir := made(t, "notes")
	file := filepath.Join(dir, "arc.yaml")
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	for price, want := range map[string]int{
		"": exitUsage, "\nprice: {input: 3}": exitUsage, "\nprice: {in: 1000, out: 2500}": exitBlocked,
	} {
		text := bytes.Replace(whole, []byte("\ntry:"), []byte("\nmodel: openai test "+url+"\nbudget: {run: 0.5}"+price+"\ntry:"), 1)
		require.NoError(t, os.WriteFile(file, text, 0o600))
		out, n := command(t, dir, "do", "--text", "what is left to do?")
		require.Equal(t, want, n, out)
		if want == exitBlocked {
			require.Contains(t, out, "budget of $0.5 is spent")
		}
	}
}

func TestUsage(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{{"do"}, {"do", "--no-such-flag"}, {"no-such-command"}, {"do", "positional"}} {
		out, n := command(t, dir, args...)
		require.Equal(t, exitUsage, n, out)
	}
	out, _ := command(t, dir, "do", "positional")
	require.Contains(t, out, "arc do --help")
	require.Regexp(t, `^arc .*, built by go1\.`, works(t, dir, "--version"))
	out, n := command(t, dir, "do", "--help")
	require.Zero(t, n)
	require.Contains(t, out, "Example: arc do")
	for text, want := range map[string]string{
		"worker: []": "field worker not found", "plans: [{when: '('}]": "missing closing )",
		"workers: [{name: x, run: [x]}]": "no gates", "model: x": "PROVIDER NAME", "model: x y": "no provider",
		"workers: [{name: x, run: [x], gates: [[x]], blast: far}]": "none of self",
		"workers: [{name: x, run: [x], gates: [[x]], mode: odd}]":  "no mode",
	} {
		out, n := command(t, configured(t, text), "do", "--text", "x")
		require.Equal(t, exitUsage, n, out)
		require.Contains(t, out, want)
	}
}
