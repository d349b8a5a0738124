package act_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
)

// role is the variable that tells a child of the tests which program it is.
const role = "ARC_ACT_ROLE"

// programs are what a child may be.
var programs = map[string]func(){
	"echo": func() {
		var in struct{ Work act.Work }
		if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		_ = json.NewEncoder(os.Stdout).Encode(in.Work.Task.Objective) // the parent sees
	},
	"text":   func() { fmt.Println("plain words") },
	"env":    func() { fmt.Printf("%q", os.Environ()) },
	"denied": func() { fmt.Fprintln(os.Stderr, "HTTP 403"); os.Exit(2) },
	"output": func() { fmt.Println("want status 200, got status 403"); os.Exit(1) },
	"noise": func() {
		fmt.Print(strings.Repeat("o", 1<<20), " the last of output")
		fmt.Fprint(os.Stderr, strings.Repeat("e", 1<<20), "\x1b[31m the token is ", os.Getenv("TOKEN"), " and\nthe last of errors\xff")
		os.Exit(3)
	},
	"absent": func() { os.Exit(127) },
	"wrong":  func() { fmt.Println("--- FAIL: TestSum"); fmt.Fprintln(os.Stderr, "exit\nhere"); os.Exit(1) },
	"large":  func() { fmt.Print(strings.Repeat("x", 1<<20)) },
	"hang":   func() { <-time.After(time.Hour) },
	"linger": func() { <-time.After(3 * time.Second) },
	"leaver": func() { // of one that holds its streams open, and goes
		self, _ := os.Executable()
		cmd := exec.Command(self)
		cmd.Env, cmd.Stdout = []string{role + "=linger"}, os.Stdout
		_ = cmd.Start()
		fmt.Print(strings.Repeat("x", 1<<20))
	},
	"parent": func() { // of one that holds its streams open
		self, _ := os.Executable()
		cmd := exec.Command(self)
		cmd.Env, cmd.Stdout, cmd.Stderr = []string{role + "=hang"}, os.Stdout, os.Stderr
		_ = cmd.Start()
		fmt.Println(cmd.Process.Pid)
		<-time.After(time.Hour)
	},
}

// program is a Command that is a child of the tests.
func program(name string) *act.Command {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return &act.Command{Argv: []string{self}, Env: []string{role + "=" + name}}
}

func TestCommandAsExecutor(t *testing.T) {
	t.Parallel()
	t.Run("echo", func(t *testing.T) {
		t.Parallel()
		words := `"; rm -rf / #` + "\n$(id) `id`"
		r, err := program("echo").Execute(t.Context(), act.Work{Task: act.Task{Objective: words}})
		require.NoError(t, err)
		want, err := json.Marshal(words)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(r.Output), "what a model says is data")
		require.Equal(t, 0.8, r.Reflection.Confidence)
		require.Empty(t, iar.Findings([]float64{iar.Resonance(r.Reflection)}), "nothing is wrong with it")
	})
	t.Run("text", func(t *testing.T) {
		t.Parallel()
		c := program("text")
		c.Confidence = 0.9
		r, err := c.Execute(t.Context(), act.Work{})
		require.NoError(t, err)
		require.JSONEq(t, `"plain words"`, string(r.Output))
		require.Equal(t, 0.9, r.Reflection.Confidence)
		ran, err := act.NewRunner(act.Options{Workers: []act.Worker{{Card: rank.Candidate{Name: "w"}, Executor: c}}, Gates: []act.Gate{act.NoGate}})
		require.NoError(t, err)
		require.Equal(t, act.Finished, ran.Execute(t.Context(), &act.Call{Worker: "w", Work: act.Work{Task: act.Task{Objective: "say it"}}}).End)
	})
	t.Run("errors", func(t *testing.T) {
		t.Parallel()
		_, err := program("denied").Execute(t.Context(), act.Work{})
		require.ErrorIs(t, err, act.ErrDenied)
		_, err = program("wrong").Execute(t.Context(), act.Work{})
		require.ErrorContains(t, err, "exit status 1: stdout: --- FAIL: TestSum stderr: exit here")
		for _, name := range []string{"large", "leaver"} {
			_, err = program(name).Execute(t.Context(), act.Work{})
			require.ErrorContains(t, err, "printed more than 524288 bytes", name)
		}
		_, err = new(act.Command).Execute(t.Context(), act.Work{})
		require.Error(t, err)
		_, err = (&act.Command{Argv: []string{"arc-no-such-program"}}).Execute(t.Context(), act.Work{})
		require.ErrorIs(t, err, exec.ErrNotFound)
	})
}

