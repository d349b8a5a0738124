package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	arc "github.com/arc-learn/arc/next"
	"github.com/arc-learn/arc/next/contrib/anthropic"
	"github.com/arc-learn/arc/next/contrib/openai"
	"github.com/arc-learn/arc/next/reason"
)

// errand is what the context of a call says about the run that it is for.
type errand struct {
	run, worker string
	model       string // of the task, by its priority; "": none
}

type errandKey struct{}

func errandOf(ctx context.Context) errand {
	e, _ := ctx.Value(errandKey{}).(errand)
	return e
}

func (e errand) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, errandKey{}, e)
}

// metered is a model of arc.yaml as that stands when it is asked; without a name that of the task's priority, or else
// that of all. What it takes is in the ledger, and who follows the run is told when it is asked and has answered.
type metered struct {
	app  *app
	name string
}

func (m *metered) Generate(ctx context.Context, r *reason.Request) (*reason.Response, error) {
	c, on := m.app.config.Load(), errandOf(ctx)
	name := cmp.Or(m.name, on.model, c.Model)
	model, err := m.app.model(ctx, c.model(name))
	if err != nil {
		return nil, err
	}
	asked := *r
	asked.OnText = func(s string) {
		if r.OnText != nil {
			r.OnText(s)
		}
		m.app.tell(on.run, arc.Event{Kind: "words", Text: s, Live: true})
	}
	m.app.tell(on.run, arc.Event{Kind: "asked", Name: name, Live: true})
	answer, err := reason.Generate(ctx, model, &asked)
	var usage *reason.Usage
	if answer != nil {
		usage = answer.Usage
	} else if failed, ok := errors.AsType[*reason.Error](err); ok {
		usage = failed.Usage
	}
	if answer != nil || usage != nil {
		m.app.spend(name, cmp.Or(on.worker, "planner"), usage)
	}
	raw, _ := json.Marshal(usage)
	heard := arc.Event{Kind: "heard", Name: name, Data: raw, Live: true}
	if err != nil {
		heard.Text = err.Error()
	}
	m.app.tell(on.run, heard)
	return answer, err
}

// model makes the model. A key that is not there is told with its variable and the command that sets it.
func (a *app) model(ctx context.Context, c modelConfig) (reason.Model, error) {
	var key string
	if c.Key != "" {
		var err error
		if key, err = a.secret(ctx, c.Key); err != nil {
			return nil, &reason.Error{Class: reason.Permanent, Err: fmt.Errorf("model %s: %w", c.Name, err)}
		}
	}
	var m reason.Model
	if c.API == "anthropic" {
		m = anthropic.New(c.Name, &anthropic.Options{URL: c.URL, Key: key, KeyEnv: c.Key, Cache: true, Extra: c.Extra})
	} else {
		m = openai.New(c.Name, &openai.Options{URL: c.URL, Key: cmp.Or(key, "none"), KeyEnv: c.Key, Words: c.Words, Extra: c.Extra})
	}
	if p := c.Price; p != nil {
		m = reason.Price(m, p.Input, p.Output, p.Cached)
	}
	return m, nil
}

// ping asks an endpoint for its models, which costs nothing, and says whether the named one is among them.
func (a *app) ping(ctx context.Context, c modelConfig) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	url := strings.TrimSuffix(cmp.Or(c.URL, map[string]string{"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com/v1"}[c.API]), "/")
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/models?limit=1000", nil)
	if err != nil {
		return err
	}
	if c.Key != "" {
		key, err := a.secret(ctx, c.Key)
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+key)
		if c.API == "anthropic" {
			r.Header = http.Header{"X-Api-Key": {key}, "Anthropic-Version": {"2023-06-01"}}
		}
	}
	client := http.Client{Transport: reason.Transport(nil)}
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("%w (the key is that of %s)", err, cmp.Or(c.Key, "nobody"))
	}
	defer answer.Body.Close()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.NewDecoder(io.LimitReader(answer.Body, 4<<20)).Decode(&list) != nil || len(list.Data) == 0 {
		return nil // it has no list
	}
	for _, m := range list.Data {
		if m.ID == c.Name || strings.TrimSuffix(m.ID, ":latest") == c.Name {
			return nil
		}
	}
	return fmt.Errorf("it has no model %s: it has %s and %d others", c.Name, list.Data[0].ID, len(list.Data)-1)
}

// planner is the reasoner of arc.yaml as it stands when it is asked. Who has none gets the objective as the one task.
type planner struct{ app *app }

func (p *planner) llm() *reason.LLM {
	return &reason.LLM{Model: &metered{p.app, p.app.config.Load().Planner}, Instructions: p.app.brief(nil)}
}

func (p *planner) Decide(ctx context.Context, b *reason.Brief) (*reason.Decision, error) {
	return p.llm().Decide(ctx, b)
}

func (p *planner) Answer(ctx context.Context, b *reason.Brief, questions []string) (string, *reason.Usage, error) {
	return p.llm().Answer(ctx, b, questions)
}
