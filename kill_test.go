//go:build unix

package arc_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/tools"
	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/storetest"
)

var kills = flag.Int("kills", 10, "how many runs TestKill kills the process of, and how often TestKillOneOfThree kills one")

// stages are what a run of the clerk does, in this order: each is kept before the next one begins.
var stages = []string{"plan", "model 0", "look", "model 1", "pay", "model 2", "write", "model 3", "file"}

// clerk is what the processes that are killed have: a model that calls three tools, and a worker after it. It
// prints what is done, and of which run.
func clerk() arc.Host {
	did := func(run, what string) { fmt.Printf("%s did %s\n", run, what) }
	var ts []tools.Tool
	for _, name := range []string{"look", "pay", "write"} {
		ts = append(ts, tools.Tool{Worker: act.Worker{Name: name, Irreversible: name == "pay"}, Call: func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
			var of struct{ Run string }
			err := json.Unmarshal(in, &of)
			did(of.Run, name)
			return json.RawMessage(`"done"`), err
		}})
	}
	model := reason.ModelFunc(func(_ context.Context, r *reason.Request) (*reason.Response, error) {
		n, run := 0, ""
		for _, m := range r.Messages {
			if m.Role == reason.RoleTool {
				n++
			}
			if _, after, ok := strings.Cut(m.Text, "refund "); ok && run == "" {
				run = strings.TrimRight(strings.Fields(after)[0], ".\"")
			}
		}
		did(run, fmt.Sprint("model ", n))
		if n == len(ts) {
			return &reason.Response{Text: "It is refunded.", Stop: reason.StopEnd}, nil
		}
		c := reason.ToolCall{ID: fmt.Sprint(n), Name: ts[n].Name, Inputs: fmt.Appendf(nil, `{"run":%q}`, run)}
		return &reason.Response{Calls: []reason.ToolCall{c}, Stop: reason.StopTools}, nil
	})
	return arc.Host{
		Workers: []act.Worker{
			{Name: "desk", Skills: []string{"refund"}, Executor: tools.New(model, nil, ts...), Gates: []act.Gate{act.NoGate}},
			{Name: "file", Skills: []string{"file"}, Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
				func(_ context.Context, c *act.Call) (*act.Result, error) {
					did(c.Run, "file")
					return &act.Result{Text: "filed"}, nil
				})},
		},
		Reasoner: &arctest.Reasoner{Decision: func(b *reason.Brief) (*reason.Decision, error) {
			did(b.Run, "plan")
			return arctest.Tasks("", task(b.Text, "refund"), task("file it", "file")), nil
		}},
	}
}

// settled reports whether a run has ended, or waits for a person since nobody knows whether it has paid.
func settled(r *arc.Report) bool {
	return r.Status == arc.Delivered || r.Status == arc.Waiting && len(r.Approvals) > 0 && strings.Contains(r.Text, "its end is not known")
}

// alone is the process of TestKill: it ends when its run has.
func alone(dir string) error {
	ctx := context.Background()
	a, err := arc.Open(ctx, dir, clerk(), nil)
	if err != nil {
		return err
	}
	r, err := a.In("").Report(ctx, "7")
	if errors.Is(err, store.ErrNotFound) {
		r, err = a.Run(ctx, arc.Objective{ID: "7", Text: "refund 7"})
	}
	for err == nil && !settled(r) { // one that was there goes on by itself
		time.Sleep(time.Millisecond)
		r, err = a.In("").Report(ctx, "7")
	}
	return errors.Join(err, a.Close())
}

