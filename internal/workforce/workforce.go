// Package workforce shows goals how the workers of an agent do, as a domain of the world.
package workforce

import (
	"slices"
	"time"

	"github.com/arc-learn/arc/meta/fleet"
)

// Domain is the name of the domain.
const Domain = "agent_fleet_health"

// Data is a fleet's health as the data of its domain, in the names of the system whose goals it
// is to serve. Agent.Keep lists them.
func Data(now time.Time, f *fleet.Health) map[string]any {
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
