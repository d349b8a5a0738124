package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/yaml"
)

// row is a command, its exit code, and what it must say: a pattern whose named groups later rows may use as
// {name}.
type row struct {
	line string
	code int
	says string
}

var word1 = regexp.MustCompile(`"[^"]*"|\S+`)

// all executes rows one after the other.
func (s *shell) all(rows []row) {
	s.t.Helper()
	named := map[string]string{}
	for _, r := range rows {
		line := r.line
		for name, value := range named {
			line = strings.ReplaceAll(line, "{"+name+"}", value)
		}
		var args []string
		for _, w := range word1.FindAllString(line, -1) {
			args = append(args, strings.Trim(w, `"`))
		}
		out, errs, code := s.arc(args...)
		text, narrow := out, out
		if s.piped || s.width == 0 {
			text, narrow = out+errs, errs // into a pipe everything is whole
		}
		require.Equal(s.t, r.code, code, "arc %s\n%s", line, text)
		re := regexp.MustCompile(r.says)
		require.Regexp(s.t, re, text, "arc %s", line)
		m := re.FindStringSubmatch(text)
		for i, name := range re.SubexpNames() {
			if name != "" {
				named[name] = m[i]
			}
		}
		if strings.Contains(line, "--json") {
			s.json(line, out)
			continue
		}
		// What is said whole may be wide.
		if !strings.Contains(line, "show") && !strings.Contains(line, "services") {
			s.fits(narrow, line)
		}
	}
}

// json fails for what scripts could not read.
func (s *shell) json(line, out string) {
	s.t.Helper()
	require.True(s.t, json.Valid([]byte(out)), "%s: %s", line, out)
	require.NotRegexp(s.t, `"[A-Z]\w*":`, out, line)
	require.NotContains(s.t, out, "0001-01-01", line)
}

const scripts = "workers:\n- {name: writer, run: [./write.sh]}\ngates:\n- [./check.sh]\n"

// scripted has a worker and a gate that are scripts; its gate refuses where the file broken is.
func (s *shell) scripted() {
	s.write("arc.yaml", scripts)
	s.write("write.sh", "#!/bin/sh\necho working >&2\necho did it\n")
	s.write("check.sh", "#!/bin/sh\ntest ! -e broken || { echo 'the test is red'; echo 'at line 7'; exit 1; }\n")
}

// planned is scripted with a planner, so that there is something to learn.
func (s *shell) planned() {
	s.scripted()
	s.write("arc.yaml", model(s.t, func(asked) any {
		return `{"reasoning":"so","complexity":"simple","approach":"write","tasks":[{"objective":"write",` +
			`"skill":"write"}]}`
	})+"planner: fake\n"+strings.Replace(scripts, "run:", "skills: [write], run:", 1))
}