// kill −9 at any time, and open again: the run goes on by itself, what was finished is not done again,
// and nothing is paid twice.
func TestKill(t *testing.T) {
	if dir := os.Getenv("ARC_CLERK"); dir != "" {
		require.NoError(t, alone(dir))
		return
	}
	killed, asked := map[string]int{}, 0
	for round := range *kills {
		draw := rand.New(rand.NewPCG(1, uint64(round)))
		dir, far, paid := t.TempDir(), 0, 0
		for at := draw.IntN(len(stages)); ; at = draw.IntN(len(stages)) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestKill$")
			cmd.Env = append(os.Environ(), "ARC_CLERK="+dir)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			lines := bufio.NewScanner(out)
			for n := 0; lines.Scan(); n++ {
				_, did, ok := strings.Cut(lines.Text(), " did ")
				if !ok {
					continue
				}
				stage := slices.Index(stages, did)
				require.GreaterOrEqual(t, stage, far, "round %d: %s was finished, and is done again", round, did)
				if far = stage; did == "pay" {
					paid++
				}
				if n == at {
					wait := time.Duration(draw.IntN(4000)) * time.Microsecond
					for end := time.Now().Add(wait); time.Now().Before(end); { // a timer is too coarse for a commit
					}
					killed[did]++
					_ = cmd.Process.Kill()
				}
			}
			if err = cmd.Wait(); err == nil {
				break
			}
			require.ErrorContains(t, err, "killed", "round %d", round)
		}
		require.LessOrEqual(t, paid, 1, "round %d", round)
		if far < len(stages)-1 {
			require.Contains(t, []string{"model 1", "pay"}, stages[far], "round %d", round) // about to pay, or paying
			asked++
		}
	}
	t.Logf("killed after %v; asked in %d of %d runs", killed, asked, *kills)
}

// TestKillBelow is TestKill of runs below a run, three deep, whose workers know nothing of crashes: each call
// of Run goes on with the run that it began before, and nothing is paid twice.
func TestKillBelow(t *testing.T) {
	if dir := os.Getenv("ARC_CLERK"); dir != "" {
		require.NoError(t, threeDeep(dir))
		return
	}
	killed, asked := map[string]int{}, 0
	for round := range *kills {
		draw, dir, paid := rand.New(rand.NewPCG(4, uint64(round))), t.TempDir(), 0
		for last := ""; last != "settled"; {
			cmd := exec.Command(os.Args[0], "-test.run=^TestKillBelow$")
			cmd.Env = append(os.Environ(), "ARC_CLERK="+dir)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			at := draw.IntN(16) // of about 14 lines
			for lines, n := bufio.NewScanner(out), 0; lines.Scan(); {
				_, did, ok := strings.Cut(lines.Text(), "top did ")
				if !ok {
					continue
				}
				switch last = did; did {
				case "pay":
					paid++
				case "ask":
					asked++
				}
				if n++; n == at {
					for end := time.Now().Add(time.Duration(draw.IntN(3000)) * time.Microsecond); time.Now().Before(end); {
					}
					killed[did]++
					_ = cmd.Process.Kill()
				}
			}
			if err = cmd.Wait(); last != "settled" {
				require.ErrorContains(t, err, "killed", "round %d", round)
			}
		}
		require.LessOrEqual(t, paid, 1, "round %d", round)
	}
	t.Logf("killed after %v; asked in %d of %d", killed, asked, *kills)
}

// threeDeep is a process of TestKillBelow: it ends when all three runs have, or the lowest asks whether it has paid.
func threeDeep(dir string) error {
	ctx, did := context.Background(), func(what string) { fmt.Println("top did " + what) }
	a, err := arc.Open(ctx, dir, arc.Host{}, &arc.Options{OnEvent: func(_ memory.Scope, _ string, e arc.Event) { did(e.Kind) }})
	if err != nil {
		return err
	}
	hand := act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
		_, err := act.Step(ctx, "pay", nil, func(context.Context) (bool, error) {
			did("pay")
			return true, nil
		}, act.Irreversible())
		return &act.Result{Text: "paid"}, err
	})
	workers := []act.Worker{below(&a, "lead", "crew"), below(&a, "crew", "hand"),
		{Name: "hand", ByName: true, Executor: hand, Gates: []act.Gate{act.NoGate}}}
	workers[0].ByName = false
	if err := a.SetWorkers(workers); err != nil {
		return err
	}
	_, err = a.In("").Report(ctx, "7")
	if errors.Is(err, store.ErrNotFound) {
		_, err = a.Run(ctx, arc.Objective{ID: "7", Text: "pay"})
	}
	for ended := 0; err == nil && ended < 3; time.Sleep(time.Millisecond) {
		ended = 0
		n := 0
		for r, e := range a.In("").Runs(ctx) {
			n++
			switch err = cmp.Or(err, e); {
			case e != nil:
			case n > 3:
				return fmt.Errorf("another run: %s", r.ID)
			case r.Status == arc.Delivered:
				ended++
			case r.Status == arc.Blocked:
				return fmt.Errorf("%s is blocked: %s", r.ID, r.Text)
			case settled(r):
				did("ask")
				ended = 3
			}
		}
	}
	did("settled")
	return errors.Join(err, a.Close())
}

