package benchmarks

import (
	"encoding/csv"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/rank/replay"
)

// The outcomes that these benchmarks replay are not part of the repository:
// their licences differ from its own.
var dataDir = flag.String("rank.data", os.Getenv("ARC_RANK_DATA"),
	"directory of llmrouter-dev.csv, routellm-dev.csv and aslib/; default $ARC_RANK_DATA")

var halfOf = flag.Int("rank.half", 0, "replay a half of each set only, 1 or 2")

// half is the half of a set that -rank.half asks for, by a coin for each.
func half[T any](all []T) []T {
	if *halfOf == 0 {
		return all
	}
	coins := rand.New(rand.NewPCG(2026, 11))
	return slices.DeleteFunc(all, func(T) bool { return coins.Uint64()&1 != uint64(*halfOf-1) })
}

// data reads a file of the data directory, or skips the test.
func data(t *testing.T, name string) [][]string {
	t.Helper()
	if *dataDir == "" {
		t.Skip("no data: set -rank.data or ARC_RANK_DATA to the directory of the outcomes")
	}
	f, err := os.Open(filepath.Join(*dataDir, name))
	require.NoError(t, err)
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	require.NoError(t, err)
	return rows
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(s, 64)
	require.NoError(t, err)
	return f
}

// cards are candidates whose cards claim nothing in particular.
func cards(names []string) []rank.Candidate {
	cs := make([]rank.Candidate, len(names))
	for i, name := range names {
		cs[i] = rank.Candidate{Name: name, Prior: 0.5}
	}
	return cs
}

// scored is a set of decisions with a reward of every candidate. Key is the
// column of the situation's key, and the candidates begin at first.
func scored(t *testing.T, file string, key, first int, costs []float64) []replay.Decision {
	rows := data(t, file)
	cs := cards(rows[0][first:])
	var ds []replay.Decision
	for _, row := range rows[1:] {
		d := replay.Decision{Situation: rank.Situation{Skill: "answer", Key: row[key]}, Candidates: cs}
		for i, c := range cs {
			reward := number(t, row[first+i])
			if costs != nil {
				reward = max(0, reward-costs[i])
			}
			d.Outcomes = append(d.Outcomes, rank.Sample{Candidate: c.Name, Success: reward >= 0.5, Reward: &reward})
		}
		ds = append(ds, d)
	}
	return half(ds)
}

func llmRouter(t *testing.T) []replay.Decision {
	return scored(t, "llmrouter-dev.csv", 1, 3, nil)
}

func routeLLM(t *testing.T, costs ...float64) []replay.Decision {
	return scored(t, "routellm-dev.csv", 0, 3, costs)
}

// cutoffs are the time limits of the scenarios, in seconds.
var cutoffs = map[string]float64{
	"CPMP-2015": 3600, "QBF-2016": 1800, "SAT18-EXP": 5000, "IPC2018": 1800, "CSP-Minizinc-Time-2016": 1200,
}

// scenario is a set of ASlib: instances that some solver solves, with success
// and wall time of each solver, and the names of the instances. Instances
// have features if withFeatures is set.
func scenario(t *testing.T, name string, withFeatures bool) ([]replay.Decision, []string) {
	features := make(map[string][]float64)
	if withFeatures {
		for _, row := range data(t, filepath.Join("aslib", name+".features.csv")) {
			if row[0] == "instance" {
				continue
			}
			x := make([]float64, len(row)-1)
			for i := range x {
				x[i] = number(t, row[i+1])
			}
			features[row[0]] = x
		}
	}
	rows := data(t, filepath.Join("aslib", name+".csv"))
	cs := cards(rows[0][1:])
	var ds []replay.Decision
	var names []string
	for _, row := range rows[1:] {
		d := replay.Decision{Situation: rank.Situation{Skill: "solve", Features: features[row[0]]}, Candidates: cs}
		solvable := false
		for i, c := range cs {
			s := rank.Sample{Candidate: c.Name, Wall: time.Duration(cutoffs[name] * float64(time.Second))}
			if cell := row[i+1]; cell != "T" {
				solvable, s.Success = true, true
				s.Wall = time.Duration(number(t, cell) * float64(time.Second))
			}
			d.Outcomes = append(d.Outcomes, s)
		}
		if solvable {
			ds, names = append(ds, d), append(names, row[0])
		}
	}
	return half(ds), half(names)
}
