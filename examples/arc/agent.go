package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	anthropicsdk "github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	openaisdk "github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"go.yaml.in/yaml/v3"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/contrib/anthropic"
	"github.com/arc-learn/arc/contrib/ollama"
	"github.com/arc-learn/arc/contrib/openai"
	"github.com/arc-learn/arc/internal/strictyaml"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/reason/model"
	"github.com/arc-learn/arc/redact"
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
	event  func(arc.Event)   // of runs
	creds  map[string]string // that commands may read
	redact *redact.Sanitizer // knows them
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
		return unwritable(err)
	}
	c := a.config
	a.redact = new(redact.Sanitizer).Knowing(slices.Collect(maps.Values(a.creds))...)
	replans, pivot := 0, arc.PivotFlag // plans of arc.yaml are the same if they are asked for again
	if c.Model != "" {
		replans, pivot = 1, arc.PivotAuto
	}
	a.agent, err = arc.New(a.ctx, a.store, host, &arc.Options{
		Scope: c.Scope, Name: c.Name, Attempts: c.Attempts, Replans: replans, Pivot: pivot,
		Attended: a.person && c.Model != "",
		Patience: patience, Sanitizer: a.redact,
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

// unwritable is the error of a store that this process may not write to, with what to do.
func unwritable(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("%w\n  what only looks locks the store, too: copy the folder, at rest, to where you may write", err)
	}
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
	if a.creds, err = a.allowed(); err != nil {
		return arc.Host{}, err
	}
	if h.Reasoner, err = c.reasoner(a.dir, skills, a.apiKey); err != nil {
		return arc.Host{}, err
	}
	for i := range c.Workers {
		w, err := c.Workers[i].worker(a.dir, a.creds)
		if err != nil {
			return arc.Host{}, err
		}
		h.Workers = append(h.Workers, w)
	}
	if len(h.Workers) == 0 {
		return arc.Host{}, misuse("arc.yaml has no workers, so nothing can be done")
	}
	knows := []reason.Source{a.memoryFile}
	for _, name := range c.Knows {
		switch name {
		case "code":
			knows = append(knows, reason.NewCodebase(os.DirFS(a.dir)))
		case "documents":
			knows = append(knows, volatile(reason.NewDocuments(os.DirFS(a.dir))))
		default:
			return arc.Host{}, misuse("arc.yaml: knows has code and documents, not %q", name)
		}
	}
	if c.Model != "" { // plans of arc.yaml listen to none
		h.Sources = knows
	}
	return h, nil
}

// volatile is a source of what the work itself changes: no chunk waits for it.
func volatile(s reason.Source) reason.Source {
	return func(ctx context.Context, objective string, tokens int) ([]reason.Passage, error) {
		ps, err := s(ctx, objective, tokens)
		for i := range ps {
			ps[i].Volatile = true
		}
		return ps, err
	}
}

// memoryFile is a source: what MEMORY.md says. What a person writes there is a Fact as well, which
// keeps chunks from firing; what the agent learns is to keep none.
func (a *app) memoryFile(context.Context, string, int) ([]reason.Passage, error) {
	text, err := os.ReadFile(a.path("MEMORY.md"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return []reason.Passage{{Name: "MEMORY.md", Text: string(text), Volatile: true}}, nil
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
	return queue.Open(
		a.ctx, a.store, &queue.Options{
			Scope: a.config.Scope, Alone: true, LeaseTTL: lease, Templates: templates, Sanitizer: a.redact,
		},
	)
}

// syncNotebook brings MEMORY.md and memory together, and commits the file. What was
// forgotten by a person's word leaves it.
func (a *app) syncNotebook(learned []memory.ID, forgotten ...memory.ID) (noted, error) {
	n := a.notebook()
	n.forgotten = forgotten
	done, err := n.sync(a.ctx, learned)
	if err == nil && (done.Changed || done.Read > 0) {
		done.Committed, err = commitFile(a.ctx, a.dir, notebookRef, "docs(memory): "+done.String())
	}
	return done, err
}

// notebook is MEMORY.md.
func (a *app) notebook() *notebook {
	return &notebook{
		file: a.path(notebookRef), base: a.path(".arc", "notebook.json"),
		space: a.agent.In(a.config.Scope).Memory(), swap: swapFile,
	}
}

// inNotebook reports whether a record is a line of MEMORY.md.
func inNotebook(r memory.Record) bool { return r.Source.Ref == notebookRef }

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

// config is arc.yaml.
type config struct {
	Name         string       `yaml:"name"`
	Scope        memory.Scope `yaml:"scope"`
	Model        string       `yaml:"model"`
	Price        *price       `yaml:"price"`
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
	Sensors []sensorConfig `yaml:"sensors"`
	World   []domain       `yaml:"world"`
	Goals   yaml.Node      `yaml:"goals"`
	goals   goal.Goals     // of Goals
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
	Creds        []string       `yaml:"creds"` // SERVICE/KEY, in the environment as SERVICE_KEY
}

// price is what the model's tokens cost, in US dollars for a million of them.
type price struct {
	In         float64 `yaml:"in"`
	Out        float64 `yaml:"out"`
	CacheRead  float64 `yaml:"cache_read"`
	CacheWrite float64 `yaml:"cache_write"`
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
	if _, err := strictyaml.Decode(text, c, nil); err != nil && !errors.Is(err, io.EOF) {
		return nil, misuse("arc.yaml: %s", unfit.ReplaceAllStringFunc(err.Error(), unfitting))
	}
	if err := cmp.Or(c.Scope, "local").Check(); err != nil {
		return nil, misuse("arc.yaml: %v", err)
	}
	rate := *cmp.Or(c.Price, &price{})
	for _, n := range []float64{
		float64(c.Attempts), float64(c.FireAfter), c.ApproveAbove, c.Budget.Run, c.Budget.Day, float64(c.Budget.Time),
		rate.In, rate.Out, rate.CacheRead, rate.CacheWrite,
	} {
		if !(n >= 0 && n <= math.MaxFloat64) {
			return nil, misuse("arc.yaml: attempts, fire_after, approve_above, budget and price are numbers from 0")
		}
	}
	if c.Model != "" && c.Price == nil && c.Budget.Run+c.Budget.Day > 0 {
		return nil, misuse("arc.yaml: budget is in dollars, and no price says what a million tokens cost: {in: 3, out: 15}")
	}
	for _, s := range c.Sensors {
		if s.Name == "" || len(s.Run) == 0 {
			return nil, misuse("arc.yaml: a sensor needs a name and a command to run")
		}
	}
	for _, d := range c.World {
		if len(d.Run) == 0 {
			return nil, misuse("arc.yaml: domain %q needs a command to run", d.Name)
		}
	}
	for i := range c.Plans {
		p := &c.Plans[i]
		re, err := regexp.Compile("(?is)" + p.When)
		if err != nil {
			return nil, misuse("arc.yaml: plan %q: %v", p.Name, err)
		}
		for i := range p.Tasks {
			t := &p.Tasks[i]
			if t.Worker == "" {
				continue
			}
			at := slices.IndexFunc(c.Workers, func(w workerConfig) bool { return w.Name == t.Worker })
			if at < 0 { // another would do it
				return nil, misuse("arc.yaml: plan %q names the worker %q, which is not there", p.Name, t.Worker)
			}
			w, own := &c.Workers[at], "worker "+t.Worker // a skill that it alone has
			if t.Skill = cmp.Or(t.Skill, own); t.Skill == own && !slices.Contains(w.Skills, own) {
				w.Skills = append(w.Skills, own)
			}
			if !slices.Contains(w.Skills, t.Skill) {
				return nil, misuse("arc.yaml: plan %q names the worker %q, which lacks the skill %q", p.Name, t.Worker, t.Skill)
			}
		}
		p.when = re
	}
	return c, c.readGoals()
}

// readGoals reads the goals. An error tells the lines of arc.yaml.
func (c *config) readGoals() error {
	if c.Goals.IsZero() {
		return nil
	}
	text, err := yaml.Marshal(map[string]*yaml.Node{"goals": &c.Goals})
	if err != nil {
		return misuse("arc.yaml: goals: %v", err)
	}
	var apart yaml.Node // as Load reads it, with other lines
	if _, err = c.goals.Load(text); err == nil || yaml.Unmarshal(text, &apart) != nil {
		return err
	}
	lines := map[string]int{}
	var pair func(is, was *yaml.Node)
	pair = func(is, was *yaml.Node) {
		lines[fmt.Sprint("line ", is.Line)] = was.Line
		for i := range min(len(is.Content), len(was.Content)) {
			pair(is.Content[i], was.Content[i])
		}
	}
	pair(apart.Content[0].Content[1], &c.Goals)
	return misuse("arc.yaml: %s", lineAt.ReplaceAllStringFunc(errors.Unwrap(err).Error(), func(at string) string {
		return fmt.Sprint("line ", cmp.Or(lines[at], c.Goals.Line))
	}))
}

var lineAt = regexp.MustCompile(`\bline [0-9]+`)

// unfit matches how the parser says that a value is of the wrong kind.
var unfit = regexp.MustCompile("(?m)cannot unmarshal !!(\\w+)(?: (`.*`))?(?: into (.+))?$")

// unfitting says it in words that who writes arc.yaml knows.
func unfitting(text string) string {
	m := unfit.FindStringSubmatch(text)
	is := map[string]string{
		"str": "text", "int": "a whole number", "float": "a number", "bool": "true or false", "seq": "a list",
		"map": "a group of fields", "null": "nothing", "timestamp": "a date",
	}[m[1]]
	said := strings.TrimSpace("this is "+cmp.Or(is, m[1])+" "+m[2]) + ", and "
	for begin, wanted := range map[string]string{
		"int": "a whole number", "float": "a number", "bool": "true or false", "string": "text", "[]": "a list",
		"map": "a group of fields", "struct": "a group of fields", "a duration": "a time such as 90s or 5m",
	} {
		if strings.HasPrefix(m[3], begin) {
			return said + wanted + " belongs here"
		}
	}
	return said + "it does not belong here"
}

// worker makes a worker of its configuration.
func (c *workerConfig) worker(dir string, creds map[string]string) (act.Worker, error) {
	w := act.Worker{
		Card: rank.Candidate{Name: c.Name, Prior: 0.5}, Executor: c.program(dir, creds, c.Run), Skills: c.Skills,
		Blast: c.Blast.blast, Irreversible: c.Irreversible,
	}
	for _, e := range c.Effects {
		w.Effects = append(w.Effects, reason.Effect{Domain: e.Domain, Path: e.Path})
	}
	for _, argv := range c.Gates {
		w.Gates = append(w.Gates, c.program(dir, creds, argv))
	}
	if len(c.Run) == 0 || len(c.Gates) == 0 {
		return w, misuse("arc.yaml: worker %q has no command to run, or no gates: nothing would check what it did", c.Name)
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

func (c *workerConfig) program(dir string, creds map[string]string, argv []string) *program {
	env := environment(c.Env)
	for _, name := range c.Creds {
		env = append(env, variable(name)+"="+creds[name])
	}
	return &program{argv: argv, dir: dir, env: env}
}

// program is a command of arc.yaml, as an executor and as a gate: an act.Command that
// finds its plain inputs in the environment, too, as INPUT_NAME. It gets the variables and
// credentials that arc.yaml allows, and no others.
type program struct {
	argv []string
	dir  string
	env  []string
}

// String names the gate that it is.
func (p *program) String() string { return strings.Join(p.argv, " ") }

// Execute implements act.Executor.
func (p *program) Execute(ctx context.Context, w act.Work) (act.Result, error) {
	r, err := p.command(w.Task.Inputs).Execute(ctx, w)
	r.Reflection.Summary = cmp.Or(clip(oneLine(output(r.Output)), 200), r.Reflection.Summary)
	return r, err
}

// Verify implements act.Gate.
func (p *program) Verify(ctx context.Context, w act.Work, r act.Result) (act.Verdict, error) {
	return p.command(w.Task.Inputs).Verify(ctx, w, r)
}

// environment is what every command gets of the process's, and what arc.yaml names besides.
func environment(more []string) (env []string) {
	for _, name := range append([]string{"PATH", "HOME", "USER", "LANG", "TMPDIR", "SYSTEMROOT"}, more...) {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// inputName is what a variable may be called.
var inputName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (p *program) command(inputs json.RawMessage) *act.Command {
	cmd := &act.Command{Argv: p.argv, Dir: p.dir, Env: slices.Clone(p.env)}
	var fields map[string]any
	dec := json.NewDecoder(bytes.NewReader(inputs))
	dec.UseNumber()                 // as it is written
	if dec.Decode(&fields) == nil { // what is no object has no names
		for name, v := range fields {
			switch v.(type) {
			case string, json.Number, bool:
				if text := fmt.Sprint(v); inputName.MatchString(name) && !strings.ContainsRune(text, 0) {
					cmd.Env = append(cmd.Env, "INPUT_"+strings.ToUpper(name)+"="+text)
				}
			}
		}
	}
	slices.Sort(cmd.Env)
	return cmd
}

// plan is what to do about objectives of some words, for an agent without a model.
type plan struct {
	Name  string `yaml:"name"`
	When  string `yaml:"when"` // a regular expression; inputs can have its groups
	Tasks []struct {
		Do     string         `yaml:"do"`
		Worker string         `yaml:"worker"`
		Skill  string         `yaml:"skill"`
		Verify string         `yaml:"verify"`
		Inputs map[string]any `yaml:"inputs"`
	} `yaml:"tasks"`
	when *regexp.Regexp
}

// planner is the reasoner of an agent without a model: the first plan whose words the
// objective has, or else a question. What a person answers counts where no text before has a
// plan's words, so that a note on a blocked run (`the tests pass`) is no other objective.
type planner []plan

// Reason implements reason.Reasoner.
func (p planner) Reason(_ context.Context, b reason.Brief) (d reason.Decision, err error) {
	d, err = p.meant(b.Objective)
	for i := 0; i < len(b.Answers) && len(d.Questions) > 0; i++ {
		d, err = p.meant(b.Answers[i].Text)
	}
	return d, err
}

// meant is the plan whose words a text has.
func (p planner) meant(text string) (reason.Decision, error) {
	names, question := []string{}, "No plan in arc.yaml has these words. Which one is meant: %s?"
	for i := range p {
		if at := p[i].when.FindStringSubmatchIndex(text); at != nil {
			return p[i].tasks(text, at)
		}
		if strings.EqualFold(p[i].Name, strings.TrimSpace(text)) {
			if p[i].when.NumSubexp() == 0 || !strings.Contains(fmt.Sprint(p[i].Tasks), "$") {
				return p[i].tasks(text, nil)
			}
			names, question = []string{p[i].When}, "That plan takes its inputs from the words, so say them: %s"
			break
		}
		names = append(names, p[i].Name)
	}
	if len(names) == 0 {
		return reason.Decision{Impasse: &reason.Impasse{
			Kind: "no_approach", Reason: "arc.yaml has neither a model nor plans", Subgoal: "write a plan into arc.yaml",
		}}, nil
	}
	return reason.Decision{Complexity: reason.Unclear, Questions: []string{
		fmt.Sprintf(question, strings.Join(names, ", ")),
	}}, nil
}

// tasks makes tasks of the plan. Where inputs name groups of the expression, they get
// what the text has there.
func (p *plan) tasks(text string, at []int) (reason.Decision, error) {
	d := reason.Decision{Complexity: reason.Simple, Approach: p.Name}
	for _, t := range p.Tasks {
		inputs := map[string]any{}
		for name, v := range t.Inputs {
			if s, ok := v.(string); ok {
				v = strings.TrimSpace(string(p.when.ExpandString(nil, s, text, at)))
			}
			inputs[name] = v
		}
		task := reason.Task{
			Objective: t.Do, Worker: t.Worker, Skill: t.Skill, Verify: cmp.Or(t.Verify, "the gates of "+t.Worker),
		}
		if len(inputs) > 0 {
			raw, err := json.Marshal(inputs)
			if err != nil {
				return reason.Decision{}, err
			}
			task.Inputs = raw
		}
		d.Tasks = append(d.Tasks, task)
	}
	return d, nil
}

// reasoner is the planner, or the model that arc.yaml names.
func (c *config) reasoner(
	dir string, skills map[string]reason.Skill, key func(service, variable string) string,
) (reason.Reasoner, error) {
	if c.Model == "" {
		return append(planner{}, c.Plans...), nil
	}
	m, err := c.dial(key)
	if err != nil {
		return nil, err
	}
	if c.Price != nil {
		m = model.Price(m, model.Rate(*c.Price))
	}
	return reason.NewLLM(&character{Model: m, dir: dir}, &reason.LLMOptions{Skills: skills})
}

// dial returns the model that a line such as "openai gpt-5-mini" or
// "openai qwen3 http://localhost:11434/v1" names.
func (c *config) dial(key func(service, variable string) string) (reason.Model, error) {
	words := strings.Fields(c.Model)
	if len(words) < 2 || len(words) > 3 {
		return nil, misuse(`arc.yaml: model is "PROVIDER NAME" or "PROVIDER NAME ADDRESS", not %q`, c.Model)
	}
	words = append(words, "")
	provider, name, address := words[0], words[1], words[2]
	switch provider {
	case "openai":
		opts := []openaioption.RequestOption{openaioption.WithAPIKey(key("openai", "OPENAI_API_KEY"))}
		if address = cmp.Or(address, os.Getenv("OPENAI_BASE_URL")); address != "" {
			opts = append(opts, openaioption.WithBaseURL(address))
		}
		return openai.New(openaisdk.NewClient(opts...), name, nil), nil
	case "anthropic":
		opts := []anthropicoption.RequestOption{anthropicoption.WithAPIKey(key("anthropic", "ANTHROPIC_API_KEY"))}
		if address != "" {
			opts = append(opts, anthropicoption.WithBaseURL(address))
		}
		return anthropic.New(anthropicsdk.NewClient(opts...), name, nil), nil
	case "ollama":
		address = cmp.Or(address, os.Getenv("OLLAMA_HOST"), "localhost")
		if !strings.Contains(address, "://") { // Ollama's own form: HOST, HOST:PORT or :PORT
			if _, _, err := net.SplitHostPort(address); err != nil {
				address = net.JoinHostPort(address, "11434")
			}
			address = "http://" + address
		}
		return ollama.New(address, name, nil)
	}
	return nil, misuse("arc.yaml: no provider is called %q: openai, anthropic or ollama", provider)
}

// character is a model that is told first what SOUL.md says.
type character struct {
	reason.Model
	dir string
}

// Generate implements reason.Model.
func (c *character) Generate(ctx context.Context, req *reason.Request) (*reason.Response, error) {
	soul, err := os.ReadFile(filepath.Join(c.dir, "SOUL.md"))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	told := *req
	told.System = strings.TrimSpace(string(soul) + "\n\n" + req.System)
	return c.Model.Generate(ctx, &told)
}

// sensorConfig is a command that looks for what is to be done, and prints it: a line for
// each task, as text or as a JSON object of subject, description, key, priority, skills
// and input.
type sensorConfig struct {
	Name  string        `yaml:"name"`
	Every time.Duration `yaml:"every"`
	Run   []string      `yaml:"run"`
	Env   []string      `yaml:"env"`
}

// printed runs the sensor's command.
func (s *sensorConfig) printed(ctx context.Context, dir string) (r queue.Reading, err error) {
	out, err := printed(ctx, dir, s.Run, s.Env)
	if err != nil {
		return r, fmt.Errorf("sensor %s: %w", s.Name, err)
	}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		var t struct {
			Subject, Description, Key string
			Priority                  int
			Skills                    []string
			Input                     json.RawMessage
		}
		if json.Unmarshal([]byte(line), &t) != nil || t.Subject == "" {
			t.Subject = line
		}
		r.Jobs = append(r.Jobs, queue.Draft{
			Subject: t.Subject, Description: t.Description, Priority: t.Priority, Skills: t.Skills, Input: t.Input,
			Key: s.Name + "/" + cmp.Or(t.Key, clip(t.Subject, 60)), Quiet: 24 * time.Hour,
		})
	}
	return r, nil
}

// maxPrinted is what a sensor or a domain may print, in bytes.
const maxPrinted = 1 << 20

// printed runs a command, and returns what it prints.
func printed(ctx context.Context, dir string, argv, env []string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, environment(env), time.Second
	var out, said bounded
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if err = cmp.Or(out.over, said.over, err); err != nil {
		return nil, fmt.Errorf("%w: %s", err, clip(oneLine(string(said.text)), 200))
	}
	return out.text, nil
}

// bounded takes up to maxPrinted bytes; a command that prints more ends by a broken pipe.
type bounded struct {
	text []byte
	over error
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if len(b.text)+len(p) > maxPrinted {
		b.over = fmt.Errorf("it prints more than %d bytes", maxPrinted)
		return 0, b.over
	}
	b.text = append(b.text, p...)
	return len(p), nil
}

// written makes a file of what write writes: as a whole, or not at all. A file that is not its owner's
// alone keeps its mode. What a link leads to is replaced, not the link; a device or pipe is written to.
func written(name string, mode fs.FileMode, write func(io.Writer) error) error {
	if to, err := filepath.EvalSymlinks(name); err == nil {
		name = to
	}
	at, err := os.Stat(name)
	if err == nil && mode != 0o600 {
		mode = at.Mode().Perm()
	}
	if err == nil && !at.Mode().IsRegular() && !at.IsDir() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		at.Path = name // who reads the error has named no other
	}
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// replaceFile is written for a text.
func replaceFile(name string, text []byte, mode fs.FileMode) error {
	return written(name, mode, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
