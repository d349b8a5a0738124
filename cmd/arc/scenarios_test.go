package main

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act/tools"
	"github.com/arc-learn/arc/contrib/mcp"
)

// last is the latest run.
func (s *shell) last() (r struct{ ID, Status, Text string }) {
	s.t.Helper()
	bare := *s
	bare.width = 0
	out, errs, _ := bare.arc("runs", "--json")
	var all []struct{ ID, Status, Text string }
	require.NoError(s.t, json.Unmarshal([]byte(out), &all), errs)
	require.NotEmpty(s.t, all)
	return all[0]
}

// making has a model that makes things by the shell, which has to be allowed, and says what it was told.
func (s *shell) making() {
	s.write("arc.yaml", model(s.t, func(a asked) any {
		switch {
		case a.After == "tool" && strings.Contains(a.Prompt, "denied") || strings.Contains(a.Prompt, "not allowed"):
			return "it was refused"
		case a.After == "tool":
			return "it is made"
		case strings.Contains(a.Prompt, "slowly"):
			return a.never()
		}
		return tool("shell", map[string]string{"command": "echo made >> made.txt"})
	}))
}

// E2, E6, E7: a red gate is told in whole lines, and mended it is tried again at once.
func TestRetry(t *testing.T) {
	beside(t, func(s *shell) {
		s.scripted()
		s.write("broken", "")
		if s.served {
			s.serve()
		}
		s.fails(exitFailed, `(?s)│ working.*the test is red\n    at line 7.*arc retry`, "do", "collect the todos")
		require.Contains(s.t, s.ok(), "next: arc runs show")
		s.ok("notes")
		require.Contains(s.t, s.read("memory/MEMORY.md"), "[FLAG] collect the todos: exhausted", "E6")
		blocked := s.last().ID
		s.fails(exitFailed, "the test is red", "retry", blocked)
		require.NoError(s.t, os.Remove(s.path("broken")))
		require.Contains(s.t, s.ok("do", "collect the todos"), "did it")
		require.Contains(s.t, s.ok("retry", blocked, "--note", "the test was mended"), "did it")
	})
}

// A tool that has to be allowed: by a person who is there, who is asked again after «what?»; or later.
func TestApproval(t *testing.T) {
	beside(t, func(s *shell) {
		s.making()
		if s.served {
			s.serve()
		}
		here := *s
		s.width = 0 // nobody can be asked
		asked := `shell \{"command":".*made.txt.*"\}\n`
		s.fails(exitWaits, asked+"  arc approve [0-9a-f]{6}   or   arc deny", "do", "make it")
		require.Regexp(s.t, "waiting (?s:.*)"+asked, s.ok())
		s.fails(exitUsage, "which run", "approve", "") // a variable that is not set
		s.fails(exitUsage, "which run", "approve")
		require.NoFileExists(s.t, s.path("made.txt"))
		require.Contains(s.t, s.ok("approve", s.last().ID), "it is made")
		require.Equal(s.t, "made\n", s.read("made.txt"))
		s.fails(exitWaits, "arc deny", "do", "make it again")
		require.Contains(s.t, s.ok("deny", s.last().ID, "--note", "not today"), "denied: shell")
		require.Equal(s.t, "made\n", s.read("made.txt"))
		s.fails(exitUsage, "waits for nobody", "approve", s.last().ID)
		if !s.served { // that would do the task by itself
			task := s.ok("tasks", "add", "make it of the task")[:6]
			s.fails(exitWaits, "", "run")
			s.ok("tasks", "close", task, "--status", "failed")
			s.fails(exitUsage, "waits for nobody", "approve", s.last().ID) // it ends with its task
		}

		p := here.start("do", "make it once more")
		p.until("allow it")
		p.types("what?\r")
		p.until("yes, or no; Ctrl-C leaves the run waiting(.|\n)*allow it")
		p.types("yes\r")
		require.Zero(s.t, p.code(), p.text())
		require.Contains(s.t, p.text(), "it is made")
		require.Equal(s.t, "made\nmade\n", s.read("made.txt"))

		p = here.start("do", "make it a third time")
		p.until("allow it")
		p.types("no\r")
		p.code()
		require.Equal(s.t, "made\nmade\n", s.read("made.txt"), "E10")
	})
}

