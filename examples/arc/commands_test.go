package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

// Every command has an example, which fits 80 columns; none takes arguments without a
// flag, but skills run.
func TestHelp(t *testing.T) {
	parser, err := kong.New(new(commands))
	require.NoError(t, err)
	dir := t.TempDir()
	for _, leaf := range parser.Model.Leaves(true) {
		args := strings.Fields(leaf.Path())
		out := works(t, dir, append(args, "--help")...)
		require.Contains(t, out, "Example:", args)
		var typed bytes.Buffer
		require.Zero(t, commandLine(t.Context(), &screen{out: &typed, err: &typed}, append([]string{"help"}, args...)))
		require.Equal(t, out, typed.String())
		for line := range strings.Lines(out) {
			require.LessOrEqual(t, len([]rune(line)), 81, line)
		}
		if leaf.Path() != "skills run" {
			require.Empty(t, leaf.Positional, args)
		}
	}
}

// decoded runs a command with --json.
func decoded[T any](t *testing.T, dir string, args ...string) (v T) {
	t.Helper()
	out := works(t, dir, append(args, "--json")...)
	require.NoError(t, json.Unmarshal([]byte(out), &v), out)
	return v
}

// All that only reads works on a new agent and on one that has worked, and prints JSON.
func TestReading(t *testing.T) {
	dir := made(t, "keeper")
	all := func() {
		for _, c := range []string{
			"status", "runs", "tasks", "tasks list --status completed", "skills", "sensors", "goals", "approve", "memory",
			"memory search --text repository", "identity", "identity --due", "health", "cost", "cost --by worker", "cost --by task",
			"proposals", "think --text status", "meta --session s", "chunk --session s", "decay", "consolidate", "verify",
		} {
			args := strings.Fields(c)
			works(t, dir, args...)
			decoded[any](t, dir, args...)
		}
	}
	all()
	works(t, dir, "do", "--session", "s")
	works(t, dir, "do", "--session", "s")
	all()
	require.Contains(t, works(t, dir, "meta", "--session", "s"), "2 of 2 succeeded")
	require.Contains(t, works(t, dir, "think", "--text", "say how the repository stands"), "would fire")
	require.Contains(t, works(t, dir, "skills", "show", "--name", "survey"), "name: survey")
	require.Contains(t, decoded[string](t, dir, "skills", "show", "--name", "survey"), "name: survey")
	out, n := command(t, dir, "skills", "show", "--name", "../../x")
	require.Equal(t, exitUsage, n, out)
	require.Contains(t, works(t, dir, "goals"), "met")
	require.NoError(t, os.Remove(filepath.Join(dir, "STATUS.md")))
	require.Contains(t, works(t, dir, "goals"), "violated")
}

// The life of tasks: by hand, by the agent, and by a sensor.
func TestTasks(t *testing.T) {
	dir := made(t, "notes")
	file := filepath.Join(dir, "arc.yaml")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	text = append(text, "\nsensors:\n  - {name: inbox, every: 1h, run: [echo, '{\"subject\": \"note: look at the mail\", \"priority\": 1}']}\n"...)
	require.NoError(t, os.WriteFile(file, text, 0o600))
	type task struct {
		ID, State, Subject, Source, Summary string
		Priority                            int
	}
	call := decoded[task](t, dir, "tasks", "add", "--subject", "call ada")
	later := decoded[task](t, dir, "tasks", "add", "--subject", "collect", "--priority", "7")
	out := works(t, dir, "tasks", "update", "--id", later.ID, "--subject", "collect the todos", "--priority", "4")
	require.Contains(t, out, "changed    "+later.ID)
	require.Contains(t, works(t, dir, "tasks", "close", "--id", call.ID, "--summary", "she knows"), "completed  "+call.ID)
	out = works(t, dir, "run", "--all")
	require.Contains(t, out, "found      note: look at the mail\n")
	require.Less(t, strings.Index(out, "task       note: look"), strings.Index(out, "task       collect the todos"))
	require.FileExists(t, filepath.Join(dir, "todo.md"))
	require.Contains(t, works(t, dir, "run"), "idle")
	require.Empty(t, decoded[[]task](t, dir, "run"))
	works(t, dir, "tasks", "add", "--text", "collect the todos again")
	worked := decoded[[]task](t, dir, "run")
	require.Len(t, worked, 1)
	require.Equal(t, "completed", worked[0].State)
	done := decoded[[]task](t, dir, "tasks", "--status", "completed")
	require.Len(t, done, 4)
	require.Equal(t, []any{"call ada", "she knows", "human"}, []any{done[0].Subject, done[0].Summary, done[0].Source})
	require.Equal(t, []any{"collect the todos", 4}, []any{done[1].Subject, done[1].Priority})
	require.Equal(t, "sensor:inbox", done[2].Source)
	out, n := command(t, dir, "tasks", "close", "--id", call.ID, "--summary", "again")
	require.Equal(t, exitError, n, out)
	out, n = command(t, dir, "tasks", "add", "--subject", "x", "--priority", "11")
	require.Equal(t, exitUsage, n, out)
}

