package arc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

var (
	crashRounds = flag.Int("crash.rounds", 6, "how often the child process is killed")
	crashSeed   = flag.Uint64("crash.seed", 0, "seed of the moments at which it is killed; 0: random")
)

// Set in the child process: where it keeps its store, how many runs it makes,
// and whether each is of a given plan that must not be done twice.
const (
	crashDir  = "ARC_TEST_CRASH_DIR"
	crashRuns = "ARC_TEST_CRASH_RUNS"
	crashOnce = "ARC_TEST_CRASH_ONCE"
)

// runsPerRound is more than a child gets done before it is killed.
const runsPerRound = 40

// child runs the loop over Badger until it is killed, if this process is the
// child of the crash test.
func child() bool {
	dir := os.Getenv(crashDir)
	if dir == "" {
		return false
	}
	runs, err := strconv.Atoi(os.Getenv(crashRuns))
	if err == nil {
		err = crashLoop(dir, runs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
	return true
}

// crashLoop runs the objectives one after another, and says on its standard
// output what was committed.
func crashLoop(dir string, runs int) error {
	ctx := context.Background()
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	st, err := badger.Open(filepath.Join(dir, "store"), &badger.Options{Logger: logger})
	if err != nil {
		return err
	}
	told := committed{st, func(s *arc.State) {
		if s.Current != nil && s.Current.End != "" {
			fmt.Println("executed", s.Current.Key)
		}
		if s.Status != arc.Running {
			fmt.Println("finished", s.ID, s.Learned)
		}
	}}
	a, err := arc.New(ctx, told, crashHost(dir), &arc.Options{Seed: 1, Now: newClock().Now, Attempts: 3, Logger: logger})
	if err != nil {
		return err
	}
	fmt.Println("open")
	if err := runObjectives(ctx, a, runs, os.Getenv(crashOnce) != ""); err != nil {
		return err
	}
	return errors.Join(a.Close(), st.Close())
}

func runObjectives(ctx context.Context, a *arc.Agent, runs int, once bool) error {
	for i := range runs {
		o := arc.Objective{
			ID: fmt.Sprintf("run-%04d", i), Session: "crash", Text: fmt.Sprintf("mend package %d", i),
			Situation: crashSituations[i%len(crashSituations)],
		}
		if once {
			o.Once, o.Attempts, o.Tasks = true, 1, []reason.Task{{Objective: o.Text, Skill: "work"}}
		}
		if _, err := a.Run(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

var crashSituations = []string{
	"build fails: undefined name", "vet fails: wrong verb in a format", "tests fail: got and want differ",
	"tests panic: assignment to entry in nil map", "tests hang: deadlock on a mutex",
}

// crashHost is a crew in which every situation has one worker that can mend
// it, most of the time. With a dir it writes each execution to a file there.
func crashHost(dir string) arc.Host {
	s := &script{
		decide: func(_ int, b reason.Brief) (reason.Decision, error) {
			d := plan(b.Objective)
			for _, h := range b.Memories[:min(1, len(b.Memories))] {
				d.Applied = append(d.Applied, h.Record.ID)
			}
			return d, nil
		},
		do: func(_ int, w act.Work) (act.Result, error) {
			if dir != "" {
				if err := appendLine(filepath.Join(dir, "executed"), strings.TrimPrefix(w.Key, "local/")); err != nil {
					return act.Result{}, err
				}
			}
			if os.Getenv(crashOnce) != "" {
				idle(10 * time.Millisecond) // be at work when the end comes
			}
			var n int
			if _, err := fmt.Sscanf(w.Run, "run-%d", &n); err != nil {
				return act.Result{}, err
			}
			able := fmt.Sprintf("worker-%d", n%len(crashSituations)) == w.Task.Worker
			r := done(fmt.Sprint(able && n%7 != 3))
			if !able && len(w.Memories) > 0 && n%4 == 1 {
				r.Misled = []memory.ID{w.Memories[0].Record.ID}
			}
			return r, nil
		},
		judge: func(_ act.Work, r act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: string(r.Output) == "true", Complaint: "it is still broken"}, nil
		},
	}
	names := make([]string, len(crashSituations))
	for i := range names {
		names[i] = fmt.Sprintf("worker-%d", i)
	}
	return s.host(names...)
}

func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	return errors.Join(err, f.Close())
}

// TestKilledAtAnyMoment kills a process that runs the loop over Badger, again
// and again, and then holds what is left against the same runs made without
// an interruption.
func TestKilledAtAnyMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	seed := *crashSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-crash.seed=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	committed := map[string]bool{} // attempts whose outcome was committed
	finished := map[string]string{}
	runs := *crashRounds * runsPerRound
	executed, kills := 0, 0 // lines of the file when the last child was killed
	for range *crashRounds {
		lines, killed := runAndKill(t, dir, runs, time.Duration(r.IntN(100_000))*time.Microsecond)
		if killed {
			kills++
		}
		keys := readLines(t, filepath.Join(dir, "executed"))
		for _, k := range keys[executed:] {
			require.False(t, committed[k], "attempt %s was committed and made again", k)
		}
		executed = len(keys)
		for _, line := range lines {
			what, rest, _ := strings.Cut(line, " ")
			switch what {
			case "executed":
				committed[rest] = true
			case "finished":
				id, learned, _ := strings.Cut(rest, " ")
				finished[id] = learned
			}
		}
	}
	require.NotZero(t, kills, "no child was at work when it was to be killed")
	require.NotEmpty(t, committed, "the child was killed before it did anything")

	a, err := arc.Open(t.Context(), filepath.Join(dir, "store"), crashHost(dir), &arc.Options{Seed: 1, Now: newClock().Now})
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	for id, learned := range finished {
		rep, err := a.In("").Resume(t.Context(), id)
		require.NoError(t, err, "an acknowledged run is lost")
		require.NotEqual(t, arc.Running, rep.Status, id)
		require.Equal(t, learned, fmt.Sprint(rep.Learned), id)
		for _, m := range rep.Learned {
			_, err := a.In("").Memory().Get(t.Context(), m)
			require.NoError(t, err, "an acknowledged memory is lost")
		}
	}
	require.NoError(t, runObjectives(t.Context(), a, runs, false))
	for _, k := range readLines(t, filepath.Join(dir, "executed"))[executed:] {
		require.False(t, committed[k], "attempt %s was committed and made again", k)
	}

	whole := agentOn(t, store.NewMem(), crashHost(""), nil)
	require.NoError(t, runObjectives(t.Context(), whole, runs, false))
	require.Equal(t, learnedBy(t, whole), learnedBy(t, a), "an interruption changed what was learned")
	t.Logf("%d kills, %d attempts committed and %d of %d runs finished before the last", kills, len(committed), len(finished), runs)
}

// TestOnceKilledAtAnyMoment kills a process whose work must not be done twice,
// and finds that none was.
func TestOnceKilledAtAnyMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	seed := *crashSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-crash.seed=%d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	dir := t.TempDir()
	runs := *crashRounds * runsPerRound
	for range *crashRounds {
		runAndKill(t, dir, runs, time.Duration(r.IntN(100_000))*time.Microsecond, crashOnce+"=1")
	}
	a, err := arc.Open(t.Context(), filepath.Join(dir, "store"), crashHost(dir), &arc.Options{Seed: 1, Now: newClock().Now})
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	require.NoError(t, runObjectives(t.Context(), a, runs, true))
	executed := map[string]int{} // by run
	for _, k := range readLines(t, filepath.Join(dir, "executed")) {
		run, _, _ := strings.Cut(k, "/")
		executed[run]++
	}
	unknown := 0
	for i := range runs {
		rep, err := a.In("").Resume(t.Context(), fmt.Sprintf("run-%04d", i))
		require.NoError(t, err)
		if rep.LastEnd == act.Interrupted {
			unknown++
			require.LessOrEqual(t, executed[rep.ID], 1, rep.ID)
		} else {
			require.Equal(t, 1, executed[rep.ID], rep.ID)
		}
	}
	require.LessOrEqual(t, unknown, *crashRounds)
	t.Logf("%d of %d runs were cut off while they were at it", unknown, runs)
}

// runAndKill starts the child, kills it some time after it is open, and
// returns what it had said by then, and whether it was still at work.
func runAndKill(t *testing.T, dir string, runs int, after time.Duration, env ...string) (lines []string, killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), crashDir+"="+dir, crashRuns+"="+strconv.Itoa(runs)), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var kill *time.Timer
	sc := bufio.NewScanner(out)
	for sc.Scan() {
		if kill == nil {
			kill = time.AfterFunc(after, func() {
				_ = cmd.Process.Kill() // it may have ended by itself
			})
		}
		lines = append(lines, sc.Text())
	}
	if err := cmd.Wait(); err != nil {
		require.Equal(t, -1, cmd.ProcessState.ExitCode(), "the child failed by itself")
		killed = true
	}
	if kill != nil {
		kill.Stop()
	}
	if n := len(lines); n > 0 && strings.Count(lines[n-1], " ") == 0 {
		lines = lines[:n-1] // cut off in the middle
	}
	return lines, killed
}

