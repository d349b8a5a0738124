package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// stopLimit is the deadline of a child's Shutdown.
const stopLimit = 2 * time.Second

// agent runs objectives until it is told to stop, and says how long that took.
func agent(o order) {
	take(o.Files)
	ctx := context.Background()
	worker := act.Worker{
		Card: rank.Candidate{Name: "w", Prior: 0.5}, Skills: []string{"work"}, Gates: []act.Gate{act.NoGate},
		Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
			return act.Result{Output: json.RawMessage(`1`), Reflection: iar.Reflection{
				Status: iar.Success, Confidence: 1, Summary: "did it", PotentialIssues: []string{}, AlignmentCheck: map[string]float64{"it": 1},
			}}, nil
		}),
	}
	a, err := arc.Open(ctx, o.Dir, arc.Host{Workers: []act.Worker{worker}}, nil)
	if err != nil {
		complain("refused", err)
		return
	}
	say("open")
	stop := stopped()
	for w := range writers {
		go func() {
			for i := 0; !stop.Load(); i++ {
				text := fmt.Sprintf("mend part %d of %d", i, w)
				tasks := []reason.Task{{Objective: text, Skill: "work"}}
				inputs, _ := json.Marshal(strings.Repeat(text, o.Value/len(text)+1)) // a string always can
				if _, err := a.Run(ctx, arc.Objective{Text: text, Tasks: tasks, Inputs: inputs, Scope: "acme"}); err != nil {
					say("error %v", err)
					<-time.After(20 * time.Millisecond)
				}
			}
		}()
	}
	for !stop.Load() {
		<-time.After(10 * time.Millisecond)
	}
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	err = a.Shutdown(ctx)
	_, busy := errors.AsType[*arc.BusyError](err)
	say("stopped %d %t %v", time.Since(begin).Milliseconds(), busy, err)
}

// P14: an Agent on a disk that hangs, or lacks something, stops in time.
func TestAgentStops(t *testing.T) {
	r := random(t)
	delay := func(call string) []string {
		return strace(t, fmt.Sprintf("%s:delay_enter=40000000:when=%d+", call, 20+r.IntN(20)))
	}
	slowest, left, n := 0, 0, 0
	for _, kind := range []string{"whole", "msync", "fsync", "fdatasync", "openat", "files", "inodes", "bytes"} {
		for range *rounds {
			t.Run(kind, func(t *testing.T) {
				o, dir, below := order{Do: "agent", Value: 8 << 10}, t.TempDir(), []string(nil)
				switch kind {
				case "whole":
				case "files":
					o.Files = 48 + r.Uint64N(32)
				case "inodes":
					dir, _ = small(t, fmt.Sprintf("size=1g,nr_inodes=%d", 24+r.IntN(24)))
				case "bytes":
					dir, _ = small(t, fmt.Sprintf("size=%dm", 140+r.IntN(100)))
				default:
					below = delay(kind)
				}
				o.Dir = filepath.Join(dir, "store")
				c := begin(t, o, below...)
				c.wait(1500*time.Millisecond, "refused", "error")
				_ = c.stdin.Close() // it may have ended
				c.wait(30*time.Second, "refused", "stopped")
				p := c.kill()
				if !p.open {
					t.Log("not open: ", p.refused)
					return
				}
				require.NotEmpty(t, p.stopped, p.ended)
				n++
				fields := strings.SplitN(p.stopped, " ", 3)
				ms, err := strconv.Atoi(fields[0])
				require.NoError(t, err)
				slowest = max(slowest, ms)
				if fields[1] == "true" {
					left++
				}
				t.Log(p.stopped)
				require.LessOrEqual(t, ms, int((stopLimit + time.Second).Milliseconds()))
			})
		}
	}
	t.Logf("figures: %s | %d stops with %v to go | the slowest took %d ms | %d left something behind", t.Name(), n, stopLimit, slowest, left)
}
