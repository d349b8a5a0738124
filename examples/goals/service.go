package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// service is what is to be kept healthy: four values, each of which something
// spoils now and then.
type service struct {
	mu     sync.Mutex
	chance *rand.Rand
	values map[string]float64
}

// The values of a service: when all is well, and when it is not.
var values = []struct {
	name      string
	good, bad float64
}{{"errorRate", 0.001, 0.12}, {"replicas", 3, 1}, {"p95", 120, 900}, {"diskUsed", 0.4, 0.97}}

func newService(seed uint64) *service {
	s := &service{chance: rand.New(rand.NewPCG(seed, 0)), values: map[string]float64{}}
	for _, v := range values {
		s.values[v.name] = v.good
	}
	return s
}

// decay lets half a minute pass, in which each value is spoiled once in fifty
// times.
func (s *service) decay() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range values {
		if s.chance.IntN(50) == 0 {
			s.values[v.name] = v.bad
		}
	}
}

// read is the collector of the domain "service".
func (s *service) read(context.Context) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	values := maps.Clone(s.values)
	values["certificateDays"] = 12 // which no worker can change
	return values, nil
}

// verify is the gate: it does not ask the worker, it looks.
func (s *service) verify(_ context.Context, w act.Work, _ act.Result) (act.Verdict, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range values {
		if "data."+v.name == w.Task.Effect.Path && s.values[v.name] != v.good {
			return act.Verdict{Complaint: fmt.Sprintf("%s is still %g", v.name, s.values[v.name])}, nil
		}
	}
	return act.Verdict{Pass: true}, nil
}

// worker is an executor that can mend every value of the service, says of
// itself how sure it is of that, and is right as often as works says.
func (s *service) worker(name string, claims, works float64) act.Worker {
	do := func(_ context.Context, w act.Work) (act.Result, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, v := range values {
			if "data."+v.name == w.Task.Effect.Path && s.chance.Float64() < works {
				s.values[v.name] = v.good
			}
		}
		return act.Result{Reflection: iar.Reflection{
			Status: iar.Success, Confidence: claims, Summary: "mended it",
			PotentialIssues: []string{}, AlignmentCheck: map[string]float64{"objective": 1},
		}}, nil
	}
	w := act.Worker{Card: rank.Candidate{Name: name, Prior: claims}, Executor: act.ExecutorFunc(do)}
	for _, v := range values {
		w.Effects = append(w.Effects, reason.Effect{Domain: "service", Path: "data." + v.name})
	}
	return w
}
