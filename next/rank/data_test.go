package rank_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/next/rank"
	"github.com/arc-learn/arc/next/store"
)

// The tests of this file choose for recorded decisions: ARC_DATA names the directory with their files. They print
// medians over orders, beside simple bandits on the same orders.

// decision is a case with what each candidate would have been worth.
type decision struct {
	key            string
	counts, worths []float64
	usd            []float64 // NaN: unknown
}

func table(t *testing.T, name string) [][]string {
	dir := os.Getenv("ARC_DATA")
	if dir == "" {
		t.Skip("ARC_DATA names no directory with recorded decisions")
	}
	f, err := os.Open(filepath.Join(dir, name))
	require.NoError(t, err)
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	require.NoError(t, err)
	return rows[1:]
}

func number(t *testing.T, s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	require.NoError(t, err)
	return v
}

func routes(t *testing.T, name string, key int, costs ...float64) (ds []decision) {
	for _, row := range table(t, name) {
		d := decision{key: row[key]}
		for i, cell := range row[3:] {
			v := number(t, cell)
			if costs != nil {
				v = max(0, v-costs[i])
			}
			d.worths = append(d.worths, v)
		}
		d.counts = d.worths
		ds = append(ds, d)
	}
	return ds
}

func solvers(t *testing.T, name string, cutoff float64) (ds []decision) {
	for _, row := range table(t, filepath.Join("aslib", name)) {
		d, solved := decision{}, false
		for _, cell := range row[1:] {
			s, seconds := 0.0, cutoff
			if cell != "T" {
				s, seconds, solved = 1, number(t, cell), true
			}
			d.counts = append(d.counts, s)
			d.worths = append(d.worths, s-.02*math.Log2(1+seconds))
		}
		if solved {
			ds = append(ds, d)
		}
	}
	return ds
}

func models(t *testing.T, benchmark string, columns func(string) bool) (ds []decision) {
	dir := os.Getenv("ARC_DATA")
	rows := table(t, "openhands-dev.csv")
	f, err := os.Open(filepath.Join(dir, "openhands-dev.csv"))
	require.NoError(t, err)
	defer f.Close()
	head, err := csv.NewReader(f).Read()
	require.NoError(t, err)
	for _, row := range rows {
		if row[0] != benchmark {
			continue
		}
		d := decision{}
		for i, cell := range row[2:] {
			if !columns(head[2+i]) {
				continue
			}
			solved, usd, _ := strings.Cut(cell, ":")
			v, cost := 0.0, math.NaN()
			if solved == "1" {
				v = 1
			}
			if usd != "" {
				cost = number(t, usd)
			}
			d.counts, d.usd = append(d.counts, v), append(d.usd, cost)
		}
		d.worths = d.counts
		ds = append(ds, d)
	}
	return ds
}

// chooser is Learned, or one of the simple bandits.
type chooser interface {
	choose(key string) int
	learn(key string, i int, worth float64)
}

type learner struct {
	t     *testing.T
	book  *rank.Book
	cs    []rank.Candidate
	clock time.Time
}

func newLearner(t *testing.T, k int, seed uint64) *learner {
	l := &learner{t: t, clock: time.Unix(1_700_000_000, 0)}
	l.book = open(t, store.NewMem(), func() time.Time { return l.clock }, seed)
	for i := range k {
		l.cs = append(l.cs, rank.Candidate{Name: fmt.Sprint("c", i)})
	}
	return l
}

func (l *learner) choose(key string) int {
	s, err := l.book.Learned().Score(context.Background(), rank.Task{Skill: "s", Key: key}, l.cs)
	require.NoError(l.t, err)
	i, err := strconv.Atoi(s[0].Name[1:])
	require.NoError(l.t, err)
	return i
}

func (l *learner) learn(key string, i int, worth float64) {
	l.clock = l.clock.Add(time.Second)
	require.NoError(l.t, l.book.Observe(context.Background(), rank.Sample{
		Candidate: l.cs[i].Name, Task: rank.Task{Skill: "s", Key: key}, Outcome: rank.Delivered, Reward: &worth, At: l.clock,
	}))
}

// bandit is ε-greedy (ε 0 is greedy), UCB with a factor, or Thompson over Beta posteriors.
type bandit struct {
	epsilon, ucb float64
	thompson     bool
	rng          *rand.Rand
	n, sum       []float64
	all          float64
}

