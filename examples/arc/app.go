package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store/badger"
)

// app is what commands work with: the folder, and what was opened of it.
type app struct {
	*screen
	ctx context.Context
	dir string

	config *config
	store  *badger.Store
	agent  *arc.Agent
	event  func(arc.Event) // of runs
}

// path is that of a file in the folder.
func (a *app) path(names ...string) string {
	return filepath.Join(append([]string{a.dir}, names...)...)
}

// configure reads arc.yaml.
func (a *app) configure() error {
	if a.config != nil {
		return nil
	}
	text, err := os.ReadFile(a.path("arc.yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		return misuse("no agent is in %s: begin one with arc init", a.dir)
	}
	if err == nil {
		a.config, err = parseConfig(text)
	}
	return err
}

// view opens the agent, and returns it as its scope sees it.
func (a *app) view() (arc.View, error) {
	if a.agent == nil {
		if err := a.openAgent(); err != nil {
			return arc.View{}, err
		}
	}
	return a.agent.In(a.config.Scope), nil
}

func (a *app) openAgent() error {
	if err := a.configure(); err != nil {
		return err
	}
	host, err := a.host()
	if err != nil {
		return err
	}
	if a.store, err = badger.Open(a.path(".arc", "store"), nil); err != nil {
		return err
	}
	c := a.config
	replans, pivot := 0, arc.PivotFlag // plans of arc.yaml are the same if they are asked for again
	if c.Model != "" {
		replans, pivot = 1, arc.PivotAuto
	}
	a.agent, err = arc.New(a.ctx, a.store, host, &arc.Options{
		Scope: c.Scope, Name: c.Name, Attempts: c.Attempts, Replans: replans, Pivot: pivot, Attended: a.person && c.Model != "",
		Patience:    patience,
		Budget:      arc.Budget{CostUSD: c.Budget.Run, Wall: c.Budget.Time},
		Bounds:      arc.Bounds{Day: arc.Budget{CostUSD: c.Budget.Day}},
		ApproveFrom: c.ApproveFrom.blast, ApproveAbove: c.ApproveAbove,
		Learn: learn.Options{FireAfter: cmp.Or(c.FireAfter, 1)},
		Hooks: arc.Hooks{Event: func(e arc.Event) {
			if a.event != nil {
				a.event(e)
			}
		}},
	})
	return err
}

// host is what arc.yaml says of workers, gates, skills and the model.
func (a *app) host() (arc.Host, error) {
	c := a.config
	skills, err := reason.LoadSkills(os.DirFS(a.path("skills")))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return arc.Host{}, err
	}
	h := arc.Host{Skills: skills}
	if h.Reasoner, err = c.reasoner(a.dir, skills); err != nil {
		return arc.Host{}, err
	}
	for i := range c.Workers {
		w, err := c.Workers[i].worker(a.dir)
		if err != nil {
			return arc.Host{}, err
		}
		h.Workers = append(h.Workers, w)
	}
	if c.Model != "" {
		h.Sources = append(h.Sources, a.memoryFile)
	}
	for _, name := range c.Knows {
		switch name {
		case "code":
			h.Sources = append(h.Sources, reason.NewCodebase(os.DirFS(a.dir)))
		case "documents":
			h.Sources = append(h.Sources, reason.NewDocuments(os.DirFS(a.dir)))
		default:
			return arc.Host{}, misuse("arc.yaml: knows has code and documents, not %q", name)
		}
	}
	return h, nil
}

// memoryFile is a source: what MEMORY.md says.
func (a *app) memoryFile(context.Context, string, int) ([]reason.Passage, error) {
	text, err := os.ReadFile(a.path("MEMORY.md"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return []reason.Passage{{Name: "MEMORY.md", Text: string(text)}}, nil
}

// queue opens the agent's jobs.
func (a *app) queue() (*queue.Queue, error) {
	if _, err := a.view(); err != nil {
		return nil, err
	}
	templates := map[string]queue.Draft{}
	if _, err := os.Stat(a.path("templates")); err == nil {
		if templates, err = queue.LoadTemplates(os.DirFS(a.path("templates"))); err != nil {
			return nil, err
		}
	}
	// Alone: the store is open in one process only, so that what another one had is free.
	return queue.Open(a.ctx, a.store, &queue.Options{Scope: a.config.Scope, Alone: true, LeaseTTL: lease, Templates: templates})
}

// close closes what was opened.
func (a *app) close() (err error) {
	if a.agent != nil {
		err = a.agent.Close()
	}
	if a.store != nil {
		err = errors.Join(err, a.store.Close())
	}
	return err
}

// patience is how long a command waits for a model or a worker that is away.
const patience = 10 * time.Second

// lease is how long a job is held. Alone, a queue gives back at once what another held.
const lease = 24 * time.Hour
