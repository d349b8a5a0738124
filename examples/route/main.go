// Route sends each ticket to one of three models, and learns which is worth its price for which kind of
// ticket. It prints what that costs beside the best single model. The workload is simulated: what each model
// solves of each kind is in a table that only the simulation reads.
//
//	go run ./examples/route
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// worth is what a solved ticket is worth to this host, in US dollars: what a person's time for it costs.
const worth = 2

// models are what a host lists: names, and the list price of a ticket.
var models = []rank.Candidate{
	{Name: "small", Price: .002},
	{Name: "medium", Price: .02},
	{Name: "large", Price: .12},
}

// kinds are the kinds of ticket, with their share of all and the share of them that each model solves.
var kinds = []struct {
	name   string
	share  float64
	solves map[string]float64
}{
	{"password", .45, map[string]float64{"small": .97, "medium": .98, "large": .98}},
	{"billing", .30, map[string]float64{"small": .60, "medium": .93, "large": .95}},
	{"outage", .25, map[string]float64{"small": .20, "medium": .55, "large": .92}},
}

// ticket is a case of the workload.
type ticket struct {
	kind int
	luck float64 // a model solves it if it solves a larger share of its kind
}

// solved is what a gate would find: tests that pass, a ticket that is not opened again.
func (t ticket) solved(model string) bool { return t.luck < kinds[t.kind].solves[model] }

func workload(n int) (ts []ticket) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range n {
		x, at := rng.Float64(), 0
		for x > kinds[at].share {
			x -= kinds[at].share
			at++
		}
		ts = append(ts, ticket{at, rng.Float64()})
	}
	return ts
}

// total is what tickets have come to.
type total struct {
	solved int
	usd    float64
}

func (t total) net() float64 { return worth*float64(t.solved) - t.usd }

// route lets the Book choose. The host's measure of an attempt is what it has earned, in solved tickets.
func route(ctx context.Context, tickets []ticket) (sum total, err error) {
	book, err := rank.Open(ctx, store.NewGroup(store.NewMem()), nil, 0, nil)
	if err != nil {
		return total{}, err
	}
	for i, t := range tickets {
		task := rank.Task{Skill: "ticket", Key: kinds[t.kind].name}
		ranked, err := book.Learned().Score(ctx, task, models)
		if err != nil {
			return total{}, err
		}
		model := ranked[0] // the best first
		outcome, reward := rank.Failed, -model.Price/worth
		if t.solved(model.Name) {
			outcome, reward = rank.Delivered, reward+1
			sum.solved++
		}
		sum.usd += model.Price
		err = book.Observe(ctx, rank.Sample{
			Run: fmt.Sprint("ticket/", i), Task: task, Candidate: model.Name,
			Outcome: outcome, Reward: &reward, Usage: rank.Usage{CostUSD: &model.Price},
		})
		if err != nil {
			return total{}, err
		}
	}
	return sum, nil
}

func main() {
	tickets := workload(3000)
	show := func(name string, t total) {
		fmt.Printf("%-7s %4d of %d solved for $%6.2f, worth $%.2f in all\n",
			name, t.solved, len(tickets), t.usd, t.net())
	}
	best, name := total{}, ""
	for _, m := range models {
		one := total{usd: m.Price * float64(len(tickets))}
		for _, t := range tickets {
			if t.solved(m.Name) {
				one.solved++
			}
		}
		show(m.Name, one)
		if one.net() > best.net() {
			best, name = one, m.Name
		}
	}
	routed, err := route(context.Background(), tickets)
	if err != nil {
		log.Fatal(err)
	}
	show("routed", routed)
	fmt.Printf("saved against %s, the best single model: $%.2f of $%.2f, with %+d tickets solved; "+
		"$%.2f in all\n", name, best.usd-routed.usd, best.usd, routed.solved-best.solved, routed.net()-best.net())
}