func newBandit(b bandit, k int, seed uint64) *bandit {
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

func orders() int {
	if n, err := strconv.Atoi(os.Getenv("ARC_ORDERS")); err == nil {
		return n
	}
	return 10
}

func replay(c chooser, ds []decision, order []int) float64 {
	sum := 0.0
	for _, i := range order {
		d := &ds[i]
		a := c.choose(d.key)
		sum += d.counts[a]
		c.learn(d.key, a, d.worths[a])
	}
	return sum / float64(len(order))
}

func TestRecordedChoices(t *testing.T) {
	all := func(string) bool { return true }
	hands := models(t, "swe-bench", all)
	for _, set := range []struct {
		name  string
		ds    []decision
		draws int
		bound float64
	}{
		{"LLMRouter", routes(t, "llmrouter-dev.csv", 1), 0, .600},
		{"RouteLLM", routes(t, "routellm-dev.csv", 0), 0, .810},
		{"RouteLLM with cost", routes(t, "routellm-dev.csv", 0, .0015, .15), 0, .705},
		{"QBF", solvers(t, "QBF-2016.csv", 1800), 0, .81},
		{"CPMP", solvers(t, "CPMP-2015.csv", 3600), 0, .79},
		{"SAT18", solvers(t, "SAT18-EXP.csv", 5000), 0, 0},
		{"IPC2018", solvers(t, "IPC2018.csv", 1800), 0, 0},
		{"CSP-Minizinc", solvers(t, "CSP-Minizinc-Time-2016.csv", 1200), 0, 0},
		{"OpenHands, 43 models", hands, 0, .845},
		{"OpenHands, 500 draws", hands, 500, .88},
	} {
		k := len(set.ds[0].counts)
		var line []string
		for _, c := range []struct {
			name string
			make func(seed uint64) chooser
		}{
			{"Learned", func(s uint64) chooser { return newLearner(t, k, s) }},
			{"greedy", func(s uint64) chooser { return newBandit(bandit{}, k, s) }},
			{"ε .1", func(s uint64) chooser { return newBandit(bandit{epsilon: .1}, k, s) }},
			{"UCB .3", func(s uint64) chooser { return newBandit(bandit{ucb: .3}, k, s) }},
			{"UCB 1", func(s uint64) chooser { return newBandit(bandit{ucb: 1}, k, s) }},
			{"Thompson", func(s uint64) chooser { return newBandit(bandit{thompson: true}, k, s) }},
		} {
			var got []float64
			for seed := range uint64(orders()) {
				rng := rand.New(rand.NewPCG(seed, 0))
				order := rng.Perm(len(set.ds))
				if set.draws > 0 {
					order = order[:0]
					for range set.draws {
						order = append(order, rng.IntN(len(set.ds)))
					}
				}
				got = append(got, replay(c.make(seed), set.ds, order))
			}
			slices.Sort(got)
			mean, sq := 0.0, 0.0
			for _, x := range got {
				mean += x / float64(len(got))
			}
			for _, x := range got {
				sq += (x - mean) * (x - mean) / float64(len(got))
			}
			line = append(line, fmt.Sprintf("%s %.4f±%.4f", c.name, got[len(got)/2], math.Sqrt(sq)))
		}
		t.Logf("%-22s bound %.3f: %s", set.name, set.bound, strings.Join(line, ", "))
	}
}

func TestDrift(t *testing.T) {
	if os.Getenv("ARC_ORDERS") == "" {
		t.Skip("ARC_ORDERS says over how many orders to average")
	}
	for _, d := range []struct {
		before []float64
		after  float64 // of the first
		n      int
		bound  float64
	}{{[]float64{.9, .8}, .1, 2000, 25}, {[]float64{.6, .5}, .4, 4000, 40}} {
		lost := 0.0
		for seed := range uint64(orders()) {
			rng, l := rand.New(rand.NewPCG(seed, 3)), newLearner(t, len(d.before), seed)
			for i := range d.n {
				a := l.choose("")
				p, late := d.before[a], i >= d.n/2
				if late && a == 0 {
					p = d.after
				}
				if late {
					lost += (max(d.after, d.before[1]) - p) / float64(orders())
				}
				y := 0.0
				if rng.Float64() < p {
					y = 1
				}
				l.learn("", a, y)
			}
		}
		t.Logf("%v, the first falls to %v: %.1f choices lost (bound %v)", d.before, d.after, lost, d.bound)
	}
}

func open(t testing.TB, st store.Store, now func() time.Time, seed uint64) *rank.Book {
	b, err := rank.Open(context.Background(), store.NewGroup(st), now, seed, nil)
	require.NoError(t, err)
	return b
}

// rungs are the models of the ladder, as a host might list them.
const rungs = "claude-fable-5 claude-opus-4-8 claude-sonnet-4-6 DeepSeek-V4-Pro Gemini-3.5-Flash Gemini-3-Flash GLM-5.1 GPT-5.5 " +
	"GPT-5.4 Kimi-K2.6 MiniMax-M3 Nemotron-3-Super Qwen3.6-Plus"

func TestRecordedLadder(t *testing.T) {
	ds := models(t, "swe-bench", func(name string) bool { return slices.Contains(strings.Fields(rungs), name) })
	k := len(ds[0].counts)
	require.Equal(t, 13, k)
	for j := range k { // a missing cost is the model's mean
		sum, n := 0.0, 0.0
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
	for _, worth := range []float64{2, 4, 6, 8, 10, 15, 20} {
		var solved, late, spent float64
		for seed := range uint64(orders()) {
			l := newLearner(t, k, seed)
			order := rand.New(rand.NewPCG(seed, 0)).Perm(len(ds))
			for at, i := range order {
				task := rank.Task{Skill: "s"}
				for len(task.Failed) < k {
					s, err := l.book.Ladder(worth).Score(context.Background(), task, l.cs)
					require.NoError(t, err)
					if len(s) == 0 {
						break
					}
					j, _ := strconv.Atoi(s[0].Name[1:])
					out := rank.Failed
					if ds[i].counts[j] == 1 {
						out = rank.Delivered
					}
					l.clock = l.clock.Add(time.Second)
					spent += ds[i].usd[j]
					require.NoError(t, l.book.Observe(context.Background(), rank.Sample{
						Candidate: s[0].Name, Task: task, Outcome: out, Usage: rank.Usage{CostUSD: &ds[i].usd[j]}, At: l.clock,
					}))
					if out == rank.Delivered {
						solved++
						if at >= len(order)/2 {
							late++
						}
						break
					}
					task.Failed = append(task.Failed, s[0].Name)
				}
			}
		}
		n := float64(orders() * len(ds))
		t.Logf("worth $%.0f: %.3f solved (second half %.3f) for $%.3f a task", worth, solved/n, late/(float64(orders())*float64(len(ds)-len(ds)/2)), spent/n)
	}
}
