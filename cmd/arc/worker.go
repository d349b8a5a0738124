package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/tools"
	"github.com/arc-learn/arc/contrib/anthropic"
	program "github.com/arc-learn/arc/contrib/command"
	"github.com/arc-learn/arc/contrib/mcp"
	"github.com/arc-learn/arc/contrib/openai"
	"github.com/arc-learn/arc/contrib/workspace"
	"github.com/arc-learn/arc/contrib/worktree"
	"github.com/arc-learn/arc/reason"
)

// workers makes those of arc.yaml, which was checked.
func (a *app) workers(c *config) (out []act.Worker) {
	for _, w := range c.Workers {
		worker := act.Worker{
			Name: w.Name, Description: w.About, Skills: w.Skills, ByName: w.ByName,
			Input: json.RawMessage(w.Input), Timeout: w.Timeout, Price: w.Price,
		}
		w.limits.put(&worker)
		for _, argv := range slices.Concat(c.Gates, w.Gates) {
			worker.Gates = append(worker.Gates, &gate{a, argv})
		}
		if c.Judge != "" {
			worker.Gates = append(worker.Gates, act.Judge(&metered{a, c.Model, w.Name}, c.Judge))
		}
		if len(worker.Gates) == 0 {
			worker.Gates = []act.Gate{act.NoGate}
		}
		switch {
		case len(w.Run) > 0:
			worker.Executor = act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
				return a.command(ctx, a.environ("ARC_TASK="+taskOf(c.Run)), w.Run).Execute(ctx, c)
			})
		case len(w.Agent) > 0:
			worker.Executor = a.coder(w)
		default:
			m := &metered{a, w.Model, w.Name}
			worker.Executor = act.ExecutorFunc(func(ctx context.Context, call *act.Call) (*act.Result, error) {
				all, err := a.tools(ctx, c, w.Tools)
				if err != nil {
					return nil, err
				}
				return tools.New(m, &tools.Options{System: a.orders(call, w.System)}, all...).Execute(ctx, call)
			})
		}
		out = append(out, worker)
	}
	return out
}

// place is where an attempt works: in its worktree, or in the folder.
func (a *app) place(ctx context.Context) string { return cmp.Or(worktree.Dir(ctx), a.dir) }

// in is what works in a folder.
func (a *app) in(dir func(context.Context) string) *workspace.Workspace {
	keep := []string{"arc.yaml", "SOUL.md", ".arc", ".git"}
	return &workspace.Workspace{Dir: dir, Env: func() []string { return a.environ() }, Keep: keep}
}

// command is a program that gets the task, and as a gate the result, as JSON.
func (a *app) command(ctx context.Context, env, argv []string) interface {
	act.Executor
	act.Gate
} {
	return program.New(a.place(ctx), env, argv...)
}

// environ is the environment of what is started: that of this process without the keys of models and the
// password of the credentials. Who needs one lists it under secrets.
func (a *app) environ(own ...string) []string {
	keys := []string{"ARC_CREDS_PASSWORD"}
	for _, m := range a.config.Load().models() {
		keys = append(keys, m.Key)
	}
	return append(slices.DeleteFunc(program.Env(os.Environ()), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(keys, name)
	}), append(own, "ARC_DIR="+a.dir)...)
}

// gate is a command that decides.
type gate struct {
	app  *app
	argv []string
}

// String is the gate's name.
func (g *gate) String() string { return strings.Join(g.argv, " ") }

func (g *gate) Verify(ctx context.Context, c *act.Call, r *act.Result) (act.Verdict, error) {
	return g.app.command(ctx, g.app.environ(), g.argv).Verify(ctx, c, r)
}

// reading is the Data of a run whose workers read skills first.
func reading(skills []string) json.RawMessage {
	raw, _ := json.Marshal(map[string][]string{"skills": skills}) // strings always can be
	return raw
}

// orders is what a model or a coding agent is told besides the task.
func (a *app) orders(c *act.Call, system string) string {
	var data struct{ Skills []string }
	_ = json.Unmarshal(c.Data, &data) // of another form: no skills
	if c.Task.Skill != "" {
		data.Skills = append(data.Skills, c.Task.Skill)
	}
	return strings.TrimSpace(strings.TrimSpace(system+"\n\n"+a.brief(data.Skills)) + "\n\n" + c.Agent)
}

