// Route sends each question of a log to a cheap or a strong model, within a
// budget, and compares what came of it with always choosing the same one and
// with an oracle.
//
//	go run ./examples/route
//	go run ./examples/route -log questions.csv -budget 40 -svg regret.svg
//
// The log has a header and the columns topic, anything, anything, and whether
// the cheap and the strong model were right (0 or 1). Without one a small log
// is made up.
package main

import (
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"strconv"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/rank/replay"
	"github.com/arc-learn/arc/store"
)

// What a question costs, in US dollars.
const (
	cheapUSD  = 0.0015
	strongUSD = 0.15
)

var models = []rank.Candidate{{Name: "cheap", Prior: 0.5}, {Name: "strong", Prior: 0.5}}

func main() {
	file := flag.String("log", "", "CSV of logged questions; empty: made up")
	budget := flag.Float64("budget", 45, "US dollars per 1000 questions")
	seed := flag.Uint64("seed", 1, "order of the questions, and draws")
	svg := flag.String("svg", "", "write a picture of the regret curves to this file")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *file, *budget, *seed, *svg); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, file string, budget float64, seed uint64, svg string) error {
	questions, err := read(file)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	rng.Shuffle(len(questions), func(i, j int) { questions[i], questions[j] = questions[j], questions[i] })

	fmt.Fprintf(out, "%d questions, each for a cheap or a strong model, at %.2f or %.2f USD per\n"+
		"1000. The budget is %.2f. The oracle knows beforehand which model is right.\n\n",
		len(questions), 1000*cheapUSD, 1000*strongUSD, budget)
	fmt.Fprintf(out, "%-15s %8s %14s %12s\n", "policy", "right", "USD per 1000", "sent strong")
	always := func(strong bool) func(*question) (bool, error) {
		return func(*question) (bool, error) { return strong, nil }
	}
	r, err := newRouter(ctx, budget/1000, seed)
	if err != nil {
		return err
	}
	defer r.book.Close()
	for _, p := range []struct {
		name   string
		choose func(*question) (bool, error)
	}{
		{"always cheap", always(false)},
		{"always strong", always(true)},
		{"routed", func(q *question) (bool, error) { return r.route(ctx, q) }},
		{"oracle", func(q *question) (bool, error) { return q.strong && !q.cheap, nil }},
	} {
		if err := tell(out, p.name, questions, p.choose); err != nil {
			return err
		}
	}
	if svg == "" {
		return nil
	}
	curves, err := regrets(ctx, questions, seed)
	if err != nil {
		return err
	}
	return os.WriteFile(svg, draw(curves), 0o644)
}

// tell prints what a policy comes to.
func tell(out io.Writer, name string, qs []question, choose func(*question) (bool, error)) error {
	right, usd, strong := 0.0, 0.0, 0.0
	for i := range qs {
		s, err := choose(&qs[i])
		if err != nil {
			return err
		}
		if qs[i].right(s) {
			right++
		}
		usd += price(s)
		if s {
			strong++
		}
	}
	n := float64(len(qs))
	_, err := fmt.Fprintf(out, "%-15s %7.1f%% %14.2f %11.1f%%\n", name, 100*right/n, 1000*usd/n, 100*strong/n)
	return err
}

// question is one line of the log.
type question struct {
	topic         string
	cheap, strong bool // who was right
}

func (q *question) right(strong bool) bool {
	if strong {
		return q.strong
	}
	return q.cheap
}

func price(strong bool) float64 {
	if strong {
		return strongUSD
	}
	return cheapUSD
}

// router asks a Book which model is likelier to be right, and pays for the
// difference what the budget allows.
type router struct {
	book   *rank.Book
	policy rank.Policy
	budget float64 // US dollars per question
	rate   float64 // what a right answer has to be worth per dollar
	asked  int
}

func newRouter(ctx context.Context, budget float64, seed uint64) (*router, error) {
	book, err := rank.Open(ctx, store.NewMem(), &rank.Options{Seed: seed})
	if err != nil {
		return nil, err
	}
	return &router{book: book, policy: book.Learned(nil), budget: budget, rate: 1}, nil
}

