package main

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/contrib/notebook"
	"github.com/arc-learn/arc/internal/yaml"
	"github.com/arc-learn/arc/memory"
)

// config is arc.yaml.
type config struct {
	Scope    memory.Scope           `yaml:"scope"`
	Model    string                 `yaml:"model"`   // of workers that name none, and of all else
	Planner  string                 `yaml:"planner"` // the model that decides; "": the objective is the one task
	Models   map[string]modelConfig `yaml:"models"`
	Priority map[string]string      `yaml:"priority"` // "1-3": model; of workers that name none
	Workers  []workerConfig         `yaml:"workers"`
	Tools    []toolConfig           `yaml:"tools"`
	MCP      map[string]mcpConfig   `yaml:"mcp"`     // servers whose tools a worker has that lists the name
	Gates    [][]string             `yaml:"gates"`   // commands, of every worker
	Judge    string                 `yaml:"judge"`   // criteria by which the model judges what commands cannot
	Sources  []string               `yaml:"sources"` // "code", or a command that prints passages

	Holdout  float64       `yaml:"holdout"`
	Attempts int           `yaml:"attempts"`
	Timeout  time.Duration `yaml:"timeout"`
	Patience time.Duration `yaml:"patience"`
	Budget   arc.Budget    `yaml:"budget"`
	Daily    arc.Budget    `yaml:"daily"`

	Languages  []string        `yaml:"languages"`
	Embeddings *modelConfig    `yaml:"embeddings"`
	Worktree   *worktreeConfig `yaml:"worktree"`
}

type modelConfig struct {
	API   string         `yaml:"api"`  // "openai" or "anthropic"; "": by the name
	Name  string         `yaml:"name"` // "": that in arc.yaml
	URL   string         `yaml:"url"`
	Key   string         `yaml:"key"` // the variable, or the credential, that has it
	Words bool           `yaml:"words"`
	Extra map[string]any `yaml:"extra"`
	Price *struct {
		Input  float64 `yaml:"input"`
		Output float64 `yaml:"output"`
		Cached float64 `yaml:"cached"`
	} `yaml:"price"` // US dollars for a million tokens
}

type limits struct {
	Mode         level[act.Mode]    `yaml:"mode"`
	Blast        level[act.Blast]   `yaml:"blast"`
	Irreversible bool               `yaml:"irreversible"`
	AskAbove     map[string]float64 `yaml:"ask_above"`
	Secrets      []string           `yaml:"secrets"`
}

func (l *limits) put(w *act.Worker) {
	w.Mode, w.Blast, w.Irreversible = l.Mode.is, l.Blast.is, l.Irreversible
	w.AskAbove, w.Secrets = l.AskAbove, l.Secrets
}

type workerConfig struct {
	Name    string        `yaml:"name"`
	About   string        `yaml:"about"`
	Run     []string      `yaml:"run"`   // a script
	Agent   []string      `yaml:"agent"` // the command line of a coding agent
	Model   string        `yaml:"model"` // a model with tools; neither run, agent nor model: the model
	System  string        `yaml:"system"`
	Tools   []string      `yaml:"tools"` // names of tools; "files" and "shell" are built in
	Skills  []string      `yaml:"skills"`
	Gates   [][]string    `yaml:"gates"`
	Input   rawJSON       `yaml:"input"` // JSON Schema
	Price   float64       `yaml:"price"`
	Timeout time.Duration `yaml:"timeout"`
	ByName  bool          `yaml:"by_name"`
	limits  `yaml:",inline"`
}

type toolConfig struct {
	Name   string   `yaml:"name"`
	About  string   `yaml:"about"`
	Run    []string `yaml:"run"`
	Input  rawJSON  `yaml:"input"`
	limits `yaml:",inline"`
}

type mcpConfig struct {
	Run    []string `yaml:"run"` // a program, or
	URL    string   `yaml:"url"` // streamable HTTP
	limits `yaml:",inline"`
}

type worktreeConfig struct {
	Workers []string `yaml:"workers"`
	Guard   []string `yaml:"guard"`   // a command in the worktree; none: Go files must parse
	Health  []string `yaml:"health"`  // a command in the repository after a merge
	Restart []string `yaml:"restart"` // after a merge was reverted
}

// jsonTo returns what sets JSON by a flag.
func jsonTo(to *json.RawMessage) func(string) error {
	return func(s string) error {
		if *to = json.RawMessage(s); !json.Valid(*to) {
			return errors.New("it is no JSON")
		}
		return nil
	}
}

