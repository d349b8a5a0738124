package arc_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	arc "github.com/arc-learn/arc/next"
	"github.com/arc-learn/arc/next/act"
	"github.com/arc-learn/arc/next/arctest"
	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/reason"
)

var kills = flag.Int("kills", 6, "how many runs TestKill kills the process of")

// clerk is the process that TestKill kills: it prints what it has done, and ends when its run has.
func clerk(dir string) error {
	ctx := context.Background()
	does := func(name string) act.Worker {
		return act.Worker{Name: name, Skills: []string{name}, Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
			func(context.Context, *act.Call) (*act.Result, error) {
				fmt.Println("did", name)
				return &act.Result{Text: name}, nil
			})}
	}
	h := arc.Host{Workers: []act.Worker{does("look"), does("pay"), does("write")}, Reasoner: &arctest.Reasoner{
		Decision: func(*reason.Brief) (*reason.Decision, error) {
			return arctest.Plan("", task("look", "look"), task("pay", "pay"), task("write", "write")), nil
		}}}
	h.Workers[1].Irreversible = true
	a, err := arc.Open(ctx, dir, h, &arc.Options{OnEvent: func(_ memory.Scope, _ string, e arc.Event) {
		if e.Kind == "delivered" && e.Name != "" {
			fmt.Println("kept", e.Name) // told after its commit
		}
	}})
	if err != nil {
		return err
	}
	if _, err := a.In("").Report(ctx, "7"); err != nil {
		if _, err := a.Run(ctx, arc.Objective{ID: "7", Text: "refund"}); err != nil {
			return err
		}
	}
	for e, err := range a.In("").Watch(ctx, "7") { // one that was there goes on by itself
		if err != nil {
			return err
		}
		if strings.Contains(e.Text, "its end is not known") {
			fmt.Println("asks")
			return a.Close()
		}
	}
	return a.Close()
}

// kill −9 at any time, and open again: the run goes on by itself, no finished attempt is made again, and nothing is
// paid twice.
func TestKill(t *testing.T) {
	if dir := os.Getenv("ARC_CLERK"); dir != "" {
		require.NoError(t, clerk(dir))
		return
	}
	killed := 0
	for round := range *kills {
		draw := rand.New(rand.NewPCG(1, uint64(round)))
		dir, did, kept, asked := t.TempDir(), map[string]int{}, map[string]bool{}, false
		for at := draw.IntN(6); ; at = draw.IntN(6) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestKill$")
			cmd.Env = append(os.Environ(), "ARC_CLERK="+dir)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			lines := bufio.NewScanner(out)
			var said []string
			for n := 0; lines.Scan(); n++ {
				said = append(said, lines.Text())
				if n == at {
					wait := time.Duration(draw.IntN(4000)) * time.Microsecond
					for end := time.Now().Add(wait); time.Now().Before(end); { // a timer is too coarse for a commit
					}
					_ = cmd.Process.Kill()
				}
			}
			err = cmd.Wait()
			for _, line := range said {
				switch verb, what, _ := strings.Cut(line, " "); verb {
				case "did":
					require.False(t, kept[what], "round %d: %s was kept, and made again", round, what)
					did[what]++
				case "kept":
					kept[what] = true
				case "asks":
					asked = true
				}
			}
			require.LessOrEqual(t, did["pay"], 1, "round %d", round)
			if err == nil {
				break
			}
			require.ErrorContains(t, err, "killed", "round %d: %v", round, said)
			killed++
		}
		require.True(t, asked || kept["write"] || did["write"] > 0, "round %d: %v", round, did)
	}
	t.Logf("%d runs, killed %d times", *kills, killed)
}
