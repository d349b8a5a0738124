package mcp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

var inspector = flag.String("inspector", "", "the inspector's command, for TestInspector; .ci/run installs it")

var built string // the directory of the binary, if it was built

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "arc-mcp")
	if err != nil {
		return "", err
	}
	built = dir
	bin := filepath.Join(dir, "arc-mcp")
	out, err := exec.Command("go", "build", "-o", bin, "./cmd/arc-mcp").CombinedOutput()
	if err != nil {
		return "", &exec.Error{Name: string(out), Err: err}
	}
	return bin, nil
})

// binary builds arc-mcp, once.
func binary(t testing.TB) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs SIGTERM")
	}
	bin, err := build()
	require.NoError(t, err)
	return bin
}

// running starts arc-mcp on HTTP, and returns its address.
func running(t testing.TB, dir string) string {
	t.Helper()
	cmd := exec.Command(binary(t), "-dir", dir, "-scope", "me", "-http", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "ARC_MCP_TOKEN="+token)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stderr)
	require.True(t, lines.Scan())
	_, url, ok := strings.Cut(lines.Text(), " on ")
	require.True(t, ok, lines.Text())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		for lines.Scan() {
			t.Error("in the log: ", lines.Text())
		}
		require.NoError(t, cmd.Wait(), "it ends well")
	})
	return url
}

// tour calls every tool, as a client that knows only what it was answered.
func tour(t testing.TB, call func(tool string, args map[string]any) (text string, content map[string]any, isError bool)) {
	t.Helper()
	called := map[string]bool{}
	do := func(tool string, args map[string]any) map[string]any {
		t.Helper()
		text, content, isError := call(tool, args)
		require.False(t, isError, "%s: %s", tool, text)
		require.NotEmpty(t, text)
		require.NoError(t, noNull(tool, content))
		called[tool] = true
		return content
	}
	kept := do("remember", map[string]any{"content": "use the staging mirror", "kind": "pattern", "trigger": "npm install times out", "key": "k1"})
	require.Equal(t, "stored", kept["disposition"])
	found := do("recall", map[string]any{"query": "npm times out", "limit": 3, "kinds": []string{"pattern"}})["memories"].([]any)
	require.Len(t, found, 1)
	require.Equal(t, kept["id"], found[0].(map[string]any)["id"])
	fb := do("feedback", map[string]any{"key": "t1", "injected": []any{kept["id"]}, "utilized": []any{kept["id"]}, "delivered": true})
	require.EqualValues(t, 1, fb["counted"])
	require.EqualValues(t, 1, do("health", nil)["total"])
	require.Equal(t, "no_data", do("assess", map[string]any{"session": "monday"})["state"])

	fact := do("update_identity", map[string]any{"content": "prefers tabs", "category": "preference"})["fact"].(map[string]any)
	require.Equal(t, true, do("validate_fact", map[string]any{"id": fact["id"], "reason": "said so"})["counted"])
	require.Len(t, do("get_identity", nil)["facts"], 1)
	require.Contains(t, do("context", map[string]any{"task": "which indent: tabs?", "tokens": 500})["text"], "prefers tabs")
	require.EqualValues(t, 1, do("add_context", map[string]any{"topic": "Rust", "kind": "chat"})["added"])
	require.Len(t, do("get_recent_context", map[string]any{"limit": 5})["events"], 1)
	require.Empty(t, do("infer", map[string]any{"lookback_days": 7})["suggestions"])
	rejected := do("reject_fact", map[string]any{"id": fact["id"], "reason": "no more"})["fact"].(map[string]any)
	require.Equal(t, true, rejected["rejected"])

	require.Equal(t, true, do("explain", map[string]any{"query": "npm times out", "id": kept["id"]})["returned"])
	require.Empty(t, do("runs", nil)["runs"])
	require.Len(t, do("rank", map[string]any{"task": "mend the cache"})["workers"], 1)
	require.Equal(t, true, do("forget", map[string]any{"id": kept["id"]})["done"])
	for tool, args := range map[string]map[string]any{
		"trust": {"id": kept["id"]}, "judge": {"run": "r", "right": true}, "chunk": {"session": "s"},
		"costs": {}, "confidence": {},
	} {
		text, _, isError := call(tool, args)
		require.True(t, isError, tool)
		require.Contains(t, text, "operator")
		called[tool] = true
	}

	text, _, isError := call("think", map[string]any{"objective": "mend the cache"})
	require.True(t, isError)
	require.Contains(t, text, "no reasoner")
	called["think"] = true
	for _, name := range tools {
		require.True(t, called[name], name)
	}
}

func byClient(t testing.TB, s *sdk.ClientSession) func(string, map[string]any) (string, map[string]any, bool) {
	return func(tool string, args map[string]any) (string, map[string]any, bool) {
		t.Helper()
		res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
		require.NoError(t, err)
		content, _ := res.StructuredContent.(map[string]any)
		return said(res), content, res.IsError
	}
}

func TestBinaryOnStandardStreams(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	home := t.TempDir()
	cmd := exec.Command(binary(t), "-dir", "~/.arc", "-scope", "me") // there is no shell
	cmd.Env = append(os.Environ(), "HOME="+home)
	cmd.Stderr = &log
	s, err := client().Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	require.NoError(t, err)
	list, err := s.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list.Tools, len(tools))
	tour(t, byClient(t, s))
	require.NoError(t, s.Close())
	require.Zero(t, cmd.ProcessState.ExitCode())
	require.Empty(t, log.String())
	require.DirExists(t, filepath.Join(home, ".arc"))
}

