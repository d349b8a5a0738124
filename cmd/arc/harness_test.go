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
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/mattn/go-runewidth"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/contrib/mcp"
	"github.com/arc-learn/arc/store"
)

// TestMain has the test binary be arc itself, which tests start as a person does.
func TestMain(m *testing.M) {
	workFactor = 10
	_ = flag.Set("test.parallel", "8") // they mostly wait for processes
	switch os.Getenv("ARC_TEST_SELF") {
	case "arc":
		main()
	case "mcp":
		worker := act.Worker{Name: "nobody", Executor: act.ExecutorFunc(nil), Gates: []act.Gate{act.NoGate}}
		agent, err := arc.New(context.Background(), store.NewMem(), arc.Host{Workers: []act.Worker{worker}}, nil)
		if err == nil {
			err = mcp.Serve(context.Background(), agent, os.Stdin, os.Stdout, nil)
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// shell is a folder, and how a person has arc in it. Every command is a process of its own.
type shell struct {
	t      *testing.T
	dir    string
	env    []string
	width  int  // of the terminal; 0: there is none, as in a cron job
	piped  bool // the result goes into a pipe, as in arc runs | grep
	served bool // arc serve runs besides
}

func newShell(t *testing.T, config string) *shell {
	t.Helper()
	t.Parallel()
	s := &shell{t: t, dir: t.TempDir(), env: []string{"ARC_TEST_SELF=arc", "ARC_DIR=", "ARC_TASK=", "TERM=xterm",
		"NO_COLOR=", "FAKE_KEY=fake-key-0123456789"}}
	if config != "" {
		s.write("arc.yaml", config)
	}
	return s
}

// everywhere runs a test alone and beside arc serve, on a terminal and into a pipe, with 80 columns and with
// 200.
func everywhere(t *testing.T, test func(s *shell)) {
	for _, width := range []int{80, 200} {
		for i, name := range []string{"terminal", "pipe", "terminal, served", "pipe, served"} {
			t.Run(fmt.Sprintf("%s, %d", name, width), func(t *testing.T) {
				s := newShell(t, "")
				s.width, s.piped, s.served = width, i%2 == 1, i > 1
				test(s)
			})
		}
	}
}

// beside runs a test alone and beside arc serve, on a terminal of 80 columns.
func beside(t *testing.T, test func(s *shell)) {
	for _, served := range []bool{false, true} {
		t.Run(fmt.Sprint("served=", served), func(t *testing.T) {
			s := newShell(t, "")
			s.width, s.served = 80, served
			test(s)
		})
	}
}

func (s *shell) path(name string) string { return filepath.Join(s.dir, name) }

func (s *shell) write(name, text string) {
	s.t.Helper()
	require.NoError(s.t, os.MkdirAll(filepath.Dir(s.path(name)), 0o755))
	require.NoError(s.t, os.WriteFile(s.path(name), []byte(text), 0o755))
}

func (s *shell) read(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(s.path(name))
	require.NoError(s.t, err)
	return string(data)
}

// git runs git in the folder.
func (s *shell) git(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"},
		args...)...)
	cmd.Dir = s.dir
	out, err := cmd.CombinedOutput()
	require.NoError(s.t, err, string(out))
	return string(out)
}

// buffer is what a process has printed so far.
type buffer struct {
	mu   sync.Mutex
	text []byte
	more chan struct{} // closed when there is more
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	if b.more != nil {
		close(b.more)
		b.more = nil
	}
	return len(p), nil
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}

// wait returns what stands there, and is told of more.
func (b *buffer) wait() (string, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.more == nil {
		b.more = make(chan struct{})
	}
	return string(b.text), b.more
}

const patience = 30 * time.Second // a test fails that waits so long

// process is a command under way.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	keys *os.File // what a person types goes here; nil: there is no terminal
	out  *buffer  // the result
	err  *buffer  // the rest; the same buffer where both are on the terminal
	end  chan struct{}
}

// start begins a command.
func (s *shell) start(args ...string) *process {
	s.t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.dir, append(os.Environ(), s.env...), 5*time.Second
	p := &process{t: s.t, cmd: cmd, out: &buffer{}, err: &buffer{}, end: make(chan struct{})}
	read := make(chan struct{})
	if s.width == 0 {
		cmd.Stdout, cmd.Stderr = p.out, p.err
		require.NoError(s.t, cmd.Start())
		close(read)
	} else {
		if p.out = p.err; s.piped {
			p.out = &buffer{}
			cmd.Stdout = p.out
		}
		var err error
		p.keys, err = pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: uint16(s.width)})
		require.NoError(s.t, err)
		go func() {
			defer close(read)
			_, _ = io.Copy(p.err, p.keys) // ends with an error when nobody has the terminal any more
		}()
	}
	go func() {
		_ = cmd.Wait() // its code is read
		<-read
		close(p.end)
	}()
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has mostly ended
		<-p.end
		if p.keys != nil {
			p.keys.Close()
		}
	})
	return p
}

// until waits for something to be printed, and returns what the parentheses in the pattern stand for.
func (p *process) until(pattern string) string {
	p.t.Helper()
	re, late := regexp.MustCompile(pattern), time.After(patience)
	for {
		text, more := p.err.wait()
		result, also := p.out.wait()
		if m := re.FindStringSubmatch(plain(text + "\n" + result)); m != nil {
			return m[len(m)-1]
		}
		select {
		case <-more:
		case <-also:
		case <-p.end:
			if more, _ := p.err.wait(); !re.MatchString(plain(more + "\n" + p.out.String())) {
				require.Fail(p.t, "it has ended without "+pattern, more+p.out.String())
			}
		case <-late:
			require.Fail(p.t, "it does not say "+pattern, text+result)
		}
	}
}