// The eighteen commands of a task's agent and the eight of a learning one, with those of this program.
func TestCommands(t *testing.T) {
	everywhere(t, func(s *shell) {
		s.planned()
		s.write("skills/hello/SKILL.md", "---\nname: hello\ndescription: Says hello to whoever comes in and "+
			"wants to be greeted by somebody friendly.\nevery: 2h\n---\nSay hello.")
		s.write("skills/hello/cli.sh", "#!/bin/sh\necho hello $1; exit $2\n")
		s.write("skills/hello/sensor",
			"#!/bin/sh\necho '[{\"subject\": \"greet anna\", \"key\": \"anna\", \"priority\": 3}]'\n")
		s.write("templates/report.md",
			"---\nsubject: write the report\npriority: 2\nskills: [hello]\n---\nWith figures.\n")
		s.write("bin/systemctl", "#!/bin/sh\necho systemctl $*\n")
		s.env = append(s.env, "ARC_CREDS_PASSWORD=correct horse", "HOME="+s.path("home"), "PATH="+s.path("bin")+":"+
			os.Getenv("PATH"))
		s.all([]row{{"", 0, "no data"}})
		if s.served {
			s.serve("--workers=0", "--no-sensors")
		}
		s.all([]row{
			{"doctor", 0, "all is there"},
			{`do "collect the todos"`, 0, "did it"},
			{`do --text "collect the todos"`, 0, "learned: the plan fires"},
			{`do "collect the todos"`, 0, "by a learned plan, without asking"},
			{`think "collect the todos"`, 0, "by a learned plan"},
			{`think "collect the todos" --json`, 0, "tasks"},
			{`remember "the sky is blue over Lisbon"`, 0, "kept"},
			{"recall sky", 0, "(?P<memory>[0-9a-f]{6}) .*blue over Lisbon"},
			{`recall "sky" --json`, 0, "blue"},
			{"forget {memory}", 0, "forgotten [0-9a-f]{6}: the sky"},
			{"recall sky", 0, "nothing is known"},
			{"health", 0, "healthy: 3 of 3"},
			{"health --json", 0, "uplift"},
			{"status", 0, "healthy: 3 of 3"},
			{"status", 0, "this week learned plans: about 1 model calls saved"},
			{"status --json", 0, "today"},
			{"meta --session none", 0, "no tries"},
			{"chunk", 0, "1 plans are written"},
			{"chunk --read", 0, "0 plans were changed"},
			{"decay", 0, "archived, 0 runs are deleted"},
			{"consolidate", 0, "0 are merged"},
			{"costs", 0, `[0-9-]+ +2 +2200 +unknown +\$0.0028`},
			{"costs --by worker --json", 0, `"estimate_usd": 0.0028`},
			{"runs", 0, "(?P<run>[0-9a-f]{6}) +delivered .*collect the todos"},
			{"runs --json", 0, "collect the todos"},
			{"runs show", 0, "working"},
			{"runs show {run} --json", 0, `"kind": "fired"`},
			{`judge {run} --verdict "failed: it lacks two"`, 0, "counts as failed"},

			{"tasks", 0, "no tasks"},
			{"tasks add --template report", 0, "^(?P<task>[0-9a-f]{6}) priority 2: write the report"},
			{"tasks", 0, "{task}|[0-9a-f]{6} +2 +pending .*write the report"},
			{"tasks show {task}", 0, "priority 2"},
			{"tasks update --id {task} --priority 4", 0, "priority 4: write the report"},
			{"run", 0, "completed: did it"},
			{"cycles", 0, "write the report: did it"},
			{"cycles --json", 0, "completed"},
			{"tasks show {task} --json", 0, `"skills": \[`},
			{"run", 0, "no task is due"},
			{`tasks add --subject "never mind" --at 48h`, 0, "^(?P<never>[0-9a-f]{6})"},
			{`tasks close --id {never} --status failed --summary "not needed"`, 0, "failed"},
			{"tasks --status failed", 0, "never mind: not needed"},
			{"tasks update {never} --status pending", 0, "pending"},
			{"tasks close --id {never} --status done", 2, "completed or failed"},

			{"skills", 0, "hello +cli sensor +Says hello"},
			{"skills --json", 0, "hello"},
			{"skills show --name hello", 0, "Say hello."},
			{"skills run --name hello -- anna 7", 7, "^hello anna\n"},
			{"skills run hello", 0, "^hello *\n"},
			{"skills run hello -- bo 3", 3, "^hello bo\n"},
			{"sensors list", 0, "2h0m0s"},
			{"sensors", 0, "greet anna"},
			{"sensors", 0, "^$"},
			{"tasks", 0, "3 +pending .*greet anna"},

			{"creds set --service shop --key TOKEN --value s3cr3t-value", 0, "^$"},
			{"creds list", 0, "credential\nshop.TOKEN\n$"},
			{"creds", 0, "shop.TOKEN"},
			{"creds list --json", 0, "shop.TOKEN"},
			{"creds get --service shop --key TOKEN", 0, "^s3cr3t-value\n$"},
			{"creds unlock", 0, "right"},
			{"creds delete --service shop --key TOKEN", 0, "^$"},
			{"creds get --service shop --key TOKEN", 2, "arc creds list"},
			{"services", 0, "not installed"},
			{"services install", 0, "systemctl --user enable --now arc-"},
			{"services status", 0, "sensors.timer: installed\n"},
			{"--help", 0, "Serve an MCP client"},
			{"do --help", 0, "--situation"},
			{"tasks add --help", 0, "--template"},
			{"remember --help", 0, "--trigger"},
			{"serve --help", 0, "--web"},
			{"notes", 0, "collect the todos: done by a learned plan"},
		})
		require.NotContains(s.t, s.read(".arc/credentials.age"), "s3cr3t")
		units, err := filepath.Glob(s.path("home/.config/systemd/user/*"))
		require.NoError(s.t, err)
		require.Len(s.t, units, 3)
		require.Contains(s.t, s.read("home/.config/systemd/user/"+filepath.Base(units[0])),
			`PATH=`+s.path("bin")+":", "D9")
		s.env = append(s.env, "PATH="+s.path("bin")+":"+s.path("more")+":"+os.Getenv("PATH"))
		s.all([]row{{"services status", 0, "with another PATH"},
			{"services uninstall", 0, "systemctl --user disable --now"}, {"services status", 0, "not installed"}})
	})
}