func readLines(t *testing.T, path string) []string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	return strings.Fields(string(raw))
}

// learnedBy is all that an agent has learned, as text.
func learnedBy(t *testing.T, a *arc.Agent) string {
	t.Helper()
	var out []string
	for rec, err := range a.In("").Memory().All(t.Context()) {
		require.NoError(t, err)
		raw, err := json.Marshal(rec)
		require.NoError(t, err)
		out = append(out, string(raw))
	}
	slices.Sort(out)
	for _, s := range crashSituations {
		ranking, err := a.In("").Rank(t.Context(), s, reason.Task{Skill: "work"})
		require.NoError(t, err)
		out = append(out, fmt.Sprintf("%+v", ranking))
	}
	as, err := a.In("").Assess(t.Context(), "crash")
	require.NoError(t, err)
	return strings.Join(append(out, fmt.Sprintf("%+v", as)), "\n")
}

// A run exists before its reasoner is asked for the first time: a crash in that
// call leaves a run to resume.
func TestRunExistsBeforeTheReasonerIsAsked(t *testing.T) {
	t.Parallel()
	st := store.NewMem()
	var found error
	s := &script{}
	var a *arc.Agent
	s.decide = func(_ int, b reason.Brief) (reason.Decision, error) {
		_, found = a.LoadState(t.Context(), b.Run)
		return plan(b.Objective), nil
	}
	a = agentOn(t, st, s.host(), nil)
	run(t, a, arc.Objective{Text: "mend the cache"})
	require.NoError(t, found)
}
