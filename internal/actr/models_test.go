package actr_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/actr"
)

// The models of ACT-R's tutorial that need nothing but declarative memory.

// Unit 5, the fan experiment: 18 cells to the millisecond, and its traces.
func TestFan(t *testing.T) {
	type in struct {
		Kind          string
		Person        int `json:"fan_person"`
		Location      int `json:"fan_location"`
		F, S, W, B    float64
		Sources       int     `json:"n_sources"`
		Fixed         float64 `json:"fixed_s"`
		Noise, Unused float64
	}
	type want struct {
		ByPerson   float64 `json:"activation_by_person_cue"`
		ByLocation float64 `json:"activation_by_location_cue"`
		RT         float64 `json:"rt_published_model"`
		Tol        float64 `json:"tol_s"`
	}
	each(t, "actr-fan.json", func(t *testing.T, in in, want want) {
		// What a retrieval by one of the two cues finds shares both cues with a
		// target, and one of them with a foil.
		person := actr.Association(in.S, in.Person, 1, false)
		location := actr.Association(in.S, in.Location, 1, false)
		byPerson, byLocation := []float64{person, 0}, []float64{0, location}
		if in.Kind == "target" {
			byPerson[1], byLocation[0] = location, person
		}
		a := in.B + spread(in.W, byPerson...)
		b := in.B + spread(in.W, byLocation...)
		require.InDelta(t, want.ByPerson, a, 1e-7)
		require.InDelta(t, want.ByLocation, b, 1e-7)
		rt := in.Fixed + (milliseconds(actr.Latency(in.F, a))+milliseconds(actr.Latency(in.F, b)))/2
		require.InDelta(t, want.RT, rt, want.Tol)
	})
}

func milliseconds(s float64) float64 { return math.Round(s*1000) / 1000 }

// Unit 4, paired associates: the published model's accuracy by block.
func TestPairedAssociates(t *testing.T) {
	var published []float64
	type want struct {
		Accuracy float64 `json:"accuracy_published_model"`
	}
	each(t, "actr-paired.json", func(_ *testing.T, _ struct{}, w want) { published = append(published, w.Accuracy) })
	const runs = 300
	got := make([]float64, len(published))
	for run := range runs {
		for b, share := range pairedRun(uint64(run)) {
			got[b] += share / runs
		}
	}
	square := 0.0
	for b := range got {
		square += (got[b] - published[b]) * (got[b] - published[b]) / float64(len(got))
	}
	require.Less(t, math.Sqrt(square), .02, "published %.3f, got %.3f", published, got)
}

// pairedRun is one subject: 20 pairs, 8 blocks, 10 s a trial, a retrieval
// 0.185 s into it and the pair's presentation at 5.185 s. It returns the share
// of retrievals that succeed, by block.
func pairedRun(seed uint64) [8]float64 {
	const items, tau, s, d = 20, -2, .5, .5
	var out [8]float64
	var uses [items]int
	var first [items]float64
	rng := rand.New(rand.NewPCG(seed, 1))
	now := 0.0
	for block := range out {
		for _, item := range rng.Perm(items) {
			if uses[item] > 0 {
				b := actr.Optimized(uses[item], now+.185-first[item], d)
				if b+actr.Noise(s, seed, fmt.Sprint(block, item)) >= tau {
					out[block] += 1. / items
					uses[item]++
				}
			} else {
				first[item] = now + 5.185
			}
			uses[item]++
			now += 10
		}
	}
	return out
}

// Unit 5, Siegler's study of children who add: facts with small sums are more
// active, and what is retrieved may differ from what was asked for. The
// published run and a long simulation of ours agree within 0.1 per cell.
func TestSiegler(t *testing.T) {
	var f struct {
		Behavioural struct {
			Siegler struct {
				Published map[string][]float64 `json:"published_model_run"`
				Long      map[string][]float64 `json:"my_sim_20000"`
			}
		}
	}
	read(t, "actr-partial-matching.json", &f)
	for problem, want := range f.Behavioural.Siegler.Published {
		var x, y int
		_, err := fmt.Sscanf(problem, "%d+%d", &x, &y)
		require.NoError(t, err)
		got := siegler(x, y, 10_000)
		require.InDeltaSlice(t, want, got, .10, problem)
		require.InDeltaSlice(t, f.Behavioural.Siegler.Long[problem], got, .02, problem)
	}
}

// siegler returns how often the answer to x+y is 0, 1, … 8, or anything else.
func siegler(x, y, trials int) []float64 {
	const tau, s, mp = -.45, .5, 16
	similarity := func(a, b int) float64 { return -.1 * math.Abs(float64(a-b)) }
	out := make([]float64, 10)
	for trial := range trials {
		answer, best := 9, float64(tau)
		for i := range 6 {
			for j := range 6 {
				a := actr.Mismatch(mp, similarity(x, i), similarity(y, j))
				if i+j <= 4 {
					a += .65
				}
				a += actr.Noise(s, uint64(trial), fmt.Sprint(x, y, i, j))
				if a >= best {
					answer, best = min(i+j, 9), a
				}
			}
		}
		out[answer] += 1 / float64(trials)
	}
	return out
}
