// Command choosing replays recorded outcomes of models and solvers, chosen for one after the other: arc's
// Learned beside simple bandits on the same orders.
//
//	GOWORK=off go run . [-orders 40] DIR
//
// DIR has llmrouter-dev.csv (ulab-uiuc/LLMRouter), routellm-dev.csv (lm-sys/RouteLLM), aslib/*.csv
// (coseal/aslib_data) and openhands-dev.csv (OpenHands/openhands-index-results): a row is a case, with what
// each candidate did in it. Figures are medians over orders of the cases, ± the standard deviation; five
// times as many where there are under a thousand cases. Learned has one default for all sets. It is told the
// kind of a case in LLMRouter (a cluster), RouteLLM (a subject) and where the table says so; the bandits look
// at none.
//
// A second table is a ladder of models, by what a solved task is worth in dollars: the next is tried where
// one has failed, until nobody is worth its price. The last is what is lost when the best candidate becomes a
// bad one.
package main

import (
	"encoding/csv"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// decision is a case with what each candidate would have been worth.
type decision struct {
	name, key      string
	counts, worths []float64 // what is summed, and what is learned from
	usd            []float64 // NaN: unknown
}

// set is recorded decisions. With draws, so many are drawn with replacement; else each comes once.
type set struct {
	name  string
	ds    []decision
	draws int
	goal  float64 // 0: none
}

func main() {
	log.SetFlags(0)
	orders := flag.Int("orders", 40, "of the cases")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("one DIR: see go doc")
	}
	dir := flag.Arg(0)
	hands := models(dir, "swe-bench", nil)
	fmt.Print("| set | goal |")
	for _, c := range choosers {
		fmt.Printf(" %s |", c.name)
	}
	fmt.Println("\n|---|--:|" + strings.Repeat("--:|", len(choosers)))
	for _, s := range []set{
		{"LLMRouter", routes(dir, "llmrouter-dev.csv", 1), 0, .600},
		{"RouteLLM", routes(dir, "routellm-dev.csv", 0), 0, .810},
		{"RouteLLM with cost", routes(dir, "routellm-dev.csv", 0, .0015, .15), 0, .705},
		{"QBF", solvers(dir, "QBF-2016.csv", 1800), 0, .81},
		{"QBF, families told", keyed(solvers(dir, "QBF-2016.csv", 1800)), 0, 0},
		{"CPMP", solvers(dir, "CPMP-2015.csv", 3600), 0, .79},
		{"SAT18", solvers(dir, "SAT18-EXP.csv", 5000), 0, 0},
		{"IPC2018", solvers(dir, "IPC2018.csv", 1800), 0, 0},
		{"CSP-Minizinc", solvers(dir, "CSP-Minizinc-Time-2016.csv", 1200), 0, 0},
		{"OpenHands, 43 models", hands, 0, .845},
		{"OpenHands, repositories told", keyed(hands), 0, 0},
		{"OpenHands, 500 draws", hands, 500, .88},
	} {
		goal := "–"
		if s.goal > 0 {
			goal = fmt.Sprintf("%.3f", s.goal)
		}
		fmt.Printf("| %s | %s |", s.name, goal)
		for _, c := range choosers {
			median, deviation := s.replay(c.make, *orders)
			fmt.Printf(" %.3f ±%.2f |", median, deviation)
		}
		fmt.Println()
	}
	fmt.Println("\n| worth | solved | in the second half | $ a task |\n|--:|--:|--:|--:|")
	for _, worth := range []float64{2, 4, 6, 8, 10, 20} {
		solved, late, usd := ladder(models(dir, "swe-bench", strings.Fields(rungs)), worth, *orders)
		fmt.Printf("| $%.0f | %.1f %% | %.1f %% | %.3f |\n", worth, 100*solved, 100*late, usd)
	}
	fmt.Println("\n| the best candidate falls | choices lost | goal |\n|---|--:|--:|")
	for _, d := range []struct {
		before [2]float64
		after  float64
		n      int
		goal   int
	}{{[2]float64{.9, .8}, .1, 2000, 25}, {[2]float64{.6, .5}, .4, 4000, 40}} {
		lost := drift(d.before, d.after, d.n, *orders)
		fmt.Printf("| from %v to %v, beside %v | %.1f | %d |\n", d.before[0], d.after, d.before[1], lost, d.goal)
	}
}

