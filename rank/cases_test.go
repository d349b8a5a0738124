package rank_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

// readCases reads a file of testdata, which names its source.
func readCases[I, W any](t *testing.T, file string) []caseOf[I, W] {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	var f struct {
		Cases []caseOf[I, W] `json:"cases"`
	}
	require.NoError(t, json.Unmarshal(raw, &f))
	require.NotEmpty(t, f.Cases)
	return f.Cases
}

type caseOf[I, W any] struct {
	Name  string `json:"name"`
	Input I      `json:"input"`
	Want  W      `json:"want"`
}

type costFigures struct {
	Samples     int     `json:"samples"`
	SuccessRate float64 `json:"success_rate"`
	AvgWallMS   int     `json:"avg_wall_ms"`
}

type confidenceFigures struct {
	Samples      int     `json:"samples"`
	AvgOnSuccess float64 `json:"avg_on_success"`
}

// observe gives a candidate samples with these figures. The number of samples
// is another where theirs cannot have the success rate.
func observe(t *testing.T, book *rank.Book, name string, cost *costFigures, confidence *confidenceFigures) {
	t.Helper()
	if name == "" || cost == nil {
		return
	}
	n := cost.Samples
	if s := cost.SuccessRate * float64(n); math.Abs(s-math.Round(s)) > 1e-9 {
		n = 100
	}
	successes := int(math.Round(cost.SuccessRate * float64(n)))
	for i := range n {
		s := rank.Sample{
			Key: fmt.Sprintf("%s/%d", name, i), Candidate: name, Situation: rank.Situation{Skill: "s"},
			Success: i < successes, Wall: time.Duration(cost.AvgWallMS) * time.Millisecond,
		}
		if confidence != nil && i < confidence.Samples {
			s.Confidence = p(confidence.AvgOnSuccess)
		}
		require.NoError(t, book.Observe(t.Context(), s))
	}
}

func TestObservedCases(t *testing.T) {
	t.Parallel()
	type input struct {
		Card       float64            `json:"card_confidence"`
		Agent      string             `json:"agent_name"`
		Cost       *costFigures       `json:"cost"`
		Confidence *confidenceFigures `json:"confidence"`

		Candidates []struct {
			Agent string  `json:"agent"`
			Card  float64 `json:"card_confidence"`
		} `json:"candidates"`
		Costs       map[string]*costFigures       `json:"costs"`
		Confidences map[string]*confidenceFigures `json:"confidences"`
	}
	type want struct {
		Score *float64 `json:"score"`
		Order []string `json:"order"`
	}
	for _, c := range readCases[input, want](t, "candidate-ranking.json") {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			book := open(t, store.NewMem(), nil)
			observe(t, book, c.Input.Agent, c.Input.Cost, c.Input.Confidence)
			cs := []rank.Candidate{{Name: c.Input.Agent, Prior: c.Input.Card}}
			if len(c.Input.Candidates) > 0 {
				cs = nil
			}
			for _, a := range c.Input.Candidates {
				observe(t, book, a.Agent, c.Input.Costs[a.Agent], c.Input.Confidences[a.Agent])
				cs = append(cs, rank.Candidate{Name: a.Agent, Prior: a.Card})
			}
			ss, err := book.Observed().Score(t.Context(), rank.Situation{Skill: "s"}, cs)
			require.NoError(t, err)
			if c.Want.Score != nil {
				require.InDelta(t, *c.Want.Score, ss[0].Score, 1e-15)
			}
			for i, name := range c.Want.Order {
				require.Equal(t, name, ss[i].Candidate.Name)
			}
			for _, s := range ss {
				p := s.Parts
				require.Equal(t, s.Score, p.Success+p.Confidence+p.Wall+p.Prior)
			}
		})
	}
}

func TestStatsCases(t *testing.T) {
	t.Parallel()
	type input struct {
		Store   string `json:"store"`
		Samples []struct {
			TokensIn   int      `json:"tokensIn"`
			TokensOut  int      `json:"tokensOut"`
			WallMS     int      `json:"wallMs"`
			Success    bool     `json:"success"`
			CostUSD    float64  `json:"costUsd"`
			Confidence *float64 `json:"confidence"`
		} `json:"samples"`
	}
	type want map[string]float64
	for _, c := range readCases[input, want](t, "rolling-stores.json") {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			book := open(t, store.NewMem(), nil)
			for i, s := range c.Input.Samples {
				require.NoError(t, book.Observe(t.Context(), rank.Sample{
					Key: fmt.Sprint(i), Candidate: "a", Success: s.Success, CostUSD: s.CostUSD, Confidence: s.Confidence,
					TokensIn: s.TokensIn, TokensOut: s.TokensOut, Wall: time.Duration(s.WallMS) * time.Millisecond,
				}))
			}
			s, err := book.Stats(t.Context(), "a", "")
			require.NoError(t, err)
			got := map[string]float64{
				"samples": float64(s.Samples), "success_rate": s.SuccessRate, "avg_cost_usd": s.CostUSD,
				"avg_tokens_in": s.TokensIn, "avg_tokens_out": s.TokensOut,
				"avg_wall_ms": float64(s.Wall) / float64(time.Millisecond),
				"avg":         s.Confidence, "avg_on_success": s.ConfidenceOnSuccess,
				"avg_on_failure": s.ConfidenceOnFailure, "high_conf_failures": float64(s.HighConfidenceFailures),
			}
			for figure, v := range c.Want {
				require.InDelta(t, v, got[figure], 1e-15, figure)
			}
		})
	}
}

func TestWeightedCases(t *testing.T) {
	t.Parallel()
	type input struct {
		Agents []struct {
			Agent   string `json:"agent"`
			Metrics struct {
				SuccessRate    float64 `json:"success_rate"`
				CostPerSuccess float64 `json:"cost_per_success"`
				Total          int     `json:"total"`
			} `json:"metrics"`
		} `json:"agents"`
	}
	type want struct {
		Weights       []float64 `json:"weights"`
		Probabilities []float64 `json:"probabilities"`
	}
	for _, c := range readCases[input, want](t, "executor-weights.json") {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			book := open(t, store.NewMem(), nil)
			var cs []rank.Candidate
			for _, a := range c.Input.Agents {
				successes := int(math.Round(a.Metrics.SuccessRate * float64(a.Metrics.Total)))
				for i := range a.Metrics.Total {
					s := rank.Sample{Key: fmt.Sprint(a.Agent, i), Candidate: a.Agent, Success: i < successes}
					if s.Success {
						s.CostUSD = a.Metrics.CostPerSuccess
					}
					require.NoError(t, book.Observe(t.Context(), s))
				}
				cs = append(cs, rank.Candidate{Name: a.Agent})
			}
			ss, err := book.Weighted().Score(t.Context(), rank.Situation{Skill: "any"}, cs)
			require.NoError(t, err)
			n := float64(len(cs))
			for i := range cs {
				s := ss[index(ss, cs[i].Name)]
				require.InDelta(t, c.Want.Weights[i], s.Score, 1e-15)
				want := 1 / n // all weights zero: even
				if c.Want.Probabilities != nil {
					want = 0.05/n + 0.95*c.Want.Probabilities[i]
				}
				require.InDelta(t, want, s.Parts.Chance, 1e-15)
			}
		})
	}
}

func index(ss []rank.Scored, name string) int {
	for i := range ss {
		if ss[i].Candidate.Name == name {
			return i
		}
	}
	return -1
}
