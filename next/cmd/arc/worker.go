package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	arc "github.com/arc-learn/arc/next"
	"github.com/arc-learn/arc/next/act"
	"github.com/arc-learn/arc/next/act/tools"
	"github.com/arc-learn/arc/next/contrib/worktree"
	"github.com/arc-learn/arc/next/reason"
)

// workers makes those of arc.yaml.
func (a *app) workers(c *config) ([]act.Worker, error) {
	var out []act.Worker
	for _, w := range c.Workers {
		mode, blast, _ := w.levels() // checked
		input, err := rawSchema(w.Input)
		if err != nil {
			return nil, fmt.Errorf("worker %s: input: %w", w.Name, err)
		}
		worker := act.Worker{
			Name: w.Name, Description: w.About, Skills: w.Skills, ByName: w.ByName, Input: input, Timeout: w.Timeout,
			Price: w.Price, Mode: mode, Blast: blast, Irreversible: w.Irreversible, AskAbove: w.AskAbove, Secrets: w.Secrets,
		}
		for _, argv := range append(slices.Clone(c.Gates), w.Gates...) {
			worker.Gates = append(worker.Gates, &gate{a, argv})
		}
		if c.Judge != "" {
			worker.Gates = append(worker.Gates, act.Judge(&metered{a, func(c *config) string { return c.Model }}, c.Judge))
		}
		if len(worker.Gates) == 0 {
			worker.Gates = []act.Gate{act.NoGate}
		}
		switch {
		case len(w.Run) > 0:
			worker.Executor = a.script(w.Run)
		case len(w.Agent) > 0:
			worker.Executor = a.coder(w.Name, w.Agent)
		default:
			ts, err := a.tools(c, w.Tools)
			if err != nil {
				return nil, fmt.Errorf("worker %s: %w", w.Name, err)
			}
			worker.Executor = a.thinker(w, ts)
		}
		out = append(out, worker)
	}
	return out, nil
}

func rawSchema(schema map[string]any) (json.RawMessage, error) {
	if schema == nil {
		return nil, nil
	}
	return json.Marshal(schema)
}

// place is where an attempt works: in its worktree, or in the folder.
func (a *app) place(ctx context.Context) string { return cmp.Or(worktree.Dir(ctx), a.dir) }

// environ is the environment of what is started: that of this process without the keys of models and the password of
// the credentials. A worker lists those that it needs.
func (a *app) environ(own ...string) []string {
	keys := []string{"ARC_CREDS_PASSWORD"}
	c := a.config.Load()
	for _, name := range c.models() {
		keys = append(keys, c.model(name).Key)
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(keys, name)
	})
	return append(append(env, "ARC_DIR="+a.dir), own...)
}

// script is a program that gets the task as JSON.
func (a *app) script(argv []string) act.Executor {
	return act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
		env := a.environ("ARC_TASK=" + taskOf(c))
		return act.Command(a.place(ctx), env, a.program(ctx, argv)...).Execute(ctx, c)
	})
}

// program is a command line whose program is looked for in the folder, too.
func (a *app) program(ctx context.Context, argv []string) []string {
	if strings.Contains(argv[0], "/") && !filepath.IsAbs(argv[0]) {
		return append([]string{filepath.Join(a.place(ctx), argv[0])}, argv[1:]...)
	}
	return argv
}

// gate is a command that decides.
type gate struct {
	app  *app
	argv []string
}

// String is the gate's name.
func (g *gate) String() string { return strings.Join(g.argv, " ") }

func (g *gate) Verify(ctx context.Context, c *act.Call, r *act.Result) (act.Verdict, error) {
	return act.Command(g.app.place(ctx), g.app.environ(), g.app.program(ctx, g.argv)...).Verify(ctx, c, r)
}

