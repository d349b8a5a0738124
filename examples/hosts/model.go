package main

import (
	"context"
	"errors"
	"time"

	"github.com/arc-learn/arc/reason"
)

// planner adapts a provider's client, and says which of its errors may go away.
func planner(c *client) reason.Model {
	return reason.ModelFunc(func(ctx context.Context, req *reason.Request) (*reason.Response, error) {
		text, err := c.complete(ctx, req.System, req.Messages)
		switch {
		case errors.Is(err, errBusy):
			return nil, &reason.ModelError{Status: 429, Again: true, After: time.Second, Err: err}
		case err != nil:
			return nil, err
		}
		return &reason.Response{Text: text, Stop: reason.StopEnd}, nil
	})
}

var errBusy = errors.New("busy")

// client stands for a provider's SDK, with a model that has one idea.
type client struct{}

func (*client) complete(ctx context.Context, _ string, _ []reason.Message) (string, error) {
	return `{"thought": "more of it", "complexity": "simple", "approach": "scale", "tasks": [` +
		`{"objective": "scale web to 5", "verify": "5 replicas run", "skill": "scale", "inputs": 5}]}`, ctx.Err()
}
