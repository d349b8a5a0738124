package notebook_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/contrib/notebook"
	"github.com/arc-learn/arc/store"
)

// agent has a worker that fails where the objective says so.
func agent(t *testing.T, n *notebook.Notebook) *arc.Agent {
	w := act.Worker{Name: "w", Gates: []act.Gate{act.NoGate},
		Executor: act.ExecutorFunc(func(_ context.Context, c *act.Call) (*act.Result, error) {
			if strings.Contains(c.Task.Objective, "fail") {
				return nil, errors.New("the disk\nis full")
			}
			return &act.Result{Text: "done"}, nil
		})}
	a, err := arc.New(t.Context(), store.NewMem(), arc.Host{Workers: []act.Worker{w}},
		&arc.Options{OnEvent: n.OnEvent, Attempts: 1})
	require.NoError(t, err)
	t.Cleanup(func() { a.Close() })
	return a
}

func write(t *testing.T, file, text string, age time.Duration) {
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	at := time.Now().Add(-age)
	require.NoError(t, os.Chtimes(file, at, at))
}

func TestWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "MEMORY.md")
	n := notebook.New(file)
	a := agent(t, n)
	run := func() {
		_, err := a.Run(t.Context(), arc.Objective{Text: "fail to copy"})
		require.NoError(t, err)
	}
	read := func() string { text, err := notebook.Read(file); require.NoError(t, err); return text }
	run()
	line := "- " + time.Now().Format(time.DateOnly) + " [FLAG] fail to copy: "
	write(t, file, "# Mine\n\n## Learned\n- old\n\n## Later\nmore\n", 0)
	require.NoError(t, n.Write(t.Context(), a, time.Minute))
	require.NotContains(t, read(), line, "a person has it open")
	require.NoError(t, n.Write(t.Context(), a, 0))
	require.True(t, strings.HasPrefix(read(), "# Mine\n\n## Learned\n- old\n"+line), read())
	require.True(t, strings.HasSuffix(read(), "\n\n## Later\nmore\n"), read())
	once := read()
	run()
	require.NoError(t, n.Write(t.Context(), a, 0))
	require.Equal(t, once, read(), "no line twice")
	for _, in := range []string{`{"n":1}`, `{"n":2}`} {
		done, err := a.Run(t.Context(), arc.Objective{Text: "copy", Inputs: json.RawMessage(in)})
		require.NoError(t, err)
		n.OnEvent("", done.ID, arc.Event{Kind: "learned"})
		require.NoError(t, n.Write(t.Context(), a, 0))
	}
	require.Equal(t, 1, strings.Count(read(), " copy: done by a learned plan"), "learned anew with other inputs")

	require.NoError(t, os.Remove(file))
	run()
	require.NoError(t, os.Mkdir(file, 0o755))
	require.Error(t, n.Write(t.Context(), a, 0))
	require.NoError(t, os.Remove(file))
	require.NoError(t, n.Write(t.Context(), a, time.Minute), "what could not be written is written later")
	require.True(t, strings.HasPrefix(read(), "## Learned\n\n"+line), read())

	for before, begins := range map[string]string{
		"# Mine\r\n\r\n## Learned\r\n- old\r\n\r\n## Later\r\nmore\r\n": "# Mine\r\n\r\n## Learned\r\n- old\r\n" + line,
		"# Mine\r\n":                      "# Mine\r\n\r\n## Learned\r\n\r\n" + line,
		"# Mine\r\n\n## Learned\n- old\n": "# Mine\r\n\n## Learned\n- old\n" + line,
	} {
		write(t, file, before, time.Hour)
		run()
		require.NoError(t, n.Write(t.Context(), a, 0))
		require.True(t, strings.HasPrefix(read(), begins), "%q", read())
		if strings.Contains(before, "Later") {
			require.True(t, strings.HasSuffix(read(), "\r\n\r\n## Later\r\nmore\r\n"), "%q", read())
		}
	}

	own := filepath.Join(filepath.Dir(file), "own.md")            // where a person keeps it, for themselves
	write(t, own, "# Own\n"+strings.Repeat("\n", 500), time.Hour) // it gets shorter
	require.NoError(t, errors.Join(os.Chmod(own, 0o600), os.Remove(file), os.Symlink(own, file)))
	run()
	require.NoError(t, n.Write(t.Context(), a, 0))
	data, err := os.ReadFile(own)
	require.NoError(t, err)
	require.Contains(t, string(data), line)
	require.False(t, strings.HasSuffix(string(data), "\n\n"), "nothing of the former text is left behind the new one")
	info, err := os.Stat(own)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())

	utf16 := "\xff\xfeM\x00"
	write(t, file, utf16, time.Hour)
	run()
	require.ErrorContains(t, n.Write(t.Context(), a, 0), "not UTF-8")
	data, err = os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, utf16, string(data))
}

func TestCommit(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+name+"_NAME", "arc")
		t.Setenv("GIT_"+name+"_EMAIL", "arc@example.com")
	}
	git := func(args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		require.NoError(t, err)
		return strings.TrimSpace(string(out))
	}
	n := notebook.New(filepath.Join(dir, "MEMORY.md"))
	write(t, filepath.Join(dir, "MEMORY.md"), "one", 0)
	require.NoError(t, n.Commit(t.Context(), time.Now()))
	git("init", "-q")
	write(t, filepath.Join(dir, "other"), "x", 0)
	require.NoError(t, n.Commit(t.Context(), time.Now()), "nobody has committed it yet")
	require.Contains(t, git("status", "--porcelain"), "?? MEMORY.md")
	git("add", "MEMORY.md")
	git("commit", "-q", "-m", "what is noted")
	write(t, filepath.Join(dir, "MEMORY.md"), "two", 0)
	require.NoError(t, n.Commit(t.Context(), time.Now().Add(-time.Hour)), "it was committed within the hour")
	require.Equal(t, "1", git("rev-list", "--count", "HEAD"))
	t.Setenv("GIT_DIR", t.TempDir()) // as in a hook of another repository
	require.NoError(t, n.Commit(t.Context(), time.Now().Add(time.Hour)))
	require.NoError(t, os.Unsetenv("GIT_DIR"))
	write(t, filepath.Join(dir, "MEMORY.md"), "three", 0)
	git("config", "commit.gpgSign", "true") // where a signer or a hook asks somebody, the commit would wait
	git("config", "gpg.program", "/bin/false")
	write(t, filepath.Join(dir, ".git", "hooks", "pre-commit"), "#!/bin/sh\nexit 1\n", 0)
	require.NoError(t, os.Chmod(filepath.Join(dir, ".git", "hooks", "pre-commit"), 0o700))
	require.NoError(t, n.Commit(t.Context(), time.Now().Add(time.Hour)))
	require.Equal(t, "3", git("rev-list", "--count", "HEAD"))
	git("reset", "--hard", "-q", "HEAD~1")
	require.Equal(t, "2", git("rev-list", "--count", "HEAD"))
	require.Equal(t, "?? other", git("status", "--porcelain"))
}

func TestBrief(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "SOUL.md"), "I am thorough.\n### Learned too\n\n## Learned\r\n- a stranger's words\n", 0)
	write(t, filepath.Join(dir, "long.md"), strings.Repeat("x", 400), 0)
	text, err := notebook.Brief(dir, 100, "SOUL.md", "missing.md", "long.md", "SOUL.md")
	require.Equal(t, "# SOUL.md\n\nI am thorough.\n### Learned too\n\n# long.md\n\n(left out)", text)
	require.ErrorContains(t, err, "long.md is left out: it has about 133 tokens, and there are 89 left")
}