// route chooses a model and learns from what came of it.
func (r *router) route(ctx context.Context, q *question) (strong bool, err error) {
	s := rank.Situation{Skill: "answer", Key: q.topic}
	ss, err := r.policy.Score(ctx, s, models)
	if err != nil {
		return false, err
	}
	gain := 0.0
	for _, x := range ss {
		worth := x.Score + x.Parts.Draw
		if x.Candidate.Name == "cheap" {
			worth = -worth
		}
		gain += worth
	}
	strong = gain > r.rate*(strongUSD-cheapUSD)
	// A question that costs more than the budget raises the price of the
	// next ones, and one that costs less lowers it.
	r.rate = max(0, r.rate+0.5*(price(strong)-r.budget))
	r.asked++
	name, reward := "cheap", 0.0
	if strong {
		name = "strong"
	}
	if q.right(strong) {
		reward = 1
	}
	return strong, r.book.Observe(ctx, rank.Sample{
		Key: fmt.Sprint(r.asked), Candidate: name, Situation: s, Success: reward == 1, Reward: &reward, CostUSD: price(strong),
	})
}

// read returns the questions of a file, or some made up ones.
func read(file string) ([]question, error) {
	if file == "" {
		return invent(), nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) < 2 || len(rows[0]) < 5 {
		return nil, errors.New("the log has no questions, or fewer than five columns")
	}
	var qs []question
	for i, row := range rows[1:] {
		cheap, err := strconv.ParseFloat(row[3], 64)
		if err != nil {
			return nil, fmt.Errorf("question %d: %w", i+1, err)
		}
		strong, err := strconv.ParseFloat(row[4], 64)
		if err != nil {
			return nil, fmt.Errorf("question %d: %w", i+1, err)
		}
		qs = append(qs, question{topic: row[0], cheap: cheap >= 0.5, strong: strong >= 0.5})
	}
	return qs, nil
}

// invent makes up 3000 questions of twelve topics; in some of them the strong
// model is much better, in some hardly.
func invent() []question {
	rng := rand.New(rand.NewPCG(7, 7))
	var qs []question
	for i := range 3000 {
		topic := i % 12
		q := question{topic: fmt.Sprint("topic-", topic)}
		q.cheap = rng.Float64() < 0.35+0.05*float64(topic)
		q.strong = rng.Float64() < 0.9
		qs = append(qs, q)
	}
	return qs
}

// curve is the regret of a policy over the questions.
type curve struct {
	name   string
	regret []float64
}

// regrets replays the questions through three policies. A right answer is
// worth 1 less its price.
func regrets(ctx context.Context, qs []question, seed uint64) ([]curve, error) {
	var ds []replay.Decision
	for i := range qs {
		d := replay.Decision{Situation: rank.Situation{Skill: "answer", Key: qs[i].topic}, Candidates: models}
		for _, strong := range []bool{false, true} {
			worth := 0.0
			if qs[i].right(strong) {
				worth = max(0, 1-price(strong))
			}
			s := rank.Sample{Candidate: models[len(d.Outcomes)].Name, Success: qs[i].right(strong), Reward: &worth}
			d.Outcomes = append(d.Outcomes, s)
		}
		ds = append(ds, d)
	}
	book, err := rank.Open(ctx, store.NewMem(), &rank.Options{Seed: seed})
	if err != nil {
		return nil, err
	}
	defer book.Close()
	var out []curve
	for _, p := range []struct {
		name string
		l    replay.Learner
	}{
		{"ε-greedy", replay.NewGreedy(0.1, seed)},
		{"Thompson", replay.NewThompson(false, seed)},
		{"Thompson by topic", replay.NewThompson(true, seed)},
		{"Learned", replay.With(book.Learned(nil), book)},
	} {
		r, err := replay.Run(ctx, p.l, ds, &replay.Options{InOrder: true})
		if err != nil {
			return nil, err
		}
		out = append(out, curve{p.name, r.Regret})
	}
	return out, nil
}
