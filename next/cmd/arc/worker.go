package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/arc-learn/arc/next/act"
	"github.com/arc-learn/arc/next/act/tools"
	"github.com/arc-learn/arc/next/contrib/mcp"
	"github.com/arc-learn/arc/next/contrib/worktree"
	"github.com/arc-learn/arc/next/reason"
)

// workers makes those of arc.yaml, which was checked.
func (a *app) workers(c *config) (out []act.Worker, err error) {
	for _, w := range c.Workers {
		mode, blast, _ := w.levels()
		worker := act.Worker{
			Name: w.Name, Description: w.About, Skills: w.Skills, ByName: w.ByName, Input: w.Input.raw(), Timeout: w.Timeout,
			Price: w.Price, Mode: mode, Blast: blast, Irreversible: w.Irreversible, AskAbove: w.AskAbove, Secrets: w.Secrets,
		}
		for _, argv := range slices.Concat(c.Gates, w.Gates) {
			worker.Gates = append(worker.Gates, &gate{a, argv})
		}
		if c.Judge != "" {
			worker.Gates = append(worker.Gates, act.Judge(&metered{a, c.Model}, c.Judge))
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
			ts, m := a.tools(c, w.Tools), &metered{a, w.Model}
			worker.Executor = act.ExecutorFunc(func(ctx context.Context, call *act.Call) (*act.Result, error) {
				all := slices.Clone(ts)
				for _, name := range w.Tools {
					if server, ok := c.MCP[name]; ok {
						more, err := a.server(name, server).Tools(ctx)
						if err != nil {
							return nil, fmt.Errorf("mcp %s: %w", name, err)
						}
						all = append(all, more...)
					}
				}
				return tools.New(m, &tools.Options{System: a.orders(call, w.System)}, all...).Execute(ctx, call)
			})
		}
		out = append(out, worker)
	}
	return out, nil
}

// place is where an attempt works: in its worktree, or in the folder.
func (a *app) place(ctx context.Context) string { return cmp.Or(worktree.Dir(ctx), a.dir) }

// argv is a command line whose program is looked for where the attempt works, if it is given by a path.
func (a *app) argv(ctx context.Context, argv []string) []string {
	if strings.Contains(argv[0], "/") && !filepath.IsAbs(argv[0]) {
		return append([]string{filepath.Join(a.place(ctx), argv[0])}, argv[1:]...)
	}
	return argv
}

// command is a program that gets the task, and as a gate the result, as JSON.
func (a *app) command(ctx context.Context, env, argv []string) interface {
	act.Executor
	act.Gate
} {
	return act.Command(a.place(ctx), env, a.argv(ctx, argv)...)
}

// environ is the environment of what is started: that of this process without the keys of models and the password of
// the credentials. Who needs one lists it under secrets.
func (a *app) environ(own ...string) []string {
	keys := []string{"ARC_CREDS_PASSWORD"}
	c := a.config.Load()
	for _, name := range c.models() {
		keys = append(keys, c.model(name).Key)
	}
	return append(slices.DeleteFunc(os.Environ(), func(v string) bool {
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

// orders is what a model or a coding agent is told besides the task.
func (a *app) orders(c *act.Call, system string) string {
	var data struct{ Skills []string }
	_ = json.Unmarshal(c.Data, &data) // of another form: no skills
	if c.Task.Skill != "" {
		data.Skills = append(data.Skills, c.Task.Skill)
	}
	return strings.TrimSpace(strings.TrimSpace(system+"\n\n"+a.brief(data.Skills)) + "\n\n" + c.Agent)
}

// coder is a coding agent: its command gets the orders and the task as JSON, and prints its answer. What it took is
// read from an answer as claude -p --output-format json prints it.
func (a *app) coder(w workerConfig) act.Executor {
	return act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
		asked := *c
		asked.Task.Objective = strings.TrimSpace(a.orders(c, w.System) + "\n\n" + c.Task.Objective)
		env := append(os.Environ(), "ARC_DIR="+a.dir, "ARC_TASK="+taskOf(c.Run)) // it has its own keys
		r, err := a.command(ctx, env, w.Agent).Execute(ctx, &asked)
		if err != nil {
			return r, err
		}
		var answer struct {
			Type    string   `json:"type"`
			Result  string   `json:"result"`
			IsError bool     `json:"is_error"`
			Cost    *float64 `json:"total_cost_usd"`
			Usage   struct {
				Input  int `json:"input_tokens"`
				Cached int `json:"cache_read_input_tokens"`
				New    int `json:"cache_creation_input_tokens"`
				Output int `json:"output_tokens"`
			} `json:"usage"`
		}
		if json.Unmarshal(r.Output, &answer) == nil && answer.Type == "result" {
			u := answer.Usage
			r.Usage = &reason.Usage{Calls: 1, Input: u.Input + u.Cached + u.New, Output: u.Output, Cached: u.Cached, CostUSD: answer.Cost}
			r.Text = answer.Result
			if r.Output, err = json.Marshal(answer.Result); err == nil && answer.IsError {
				err = &reason.Error{Usage: r.Usage, Err: errors.New(answer.Result)}
			}
		}
		a.spend(ctx, w.Agent[0], w.Name, r.Usage)
		return r, err
	})
}

// taskOf is the task that a run is for; "": none.
func taskOf(run string) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(topic(run), "job/"), "/")
	if id == run {
		return ""
	}
	return id
}

