package arc

import (
	"context"
	"slices"
	"time"

	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/reason/goal"
)

// fleetDomain is the domain in which the figures of an agent's workers stand, see [Agent.Keep].
const fleetDomain = "agent_fleet_health"

// fleetCollector reads how the agent's workers did over the last day.
func (a *Agent) fleetCollector() goal.Collector {
	return goal.Collector{Domain: fleetDomain, Every: time.Minute, Read: func(ctx context.Context) (any, error) {
		now := a.o.Now()
		f, err := meta.NewFleet(ctx, a.book, now, a.runner.Workers())
		if err != nil {
			return nil, err
		}
		return fleetHealth(now, &f), nil
	}}
}

// The fleet's health as JSON, in the names of the system whose goals it is to
// serve.
type (
	fleetJSON struct {
		Agents      []agentJSON          `json:"agents"`
		ByName      map[string]agentJSON `json:"byName"`
		FailureRate float64              `json:"maxFailureRate1h"`
		CostUSD     float64              `json:"totalCostUsd1d"`
		Orphans     int                  `json:"orphanedSkillCount"`
		Orphaned    []string             `json:"orphanedSkills"`
		Others      []map[string]any     `json:"systemActors"`
		Window      int                  `json:"windowHours"`
		At          int64                `json:"collectedAt"`
	}
	agentJSON struct {
		Name           string              `json:"agentName"`
		SuccessRate    float64             `json:"successRate"`
		P50            int64               `json:"p50LatencyMs"`
		P95            int64               `json:"p95LatencyMs"`
		CostPerSuccess float64             `json:"costPerSuccessfulOutcome"`
		CostUSD        float64             `json:"totalCostUsd"`
		FailureRate    float64             `json:"failureRate1h"`
		Failures       []map[string]string `json:"recentFailures"`
		Outcomes       int                 `json:"totalOutcomes"`
	}
)

func fleetHealth(now time.Time, f *meta.Fleet) fleetJSON {
	out := fleetJSON{
		Agents: []agentJSON{}, ByName: map[string]agentJSON{}, Others: []map[string]any{},
		FailureRate: f.MaxFailureRate, CostUSD: f.CostUSD,
		Orphans: len(f.Orphaned), Orphaned: append([]string{}, f.Orphaned...),
		Window: 24, At: now.UnixMilli(),
	}
	for _, w := range f.Workers {
		x := agentJSON{
			Name: w.Name, SuccessRate: w.SuccessRate, P50: w.P50.Milliseconds(), P95: w.P95.Milliseconds(),
			CostPerSuccess: w.CostPerSuccess, CostUSD: w.CostUSD, FailureRate: w.FailureRate,
			Failures: []map[string]string{}, Outcomes: w.Known,
		}
		for _, key := range slices.Backward(w.Failures) {
			x.Failures = append(x.Failures, map[string]string{"correlationId": key})
		}
		out.Agents = append(out.Agents, x)
		out.ByName[w.Name] = x
	}
	for _, w := range f.Outsiders {
		out.Others = append(out.Others, map[string]any{
			"actor": w.Name, "total": w.Known, "success": w.Successes, "failure": w.Known - w.Successes,
		})
	}
	return out
}