// What cannot be printed is told, and the command has failed, also --help. The run is done all the same.
func TestFullDisk(t *testing.T) {
	beside(t, func(s *shell) {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			s.t.Skip(err)
		}
		defer full.Close()
		s.write("arc.yaml", "workers: [{name: a, run: [echo, hi]}]\n")
		if s.served {
			s.serve()
		}
		for _, args := range [][]string{{"do", "greet"}, {"runs", "--json"}, {"runs", "--help"}} {
			var errs bytes.Buffer
			cmd := exec.Command(os.Args[0], args...)
			cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.dir, append(os.Environ(), s.env...), full, &errs
			require.Error(s.t, cmd.Run())
			require.Equal(s.t, exitFailed, cmd.ProcessState.ExitCode(), args)
			require.Contains(s.t, errs.String(), "what was printed is lost: write /dev/stdout: no space left")
		}
		require.Contains(s.t, s.ok("runs"), "delivered")
	})
}

// Nothing but the first arc.yaml says what can stand in one: it names every field, and all of it can be used.
func TestFirstConfig(t *testing.T) {
	var c config
	uncommented := regexp.MustCompile("(?m)^#( *)([a-z-])").ReplaceAllString(firstConfig, "$1$2")
	require.NoError(t, yaml.Decode([]byte(uncommented), &c))
	require.NoError(t, c.check())
	for field, v := range reflect.ValueOf(c).Fields() {
		require.False(t, v.IsZero(), field.Name)
	}
	var named func(of reflect.Type)
	named = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct {
			return
		}
		for field := range of.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			require.Regexp(t, `\b`+name+`\b`, firstConfig)
			named(field.Type)
		}
	}
	named(reflect.TypeFor[config]())
}

// What is wrong with a command is said with the command that is right, and is exit code 2.
func TestUsage(t *testing.T) {
	s := newShell(t, "")
	s.all([]row{
		{"", exitUsage, "begin with arc init"},
		{"runs", exitUsage, "begin with arc init"},
		{"cost", exitUsage, "(?s)unknown command.*costs"},
		{"do --nonsense", exitUsage, "unknown flag"},
		{"tasks --id", exitUsage, "unknown flag"},
		{"creds get", exitUsage, "--service and --key"},
		{"init", 0, "wrote arc.yaml"},
		{"init", 0, "next: arc doctor"},
	})
	s.env = append(s.env, "OPENAI_API_KEY=")
	s.all([]row{
		{"do --input [1] x", exitUsage, "Inputs is no JSON object"},
		{"do anything", exitFailed, "OPENAI_API_KEY is not set: export OPENAI_API_KEY=…, or arc creds set"},
		{"doctor", exitFailed, "✗ model gpt-5-mini: OPENAI_API_KEY is not set"},
		{"do", exitUsage, "what is to be done"},
		{"remember", exitUsage, "arc remember"},
		{"forget 123456", exitUsage, "no memory"},
		{"meta", exitUsage, "--session NAME"},
		{"tasks add", exitUsage, "--subject"},
		{"tasks show xx", exitUsage, `no task "xx"`},
		{"tasks update", exitUsage, "which task"},
		{"approve", exitUsage, "which run"},
		{"answer", exitUsage, "which run"},
		{"resume", exitUsage, "which run"},
		{"cancel 123456", exitUsage, "no run"},
		{"judge", exitUsage, "which run"},
		{"skills show --name none", exitUsage, "no skill"},
		{"skills run --name none", exitUsage, "no skill|no command"},
		{"costs --by week", exitUsage, "it is day, worker or model"},
		{"do --skills nope x", exitUsage, `no skill "nope": arc skills`},
		{"do --skills nope --data {} x", exitUsage, "one or the other"},
		{"tasks add x --skills nope", exitUsage, `no skill "nope"`},
		{"do --usd -1 x", exitUsage, "a Budget is below 0"},
		{"do --usd NaN x", exitUsage, "a Budget is below 0"},
		{`do " "`, exitUsage, "what is to be done"},
		{"recall --limit -1 x", exitUsage, "negative"},
		{"tasks add x --at tomorrow", exitUsage, "a time such as 2026-11-30T08:00:00Z, or 90m"},
		{"tasks add x --priority 99", exitUsage, "not 1 to 10"},
		{"tasks --status foo", exitUsage, "it is pending, active"},
		{"runs --status foo", exitUsage, "it is running, waiting"},
		{"remember --type nope x", exitUsage, "it is fact, pattern, failure or rule"},
		{"notes", 0, "nothing is noted"},
		{"--version", 0, "arc version"},
		{"creds unlock", exitFailed, "ARC_CREDS_PASSWORD is not set"},
		{"--dir nowhere runs", exitFailed, "nowhere"},
		{"do --input nonsense x", exitUsage, "no JSON"},
	})
	s.write("arc.yaml", "workers:\n- name: a\n  run: [x]\n  modle: gated\n")
	s.fails(exitUsage, "arc.yaml: line 4: field modle not found\n", "runs")
	s.write("arc.yaml", "workers:\n- name: a\n  run: [x]\ngates: [go vet]\n")
	s.fails(exitUsage, "arc.yaml: line 4: `go vet`\nall that can stand in it is in the one that arc init", "runs")
}
