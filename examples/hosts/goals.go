package main

import (
	"context"
	"errors"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/reason/goal"
)

const goals = `
goals:
  - id: web.up
    description: web has two replicas at least
    selector: domains.web.data.replicas
    min: 2
`

// watch has the agent's workers see to goals about a world that it reads.
func watch(ctx context.Context, a *arc.Agent, w *goal.World, svc *service) (*goal.Controller, error) {
	err := w.Collect(goal.Collector{Domain: "web", Every: time.Minute, Read: func(context.Context) (any, error) {
		return map[string]any{"replicas": svc.replicas.Load()}, nil
	}})
	set := new(goal.Goals)
	_, wrong := set.Load([]byte(goals))
	if err := errors.Join(err, wrong); err != nil {
		return nil, err
	}
	return a.Keep(ctx, w, set, nil)
}
