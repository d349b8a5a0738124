// Goals keeps a service healthy without a model: goals say what should hold, a
// controller sees what does not, and of two executors that could mend it the
// ranking has to find out which one can. Boaster claims 0.95 of itself and mends
// three of ten; modest claims 0.6 and mends nine of ten. A fifth goal is none that
// they can meet: it becomes a job. Time is simulated: six hours pass in a moment.
//
//	go run ./examples/goals
package main

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

//go:embed goals.yaml
var goalsYAML []byte

const intro = `Five goals about a service, looked at every 30 seconds for six hours.
Two executors can mend four of them: boaster says it is 95% sure of itself and
mends three of ten, modest says 60% and mends nine of ten. A gate looks whether
it is mended; the ranking learns from that, and from the next reading.

The first dispatches:
time      goal            executor  what came of it
`

func main() {
	fmt.Print(intro)
	t, err := run(context.Background(), os.Stdout, 4, 6*time.Hour)
	if err != nil {
		log.Fatal(err)
	}
	t.print()
}

// round is the time between two looks at the service.
const round = 30 * time.Second

func run(ctx context.Context, out io.Writer, seed uint64, hours time.Duration) (*tally, error) {
	begin := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	var passed atomic.Int64 // of the clock, which the agent reads beside the loop below
	clock := func() time.Time { return begin.Add(time.Duration(passed.Load())) }
	s := newService(seed)
	agent, err := arc.Open(ctx, "", arc.Host{ // no reasoner: goals bring their own plans
		Workers: []act.Worker{s.worker("boaster", 0.95, 0.3), s.worker("modest", 0.6, 0.9)},
		Gates:   []act.Gate{act.GateFunc(s.verify)},
	}, &arc.Options{Now: clock, Seed: seed})
	if err != nil {
		return nil, err
	}
	defer agent.Close()

	var goals goal.Goals
	if _, err := goals.Load(goalsYAML); err != nil {
		return nil, err
	}
	world := new(goal.World)
	if err := world.Collect(goal.Collector{Domain: "service", Read: s.read, Every: round}); err != nil {
		return nil, err
	}
	t := &tally{out: out, begin: begin, half: begin.Add(hours / 2)}
	c, err := agent.Keep(ctx, world, &goals, &goal.Options{
		MaxInFlight: 1, // one after another, so that the draws of chance repeat
		Outcome:     t.outcome,
	})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	// The goals are a sensor of a queue, which has jobs for what no worker can mend.
	// Where time is real, q.Watch(ctx, nil, look) does what follows; without a queue,
	// c.Run(ctx).
	q, err := queue.Open(ctx, store.NewMem(), &queue.Options{Now: clock, Seed: seed})
	if err != nil {
		return nil, err
	}
	read := func(ctx context.Context, _ string) (queue.Reading, error) {
		report, err := tend(ctx, world, c, clock())
		t.seen(report)
		return queue.Reading{Jobs: stuck(report)}, err
	}
	look := queue.Sensor{Name: "goals", Every: round, Jitter: -1, Read: read}
	for ; passed.Load() < int64(hours); passed.Add(int64(round)) {
		s.decay()
		found, err := q.Sense(ctx, look)
		if err != nil {
			return nil, err
		}
		t.jobs = append(t.jobs, found...)
	}
	return t, nil
}

// tend looks at the service, has done what can be done, and waits for that.
func tend(ctx context.Context, w *goal.World, c *goal.Controller, now time.Time) (r goal.Report, err error) {
	if err = w.Poll(ctx, now); err != nil {
		return r, err
	}
	if r, err = c.Tick(ctx); err != nil {
		return r, err
	}
	return r, c.Wait(ctx)
}

// stuck are the goals that no worker can meet: one job for each at a time.
func stuck(r goal.Report) (jobs []queue.Draft) {
	for _, g := range r.Goals {
		if g.Doing == goal.Stuck {
			jobs = append(jobs, queue.Draft{Subject: g.Goal, Description: g.Why, Key: "goal/" + g.Goal})
		}
	}
	return jobs
}

// tally is what came of it all, in two halves.
type tally struct {
	out         io.Writer
	begin, half time.Time
	lines       int
	jobs        []queue.Job
	halves      [2]half
}

type half struct {
	sent, mended    map[string]int // by worker
	rounds, healthy int
}

func (t *tally) of(at time.Time) *half {
	h := &t.halves[0]
	if !at.Before(t.half) {
		h = &t.halves[1]
	}
	if h.sent == nil {
		h.sent, h.mended = map[string]int{}, map[string]int{}
	}
	return h
}

// timeline is how many dispatches are told one by one.
const timeline = 16

// outcome is called with each outcome of a dispatch, and again when a reading has
// shown whether it helped.
func (t *tally) outcome(o goal.Outcome) {
	if o.End == goal.Unseen && o.Why == "" {
		return
	}
	h := t.of(o.Ended)
	h.sent[o.Worker]++
	if o.End == goal.Succeeded {
		h.mended[o.Worker]++
	}
	if t.lines++; t.lines <= timeline {
		_, complaint, _ := strings.Cut(o.Why, o.Worker+": ") // of the gate
		fmt.Fprintf(t.out, "%s  %-14s  %-8s  %s\n", o.Ended.Format("15:04:05"), o.Goal, o.Worker, cmp.Or(complaint, "mended"))
	} else if t.lines == timeline+1 {
		fmt.Fprintln(t.out, "…")
	}
}

// seen takes down whether all goals are met.
func (t *tally) seen(r goal.Report) {
	h := t.of(r.At)
	h.rounds++
	for _, g := range r.Goals {
		if g.Status != goal.Met && g.Doing != goal.Stuck {
			return
		}
	}
	h.healthy++
}

func (t *tally) print() {
	fmt.Fprintf(t.out, "\nBoth halves of the six hours:\n%-22s %10s %10s\n", "", "first", "second")
	row := func(name string, share func(h *half) (n, of int)) {
		fmt.Fprintf(t.out, "%-22s", name)
		for i := range t.halves {
			n, of := share(&t.halves[i])
			fmt.Fprintf(t.out, " %9.0f%%", 100*float64(n)/float64(max(1, of)))
		}
		fmt.Fprintln(t.out)
	}
	for _, name := range []string{"boaster", "modest"} {
		row("given to "+name, func(h *half) (int, int) { return h.sent[name], h.sent["boaster"] + h.sent["modest"] })
	}
	row("dispatches that helped", func(h *half) (int, int) {
		return h.mended["boaster"] + h.mended["modest"], h.sent["boaster"] + h.sent["modest"]
	})
	row("those four goals met", func(h *half) (int, int) { return h.healthy, h.rounds })
	fmt.Fprintln(t.out, "\nWhat is left is a job for others:")
	for _, j := range t.jobs {
		_, why, _ := strings.Cut(j.Description, "no plan: ")
		fmt.Fprintf(t.out, "%s  %s: %s\n", j.Created.Format("15:04"), j.Subject, why)
	}
}
