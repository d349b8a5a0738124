package workspace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/tools"
	"github.com/arc-learn/arc/contrib/workspace"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

func folder(t *testing.T) (*workspace.Workspace, string) {
	dir := t.TempDir()
	return &workspace.Workspace{Dir: workspace.In(dir), Keep: []string{"arc.yaml", ".git"}}, dir
}

func write(t *testing.T, text string, path ...string) {
	t.Helper()
	file := filepath.Join(path...)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o755))
}

func TestFiles(t *testing.T) {
	w, dir := folder(t)
	outside := t.TempDir()
	write(t, "secret", outside, "secret.txt")
	write(t, "\xff\xfeM\x00", dir, "utf16.txt")
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	write(t, "", dir, ".git", "hooks", "sample")
	require.NoError(t, os.Symlink(".git/hooks", filepath.Join(dir, "hooks")))
	require.NoError(t, os.Symlink(".git/hooks/new", filepath.Join(dir, "new")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	write(t, "", dir, "large")
	require.NoError(t, os.Truncate(filepath.Join(dir, "large"), 1<<40))
	call := func(i int, in string) (string, error) {
		out, err := w.Files()[i].Call(t.Context(), json.RawMessage(in))
		return strings.Trim(string(out), `"`), err
	}
	_, err := call(2, `{"path": "notes/a.txt", "text": "hello"}`)
	require.NoError(t, err)
	text, err := call(1, `{"path": "notes/a.txt"}`)
	require.NoError(t, err)
	require.Equal(t, "hello", text)
	list, err := call(0, `{}`)
	require.NoError(t, err)
	require.Equal(t, `d .git/\nL hooks\n- large\nL link\nL new\nd notes/\np pipe\n- utf16.txt\n`, list)
	for _, path := range []string{"../x", "/etc/x", "arc.yaml", "ARC.yaml", "notes/../.git/hooks/post-commit",
		"link/x", "hooks/post-commit", "new", "pipe"} {
		_, err := call(2, `{"path": "`+path+`", "text": "x"}`)
		require.Error(t, err, path)
	}
	_, err = call(2, `{"path": "hooks/../config", "text": "x"}`) // of the folder, not of where the link leads
	require.NoError(t, err)
	write(t, "theirs", dir, "unread")
	_, err = call(2, `{"path": "hooks/../unread", "text": "x"}`)
	require.ErrorContains(t, err, "not as you have read it")
	require.NoFileExists(t, filepath.Join(dir, ".git", "config"))
	for _, path := range []string{"../x", "link/secret.txt", "utf16.txt", "missing", "pipe", "large"} {
		_, err := call(1, `{"path": "`+path+`"}`)
		require.Error(t, err, path)
	}
}

func TestPrograms(t *testing.T) {
	w, dir := folder(t)
	w.Env = func() []string { return []string{"PATH=" + os.Getenv("PATH"), "SHOWN=yes"} }
	t.Setenv("HIDDEN", "x")
	require.Equal(t, act.Gated, w.Shell().Mode)
	out, err := w.Shell().Call(t.Context(), json.RawMessage(`{"command": "echo $SHOWN$HIDDEN; pwd"}`))
	require.NoError(t, err)
	require.JSONEq(t, `"yes\n`+dir+`\n"`, string(out))
	write(t, "#!/bin/sh\ncat\n", dir, "bin", "same.sh")
	same := w.Program(tools.Tool{Worker: act.Worker{Name: "same"}}, "bin/same.sh")
	out, err = same.Call(t.Context(), json.RawMessage(`{"id": 7}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"id": 7}`, string(out))
	_, err = w.Text(t.Context(), nil, "sh", "-c", "echo why >&2; exit 3")
	require.ErrorContains(t, err, "exit status 3: why")
	text, err := w.Text(t.Context(), []byte("not \xff UTF-8"), "cat")
	require.NoError(t, err)
	require.Equal(t, "not \uFFFD UTF-8", text)
}

func TestSearch(t *testing.T) {
	w, dir := folder(t)
	found, err := w.Search(t.Context(), "where are invoices sent?", 1000)
	require.NoError(t, err)
	require.Empty(t, found, "no repository")
	write(t, "package mail\n// Send sends invoices, whatever they are.\n", dir, "mail.go")
	write(t, "package other\n// invoices\n", dir, "other.go")
	for _, args := range []string{"init -q", "add -A"} {
		cmd := exec.Command("git", strings.Fields(args)...)
		cmd.Dir = dir
		require.NoError(t, cmd.Run())
	}
	found, err = w.Search(t.Context(), "Where are invoices sent? They are late.", 60)
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Contains(t, found[0], "mail.go\npackage mail\n// Send")
	require.LessOrEqual(t, len(found[0]), 36+len("mail.go\n"))
	for tokens := 20; tokens < 60; tokens++ {
		found, err = w.Search(t.Context(), "Where are invoices sent? They are late.", tokens)
		require.NoError(t, err)
		require.Regexp(t, `\s$`, found[0], "no part of a word, which may be a secret")
	}
	var _ reason.Source = w.Search
	for _, args := range []string{"config color.ui always", "config core.fsmonitor false-or-no-program"} {
		cmd := exec.Command("git", strings.Fields(args)...)
		cmd.Dir = dir
		require.NoError(t, cmd.Run())
	}
	for _, name := range []string{"prüfung.go", "日本.go", "tab\t\"quotes\".go", "-dash.go", " blank\nline.go "} {
		write(t, "heron "+name, dir, name)
		cmd := exec.Command("git", "add", "-A")
		cmd.Dir = dir
		require.NoError(t, cmd.Run())
		found, err = w.Search(t.Context(), "find the heron", 1000)
		require.NoError(t, err)
		require.Equal(t, []string{name + "\nheron " + name}, found, "whatever the person has set for git")
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
	}
}

func TestCodingAgent(t *testing.T) {
	answers := func(output string) (*act.Result, error) {
		return workspace.CodingAgent(act.ExecutorFunc(func(context.Context, *act.Call) (*act.Result, error) {
			return &act.Result{Output: json.RawMessage(output)}, nil
		})).Execute(t.Context(), &act.Call{})
	}
	r, err := answers(`{"type":"result","result":"merged","total_cost_usd":0.25,"usage":{"input_tokens":10,` +
		`"cache_read_input_tokens":4,"output_tokens":5}}`)
	require.NoError(t, err)
	require.Equal(t, "merged", r.Text)
	require.Equal(t, &reason.Usage{Calls: 1, Input: 14, Cached: 4, Output: 5, CostUSD: new(0.25)}, r.Usage)
	_, err = answers(`{"type":"result","is_error":true,"result":"usage limit reached"}`)
	require.ErrorContains(t, err, "usage limit reached")
	r, err = answers(`{"other": 1}`)
	require.NoError(t, err)
	require.Nil(t, r.Usage)
}

// What a program has started ends with it: a canceled run leaves nothing behind that works on in the folder.
func TestCanceled(t *testing.T) {
	w, dir := folder(t)
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, exec.Command("mkfifo", fifo).Run())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := w.Text(ctx, nil, "sh", "-c", "(exec 3>fifo; sleep 60) & wait")
		ended <- err
	}()
	f, err := os.Open(fifo) // once the child has it open, too
	require.NoError(t, err)
	defer f.Close()
	cancel()
	require.Error(t, <-ended)
	require.NoError(t, f.SetReadDeadline(time.Now().Add(20*time.Second)))
	n, err := f.Read(make([]byte, 1)) // its end: nobody has it open for writing
	require.Zero(t, n)
	require.ErrorIs(t, err, io.EOF)
}

// in has f called within an attempt.
func in(t *testing.T, number int, f func(ctx context.Context)) {
	t.Helper()
	r, err := act.NewRunner([]act.Worker{{Name: "w", Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
		func(ctx context.Context, _ *act.Call) (*act.Result, error) { f(ctx); return &act.Result{}, nil })}}, nil, 0, nil)
	require.NoError(t, err)
	a := r.Run(t.Context(), &act.Call{Case: reason.Case{Run: "7"}, Attempt: number, Worker: r.Workers()[0]})
	require.Equal(t, rank.Delivered, a.Outcome, a.Complaint)
}