// A failure tells the ends of both streams, without secrets, and is of the kind that the
// program says, not of one that its output speaks of.
func TestFailureOfACommand(t *testing.T) {
	t.Parallel()
	w := act.Work{Secrets: act.Secrets{"TOKEN": "quite-a-secret"}}
	_, err := program("noise").Execute(t.Context(), w)
	v, failed := program("noise").Verify(t.Context(), w, act.Result{})
	require.NoError(t, failed)
	for _, text := range []string{err.Error(), v.Complaint} {
		require.Contains(t, text, "the last of output stderr: e")
		require.Contains(t, text, "and the last of errors")
		require.NotContains(t, text, "quite-a-secret")
		require.NotContains(t, text, "\x1b")
		require.Less(t, len(text), 4<<10, "it fits into a complaint")
		require.True(t, utf8.ValidString(text))
	}
	for name, want := range map[string]act.End{"denied": act.Denied, "output": act.Failed, "wrong": act.Failed, "absent": act.Rejected} {
		_, err := program(name).Execute(t.Context(), act.Work{})
		end, _ := act.Class(err)
		require.Equal(t, want, end, name)
	}
	//lint:ignore SA1012 that it is refused is the test
	_, err = program("noise").Execute(nil, act.Work{})
	require.Error(t, err)
	//lint:ignore SA1012 that it is refused is the test
	_, err = program("noise").Verify(nil, act.Work{}, act.Result{})
	require.Error(t, err)
	for _, argv := range []string{"arc-no-such-program", "/no/such/program", os.TempDir()} {
		_, err := (&act.Command{Argv: []string{argv}}).Execute(t.Context(), act.Work{})
		end, _ := act.Class(err)
		require.Equal(t, act.Rejected, end, argv)
	}
}

func TestEnvironmentOfACommand(t *testing.T) {
	t.Setenv("ARC_ACT_OTHER", "of the parent")
	r, err := program("env").Execute(t.Context(), act.Work{Secrets: act.Secrets{"TOKEN": "hidden"}})
	require.NoError(t, err)
	require.Contains(t, string(r.Output), "TOKEN=hidden")
	require.Contains(t, string(r.Output), role)
	require.NotContains(t, string(r.Output), "of the parent")
	require.NotContains(t, string(r.Output), "PATH=")
}

func TestCommandAsGate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pass      bool
		complaint string
		err       bool
	}{
		"echo": {pass: true}, "large": {pass: true},
		"wrong": {complaint: "exit status 1: stdout: --- FAIL: TestSum stderr: exit here"},
	} {
		v, err := program(name).Verify(t.Context(), act.Work{}, act.Result{Output: json.RawMessage(`1`)})
		require.NoError(t, err)
		require.Equal(t, c.pass, v.Pass, name)
		require.Contains(t, v.Complaint, c.complaint)
	}
	_, err := (&act.Command{Argv: []string{"arc-no-such-program"}}).Verify(t.Context(), act.Work{}, act.Result{})
	require.Error(t, err, "nothing was verified")
}

// A program that hangs is stopped, and what it has started with it.
func TestCommandIsStopped(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"hang", "parent"} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := program(name).Execute(ctx, act.Work{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = program(name).Verify(ctx, act.Work{}, act.Result{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
}

func ExampleCommand() {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	tests := &act.Command{Argv: []string{"go", "test", "./..."}, Env: env}
	r, err := act.NewRunner(act.Options{
		Workers: []act.Worker{{Card: rank.Candidate{Name: "formatter"}, Executor: &act.Command{Argv: []string{"gofmt", "-l", "-w", "."}}}},
		Gates:   []act.Gate{tests},
	})
	fmt.Println(r.Workers(), err)
	// Output:
	// [formatter] <nil>
}
