package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/reason"
)

const (
	length  = 100 // rounds
	each    = 5   // requests a round: one of a new kind, the others of kinds that are known
	tries   = 3   // at a request
	changed = 25  // kinds want another plan after half of the rounds
)

// request is a case of a kind, with what the model would answer in each try. Both sides get the same.
type request struct {
	kind, order int
	moved       bool        // the kind wants its other plan by now
	wrong       [tries]bool // the model is
	seen        [tries]bool // by the gate, where something is wrong that is not of the former plan
}

func (r request) kase() learn.Case {
	return learn.Case{
		Text: fmt.Sprintf("do work of kind w%d with o%d", r.kind*7919, r.order), Situation: "work",
		Inputs: json.RawMessage(fmt.Sprintf(`{"order":"o%d"}`, r.order)),
	}
}

// plan is the right one, or the model's wrong one.
func (r request) plan(wrong bool) *reason.Plan {
	inputs := json.RawMessage(fmt.Sprintf(`{"order":"o%d"}`, r.order))
	p := &reason.Plan{Calls: []reason.PlanCall{{Name: "find", Inputs: inputs},
		{Name: fmt.Sprintf("act%d", r.kind), Inputs: inputs}}}
	if r.moved {
		p.Calls[1].Name = "new" + p.Calls[1].Name
	}
	if wrong {
		p.Calls = append(p.Calls, p.Calls[1]) // twice
	}
	return p
}

// quarter is what came of a quarter of the rounds.
type quarter struct {
	requests, right, asked int
	plainRight, plainAsked int // without memory
	fired, stale, library  int // stale: a fired plan that the gate refused
	advising               time.Duration
}

func rounds(seeds int) error {
	var qs [4]quarter
	for seed := range uint64(seeds) {
		if err := stream(seed, &qs); err != nil {
			return err
		}
	}
	fmt.Println("| rounds | kinds | right | without memory | model calls a request | without " +
		"| fired | of these refused | µs a Before |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|")
	for i, q := range qs {
		n := float64(q.requests)
		fmt.Printf("| %d–%d | %d | %.1f %% | %.1f %% | %.2f | %.2f | %.1f %% | %.1f %% | %.0f |\n",
			25*i+1, 25*i+25, q.library, 100*float64(q.right)/n, 100*float64(q.plainRight)/n,
			float64(q.asked)/n, float64(q.plainAsked)/n, 100*float64(q.fired)/n,
			100*float64(q.stale)/float64(q.fired), float64(q.advising.Microseconds())/n)
	}
	fmt.Println()
	return nil
}

func stream(seed uint64, qs *[4]quarter) error {
	l, err := layer(seed + 1)
	if err != nil {
		return err
	}
	defer l.Close()
	rng := rand.New(rand.NewPCG(seed, 1))
	for round := range length {
		q := &qs[round/25]
		q.library = round + 1
		for i := range each {
			r := request{kind: round, order: rng.IntN(9000) + 1000}
			if i > 0 {
				r.kind = rng.IntN(round + 1)
			}
			r.moved = r.kind < changed && round >= length/2
			for t := range tries {
				r.wrong[t], r.seen[t] = rng.Float64() < .2, rng.Float64() < .5
			}
			if err := q.work(l, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// work does a request without memory and with it.
func (q *quarter) work(l *learn.Layer, r request) error {
	q.requests++
	for t := range tries { // without
		q.plainAsked++
		if !r.wrong[t] {
			q.plainRight++
		}
		if !r.wrong[t] || !r.seen[t] {
			break
		}
	}
	ctx := context.Background()
	fires := true
	for t := 0; t < tries; t++ {
		began := time.Now()
		advice, err := l.Before(ctx, r.kase())
		q.advising += time.Since(began)
		if err != nil {
			return err
		}
		made, passes := advice.Fires, false
		if made != nil && fires { // a plan that was refused is not tried again for the same case
			q.fired++
			passes = same(made, r.plan(false)) || !r.moved && !r.seen[t]
			if fires = passes; !passes {
				q.stale++
				t-- // it was no try of the model's
			}
		} else {
			q.asked++
			made = r.plan(r.wrong[t])
			passes = !r.wrong[t] || !r.seen[t]
		}
		o := learn.Outcome{Verdict: learn.Delivered, Plan: made}
		if !passes {
			o.Verdict, o.Complaint = learn.Failed, "not what was wanted"
		} else if same(made, r.plan(false)) {
			q.right++
		}
		if _, err := l.After(ctx, advice, o); err != nil {
			return err
		}
		if passes {
			break
		}
	}
	return nil
}