// What a run asks is answered at once, later, or by another terminal while it is asked.
func TestAnswer(t *testing.T) {
	beside(t, func(s *shell) {
		s.scripted()
		s.write("arc.yaml", model(t, func(a asked) any {
			if strings.Contains(a.Prompt, "blue") {
				return `{"reasoning":"so","complexity":"simple","approach":"write","tasks":[{"objective":"write",` +
					`"skill":"write"}]}`
			}
			return `{"reasoning":"unclear","complexity":"simple","approach":"ask","questions":["Which colour?"]}`
		})+"planner: fake\n"+strings.Replace(scripts, "run:", "skills: [write], run:", 1))
		if s.served {
			s.serve()
		}
		here := *s
		s.width = 0
		s.fails(exitWaits, `(?s)it asks: Which colour\?.*arc answer [0-9a-f]{6} --text`, "do", "paint it")
		s.fails(exitUsage, "what is the answer", "answer", s.last().ID)
		s.fails(exitWaits, "Which colour", "answer", s.last().ID, "--text", "a nice one")
		require.Contains(s.t, s.ok("answer", s.last().ID, "--text", "blue"), "did it")
		p := here.start("do", "paint the door")
		require.Equal(s.t, "> ", p.until(`\? Which colour\?\n +(> )`))
		p.types("blue\r")
		require.Zero(s.t, p.code(), p.text())
		require.Contains(s.t, p.text(), "did it")

		p = here.start("do", "paint the wall")
		p.until("> ")
		p.interrupt()
		require.Contains(s.t, []int{exitInterrupted, exitWaits}, p.code())
		require.Contains(s.t, s.ok(), "arc answer")
		require.Contains(s.t, s.ok("answer", s.last().ID, "--text", "blue"), "did it")
	})
}

// Ctrl-C in a model's call, in a worker, and at a prompt; what was left is gone on with, or canceled.
func TestInterrupt(t *testing.T) {
	beside(t, func(s *shell) {
		s.making()
		if s.served {
			s.serve()
		}
		for _, c := range []struct{ text, shows string }{{"go slowly", `asking fake … \d+s`},
			{"make it", "allow it"}} {
			p := s.start("do", c.text)
			p.until(c.shows)
			p.interrupt()
			require.Contains(s.t, []int{exitInterrupted, exitWaits}, p.code(), p.text())
			require.Regexp(s.t, "arc resume|arc approve", p.text())
			s.fits(plain(p.text()), c.text)
			if c.text == "make it" {
				require.Eventually(s.t, func() bool { return strings.Contains(s.ok(), "arc approve") }, patience,
					100*time.Millisecond)
			}
			require.Contains(s.t, s.ok("cancel", s.last().ID, "--why", "no need"), "canceled")
			require.Equal(s.t, "canceled", s.last().Status)
		}
	})
	beside(t, func(s *shell) {
		s.scripted()
		s.write("write.sh", "#!/bin/sh\ntest ! -e mended || { echo mended; exit 0; }\necho $$ > pid; echo begun; "+
			"exec sleep 600\n")
		if s.served {
			s.serve()
		}
		p := s.start("do", "write it")
		p.until("│ begun")
		if s.served || signal.Ignored(syscall.SIGHUP) { // as where the test is run by nohup
			p.interrupt()
		} else { // the terminal is closed
			require.NoError(s.t, p.cmd.Process.Signal(syscall.SIGHUP))
		}
		require.Equal(s.t, exitInterrupted, p.code(), p.text())
		s.gone("pid")
		s.write("mended", "")
		require.Contains(s.t, s.ok("resume", s.last().ID), "mended")
	})
}

// gone waits until the process ends whose ID is in a file.
func (s *shell) gone(file string) {
	s.t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(s.read(file)))
	require.NoError(s.t, err)
	require.Eventually(s.t, func() bool { return syscall.Kill(pid, 0) != nil }, patience, 10*time.Millisecond,
		"the worker goes on")
}

