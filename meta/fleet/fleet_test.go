package fleet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/meta/fleet"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/store"
)

func healthOf(t *testing.T, at time.Time, ss []rank.Sample, workers []string) fleet.Health {
	f, err := fleet.HealthOf(func(yield func(rank.Sample, error) bool) {
		for _, s := range ss {
			if !yield(s, nil) {
				return
			}
		}
	}, func(func(rank.Tally, error) bool) {}, at, workers)
	require.NoError(t, err)
	return f
}

func TestFleetCases(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/fleet-health.json")
	require.NoError(t, err)
	var f struct {
		Cases []struct {
			Name  string
			Input struct {
				Now      int64 `json:"now_ms"`
				Registry []string
				Events   []struct {
					Actor, Skill string
					Success      bool
					Wall         int64 `json:"duration_ms"`
					Age          int64 `json:"age_ms"`
					Tokens       []int
				}
			}
			Want struct {
				Agents []struct {
					Agent       string
					SuccessRate float64 `json:"success_rate"`
					P50         int64   `json:"p50_ms"`
					P95         int64   `json:"p95_ms"`
					PerSuccess  float64 `json:"cost_per_success"`
					Cost        float64 `json:"total_cost_usd"`
					Total       int
					FailureRate float64  `json:"failure_rate_1h"`
					Failures    []string `json:"recent_failures"`
				}
				MaxFailureRate float64 `json:"max_failure_rate_1h"`
				Cost           float64 `json:"total_cost_usd_1d"`
				Orphaned       int     `json:"orphaned_skill_count"`
				System         []struct {
					Actor                   string
					Total, Success, Failure int
				} `json:"system_actors"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(raw, &f))
	require.NotEmpty(t, f.Cases)
	for _, c := range f.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			now := time.UnixMilli(c.Input.Now).UTC()
			var ss []rank.Sample
			for _, e := range c.Input.Events {
				s := rank.Sample{
					Key: "c", Candidate: e.Actor, Situation: rank.Situation{Skill: e.Skill}, Success: e.Success,
					Wall: time.Duration(e.Wall) * time.Millisecond, At: now.Add(-time.Duration(e.Age) * time.Millisecond),
				}
				if len(e.Tokens) == 2 {
					s.TokensIn, s.TokensOut = e.Tokens[0], e.Tokens[1]
				}
				ss = append(ss, s)
			}
			got := healthOf(t, now, ss, c.Input.Registry)
			require.Len(t, got.Workers, len(c.Want.Agents))
			for i, w := range c.Want.Agents {
				h := got.Workers[i]
				require.Equal(t, w.Agent, h.Name)
				require.InDelta(t, w.SuccessRate, h.SuccessRate, 1e-12)
				require.InDelta(t, w.FailureRate, h.FailureRate, 1e-12)
				require.InDelta(t, w.PerSuccess, h.PerSuccess.USD, 1e-12)
				require.InDelta(t, w.Cost, h.CostUSD, 1e-12)
				require.Equal(t, w.Total, h.Samples)
				require.Equal(t, []int64{w.P50, w.P95}, []int64{h.P50.Milliseconds(), h.P95.Milliseconds()})
				require.Len(t, h.Failures, len(w.Failures))
			}
			require.InDelta(t, c.Want.MaxFailureRate, got.MaxFailureRate, 1e-12)
			require.InDelta(t, c.Want.Cost, got.CostUSD, 1e-12)
			require.Len(t, got.Orphaned, c.Want.Orphaned)
			require.Len(t, got.Outsiders, len(c.Want.System))
			for _, w := range c.Want.System {
				i := slices.IndexFunc(got.Outsiders, func(h fleet.Worker) bool { return h.Name == w.Actor })
				require.Equal(t, [3]int{w.Total, w.Success, w.Failure}, [3]int{
					got.Outsiders[i].Samples, got.Outsiders[i].Successes, got.Outsiders[i].Known - got.Outsiders[i].Successes,
				})
			}
		})
	}
}

func TestFleetTakesTheDayAndNoMore(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	confidence := 0.9
	var ss []rank.Sample
	for i := range 30 {
		ss = append(ss, rank.Sample{
			Key: fmt.Sprint(i), Candidate: "w", Situation: rank.Situation{Skill: "s"}, Success: i%2 == 0,
			Confidence: &confidence, CostUSD: 0.5, Wall: time.Second, At: now.Add(-time.Duration(i) * time.Hour),
		})
	}
	ss = append(ss,
		rank.Sample{Key: "ahead", Candidate: "w", At: now.Add(time.Nanosecond)},
		rank.Sample{Key: "unknown", Candidate: "w", Situation: rank.Situation{Skill: "other"}, Unknown: true, At: now, Wall: time.Minute})
	f := healthOf(t, now, ss, nil)
	h := f.Workers[0]
	require.Equal(t, []int{26, 25, 13}, []int{h.Samples, h.Known, h.Successes})
	require.Equal(t, 0.5, h.FailureRate, "of the last hour, both ends included")
	var failures []string
	for _, f := range h.Failures {
		failures = append(failures, f.Key)
	}
	require.Equal(t, []string{"19", "17", "15", "13", "11", "9", "7", "5", "3", "1"}, failures)
	require.Equal(t, time.Second, h.P95, "index 24 of 26")
	require.InDelta(t, 12.5/13, h.PerSuccess.USD, 1e-12)
	require.Equal(t, 25, h.Calibration.Count())
	require.Equal(t, h.Calibration, f.Calibration, "there is one worker")
	edge := healthOf(t, now, []rank.Sample{
		{Key: "1", Candidate: "w", At: now.Add(-time.Hour)}, {Key: "2", Candidate: "w", Success: true, At: now.Add(-time.Hour - 1)},
		{Key: "3", Candidate: "w", At: now.Add(-24 * time.Hour)}, {Key: "4", Candidate: "w", At: now.Add(-24*time.Hour - 1)},
	}, nil).Workers[0]
	require.Equal(t, []float64{1, 3}, []float64{edge.FailureRate, float64(edge.Known)}, "both ends included")
	require.Empty(t, f.Orphaned, "nobody knows whether the other skill was delivered")

	rand.New(rand.NewPCG(1, 1)).Shuffle(len(ss), func(i, j int) { ss[i], ss[j] = ss[j], ss[i] })
	require.Equal(t, f, healthOf(t, now, ss, nil), "the order of samples does not matter")
	require.Empty(t, healthOf(t, now, ss, []string{}).Workers)
	require.InDelta(t, 18, healthOf(t, now, []rank.Sample{{Candidate: "w", TokensIn: 1e6, TokensOut: 1e6, At: now}}, nil).CostUSD, 1e-9)
}

func TestFleetOfABookThatFails(t *testing.T) {
	t.Parallel()
	_, err := fleet.HealthOf(func(yield func(rank.Sample, error) bool) { yield(rank.Sample{}, store.ErrClosed) }, func(func(rank.Tally, error) bool) {}, time.Now(), nil)
	require.ErrorIs(t, err, store.ErrClosed)
}

func Example() {
	ctx, now := context.Background(), time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	book, err := rank.Open(ctx, store.NewMem(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer book.Close()
	for _, s := range []rank.Sample{
		{Key: "1", Candidate: "ava", Situation: rank.Situation{Skill: "review"}, Success: true, CostUSD: 0.02, Wall: 3 * time.Second, At: now},
		{Key: "2", Candidate: "ava", Situation: rank.Situation{Skill: "review"}, CostUSD: 0.02, Wall: 5 * time.Second, At: now.Add(-time.Minute)},
		{Key: "3", Candidate: "quinn", Situation: rank.Situation{Skill: "deploy"}, CostUSD: 0.01, Wall: time.Second, At: now},
	} {
		if err := book.Observe(ctx, s); err != nil {
			fmt.Println(err)
		}
	}
	f, err := fleet.Measure(ctx, book, now, nil)
	if err != nil {
		fmt.Println(err)
	}
	line := func(w fleet.Worker) string {
		return fmt.Sprintf("%s: %d of %d, p95 %v, $%.2f per success", w.Name, w.Successes, w.Known, w.P95, w.PerSuccess.USD)
	}
	for _, w := range f.Workers {
		fmt.Println(line(w))
	}
	fmt.Println("nobody delivers:", f.Orphaned)
	// Output:
	// ava: 1 of 2, p95 5s, $0.04 per success
	// quinn: 0 of 1, p95 1s, $0.00 per success
	// nobody delivers: [deploy]
}