// A task whose run asks, or is refused, says how to go on, and is taken up once a person has.
func TestTaskThatAPersonGoesOnWith(t *testing.T) {
	dir := made(t, "notes")
	works(t, dir, "tasks", "add", "--subject", "tidy up")
	out, n := command(t, dir, "run")
	require.Equal(t, exitWaiting, n, out)
	require.Contains(t, out, "Which one is meant")
	id := decoded[[]queue.Job](t, dir, "tasks")[0].ID
	require.Contains(t, out, "arc resume --run job/"+id+` --answer "TEXT"`)
	works(t, dir, "resume", "--run", "job/"+id, "--answer", "collect")
	require.Len(t, decoded[[]queue.Job](t, dir, "tasks", "list", "--status", "pending"), 1, "it is told, and arc run takes that in")
	works(t, dir, "run")
	require.Len(t, decoded[[]queue.Job](t, dir, "tasks", "list", "--status", "completed"), 1)

	t.Setenv("USER", "")
	t.Setenv("USERNAME", "")
	dir = made(t, "desk")
	works(t, dir, "tasks", "add", "--subject", "reply to 1002: we are on it")
	out, n = command(t, dir, "run")
	require.Equal(t, exitWaiting, n, out)
	id = decoded[[]queue.Job](t, dir, "tasks")[0].ID
	require.Contains(t, out, "arc approve --run job/"+id+" --yes")
	_, n = command(t, dir, "approve", "--run", "job/"+id, "--no")
	require.Equal(t, exitBlocked, n)
	out, n = command(t, dir, "run")
	require.Equal(t, exitError, n, out)
	require.Contains(t, works(t, dir, "tasks", "--status", "blocked"), "approval was refused by a person")

	works(t, dir, "tasks", "add", "--subject", "reply to 1001: it is up again")
	out, n = command(t, dir, "run")
	require.Equal(t, exitWaiting, n, out)
	id = decoded[[]queue.Job](t, dir, "tasks", "--status", "pending")[0].ID
	works(t, dir, "approve", "--run", "job/"+id, "--yes")
	works(t, dir, "run")
	require.Contains(t, works(t, dir, "tasks", "--status", "completed"), "it is up again (outbox/1001.txt)")
}

// The run of a task that is closed by hand asks no person any more, and does nothing; nor does
// one that is given up.
func TestWhatIsGivenUp(t *testing.T) {
	dir := made(t, "desk")
	works(t, dir, "tasks", "add", "--subject", "reply to 1002: we are on it")
	out, n := command(t, dir, "run")
	require.Equal(t, exitWaiting, n, out)
	id := decoded[[]queue.Job](t, dir, "tasks")[0].ID
	works(t, dir, "tasks", "close", "--id", id, "--summary", "ada has called them")
	require.Contains(t, works(t, dir, "approve"), "none")
	require.Contains(t, works(t, dir, "resume"), "nothing to go on with")

	out, n = command(t, dir, "do", "--text", "reply to 1002: we are on it", "--id", "answer")
	require.Equal(t, exitWaiting, n, out)
	out, n = command(t, dir, "drop", "--run", "answer")
	require.Equal(t, exitUsage, n, out)
	require.Contains(t, out, `Give up "reply to 1002: we are on it"? Say --yes`)
	require.Contains(t, works(t, dir, "drop", "--run", "answer", "--yes"), "dropped    answer")
	require.Contains(t, works(t, dir, "approve"), "none")
	out, n = command(t, dir, "drop", "--run", "answer", "--yes")
	require.Equal(t, exitError, n, out)
	require.NoDirExists(t, filepath.Join(dir, "outbox"))
	works(t, dir, "tasks", "add", "--subject", "triage the tickets")
	works(t, dir, "run")
	done := decoded[[]queue.Job](t, dir, "tasks", "--status", "completed")
	require.NotEmpty(t, done[1].Summary, "what is delivered is not undone")
}