// E1, E7: while one terminal works, others look, add and cancel; what a worker prints is seen as it comes.
func TestTwoTerminals(t *testing.T) {
	beside(t, func(s *shell) {
		s.making()
		if s.served {
			s.serve("--workers=0")
		}
		p := s.start("do", "go slowly")
		p.until("asking fake")
		other := *s
		require.Contains(s.t, other.ok("tasks", "add", "--subject", "tidy up"), "tidy up")
		require.Contains(s.t, other.ok("runs"), "running")
		require.Contains(s.t, other.ok("runs", "show"), "go slowly")
		require.Contains(s.t, other.ok("remember", "the door is blue"), "kept")
		require.Contains(s.t, other.ok("cancel", s.last().ID), "canceled")
		require.Equal(s.t, exitFailed, p.code(), p.text())
		require.Contains(s.t, p.text(), "canceled")
	})
}

// D11: after kill −9 nothing is locked, arc runs says what was left, and whoever is open goes on with it.
func TestKill(t *testing.T) {
	beside(t, func(s *shell) {
		s.scripted()
		s.write("write.sh", "#!/bin/sh\ntest ! -e mended || { echo mended; exit 0; }\necho $$ > pid; echo begun; "+
			"exec sleep 600\n")
		p := s.start("do", "write it")
		p.until("│ begun")
		require.NoError(s.t, p.cmd.Process.Kill())
		pid, _ := strconv.Atoi(strings.TrimSpace(s.read("pid")))
		s.t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) }) // nobody else can end it
		require.Regexp(s.t, `running +\S+.* write it`, s.ok("runs"))
		require.Contains(s.t, s.ok(), "running")
		s.write("mended", "")
		if s.served {
			s.serve()
		}
		if s.served { // by itself
			require.Contains(s.t, s.ok("runs", "show", "--follow"), "mended")
		} else {
			require.Contains(s.t, s.ok("resume", s.last().ID), "mended")
		}
		require.Equal(s.t, "delivered", s.last().Status)
	})
}

// A model that is wrong, slow or away.
func TestModel(t *testing.T) {
	first := func(call any) func(asked) any { // a call of a tool, and once that has answered, that it is done
		return func(a asked) any {
			if a.After == "tool" {
				return "done"
			}
			return call
		}
	}
	for name, c := range map[string]struct {
		answer func(a asked) any
		code   int
		says   string
	}{
		"key": {func(asked) any {
			return raw{401, `{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}`}
		}, exitFailed, "FAKE_KEY"},
		"html": {func(asked) any { return raw{200, "<html>Sign in</html>"} }, exitFailed, "web page"},
		"cut":  {func(asked) any { return nil }, exitFailed, "EOF|connection"},
		"account": {func(asked) any {
			return raw{429, `{"error":{"code":"insufficient_quota","message":"You exceeded your quota"}}`}
		}, exitFailed, "quota"},
		"no such": {func(asked) any { return raw{404, `{"error":{"message":"model fake not found"}}`} },
			exitFailed, "not found"},
		"bad tool":  {first(tool("nonsense", 7)), 0, "done"},
		"bad input": {first(tool("read_file", 7)), 0, "done"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShell(t, model(t, c.answer)+"patience: 1ms\n")
			s.fails(c.code, c.says, "do", "look")
		})
	}
	s := newShell(t, "model: fake\nmodels:\n  fake: {url: \"http://127.0.0.1:1/v1\"}\npatience: 1ns\n")
	s.fails(exitFailed, "refused", "do", "look")
	s.fails(exitFailed, "✗ model fake", "doctor")
}

