//go:build unix

package command_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/contrib/command"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

func shell(script string) interface {
	act.Executor
	act.Gate
} {
	return command.New("", []string{"PATH=" + os.Getenv("PATH")}, "/bin/sh", "-c", script)
}

func TestCommandExecutes(t *testing.T) {
	for _, c := range []struct {
		name, script string
		outcome      rank.Outcome
		class        reason.ErrorClass
		output, says string
	}{
		{name: "JSON", script: `echo '{"a":1}'`, outcome: rank.Delivered, output: `{"a":1}`},
		{name: "text", script: `echo hello; echo there`, outcome: rank.Delivered, output: `"hello\nthere"`},
		{name: "its order", script: `cat`, outcome: rank.Delivered,
			output: `{"run":"7","attempt":1,"answers":null,"complaint":"","data":null,"inputs":null,
			"memories":["m"],"warnings":["say please"],"objective":"",
			"task":{"delta":"","inputs":{"n":1},"objective":"pay the invoice","skill":"","verify":""}}`},
		{name: "invalid UTF-8", script: `printf '\377'`, outcome: rank.Delivered, output: `"\ufffd"`},
		{name: "huge", script: `head -c 300000 /dev/zero`, outcome: rank.Malformed, class: reason.Invalid,
			says: "printed 300000 bytes"},
		{name: "the words of a failing test", outcome: rank.Failed, says: "exit status 1",
			script: `echo '--- FAIL: open /etc/x: permission denied'; echo '429 rate limit, 403, 401' >&2; exit 1`},
		{name: "standard error", script: `echo out; echo why >&2; exit 2`, outcome: rank.Failed,
			says: "exit status 2: why"},
		{name: "temporary", script: `exit 75`, outcome: rank.Away, class: reason.Unavailable},
		{name: "no permission", script: `exit 77`, outcome: rank.Denied, class: reason.Permission},
		{name: "no such command", script: `nosuchprogram`, outcome: rank.Denied, class: reason.Permanent},
		{name: "deadline", script: `sleep 60 & sleep 60`, outcome: rank.TimedOut, class: reason.Unavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := runner(t, nil, act.Worker{Name: "w", Executor: shell(c.script), Timeout: time.Second / 2})
			ctx := act.WithJournal(t.Context(), act.NewJournal(store.NewGroup(store.NewMem()), "", nil, nil, nil), nil)
			own := order(r, `{"n":1}`)
			own.Memories = []memory.Hit{{Record: memory.Record{Draft: memory.Draft{Content: "m"}}}}
			own.Warnings = []reason.Warning{{Complaint: "say please"}}
			a := r.Run(ctx, own)
			require.Equal(t, c.outcome, a.Outcome, a.Complaint)
			require.Equal(t, c.class, class(a))
			require.Contains(t, a.Complaint, c.says)
			require.NotContains(t, a.Complaint, "FAIL", "standard output may be anything")
			if c.output != "" {
				require.JSONEq(t, c.output, string(a.Result.Output))
			}
		})
	}
	r := runner(t, nil, act.Worker{Name: "w", Executor: command.New("", nil, "/nowhere/x")},
		act.Worker{Name: "none", Executor: command.New("", nil)})
	for _, w := range r.Workers() {
		a := r.Run(t.Context(), &act.Call{Worker: w})
		require.Equal(t, reason.Permanent, class(a), w.Name)
	}
}

// B7: what a test prints is a complaint, whatever its words.
func TestCommandVerifies(t *testing.T) {
	for script, want := range map[string]string{
		`exit 0`: "",
		`echo 'open x: permission denied'; echo 'HTTP 403' >&2; exit 1`: "exit status 1: open x: permission " +
			"denied\nHTTP 403",
		`grep -q '"text":"an answer"'`: "",
		`exit 77`:                      "could not check it",
	} {
		text := act.ExecutorFunc(func(context.Context, *act.Call) (*act.Result, error) {
			return &act.Result{Text: "an answer"}, nil
		})
		r := runner(t, nil, act.Worker{Name: "w", Executor: text, Gates: []act.Gate{shell(script)}})
		a := r.Run(t.Context(), order(r, `{}`))
		if want == "" {
			require.Equal(t, rank.Delivered, a.Outcome, a.Complaint)
			continue
		}
		if want == "could not check it" {
			require.Equal(t, rank.Unknown, a.Outcome)
		} else {
			require.Equal(t, rank.Failed, a.Outcome)
		}
		require.Contains(t, a.Complaint, want)
		require.Equal(t, "/bin/sh -c "+script, a.Gate)
	}
}

