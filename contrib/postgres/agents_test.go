package postgres_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/contrib/postgres"
	"github.com/arc-learn/arc/reason"
)

var (
	objectives = flag.Int("objectives", 60, "how many TestThreeAgents has three processes deliver")
	killEvery  = flag.Duration("killevery", 500*time.Millisecond, "how often TestThreeAgents kills one of them")
)

// dock has a worker who ships a parcel by a step, and prints when it takes it and when it is kept.
func dock(o ...act.StepOption) arc.Host {
	ship := act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
		text, err := act.Step(ctx, "ship", nil, func(context.Context) (string, error) {
			fmt.Println(c.Run, "shipped")
			return "shipped", nil
		}, o...)
		if err == nil {
			fmt.Println(c.Run, "kept")
		}
		return &act.Result{Text: text}, err
	})
	return arc.Host{Workers: []act.Worker{{Name: "dock", Executor: ship, Gates: []act.Gate{act.NoGate}}}}
}

// settled reports whether a run has ended, or waits for a person since nobody knows whether it has shipped.
func settled(r *arc.Report) bool {
	return r.Status == arc.Delivered || len(r.Approvals) > 0
}

// parcels is the process of TestThreeAgents: it runs all objectives that no other has run, 16 at a time, and
// prints what its worker does.
func parcels(name, in string, o ...act.StepOption) error {
	ctx := context.Background()
	st, err := postgres.Open(ctx, dsn, &postgres.Options{Schema: in})
	if err != nil {
		return err
	}
	a, err := arc.New(ctx, st, dock(o...), &arc.Options{Process: name})
	if err != nil {
		return err
	}
	runs, errs := make(chan int), make(chan error, 16)
	for range cap(errs) {
		go func() {
			var err error
			for n := range runs {
				if bad := parcel(ctx, a, fmt.Sprint(n)); bad != nil {
					err = errors.Join(err, fmt.Errorf("%d: %w", n, bad))
				}
			}
			errs <- err
		}()
	}
	for _, n := range rand.Perm(*objectives) {
		runs <- n
	}
	close(runs)
	for range cap(errs) {
		err = errors.Join(err, <-errs)
	}
	return errors.Join(err, a.Close(), st.Close())
}

// parcel runs an objective, or follows the run of another process.
func parcel(ctx context.Context, a *arc.Agent, id string) error {
	o := arc.Objective{ID: id, Text: "ship parcel " + id}
	r, err := a.Run(ctx, o)
	for err != nil || !settled(r) {
		if away, _ := errors.AsType[*reason.Error](err); away != nil && away.Class == reason.Unavailable {
			r, err = a.Run(ctx, o) // it was held up, and has stored nothing
			continue
		}
		if err != nil && !errors.Is(err, arc.ErrRunning) && !errors.Is(err, context.Canceled) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
		r, err = a.In("").Report(ctx, id)
	}
	return nil
}

// Three processes on one database, one of which is killed again and again. Where the step may be taken twice,
// each objective is delivered once, and no step that was kept is taken again. Where it must not be, it never
// is: a person is asked about those at which a process was killed.
func TestThreeAgents(t *testing.T) {
	if args := strings.Split(os.Getenv("ARC_PARCELS"), "|"); len(args) == 3 {
		require.NoError(t, parcels(args[0], args[1], stepOptions[args[2]]...))
		return
	}
	for _, kind := range []string{"irreversible", "repeatable"} {
		t.Run(kind, func(t *testing.T) { threeAgents(t, kind) })
	}
}

var stepOptions = map[string][]act.StepOption{"repeatable": nil, "irreversible": {act.Irreversible()}}

func threeAgents(t *testing.T, kind string) {
	name := schema(t)
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer out.Close()
	began, kills, procs, ends := time.Now(), 0, make([]*exec.Cmd, 3), make(chan int)
	start := func(n int) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestThreeAgents$", "-test.timeout=60m", "-objectives",
			fmt.Sprint(*objectives))
		cmd.Env = append(os.Environ(), dsnVariable+"="+dsn, fmt.Sprintf("ARC_PARCELS=p%d|%s|%s", n, name, kind))
		cmd.Stdout, cmd.Stderr = out, out // at one offset
		require.NoError(t, cmd.Start())
		procs[n] = cmd
		go func() { _ = cmd.Wait(); ends <- n }()
	}
	for n := range procs {
		start(n)
	}
	tick := time.NewTicker(*killEvery)
	defer tick.Stop()
	for left := len(procs); left > 0; {
		select {
		case n := <-ends:
			said, _ := os.ReadFile(out.Name())
			switch state := procs[n].ProcessState; {
			case state.Success():
				left--
			case state.String() == "signal: killed":
				start(n)
			default:
				require.Fail(t, "a process failed", "%s\n%s", state, said)
			}
		case <-tick.C:
			if n := rand.IntN(3); left == 3 && kills < *objectives {
				kills++
				_ = procs[n].Process.Kill()
			}
		}
	}
	took := time.Since(began)
	said, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	shipped, kept := map[string]int{}, map[string]bool{}
	for line := range strings.Lines(string(said)) {
		switch run, what, _ := strings.Cut(strings.TrimSpace(line), " "); what {
		case "shipped":
			require.False(t, kept[run], "parcel %s is shipped again", run)
			shipped[run]++
		case "kept":
			kept[run] = true
		}
	}
	a, err := arc.New(t.Context(), open(t, dsn, postgres.Options{Schema: name}), dock(), nil)
	require.NoError(t, err)
	defer a.Close()
	delivered, asked, twice := 0, 0, 0
	for r, err := range a.In("").Runs(t.Context()) {
		require.NoError(t, err)
		require.True(t, settled(r), "%+v", r)
		twice += min(max(0, shipped[r.ID]-1), 1)
		if r.Status != arc.Delivered {
			asked++
			continue
		}
		delivered++
		require.NotZero(t, shipped[r.ID], "parcel %s", r.ID)
		times := 0
		for e, err := range a.In("").Watch(t.Context(), r.ID) {
			require.NoError(t, err)
			if e.Kind == "passed" {
				times++
			}
		}
		require.Equal(t, 1, times, "parcel %s", r.ID)
	}
	if kind == "repeatable" {
		require.Zero(t, asked)
	} else {
		require.Zero(t, twice)
	}
	require.Equal(t, *objectives, delivered+asked)
	t.Logf("%d objectives delivered and %d asked of a person in %v, with %d kills, and %d steps taken twice",
		delivered, asked, took.Round(time.Second), kills, twice)
}