// A skill that there is not is a mistake.
func TestUnknownSkills(t *testing.T) {
	dir := made(t, "notes")
	for _, args := range [][]string{{"do", "--skill", "nosuch"}, {"tasks", "add", "--subject", "x", "--skill", "todos,nosuch"}} {
		out, n := command(t, dir, args...)
		require.Equal(t, exitError, n, out)
		require.Contains(t, out, `no skill is called "nosuch": arc skills list`)
	}
	require.Contains(t, works(t, dir, "tasks"), "none")
	require.Contains(t, works(t, dir, "do", "--skill", "todos"), "DELIVERED")
}

// What was approved elsewhere is done, once, and judged afterwards.
func TestApprovals(t *testing.T) {
	dir := made(t, "desk")
	out, n := command(t, dir, "do", "--text", "reply to 1002: we <b> & \\u003c are on it", "--id", "answer")
	require.Contains(t, out, `"text":"we <b> & \\u003c are on it"`)
	require.Equal(t, exitWaiting, n, out)
	require.Contains(t, out, "arc approve --run answer --attempt 1 --yes")
	require.Contains(t, works(t, dir, "approve", "--run", "answer"), "arc approve --run answer --attempt 1 --no")
	require.Contains(t, works(t, dir, "approve"), "clerk")
	require.Contains(t, works(t, dir, "status"), "1 waits for a person: arc approve")
	require.Contains(t, works(t, dir, "approve", "--run", "answer", "--yes", "--by", "ada"), "DELIVERED")
	require.FileExists(t, filepath.Join(dir, "outbox", "1002.txt"))
	out, n = command(t, dir, "approve", "--run", "answer", "--yes")
	require.Equal(t, exitError, n, out)
	require.Contains(t, works(t, dir, "judge", "--run", "answer", "--wrong", "--why", "it was another customer"), "judged     answer")
	out, n = command(t, dir, "judge", "--run", "answer")
	require.Equal(t, exitUsage, n, out)
}

// Facts are added, found, worded anew, vouched for, and forgotten.
func TestMemory(t *testing.T) {
	dir := made(t, "notes")
	was := decoded[memory.Receipt](t, dir, "memory", "add", "--text", "deploys are on Tuesday")
	is := decoded[memory.Receipt](t, dir, "memory", "edit", "--id", string(was.ID), "--text", "deploys are on Friday")
	hits := decoded[[]memory.Hit](t, dir, "memory", "search", "--text", "when are deploys?")
	require.Equal(t, is.ID, hits[0].Record.ID)
	require.Len(t, hits, 1)
	require.Contains(t, works(t, dir, "memory"), string(was.ID)+"  fact  replaced  deploys are on Tuesday\n")
	require.Contains(t, works(t, dir, "memory", "history", "--id", string(is.ID)), "replaced   deploys are on Tuesday")
	require.Contains(t, works(t, dir, "memory", "why", "--text", "deploys", "--id", string(is.ID)), "found      rank 1 of ")
	require.Contains(t, works(t, dir, "memory", "why-not", "--text", "deploys", "--id", string(was.ID)), "not found  ")
	require.Contains(t, works(t, dir, "memory", "trust", "--id", string(is.ID)), "trusted    "+string(is.ID))
	out, n := command(t, dir, "memory", "forget", "--id", string(is.ID))
	require.Equal(t, exitUsage, n, out)
	text := works(t, dir, "memory", "forget", "--id", string(is.ID), "--yes")
	require.Contains(t, text, "forgotten  "+string(is.ID))
	require.Contains(t, text, "holds now  deploys are on Tuesday\n", "what it had replaced")
	out, n = command(t, dir, "memory", "history", "--id", string(is.ID))
	require.Equal(t, exitError, n, out)
}