// replay chooses for each case in turn, in a number of orders.
func (s set) replay(begin func(k int, seed uint64) chooser, orders int) (median, deviation float64) {
	if len(s.ds) < 1000 {
		orders *= 5
	}
	var got []float64
	for seed := range uint64(orders) {
		rng := rand.New(rand.NewPCG(seed, 0))
		order := rng.Perm(len(s.ds))
		if s.draws > 0 {
			order = order[:0]
			for range s.draws {
				order = append(order, rng.IntN(len(s.ds)))
			}
		}
		c, sum := begin(len(s.ds[0].counts), seed), 0.
		for _, i := range order {
			d := &s.ds[i]
			a := c.choose(d.key)
			sum += d.counts[a]
			c.learn(d.key, a, d.worths[a])
		}
		got = append(got, sum/float64(len(order)))
	}
	slices.Sort(got)
	mean, squares := 0., 0.
	for _, x := range got {
		mean += x / float64(len(got))
	}
	for _, x := range got {
		squares += (x - mean) * (x - mean) / float64(len(got))
	}
	return got[len(got)/2], math.Sqrt(squares)
}

// drift is how many choices are lost when the first of two candidates becomes worse halfway: a mean over
// orders.
func drift(before [2]float64, after float64, n, orders int) (lost float64) {
	for seed := range uint64(orders) {
		rng, l := rand.New(rand.NewPCG(seed, 3)), newLearner(2, seed)
		for i := range n {
			a := l.choose("")
			p, late := before[a], i >= n/2
			if late && a == 0 {
				p = after
			}
			if late {
				lost += (max(after, before[1]) - p) / float64(orders)
			}
			y := 0.
			if rng.Float64() < p {
				y = 1
			}
			l.learn("", a, y)
		}
	}
	return lost
}

// rungs are the models of the ladder, as a host might list them.
const rungs = "claude-fable-5 claude-opus-4-8 claude-sonnet-4-6 DeepSeek-V4-Pro Gemini-3.5-Flash " +
	"Gemini-3-Flash GLM-5.1 GPT-5.5 GPT-5.4 Kimi-K2.6 MiniMax-M3 Nemotron-3-Super Qwen3.6-Plus"

// table reads a file, its head first.
func table(dir, name string) [][]string {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil || len(rows) < 2 {
		log.Fatal(name, ": ", len(rows), " rows: ", err)
	}
	return rows
}

func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// routes reads scores of models. With costs, which are in the score's unit, a score is less its model's cost.
func routes(dir, name string, key int, costs ...float64) (ds []decision) {
	for _, row := range table(dir, name)[1:] {
		d := decision{key: row[key]}
		for i, cell := range row[3:] {
			v := number(cell)
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

// solvers reads run times. Instances that nobody solves are left out; a fast answer is worth a little more.
func solvers(dir, name string, cutoff float64) (ds []decision) {
	for _, row := range table(dir, filepath.Join("aslib", name))[1:] {
		d, solved := decision{name: row[0]}, false
		for _, cell := range row[1:] {
			s, seconds := 0., cutoff
			if cell != "T" {
				s, seconds, solved = 1, number(cell), true
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

// keyed returns decisions with the kind of case that their names begin with, in letters: a family, or who
// owns the repository.
func keyed(ds []decision) []decision {
	ds = slices.Clone(ds)
	for i := range ds {
		ds[i].key, _, _ = strings.Cut(ds[i].name, "__")
		other := func(r rune) bool { return !unicode.IsLetter(r) && r != '-' }
		if end := strings.IndexFunc(ds[i].key, other); end >= 0 {
			ds[i].key = ds[i].key[:end]
		}
	}
	return ds
}

// models reads the tasks of a benchmark, for the models named; nil: all.
func models(dir, benchmark string, named []string) (ds []decision) {
	rows := table(dir, "openhands-dev.csv")
	for _, row := range rows[1:] {
		if row[0] != benchmark {
			continue
		}
		d := decision{name: row[1]}
		for i, cell := range row[2:] {
			if named != nil && !slices.Contains(named, rows[0][2+i]) {
				continue
			}
			solved, usd, _ := strings.Cut(cell, ":")
			v, cost := 0., math.NaN()
			if solved == "1" {
				v = 1
			}
			if usd != "" {
				cost = number(usd)
			}
			d.counts, d.usd = append(d.counts, v), append(d.usd, cost)
		}
		d.worths = d.counts
		ds = append(ds, d)
	}
	return ds
}