// The whole group of processes ends with the context, lines come while the program runs, and secrets
// go in and do not come out.
func TestCommandStreamsAndIsKilled(t *testing.T) {
	const secret = "correct horse battery"
	dir := t.TempDir()
	pid := filepath.Join(dir, "pid")
	ctx, cancel := context.WithCancel(t.Context())
	var lines []string
	j := act.NewJournal(store.NewGroup(store.NewMem()), "", nil, nil, func(e act.Event) {
		if lines = append(lines, e.Text); e.Text == "ready" {
			cancel()
		}
	})
	r := runner(t, func(context.Context, string) (string, error) { return secret, nil },
		act.Worker{Name: "w", Secrets: []string{"TOKEN"}, Executor: shell(
			`echo "token $TOKEN"; sleep 600 & echo $! > ` + pid + `; echo ready; wait`)})
	a := r.Run(act.WithJournal(ctx, j, nil), order(r, `{}`))
	require.Equal(t, rank.Canceled, a.Outcome)
	require.Equal(t, []string{"token [secret TOKEN]", "ready"}, lines)
	raw, err := os.ReadFile(pid)
	require.NoError(t, err)
	child, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return syscall.Kill(child, 0) != nil || zombie(child) }, 10*time.Second,
		10*time.Millisecond)
}

// What comes in pieces is noted as clean as the whole, and a last line without an end is noted, too.
func TestCommandCleansPieces(t *testing.T) {
	var lines []string
	j := act.NewJournal(store.NewGroup(store.NewMem()), "", nil, nil,
		func(e act.Event) { lines = append(lines, e.Text) })
	long, text := filepath.Join(t.TempDir(), "long"), strings.Repeat("한", 30_000)
	require.NoError(t, os.WriteFile(long, []byte(text), 0o600))
	begin, end := "-----BEGIN RSA PRIVATE"+" KEY-----", "-----END RSA PRIVATE"+" KEY-----"
	script := `p() { printf "$1"; sleep .02; }; p 'pass'; p 'word=hunter2\nlast: ` + begin +
		`\nMIIEpAIBAAKC\n'; p 'AQEA7bq2Xh3kYw1s9vTt\n` +
		end + `\n'; p 'so'; cat ` + long
	r := runner(t, nil, act.Worker{Name: "w", Executor: shell(script)})
	a := r.Run(act.WithJournal(t.Context(), j, nil), order(r, `{}`))
	require.Equal(t, rank.Delivered, a.Outcome, a.Complaint)
	require.Equal(t, []string{"password=[redacted:secret]", "last: [redacted:private-key]"}, lines[:2])
	require.Equal(t, "so"+text, strings.Join(lines[2:], ""), "a long line is one")
}

// Of a program without end what is noted has one.
func TestCommandThatIsChatty(t *testing.T) {
	var size int
	var last string
	j := act.NewJournal(store.NewGroup(store.NewMem()), "", nil, nil,
		func(e act.Event) { size, last = size+len(e.Text), e.Text })
	c := shell(`head -c 3000000 /dev/zero | tr '\0' x; echo end`)
	v, err := c.Verify(act.WithJournal(t.Context(), j, nil), &act.Call{Worker: &act.Worker{}}, &act.Result{})
	require.NoError(t, err)
	require.True(t, v.Pass)
	require.Equal(t, "… (what follows is not noted)", last)
	require.Less(t, size, 1<<20+64)
}

// A program that was killed says nothing: a gate could not tell, and an irreversible worker may have done it.
func TestCommandThatIsKilled(t *testing.T) {
	done := act.ExecutorFunc(func(context.Context, *act.Call) (*act.Result, error) { return &act.Result{}, nil })
	for _, w := range []act.Worker{
		{Name: "w", Executor: done, Gates: []act.Gate{shell(`kill -KILL $$`)}},
		{Name: "w", Executor: shell(`kill -KILL $$`), Irreversible: true},
	} {
		r := runner(t, nil, w)
		j := act.NewJournal(store.NewGroup(store.NewMem()), "", nil, nil, nil)
		a := r.Run(act.WithJournal(t.Context(), j, nil), order(r, `{}`))
		require.Equal(t, rank.Away, a.Outcome, a.Complaint)
		if w.Irreversible {
			a = r.Run(act.WithJournal(t.Context(), j, nil), order(r, `{}`))
			require.ErrorAs(t, a.Err, new(*act.PendingError), "a person is asked")
		}
	}
}