// A pipe is a file.
func TestMovesByPipe(t *testing.T) {
	dir, there := made(t, "notes"), made(t, "notes")
	works(t, dir, "identity", "add", "--text", "prefers tea")
	t.Chdir(t.TempDir())
	pipe := func(in, dir string, args ...string) string {
		var out, says bytes.Buffer
		n := commandLine(t.Context(), &screen{in: strings.NewReader(in), out: &out, err: &says}, append([]string{"--dir", dir}, args...))
		require.Zero(t, n, "%s", &says)
		return out.String()
	}
	pipe(pipe("", dir, "export", "--file", "-"), there, "import", "--file", "-")
	require.Contains(t, works(t, there, "identity"), "prefers tea")
	kept := pipe("", dir, "backup", "--file", "-")
	pipe(kept, dir, "verify", "--file", "-")
	require.NoFileExists(t, "-")
}

// A scope of which there is nothing is said to be: it may be another's name, mistyped.
func TestNothingToErase(t *testing.T) {
	dir := made(t, "notes")
	works(t, dir, "identity", "add", "--text", "prefers tea")
	out, n := command(t, dir, "erase", "--scope", "lokal", "--yes")
	require.Equal(t, exitError, n, out)
	require.Contains(t, out, "nothing was kept of lokal")
	require.Contains(t, works(t, dir, "identity"), "prefers tea")
	file := filepath.Join(t.TempDir(), "file")
	out, n = command(t, dir, "export", "--scope", "lokal", "--file", file)
	require.Equal(t, exitError, n, out)
	require.NoFileExists(t, file)
	away := filepath.Join(file, "away", "file")
	out, n = command(t, dir, "export", "--scope", "local", "--file", away)
	require.Equal(t, exitError, n, out)
	require.Contains(t, out, away+": ")
	require.Contains(t, works(t, dir, "export", "--scope", "local", "--file", file), "written    local")
	require.NotContains(t, works(t, dir, "export", "--scope", "local", "--file", "-"), "written")
	require.Contains(t, works(t, dir, "erase", "--scope", "local", "--yes"), "erased     local")
	out, n = command(t, dir, "erase", "--scope", "local/anna", "--yes")
	require.Equal(t, exitError, n, out)
}

// An agent moves into another folder, by export and by backup.
func TestMoves(t *testing.T) {
	dir := made(t, "notes")
	works(t, dir, "identity", "add", "--text", "prefers tea") // what is new after the plan is told to the planner
	works(t, dir, "do")
	file := filepath.Join(t.TempDir(), "file")
	works(t, dir, "export", "--file", file)
	there := made(t, "notes")
	works(t, there, "import", "--file", file)
	require.Contains(t, works(t, there, "do"), "planner asked 0 times")
	require.Contains(t, works(t, there, "identity"), "prefers tea")
	works(t, dir, "backup", "--file", file)
	works(t, dir, "verify", "--file", file)
	out, n := command(t, there, "restore", "--file", file)
	require.Equal(t, exitError, n, out)
	fresh := made(t, "notes")
	works(t, fresh, "restore", "--file", file)
	require.Contains(t, works(t, fresh, "do"), "planner asked 0 times")
	works(t, fresh, "erase", "--scope", "local", "--yes")
	require.Contains(t, works(t, fresh, "do"), "planner asked 1 time")
	out, n = command(t, fresh, "import", "--file", file)
	require.Equal(t, exitError, n, out)
	require.Contains(t, out, "a backup is put back by arc restore")
	works(t, dir, "export", "--file", file)
	out, n = command(t, made(t, "notes"), "restore", "--file", file)
	require.Equal(t, exitError, n, out)
	require.Contains(t, out, "an export is taken in by arc import")
	require.NoError(t, os.WriteFile(file, []byte("{}"), 0o600))
	out, n = command(t, dir, "verify", "--file", file)
	require.Equal(t, exitError, n, out)
	require.NotContains(t, out, store.ErrLocked.Error())
}

// What is shown of a finished run is that run, and no other objective is said to be delivered.
func TestDoOfAFinishedRunTellsThatRun(t *testing.T) {
	dir := made(t, "notes")
	works(t, dir, "do", "--text", "note: hello", "--id", "r1")
	out := works(t, dir, "do", "--id", "r1")
	require.Contains(t, out, "note: hello", "its objective")
	require.NotContains(t, out, "collect the todos")
	out, n := command(t, dir, "do", "--id", "r1", "--text", "write down something else")
	if n == 0 {
		require.NotContains(t, out, "write down something else", "nothing of that was done")
	}
}

