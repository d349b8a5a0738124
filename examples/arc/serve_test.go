package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
	"github.com/zalando/go-keyring"
)

// typed runs a command with an input.
func typed(t *testing.T, dir, input string, args ...string) (string, int) {
	var out bytes.Buffer
	s := &screen{in: strings.NewReader(input), out: &out, err: &out}
	n := commandLine(t.Context(), s, append([]string{"--dir", dir}, args...))
	return out.String(), n
}

// Where nothing was kept yet, no passphrase is asked for.
func TestNoCreds(t *testing.T) {
	keyring.MockInitWithError(os.ErrNotExist)
	t.Setenv("ARC_CREDS_FILE", filepath.Join(t.TempDir(), "creds.age"))
	t.Setenv(passwordVariable, "")
	dir := made(t, "notes")
	require.Contains(t, works(t, dir, "creds"), "none")
	out, n := command(t, dir, "creds", "get", "--service", "github", "--key", "token")
	require.Equal(t, exitError, n, out)
	require.Contains(t, out, "no credential is called github/token")
}

// Credentials are kept in the keyring, and where there is none in an encrypted file;
// neither file nor folder nor any output but that of get has a value.
func TestCreds(t *testing.T) {
	const value = "ghp-not-a-real-token-4711"
	dir := configured(t, `
workers:
  - {name: caller, run: [sh, -c, 'echo "it is $GITHUB_TOKEN"'], gates: [[sh, -c, 'test -n "$GITHUB_TOKEN"']], creds: [github/token]}
  - {name: other, run: [sh, -c, 'echo "other has [$GITHUB_TOKEN]"'], gates: [["true"]]}
plans:
  - {name: call, when: call, tasks: [{do: call, worker: caller, verify: it calls}]}
  - {name: other, when: other, tasks: [{do: other, worker: other, verify: it does}]}
`)
	name := []string{"--service", "github", "--key", "token"}
	for _, kind := range []string{"keyring", "file"} {
		t.Run(kind, func(t *testing.T) {
			keyring.MockInit()
			file := filepath.Join(t.TempDir(), "creds.age")
			t.Setenv("ARC_CREDS_FILE", file)
			if kind == "file" {
				keyring.MockInitWithError(os.ErrNotExist)
				t.Setenv(passwordVariable, "correct horse")
			}
			out, n := command(t, dir, append([]string{"creds", "get"}, name...)...)
			require.Equal(t, exitError, n, out)
			out, n = typed(t, dir, value+"\n", append([]string{"creds", "set"}, name...)...)
			require.Zero(t, n, out)
			require.NotContains(t, out, value)
			if kind == "keyring" { // opening the file takes seconds, as it should
				require.Equal(t, value+"\n", works(t, dir, append([]string{"creds", "get"}, name...)...))
				require.Equal(t, []string{"github/token"}, decoded[[]string](t, dir, "creds"))
				require.Contains(t, works(t, dir, "do", "--text", "other"), "other has []")
				works(t, dir, "creds", "unlock")
				works(t, dir, "tasks", "add", "--subject", "call with "+value)
				require.Contains(t, works(t, dir, "tasks"), "call with [REDACTED:known")
			}
			out = works(t, dir, "do", "--text", "call")
			require.Contains(t, out, "made       it is [REDACTED")
			require.NotContains(t, out, value)
			if kind == "file" {
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				require.NotContains(t, string(text), value)
				t.Setenv(passwordVariable, "wrong")
				out, n := command(t, dir, "creds", "unlock")
				require.Equal(t, exitError, n, out)
			}
			require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				text, err := os.ReadFile(path)
				require.NotContains(t, string(text), value, path)
				return err
			}))
			if kind == "keyring" {
				require.Contains(t, works(t, dir, append([]string{"creds", "delete"}, name...)...), "deleted    github/token")
				out, n := command(t, dir, append([]string{"creds", "delete"}, name...)...)
				require.Equal(t, exitError, n, out)
				require.Contains(t, works(t, dir, "creds"), "none")
			}
		})
	}
}

