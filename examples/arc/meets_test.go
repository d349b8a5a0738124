package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act/queue"
)

// What is called the wrong way changes nothing, says so, and ends with the code for it.
func TestWrongCallsDoNothing(t *testing.T) {
	dir := made(t, "notes")
	id := decoded[queue.Job](t, dir, "tasks", "add", "--subject", "collect").ID
	for want, calls := range map[string][][]string{
		"say what is to be done":             {{"do", "--text", ""}, {"do", "--text", "  "}},
		`must be one of "running","asking"`:  {{"runs", "--status", "nope"}, {"runs", "--status", ""}},
		`must be one of "failure","pattern"`: {{"memory", "list", "--kind", "nope"}},
		"say which run": {
			{"approve", "--yes"}, {"approve", "--no", "--note", "x"}, {"approve", "--attempt", "1"}, {"resume", "--answer", "x"},
		},
		"say what is to be changed": {
			{"tasks", "update", "--id", id}, {"tasks", "update", "--id", "nope"}, {"tasks", "update", "--id", id, "--note", "x"},
		},
		"can't be used together": {{"tasks", "update", "--id", id, "--park", "--requeue"}},
		"priority 11":            {{"tasks", "update", "--id", id, "--priority", "11"}},
		"K is -1":                {{"memory", "search", "--text", "x", "--k=-1"}},
		`service "a/b"`:          {{"creds", "set", "--service", "a/b", "--key", "c"}, {"creds", "get", "--service", "a/b", "--key", "c"}},
		"bad scope":              {{"erase", "--scope", "bad scope", "--yes"}},
	} {
		for _, args := range calls {
			out, n := command(t, dir, args...)
			require.Equal(t, exitUsage, n, "%v: %s", args, out)
			require.Contains(t, out, want, args)
		}
	}
	require.NoFileExists(t, filepath.Join(dir, "todo.md"))
	for text, want := range map[string]string{
		"name: x": "arc.yaml has no workers", "scope: bad scope": "arc.yaml: bad scope",
		"workers: [{name: x, gates: [[x]]}]": `worker "x" has no command to run`,
		"workers: [{name: x, run: [x]}]":     `or no gates: nothing would check`,
		"workers: [{name: x, run: [x], gates: [[x]]}]\nplans: [{name: p, tasks: [{do: p, worker: y}]}]":           `the worker "y", which is not there`,
		"workers: [{name: x, run: [x], gates: [[x]]}]\nplans: [{name: p, tasks: [{do: p, worker: x, skill: s}]}]": `lacks the skill "s"`,
		"workers: []\n---\nname: x": "arc.yaml: line 2: a second document", "name: x\n---\na: [": "line 3: did not find",
		"modle: x": "arc.yaml: line 1: field modle not found\n", "workers: [5]": "arc.yaml: line 1: this is a whole number `5`, and it does not belong here\n",
		"attempts: many": "this is text `many`, and a whole number belongs here\n", "try: {a: b}": "this is a group of fields, and text",
		"budget: 5": "this is a whole number `5`, and a group of fields belongs", "budget: {time: soon}": "`soon`, and a time such as 90s or 5m",
		"budget: {run: x}": "this is text `x`, and a number belongs", "knows: code": "this is text `code`, and a list",
		"goals: 5": "arc.yaml: line 1: cannot unmarshal !!int `5` as a list of goals", "name: x\n\n# of the world\ngoals:\n\n  - id: up\n\n    selektor: x": "line 8: field selektor not found",
		"attempts: -3": "are numbers from 0", "price: {out: .nan}": "are numbers from 0", "price: {in: -1}": "are numbers from 0", "budget: {day: -1}": "are numbers from 0",
	} {
		out, n := command(t, configured(t, text), "status")
		require.Equal(t, exitUsage, n, out)
		require.Contains(t, out, want)
	}
	out, n := command(t, configured(t, "workers: [{name: x, run: [x], gates: [[x]]}]"), "do", "--text", "x")
	require.Equal(t, exitBlocked, n, out)
	require.Contains(t, out, "arc.yaml has neither a model nor plans")
}

// An init that could not make all goes on where it was when it is called again.
func TestInitGoesOn(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "skills"), nil, 0o600)) // in the way, as a full disk is
	out, n := command(t, dir, "init")
	require.Equal(t, exitError, n, out)
	require.NoError(t, os.Remove(filepath.Join(dir, "skills")))
	works(t, dir, "init")
	require.Contains(t, works(t, dir, "do"), "DELIVERED")
}

// A file that is rewritten keeps its mode and its links, and what is no file is written to.
func TestFilesStayWhatTheyAre(t *testing.T) {
	dir := made(t, "notes")
	private, file := filepath.Join(t.TempDir(), "private.md"), filepath.Join(dir, "MEMORY.md")
	require.NoError(t, os.Rename(file, private))
	require.NoError(t, os.Chmod(private, 0o600))
	require.NoError(t, os.Symlink(private, file))
	require.Contains(t, works(t, dir, "do"), "1 line written")
	at, err := os.Lstat(file)
	require.NoError(t, err)
	require.NotZero(t, at.Mode()&os.ModeSymlink)
	at, err = os.Stat(private)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), at.Mode())
	text, err := os.ReadFile(private)
	require.NoError(t, err)
	require.Contains(t, string(text), "collect the todos")

	null := filepath.Join(t.TempDir(), "null")
	require.NoError(t, os.Symlink(os.DevNull, null))
	works(t, dir, "backup", "--file", null)
	at, err = os.Stat(null)
	require.NoError(t, err)
	require.False(t, at.Mode().IsRegular())
}

// Where only the store's lock cannot be made, it is said what to do.
func TestReadOnlyFolder(t *testing.T) {
	for _, cause := range []error{syscall.EROFS, syscall.EACCES} {
		err := unwritable(&fs.PathError{Op: "open", Path: "arc.lock", Err: cause})
		require.ErrorIs(t, err, cause)
		require.ErrorContains(t, err, "copy the folder, at rest, to where you may write")
	}
	require.Equal(t, io.EOF, unwritable(io.EOF))
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := made(t, "notes")
	require.NoError(t, os.Chmod(filepath.Join(dir, ".arc"), 0o500))
	defer os.Chmod(filepath.Join(dir, ".arc"), 0o700)
	out, n := command(t, dir, "status")
	require.Equal(t, exitError, n, out)
	require.Contains(t, out, "copy the folder, at rest, to where you may write")
}

// full is a device on which there is no room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// What could not be printed is an error.
func TestLostOutputIsSaid(t *testing.T) {
	dir := made(t, "notes")
	for _, args := range [][]string{{"runs"}, {"status"}, {"do"}, {"health"}} {
		var said strings.Builder
		s := &screen{in: strings.NewReader(""), out: full{}, err: &said}
		require.Equal(t, exitError, commandLine(t.Context(), s, append([]string{"--dir", dir}, args...)), args)
		require.Contains(t, said.String(), "no space left")
	}
}

// A person sees what an action is about before they allow it.
func TestApprovalsShowTheirInputs(t *testing.T) {
	dir := made(t, "desk")
	out, n := command(t, dir, "do", "--text", "reply to 1002: we are on it", "--id", "answer")
	require.Equal(t, exitWaiting, n, out)
	require.Contains(t, out, `"text":"we are on it"`)
	require.Contains(t, works(t, dir, "approve", "--run", "answer"), `"text":"we are on it"`)
}