// While a model is away the run waits, and says so; once it is back the run goes on by itself. Runs that
// others have left hold a command that is interrupted for a while: a second Ctrl-C ends it.
func TestOutage(t *testing.T) {
	beside(t, func(s *shell) {
		var away, hangs atomic.Bool
		away.Store(true)
		s.write("arc.yaml", model(t, func(a asked) any {
			switch {
			case hangs.Load():
				return a.never()
			case away.Load():
				return raw{503, `{"error":{"message":"model is loading"}}`}
			}
			return "it was easy"
		}))
		if s.served {
			s.serve()
		}
		p := s.start("do", "be patient")
		p.until("waiting: unavailable: status 503: model is loading")
		p.until("waits, and goes on by itself")
		away.Store(false)
		require.Zero(s.t, p.code(), p.text())
		require.Contains(s.t, p.text(), "it was easy")
		if s.served {
			return
		}
		away.Store(true)
		p = s.start("do", "be patient again")
		p.until("waits, and goes on by itself")
		p.interrupt()
		require.Equal(s.t, exitInterrupted, p.code(), p.text())
		require.Contains(s.t, s.ok(), "next: arc resume "+short(s.last().ID))
		away.Store(false)
		require.Contains(s.t, s.ok("resume", s.last().ID), "it was easy")
		hangs.Store(true)
		for _, text := range []string{"hang", "hang as well"} {
			p = s.start("do", text)
			p.until("asking fake")
			p.interrupt()
			p.until("arc resume")
		}
		p.until("waiting for other terminals and runs; Ctrl-C leaves them")
		p.interrupt()
		require.NotZero(s.t, p.code())
	})
}

// E3, E5: what models took stands in three figures, unknown is not 0, and the model is that of the task's
// priority.
func TestCosts(t *testing.T) {
	var models []string
	s := newShell(t, model(t, func(a asked) any {
		if a.After != "tool" {
			models = append(models, a.Model)
			return tool("write_file", map[string]string{"path": "notes/a.txt", "text": "hello"})
		}
		return "written"
	})+"priority: {1-3: large, 4-10: fake}\n")
	s.all([]row{
		{"doctor", 0, "✓ model large"},
		{`do "write it down"`, 0, `2 model calls, 2200 tokens, about \$0.0028`},
		{"tasks add --subject urgent --priority 2", 0, ""},
		{"tasks add --subject later", 0, ""},
		{"run", 0, "urgent"},
		{"run", 0, "later"},
		{"costs --by worker", 0, `agent +6 +6600 +unknown +\$0.0336`},
		{"costs --by model", 0, `large +2 +2200 +unknown +\$0.0280`},
		{"", 0, `today: 6 model calls, 6600 tokens, about \$0.0336`},
	})
	require.Equal(t, "hello", s.read("notes/a.txt"))
	require.Equal(t, []string{"fake", "large", "fake"}, models)
	require.NotContains(t, s.ok("costs", "--json"), "cost_usd\": 0")
}

// Tools of an MCP server.
func TestMCP(t *testing.T) {
	s := newShell(t, model(t, func(a asked) any {
		if a.After != "tool" {
			return tool("recall", map[string]string{"text": "orders"})
		}
		return "looked up"
	})+"workers:\n- {name: agent, tools: [memory]}\nmcp:\n  memory: {run: [./server.sh]}\n")
	s.write("server.sh", "#!/bin/sh\nARC_TEST_SELF=mcp exec "+os.Args[0]+"\n")
	s.all([]row{{"doctor", 0, "✓ mcp memory"},
		{`do "look the orders up"`, 0, "(?s)→ recall.*looked up|looked up.*→ recall"}})
}

// What may have been done already is not done again by a quick yes.
func TestBegun(t *testing.T) {
	s := newShell(t, "workers:\n- {name: pay, run: [./pay.sh], irreversible: true, timeout: 1s}\n")
	s.write("pay.sh", "#!/bin/sh\necho paid >> paid\ntest $(wc -l < paid) -gt 1 || exec sleep 60\necho did it\n")
	s.fails(exitWaits, "may have made this call already", "do", "pay")
	s.fails(exitUsage, "may have done it", "approve", s.last().ID)
	require.Equal(t, "paid\n", s.read("paid"))
	require.Contains(t, s.ok("approve", s.last().ID, "--note", "the bank has nothing of it"), "did it")
	require.Equal(t, "paid\npaid\n", s.read("paid"))
}