// A plan that takes its inputs from the words of an objective is not begun by its name alone.
func TestPlanThatNeedsWords(t *testing.T) {
	dir := made(t, "notes")
	out, n := command(t, dir, "do", "--text", "tidy up", "--id", "tidy")
	require.Equal(t, exitWaiting, n, out)
	out, n = command(t, dir, "resume", "--run", "tidy", "--answer", "jot down")
	require.Equal(t, exitWaiting, n, out)
	require.Contains(t, out, `That plan takes its inputs from the words, so say them: \b(?:note|`)
	require.Contains(t, works(t, dir, "resume", "--run", "tidy", "--answer", "note: tidy up"), "DELIVERED")
}

// A note on a blocked run is no other objective, though it may have the words of a plan.
func TestNoteIsNoObjective(t *testing.T) {
	dir := configured(t, `
workers: [{name: x, run: [sh, -c, "echo $INPUT_DO; test -e net"], gates: [["true"]]}]
plans:
  - {name: push, when: push, tasks: [{do: push, worker: x, inputs: {do: pushed}}]}
  - {name: check, when: tests, tasks: [{do: check, worker: x, inputs: {do: checked}}]}`)
	for id, text := range map[string]string{"said": "push", "asked": "ship it"} {
		out, n := command(t, dir, "do", "--id", id, "--text", text)
		if id == "asked" {
			require.Equal(t, exitWaiting, n, out)
			out, n = command(t, dir, "resume", "--run", id, "--answer", "push")
		}
		require.Equal(t, exitBlocked, n, out)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "net"), nil, 0o600))
	for id, note := range map[string]string{"said": "the network is back", "asked": "the tests pass now"} {
		require.Contains(t, works(t, dir, "resume", "--run", id, "--note", note), "made       pushed", id)
	}
}

// A task of a worker is no other's, whose gates know nothing of it.
func TestPlanKeepsToItsWorker(t *testing.T) {
	dir := configured(t, `
workers:
  - {name: x, run: ["false"], gates: [["true"]]}
  - {name: other, run: ["true"], gates: [["true"]], skills: [odd]}
plans:
  - {name: go, when: go, tasks: [{do: go, worker: x}, {do: go on, worker: x}]}
  - {name: any, when: any, tasks: [{do: it}]}`)
	out, n := command(t, dir, "do", "--text", "go")
	require.Equal(t, exitBlocked, n, out)
	require.NotContains(t, out, "by other")
	require.Contains(t, works(t, dir, "do", "--text", "any"), "by other")
}

// How an attempt has failed is said once.
func TestFailureIsSaid(t *testing.T) {
	out, n := command(t, configured(t, `
workers: [{name: x, run: ["false"], gates: [["true"]]}]
plans: [{name: go, when: go, tasks: [{do: go, worker: x, verify: it went}]}]`), "do", "--text", "go")
	require.Equal(t, exitBlocked, n, out)
	require.Contains(t, out, "\nfailed     exit status 1\n")
}

// 2 is a call that is never right, 1 one that did not end well.
func TestExitCodes(t *testing.T) {
	t.Setenv("ARC_CREDS_FILE", filepath.Join(t.TempDir(), "creds.age"))
	t.Setenv("ARC_CREDS_PASSWORD", "tell nobody")
	dir := made(t, "notes")
	for want, calls := range map[int][]string{
		exitError: {
			"approve --run x", "approve --run x --yes", "creds get --service x --key y", "skills show --name x", "skills run --name x", "judge --run x --right",
			"resume --run x", "memory trust --id x", "proposals --approve x", "tasks close --id x --summary y", "identity reject --id x",
		},
		exitUsage: {
			"memory add --text=", "identity add --text=", "tasks add --subject=", "do --text=", "think --text=", "erase --scope x",
			"skills show --name ../x", "tasks add --subject x --cron bad", "judge --run x", "resume --answer x",
		},
	} {
		for _, call := range calls {
			out, n := command(t, dir, strings.Fields(call)...)
			require.Equal(t, want, n, "%s: %s", call, out)
			require.NotEmpty(t, out, call)
		}
	}
}