// orders is what a model or a coding agent is told besides the task.
func (a *app) orders(c *act.Call, system string) string {
	var data struct{ Skills []string }
	_ = json.Unmarshal(c.Data, &data) // of another form: no skills
	if c.Task.Skill != "" {
		data.Skills = append(data.Skills, c.Task.Skill)
	}
	text := strings.TrimSpace(system + "\n\n" + a.brief(data.Skills))
	if c.Agent != "" {
		text += "\n\n" + c.Agent
	}
	return text
}

// thinker is a model with tools.
func (a *app) thinker(w workerConfig, ts []tools.Tool) act.Executor {
	m := &metered{a, func(*config) string { return w.Model }}
	return act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
		return tools.New(m, &tools.Options{System: a.orders(c, w.System)}, ts...).Execute(ctx, c)
	})
}

// coder is a coding agent: its command gets the orders and the task as JSON, and prints its answer. What it took is
// read from an answer as claude -p --output-format json prints it.
func (a *app) coder(name string, argv []string) act.Executor {
	return act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
		asked := *c
		asked.Task.Objective = strings.TrimSpace(a.orders(c, "") + "\n\n" + c.Task.Objective)
		command := act.Command(a.place(ctx), append(os.Environ(), "ARC_DIR="+a.dir, "ARC_TASK="+taskOf(c)), a.program(ctx, argv)...)
		r, err := command.Execute(ctx, &asked)
		if err != nil {
			return r, err
		}
		var answer struct {
			Type    string   `json:"type"`
			Result  string   `json:"result"`
			IsError bool     `json:"is_error"`
			Cost    *float64 `json:"total_cost_usd"`
			Usage   *struct {
				Input  int `json:"input_tokens"`
				Cached int `json:"cache_read_input_tokens"`
				New    int `json:"cache_creation_input_tokens"`
				Output int `json:"output_tokens"`
			} `json:"usage"`
		}
		if json.Unmarshal(r.Output, &answer) != nil || answer.Type != "result" {
			a.spend(ctx, argv[0], name, nil)
			return r, nil
		}
		r.Usage = &reason.Usage{Calls: 1, CostUSD: answer.Cost}
		if u := answer.Usage; u != nil {
			r.Usage.Input, r.Usage.Output, r.Usage.Cached = u.Input+u.Cached+u.New, u.Output, u.Cached
		}
		a.spend(ctx, argv[0], name, r.Usage)
		r.Text = answer.Result
		if r.Output, err = json.Marshal(answer.Result); err == nil && answer.IsError {
			err = &reason.Error{Usage: r.Usage, Err: errors.New(answer.Result)}
		}
		return r, err
	})
}

// taskOf is the task that a run is for.
func taskOf(c *act.Call) string {
	if rest, ok := strings.CutPrefix(c.Run, "job/"); ok {
		id, _, _ := strings.Cut(rest, "/")
		return id
	}
	return ""
}

// tools are those of a worker.
func (a *app) tools(c *config, names []string) (out []tools.Tool, err error) {
	for _, name := range names {
		switch name {
		case "files":
			out = append(out, a.fileTools()...)
			continue
		case "shell":
			out = append(out, a.shellTool())
			continue
		}
		t := c.Tools[slices.IndexFunc(c.Tools, func(t toolConfig) bool { return t.Name == name })] // checked
		mode, blast, _ := t.levels()
		input, err := rawSchema(t.Input)
		if err != nil {
			return nil, fmt.Errorf("tool %s: input: %w", name, err)
		}
		out = append(out, tools.Tool{
			Name: t.Name, Description: t.About, Input: input, Mode: mode, Blast: blast, Irreversible: t.Irreversible,
			AskAbove: t.AskAbove, Secrets: t.Secrets,
			Call: func(ctx context.Context, inputs json.RawMessage) (json.RawMessage, error) {
				var own []string
				for _, s := range t.Secrets {
					own = append(own, s+"="+act.Secret(ctx, s))
				}
				return a.shell(ctx, a.program(ctx, t.Run), own, inputs)
			},
		})
	}
	return out, nil
}