// arc serve does tasks, takes up a changed arc.yaml, and tells a flaw with its line while the former one
// stays.
func TestServe(t *testing.T) {
	s := newShell(t, "")
	s.scripted()
	p := s.serve()
	s.ok("tasks", "add", "--subject", "collect the todos", "--priority", "1")
	p.until("completed: did it")
	s.fails(exitUsage, "another arc serves", "serve")
	s.write("arc.yaml", scripts+"nonsense: 1\n")
	p.until("line 5: field nonsense not found")
	s.fails(exitFailed, "✗ arc.yaml.*nonsense", "doctor")
	require.Contains(t, s.ok("do", "anything"), "did it")
	s.write("other.sh", "#!/bin/sh\necho other\n")
	s.write("arc.yaml", strings.Replace(scripts, "write.sh", "other.sh", 1))
	p.until("arc.yaml is taken up")
	require.Contains(t, s.ok("do", "anything else"), "other")
	info, err := os.Stat(s.path("arc.sock"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// The dashboard of arc serve is for who is on this machine.
func TestWeb(t *testing.T) {
	s := newShell(t, "")
	s.scripted()
	s.ok("do", "collect the todos")
	s.fails(exitUsage, "seen by other machines", "serve", "--web", "0.0.0.0:0")
	p := s.serve("--web", "127.0.0.1:0")
	home := p.until(`the dashboard: (http://\S+)`)
	get := func(host string) (int, string) {
		r, err := http.NewRequest(http.MethodGet, home+"/runs", nil)
		require.NoError(t, err)
		r.Host = cmp.Or(host, r.Host)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		page, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(page)
	}
	code, page := get("")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, page, "collect the todos")
	code, _ = get("evil.example:80")
	require.Equal(t, http.StatusForbidden, code)
}

// A coding agent is told the skills, and its figures are its own.
func TestCodingAgent(t *testing.T) {
	s := newShell(t, "workers:\n- {name: coder, agent: [./coder.sh]}\n")
	s.env = append(s.env, "ARC_CREDS_PASSWORD=correct horse", "CODER_KEY=its own")
	s.write("coder.sh", "#!/bin/sh\ncat > order.json\nenv > env\n"+
		`echo '{"type":"result","result":"merged","total_cost_usd":0.25,`+
		`"usage":{"input_tokens":10,"output_tokens":5}}'`)
	s.write("SOUL.md", "I am thorough.")
	s.write("skills/git/SKILL.md", "---\nname: git\ndescription: Commits.\n---\nCommit small.")
	s.all([]row{
		{`tasks add --subject "merge it" --skills git`, 0, "^(?P<task>[0-9a-f]{6})"},
		{"run", 0, "completed: merged"},
		{"tasks show {task}", 0, `15 tokens, \$0.2500`},
		{"costs --by worker", 0, `coder +1 +15 +\$0.2500 +unknown`},
	})
	require.Contains(t, s.read("order.json"), "I am thorough.")
	require.Contains(t, s.read("order.json"), "Commit small.")
	require.Contains(t, s.read("env"), "CODER_KEY=its own")
	require.NotContains(t, s.read("env"), "correct horse", "which opens all credentials")
}

// A worker in a worktree: what its gates, the guard or the health check refuse is not in the tree that people
// work in.
func TestWorktree(t *testing.T) {
	s := newShell(t, "workers:\n- {name: coder, agent: [./coder.sh]}\ngates:\n- [./check.sh]\nattempts: 1\n"+
		"worktree: {health: [./health.sh]}\n")
	s.write("coder.sh", "#!/bin/sh\ncat > /dev/null\necho $$ > made\ntest ! -e "+s.dir+
		"/.arc/syntax || echo 'package {' > a.go\n")
	s.write("check.sh", "#!/bin/sh\ntest ! -e "+s.dir+"/.arc/broken\n")
	s.write("health.sh", "#!/bin/sh\ntest ! -e "+s.dir+"/.arc/ill\n")
	s.write(".gitignore", ".arc\narc.sock\nmemory\n")
	s.git("init", "-q")
	s.git("add", "-A")
	s.git("commit", "-qm", "first")
	for _, v := range []string{"GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL",
		"GIT_COMMITTER_EMAIL"} {
		s.env = append(s.env, v+"=arc@example.com")
	}
	s.ok("do", "make it")
	made := s.read("made")
	for i, flaw := range []string{"broken", "syntax", "ill"} {
		s.write(".arc/"+flaw, "")
		s.fails(exitFailed, "", "do", "make it anew, "+strconv.Itoa(i))
		require.Equal(t, made, s.read("made"), flaw)
		require.Empty(t, s.git("status", "--porcelain"), flaw)
		require.NoError(t, os.Remove(s.path(".arc/"+flaw)))
	}
}

// D10, E6, E13: MEMORY.md is told, appended below «## Learned», left alone where it is not UTF-8, and
// not committed for each run.
func TestNotes(t *testing.T) {
	s := newShell(t, "")
	s.planned()
	s.write("memory/MEMORY.md", "# Mine\n\nText.\n\n## Learned\n- old\n\n## Later\nmore\n")
	s.git("init", "-q")
	s.git("add", "-A")
	s.git("commit", "-qm", "first")
	past := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(s.path("memory/MEMORY.md"), past, past))
	s.ok("do", "collect the todos")
	s.ok("do", "collect the todos")
	s.ok("tasks", "add", "--subject", "sum the todos")
	s.ok("tasks", "add", "--subject", "sum the todos")
	s.ok("run")
	s.ok("run")
	today := "\n- " + time.Now().Format(time.DateOnly)
	require.Equal(t, "# Mine\n\nText.\n\n## Learned\n- old"+today+
		" collect the todos: done by a learned plan from now on"+
		today+" sum the todos: done by a learned plan from now on\n\n## Later\nmore\n", s.read("memory/MEMORY.md"))
	require.Equal(t, "1\n", s.git("rev-list", "--count", "HEAD"))
	utf16 := "\xff\xfeM\x00i\x00n\x00e\x00"
	s.write("memory/MEMORY.md", utf16)
	s.ok("do", "sort the todos")
	s.fails(exitFailed, "not UTF-8", "do", "sort the todos")
	require.Equal(t, utf16, s.read("memory/MEMORY.md"))
	s.fails(exitFailed, "save it as UTF-8", "notes")
}

// E4: health is what a person would say.
func TestHealth(t *testing.T) {
	s := newShell(t, "")
	s.scripted()
	s.all([]row{{"health", 0, "no data"}})
	for i := range 5 {
		s.ok("do", "collect "+strconv.Itoa(i))
	}
	s.all([]row{{"health", 0, "^healthy: 5 of 5"}})
	s.write("broken", "")
	for i := range 3 {
		s.fails(exitFailed, "red", "do", "gather "+strconv.Itoa(i))
	}
	out := s.ok("health")
	require.NotRegexp(t, "^healthy", out)
	require.Contains(t, out, "5 of 8")
	require.Contains(t, out, "holdout: 0.1 in arc.yaml")
	s.write("arc.yaml", scripts+"holdout: 0.3\n")
	out = s.ok("health")
	require.Contains(t, out, "with memory, beside runs without it:\n  Delivered: no data\n  Model calls a case: no data\n", "none yet")
}

// E11: colours of states on a terminal, none with NO_COLOR, into a pipe, or where TERM is dumb; E13: JSON.
func TestColour(t *testing.T) {
	s := newShell(t, "")
	s.scripted()
	s.width = 80
	s.ok("do", "collect \u202ethe todos and then everything else that is there to be collected in this "+
		"folder and below")
	colours := func(env ...string) string {
		own := *s
		own.env = append(s.env[:len(s.env):len(s.env)], env...)
		p := own.start("runs")
		require.Zero(t, p.code())
		return p.text()
	}
	require.Contains(t, colours(), "\x1b[32mdelivered")
	require.NotContains(t, colours()+s.ok("runs", "show"), "\u202e", "no text turns what stands behind it")
	require.NotContains(t, colours("NO_COLOR=1"), "\x1b[3")
	require.NotContains(t, colours("TERM=dumb"), "\x1b")
	s.piped = true
	out, errs, _ := s.arc("runs")
	require.Contains(t, out, "in this folder and below", "what goes into a pipe is whole")
	require.Empty(t, errs)
}

// arc mcp has the models of two editors work with the agent of the folder, also where arc serve has it open.
// What they remember is trusted once a person says so.
func TestServesMCP(t *testing.T) {
	beside(t, func(s *shell) {
		s.scripted()
		if s.served {
			s.serve("--workers=0", "--no-sensors")
		}
		editor := func() (*mcp.Client, map[string]tools.Tool) {
			client := mcp.Command(func() *exec.Cmd {
				cmd := exec.Command(os.Args[0], "mcp")
				cmd.Dir, cmd.Env = s.dir, append(os.Environ(), s.env...)
				return cmd
			}, nil)
			byName := map[string]tools.Tool{}
			all, err := client.Tools(s.t.Context())
			require.NoError(s.t, err)
			for _, tool := range all {
				byName[tool.Name] = tool
			}
			return client, byName
		}
		first, byName := editor()
		for _, name := range []string{"recall", "do", "tasks_add", "arete_context"} {
			require.Contains(s.t, byName, name)
		}
		_, err := byName["tasks_add"].Call(s.t.Context(), []byte(`{"subject":"tidy up"}`))
		require.NoError(s.t, err)
		second, byName := editor()
		_, err = byName["remember"].Call(s.t.Context(), []byte(`{"content":"the door is blue"}`))
		require.NoError(s.t, err)
		require.NoError(s.t, second.Close())
		require.NoError(s.t, first.Close())
		require.Contains(s.t, s.ok("tasks"), "tidy up")
		line := regexp.MustCompile(`([0-9a-f]{6}) +fact +(false|true) .*the door is blue`)
		found := line.FindStringSubmatch(s.ok("recall", "door"))
		require.Equal(s.t, "false", found[2])
		require.Contains(s.t, s.ok("trust", found[1]), "trusted "+found[1])
		require.Equal(s.t, "true", line.FindStringSubmatch(s.ok("recall", "door"))[2])
	})
}

// A task that waits for a person is said once by arc serve, however often it is looked at.
func TestServeSaysWhatWaits(t *testing.T) {
	s := newShell(t, "")
	s.making()
	p := s.start("serve", "--no-sensors")
	p.until("serving")
	require.Contains(t, s.ok("tasks", "add", "make it"), "make it")
	p.until("waits: .*; next: arc\n")
	require.Contains(t, s.ok("approve", s.last().ID), "it is made")
	p.until("completed: it is made")
	require.Equal(t, 1, strings.Count(p.text(), "▸"))
}

// Tasks of a folder are in the scope of its arc.yaml, also those of sensors.
func TestTasksOfAScope(t *testing.T) {
	s := newShell(t, "scope: acme/anna\nmodel: gpt-5-mini\n")
	s.write("skills/hello/sensor", "#!/bin/sh\necho '[{\"subject\": \"greet anna\", \"key\": \"anna\"}]'\n")
	s.ok("tasks", "add", "tidy up")
	s.ok("sensors")
	tasks := s.ok("tasks")
	require.Contains(t, tasks, "tidy up")
	require.Contains(t, tasks, "greet anna")
}

// What a folder starts is its owner's to say: a stranger's arc.yaml, here or above, is taken up by --dir alone.
func TestStrangersFolder(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root can give a file away")
	}
	s := newShell(t, "workers:\n- {name: w, run: [./w.sh]}\n")
	require.NoError(t, os.Chown(s.path("arc.yaml"), 65534, -1))
	s.fails(exitUsage, "another user's", "runs")
	s.ok("runs", "--dir", s.dir)
}
