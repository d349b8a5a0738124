package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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
	"github.com/stretchr/testify/require"

	arc "github.com/arc-learn/arc/next"
	"github.com/arc-learn/arc/next/act"
	"github.com/arc-learn/arc/next/contrib/console"
	"github.com/arc-learn/arc/next/contrib/mcp"
	"github.com/arc-learn/arc/next/store"
)

// TestMain has the test binary be arc itself, for tests that start it.
func TestMain(m *testing.M) {
	workFactor = 10
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

// shell executes commands in a folder, as processes do: in this process, each with a screen of its own.
type shell struct {
	t     *testing.T
	dir   string
	width int
	says  []string // what the person types
}

func newShell(t *testing.T, config string) *shell {
	t.Helper()
	s := &shell{t: t, dir: t.TempDir(), width: 80}
	t.Setenv("ARC_DIR", "")
	if config != "" {
		s.write("arc.yaml", config)
	}
	return s
}

func (s *shell) write(name, text string) {
	file := filepath.Join(s.dir, name)
	require.NoError(s.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(s.t, os.WriteFile(file, []byte(text), 0o755))
}

func (s *shell) read(name string) string {
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	require.NoError(s.t, err)
	return string(data)
}

// buffer is written to from several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// arc executes a command and returns what it printed and its exit code.
func (s *shell) arc(args ...string) (out, errs string, code int) {
	s.t.Helper()
	return s.with(s.t.Context(), args...)
}

func (s *shell) with(ctx context.Context, args ...string) (string, string, int) {
	var out, errs buffer
	c := &command{screen: &screen{Terminal: &console.Terminal{Args: args, Out: &out, Err: &errs, Width: s.width, Cwd: s.dir, Env: map[string]string{}}}}
	if s.says != nil {
		c.Person = "anna"
		c.Ask = func(_ context.Context, prompt string) (string, error) {
			fmt.Fprint(&errs, prompt)
			line := s.says[0]
			s.says = s.says[1:]
			return line, nil
		}
	}
	code := execute(ctx, c)
	for line := range strings.Lines(out.String()) {
		if !c.json && !strings.Contains(line, "/") {
			require.LessOrEqual(s.t, len([]rune(strings.TrimSpace(line))), max(s.width, 200), line)
		}
	}
	return out.String(), errs.String(), code
}

// ok is a command that must succeed, and returns what it printed, errors and all.
func (s *shell) ok(args ...string) string {
	s.t.Helper()
	out, errs, code := s.arc(args...)
	require.Zero(s.t, code, "arc %s\n%s%s", strings.Join(args, " "), out, errs)
	return out + errs
}

// serve has a process serve the folder until the test ends.
func (s *shell) serve(args ...string) *buffer {
	s.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var out buffer
	done := make(chan int)
	go func() {
		c := &command{screen: &screen{Terminal: &console.Terminal{Args: append([]string{"serve"}, args...), Out: &out, Err: &out, Width: 80, Cwd: s.dir, Env: map[string]string{}}}}
		done <- execute(ctx, c)
	}()
	s.t.Cleanup(func() {
		stop()
		require.Zero(s.t, <-done, out.String())
	})
	require.Eventually(s.t, func() bool { _, err := os.Stat(socketPath(s.dir)); return err == nil }, 10*time.Second, 10*time.Millisecond)
	return &out
}

// model is an OpenAI-compatible endpoint that answers as a function says.
func model(t *testing.T, answer func(prompt string, after string) any) (config string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"data":[{"id":"fake"}]}`)
			return
		}
		var asked struct {
			Messages []struct {
				Role    string
				Content any
			}
		}
		require.NoError(t, json.NewDecoder(r.Body).Decode(&asked))
		raw, _ := json.Marshal(asked.Messages)
		last := asked.Messages[len(asked.Messages)-1]
		message := map[string]any{"role": "assistant"}
		switch a := answer(string(raw), last.Role).(type) {
		case int:
			w.WriteHeader(a)
			fmt.Fprint(w, `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`)
			return
		case string:
			message["content"] = a
		case map[string]any:
			args, _ := json.Marshal(a["inputs"])
			message["tool_calls"] = []any{map[string]any{"index": 0, "id": "c1", "type": "function",
				"function": map[string]any{"name": a["tool"], "arguments": string(args)}}}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, part := range []any{
			map[string]any{"choices": []any{map[string]any{"index": 0, "delta": message}}},
			map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": "stop"}}},
			map[string]any{"choices": []any{}, "usage": map[string]any{"prompt_tokens": 1000, "completion_tokens": 100}},
		} {
			raw, _ := json.Marshal(part)
			fmt.Fprintf(w, "data: %s\n\n", raw)
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	t.Setenv("FAKE_KEY", "fake-key-0123456789")
	return "model: fake\nmodels:\n  fake: {url: " + server.URL + "/v1, key: FAKE_KEY, price: {input: 1, output: 4}}\n"
}

func tool(name string, inputs any) map[string]any {
	return map[string]any{"tool": name, "inputs": inputs}
}

const scripts = "workers:\n- {name: writer, run: [./write.sh]}\ngates:\n- [./check.sh]\n"

func scripted(t *testing.T) *shell {
	s := newShell(t, scripts)
	s.scripts()
	return s
}

// planned is scripted with a planner, so that there is something to learn.
func planned(t *testing.T) *shell {
	s := newShell(t, model(t, func(string, string) any {
		return `{"reasoning":"so","complexity":"simple","approach":"write","tasks":[{"objective":"write","skill":"write"}]}`
	})+"planner: fake\n"+strings.Replace(scripts, "run:", "skills: [write], run:", 1))
	s.scripts()
	return s
}

func (s *shell) scripts() {
	s.write("write.sh", "#!/bin/sh\necho working >&2\necho did it\n")
	s.write("check.sh", "#!/bin/sh\ntest ! -e broken || { echo 'the test is red'; exit 1; }\n")
}

// Each command, with a process that serves and without one.
func TestCommands(t *testing.T) {
	for _, served := range []bool{false, true} {
		t.Run(fmt.Sprint("served=", served), func(t *testing.T) {
			s := planned(t)
			s.write("skills/hello/SKILL.md", "---\nname: hello\ndescription: Says hello.\nevery: 2h\n---\nSay hello.")
			s.write("skills/hello/cli.sh", "#!/bin/sh\necho hello $1; exit $2\n")
			s.write("skills/hello/sensor", "#!/bin/sh\necho '[{\"subject\": \"greet anna\", \"key\": \"anna\", \"priority\": 3}]'\n")
			s.write("templates/report.md", "---\nsubject: write the report\npriority: 2\nskills: [hello]\n---\nWith figures.\n")
			t.Setenv("ARC_CREDS_PASSWORD", "correct horse")
			require.Contains(t, s.ok(), "no data", "arc alone")
			if served {
				s.serve("--no-dispatch", "--no-sensors")
			}
			require.Contains(t, s.ok("doctor"), "all is there")
			require.Contains(t, s.ok("do", "collect the todos"), "did it")
			require.Contains(t, s.ok("do", "--text", "collect the todos"), "learned: the plan fires")
			require.Contains(t, s.ok("do", "collect the todos"), "by a learned plan, without asking")
			require.Contains(t, s.ok("think", "collect the todos"), "by a learned plan")
			require.Contains(t, s.ok("remember", "the sky is blue over Lisbon"), "kept")
			require.Contains(t, s.ok("recall", "sky"), "blue over Lisbon")
			out, _, _ := s.arc("recall", "sky", "--json")
			var hits []struct{ ID string }
			require.NoError(t, json.Unmarshal([]byte(out), &hits))
			require.Contains(t, s.ok("feedback", short(hits[0].ID), "--forget"), "noted")
			require.Contains(t, s.ok("recall", "sky"), "nothing is known")
			require.Contains(t, s.ok("health"), "healthy: 3 of 3")
			require.Contains(t, s.ok("status"), "healthy: 3 of 3")
			require.Contains(t, s.ok("meta", "--session", "none"), "no_data")
			require.Contains(t, s.ok("chunk"), "1 plans are written")
			require.Contains(t, s.ok("chunk", "--read"), "0 plans were changed")
			require.Contains(t, s.ok("decay"), "0 memories are archived")
			require.Contains(t, s.ok("consolidate"), "0 are merged")
			require.Regexp(t, `[0-9-]+ +2 +2200 +unknown +\$0.0028`, s.ok("costs"))
			require.Contains(t, s.ok("runs"), "collect the todos")
			require.Contains(t, s.ok("runs", "show"), "working", "what a worker printed is kept")
			require.Contains(t, s.ok("judge", short(s.last().ID), "--verdict", "failed: it lacks two"), "counts as failed")

			require.Contains(t, s.ok("tasks"), "no tasks")
			id, _, _ := strings.Cut(s.ok("tasks", "add", "--template", "report"), " ")
			require.Contains(t, s.ok("tasks", "show", id), "priority 2")
			require.Contains(t, s.ok("tasks", "update", "--id", id, "--priority", "4"), "priority 4: write the report")
			require.Contains(t, s.ok("run"), "completed: did it")
			require.Contains(t, s.ok("cycles"), "write the report: did it")
			require.Contains(t, s.ok("tasks", "show", id, "--json"), `"skills": [`)
			require.Contains(t, s.ok("run"), "no task is due")
			id, _, _ = strings.Cut(s.ok("tasks", "add", "--subject", "never mind", "--at", "48h"), " ")
			require.Contains(t, s.ok("tasks", "close", "--id", id, "--status", "failed", "--summary", "not needed"), "failed")
			require.Contains(t, s.ok("tasks", "update", id, "--status", "pending"), "pending")

			require.Contains(t, s.ok("skills"), "Says hello.")
			require.Contains(t, s.ok("skills", "show", "--name", "hello"), "Say hello.")
			out, _, code := s.arc("skills", "run", "--name", "hello", "--", "anna", "7")
			require.Equal(t, 7, code)
			require.Equal(t, "hello anna\n", out)
			require.Contains(t, s.ok("sensors", "list"), "2h0m0s")
			require.Contains(t, s.ok("sensors"), "greet anna")
			require.NotContains(t, s.ok("sensors"), "greet anna", "the same key is the same task")
			require.Contains(t, s.ok("tasks"), "greet anna")

			s.ok("creds", "set", "--service", "shop", "--key", "TOKEN", "--value", "s3cr3t-value")
			require.Equal(t, "shop.TOKEN\n", s.ok("creds", "list"))
			require.Equal(t, "s3cr3t-value\n", s.ok("creds", "get", "--service", "shop", "--key", "TOKEN"))
			require.Contains(t, s.ok("creds", "unlock"), "right")
			s.ok("creds", "delete", "--service", "shop", "--key", "TOKEN")
			require.NotContains(t, s.read(".arc/credentials.age"), "s3cr3t")
			require.Contains(t, s.ok("services", "install", "--dry-run"), "PATH="+os.Getenv("PATH"))
			require.Contains(t, s.ok("services", "status"), "not installed")
			require.Contains(t, s.ok("__complete", "runs", "show", ""), "delivered: collect the todos")
		})
	}
}

// last is the latest run.
func (s *shell) last() (r struct{ ID, Status, Text string }) {
	var all []struct{ ID, Status, Text string }
	require.NoError(s.t, json.Unmarshal([]byte(s.ok("runs", "--json")), &all))
	return all[0]
}

func TestUsage(t *testing.T) {
	s := newShell(t, "")
	for _, c := range []struct {
		args string
		says string
	}{
		{"", "begin with arc init"}, {"foo", "unknown command"}, {"do --nonsense", "unknown flag"},
		{"tasks --id", "unknown flag"}, {"creds get", "--service and --key"},
	} {
		_, errs, code := s.arc(strings.Fields(c.args)...)
		require.Equal(t, exitUsage, code, c.args)
		require.Contains(t, errs, c.says)
	}
	require.Contains(t, s.ok("init"), "wrote arc.yaml")
	t.Setenv("OPENAI_API_KEY", "")
	_, errs, code := s.arc("do", "anything")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs, "OPENAI_API_KEY is not set: export OPENAI_API_KEY=…, or arc creds set")
	for _, args := range [][]string{{"do"}, {"remember"}, {"meta"}, {"tasks", "add"}, {"tasks", "show", "xx"}, {"approve"}, {"judge"}} {
		_, errs, code = s.arc(args...)
		require.Equal(t, exitUsage, code, "%s: %s", args, errs)
	}
	s.write("arc.yaml", "workers:\n- name: a\n  run: [x]\n  modle: gated\n")
	_, errs, code = s.arc("runs")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, "arc.yaml: line 4: field modle not found")
}

// E2, E7: a red gate is told in whole lines, and mended it is tried again at once.
func TestRetry(t *testing.T) {
	s := scripted(t)
	s.write("broken", "")
	out, errs, code := s.arc("do", "collect the todos")
	require.Equal(t, exitFailed, code)
	require.Empty(t, out)
	require.Contains(t, errs, "│ working")
	require.Contains(t, errs, "the test is red")
	require.Contains(t, errs, "arc retry")
	require.Contains(t, s.ok(), "next: arc runs show")
	require.Contains(t, s.read("memory/MEMORY.md"), "[FLAG] collect the todos: exhausted", "E6")
	require.NoError(t, os.Remove(filepath.Join(s.dir, "broken")))
	require.Contains(t, s.ok("retry"), "did it")
}

// E3: what models took stands in three figures, and unknown is not 0.
func TestCosts(t *testing.T) {
	s := newShell(t, model(t, func(_, after string) any {
		if after != "tool" {
			return tool("write_file", map[string]string{"path": "notes/a.txt", "text": "hello"})
		}
		return "written"
	}))
	require.Contains(t, s.ok("doctor"), "✓ model fake")
	require.Contains(t, s.ok("do", "write it down"), "2 model calls, 2200 tokens, about $0.0028")
	require.Equal(t, "hello", s.read("notes/a.txt"))
	require.Regexp(t, `agent +2 +2200 +unknown +\$0.0028`, s.ok("costs", "--by", "worker"))
	require.Contains(t, s.ok("costs", "--json"), `"estimate_usd": 0.0028`)
	require.NotContains(t, s.ok("costs", "--json"), "cost_usd\": 0")
}

// Tools of an MCP server.
func TestMCP(t *testing.T) {
	s := newShell(t, model(t, func(_, after string) any {
		if after != "tool" {
			return tool("recall", map[string]string{"text": "orders"})
		}
		return "looked up"
	})+"workers:\n- {name: agent, tools: [memory]}\nmcp:\n  memory: {run: [./server.sh]}\n")
	s.write("server.sh", "#!/bin/sh\nARC_TEST_SELF=mcp exec "+os.Args[0]+"\n")
	require.Contains(t, s.ok("doctor"), "✓ mcp memory")
	out := s.ok("do", "look the orders up")
	require.Contains(t, out, "→ recall")
	require.Contains(t, out, "looked up")
}

// A tool that has to be allowed: by a person who is there, who is asked again after «what?»; or later.
func TestApproval(t *testing.T) {
	config := model(t, func(_, after string) any {
		if after != "tool" {
			return tool("shell", map[string]string{"command": "echo made > made.txt"})
		}
		return "it is made"
	})
	for _, served := range []bool{false, true} {
		t.Run(fmt.Sprint("served=", served), func(t *testing.T) {
			s := newShell(t, config)
			if served {
				s.serve()
			}
			_, errs, code := s.arc("do", "make it")
			require.Equal(t, exitWaits, code, errs)
			require.Contains(t, errs, "arc approve "+short(s.last().ID))
			require.Contains(t, s.ok(), "waiting")
			require.NoFileExists(t, filepath.Join(s.dir, "made.txt"))
			require.Contains(t, s.ok("approve"), "it is made")
			require.Equal(t, "made\n", s.read("made.txt"))
			s.says = []string{"what?", "yes"}
			errs = s.ok("do", "make it once more")
			require.Equal(t, 2, strings.Count(errs, "allow it?"), "E10")
			s.says = []string{"no", "no"}
			_, _, code = s.arc("do", "make it a third time")
			require.Empty(t, s.says[1:])
			require.Contains(t, []int{0, exitFailed}, code, "the model is told, and ends it")
		})
	}
}

// A model that is wrong or away.
func TestModelAway(t *testing.T) {
	s := newShell(t, model(t, func(string, string) any { return 401 }))
	_, errs, code := s.arc("do", "look")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs, "FAKE_KEY", "B8: the variable")
	s.write("arc.yaml", "model: fake\nmodels:\n  fake: {url: \"http://127.0.0.1:1/v1\"}\npatience: 1ns\n")
	_, errs, code = s.arc("do", "look")
	require.Equal(t, exitFailed, code, errs)
	_, _, code = s.arc("doctor")
	require.Equal(t, exitFailed, code)
}

// arc serve takes up a changed arc.yaml; a flaw is told with its line, and the former one stays.
func TestServe(t *testing.T) {
	s := scripted(t)
	out := s.serve()
	s.ok("tasks", "add", "--subject", "collect the todos", "--priority", "1")
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "completed: did it") }, 20*time.Second, 20*time.Millisecond, out)
	s.write("arc.yaml", scripts+"nonsense: 1\n")
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "line 5: field nonsense not found") }, 10*time.Second, 20*time.Millisecond, out)
	require.Contains(t, s.ok("do", "anything"), "did it")
	s.write("other.sh", "#!/bin/sh\necho other\n")
	s.write("arc.yaml", strings.Replace(scripts, "write.sh", "other.sh", 1))
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "arc.yaml is taken up") }, 10*time.Second, 20*time.Millisecond, out)
	require.Contains(t, s.ok("do", "anything else"), "other")
	info, err := os.Stat(socketPath(s.dir))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// The model of a task is that of its priority; a coding agent is told the skills, and its figures are its own.
func TestTasksOfAnAgent(t *testing.T) {
	s := newShell(t, "workers:\n- {name: coder, agent: [./coder.sh]}\n")
	s.write("coder.sh", "#!/bin/sh\ncat > order.json\necho '{\"type\":\"result\",\"result\":\"merged\",\"total_cost_usd\":0.25,\"usage\":{\"input_tokens\":10,\"output_tokens\":5}}'\n")
	s.write("SOUL.md", "I am thorough.")
	s.write("skills/git/SKILL.md", "---\nname: git\ndescription: Commits.\n---\nCommit small.")
	id, _, _ := strings.Cut(s.ok("tasks", "add", "--subject", "merge it", "--skills", "git"), " ")
	require.Contains(t, s.ok("run"), "completed: merged")
	require.Contains(t, s.read("order.json"), "I am thorough.")
	require.Contains(t, s.read("order.json"), "Commit small.")
	require.Contains(t, s.ok("tasks", "show", id), "15 tokens, $0.2500")
	require.Regexp(t, `coder +1 +15 +\$0.2500 +unknown`, s.ok("costs", "--by", "worker"))
	c, err := loadConfig(s.dir)
	require.NoError(t, err)
	c.Priority = map[string]string{"1-3": "opus", "4-10": "mini"}
	require.Equal(t, []string{"opus", "mini"}, []string{c.route(3), c.route(4)})
}

// A worker in a worktree: what its gates refuse never reaches the tree that people work in.
func TestWorktree(t *testing.T) {
	s := newShell(t, "workers:\n- {name: coder, agent: [./coder.sh]}\ngates:\n- [./check.sh]\nworktree: {}\n")
	s.write("coder.sh", "#!/bin/sh\ncat > /dev/null\necho $$ > made\n")
	s.write("check.sh", "#!/bin/sh\ntest ! -e "+s.dir+"/broken\n")
	s.write(".gitignore", ".arc\narc.sock\nmemory\nbroken\n")
	for _, args := range []string{"init -q", "add -A", "-c user.name=a -c user.email=a@example.com commit -qm first"} {
		cmd := exec.Command("git", strings.Fields(args)...)
		cmd.Dir = s.dir
		require.NoError(t, cmd.Run())
	}
	for _, v := range []string{"GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"} {
		t.Setenv(v, "arc@example.com")
	}
	s.ok("do", "make it")
	made := s.read("made")
	s.write("broken", "")
	_, errs, code := s.arc("do", "make it anew")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs, "the work is on branch")
	require.Equal(t, made, s.read("made"))
}

// D10, E6: MEMORY.md is told, appended below «## Learned», and left alone where it is not UTF-8.
func TestNotes(t *testing.T) {
	s := planned(t)
	s.write("memory/MEMORY.md", "# Mine\n\nText.\n\n## Learned\n- old\n\n## Later\nmore\n")
	past := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(s.dir, "memory/MEMORY.md"), past, past))
	s.ok("do", "collect the todos")
	s.ok("do", "collect the todos")
	today := time.Now().Format(time.DateOnly)
	require.Equal(t, "# Mine\n\nText.\n\n## Learned\n- old\n- "+today+" collect the todos: done by a learned plan from now on\n\n## Later\nmore\n", s.read("memory/MEMORY.md"))
	require.Contains(t, s.ok("notes"), "Text.")
	utf16 := "\xff\xfeM\x00i\x00n\x00e\x00"
	s.write("memory/MEMORY.md", utf16)
	require.NoError(t, os.Chtimes(filepath.Join(s.dir, "memory/MEMORY.md"), past, past))
	s.ok("do", "sort the todos")
	_, errs, code := s.arc("do", "sort the todos")
	require.Contains(t, errs, "not UTF-8", code)
	require.Equal(t, utf16, s.read("memory/MEMORY.md"))
	_, errs, _ = s.arc("notes")
	require.Contains(t, errs, "save it as UTF-8")
}

// E11, E13: a table fits the terminal, and JSON is in snake_case.
func TestForms(t *testing.T) {
	s := scripted(t)
	s.ok("do", "collect the todos and then everything else that is there to be collected in this folder and below")
	for _, width := range []int{80, 200} {
		s.width = width
		for line := range strings.Lines(s.ok("runs")) {
			require.LessOrEqual(t, len([]rune(line)), width+1)
		}
	}
	require.Contains(t, s.ok("runs"), "in this folder")
	require.Equal(t, "a[2Jb\tc\n", visible("a\x1b[2Jb\tc\r\n"))
	raw := s.ok("health", "--json")
	require.True(t, json.Valid([]byte(raw)))
	for _, args := range [][]string{{"health"}, {"runs"}, {"runs", "show"}, {"status"}, {"tasks"}, {"think", "x"}} {
		raw := s.ok(append(args, "--json")...)
		require.True(t, json.Valid([]byte(raw)), args)
		require.NotRegexp(t, `"[A-Z]\w*":`, raw)
		require.NotContains(t, raw, "0001-01-01")
	}
	require.Equal(t, "cost_usd estimate_usd id n utility_of_x", strings.Join([]string{snakeName("CostUSD"), snakeName("EstimateUSD"),
		snakeName("ID"), snakeName("N"), snakeName("UtilityOfX")}, " "))
}

// pty starts arc on a terminal.
func (s *shell) pty(args ...string) (*os.File, *exec.Cmd, *buffer) {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "ARC_TEST_SELF=arc", "TERM=xterm")
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	require.NoError(s.t, err)
	s.t.Cleanup(func() { f.Close() })
	var out buffer
	go func() { // ends with the terminal
		p := make([]byte, 4096)
		for {
			n, err := f.Read(p)
			out.Write(p[:n])
			if err != nil {
				return
			}
		}
	}()
	return f, cmd, &out
}

func (s *shell) until(out *buffer, text string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return regexp.MustCompile(text).MatchString(out.String()) }, 20*time.Second, 10*time.Millisecond, "%q in %q", text, out)
}

// On a terminal: the live line while a model thinks, colours but with NO_COLOR, an answer, and Ctrl-C in the model and
// at the prompt; with a process that serves and without.
func TestTerminal(t *testing.T) {
	slow := make(chan struct{})
	config := model(t, func(prompt, after string) any {
		switch {
		case after == "tool":
			return "it is made"
		case strings.Contains(prompt, "slowly"):
			<-slow
		case strings.Contains(prompt, "make"):
			return tool("shell", map[string]string{"command": "true"})
		}
		return "done"
	})
	t.Cleanup(sync.OnceFunc(func() { close(slow) }))
	for _, served := range []bool{false, true} {
		t.Run(fmt.Sprint("served=", served), func(t *testing.T) {
			s := newShell(t, config)
			if served {
				s.serve()
			}
			f, cmd, out := s.pty("do", "make it")
			s.until(out, "asking fake … ")
			s.until(out, "allow it")
			require.Contains(t, out.String(), "$0.001", "what it has cost so far")
			require.Contains(t, out.String(), "\x1b[", "colours")
			fmt.Fprint(f, "what?\ryes\r")
			s.until(out, "it is made")
			require.NoError(t, cmd.Wait())

			_, cmd, out = s.pty("do", "make it twice")
			s.until(out, "allow it")
			require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
			require.Error(t, cmd.Wait())
			require.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode(), out)

			_, cmd, out = s.pty("do", "go slowly")
			s.until(out, "asking fake … [1-9] s")
			require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
			require.Error(t, cmd.Wait())
			require.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode(), out)

			t.Setenv("NO_COLOR", "1")
			_, cmd, out = s.pty("runs")
			require.NoError(t, cmd.Wait())
			s.until(out, "go slowly")
			require.NotContains(t, out.String(), "\x1b[3")
		})
	}
}
