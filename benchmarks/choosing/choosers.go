package main

import (
	"context"
	"log"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// chooser is Learned, or one of the simple bandits.
type chooser interface {
	choose(key string) int
	learn(key string, i int, worth float64)
}

var choosers = []struct {
	name string
	make func(k int, seed uint64) chooser
}{
	{"arc's Learned", func(k int, seed uint64) chooser { return newLearner(k, seed) }},
	{"greedy", bandit{}.begin},
	{"ε .1", bandit{epsilon: .1}.begin},
	{"UCB", bandit{ucb: .3}.begin},
	{"Thompson", bandit{thompson: true}.begin},
}

// learner has a Book, in memory.
type learner struct {
	book  *rank.Book
	cs    []rank.Candidate
	clock time.Time
}

func newLearner(k int, seed uint64) *learner {
	l := &learner{clock: time.Unix(1_700_000_000, 0)}
	var err error
	now := func() time.Time { return l.clock }
	l.book, err = rank.Open(context.Background(), store.NewGroup(store.NewMem()), now, seed, nil)
	if err != nil {
		log.Fatal(err)
	}
	for i := range k {
		l.cs = append(l.cs, rank.Candidate{Name: strconv.Itoa(i)})
	}
	return l
}

func (l *learner) choose(key string) int {
	i, ok := l.first(l.book.Learned(), rank.Task{Skill: "s", Key: key})
	if !ok {
		log.Fatal("nobody is chosen")
	}
	return i
}

// first is the first of an order, if there is one.
func (l *learner) first(p rank.Policy, t rank.Task) (int, bool) {
	s, err := p.Score(context.Background(), t, l.cs)
	if err != nil {
		log.Fatal(err)
	}
	if len(s) == 0 {
		return 0, false
	}
	i, err := strconv.Atoi(s[0].Name)
	if err != nil {
		log.Fatal(err)
	}
	return i, true
}

func (l *learner) learn(key string, i int, worth float64) {
	task := rank.Task{Skill: "s", Key: key}
	l.observe(rank.Sample{Candidate: l.cs[i].Name, Task: task, Outcome: rank.Delivered, Reward: &worth})
}

func (l *learner) observe(s rank.Sample) {
	l.clock = l.clock.Add(time.Second)
	s.At = l.clock
	if err := l.book.Observe(context.Background(), s); err != nil {
		log.Fatal(err)
	}
}

// ladder has arc's Ladder try one model after the other at each task. A missing cost is the model's mean.
func ladder(ds []decision, worth float64, orders int) (solved, late, usd float64) {
	k := len(ds[0].counts)
	for j := range k {
		sum, n := 0., 0.
		for i := range ds {
			if !math.IsNaN(ds[i].usd[j]) {
				sum, n = sum+ds[i].usd[j], n+1
			}
		}
		for i := range ds {
			if math.IsNaN(ds[i].usd[j]) {
				ds[i].usd[j] = sum / n
			}
		}
	}
	for seed := range uint64(orders) {
		l := newLearner(k, seed)
		for at, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(ds)) {
			task := rank.Task{Skill: "s"}
			for len(task.Failed) < k {
				j, ok := l.first(l.book.Ladder(worth), task)
				if !ok {
					break
				}
				outcome := rank.Failed
				if ds[i].counts[j] == 1 {
					outcome = rank.Delivered
				}
				usd += ds[i].usd[j]
				usage := rank.Usage{CostUSD: &ds[i].usd[j]}
				l.observe(rank.Sample{Candidate: l.cs[j].Name, Task: task, Outcome: outcome, Usage: usage})
				if outcome == rank.Delivered {
					solved++
					if at >= len(ds)/2 {
						late++
					}
					break
				}
				task.Failed = append(task.Failed, l.cs[j].Name)
			}
		}
	}
	n := float64(orders * len(ds))
	return solved / n, late / float64(orders*(len(ds)-len(ds)/2)), usd / n
}

// bandit is ε-greedy (ε 0 is greedy), UCB with a factor (.3 is better than 1 on all sets), or Thompson over
// Beta posteriors. It looks at no key.
type bandit struct {
	epsilon, ucb float64
	thompson     bool
	rng          *rand.Rand
	n, sum       []float64
	all          float64
}

func (b bandit) begin(k int, seed uint64) chooser {
	b.rng, b.n, b.sum = rand.New(rand.NewPCG(seed, 1)), make([]float64, k), make([]float64, k)
	return &b
}

func (b *bandit) choose(string) int {
	best, at := math.Inf(-1), 0
	for _, i := range b.rng.Perm(len(b.n)) {
		x := math.Inf(1)
		switch {
		case b.thompson:
			a, c := 1+max(0, b.sum[i]), 1+max(0, b.n[i]-b.sum[i])
			m := a / (a + c)
			x = m + math.Sqrt(m*(1-m)/(a+c+1))*b.rng.NormFloat64()
		case b.n[i] > 0:
			x = b.sum[i]/b.n[i] + b.ucb*math.Sqrt(2*math.Log(b.all)/b.n[i])
		}
		if x > best {
			best, at = x, i
		}
	}
	if b.epsilon > 0 && b.rng.Float64() < b.epsilon {
		return b.rng.IntN(len(b.n))
	}
	return at
}

func (b *bandit) learn(_ string, i int, worth float64) {
	b.n[i], b.sum[i], b.all = b.n[i]+1, b.sum[i]+worth, b.all+1
}
