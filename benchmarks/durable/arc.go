package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// arcSystem is an Agent with 100 memories. Nobody judges what it delivers provisionally, so no plan fires,
// and the reasoner decides in each turn.
type arcSystem struct {
	agent *arc.Agent
	st    *counting
}

// counting counts commits.
type counting struct {
	store.Store
	n atomic.Int64
}

func (c *counting) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	c.n.Add(1)
	return c.Store.Commit(ctx, ops...)
}

type decider struct{}

func (decider) Decide(_ context.Context, b *reason.Brief) (*reason.Decision, error) {
	return &reason.Decision{Approach: "look", Tasks: []reason.Task{{Objective: b.Text}}}, nil
}

func openArc(ctx context.Context, dir string) (system, error) {
	st, err := badger.Open(ctx, dir, nil)
	if err != nil {
		return nil, err
	}
	counted := &counting{Store: st}
	a, err := arc.New(ctx, counted, arc.Host{
		Reasoner: decider{},
		Workers: []act.Worker{{Name: "look",
			Executor: act.ExecutorFunc(func(context.Context, *act.Call) (*act.Result, error) {
				return &act.Result{Text: answer}, nil
			})}},
		Gates: []act.Gate{act.GateFunc(func(_ context.Context, _ *act.Call, r *act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: r.Text == answer, Complaint: "it is another"}, nil
		})},
	}, nil)
	if err != nil {
		return nil, err
	}
	m, err := a.In("").Memory(ctx)
	var drafts []memory.Draft
	for n := range 100 {
		drafts = append(drafts, memory.Draft{
			Kind: memory.Pattern, Trigger: fmt.Sprint("the build fails in module m", n),
			Content: fmt.Sprint("look at part p", n),
		})
	}
	if err == nil {
		_, err = m.RememberAll(ctx, drafts)
	}
	return &arcSystem{agent: a, st: counted}, err
}

func (s *arcSystem) turn(ctx context.Context) error {
	r, err := s.agent.Run(ctx, arc.Objective{Text: question, Provisional: true})
	if err == nil && r.Status != arc.Delivered {
		err = fmt.Errorf("%s: %s", r.Status, r.Text)
	}
	return err
}

func (s *arcSystem) commits() float64 { return float64(s.st.n.Load()) }

func (s *arcSystem) close() error {
	if err := s.agent.Close(); err != nil {
		return err
	}
	return s.st.Store.Close()
}
