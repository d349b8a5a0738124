package main

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
)

// logged is what each model did at each task.
type logged struct {
	models []string
	tasks  [][]try // by model
}

// try is what a model did at a task.
type try struct {
	solved bool
	usd    float64 // NaN: not known
}

// outcome is what a rule comes to: means over tasks.
type outcome struct {
	solved, usd, attempts float64
	ladder                []int // models in their order, of a fixed ladder
}

// longest is how many models a fixed ladder has at most.
const longest = 4

// read returns the tasks of a file that all the models have tried.
func read(file, models, set string) (*logged, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) < 2 || len(rows[0]) < 3 {
		return nil, errors.New("the log has no tasks, or no models")
	}
	l := &logged{models: rows[0][2:]}
	if models != "" {
		l.models = strings.Split(models, ",")
	}
	var columns []int
	for _, m := range l.models {
		i := slices.Index(rows[0], m)
		if i < 2 {
			return nil, fmt.Errorf("the log has no model %q", m)
		}
		columns = append(columns, i)
	}
	for n, row := range rows[1:] {
		if set != "" && row[0] != set {
			continue
		}
		var task []try
		for _, i := range columns {
			if row[i] == "" {
				break
			}
			solved, usd, known := strings.Cut(row[i], ":")
			t := try{solved == "1", math.NaN()}
			if known {
				t.usd, err = strconv.ParseFloat(usd, 64)
			}
			if err != nil || solved != "0" && solved != "1" {
				return nil, fmt.Errorf("line %d: %q is not what a model did", n+2, row[i])
			}
			task = append(task, t)
		}
		if len(task) == len(columns) {
			l.tasks = append(l.tasks, task)
		}
	}
	if len(l.tasks) == 0 {
		return nil, errors.New("no task was tried by all models")
	}
	l.meanCosts()
	return l, nil
}

// meanCosts puts the mean cost of a model where none is known.
func (l *logged) meanCosts() {
	for m := range l.models {
		n, sum := 0.0, 0.0
		for _, t := range l.tasks {
			if !math.IsNaN(t[m].usd) {
				n, sum = n+1, sum+t[m].usd
			}
		}
		for _, t := range l.tasks {
			if math.IsNaN(t[m].usd) {
				t[m].usd = sum / max(1, n)
			}
		}
	}
}

// invent makes up 400 tasks, some harder than others. What a model can do is not
// what it costs: one of the cheap ones is good, and one of the dear ones is not.
func invent() *logged {
	rng := rand.New(rand.NewPCG(7, 7))
	l := &logged{models: []string{"pico", "small", "swift", "medium", "grand", "large", "giant"}}
	skill := []float64{-0.6, 0.4, 1.3, 1.0, 1.1, 2.2, 2.5}
	price := []float64{0.01, 0.03, 0.06, 0.15, 0.5, 0.6, 1.2}
	for range 400 {
		hard := rng.NormFloat64()
		var task []try
		for m := range l.models {
			usd := price[m] * math.Exp(0.4*hard+0.3*rng.NormFloat64()) // hard tasks take longer
			task = append(task, try{skill[m]+0.7*rng.NormFloat64() > hard, usd})
		}
		l.tasks = append(l.tasks, task)
	}
	return l
}

// climb returns what comes of asking models in order until one solves the task.
func (l *logged) climb(ladder []int) outcome {
	o := outcome{ladder: ladder}
	n := float64(len(l.tasks))
	for _, t := range l.tasks {
		for _, m := range ladder {
			o.attempts += 1 / n
			if o.usd += t[m].usd / n; t[m].solved {
				o.solved += 1 / n
				break
			}
		}
	}
	return o
}

// ladders returns the fixed ladders that no cheaper one matches, cheapest first.
func (l *logged) ladders() (best []outcome) {
	var all []outcome
	var extend func(ladder []int)
	extend = func(ladder []int) {
		for m := range l.models {
			if !slices.Contains(ladder, m) {
				longer := append(slices.Clone(ladder), m)
				if all = append(all, l.climb(longer)); len(longer) < longest {
					extend(longer)
				}
			}
		}
	}
	extend(nil)
	slices.SortStableFunc(all, func(a, b outcome) int {
		return cmp.Compare(a.usd, b.usd)
	})
	for _, o := range all {
		if len(best) == 0 || o.solved > best[len(best)-1].solved+1e-9 {
			best = append(best, o)
		}
	}
	return best
}

// affordable returns the best of ladders for the money: the cheapest if it is too little.
func affordable(ladders []outcome, usd float64) outcome {
	best := ladders[0]
	for _, o := range ladders {
		if o.usd <= usd {
			best = o
		}
	}
	return best
}

// oracle asks the cheapest model that solves a task, and none where none does.
func (l *logged) oracle() (o outcome) {
	n := float64(len(l.tasks))
	for _, t := range l.tasks {
		least := math.Inf(1)
		for _, x := range t {
			if x.solved {
				least = min(least, x.usd)
			}
		}
		if !math.IsInf(least, 1) {
			o.solved, o.usd, o.attempts = o.solved+1/n, o.usd+least/n, o.attempts+1/n
		}
	}
	return o
}

// ladderNames returns those of the models of a ladder.
func (l *logged) ladderNames(ladder []int) (out []string) {
	for _, m := range ladder {
		out = append(out, l.models[m])
	}
	return out
}