// shell runs a command with something on its standard input, and returns what it printed.
func (a *app) shell(ctx context.Context, argv, env []string, stdin []byte) (json.RawMessage, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = a.place(ctx), a.environ(env...), bytes.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	for line := range strings.Lines(errs.String()) {
		act.Note(ctx, act.Event{Kind: "output", Name: argv[0], Text: strings.TrimRight(line, "\n")})
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(errs.String()+"\n"+out.String()))
	}
	if text := bytes.TrimSpace(out.Bytes()); json.Valid(text) {
		return text, nil
	}
	return json.Marshal(strings.ToValidUTF8(out.String(), "\uFFFD"))
}

// fileTools are for text files of the folder; nothing outside it is read or written.
func (a *app) fileTools() []tools.Tool {
	type path struct {
		Path string `json:"path"`
	}
	type file struct {
		Path string `json:"path"`
		Text string `json:"text"`
	}
	in := func(ctx context.Context, f func(*os.Root) (string, error)) (string, error) {
		root, err := os.OpenRoot(a.place(ctx))
		if err != nil {
			return "", err
		}
		defer root.Close()
		return f(root)
	}
	return []tools.Tool{
		tools.Func("list_files", "Lists a folder, by default the working one.", func(ctx context.Context, p struct {
			Path string `json:"path,omitempty"`
		}) (string, error) {
			return in(ctx, func(r *os.Root) (string, error) {
				entries, err := fs.ReadDir(r.FS(), cmp.Or(p.Path, "."))
				var b strings.Builder
				for _, e := range entries {
					if e.Name() == ".arc" || e.Name() == ".git" {
						continue
					}
					b.WriteString(e.Name() + map[bool]string{true: "/"}[e.IsDir()] + "\n")
				}
				return b.String(), err
			})
		}),
		tools.Func("read_file", "Reads a text file.", func(ctx context.Context, p path) (string, error) {
			return in(ctx, func(r *os.Root) (string, error) {
				data, err := r.ReadFile(p.Path)
				if err == nil && !utf8.Valid(data) {
					err = fmt.Errorf("%s is no text in UTF-8", p.Path)
				}
				return string(data), err
			})
		}),
		tools.Func("write_file", "Writes a text file, whole.", func(ctx context.Context, f file) (string, error) {
			if p := filepath.ToSlash(filepath.Clean(f.Path)); p == "arc.yaml" || p == "SOUL.md" || strings.HasPrefix(p, ".arc") {
				return "", fmt.Errorf("%s is the person's", f.Path)
			}
			return in(ctx, func(r *os.Root) (string, error) {
				if err := r.MkdirAll(filepath.Dir(f.Path), 0o777); err != nil {
					return "", err
				}
				return fmt.Sprintf("%d bytes are written", len(f.Text)), r.WriteFile(f.Path, []byte(f.Text), 0o666)
			})
		}),
	}
}

// shellTool runs commands once a person has said yes.
func (a *app) shellTool() tools.Tool {
	t := tools.Func("shell", "Runs a command line with sh, in the working folder.", func(ctx context.Context, in struct {
		Command string `json:"command"`
	}) (json.RawMessage, error) {
		return a.shell(ctx, []string{"sh", "-c", in.Command}, nil, nil)
	})
	t.Mode = act.Gated
	return t
}

// around has the calls of an attempt know whose they are.
func (a *app) around(ctx context.Context, c *act.Call, next func(context.Context) act.Attempt) act.Attempt {
	e := errandOf(ctx)
	e.run, e.worker = c.Run, c.Worker.Name
	return next(e.in(ctx))
}