func TestBinaryOverHTTP(t *testing.T) {
	t.Parallel()
	url := running(t, t.TempDir())
	for _, wrong := range []string{"", "wrong"} {
		_, err := dial(t, url, wrong)
		require.ErrorContains(t, err, "Unauthorized")
	}
	s, err := dial(t, url, token)
	require.NoError(t, err)
	tour(t, byClient(t, s))
	require.NoError(t, s.Close())
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func TestBinaryRefusesToStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		args, token, says string
	}{
		{"", "", "-dir is missing"},
		{"-dir " + dir + " -http 127.0.0.1:0", "", "HTTP needs a token"},
		{"-dir " + dir + " -http 127.0.0.1:0", "  ", "HTTP needs a token"},
		{"-dir " + dir + " -http 127.0.0.1:0", "hunter2", "7 bytes, of at least 16"},
		{"-dir " + dir + " -http :0", token, "-cert and -key"},
		{"-dir " + dir + " -http 0.0.0.0:0", token, "-cert and -key"},
		{"-dir " + dir + " -http 0.0.0.0:0 -cert x -key y", token, "-hosts"},
		{"-dir " + dir + " -http nowhere", token, "-http"},
		{"-dir " + dir + " -cert x", "", "go together"},
		{"-dir " + dir + " -hosts x", "", "go with -http"},
		{"-dir " + dir + " -scope /", "", "scope"},
		{"-dir " + dir + " more", "", "more"},
	} {
		cmd := exec.Command(binary(t), strings.Fields(c.args)...)
		cmd.Env = append(os.Environ(), "ARC_MCP_TOKEN="+c.token)
		out, err := cmd.CombinedOutput()
		require.Error(t, err, c.args)
		require.Contains(t, string(out), c.says, c.args)
	}
}

// A directory that another process has open is not served over HTTP, and why is said.
func TestBinaryOfADirectoryInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	running(t, dir)
	cmd := exec.Command(binary(t), "-dir", dir, "-http", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "ARC_MCP_TOKEN="+token)
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "has to be the one that has the directory open")
}

// An independent client, the inspector's command line: every tool, over both
// transports, with and without the token.
func TestInspector(t *testing.T) {
	if *inspector == "" {
		t.Skip("-inspector is not set")
	}
	home := t.TempDir()
	inspect := func(args ...string) (string, int) {
		cmd := exec.Command("node", append([]string{*inspector, "--cli"}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+home)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		if cmd.ProcessState == nil {
			require.NoError(t, err)
		}
		return stdout.String() + stderr.String(), cmd.ProcessState.ExitCode()
	}
	url := running(t, t.TempDir())
	over := []string{"--transport", "http", "--server-url", url, "--stored-auth-only"}
	authorized := append(over[:len(over):len(over)], "--header", "Authorization: Bearer "+token)
	for name, target := range map[string][]string{
		"stdio": {binary(t), "-dir", t.TempDir(), "-scope", "me"},
		"http":  authorized,
	} {
		t.Run(name, func(t *testing.T) {
			with := func(args ...string) (string, int) { return inspect(append(args, target...)...) }
			if name == "stdio" { // what follows -- is the server's
				with = func(args ...string) (string, int) { return inspect(append(append(args, "--"), target...)...) }
			}
			out, code := with("--method", "tools/list")
			require.Zero(t, code, out)
			var list struct{ Tools []struct{ Name string } }
			require.NoError(t, json.Unmarshal([]byte(out), &list), out)
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
			}
			require.Equal(t, tools, names)
			t.Logf("%s: tools/list: %s", name, strings.Join(names, " "))
			tour(t, func(tool string, args map[string]any) (string, map[string]any, bool) {
				call := []string{"--method", "tools/call", "--tool-name", tool}
				for k, v := range args {
					if _, ok := v.(string); !ok {
						v = strings.TrimSpace(js(v))
					}
					call = append(call, "--tool-arg", k+"="+v.(string))
				}
				out, _ := with(call...)
				var res struct {
					Content           []struct{ Text string }
					StructuredContent map[string]any
					IsError           bool
				}
				require.NoError(t, json.NewDecoder(strings.NewReader(out)).Decode(&res), "%s: %s", tool, out)
				require.NotEmpty(t, res.Content, out)
				t.Logf("%s: %s: error %v: %.200s", name, tool, res.IsError, strings.TrimSpace(js(res.StructuredContent)))
				return res.Content[0].Text, res.StructuredContent, res.IsError
			})
		})
	}
	for name, header := range map[string][]string{"no token": nil, "a wrong token": {"--header", "Authorization: Bearer wrong"}} {
		for _, method := range [][]string{{"--method", "tools/list"}, {"--method", "tools/call", "--tool-name", "health"}} {
			out, code := inspect(append(append(method, over...), header...)...)
			require.NotZero(t, code, out)
			require.Contains(t, out, "auth_required")
			require.NotContains(t, out, "structuredContent")
			t.Logf("http with %s: %s: exit %d: %s", name, method[1], code, strings.TrimSpace(out))
		}
	}
}