// types is a person at the keyboard.
func (p *process) types(text string) {
	p.t.Helper()
	_, err := io.WriteString(p.keys, text)
	require.NoError(p.t, err)
}

// interrupt is Ctrl-C on a terminal, which reaches the whole group of processes.
func (p *process) interrupt() {
	p.t.Helper()
	if p.keys != nil {
		p.types("\x03")
		return
	}
	require.NoError(p.t, p.cmd.Process.Signal(os.Interrupt))
}

// code waits for the end, and returns the exit code.
func (p *process) code() int {
	p.t.Helper()
	select {
	case <-p.end:
	case <-time.After(patience):
		_ = p.cmd.Process.Signal(syscall.SIGQUIT) // has it say where it hangs
		require.Fail(p.t, "it does not end: "+strings.Join(p.cmd.Args[1:], " "), p.err.String())
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) text() string {
	if p.out == p.err {
		return p.out.String()
	}
	return p.out.String() + p.err.String()
}

// arc executes a command and returns what it printed and its exit code.
func (s *shell) arc(args ...string) (out, errs string, code int) {
	s.t.Helper()
	p := s.start(args...)
	code = p.code()
	require.NotContains(s.t, p.text(), "goroutine ", "it panics")
	if s.piped || s.width == 0 {
		require.NotContains(s.t, p.out.String(), "\x1b", "what goes into a pipe has no colours")
	}
	return plain(p.out.String()), plain(p.err.String()), code
}

// ok is a command that must succeed, and returns what it printed, errors and all.
func (s *shell) ok(args ...string) string {
	s.t.Helper()
	out, errs, code := s.arc(args...)
	require.Zero(s.t, code, "arc %s\n%s%s", strings.Join(args, " "), out, errs)
	if s.width > 0 && !s.piped {
		return out
	}
	return out + errs
}

// fails is a command that must end with a code, and say something.
func (s *shell) fails(code int, says string, args ...string) {
	s.t.Helper()
	out, errs, got := s.arc(args...)
	require.Equal(s.t, code, got, "arc %s\n%s%s", strings.Join(args, " "), out, errs)
	require.Regexp(s.t, says, out+errs)
}

// serve has a process serve the folder until the test ends.
func (s *shell) serve(args ...string) *process {
	s.t.Helper()
	bare := *s
	bare.width = 0
	p := bare.start(append([]string{"serve"}, args...)...)
	p.until("serving ")
	s.t.Cleanup(func() {
		p.interrupt()
		require.Zero(s.t, p.code(), p.text())
	})
	return p
}

var escapes = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`)

// plain is what is read on a terminal: without colours, and with lines that were written over as lines.
func plain(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(escapes.ReplaceAllString(text, ""), "\r\n", "\n"), "\r", "\n")
}

// fits fails for a line that is wider than the terminal.
func (s *shell) fits(text, where string) {
	s.t.Helper()
	for line := range strings.Lines(text) {
		if s.width > 0 && !strings.Contains(line, s.dir) {
			require.LessOrEqual(s.t, runewidth.StringWidth(strings.TrimPrefix(strings.TrimSpace(line), "^C")), s.width,
				"%s: %s", where, line)
		}
	}
}

// asked is a call of a model.
type asked struct {
	http.ResponseWriter
	*http.Request
	Model  string // that is asked
	Prompt string // all messages, as JSON
	After  string // whose message is the last: "user" or "tool"
}

// raw is an answer as it is, with a status of HTTP.
type raw struct {
	status int
	text   string
}

// model is an endpoint of the OpenAI protocol that answers as a function says: a string; a tool's call; or a
// raw answer. Nil: the connection ends in the middle of it.
func model(t *testing.T, answer func(a asked) any) (config string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.Path == "/v1/models" {
			fmt.Fprint(w, `{"data":[{"id":"fake"},{"id":"large"}]}`)
			return
		}
		var body struct {
			Model    string
			Messages []struct {
				Role    string
				Content any
			}
		}
		if json.NewDecoder(r.Body).Decode(&body) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		text, _ := json.Marshal(body.Messages)
		message := map[string]any{"role": "assistant"}
		switch a := answer(asked{w, r, body.Model, string(text), body.Messages[len(body.Messages)-1].Role}).(type) {
		case raw:
			w.WriteHeader(a.status)
			fmt.Fprint(w, a.text)
			return
		case string:
			message["content"] = a
		case map[string]any:
			args, _ := json.Marshal(a["inputs"])
			message["tool_calls"] = []any{map[string]any{"index": 0, "id": "c1", "type": "function",
				"function": map[string]any{"name": a["tool"], "arguments": string(args)}}}
		case nil:
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, part := range []any{
			map[string]any{"choices": []any{map[string]any{"index": 0, "delta": message}}},
			map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{},
				"finish_reason": "stop"}}},
			map[string]any{"choices": []any{}, "usage": map[string]any{"prompt_tokens": 1000,
				"completion_tokens": 100}},
		} {
			raw, _ := json.Marshal(part)
			fmt.Fprintf(w, "data: %s\n\n", bytes.TrimSpace(raw))
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	return "model: fake\nmodels:\n  fake: {url: " + server.URL +
		"/v1, key: FAKE_KEY, price: {input: 1, output: 4}}\n" +
		"  large: {url: '" + server.URL + "/v1?v=1', key: FAKE_KEY, price: {input: 10, output: 40}}\n"
}

// never answers until who has asked is gone.
func (a asked) never() any {
	<-a.Context().Done()
	return nil
}

func tool(name string, inputs any) map[string]any {
	return map[string]any{"tool": name, "inputs": inputs}
}