// A file is replaced by an attempt that knows all of it as it is.
func TestReplacesWhatItHasRead(t *testing.T) {
	w, dir := folder(t)
	write(t, "one\n", dir, "a.txt")
	write(t, strings.Repeat("line\n", 4000)+"last\n", dir, "long.txt")
	files := w.Files()
	call := func(ctx context.Context, tool int, in string) string {
		out, err := files[tool].Call(ctx, json.RawMessage(in))
		if err != nil {
			return err.Error()
		}
		var text string
		require.NoError(t, json.Unmarshal(out, &text))
		return text
	}
	put := `{"path":"a.txt","text":"two\n"}`
	in(t, 1, func(ctx context.Context) {
		require.Contains(t, call(ctx, 2, put), "read it, or use edit_file")
		require.Equal(t, "one\n", call(ctx, 1, `{"path":"a.txt"}`))
		write(t, "one\nof a colleague\n", dir, "a.txt")
		require.Contains(t, call(ctx, 2, put), "not as you have read it")
		require.Equal(t, "one\nof a colleague\n", call(ctx, 1, `{"path":"./a.txt"}`))
		require.Equal(t, "written", call(ctx, 2, put))
		require.Equal(t, "written", call(ctx, 2, put), "it knows what it has written")
		require.Equal(t, "written", call(ctx, 2, `{"path":"new.txt","text":"x"}`))
		require.Equal(t, "written", call(ctx, 2, `{"path":"new.txt","text":"y"}`))
	})
	in(t, 2, func(ctx context.Context) {
		require.Contains(t, call(ctx, 2, put), "read it", "another attempt has")
		require.Equal(t, "edited", call(ctx, 3, `{"path":"a.txt","old":"two","new":"three"}`), "old is what it knows")
		// In parts: no part is all of it.
		require.Regexp(t, `^\(lines 1 to 3264 of 4001\)\nline\n`, call(ctx, 1, `{"path":"long.txt"}`))
		require.Regexp(t, `^\(lines 3265 to 4001 of 4001\)\n(line\n)+last\n$`, call(ctx, 1, `{"path":"long.txt","from":3265}`))
		require.Equal(t, "(lines 5000 to 0 of 4001)\n", call(ctx, 1, `{"path":"long.txt","from":5000}`))
		require.Contains(t, call(ctx, 2, `{"path":"long.txt","text":"x"}`), "use edit_file")
		require.Equal(t, "edited", call(ctx, 3, `{"path":"long.txt","old":"line\nlast\n","new":"line\nend\n"}`))
		raw, err := os.ReadFile(filepath.Join(dir, "long.txt"))
		require.NoError(t, err)
		require.Equal(t, strings.Repeat("line\n", 4000)+"end\n", string(raw))
	})
}

