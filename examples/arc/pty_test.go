//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
	"golang.org/x/term"
)

// TestMain lets the test binary stand in for the program.
func TestMain(m *testing.M) {
	if os.Getenv("ARC_TEST_MAIN") != "" {
		main()
	}
	os.Exit(m.Run())
}

// session is the program at a terminal, and all that it has shown.
type session struct {
	t    *testing.T
	tty  *os.File
	cmd  *exec.Cmd
	mu   sync.Mutex
	more *sync.Cond
	text string
	read int // of text, by expect
	end  bool
}

// begin starts the program at a terminal of 80 columns.
func begin(t *testing.T, dir string, args ...string) *session {
	s := &session{t: t, cmd: exec.Command(os.Args[0], args...)}
	s.more = sync.NewCond(&s.mu)
	s.cmd.Dir = dir
	s.cmd.Env = append(os.Environ(), "ARC_TEST_MAIN=1", "TERM=xterm", "USER=ada", "NO_COLOR=")
	tty, err := pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 24, Cols: 80})
	require.NoError(t, err)
	s.tty = tty
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // mostly it has ended
		tty.Close()
	})
	go func() {
		var b [4096]byte
		for {
			n, err := tty.Read(b[:])
			s.mu.Lock()
			s.text += string(b[:n])
			s.end = err != nil
			s.more.Broadcast()
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

// expect waits until the program has shown a text, beyond what was expected before.
// Colours and the breaks between words do not count.
func (s *session) expect(want string) {
	s.t.Helper()
	late := time.AfterFunc(30*time.Second, func() {
		s.mu.Lock()
		s.end = true
		s.more.Broadcast()
		s.mu.Unlock()
	})
	defer late.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		shown := strings.Join(strings.Fields(plainText(s.text)), " ")
		if at := strings.Index(shown[min(s.read, len(shown)):], want); at >= 0 {
			s.read += at + len(want)
			return
		}
		if s.end {
			require.Fail(s.t, "the program did not show "+want, s.text)
		}
		s.more.Wait()
	}
}

func (s *session) typed(text string) {
	s.t.Helper()
	_, err := io.WriteString(s.tty, text)
	require.NoError(s.t, err)
}

// ends waits for the program, and returns all that it has shown.
func (s *session) ends(code int) string {
	s.t.Helper()
	err := s.cmd.Wait()
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.end {
		s.more.Wait()
	}
	require.Equal(s.t, code, got, s.text)
	return s.text
}

// made returns a folder with an agent.
func made(t *testing.T, template string) string {
	dir := t.TempDir()
	out, n := command(t, dir, "init", "--template", template)
	require.Zero(t, n, out)
	return dir
}

// configured replaces arc.yaml of a folder.
func configured(t *testing.T, text string) string {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "arc.yaml"), []byte(text), 0o600))
	return dir
}

func TestTerminalAsks(t *testing.T) {
	dir := made(t, "notes")
	s := begin(t, dir, "do", "--text", "tidy up")
	s.expect("Which one is meant: collect, jot down?")
	s.expect("answer:")
	s.typed("collect\n")
	s.expect("DELIVERED")
	s.ends(exitDone)
	require.FileExists(t, filepath.Join(dir, "todo.md"))
}

func TestTerminalApproves(t *testing.T) {
	for answer, code := range map[string]int{"y": exitDone, "n": exitBlocked, "": exitWaiting} {
		t.Run(answer, func(t *testing.T) {
			dir := made(t, "desk")
			s := begin(t, dir, "do", "--text", "reply to 1002: we are on it")
			s.expect("clerk wants to: answer the ticket (its effects reach: public)")
			s.expect("allow it?")
			require.NoDirExists(t, filepath.Join(dir, "outbox"))
			s.typed(answer + "\n")
			s.ends(code)
			if code == exitDone {
				require.FileExists(t, filepath.Join(dir, "outbox", "1002.txt"))
			} else {
				require.NoDirExists(t, filepath.Join(dir, "outbox"))
			}
		})
	}
}

// A run that ctrl-C has left goes on, also one that was left at a question.
func TestTerminalInterrupts(t *testing.T) {
	dir := configured(t, `
workers:
  - name: waiter
    run: [sh, -c, "until [ -e go ]; do sleep 0.05; done; echo gone"]
    gates: [[test, -e, go]]
plans:
  - {name: wait, when: wait, tasks: [{do: wait for it, worker: waiter, verify: it is there}]}
`)
	s := begin(t, dir, "do", "--text", "wait", "--id", "patient")
	s.expect("attempt 1 by waiter")
	s.typed("\x03")
	s.expect("go on with: arc resume --run patient")
	s.ends(exitInterrupted)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	s = begin(t, dir, "resume", "--run", "patient")
	s.expect("gone")
	s.expect("DELIVERED")
	s.ends(exitDone)

	s = begin(t, dir, "do", "--text", "run", "--id", "asked")
	s.expect("answer:")
	s.typed("\x03")
	s.expect("arc resume --run asked")
	s.ends(exitInterrupted)
	s = begin(t, dir, "resume")
	s.expect("answer:")
	s.typed("wait\n")
	s.expect("DELIVERED")
	s.ends(exitDone)
}

// ctrl-C ends what waits for a person, and the terminal shows again what is typed.
func TestTerminalInterruptsReading(t *testing.T) {
	s := begin(t, made(t, "notes"), "creds", "set", "--service", "x", "--key", "y")
	s.expect("value of")
	s.typed("\x03")
	s.ends(exitInterrupted)
	fresh, other, err := pty.Open()
	require.NoError(t, err)
	defer fresh.Close()
	defer other.Close()
	want, err := term.GetState(int(fresh.Fd()))
	require.NoError(t, err)
	got, err := term.GetState(int(s.tty.Fd()))
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// No line is longer than the terminal, whatever a worker says; a pipe gets it whole.
func TestTerminalWidth(t *testing.T) {
	long := strings.Repeat("word ", 60)
	dir := configured(t, `
workers:
  - {name: talker, run: [echo, "`+long+`"], gates: [["true"]]}
plans:
  - {name: talk, when: talk, tasks: [{do: talk, worker: talker, verify: it talks}]}
`)
	s := begin(t, dir, "do", "--text", "talk")
	text := s.ends(exitDone)
	require.Contains(t, text, "\x1b[32m") // colours
	for line := range strings.Lines(plainText(text)) {
		require.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\r\n"))), 80, line)
	}
	out, n := command(t, dir, "do", "--text", "talk")
	require.Zero(t, n)
	require.Contains(t, out, strings.TrimSpace(long))
	require.NotContains(t, out, "\x1b")
}
