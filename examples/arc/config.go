package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
)

// config is arc.yaml.
type config struct {
	Name         string       `yaml:"name"`
	Scope        memory.Scope `yaml:"scope"`
	Model        string       `yaml:"model"`
	Knows        []string     `yaml:"knows"`
	Try          string       `yaml:"try"`
	FireAfter    int          `yaml:"fire_after"`
	Attempts     int          `yaml:"attempts"`
	ApproveFrom  radius       `yaml:"approve_from"`
	ApproveAbove float64      `yaml:"approve_above"`
	Budget       struct {
		Run  float64       `yaml:"run"`
		Day  float64       `yaml:"day"`
		Time time.Duration `yaml:"time"`
	} `yaml:"budget"`
	Workers []workerConfig `yaml:"workers"`
	Plans   []plan         `yaml:"plans"`
	World   []domain       `yaml:"world"`
	Goals   yaml.Node      `yaml:"goals"`
}

// workerConfig is a worker: a command, and the commands that check what it did.
type workerConfig struct {
	Name         string         `yaml:"name"`
	Does         string         `yaml:"does"`
	Run          []string       `yaml:"run"`
	Input        map[string]any `yaml:"input"`
	Gates        [][]string     `yaml:"gates"`
	Skills       []string       `yaml:"skills"`
	Effects      []effect       `yaml:"effects"`
	Blast        radius         `yaml:"blast"`
	Mode         string         `yaml:"mode"`
	Irreversible bool           `yaml:"irreversible"`
	Env          []string       `yaml:"env"`
	Creds        []string       `yaml:"creds"`
}

// effect is what a worker can change of the world.
type effect struct {
	Domain string `yaml:"domain"`
	Path   string `yaml:"path"`
}

// domain is a part of the world that a command reads: it prints JSON.
type domain struct {
	Name string   `yaml:"domain"`
	Run  []string `yaml:"run"`
}

// radius is an act.Blast by name.
type radius struct{ blast act.Blast }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *radius) UnmarshalText(text []byte) error {
	for b := act.Self; b <= act.Nowhere; b++ {
		if b.String() == string(text) {
			r.blast = b
			return nil
		}
	}
	return fmt.Errorf("%q is none of self, project, repo, fleet, public and nowhere", text)
}

// parseConfig reads arc.yaml, in which every field has to be known.
func parseConfig(text []byte) (*config, error) {
	c := &config{Name: "arc", Scope: "local"}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return nil, misuse("arc.yaml: %v", err)
	}
	for i := range c.Plans {
		p := &c.Plans[i]
		re, err := regexp.Compile("(?is)" + p.When)
		if err != nil {
			return nil, misuse("arc.yaml: plan %q: %v", p.Name, err)
		}
		p.when = re
	}
	return c, nil
}

// worker makes a worker of its configuration.
func (c *workerConfig) worker(a *app) (act.Worker, error) {
	w := act.Worker{
		Card: rank.Candidate{Name: c.Name, Prior: 0.5}, Executor: c.program(a, c.Run), Skills: c.Skills,
		Blast: c.Blast.blast, Irreversible: c.Irreversible,
	}
	for _, e := range c.Effects {
		w.Effects = append(w.Effects, reason.Effect{Domain: e.Domain, Path: e.Path})
	}
	for _, argv := range c.Gates {
		w.Gates = append(w.Gates, c.program(a, argv))
	}
	if len(c.Gates) == 0 {
		return w, misuse("arc.yaml: worker %q has no gates: nothing would check what it did", c.Name)
	}
	if c.Input != nil {
		schema, err := json.Marshal(c.Input)
		if err != nil {
			return w, misuse("arc.yaml: worker %q: %v", c.Name, err)
		}
		w.Input = schema
	}
	for m := act.Autonomous; m <= act.Compound; m++ {
		if m.String() == c.Mode || c.Mode == "" {
			w.Mode = m
			return w, nil
		}
	}
	return w, misuse("arc.yaml: worker %q: no mode is called %q", c.Name, c.Mode)
}

func (c *workerConfig) program(a *app, argv []string) *program {
	return &program{argv: argv, dir: a.dir, env: c.Env, creds: c.Creds}
}

// program is a command of arc.yaml, as an executor and as a gate: an act.Command that
// finds its plain inputs in the environment, too, as INPUT_NAME. It gets the variables and
// credentials that arc.yaml allows, and no others.
type program struct {
	argv  []string
	dir   string
	env   []string
	creds []string // as SERVICE/KEY, which becomes SERVICE_KEY
}

// Execute implements act.Executor.
func (p *program) Execute(ctx context.Context, w act.Work) (act.Result, error) {
	cmd, err := p.command(w.Task.Inputs)
	if err != nil {
		return act.Result{}, err
	}
	return cmd.Execute(ctx, w)
}

// Verify implements act.Gate.
func (p *program) Verify(ctx context.Context, w act.Work, r act.Result) (act.Verdict, error) {
	cmd, err := p.command(w.Task.Inputs)
	if err != nil {
		return act.Verdict{}, err
	}
	return cmd.Verify(ctx, w, r)
}

// inputName is what a variable may be called.
var inputName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (p *program) command(inputs json.RawMessage) (*act.Command, error) {
	cmd := &act.Command{Argv: p.argv, Dir: p.dir, Confidence: 0.8}
	for _, name := range append([]string{"PATH", "HOME", "USER", "LANG", "TMPDIR", "SYSTEMROOT"}, p.env...) {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	var fields map[string]any
	if len(inputs) > 0 && json.Unmarshal(inputs, &fields) == nil { // what is no object has no names
		for name, v := range fields {
			switch v.(type) {
			case string, float64, bool:
				if text := fmt.Sprint(v); inputName.MatchString(name) && !strings.ContainsRune(text, 0) {
					cmd.Env = append(cmd.Env, "INPUT_"+strings.ToUpper(name)+"="+text)
				}
			}
		}
	}
	slices.Sort(cmd.Env)
	return cmd, nil
}