// rawJSON is JSON as YAML says it.
type rawJSON json.RawMessage

func (r *rawJSON) UnmarshalYAML(n *yaml.Node) error {
	var v any
	err := n.Decode(&v)
	if err == nil {
		*r, err = json.Marshal(v)
	}
	if err != nil {
		return fmt.Errorf("line %d: JSON cannot say it: %w", n.Line, err)
	}
	return nil
}

// level is an act.Mode or an act.Blast, by its name.
type level[T interface {
	~int
	String() string
}] struct{ is T }

func (l *level[T]) UnmarshalYAML(n *yaml.Node) error {
	for l.is = 0; l.is.String() != n.Value; l.is++ {
		if l.is > 9 {
			return fmt.Errorf("line %d: there is no %q", n.Line, n.Value)
		}
	}
	return nil
}

// loadConfig reads arc.yaml.
func loadConfig(dir string) (*config, error) {
	file := filepath.Join(dir, "arc.yaml")
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usage("no arc.yaml in %s: begin with arc init", dir)
	}
	if err != nil {
		return nil, err
	}
	c := &config{}
	if err := yaml.Decode(data, c); err != nil && !errors.Is(err, io.EOF) {
		const all = "arc.yaml: %s\nall that can stand in it is in the one that arc init writes in an empty folder"
		return nil, usage(all, golike.ReplaceAllString(err.Error(), ""))
	}
	if len(c.Workers) == 0 && c.Model != "" {
		c.Workers = []workerConfig{{Name: "agent", Tools: []string{"files", "shell"}}}
	}
	if err := c.check(); err != nil {
		return nil, usage("arc.yaml: %w", err)
	}
	return c, nil
}

var golike = regexp.MustCompile(`^yaml: |cannot unmarshal !!\w+ |( into| in type) \S+`) // of an error
var priorities = regexp.MustCompile(`^(\d+)(?:-(\d+))?$`)

// check returns all that is wrong, a line each.
func (c *config) check() error {
	var wrong []error
	flaw := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if len(c.Workers) == 0 {
		flaw("neither a model nor workers: add a line such as «model: gpt-5-mini»")
	}
	for _, w := range c.Workers {
		switch {
		case w.Name == "":
			flaw("a worker without a name")
		case len(w.Run) > 0 && len(w.Agent) > 0 || len(w.Run)+len(w.Agent) > 0 && w.Model != "":
			flaw("worker %s: it is one of run, agent and model", w.Name)
		case len(w.Run)+len(w.Agent) == 0 && w.Model+c.Model == "" && len(c.Priority) == 0:
			flaw("worker %s: it has neither run, agent nor model, and there is no model for all", w.Name)
		}
		for _, t := range w.Tools {
			named := func(o toolConfig) bool { return o.Name == t }
			if _, ok := c.MCP[t]; !ok && t != "files" && t != "shell" && !slices.ContainsFunc(c.Tools, named) {
				flaw("worker %s: no tool is called %s", w.Name, t)
			}
		}
	}
	unskilled := func(w workerConfig) bool { return len(w.Skills) == 0 }
	if c.Planner == "" && len(c.Workers) > 0 && !slices.ContainsFunc(c.Workers, unskilled) {
		flaw("every worker has skills, and no planner says which one a task needs: add «planner: MODEL»")
	}
	for name, m := range c.MCP {
		if (len(m.Run) > 0) == (m.URL != "") {
			flaw("mcp %s: it has either run or url", name)
		}
	}
	for _, t := range c.Tools {
		if len(t.Run) == 0 {
			flaw("tool %s: it has no run", t.Name)
		}
	}
	for span := range c.Priority {
		if m := priorities.FindStringSubmatch(span); m == nil {
			flaw("priority %q is no number from 1 to 10, nor two such as 1-3", span)
		}
	}
	for name, m := range c.Models {
		if !slices.Contains([]string{"", "openai", "anthropic"}, m.API) {
			flaw("model %s: api is openai or anthropic", name)
		}
	}
	if !(c.Holdout >= 0 && c.Holdout < 1) {
		flaw("holdout is a share from 0 to below 1")
	}
	return errors.Join(wrong...)
}

// route is the model for a priority; "": the model of all.
func (c *config) route(priority int) string {
	for _, span := range slices.Sorted(maps.Keys(c.Priority)) { // where spans overlap, always the same
		m := priorities.FindStringSubmatch(span)
		low, _ := strconv.Atoi(m[1])
		high, _ := strconv.Atoi(cmp.Or(m[2], m[1]))
		if priority >= low && priority <= high {
			return c.Priority[span]
		}
	}
	return ""
}