// worktrees has the workers that arc.yaml names edit in worktrees of the repository.
func (a *app) worktrees(ctx context.Context, c *config) (act.Around, error) {
	w := c.Worktree
	command := func(argv []string) func(context.Context, string) error {
		return func(ctx context.Context, dir string) error {
			cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
			cmd.Dir, cmd.Env = dir, a.environ()
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, bytes.TrimSpace(out))
			}
			return nil
		}
	}
	o := &worktree.Options{Guard: worktree.GoSyntax}
	o.Only = func(c *act.Call) bool {
		return len(w.Workers) == 0 || slices.Contains(w.Workers, c.Worker.Name)
	}
	if len(w.Guard) > 0 {
		o.Guard = command(w.Guard)
	}
	if len(w.Health) > 0 {
		o.Health = command(w.Health)
	}
	if len(w.Restart) > 0 {
		o.Restart = func(ctx context.Context) error { return command(w.Restart)(ctx, a.dir) }
	}
	return worktree.New(ctx, a.dir, o)
}

// source tells a planner what arc.yaml names: files of the folder that share words with the objective, or what a
// command prints.
func (a *app) source(ctx context.Context, objective string, tokens int) (out []string, err error) {
	for _, name := range a.config.Load().Sources {
		if name == "code" {
			passages, err := a.code(ctx, objective, tokens)
			if err != nil {
				return out, err
			}
			out = append(out, passages...)
			continue
		}
		raw, err := a.shell(ctx, a.program(ctx, strings.Fields(name)), nil, []byte(objective))
		if err != nil {
			return out, err
		}
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		out = append(out, name+"\n"+text[:min(len(text), 3*tokens)])
	}
	return out, nil
}

// code are the beginnings of the files that git knows and that the objective's words stand in, the most words first.
func (a *app) code(ctx context.Context, objective string, tokens int) ([]string, error) {
	words := strings.FieldsFunc(strings.ToLower(objective), func(r rune) bool { return strings.ContainsRune(" \n\t.,:;!?()\"'`", r) })
	hits := map[string]int{}
	for _, w := range slices.Compact(words) {
		if len(w) < 4 {
			continue
		}
		cmd := exec.CommandContext(ctx, "git", "grep", "-liFI", "--max-count=1", "-e", w)
		cmd.Dir = a.place(ctx)
		out, err := cmd.Output()
		if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) {
			return nil, fmt.Errorf("source code: git grep: %w", err)
		}
		for file := range strings.Lines(string(out)) {
			hits[strings.TrimSpace(file)]++
		}
	}
	files := make([]string, 0, len(hits))
	for f := range hits {
		files = append(files, f)
	}
	slices.SortFunc(files, func(x, y string) int { return cmp.Or(hits[y]-hits[x], strings.Compare(x, y)) })
	var out []string
	for _, f := range files[:min(len(files), 5)] {
		data, err := os.ReadFile(filepath.Join(a.place(ctx), f))
		if err != nil || !utf8.Valid(data) {
			continue
		}
		out = append(out, f+"\n"+strings.ToValidUTF8(string(data[:min(len(data), 3*tokens/5)]), ""))
	}
	return out, nil
}

// approve asks who follows a run on a terminal. Nobody: the run waits.
func (a *app) approve(ctx context.Context, p act.Approval) (act.Ruling, error) {
	s := a.follower(p.Run)
	if s == nil || s.ask == nil {
		return act.Ruling{}, nil
	}
	s.still()
	s.say(s.paint(yellow, "? ") + s.paint(bold, p.Name) + " " + cut(string(p.Inputs), 4*s.width))
	s.say("  " + strings.Join(p.Why, "; "))
	for _, done := range p.Done {
		s.say("  done so far: " + done)
	}
	for {
		answer, err := s.question(ctx, "  allow it? [yes/no] ")
		if err != nil {
			return act.Ruling{}, nil // the run waits
		}
		if allow, ok := act.ParseRuling(answer); ok {
			return act.Ruling{Approval: p.ID, Allow: allow, By: s.person}, nil
		}
		s.say("  yes, or no; Ctrl-C leaves the run waiting")
	}
}

var _ = arc.Host{}