// An edit is made where its text stands once, also beside what the model was not shown.
func TestEdits(t *testing.T) {
	w, dir := folder(t)
	write(t, "a\r\nb\r\nTOKEN=ghp_x\r\nb\r\n", dir, "env")
	write(t, "caf\xe9", dir, "latin1.txt")
	edit := func(in string) error {
		_, err := w.Files()[3].Call(t.Context(), json.RawMessage(in))
		return err
	}
	for in, want := range map[string]string{
		`{"path":"env","old":"c","new":"x"}`:                                 "stands in env 0 times",
		`{"path":"env","old":"a\nb","new":"x"}`:                              "stands in env 0 times",
		`{"path":"env","old":"b","new":"x"}`:                                 "stands in env 2 times",
		`{"path":"env","old":"","new":"x"}`:                                  "and has to stand there once",
		`{"path":"env","old":"TOKEN=[redacted:github-token]","new":"x"}`:     "0 times",
		`{"path":"env","old":"a","new":"[redacted:github-token]"}`:           "not shown",
		`{"path":"latin1.txt","old":"caf","new":"x"}`:                        "no text in UTF-8",
		`{"path":"arc.yaml","old":"caf","new":"x"}`:                          "no such file",
		`{"path":"../` + filepath.Base(dir) + `/env","old":"a\r","new":"x"}`: "escapes",
	} {
		require.ErrorContains(t, edit(in), want, in)
	}
	require.NoError(t, edit(`{"path":"env","old":"a\r\nb","new":"a\r\nc"}`))
	raw, err := os.ReadFile(filepath.Join(dir, "env"))
	require.NoError(t, err)
	require.Equal(t, "a\r\nc\r\nTOKEN=ghp_x\r\nb\r\n", string(raw))
}

// Of several calls in one answer each sees what the one before has made.
func TestEditsAtOnce(t *testing.T) {
	w, dir := folder(t)
	write(t, "0 1 2 3 4 5 6 7", dir, "a.txt")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			_, err := w.Files()[3].Call(t.Context(), fmt.Appendf(nil, `{"path":"a.txt","old":"%d","new":"x"}`, i))
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	raw, err := os.ReadFile(filepath.Join(dir, "a.txt"))
	require.NoError(t, err)
	require.Equal(t, "x x x x x x x x", string(raw))
}

// Without a folder nothing is set up, and no program runs in that of the process.
func TestNoFolder(t *testing.T) {
	require.Panics(t, func() { new(workspace.Workspace).Files() })
	w := &workspace.Workspace{Dir: workspace.In("")}
	_, err := w.Text(t.Context(), nil, "pwd")
	require.ErrorContains(t, err, "no folder")
	_, err = w.Files()[0].Call(t.Context(), json.RawMessage(`{}`))
	require.Error(t, err)
}