// server is an MCP server, which is started at its first use and ends with the app.
func (a *app) server(name string, s mcpConfig) *mcp.Client {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := fmt.Sprint(name, s)
	if a.servers[key] == nil {
		mode, blast, _ := s.levels()
		o := &mcp.ClientOptions{Logger: a.log, Tool: func(_ mcp.Hints, t *tools.Tool) bool {
			t.Mode, t.Blast, t.Irreversible, t.AskAbove, t.Secrets = mode, blast, s.Irreversible, s.AskAbove, s.Secrets
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

// tools are those of a worker, but for those of MCP servers.
func (a *app) tools(c *config, names []string) (out []tools.Tool) {
	for _, name := range names {
		switch name {
		case "files":
			out = append(out, a.fileTools()...)
			continue
		case "shell":
			t := tools.Func("shell", "Runs a command line with sh, in the working folder.", func(ctx context.Context, in struct {
				Command string `json:"command"`
			}) (json.RawMessage, error) {
				return a.output(ctx, a.place(ctx), nil, nil, "sh", "-c", in.Command)
			})
			t.Mode = act.Gated // a person says yes to each
			out = append(out, t)
			continue
		}
		i := slices.IndexFunc(c.Tools, func(t toolConfig) bool { return t.Name == name })
		if i < 0 {
			continue // an MCP server's
		}
		t := c.Tools[i]
		mode, blast, _ := t.levels()
		out = append(out, tools.Tool{
			Name: t.Name, Description: t.About, Input: t.Input.raw(), Mode: mode, Blast: blast, Irreversible: t.Irreversible,
			AskAbove: t.AskAbove, Secrets: t.Secrets,
			Call: func(ctx context.Context, inputs json.RawMessage) (json.RawMessage, error) {
				var own []string
				for _, s := range t.Secrets {
					own = append(own, s+"="+act.Secret(ctx, s))
				}
				return a.output(ctx, a.place(ctx), own, inputs, a.argv(ctx, t.Run)...)
			},
		})
	}
	return out
}

// output runs a program and returns what it printed, as JSON: a string where it is none. What it says on its error
// output is noted, and stands in the error.
func (a *app) output(ctx context.Context, dir string, env []string, stdin []byte, argv ...string) (json.RawMessage, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = dir, a.environ(env...), bytes.NewReader(stdin), time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	for line := range strings.Lines(errs.String()) {
		act.Note(ctx, act.Event{Kind: "output", Name: argv[0], Text: strings.TrimRight(line, "\n")})
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", argv[0], err, strings.TrimSpace(errs.String()+"\n"+out.String()))
	}
	if text := bytes.TrimSpace(out.Bytes()); json.Valid(text) {
		return text, nil
	}
	return json.Marshal(strings.ToValidUTF8(out.String(), "\uFFFD"))
}

// text is the output of a program in words.
func (a *app) text(ctx context.Context, dir string, stdin []byte, argv ...string) (text string, err error) {
	raw, err := a.output(ctx, dir, nil, stdin, argv...)
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	return text, err
}

// fileTools are for text files of the folder; nothing outside it is read or written.
func (a *app) fileTools() []tools.Tool {
	type file struct {
		Path string `json:"path,omitempty"`
		Text string `json:"text,omitempty"`
	}
	tool := func(name, about string, f func(r *os.Root, in file) (string, error)) tools.Tool {
		return tools.Func(name, about, func(ctx context.Context, in file) (string, error) {
			root, err := os.OpenRoot(a.place(ctx))
			if err != nil {
				return "", err
			}
			defer root.Close()
			return f(root, in)
		})
	}
	return []tools.Tool{
		tool("list_files", "Lists a folder; without a path the working one.", func(r *os.Root, in file) (string, error) {
			entries, err := fs.ReadDir(r.FS(), cmp.Or(in.Path, "."))
			var b strings.Builder
			for _, e := range entries {
				b.WriteString(e.Name() + map[bool]string{true: "/"}[e.IsDir()] + "\n")
			}
			return b.String(), err
		}),
		tool("read_file", "Reads a text file.", func(r *os.Root, in file) (string, error) {
			data, err := r.ReadFile(in.Path)
			if err == nil && !utf8.Valid(data) {
				err = fmt.Errorf("%s is no text in UTF-8", in.Path)
			}
			return string(data), err
		}),
		tool("write_file", "Writes a text file, whole.", func(r *os.Root, in file) (string, error) {
			top, _, _ := strings.Cut(filepath.ToSlash(filepath.Clean(in.Path)), "/")
			if slices.Contains([]string{"arc.yaml", "SOUL.md", ".arc", ".git"}, top) {
				return "", fmt.Errorf("%s is the person's", in.Path)
			}
			err := r.MkdirAll(filepath.Dir(in.Path), 0o777)
			if err == nil {
				err = r.WriteFile(in.Path, []byte(in.Text), 0o666)
			}
			return "written", err
		}),
	}
}

// around has the calls of an attempt know whose they are.
func (a *app) around(ctx context.Context, c *act.Call, next func(context.Context) act.Attempt) act.Attempt {
	e := errandOf(ctx)
	e.run, e.worker = c.Run, c.Worker.Name
	return next(e.in(ctx))
}

// worktrees has the workers that arc.yaml names edit in worktrees of the repository.
func (a *app) worktrees(ctx context.Context, w *worktreeConfig) (act.Around, error) {
	command := func(argv []string) func(context.Context, string) error {
		if len(argv) == 0 {
			return nil
		}
		return func(ctx context.Context, dir string) error {
			_, err := a.output(ctx, dir, nil, nil, argv...)
			return err
		}
	}
	o := &worktree.Options{
		Only:  func(c *act.Call) bool { return len(w.Workers) == 0 || slices.Contains(w.Workers, c.Worker.Name) },
		Guard: worktree.GoSyntax, Health: command(w.Health),
	}
	if len(w.Guard) > 0 {
		o.Guard = command(w.Guard)
	}
	if restart := command(w.Restart); restart != nil {
		o.Restart = func(ctx context.Context) error { return restart(ctx, a.dir) }
	}
	return worktree.New(ctx, a.dir, o)
}

// source tells the planner what arc.yaml names: what a command prints, or, of «code», the files of the repository that
// most of the objective's words stand in.
func (a *app) source(ctx context.Context, objective string, tokens int) (out []string, err error) {
	for _, name := range a.config.Load().Sources {
		if name != "code" {
			text, err := a.text(ctx, a.dir, []byte(objective), a.argv(ctx, strings.Fields(name))...)
			if err != nil {
				return out, err
			}
			out = append(out, name+"\n"+text[:min(len(text), 3*tokens)])
			continue
		}
		hits := map[string]int{}
		for _, w := range slices.Compact(slices.Sorted(strings.FieldsSeq(strings.ToLower(objective)))) {
			if w = strings.Trim(w, ".,:;!?()\"'`"); len(w) > 3 { // grep has the exit code 1 where it finds nothing
				files, _ := a.text(ctx, a.dir, nil, "git", "grep", "-liFI", "-e", w)
				for f := range strings.Lines(files) {
					hits[strings.TrimSpace(f)]++
				}
			}
		}
		files := slices.SortedFunc(maps.Keys(hits), func(x, y string) int { return cmp.Or(hits[y]-hits[x], strings.Compare(x, y)) })
		for _, f := range files[:min(len(files), 5)] {
			if text, err := readText(a.path(f)); err == nil {
				out = append(out, f+"\n"+strings.ToValidUTF8(text[:min(len(text), 3*tokens/5)], ""))
			}
		}
	}
	return out, nil
}

// approve asks who follows a run on a terminal. Nobody, or no clear answer: the run waits.
func (a *app) approve(ctx context.Context, p act.Approval) (act.Ruling, error) {
	s := a.follower(p.Run)
	if s == nil {
		return act.Ruling{}, nil
	}
	s.say(s.paint(yellow, "? ") + s.paint(bold, p.Name) + " " + cut(string(p.Inputs), 4*s.Width) + "\n  " + strings.Join(p.Why, "; "))
	for _, done := range p.Done {
		s.say("  done so far: " + done)
	}
	for {
		answer, err := s.question(ctx, "  allow it? [yes/no] ")
		if err != nil {
			return act.Ruling{}, nil
		}
		if allow, ok := act.ParseRuling(answer); ok {
			return act.Ruling{Approval: p.ID, Allow: allow, By: s.Person}, nil
		}
		s.say("  yes, or no; Ctrl-C leaves the run waiting")
	}
}
