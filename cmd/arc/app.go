package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/contrib/agefile"
	"github.com/arc-learn/arc/contrib/console"
	"github.com/arc-learn/arc/contrib/mcp"
	"github.com/arc-learn/arc/contrib/notebook"
	"github.com/arc-learn/arc/contrib/openai"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// app is the agent of a folder, open in this process.
type app struct {
	dir    string
	scope  memory.Scope
	config atomic.Pointer[config]
	log    *slog.Logger

	store store.Store
	agent *arc.Agent
	queue *queue.Queue
	read  time.Time       // when arc.yaml was changed that reload has seen
	door  *console.Server // of the commands of other processes; nil: it has none

	followers sync.Map // *progress → the ID of the run, or of the task, that it shows
	mu        sync.Mutex
	servers   map[string]*mcp.Client

	vault *agefile.File
	notes *notebook.Notebook
}

// openApp opens the agent of a folder.
func openApp(ctx context.Context, dir string, how access, log *slog.Logger) (a *app, err error) {
	c, err := loadConfig(dir)
	if err != nil {
		return nil, err
	}
	a = &app{dir: dir, scope: c.Scope, log: log, servers: map[string]*mcp.Client{}, vault: vault(dir)}
	a.notes = notebook.New(a.path("memory", "MEMORY.md"))
	a.config.Store(c)
	if err := os.MkdirAll(a.path(".arc", "costs"), 0o700); err != nil {
		return nil, err
	}
	if a.store, err = badger.Open(ctx, a.path(".arc", "store"), &badger.Options{Logger: log}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	skills, err := reason.LoadSkills(os.DirFS(a.path("skills")))
	if err != nil {
		log.Warn("skills", "error", err)
	}
	host := arc.Host{Workers: a.workers(c), Skills: skills, Approver: a.approve, Secrets: a.secret}
	host.Sources = []reason.Source{a.source}
	if c.Planner != "" {
		host.Reasoner = &planner{a}
	}
	if c.Worktree != nil {
		w, err := a.worktrees(ctx, c.Worktree)
		if err != nil {
			return a, fmt.Errorf("worktree: %w", err)
		}
		host.Around = []act.Around{w.Around}
	}
	o := &arc.Options{
		Scope: c.Scope, Attempts: c.Attempts, Timeout: c.Timeout, Patience: c.Patience, Daily: c.Daily,
		Learn: learn.Options{Holdout: c.Holdout}, Memory: &memory.Options{Languages: c.Languages},
		Logger: log, Process: "arc", OnEvent: a.onEvent,
	}
	if o.Sanitizer, err = a.sanitizer(); err != nil {
		return a, err
	}
	if e := c.Embeddings; e != nil {
		key, err := a.key(ctx, *e)
		if err != nil {
			return a, fmt.Errorf("embeddings: %w", err)
		}
		o.Memory.Embedder = openai.NewEmbedder(e.Name, &openai.Options{URL: e.URL, Key: key})
	}
	group := store.NewGroup(store.Sub(a.store, c.Scope.TenantPrefix()))
	a.queue, err = queue.Open(ctx, group, &queue.Options{Scope: a.scope, Sanitizer: o.Sanitizer, Logger: log})
	if err != nil {
		return a, err
	}
	runs := a.store
	if how == reads {
		runs = asleep{a.store}
	}
	a.agent, err = arc.New(ctx, runs, host, o)
	return a, err
}

// asleep is a store in which nothing is due: no run goes on or begins by a command that looks.
type asleep struct{ store.Store }

func (s asleep) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Entry, error] {
	if strings.HasPrefix(r.Prefix, "due/") {
		return func(func(store.Entry, error) bool) {}
	}
	return s.Store.Scan(ctx, r)
}

// sanitizer knows the credentials, where they are unlocked, and the keys of models.
func (a *app) sanitizer() (*redact.Sanitizer, error) {
	known := map[string]string{}
	creds, _ := a.vault.All() // none where they are locked
	maps.Copy(known, creds)
	for _, m := range a.config.Load().models() {
		if key := os.Getenv(m.Key); len(key) >= 8 {
			known[m.Key] = key
		}
	}
	return redact.New(nil).With(known)
}

func (a *app) path(names ...string) string {
	return filepath.Join(append([]string{a.dir}, names...)...)
}

func (a *app) view() arc.View { return a.agent.In(a.scope) }

// close ends what was opened. Commands of other processes are waited for.
func (a *app) close() error {
	var errs []error
	late := func() { a.log.Warn("waiting for other terminals and runs; Ctrl-C leaves them") }
	defer time.AfterFunc(time.Second, late).Stop()
	if a.door != nil {
		errs = append(errs, a.door.Close())
	}
	if a.agent != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := a.agent.Shutdown(ctx); err != nil {
			a.log.Warn(err.Error())
		}
		errs = append(errs, a.notes.Write(ctx, a.agent, 0), a.agent.Close())
	}
	for _, s := range a.servers {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, a.store.Close())...)
}

// reload takes up a changed arc.yaml. One that cannot be used is an error, once, and the former stays.
func (a *app) reload() (changed bool, err error) {
	info, err := os.Stat(a.path("arc.yaml"))
	if err != nil || info.ModTime().Equal(a.read) {
		return false, nil // a person may be just writing it
	}
	first := a.read.IsZero()
	if a.read = info.ModTime(); first {
		return false, nil
	}
	c, err := loadConfig(a.dir)
	if err != nil {
		return false, err
	}
	if err := a.agent.SetWorkers(a.workers(c)); err != nil {
		return false, err
	}
	a.config.Store(c)
	return true, nil
}

// onEvent gives an event to the notes, and to who follows the run.
func (a *app) onEvent(scope memory.Scope, run string, e arc.Event) {
	a.notes.OnEvent(scope, run, e)
	for p := range a.following(run) {
		p.tell(e)
	}
}

// follow has a screen show a run, or the runs of a task, until the function that it returns is called.
func (a *app) follow(id string, s *screen) (p *progress, end func()) {
	p = &progress{screen: s}
	p.busy("begins")
	a.followers.Store(p, id)
	return p, func() { a.followers.Delete(p) }
}

func (a *app) following(run string) iter.Seq[*progress] {
	return func(yield func(*progress) bool) {
		a.followers.Range(func(p, id any) bool { return id != run && id != taskOf(run) || yield(p.(*progress)) })
	}
}

// brief says who the agent is and what it knows: SOUL.md, memory/MEMORY.md and the SKILL.md of skills.
func (a *app) brief(skills []string) string {
	files := []string{"SOUL.md", filepath.Join("memory", "MEMORY.md")}
	for _, s := range skills {
		files = append(files, filepath.Join("skills", s, "SKILL.md"))
	}
	text, err := notebook.Brief(a.dir, 40_000, files...) // tokens
	if err != nil {
		a.log.Warn(err.Error())
	}
	return text
}