// What a program had printed when its time ended says what it was at.
func TestCommandTellsWhatItWasAt(t *testing.T) {
	c, of := shell(`echo TestSum >&2; sleep 600`), &act.Call{Worker: &act.Worker{}}
	for _, run := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := c.Execute(ctx, of); return err },
		func(ctx context.Context) error { _, err := c.Verify(ctx, of, &act.Result{}); return err },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		j := act.NewJournal(store.NewGroup(store.NewMem()), "", nil, nil, func(act.Event) { cancel() })
		err := run(act.WithJournal(ctx, j, nil))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "TestSum")
	}
}

func zombie(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(raw), ") Z ")
}

func runner(
	t *testing.T, secrets func(context.Context, string) (string, error), workers ...act.Worker,
) *act.Runner {
	t.Helper()
	for i := range workers {
		if workers[i].Gates == nil {
			workers[i].Gates = []act.Gate{act.NoGate}
		}
	}
	r, err := act.NewRunner(workers, nil, 0, secrets)
	require.NoError(t, err)
	return r
}

func order(r *act.Runner, inputs string) *act.Call {
	return &act.Call{
		Case: reason.Case{Run: "7"}, Attempt: 1, Worker: r.Workers()[0],
		Task: reason.Task{Objective: "pay the invoice", Inputs: json.RawMessage(inputs)},
	}
}

// class is what can be done about the error of an attempt.
func class(a act.Attempt) reason.ErrorClass {
	if a.Err == nil {
		return ""
	}
	return a.Err.Class
}

// A process that is left behind holds nobody up, output without end is cut, and a git hook's variables do not
// have git work on another repository.
func TestRun(t *testing.T) {
	t.Setenv("GIT_DIR", t.TempDir())
	t.Setenv("GIT_INDEX_FILE", "elsewhere")
	t.Setenv("GIT_AUTHOR_NAME", "ann")
	run := func(script string) (string, error) {
		out, err := command.Run(t.Context(), t.TempDir(), os.Environ(), []byte("given"), "/bin/sh", "-c", script)
		return string(out), err
	}
	out, err := run(`cat; echo " $GIT_DIR$GIT_INDEX_FILE$GIT_AUTHOR_NAME"; echo noise >&2`)
	require.NoError(t, err)
	require.Equal(t, "given ann\n", out)
	out, err = run(`sleep 60 & echo $!`)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(out))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL), "it goes on")
	_, err = command.Run(t.Context(), "/none", nil, nil, "/bin/true")
	require.ErrorContains(t, err, "stat /none: no such file")
	_, err = run(`echo out; echo why >&2; exit 3`)
	require.ErrorContains(t, err, "/bin/sh: exit status 3: why: out")
	_, err = run(`head -c 5000 /dev/zero | tr '\0' x >&2; echo >&2; exit 3`)
	require.ErrorContains(t, err, "xxx", "a last line without a blank is told, too")
	out, err = run(`head -c 300000 /dev/zero`)
	require.NoError(t, err)
	require.Len(t, out, 256<<10+len("\n[37856 bytes more are left out]"))

	for before := range 3 { // wherever it is cut, it is not within a letter
		file := filepath.Join(t.TempDir(), "long")
		text := strings.Repeat("a", before) + strings.Repeat("€", 100_000)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		out, err = run("cat " + file)
		require.NoError(t, err)
		whole, left, _ := strings.Cut(out, "\n")
		require.True(t, strings.HasPrefix(text, whole) && utf8.ValidString(whole))
		require.Equal(t, fmt.Sprintf("[%d bytes more are left out]", len(text)-len(whole)), left)
		_, err = run("cat " + file + " >&2; exit 3")
		require.ErrorContains(t, err, "€€")
		require.NotContains(t, err.Error(), "\uFFFD")
	}
	file := filepath.Join(t.TempDir(), "long")
	require.NoError(t, os.WriteFile(file, []byte("Tr0ub4dor&3 "+strings.Repeat("x ", 2045)), 0o600))
	_, err = run("cat " + file + " >&2; exit 3")
	require.ErrorContains(t, err, ": x x x")
	require.NotContains(t, err.Error(), "&3", "nobody would know a part of a secret")

	ctx, cancel := context.WithTimeout(t.Context(), time.Second/5)
	defer cancel()
	_, err = command.Run(ctx, "", nil, nil, "/usr/bin/env", "yes")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, len(err.Error()), 16<<10)
}
