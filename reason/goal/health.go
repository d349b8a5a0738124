package goal

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
)

// Domains that a Keeper reads itself.
const (
	fleetDomain  = "agent_fleet_health"
	memoryDomain = "memory_health"
	maxRecent    = 10 // failures of an agent
)

// figuresOf are those of a worker in the last 24 hours.
func figuresOf(book *rank.Book, name string) map[string]any {
	h, recent := book.Health(name, "", 24*time.Hour)
	failures := []any{} // the newest first
	for _, s := range slices.Backward(recent[max(0, len(recent)-maxRecent):]) {
		failures = append(failures, map[string]any{"correlationId": s.Run, "skill": s.Skill, "reason": s.Class})
	}
	cost := *cmp.Or(h.CostUSD, new(0.)) + *cmp.Or(h.EstimateUSD, new(0.)) // reported, and estimated of the rest
	hour, _ := book.Health(name, "", time.Hour)
	f := map[string]any{
		"agentName": name, "p50LatencyMs": h.P50.Milliseconds(), "p95LatencyMs": h.P95.Milliseconds(),
		"recentFailures": failures, "totalOutcomes": h.Attempts, "totalCostUsd": cost,
		"failureRate1h":            float64(hour.Attempts-hour.Delivered) / float64(max(1, hour.Attempts)),
		"costPerSuccessfulOutcome": cost / float64(max(1, h.Delivered)),
	}
	if h.Attempts > 0 {
		f["successRate"] = float64(h.Delivered) / float64(h.Attempts)
	}
	return f
}

// fleet reads agent_fleet_health.
func (k *Keeper) fleet(ctx context.Context) (any, error) {
	book, err := k.view.Book(ctx)
	if err != nil {
		return nil, err
	}
	agents, byName, skills := []any{}, map[string]any{}, map[string]any{}
	worst, orphans, seen := 0.0, 0, map[string]bool{"": true}
	for name, skill := range book.Candidates() {
		if byName[name] == nil {
			of := figuresOf(book, name)
			byName[name], worst = of, max(worst, of["failureRate1h"].(float64))
			agents = append(agents, of)
		}
		if seen[skill] {
			continue
		}
		seen[skill] = true
		if all, _ := book.Health("", skill, 24*time.Hour); all.Attempts > 0 && all.Delivered == 0 {
			orphans++
		}
		if today := book.Day("", skill, k.world.now()); today.Judged > 0 {
			rate := float64(today.Delivered) / float64(today.Judged)
			skills[skill] = map[string]any{"successRate": rate, "totalOutcomes": today.Judged}
		}
	}
	return map[string]any{
		"agents": agents, "byName": byName, "skills": skills, "maxFailureRate1h": worst,
		"totalCostUsd1d": figuresOf(book, "")["totalCostUsd"], "orphanedSkillCount": orphans,
	}, nil
}

// memory reads memory_health. A memory that cannot be used is a reading, too.
func (k *Keeper) memory(ctx context.Context) (any, error) {
	var kinds map[memory.Kind]int
	var quarantined int
	var all memory.Stats
	space, unwell := k.view.Memory(ctx)
	searched := unwell
	if unwell == nil {
		kinds, quarantined, all, unwell = space.Health(ctx)
		_, searched = space.Recall(ctx, memory.Query{Text: "health", K: 1})
	}
	memories, wrong := 0, ""
	for _, n := range kinds {
		memories += n
	}
	if err := errors.Join(unwell, searched); err != nil {
		wrong = clip(err.Error())
	}
	return map[string]any{
		"healthy": unwell == nil, "searchWorking": searched == nil, "error": wrong, "memories": memories,
		"quarantined": quarantined, "helped": all.Helped, "misled": all.Misled,
	}, ctx.Err()
}
