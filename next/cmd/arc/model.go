package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
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

// metered is the model of a name in arc.yaml as it stands when it is asked. What it takes is in the ledger, and
// whoever follows the run is told when it is asked and when it has answered.
type metered struct {
	app  *app
	name func(*config) string
}

func (m *metered) Generate(ctx context.Context, r *reason.Request) (*reason.Response, error) {
	c, on := m.app.config.Load(), errandOf(ctx)
	name := cmp.Or(m.name(c), on.model, c.Model)
	model, err := m.app.model(ctx, c.model(name))
	if err != nil {
		return nil, err
	}
	asked := *r
	if text := r.OnText; text != nil {
		asked.OnText = func(s string) { text(s); m.app.tell(on.run, arc.Event{Kind: "words", Text: s, Live: true}) }
	} else if on.run != "" {
		asked.OnText = func(s string) { m.app.tell(on.run, arc.Event{Kind: "words", Text: s, Live: true}) }
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
		m.app.spend(ctx, name, on.worker, usage)
	}
	raw, _ := json.Marshal(usage)
	m.app.tell(on.run, arc.Event{Kind: "heard", Name: name, Data: raw, Live: true})
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

// secret is a credential, or else a variable of the environment.
func (a *app) secret(ctx context.Context, name string) (string, error) {
	if value := os.Getenv(name); value != "" {
		return value, nil
	}
	creds, err := a.credentials()
	if err != nil {
		return "", err
	}
	if value := creds[name]; value != "" {
		return value, nil
	}
	service, key, ok := strings.Cut(name, ".")
	if !ok {
		return "", fmt.Errorf("%s is not set: export %s=…, or arc creds set --service env --key %s --value …", name, name, name)
	}
	return "", fmt.Errorf("no credential %s: arc creds set --service %s --key %s --value …", name, service, key)
}

// ping asks an endpoint for its models, which costs nothing. It says whether the named one is among them.
func (a *app) ping(ctx context.Context, c modelConfig) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	url, header := strings.TrimSuffix(cmp.Or(c.URL, "https://api.openai.com/v1"), "/")+"/models", "Authorization"
	if c.API == "anthropic" {
		url, header = strings.TrimSuffix(cmp.Or(c.URL, "https://api.anthropic.com"), "/")+"/v1/models?limit=1000", "X-Api-Key"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if c.Key != "" {
		key, err := a.secret(ctx, c.Key)
		if err != nil {
			return err
		}
		if header == "Authorization" {
			key = "Bearer " + key
		}
		r.Header.Set(header, key)
		r.Header.Set("Anthropic-Version", "2023-06-01")
	}
	client := http.Client{Transport: reason.Transport(nil)}
	answer, err := client.Do(r)
	if err != nil {
		if c.Key != "" {
			return fmt.Errorf("%w (the key is that of %s)", err, c.Key)
		}
		return err
	}
	defer answer.Body.Close()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, 4<<20))
	if err != nil || json.Unmarshal(body, &list) != nil || len(list.Data) == 0 {
		return err // it has no list
	}
	for _, m := range list.Data {
		if m.ID == c.Name || strings.TrimSuffix(m.ID, ":latest") == c.Name {
			return nil
		}
	}
	return fmt.Errorf("it has no model %s: it has %s and %d others", c.Name, list.Data[0].ID, len(list.Data)-1)
}

// embedder asks an OpenAI-compatible endpoint for vectors.
type embedder struct {
	app *app
	c   embedderConfig
}

func (e *embedder) Model() string { return e.c.Name }

func (e *embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	body, err := json.Marshal(map[string]any{"model": e.c.Name, "input": texts})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(e.c.URL, "/")+"/embeddings", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if e.c.Key != "" {
		key, err := e.app.secret(ctx, e.c.Key)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", "Bearer "+key)
	}
	client := http.Client{Transport: reason.Transport(nil), Timeout: time.Minute}
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var out struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, 64<<20)).Decode(&out); err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(texts))
	for _, d := range out.Data {
		if d.Index >= 0 && d.Index < len(vectors) {
			vectors[d.Index] = d.Embedding
		}
	}
	for _, v := range vectors {
		if len(v) == 0 {
			return nil, fmt.Errorf("%s: fewer vectors than texts", e.c.URL)
		}
	}
	return vectors, nil
}

// planner is the reasoner of arc.yaml as it stands when it is asked. Who has none gets the objective as the one task.
type planner struct{ app *app }

func (p *planner) llm() *reason.LLM {
	m := &metered{p.app, func(c *config) string { return c.Planner }}
	return &reason.LLM{Model: m, Instructions: p.app.brief(nil)}
}

func (p *planner) Decide(ctx context.Context, b *reason.Brief) (*reason.Decision, error) {
	e := errandOf(ctx)
	e.worker = "planner"
	return p.llm().Decide(e.in(ctx), b)
}

func (p *planner) Answer(ctx context.Context, b *reason.Brief, questions []string) (string, *reason.Usage, error) {
	e := errandOf(ctx)
	e.worker = "planner"
	return p.llm().Answer(e.in(ctx), b, questions)
}

// ledger has what models took on a day, by worker and model.
type ledger map[string]*reason.Usage

// ledgerKey is that of a day, in UTC.
func ledgerKey(day time.Time) string { return "cli/ledger/" + day.UTC().Format(time.DateOnly) }

var ledgerMu sync.Mutex