// A cycle whose task did not end well says so.
func TestRunFails(t *testing.T) {
	dir := configured(t, `
workers: [{name: w, run: ["true"], gates: [["false"]]}]
plans: [{name: p, when: .*, tasks: [{do: it, worker: w}]}]`)
	works(t, dir, "tasks", "add", "--subject", "do it")
	out, n := command(t, dir, "run")
	require.Equal(t, exitError, n, out)
	require.Contains(t, out, "rejected   by false")
}

// A task that waits for a person is no failure.
func TestRunWaits(t *testing.T) {
	dir := made(t, "desk")
	works(t, dir, "tasks", "add", "--subject", "reply to 1002: we are on it")
	out, n := command(t, dir, "run")
	require.Equal(t, exitWaiting, n, out)
}

// A sensor or a domain that prints without end is ended, and named.
func TestWhatPrintsWithoutEnd(t *testing.T) {
	dir := configured(t, `
workers: [{name: w, run: ["true"], gates: [["true"]]}]
sensors: [{name: mail, every: 1h, run: [cat, /dev/zero]}]
world: [{domain: disk, run: [cat, /dev/zero]}]`)
	out, n := command(t, dir, "run")
	require.Equal(t, exitError, n)
	require.Contains(t, out, "sensor mail: ")
	require.Contains(t, out, "prints more than 1048576 bytes")
	works(t, dir, "goals")
}

// A task that ctrl-C breaks off is the next again, and has spent no attempt: the third would fail it.
func TestRunThatIsBrokenOff(t *testing.T) {
	dir := configured(t, `
workers: [{name: w, run: [sh, -c, "> began; exec sleep 60"], gates: [["true"]]}]
plans: [{name: p, when: .*, tasks: [{do: it, worker: w}]}]`)
	works(t, dir, "tasks", "add", "--subject", "do it")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() {
		ended <- commandLine(ctx, &screen{in: strings.NewReader(""), out: io.Discard, err: io.Discard}, []string{"--dir", dir, "run"})
	}()
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(dir, "began"))
		return err == nil
	}, 30*time.Second, time.Millisecond)
	cancel()
	require.Equal(t, exitInterrupted, <-ended)
	j := decoded[[]queue.Job](t, dir, "tasks")[0]
	require.Equal(t, queue.Pending, j.State)
	require.Zero(t, j.Attempts)
	require.False(t, j.At.After(time.Now()))
}

// silent is an input on which nothing comes, and that says so.
type silent chan struct{}

func (s silent) Read([]byte) (int, error) {
	close(s)
	select {}
}

// ctrl-C ends a command that waits for its input.
func TestInterruptEndsReading(t *testing.T) {
	t.Setenv("ARC_CREDS_FILE", filepath.Join(t.TempDir(), "creds.age"))
	t.Setenv("ARC_CREDS_PASSWORD", "a long word")
	dir := made(t, "notes")
	for _, args := range [][]string{{"verify", "--file", "-"}, {"import", "--file", "-"}, {"creds", "set", "--service", "x", "--key", "y"}} {
		ctx, cancel := context.WithCancel(t.Context())
		in := make(silent)
		go func() { <-in; cancel() }()
		s := &screen{in: in, out: io.Discard, err: io.Discard}
		require.Equal(t, exitInterrupted, commandLine(ctx, s, append([]string{"--dir", dir}, args...)), args)
	}
}

// A text that holds a secret is not kept: its run is begun anew, and is not said to be another's.
func TestSecretInAText(t *testing.T) {
	dir := made(t, "desk")
	do := []string{"do", "--id", "s", "--text", "reply to 1002: my password is hunter2"}
	out, n := command(t, dir, do...)
	require.Equal(t, exitWaiting, n, out)
	out, n = command(t, dir, do...)
	require.Equal(t, exitBlocked, n, out)
	require.Contains(t, out, "begin it anew, without the secret")
	out, n = command(t, dir, "do", "--id", "s", "--text", "reply to 1001: no")
	require.Equal(t, exitUsage, n, out)
}

// A list says of a task when it is due, and nothing is said of what a worker has not printed.
func TestWhatIsNotSaid(t *testing.T) {
	dir := configured(t, `
workers: [{name: w, run: ["true"], gates: [["true"]]}]
plans: [{name: p, when: .*, tasks: [{do: it, worker: w}]}]`)
	require.NotContains(t, works(t, dir, "do", "--text", "x"), "\nmade")
	works(t, dir, "tasks", "add", "--subject", "now")
	works(t, dir, "tasks", "add", "--subject", "later", "--in", "1h")
	out := works(t, dir, "tasks")
	require.Contains(t, out, "later (due ")
	require.NotContains(t, out, "now (")
}