// coder is a coding agent: its command gets the orders and the task as JSON, and prints its answer.
func (a *app) coder(w workerConfig) act.Executor {
	return act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
		asked := *c
		asked.Task.Objective = strings.TrimSpace(a.orders(c, w.System) + "\n\n" + c.Task.Objective)
		env := slices.DeleteFunc(os.Environ(), func(v string) bool {
			return strings.HasPrefix(v, "ARC_CREDS_PASSWORD=")
		})
		env = append(env, "ARC_DIR="+a.dir, "ARC_TASK="+taskOf(c.Run)) // it has its own keys
		r, err := workspace.CodingAgent(a.command(ctx, env, w.Agent)).Execute(ctx, &asked)
		if r != nil {
			a.spend(w.Agent[0], w.Name, r.Usage)
		}
		return r, err
	})
}

// server is an MCP server, which is started at its first use and ends with the app.
func (a *app) server(name string, s mcpConfig) *mcp.Client {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := fmt.Sprint(name, s)
	if a.servers[key] == nil {
		o := &mcp.ClientOptions{Logger: a.log, Tool: func(_ mcp.Hints, t *tools.Tool) bool {
			s.limits.put(&t.Worker)
			return true
		}}
		if a.servers[key] = mcp.Dial(s.URL, o); s.URL == "" {
			a.servers[key] = mcp.Command(func() *exec.Cmd {
				cmd := exec.Command(s.Run[0], s.Run[1:]...)
				cmd.Dir, cmd.Env = a.dir, a.environ()
				return cmd
			}, o)
		}
	}
	return a.servers[key]
}

// tools are those of a worker: built in, of MCP servers as they are now, or programs.
func (a *app) tools(ctx context.Context, c *config, names []string) (out []tools.Tool, err error) {
	w := a.in(a.place)
	for _, name := range names {
		server, ok := c.MCP[name]
		switch {
		case ok:
			more, err := a.server(name, server).Tools(ctx)
			if err != nil {
				return nil, fmt.Errorf("mcp %s: %w", name, err)
			}
			out = append(out, more...)
		case name == "files":
			out = append(out, w.Files()...)
		case name == "shell":
			out = append(out, w.Shell())
		default:
			t := c.Tools[slices.IndexFunc(c.Tools, func(t toolConfig) bool { return t.Name == name })]
			worker := act.Worker{Name: t.Name, Description: t.About, Input: json.RawMessage(t.Input)}
			t.limits.put(&worker)
			out = append(out, w.Program(tools.Tool{Worker: worker}, t.Run...))
		}
	}
	return out, nil
}

// worktrees has the workers that arc.yaml names edit in worktrees of the repository.
func (a *app) worktrees(ctx context.Context, w *worktreeConfig) (*worktree.Around, error) {
	command := func(argv []string) func(context.Context, string) error {
		if len(argv) == 0 {
			return nil
		}
		return func(ctx context.Context, dir string) error {
			_, err := a.in(workspace.In(dir)).Text(ctx, nil, argv...)
			return err
		}
	}
	o := &worktree.Options{
		Only:  func(c *act.Call) bool { return len(w.Workers) == 0 || slices.Contains(w.Workers, c.Worker.Name) },
		Guard: worktree.GoSyntax, Health: command(w.Health), Restart: command(w.Restart),
	}
	if len(w.Guard) > 0 {
		o.Guard = command(w.Guard)
	}
	return worktree.New(ctx, a.dir, o)
}