// Nothing that a model was not shown is lost, and nothing is reached by links.
func TestWritesLoseNothing(t *testing.T) {
	w, dir := folder(t)
	write(t, "config", dir, ".git", "config")
	write(t, strings.Repeat("x", 16<<10+1), dir, "long.txt")
	write(t, "caf\xe9", dir, "latin1.txt")
	write(t, "TOKEN=ghp_x", dir, "env")
	write(t, "one", dir, "short.txt")
	require.NoError(t, os.Symlink(".git", filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink(".git/hooks", filepath.Join(dir, "hooks")))
	require.NoError(t, os.Symlink("short.txt", filepath.Join(dir, "file")))
	put := w.Files()[2]
	for _, name := range []string{"long.txt", "env", "short.txt", "file", "link/config"} {
		_, err := w.Files()[1].Call(t.Context(), json.RawMessage(`{"path":"`+name+`"}`))
		require.NoError(t, err)
	}
	for _, in := range []string{
		`{"path":"long.txt","text":"xx… (cut: 16385 bytes in all)"}`, `{"path":"latin1.txt","text":"caf"}`,
		`{"path":"env","text":"TOKEN=[redacted:github-token]"}`, `{"path":"short.txt"}`,
		`{"path":"link/config","text":"x"}`, `{"path":"hooks/pre-commit","text":"x"}`,
		`{"path":"./file","text":"x"}`, `{"path":".","text":"x"}`,
	} {
		_, err := put.Call(t.Context(), json.RawMessage(in))
		require.Error(t, err, in)
	}
	require.NoDirExists(t, filepath.Join(dir, ".git", "hooks"))
	for name, want := range map[string]string{"env": "TOKEN=ghp_x", "short.txt": "one", ".git/config": "config"} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, want, string(raw), name)
	}
	_, err := put.Call(t.Context(), json.RawMessage(`{"path":"short.txt","text":"two"}`))
	require.NoError(t, err)
	info, err := os.Stat(filepath.Join(dir, "short.txt"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode(), "its mode stays")
}

// A file with a name elsewhere, too, is written anew, so that what is there stays. Others are refused.
func TestHardLinks(t *testing.T) {
	w, dir := folder(t)
	outside := t.TempDir()
	write(t, "one", outside, "shared.txt")
	require.NoError(t, os.Link(filepath.Join(outside, "shared.txt"), filepath.Join(dir, "shared.txt")))
	write(t, "one", dir, "kept.txt")
	require.NoError(t, os.Chmod(filepath.Join(dir, "kept.txt"), 0o444))
	edit := func(name, text string) error {
		raw, err := json.Marshal(map[string]string{"path": name, "old": "one", "new": text})
		require.NoError(t, err)
		_, err = w.Files()[3].Call(t.Context(), raw)
		return err
	}
	require.NoError(t, edit("shared.txt", "two"))
	require.ErrorContains(t, edit("kept.txt", "two"), "read-only")
	raw, err := json.Marshal(map[string]string{"path": "new.txt", "text": strings.Repeat("x", 1<<20+1)})
	require.NoError(t, err)
	_, err = w.Files()[2].Call(t.Context(), raw)
	require.ErrorContains(t, err, "over 1 MiB")
	for want, file := range map[string]string{"one": filepath.Join(outside, "shared.txt"), "two": filepath.Join(dir, "shared.txt")} {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, want, string(raw))
	}
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, names, 2)
}

// What a full disk does not take leaves the file as it was. A limit of the size of files is as good as one; it is
// that of a process of its own, as this one writes files, too.
func TestNoRoom(t *testing.T) {
	if os.Getenv("NO_ROOM") == "" {
		own := exec.Command(os.Args[0], "-test.run=^TestNoRoom$")
		own.Env = append(os.Environ(), "NO_ROOM=1")
		said, err := own.CombinedOutput()
		require.NoError(t, err, string(said))
		return
	}
	w, dir := folder(t)
	write(t, "one", dir, "short.txt")
	signal.Ignore(syscall.SIGXFSZ)
	var was syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 8, Max: was.Max}))
	_, err := w.Files()[1].Call(t.Context(), json.RawMessage(`{"path":"short.txt"}`))
	require.NoError(t, err)
	_, err = w.Files()[2].Call(t.Context(), json.RawMessage(`{"path":"short.txt","text":"longer than eight"}`))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was))
	require.ErrorIs(t, err, syscall.EFBIG)
	raw, err := os.ReadFile(filepath.Join(dir, "short.txt"))
	require.NoError(t, err)
	require.Equal(t, "one", string(raw))
}