// What a goal asks for is mended by the worker that says so, or it is said why not.
func TestGoalsAreKept(t *testing.T) {
	dir := made(t, "keeper")
	out, n := command(t, dir, "goals", "--keep")
	require.Zero(t, n, out)
	require.Contains(t, out, "passed")
	require.Contains(t, out, "met")
	require.FileExists(t, filepath.Join(dir, "STATUS.md"))
	dir = made(t, "keeper")
	file := filepath.Join(dir, "arc.yaml")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, bytes.Replace(text, []byte("path: data.surveyed"), []byte("path: data.other"), 1), 0o600))
	out, n = command(t, dir, "goals", "--keep")
	require.Equal(t, exitError, n, out)
	require.Contains(t, out, "not mended")
	require.Contains(t, out, "no action changes domains.repo.data.surveyed")
	var v []goal.Verdict
	out, _ = command(t, dir, "goals", "--json")
	require.NoError(t, json.Unmarshal([]byte(out), &v), out)
	require.False(t, v[0].At.After(time.Now()), "a reading is of now")
}

// What is wrong with MEMORY.md is said once, and is no part of JSON.
func TestUnreadableMemoryFile(t *testing.T) {
	dir := made(t, "notes")
	require.NoError(t, os.Remove(filepath.Join(dir, "MEMORY.md")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "MEMORY.md"), 0o700))
	require.Equal(t, 1, strings.Count(works(t, dir, "do"), "is a directory"))
	var out, said bytes.Buffer
	s := &screen{in: strings.NewReader(""), out: &out, err: &said}
	require.Zero(t, commandLine(t.Context(), s, []string{"--dir", dir, "--json", "do"}))
	require.True(t, json.Valid(out.Bytes()), out.String())
	require.Equal(t, 1, strings.Count(said.String(), "is a directory"))
}

// A command that is to be copied does in a shell what it says, from any folder.
func TestCommandsToCopy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a désk")
	works(t, dir, "init", "--template", "desk")
	out, n := command(t, dir, "do", "--text", "reply to 1002: no", "--id", "ada's $(touch x)")
	require.Equal(t, exitWaiting, n, out)
	require.Contains(t, out, `  arc approve --run 'ada'\''s $(touch x)' --attempt 1 --yes --dir '`+dir+"'\n")
	require.NotContains(t, out, "arc resume", "which would only say the same")
	out, n = command(t, dir, "approve", "--run", "ada's $(touch x)", "--no")
	require.Equal(t, exitBlocked, n, out)
	require.Contains(t, out, `  arc resume --run 'ada'\''s $(touch x)' --note "TEXT" --dir '`+dir+"'\n")
}

// Of several runs each says what is wrong with it.
func TestResumeSeveral(t *testing.T) {
	dir := made(t, "notes")
	for _, id := range []string{"one", "two"} {
		_, n := command(t, dir, "do", "--id", id, "--text", "tidy up")
		require.Equal(t, exitWaiting, n)
	}
	out, n := command(t, dir, "resume")
	require.Equal(t, exitWaiting, n)
	require.Contains(t, out, "--run one")
	require.Contains(t, out, "--run two")
	require.Equal(t, 2, strings.Count(out, "objective  tidy up"), "what follows is said of which run")
	require.Equal(t, 2, strings.Count(works(t, dir, "runs", "--status", "asking"), "tidy up (No plan in arc.yaml has these words."))
	for _, left := range []int{2, 1, 0} {
		out, n := command(t, dir, "resume", "--json")
		require.Equal(t, left == 0, n == exitDone, out)
		var all []arc.Report
		require.NoError(t, json.Unmarshal([]byte(out), &all), out)
		require.Len(t, all, left)
		if left > 0 {
			works(t, dir, "resume", "--run", all[0].ID, "--answer", "collect")
		}
	}
}