// Dashboard and MCP answer on one port, to who has the token; ctrl-C ends them.
func TestServe(t *testing.T) {
	dir := made(t, "notes")
	works(t, dir, "tasks", "add", "--subject", "collect the todos")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		n := commandLine(ctx, &screen{in: strings.NewReader(""), out: w, err: io.Discard}, []string{"--dir", dir, "serve", "--addr", "127.0.0.1:0"})
		w.Close()
		ended <- n
	}()
	text := make([]byte, 0, 1024)
	for !bytes.Contains(text, []byte("/mcp")) {
		var b [512]byte
		n, err := r.Read(b[:])
		require.NoError(t, err)
		text = append(text, b[:n]...)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	address := regexp.MustCompile(`http://[0-9.:]+`).FindString(string(text))
	token, err := os.ReadFile(filepath.Join(dir, ".arc", "token"))
	require.NoError(t, err)
	require.NotContains(t, string(text), strings.TrimSpace(string(token)), "a pipe may be a log")
	call := func(method, path, bearer, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, address+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if bearer != "" {
			req.Header.Set("Authorization", "Bearer "+bearer)
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(text)
	}
	hello, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"},
	}})
	require.NoError(t, err)
	n, _ := call("POST", "/mcp", "", string(hello))
	require.Equal(t, http.StatusUnauthorized, n)
	n, said := call("POST", "/mcp", strings.TrimSpace(string(token)), string(hello))
	require.Equal(t, http.StatusOK, n, said)
	_, door := call("GET", "/", "", "")
	require.NotContains(t, door, "collect the todos")
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser := &http.Client{Jar: jar}
	resp, err := browser.Get(address + "/?token=" + strings.TrimSpace(string(token)))
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	stream, err := browser.Get(address + "/stream")
	require.NoError(t, err)
	defer stream.Body.Close()
	require.Equal(t, "text/event-stream", stream.Header.Get("Content-Type"))
	out, busy := command(t, dir, "status")
	require.Equal(t, exitBusy, busy, out)
	stop()
	require.Equal(t, exitDone, <-ended)
	works(t, dir, "status")
}

// stopper ends a command with the first thing that it prints.
type stopper struct {
	bytes.Buffer
	stop func()
}

func (s *stopper) Write(p []byte) (int, error) {
	s.stop()
	return s.Buffer.Write(p)
}

// Who reads the log is told where the token is.
func TestServeSaysWhereItsTokenIs(t *testing.T) {
	dir := made(t, "notes")
	for token, where := range map[string]string{"": filepath.Join(".arc", "token"), "0123456789abcdef": "ARC_TOKEN"} {
		t.Setenv("ARC_TOKEN", token)
		ctx, stop := context.WithCancel(t.Context())
		out := &stopper{stop: stop}
		s := &screen{in: strings.NewReader(""), out: out, err: out}
		require.Equal(t, exitDone, commandLine(ctx, s, []string{"--dir", dir, "serve", "--addr", "127.0.0.1:0"}), out)
		require.Contains(t, out.String(), where+")\nmcp")
	}
}

// A service needs a program that stays, and says so.
func TestServices(t *testing.T) {
	dir := made(t, "notes")
	out, n := command(t, dir, "services", "install")
	require.Equal(t, exitUsage, n, out)
	require.Contains(t, out, "go install .")
	if out, n = command(t, dir, "services", "status"); n == exitDone {
		require.Contains(t, out, "not installed")
	}
}

func TestCompletion(t *testing.T) {
	dir := t.TempDir()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		require.Contains(t, works(t, dir, "completion", "--shell", shell), "arc __complete")
	}
	all := strings.Fields(works(t, dir, "__complete", "--"))
	parser, err := kong.New(new(commands))
	require.NoError(t, err)
	for _, c := range parser.Model.Children {
		require.Equal(t, !c.Hidden, slices.Contains(all, c.Name), c.Name)
	}
	require.Subset(t, strings.Fields(works(t, dir, "__complete", "--", "tasks")), []string{"add", "close", "--json"})
	require.Subset(t, strings.Fields(works(t, dir, "__complete", "--", "tasks", "add", "--subject")), []string{"--priority", "--cron"})
}

// Two processes that store a credential at once lose none.
func TestCredentialsOfTwoProcesses(t *testing.T) {
	t.Setenv(passwordVariable, "open sesame")
	file := filepath.Join(t.TempDir(), "creds.age")
	word := func() (string, error) { return "open sesame", nil }
	other := &vault{file, word}
	var meanwhile sync.Once
	ours := &vault{file, func() (string, error) {
		meanwhile.Do(func() { require.NoError(t, other.put("b/k", "2")) })
		return word()
	}}
	require.NoError(t, ours.put("a/k", "1"))
	names, err := other.names()
	require.NoError(t, err)
	require.Equal(t, []string{"a/k", "b/k"}, names)
}
