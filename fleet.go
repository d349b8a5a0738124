package arc

import (
	"context"
	"slices"
	"time"

	"github.com/arc-learn/arc/meta/fleet"
	"github.com/arc-learn/arc/reason/goal"
)

// fleetDomain is the domain in which the figures of an agent's workers stand, see [Agent.Keep].
const fleetDomain = "agent_fleet_health"

// fleetCollector reads how the agent's workers did over the last day.
func (a *Agent) fleetCollector() goal.Collector {
	return goal.Collector{Domain: fleetDomain, Every: time.Minute, Read: func(ctx context.Context) (any, error) {
		own, err := a.tenant(ctx, a.o.Scope)
		if err != nil {
			return nil, err
		}
		defer a.handBack(own)
		now := a.o.Now()
		f, err := fleet.Measure(ctx, own.book, now, a.runner.Workers())
		if err != nil {
			return nil, err
		}
		return fleetHealth(now, &f), nil
	}}
}

// fleetHealth is the fleet's health as JSON, in the names of the system whose
// goals it is to serve. Keep lists them.
func fleetHealth(now time.Time, f *fleet.Health) map[string]any {
	agents, byName, others := []any{}, map[string]any{}, []any{}
	for _, w := range f.Workers {
		failures := []any{}
		for _, f := range slices.Backward(w.Failures) {
			failures = append(failures, map[string]any{"correlationId": f.Key, "reason": f.Reason})
		}
		byName[w.Name] = map[string]any{
			"agentName": w.Name, "successRate": w.SuccessRate, "failureRate1h": w.FailureRate, "totalOutcomes": w.Known,
			"p50LatencyMs": w.P50.Milliseconds(), "p95LatencyMs": w.P95.Milliseconds(),
			"costPerSuccessfulOutcome": w.PerSuccess.USD, "totalCostUsd": w.CostUSD, "recentFailures": failures,
		}
		agents = append(agents, byName[w.Name])
	}
	for _, w := range f.Outsiders {
		others = append(others, map[string]any{
			"actor": w.Name, "total": w.Known, "success": w.Successes, "failure": w.Known - w.Successes,
		})
	}
	return map[string]any{
		"agents": agents, "byName": byName, "systemActors": others,
		"maxFailureRate1h": f.MaxFailureRate, "totalCostUsd1d": f.CostUSD,
		"orphanedSkillCount": len(f.Orphaned), "orphanedSkills": append([]string{}, f.Orphaned...),
		"windowHours": 24, "collectedAt": now.UnixMilli(),
	}
}
