package mcp

import (
	"context"
	"time"

	"github.com/arc-learn/arc/rank"
)

type costsIn struct {
	Days int `json:"days,omitempty" jsonschema:"how many, today in UTC among them"`
}

type costsOut struct {
	Costs []spent `json:"costs" jsonschema:"by worker, skill and day, every attempt"`
}

type spent struct {
	Worker     string  `json:"worker"`
	Skill      string  `json:"skill" jsonschema:"or empty"`
	Day        string  `json:"day"`
	Attempts   int     `json:"attempts"`
	Judged     int     `json:"judged" jsonschema:"of known outcome"`
	Successes  int     `json:"successes"`
	USD        float64 `json:"usd" jsonschema:"as reported"`
	Estimated  float64 `json:"estimated_usd" jsonschema:"of tokens at list prices"`
	PerSuccess float64 `json:"usd_per_success" jsonschema:"with failures; 0 without a success"`
	TokensIn   int     `json:"tokens_in"`
	TokensOut  int     `json:"tokens_out"`
}

type confidenceOut struct {
	Workers []claimed `json:"workers" jsonschema:"by worker and skill, of the last 200 attempts"`
}

type claimed struct {
	Worker       string  `json:"worker"`
	Skill        string  `json:"skill" jsonschema:"or empty"`
	Samples      int     `json:"samples" jsonschema:"attempts of known outcome with a confidence"`
	Successes    float64 `json:"success_rate"`
	Confidence   float64 `json:"confidence" jsonschema:"mean"`
	OnSuccess    float64 `json:"confidence_on_success"`
	OnFailure    float64 `json:"confidence_on_failure"`
	HighFailures int     `json:"high_confidence_failures"`
}

// workerTools tell of the tenant's workers, who serve other scopes too: an operator
// alone hears it.
func (d desk) workerTools() {
	add(d, tool{
		name: "costs", title: "What workers cost", reads: true,
		about: "Tells what the attempts of each worker came to, by skill and day, those that failed too. For operators.",
		in:    map[string]bound{"days": {least: 1, most: 366, or: "7"}},
	}, d.costs)
	add(d, tool{
		name: "confidence", title: "What workers claim", reads: true,
		about: "Tells how sure each worker said to be of its attempts, by skill, and what came of them. For operators.",
	}, d.confidence)
}

func (d desk) costs(ctx context.Context, c caller, in costsIn) (costsOut, string, error) {
	out := costsOut{Costs: []spent{}}
	if !c.Operator {
		return out, "", operators
	}
	days, err := d.agent.In(c.Scope).Costs(ctx, time.Now().Add(-time.Duration(in.Days-1)*rank.Day))
	for i := range days {
		t := &days[i]
		out.Costs = append(out.Costs, spent{
			Worker: t.Candidate, Skill: t.Skill, Day: t.From.Format(time.DateOnly),
			Attempts: t.Samples, Judged: t.Known, Successes: t.Successes, USD: number(t.CostUSD),
			Estimated:  number(t.APICostUSD),
			PerSuccess: number(t.PerSuccess().USD), TokensIn: t.TokensIn, TokensOut: t.TokensOut,
		})
	}
	return out, "", err
}

func (d desk) confidence(ctx context.Context, c caller, _ nothing) (confidenceOut, string, error) {
	out := confidenceOut{Workers: []claimed{}}
	if !c.Operator {
		return out, "", operators
	}
	all, err := d.agent.In(c.Scope).Confidence(ctx)
	for _, s := range all {
		out.Workers = append(out.Workers, claimed{
			Worker: s.Candidate, Skill: s.Skill, Samples: s.Confident, Successes: s.SuccessRate,
			Confidence: s.Confidence, OnSuccess: s.ConfidenceOnSuccess, OnFailure: s.ConfidenceOnFailure,
			HighFailures: s.HighConfidenceFailures,
		})
	}
	return out, "", err
}
