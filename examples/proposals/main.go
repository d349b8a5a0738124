// Proposals is an agent that asks for a change: a goal is kept by a cheap action that
// hardly ever helps, and a dear one that does. The agent proposes to let the cheap one
// rest once it failed; a person approves, and takes it back later. Time is simulated.
//
//	go run ./examples/proposals
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
)

// jobs is a queue whose consumers get stuck now and then.
type jobs struct {
	chance  *rand.Rand
	waiting int
	tried   map[string]int // by action
}

// worker restarts consumers, which helps once in ten times, or adds one, which helps.
func (j *jobs) worker(action string, helps float64) act.Worker {
	do := func(context.Context, act.Work) (act.Result, error) {
		j.tried[action]++
		if j.chance.Float64() < helps {
			j.waiting = 0
		}
		said := iar.Reflection{Status: iar.Success, Confidence: 0.9, Summary: "done"}
		return act.Result{Output: []byte(`"done"`), Reflection: said}, nil
	}
	look := func(context.Context, act.Work, act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: j.waiting == 0, Complaint: fmt.Sprintf("%d jobs still wait", j.waiting)}, nil
	}
	return act.Worker{
		Card: rank.Candidate{Name: action + "-bot"}, Skills: []string{action},
		Executor: act.ExecutorFunc(do), Gates: []act.Gate{act.GateFunc(look)},
	}
}

// service is the queue with what keeps it.
type service struct {
	jobs
	out    io.Writer
	passed atomic.Int64 // of the time, which the agent reads by itself, too
	world  goal.World
	keeper *goal.Controller
}

func (s *service) now() time.Time {
	return time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(s.passed.Load()))
}

// day lets a day pass, and tells of it.
func (s *service) day(ctx context.Context) error {
	s.tried = map[string]int{}
	name, met, rounds := s.now().Format("2 January"), 0, 0
	for end := s.passed.Load() + int64(24*time.Hour); s.passed.Load() < end; s.passed.Add(int64(2 * time.Minute)) {
		if s.chance.IntN(20) == 0 || s.waiting > 0 { // the consumers are stuck
			s.waiting += 50 + s.chance.IntN(100)
		}
		read := s.world.Set("jobs", goal.Snapshot{Data: map[string]any{"waiting": s.waiting}, At: s.now()})
		_, err := s.keeper.Tick(ctx)
		if err := errors.Join(read, err, s.keeper.Wait(ctx)); err != nil {
			return err
		}
		if rounds++; s.waiting <= 100 {
			met++
		}
	}
	fmt.Fprintf(s.out, "%s: %d restarts, %d scalings, the queue is short %d %% of the time\n",
		name, s.tried["restart"], s.tried["scale"], 100*met/rounds)
	return nil
}

func main() {
	if err := run(context.Background(), os.Stdout, 1); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, seed uint64) error {
	s := &service{jobs: jobs{chance: rand.New(rand.NewPCG(seed, 0))}, out: out}
	agent, err := arc.Open(ctx, "", arc.Host{ // "" keeps it in memory
		Workers: []act.Worker{s.worker("restart", 0.1), s.worker("scale", 0.95)},
	}, &arc.Options{Now: s.now, Seed: seed, Maintain: -1}) // decide calls Maintain
	if err != nil {
		return err
	}
	defer agent.Close()
	short := goal.Condition{Selector: "domains.jobs.data.waiting", Max: new(100.0)}
	set, err := goal.NewGoals(goal.Goal{ID: "queue.short", Condition: short, Cooldown: time.Minute})
	if err != nil {
		return err
	}
	empty := []goal.Change{{Effect: reason.Effect{Domain: "jobs", Path: "data.waiting"}, Op: "set", Value: 0}}
	s.keeper, err = agent.Keep(ctx, &s.world, set, &goal.Options{Actions: []goal.Action{
		{Name: "restart", Skill: "restart", Effects: empty},
		{Name: "scale", Skill: "scale", Effects: empty, Cost: 5},
	}})
	if err != nil {
		return err
	}
	defer s.keeper.Close()
	err = s.day(ctx)
	id, wrong := decide(ctx, out, agent)
	if err := errors.Join(err, wrong, s.day(ctx)); err != nil {
		return err
	}
	p, err := agent.In("").Undo(ctx, id, "ada", "to see the difference")
	fmt.Fprintf(out, "\n  Ada takes it back: it is %s.\n\n", p.Status)
	return errors.Join(err, s.day(ctx))
}

// decide is a person who looks at what is proposed. It returns what was approved.
func decide(ctx context.Context, out io.Writer, agent *arc.Agent) (approved string, err error) {
	if _, err := agent.Maintain(ctx, ""); err != nil {
		return "", err
	}
	view := agent.In("")
	for p, err := range view.Proposals(ctx) {
		if err != nil {
			return "", err
		}
		if p.Kind != "action" || p.Change == nil { // such as to give a skill another worker
			_, err = view.Reject(ctx, p.ID, "ada", "not now")
		} else {
			alert, _, _ := strings.Cut(p.Reason, " (")
			fmt.Fprintf(out, "\n  proposed for %s:\n  %s,\n  since %s.\n", p.Subject, p.Change, alert)
			p, err = view.Approve(ctx, p.ID, "ada", "scaling is worth its price")
			approved = p.ID
			fmt.Fprintf(out, "  Ada approves: it is %s.\n\n", p.Status)
		}
		if err != nil {
			return "", err
		}
	}
	return approved, nil
}
