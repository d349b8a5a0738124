// Route has several models solve tasks, one after the other, within what a task
// may cost on average: which cheap model tries first, when to pay for a strong
// one, and when to give up, an agent finds out as it goes. The program sets what
// came of it beside simple rules.
//
//	go run ./examples/route
//	go run ./examples/route -log log.csv -spend 0.5 -svg cascade.svg
//
// A log has a header, then for each task its set, its name, and a cell for each
// model: 1:0.42 for a task that it solved for 0.42 US dollars, 0:0.42 for one
// that it did not, 0 or 1 where the cost is not known (it counts as the model's
// mean), nothing where it did not try. Without one a log is made up.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// config is what the command line asks for.
type config struct {
	file   string
	models string // of the log, separated by commas; "": all
	set    string // of tasks; "": all
	spend  float64
	seed   uint64
	orders int
	svg    string
}

func main() {
	var c config
	flag.StringVar(&c.file, "log", "", "CSV of logged tasks; empty: made up")
	flag.StringVar(&c.models, "models", "", "models of the log, separated by commas; empty: all")
	flag.StringVar(&c.set, "set", "", "set of tasks; empty: all")
	flag.Float64Var(&c.spend, "spend", 0.25, "US dollars that a task may cost on average")
	flag.Uint64Var(&c.seed, "seed", 1, "order of the tasks, and draws")
	flag.IntVar(&c.orders, "orders", 5, "orders of the tasks whose mean is shown")
	flag.StringVar(&c.svg, "svg", "", "write a picture to this file")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, c); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, c config) error {
	l := invent()
	if c.file != "" {
		var err error
		if l, err = read(c.file, c.models, c.set); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%d tasks, %d models. A gate sees whether an attempt has solved its task; if\n"+
		"not, another model may try, and each attempt is paid for. An agent of arc may\n"+
		"spend %.2f USD a task on average, and knows nothing of the models at first.\n\n",
		len(l.tasks), len(l.models), c.spend)
	fmt.Fprintf(out, "%-45s %8s %11s %9s\n", "", "solved", "USD a task", "attempts")
	tell := func(rule string, o outcome) {
		fmt.Fprintf(out, "%-45s %7.1f%% %11.3f %9.2f\n", rule, 100*o.solved, o.usd, o.attempts)
	}
	var singles []outcome
	cheap, strong := 0, 0
	for m := range l.models {
		o := l.climb([]int{m})
		if singles = append(singles, o); o.usd < singles[cheap].usd {
			cheap = m
		}
		if o.solved > singles[strong].solved {
			strong = m
		}
	}
	tell("always the cheapest: "+l.models[cheap], singles[cheap])
	tell("always the strongest: "+l.models[strong], singles[strong])
	best := l.ladders()
	fixed := affordable(best, c.spend)
	tell("best fixed ladder for the money, in hindsight", fixed)
	learned, late, err := l.cascade(ctx, c, c.spend)
	if err != nil {
		return err
	}
	tell("arc", learned)
	tell("arc, in the second half of the tasks", late)
	oracle := l.oracle()
	tell("oracle: the cheapest that solves it", oracle)
	fmt.Fprintf(out, "\nThe fixed ladder is, of all those of up to %d models within the money, the best\n"+
		"by the outcomes, which no host knows beforehand:\n  %s\n"+
		"The oracle knows for each task who will solve it, and asks none if none will.\n"+
		"The figures of arc are the mean of %d orders of the tasks.\n",
		longest, strings.Join(l.ladderNames(fixed.ladder), ", "), c.orders)
	if c.svg == "" {
		return nil
	}
	p := picture{singles: singles, names: l.models, ladders: best, oracle: oracle}
	for _, share := range []float64{0.4, 0.6, 1, 1.5, 2, 3} {
		o := learned
		if share != 1 {
			if o, _, err = l.cascade(ctx, c, share*c.spend); err != nil {
				return err
			}
		}
		p.arc = append(p.arc, o)
	}
	return os.WriteFile(c.svg, p.draw(), 0o644)
}

// cascade has an agent solve the tasks in several orders. It returns the means over
// all tasks and over the second half.
func (l *logged) cascade(ctx context.Context, c config, spend float64) (all, late outcome, err error) {
	for k := range c.orders {
		seed := c.seed + uint64(k)
		order := rand.New(rand.NewPCG(seed, 6)).Perm(len(l.tasks))
		results, err := l.solve(ctx, order, spend, seed)
		if err != nil {
			return all, late, err
		}
		all.average(results, c.orders)
		late.average(results[len(results)/2:], c.orders)
	}
	return all, late, nil
}

// average takes the mean of results into a mean of so many.
func (o *outcome) average(results []outcome, of int) {
	n := float64(len(results) * of)
	for _, r := range results {
		o.solved, o.usd, o.attempts = o.solved+r.solved/n, o.usd+r.usd/n, o.attempts+r.attempts/n
	}
}

// solve gives the tasks to a new agent, which has a worker for each model, a gate
// that knows whether the task was solved, and what a task may cost.
func (l *logged) solve(ctx context.Context, order []int, spend float64, seed uint64) (results []outcome, err error) {
	var task []try
	host := arc.Host{Gates: []act.Gate{act.GateFunc(func(_ context.Context, _ act.Work, r act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: string(r.Output) == "true", Complaint: "the tests fail"}, nil
	})}}
	for m, name := range l.models {
		host.Workers = append(host.Workers, act.Worker{
			Card: rank.Candidate{Name: name},
			Executor: act.ExecutorFunc(func(context.Context, act.Work) (act.Result, error) {
				return act.Result{
					Output: fmt.Appendf(nil, "%t", task[m].solved), Usage: act.Usage{CostUSD: task[m].usd},
					Reflection: iar.Reflection{
						Status: iar.Success, Confidence: 0.8, Summary: "did it",
						PotentialIssues: []string{}, AlignmentCheck: map[string]float64{},
					},
				}, nil
			}),
		})
	}
	now := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	agent, err := arc.New(ctx, store.NewMem(), host, &arc.Options{
		Spend: spend, Seed: seed, Maintain: -1, Now: func() time.Time { return now },
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, agent.Close()) }()
	for n, i := range order {
		task = l.tasks[i]
		r, err := agent.Run(ctx, arc.Objective{
			Text: fmt.Sprint("solve task ", n), Situation: "a task", Tasks: []reason.Task{{Objective: "solve it"}},
		})
		if err != nil {
			return nil, err
		}
		o := outcome{usd: r.Usage.CostUSD, attempts: float64(r.Attempts)}
		if r.Status == arc.Delivered {
			o.solved = 1
		}
		results = append(results, o)
	}
	return results, nil
}