// model is what arc.yaml says of a model; a name that it does not have is the provider's.
func (c *config) model(name string) modelConfig {
	m := c.Models[name]
	m.Name = cmp.Or(m.Name, name)
	if m.API == "" && strings.HasPrefix(m.Name, "claude") {
		m.API = "anthropic"
	}
	m.API = cmp.Or(m.API, "openai")
	if m.URL == "" {
		m.Key = cmp.Or(m.Key, strings.ToUpper(m.API)+"_API_KEY")
		m.URL = "https://api.openai.com/v1"
		if m.API == "anthropic" {
			m.URL = "https://api.anthropic.com"
		}
	}
	return m
}

// keyName says whose the key is that an endpoint has refused.
func (m modelConfig) keyName() string {
	return cmp.Or(m.Key, "nobody: arc.yaml names none for "+m.Name)
}

// models are those that may be asked.
func (c *config) models() (out []modelConfig) {
	names := append(slices.Collect(maps.Values(c.Priority)), c.Model, c.Planner)
	for _, w := range c.Workers {
		names = append(names, w.Model)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name != "" {
			out = append(out, c.model(name))
		}
	}
	return out
}

// firstConfig is what arc init writes.
//
//go:embed first.yaml
var firstConfig string

func (c *command) begin(context.Context, *app, string) error {
	soul := "# Who I am\n\nI do what I am asked, say what I have done, and say so honestly where I could not.\n"
	for _, f := range [][2]string{{"arc.yaml", firstConfig}, {"SOUL.md", soul}, {".arc/.gitignore", "*\n"}} {
		file := filepath.Join(c.dir, filepath.FromSlash(f[0]))
		if _, err := os.Stat(file); err == nil {
			continue // it is the person's
		}
		if err := writeFile(file, f[1]); err != nil {
			return err
		}
		c.Print("wrote " + f[0])
	}
	c.Print("next: arc doctor")
	return nil
}

func (c *command) doctor(ctx context.Context, a *app, _ string) error {
	ill := 0
	check := func(what string, err error) {
		if err != nil {
			ill++
			c.Print(c.Paint(red, "✗ ") + what + ": " + err.Error())
			return
		}
		c.Print(c.Paint(green, "✓ ") + what)
	}
	warn := func(text string) { c.Print(c.Paint(yellow, "! ") + text) }
	cfg := a.config.Load()
	_, err := loadConfig(a.dir) // arc serve keeps the former of one that cannot be used
	check("arc.yaml, and the store in .arc", err)
	for _, m := range cfg.models() {
		check("model "+m.Name, a.ping(ctx, m))
		if m.Price == nil {
			warn("model " + m.Name + " has no price: its dollars are unknown unless it reports them")
		}
	}
	commands := func(what string, argvs ...[]string) {
		for _, argv := range slices.DeleteFunc(slices.Clone(argvs), func(v []string) bool { return len(v) == 0 }) {
			file := argv[0]
			if strings.Contains(file, "/") && !filepath.IsAbs(file) { // it is the folder's
				file = a.path(file)
			}
			_, err := exec.LookPath(file)
			if errors.Is(err, exec.ErrNotFound) {
				err = fmt.Errorf("%w (PATH is %s)", err, os.Getenv("PATH"))
			}
			check(what+": "+argv[0], err)
		}
	}
	commands("gate", cfg.Gates...)
	for _, w := range cfg.Workers {
		commands("worker "+w.Name, append(w.Gates, w.Run, w.Agent)...)
		if len(cfg.Gates)+len(w.Gates) == 0 && cfg.Judge == "" {
			warn("nothing checks worker " + w.Name + ": what it says is done counts as delivered, until arc judge")
		}
	}
	for name, m := range cfg.MCP {
		_, err := a.server(name, m).Tools(ctx)
		check("mcp "+name, err)
	}
	for _, t := range cfg.Tools {
		commands("tool "+t.Name, t.Run)
	}
	_, err = c.skills()
	check("skills", err)
	for _, f := range []string{"SOUL.md", filepath.Join("memory", "MEMORY.md")} {
		if _, err := notebook.Read(a.path(f)); !errors.Is(err, fs.ErrNotExist) {
			check(f, err)
		}
	}
	if ill > 0 {
		return exit(exitFailed)
	}
	c.Print(`all is there: arc do "…"`)
	return nil
}