// source tells the planner what arc.yaml names: what a command prints, or, of «code», the repository.
func (a *app) source(ctx context.Context, objective string, tokens int) (out []string, err error) {
	w := a.in(workspace.In(a.dir))
	for _, name := range a.config.Load().Sources {
		var found []string
		if name == "code" {
			found, err = w.Search(ctx, objective, tokens)
		} else {
			var text string
			text, err = w.Text(ctx, []byte(objective), strings.Fields(name)...)
			found = []string{name + "\n" + text[:min(len(text), 3*tokens)]}
		}
		if err != nil {
			return out, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// approve asks who follows a run on a terminal. Nobody, no clear answer, or it may be done already: it waits.
func (a *app) approve(ctx context.Context, p act.Approval) (act.Ruling, error) {
	for s := range a.following(p.Run) {
		if s.Ask == nil || p.Begun {
			continue
		}
		s.Say(s.Paint(yellow, "? ") + s.Paint(bold, p.Name) + " " + string(p.Inputs))
		s.Say("  " + strings.Join(p.Why, "; "))
		for {
			answer, err := s.Question(ctx, "  allow it? [yes/no] ")
			if err != nil {
				s.left.Store(true)
				return act.Ruling{}, nil
			}
			if answer = strings.TrimSpace(answer); slices.Contains([]string{"y", "yes", "n", "no"}, answer) {
				return act.Ruling{Approval: p.ID, Allow: answer[0] == 'y', By: s.Person}, nil
			}
			s.Say("  yes, or no; Ctrl-C leaves the run waiting")
		}
	}
	return act.Ruling{}, nil
}

// modelKey has the model of a task by its priority in the context of its run; "": none.
type modelKey struct{}

// metered is a model of arc.yaml as that stands when it is asked; without a name that of the task's
// priority, or else that of all. What it takes is in the ledger, and who follows the run is told when it
// is asked and has answered.
type metered struct {
	app      *app
	name, by string // the model, and who asks it
}

func (m *metered) Generate(ctx context.Context, r *reason.Request) (*reason.Response, error) {
	c := m.app.config.Load()
	routed, _ := ctx.Value(modelKey{}).(string)
	name := cmp.Or(m.name, routed, c.Model)
	model, err := m.app.model(ctx, c.model(name))
	if err != nil {
		return nil, err
	}
	asked := *r
	if asked.OnText == nil {
		asked.OnText = func(string) {} // a stream shows sooner that an endpoint is gone
	}
	act.Note(ctx, act.Event{Kind: "asked", Name: name, Live: true})
	answer, err := reason.Generate(ctx, model, &asked)
	var usage *reason.Usage
	if answer != nil {
		usage = answer.Usage
	} else if failed, ok := errors.AsType[*reason.Error](err); ok {
		usage = failed.Usage
	}
	if answer != nil || usage != nil {
		m.app.spend(name, m.by, usage)
	}
	heard := act.Event{Kind: "heard", Name: name, Live: true}
	if err != nil {
		heard.Text = " has failed"
	}
	act.Note(ctx, heard)
	return answer, err
}

// key is that of a model; one that needs none gets another than the provider's. A key that is not there is
// told with its variable and the command that sets it.
func (a *app) key(ctx context.Context, c modelConfig) (string, error) {
	if c.Key == "" {
		return "none", nil
	}
	return a.secret(ctx, c.Key)
}

// model makes the model.
func (a *app) model(ctx context.Context, c modelConfig) (reason.Model, error) {
	key, err := a.key(ctx, c)
	if err != nil {
		return nil, &reason.Error{Class: reason.Permanent, Err: fmt.Errorf("model %s: %w", c.Name, err)}
	}
	var m reason.Model
	if c.API == "anthropic" {
		o := &anthropic.Options{URL: c.URL, Key: key, KeyEnv: c.keyName(), Extra: c.Extra, Cache: true}
		m = anthropic.New(c.Name, o)
	} else {
		o := &openai.Options{URL: c.URL, Key: key, KeyEnv: c.keyName(), Extra: c.Extra, Words: c.Words}
		m = openai.New(c.Name, o)
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
	key, err := a.key(ctx, c)
	if err != nil {
		return err
	}
	at, err := url.Parse(c.URL)
	if err != nil { // which has the url, and that may have a key in it, as an error of Do has
		return errors.New("its url is no URL")
	}
	path, header := "/models", http.Header{"Authorization": {"Bearer " + key}}
	if c.API == "anthropic" {
		path, header = "/v1/models", http.Header{"X-Api-Key": {key}, "Anthropic-Version": {"2023-06-01"}}
		at.RawQuery = strings.TrimPrefix(at.RawQuery+"&limit=1000", "&")
	}
	r := (&http.Request{Method: http.MethodGet, URL: at.JoinPath(path), Header: header}).WithContext(ctx)
	answer, err := (&http.Client{Transport: reason.Transport(nil)}).Do(r)
	if failed, ok := errors.AsType[*reason.Error](err); ok {
		if err = failed; failed.Status == http.StatusUnauthorized {
			err = fmt.Errorf("%w (the key is that of %s)", err, c.keyName())
		}
	}
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var list struct{ Data []struct{ ID string } }
	if json.NewDecoder(io.LimitReader(answer.Body, 4<<20)).Decode(&list) != nil || len(list.Data) == 0 {
		return nil // it has no list
	}
	if slices.ContainsFunc(list.Data, func(m struct{ ID string }) bool {
		return strings.TrimSuffix(m.ID, ":latest") == strings.TrimSuffix(c.Name, ":latest")
	}) {
		return nil
	}
	return fmt.Errorf("it has no model %s: it has %s and %d others", c.Name, list.Data[0].ID, len(list.Data)-1)
}

// planner is the reasoner of arc.yaml as it stands when it is asked; without one the objective is the task.
type planner struct{ app *app }

func (p *planner) llm() *reason.LLM {
	m := &metered{p.app, p.app.config.Load().Planner, "planner"}
	return &reason.LLM{Model: m, Instructions: p.app.brief(nil)}
}

func (p *planner) Decide(ctx context.Context, b *reason.Brief) (*reason.Decision, error) {
	return p.llm().Decide(ctx, b)
}

func (p *planner) Answer(ctx context.Context, b *reason.Brief, qs []string) (string, *reason.Usage, error) {
	return p.llm().Answer(ctx, b, qs)
}
