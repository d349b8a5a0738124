package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
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
	works(t, dir, "tasks", "update", "--id", later.ID, "--subject", "collect the todos", "--priority", "4")
	works(t, dir, "tasks", "close", "--id", call.ID, "--summary", "she knows")
	out := works(t, dir, "run", "--all")
	require.Contains(t, out, "found      note: look at the mail\n")
	require.Less(t, strings.Index(out, "task       note: look"), strings.Index(out, "task       collect the todos"))
	require.FileExists(t, filepath.Join(dir, "todo.md"))
	require.Contains(t, works(t, dir, "run"), "idle")
	done := decoded[[]task](t, dir, "tasks", "--status", "completed")
	require.Len(t, done, 3)
	require.Equal(t, []any{"call ada", "she knows", "human"}, []any{done[0].Subject, done[0].Summary, done[0].Source})
	require.Equal(t, []any{"collect the todos", 4}, []any{done[1].Subject, done[1].Priority})
	require.Equal(t, "sensor:inbox", done[2].Source)
	out, n := command(t, dir, "tasks", "close", "--id", call.ID, "--summary", "again")
	require.Equal(t, exitError, n, out)
	out, n = command(t, dir, "tasks", "add", "--subject", "x", "--priority", "11")
	require.Equal(t, exitUsage, n, out)
}

// What was approved elsewhere is done, once, and judged afterwards.
func TestApprovals(t *testing.T) {
	dir := made(t, "desk")
	out, n := command(t, dir, "do", "--text", "reply to 1002: we are on it", "--id", "answer")
	require.Equal(t, exitWaiting, n, out)
	require.Contains(t, out, "arc approve --run answer --attempt 1 --yes")
	require.Contains(t, works(t, dir, "approve"), "clerk")
	require.Contains(t, works(t, dir, "status"), "1 wait for a person")
	require.Contains(t, works(t, dir, "approve", "--run", "answer", "--yes", "--by", "ada"), "DELIVERED")
	require.FileExists(t, filepath.Join(dir, "outbox", "1002.txt"))
	out, n = command(t, dir, "approve", "--run", "answer", "--yes")
	require.Equal(t, exitUsage, n, out)
	works(t, dir, "judge", "--run", "answer", "--wrong", "--why", "it was another customer")
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
	require.Contains(t, works(t, dir, "memory", "history", "--id", string(is.ID)), "replaced   deploys are on Tuesday")
	require.Contains(t, works(t, dir, "memory", "why", "--text", "deploys", "--id", string(is.ID)), "number 1 of ")
	require.Contains(t, works(t, dir, "memory", "why-not", "--text", "deploys", "--id", string(was.ID)), "not among")
	works(t, dir, "memory", "trust", "--id", string(is.ID))
	out, n := command(t, dir, "memory", "forget", "--id", string(is.ID))
	require.Equal(t, exitUsage, n, out)
	works(t, dir, "memory", "forget", "--id", string(is.ID), "--yes")
	out, n = command(t, dir, "memory", "history", "--id", string(is.ID))
	require.Equal(t, exitError, n, out)
}

// An agent moves into another folder, by export and by backup.
func TestMoves(t *testing.T) {
	dir := made(t, "notes")
	works(t, dir, "do")
	works(t, dir, "identity", "add", "--text", "prefers tea")
	file := filepath.Join(t.TempDir(), "file")
	works(t, dir, "export", "--file", file)
	there := made(t, "notes")
	works(t, there, "import", "--file", file)
	require.Contains(t, works(t, there, "do"), "planner asked 0 times")
	require.Contains(t, works(t, there, "identity"), "prefers tea")
	works(t, dir, "backup", "--file", file)
	works(t, dir, "verify", "--file", file)
	out, n := command(t, there, "restore", "--file", file)
	require.Equal(t, exitUsage, n, out)
	fresh := made(t, "notes")
	works(t, fresh, "restore", "--file", file)
	require.Contains(t, works(t, fresh, "do"), "planner asked 0 times")
	works(t, fresh, "erase", "--scope", "local", "--yes")
	require.Contains(t, works(t, fresh, "do"), "planner asked 1 time")
	require.NoError(t, os.WriteFile(file, []byte("{}"), 0o600))
	out, n = command(t, dir, "verify", "--file", file)
	require.Equal(t, exitError, n, out)
	require.NotContains(t, out, store.ErrLocked.Error())
}