// A bad number is the caller's mistake, and no panic.
func TestNegativeLimits(t *testing.T) {
	dir := made(t, "notes")
	works(t, dir, "do")
	for _, args := range [][]string{
		{"memory", "list", "--limit=-1"}, {"tasks", "list", "--limit=-1"}, {"runs", "--limit=-1"}, {"cost", "--days=-1"}, {"cost", "--days=0"},
		{"cost", "--days=9223372036854775807"}, {"tasks", "add", "--subject=x", "--priority=0"}, {"tasks", "add", "--subject=x", "--in=-5h"},
	} {
		require.NotPanics(t, func() {
			out, n := command(t, dir, args...)
			require.Equal(t, exitUsage, n, "%v: %s", args, out)
		})
	}
}

// No limit is no fault, however it is said.
func TestLimits(t *testing.T) {
	dir := made(t, "notes")
	works(t, dir, "do")
	works(t, dir, "tasks", "add", "--subject", "look")
	for _, list := range [][]string{{"memory", "list"}, {"tasks", "list"}, {"runs"}} {
		require.NotContains(t, works(t, dir, append(list, "--limit=9")...), "lists all")
	}
	works(t, dir, "do")
	works(t, dir, "tasks", "add", "--subject", "look again")
	for _, list := range [][]string{{"memory", "list"}, {"tasks", "list"}, {"runs"}} {
		require.Contains(t, works(t, dir, append(list, "--limit=1")...), "there are more: --limit 0 lists all")
	}
	for _, limit := range []string{"--limit=0", "--limit=18446744073709551615"} {
		require.Len(t, decoded[[]any](t, dir, "runs", limit), 2)
		require.Contains(t, works(t, dir, "memory", "list", limit), "pattern")
		require.Contains(t, works(t, dir, "tasks", "list", limit), "look")
	}
}

// A word that is none of those listed is the caller's mistake.
func TestUnknownStatesAreSaid(t *testing.T) {
	dir := made(t, "notes")
	for _, args := range [][]string{{"tasks", "list", "--status", "foo"}, {"memory", "list", "--kind", "foo"}} {
		out, n := command(t, dir, args...)
		if n == 0 {
			t.Errorf("%v: %s", args, out)
		}
	}
}

// No message shows how the store names its keys, or a nil.
func TestMessagesAreForPeople(t *testing.T) {
	dir := made(t, "notes")
	for _, args := range [][]string{{"resume", "--run", "nope"}, {"resume", "--note", "x"}, {"verify", "--file", dir + "/MEMORY.md"}, {"tasks", "close", "--id", "nope", "--summary", "x"}} {
		out, _ := command(t, dir, args...)
		if strings.Contains(out, `\x00`) || strings.Contains(out, "<nil>") {
			t.Errorf("%v: %s", args, out)
		}
	}
}

// A number in the environment of a command is the number of the inputs.
func TestNumbersInTheEnvironment(t *testing.T) {
	for _, n := range []string{"1000000", "12345678", "9007199254740993", "0.00001", "-5", "1.50"} {
		cmd := (&program{argv: []string{"true"}}).command(json.RawMessage(`{"order":` + n + `}`))
		if want := "INPUT_ORDER=" + n; len(cmd.Env) != 1 || cmd.Env[0] != want {
			t.Errorf("%v, not %s", cmd.Env, want)
		}
	}
}

// A chunk that is said in other words goes on firing.
func TestEditedPatternStillFires(t *testing.T) {
	dir := made(t, "notes")
	works(t, dir, "do")
	var all []struct{ ID, Kind string }
	require.NoError(t, json.Unmarshal([]byte(works(t, dir, "--json", "memory", "list", "--kind", "pattern")), &all))
	require.Len(t, all, 1)
	require.Contains(t, works(t, dir, "do"), "planner asked 0 times")
	works(t, dir, "memory", "edit", "--id", all[0].ID, "--text", "Collect the todos by the collector, as ever.")
	require.Contains(t, works(t, dir, "do"), "planner asked 0 times", "the plan is what it was")
}

// What a run asks can be answered where there is no terminal.
func TestQuestionsCanBeAnsweredInAPipe(t *testing.T) {
	dir := made(t, "notes")
	out, n := command(t, dir, "do", "--id", "q", "--text", "frobnicate the moon")
	require.Equal(t, exitWaiting, n, out)
	help := works(t, dir, "resume", "--help")
	if !strings.Contains(help, "--answer") {
		t.Error("no command answers a run that asks: arc resume asks again")
	}
}