// oneOfThree is a process of TestKillOneOfThree: it ends when all runs have.
func oneOfThree(socket, name string, runs int) error {
	ctx := context.Background()
	defer arc.Hurry(100*time.Millisecond, 300*time.Millisecond, 600*time.Millisecond, 10*time.Millisecond)()
	st, err := storetest.Dial(socket)
	if err != nil {
		return err
	}
	a, err := arc.New(ctx, st, clerk(), &arc.Options{Process: name})
	if err != nil {
		return err
	}
	for n := range runs {
		id := fmt.Sprint(n)
		o := arc.Objective{ID: id, Text: "refund " + id}
		r, err := a.Run(ctx, o)
		for err != nil || !settled(r) { // another one has it, or has had it
			if away, _ := errors.AsType[*reason.Error](err); away != nil && away.Class == reason.Unavailable {
				r, err = a.Run(ctx, o) // it was held up, and has stored nothing
				continue
			}
			if err != nil && !errors.Is(err, arc.ErrRunning) && !errors.Is(err, context.Canceled) {
				return err
			}
			time.Sleep(5 * time.Millisecond)
			r, err = a.In("").Report(ctx, id)
		}
	}
	return errors.Join(a.Close(), st.Close())
}

// Three processes share a store. They are killed, and held up for longer than the others wait, at any time:
// all runs come to an end, and nothing is paid twice.
func TestKillOneOfThree(t *testing.T) {
	if at := strings.Split(os.Getenv("ARC_CLERK"), "|"); len(at) == 2 {
		require.NoError(t, oneOfThree(at[0], at[1], *kills))
		return
	}
	dir := t.TempDir()
	socket, mem := filepath.Join(dir, "s"), store.NewMem()
	stop, err := storetest.Serve(mem, socket)
	require.NoError(t, err)
	out, err := os.Create(filepath.Join(dir, "out"))
	require.NoError(t, err)
	start := func(name int) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKillOneOfThree$", "-kills", fmt.Sprint(*kills))
		cmd.Env = append(os.Environ(), fmt.Sprintf("ARC_CLERK=%s|p%d", socket, name))
		cmd.Stdout, cmd.Stderr = out, out // at one offset
		require.NoError(t, cmd.Start())
		return cmd
	}
	draw, procs := rand.New(rand.NewPCG(2, 3)), []*exec.Cmd{start(0), start(1), start(2)}
	for range *kills {
		time.Sleep(time.Duration(20+draw.IntN(100)) * time.Millisecond)
		if n := draw.IntN(3); draw.IntN(3) == 0 {
			_ = procs[n].Process.Signal(syscall.SIGSTOP)
			time.Sleep(time.Duration(draw.IntN(1000)) * time.Millisecond)
			_ = procs[n].Process.Signal(syscall.SIGCONT)
		} else {
			_ = procs[n].Process.Kill()
			_ = procs[n].Wait()
			procs[n] = start(n)
		}
	}
	for _, p := range procs {
		if err := p.Wait(); err != nil {
			said, _ := os.ReadFile(out.Name())
			require.NoError(t, err, "%s", said)
		}
	}
	require.NoError(t, stop())
	said, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	paid := map[string]int{}
	for line := range strings.Lines(string(said)) {
		if run, did, ok := strings.Cut(strings.TrimSpace(line), " did "); ok && did == "pay" {
			paid[run]++
			require.Equal(t, 1, paid[run], "run %s", run)
		}
	}
	a, err := arc.New(t.Context(), mem, clerk(), nil)
	require.NoError(t, err)
	defer a.Close()
	ended := 0
	for r, err := range a.In("").Runs(t.Context()) {
		require.NoError(t, err)
		require.True(t, settled(r), "%+v", r)
		if r.Status == arc.Delivered {
			require.Equal(t, 1, paid[r.ID])
		}
		ended++
	}
	require.Equal(t, *kills, ended)
}
