package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
)

type runsCmd struct {
	Status  string `help:"running, asking, waiting, delivered or blocked." placeholder:"STATUS"`
	Session string `help:"Those of a session." placeholder:"ID"`
	Limit   int    `help:"At most so many." default:"20"`
}

// Help is what --help shows besides.
func (runsCmd) Help() string { return "Example:  arc runs --status blocked" }

// Run implements the command.
func (c *runsCmd) Run(a *app, v arc.View) error {
	all := []*arc.Report{}
	for r, err := range v.Runs(a.ctx, arc.Filter{Status: arc.Status(c.Status), Session: c.Session, Limit: c.Limit}) {
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	return a.present(all, func() {
		rows := [][]string{}
		for _, r := range all {
			rows = append(rows, []string{r.ID, when(r.Started), string(r.Status), r.Objective + said(r.Reason)})
		}
		a.table([]string{"id", "began", "status", "objective"}, rows)
	})
}

type skillsCmd struct {
	List skillsListCmd `cmd:"" default:"1" help:"The skills on the shelf, and which workers have them."`
	Show skillsShowCmd `cmd:"" help:"Print a skill's SKILL.md."`
	Run  skillsRunCmd  `cmd:"" help:"Run a skill's run.sh by hand."`
}

type skillsListCmd struct{}

// Help is what --help shows besides.
func (skillsListCmd) Help() string { return "Example:  arc skills list" }

// Run implements the command.
func (skillsListCmd) Run(a *app) error {
	if err := a.configure(); err != nil {
		return err
	}
	skills, err := reason.LoadSkills(os.DirFS(a.path("skills")))
	if err != nil {
		return err
	}
	return a.present(skills, func() {
		rows := [][]string{}
		for _, name := range slices.Sorted(maps.Keys(skills)) {
			workers := []string{}
			for _, w := range a.config.Workers {
				if slices.Contains(w.Skills, name) {
					workers = append(workers, w.Name)
				}
			}
			rows = append(rows, []string{name, cmp.Or(strings.Join(workers, " "), "-"), skills[name].Description})
		}
		a.table([]string{"skill", "workers", "description"}, rows)
	})
}

// skillFile is the path of a file of a skill.
func (a *app) skillFile(name, file string) (string, error) {
	path := a.path("skills", name, file)
	if name != filepath.Base(name) || name == ".." {
		return "", misuse("%q is no name of a skill", name)
	}
	if _, err := os.Stat(path); err != nil {
		return "", misuse("the skill %q has no %s: arc skills list", name, file)
	}
	return path, nil
}

type skillsShowCmd struct {
	Name string `help:"The skill." required:"" placeholder:"NAME"`
}

// Help is what --help shows besides.
func (skillsShowCmd) Help() string { return "Example:  arc skills show --name todos" }

// Run implements the command.
func (c *skillsShowCmd) Run(a *app) error {
	path, err := a.skillFile(c.Name, "SKILL.md")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, err = a.out.Write(text)
	return err
}

type skillsRunCmd struct {
	Name string   `help:"The skill." required:"" placeholder:"NAME"`
	Args []string `arg:"" optional:"" passthrough:"" help:"What follows -- goes to the script."`
}

// Help is what --help shows besides.
func (skillsRunCmd) Help() string { return "Example:  arc skills run --name todos -- --verbose" }

// Run implements the command.
func (c *skillsRunCmd) Run(a *app) error {
	if _, err := a.skillFile(c.Name, "run.sh"); err != nil {
		return err
	}
	args := c.Args
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	cmd := exec.CommandContext(a.ctx, "sh", append([]string{filepath.Join("skills", c.Name, "run.sh")}, args...)...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = a.dir, a.in, a.out, a.err
	err := cmd.Run()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return &exit{exitError, "the script ended with " + failed.String()}
	}
	return err
}

type goalsCmd struct {
	Keep bool `help:"Have what is violated mended, once."`
}

// Help is what --help shows besides.
func (goalsCmd) Help() string { return "Example:  arc goals --keep" }

// Run implements the command.
func (c *goalsCmd) Run(a *app, _ arc.View) error {
	var goals goal.Goals
	if !a.config.Goals.IsZero() {
		text, err := yaml.Marshal(map[string]*yaml.Node{"goals": &a.config.Goals})
		if err != nil {
			return err
		}
		if _, err := goals.Load(text); err != nil {
			return misuse("arc.yaml: %v", err)
		}
	}
	world := new(goal.World)
	for _, d := range a.config.World {
		if err := world.Collect(goal.Collector{Domain: d.Name, Read: a.reader(d)}); err != nil {
			return misuse("arc.yaml: %v", err)
		}
	}
	if err := world.Poll(a.ctx, time.Now()); err != nil {
		a.explain(bad, "world", err.Error())
	}
	if c.Keep {
		if err := a.keepOnce(world, &goals); err != nil {
			return err
		}
	}
	all := []goal.Verdict{}
	for _, g := range goals.All() {
		all = append(all, g.Evaluate(world, time.Now()))
	}
	return a.present(all, func() {
		rows := [][]string{}
		for _, g := range all {
			rows = append(rows, []string{g.Goal, g.Severity, string(g.Status), g.Reason})
		}
		a.table([]string{"goal", "severity", "status", "why"}, rows)
	})
}

// reader reads a domain by its command, which prints JSON.
func (a *app) reader(d domain) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		cmd := exec.CommandContext(ctx, d.Run[0], d.Run[1:]...)
		cmd.Dir, cmd.Env, cmd.WaitDelay = a.dir, environment(nil), time.Second
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("domain %s: %w", d.Name, err)
		}
		var data any
		return data, json.Unmarshal(out, &data)
	}
}

// keepOnce has the workers do what they can about violated goals, and reads the world again.
func (a *app) keepOnce(world *goal.World, goals *goal.Goals) error {
	a.event = a.narrate
	c, err := a.agent.Keep(a.ctx, world, goals, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Tick(a.ctx); err != nil {
		return err
	}
	if err := c.Wait(a.ctx); err != nil {
		return err
	}
	if err := world.Poll(a.ctx, time.Now().Add(time.Hour)); err != nil { // all that is read is due
		return err
	}
	_, err = c.Tick(a.ctx)
	return err
}

type approveCmd struct {
	ID      string `help:"The run. Without it: what waits is listed." name:"run" placeholder:"ID"`
	Attempt int    `help:"The attempt; that which waits, if it is not given." placeholder:"N"`
	Yes     bool   `help:"Allow it." xor:"say"`
	No      bool   `help:"Refuse it." xor:"say"`
	By      string `help:"Who says so." placeholder:"NAME"`
	Note    string `help:"For whom it concerns: why." placeholder:"TEXT"`
}

// Help is what --help shows besides.
func (approveCmd) Help() string { return "Example:  arc approve --run 0193… --yes" }

// Run implements the command.
func (c *approveCmd) Run(a *app, v arc.View) error {
	all := []arc.Approval{}
	for p, err := range v.Approvals(a.ctx) {
		if err != nil {
			return err
		}
		if c.ID == "" || p.Run == c.ID {
			all = append(all, p)
		}
	}
	if c.ID == "" || !c.Yes && !c.No {
		return a.present(all, func() {
			rows := [][]string{}
			for _, p := range all {
				rows = append(rows, []string{p.Run, fmt.Sprint(p.Attempt), when(p.Until), p.Worker, p.Task.Objective + said(strings.Join(p.Why, "; "))})
			}
			a.table([]string{"run", "attempt", "until", "worker", "wants to"}, rows)
		})
	}
	if len(all) == 0 {
		return misuse("nothing of run %q waits", c.ID)
	}
	r := arc.Ruling{Run: c.ID, Attempt: cmp.Or(c.Attempt, all[0].Attempt), Allow: c.Yes, By: cmp.Or(c.By, who()), Note: c.Note}
	if err := v.Rule(a.ctx, r); err != nil {
		return err
	}
	return a.drive(func(ctx context.Context) (*arc.Report, error) { return a.settled(ctx, v, c.ID) })
}

type judgeCmd struct {
	ID    string `help:"The run." name:"run" required:"" placeholder:"ID"`
	Right bool   `help:"What it delivered is right." xor:"say"`
	Wrong bool   `help:"What it delivered is wrong." xor:"say"`
	Task  int    `help:"The delivered task, from 1; all if it is not given." placeholder:"N"`
	Why   string `help:"How that came out." placeholder:"TEXT"`
}

// Help is what --help shows besides.
func (judgeCmd) Help() string {
	return `Example:  arc judge --run 0193… --wrong --why "it was last year's"`
}

// Run implements the command.
func (c *judgeCmd) Run(a *app) error {
	if c.Right == c.Wrong {
		return misuse("say --right or --wrong")
	}
	v, err := a.view()
	if err != nil {
		return err
	}
	return v.Judge(a.ctx, c.ID, arc.Verdict{Task: c.Task, Right: c.Right, Why: c.Why, Source: who()})
}

type healthCmd struct{}

// Help is what --help shows besides.
func (healthCmd) Help() string { return "Example:  arc health" }

// Run implements the command.
func (healthCmd) Run(a *app, v arc.View) error {
	h, err := a.agent.Health(a.ctx, v.Memory().Scope())
	if err != nil {
		return err
	}
	return a.present(h, func() { a.say("%s", strings.TrimRight(h.String(), "\n")) })
}

type costCmd struct {
	By   string `help:"day, worker or task (its skill)." enum:"day,worker,task" default:"day"`
	Days int    `help:"Of so many days." default:"30"`
}

// Help is what --help shows besides.
func (costCmd) Help() string { return "Example:  arc cost --by worker --days 7" }

// costLine is what one day, worker or task has cost.
type costLine struct {
	What                string
	Attempts, Successes int
	TokensIn, TokensOut int
	Reported, Estimated float64
}

// Run implements the command. What planning took is what runs used beyond their workers.
func (c *costCmd) Run(a *app, v arc.View) error {
	since := time.Now().UTC().AddDate(0, 0, 1-c.Days).Truncate(24 * time.Hour)
	tallies, err := v.Costs(a.ctx, since)
	if err != nil {
		return err
	}
	lines := map[string]*costLine{}
	add := func(what string, l costLine) {
		if lines[what] == nil {
			lines[what] = &costLine{What: what}
		}
		t := lines[what]
		t.Attempts, t.Successes = t.Attempts+l.Attempts, t.Successes+l.Successes
		t.TokensIn, t.TokensOut = t.TokensIn+l.TokensIn, t.TokensOut+l.TokensOut
		t.Reported, t.Estimated = t.Reported+l.Reported, t.Estimated+l.Estimated
	}
	var workers costLine
	for _, t := range tallies {
		what := map[string]string{
			"day": t.From.Format(time.DateOnly), "worker": t.Candidate, "task": cmp.Or(t.Skill, "no skill"),
		}[c.By]
		add(what, costLine{"", t.Samples, t.Successes, t.TokensIn, t.TokensOut, t.CostUSD, t.APICostUSD})
		workers.TokensIn, workers.TokensOut = workers.TokensIn+t.TokensIn, workers.TokensOut+t.TokensOut
		workers.Reported, workers.Estimated = workers.Reported+t.CostUSD, workers.Estimated+t.APICostUSD
	}
	var all act.Usage
	for r, err := range v.Runs(a.ctx, arc.Filter{Since: since}) {
		if err != nil {
			return err
		}
		all = all.Add(r.Usage)
	}
	add("planning by "+cmp.Or(a.config.Model, "arc.yaml"), costLine{
		TokensIn: max(0, all.TokensIn-workers.TokensIn), TokensOut: max(0, all.TokensOut-workers.TokensOut),
		Reported: max(0, all.CostUSD-workers.Reported), Estimated: max(0, all.APICostUSD-workers.Estimated),
	})
	sorted := []costLine{}
	for _, what := range slices.Sorted(maps.Keys(lines)) {
		sorted = append(sorted, *lines[what])
	}
	return a.present(sorted, func() {
		rows := [][]string{}
		for _, l := range sorted {
			rows = append(rows, []string{l.What, fmt.Sprintf("%d of %d", l.Successes, l.Attempts), fmt.Sprintf("%d+%d", l.TokensIn, l.TokensOut),
				fmt.Sprintf("$%.4f", l.Reported), fmt.Sprintf("$%.4f", l.Estimated)})
		}
		a.table([]string{c.By, "passed", "tokens", "reported", "estimated"}, rows)
	})
}

type proposalsCmd struct {
	Approve string `help:"Make the change of a proposal." placeholder:"ID" xor:"say"`
	Reject  string `help:"Close a proposal." placeholder:"ID" xor:"say"`
	Undo    string `help:"Take the change of a proposal back." placeholder:"ID" xor:"say"`
	Note    string `help:"Why." placeholder:"TEXT"`
}

// Help is what --help shows besides.
func (proposalsCmd) Help() string {
	return `Example:  arc proposals --approve 0193… --note "it broke on Monday"`
}

// Run implements the command.
func (c *proposalsCmd) Run(a *app, v arc.View) (err error) {
	all := []meta.Proposal{}
	decided := meta.Proposal{}
	switch {
	case c.Approve != "":
		decided, err = v.Approve(a.ctx, c.Approve, who(), c.Note)
	case c.Reject != "":
		decided, err = v.Reject(a.ctx, c.Reject, who(), c.Note)
	case c.Undo != "":
		decided, err = v.Undo(a.ctx, c.Undo, who(), c.Note)
	default:
		for p, err := range v.Proposals(a.ctx) {
			if err != nil {
				return err
			}
			all = append(all, p)
		}
	}
	if err != nil {
		return err
	}
	if decided.ID != "" {
		all = append(all, decided)
	}
	return a.present(all, func() {
		rows := [][]string{}
		for _, p := range all {
			rows = append(rows, []string{p.ID, p.Kind, p.Subject, p.Status, p.Reason + said(cmp.Or(p.Note, p.Advice))})
		}
		a.table([]string{"id", "kind", "about", "status", "why"}, rows)
	})
}

type thinkCmd struct {
	Text string `help:"The objective." required:"" placeholder:"TEXT"`
}

// Help is what --help shows besides.
func (thinkCmd) Help() string {
	return `Example:  arc think --text "collect the todos"   (nothing is done)`
}

// Run implements the command.
func (c *thinkCmd) Run(a *app, _ arc.View) error {
	o := arc.Objective{Text: c.Text}
	f, err := a.agent.Would(a.ctx, o)
	if err != nil {
		return err
	}
	d, err := a.agent.Think(a.ctx, o)
	if err != nil {
		return err
	}
	return a.present(struct {
		Decision reason.Decision
		Forecast arc.Forecast
	}{d, f}, func() {
		if f.Fires != nil {
			a.explain(good, "would fire", f.Fires.Approach)
		} else {
			a.explain(faint, "no firing", f.Why)
		}
		a.headed(strong, "approach", cmp.Or(d.Approach, string(d.Complexity)))
		for i, t := range d.Tasks {
			a.explain(faint, fmt.Sprintf("task %d", i+1), fmt.Sprintf("%s (%s)", t.Objective, t.Verify))
		}
		for _, q := range d.Questions {
			a.explain(asking, "asks", q)
		}
		if d.Impasse != nil {
			a.explain(bad, "impasse", d.Impasse.Reason)
		}
	})
}

type metaCmd struct {
	Session string `help:"The session; a run without one is its own." required:"" placeholder:"ID"`
}

// Help is what --help shows besides.
func (metaCmd) Help() string { return "Example:  arc meta --session 0193…" }

// Run implements the command.
func (c *metaCmd) Run(a *app, v arc.View) error {
	s, err := v.Assess(a.ctx, c.Session)
	if err != nil {
		return err
	}
	return a.present(s, func() {
		a.headed(strong, s.State, fmt.Sprintf("%s (%s confidence), %d of %d succeeded", s.Recommendation, s.Confidence, s.Successes, s.Total))
		for _, e := range s.Evidence {
			a.explain(faint, "since", e)
		}
	})
}

type chunkCmd struct {
	Session string `help:"The session; a run without one is its own." required:"" placeholder:"ID"`
}

// Help is what --help shows besides.
func (chunkCmd) Help() string { return "Example:  arc chunk --session 0193…" }

// Run implements the command.
func (c *chunkCmd) Run(a *app, v arc.View) error {
	all, err := v.Chunk(a.ctx, c.Session)
	if err != nil {
		return err
	}
	return a.present(all, func() {
		rows := [][]string{}
		for _, r := range all {
			rows = append(rows, []string{string(r.ID), string(r.Disposition), r.Reason})
		}
		a.table([]string{"pattern", "became", "why"}, rows)
	})
}

type decayCmd struct{}

// Help is what --help shows besides.
func (decayCmd) Help() string { return "Example:  arc decay   (puts aside what is old and unused)" }

// Run implements the command.
func (decayCmd) Run(a *app, v arc.View) error {
	r, err := v.Memory().Decay(a.ctx)
	if err != nil {
		return err
	}
	return a.present(r, func() {
		a.headed(good, "decay", fmt.Sprintf("%d archived, %d were before, %d kept, %d episodes removed", r.Archived, r.Already, r.Kept, r.Removed))
	})
}

type consolidateCmd struct{}

// Help is what --help shows besides.
func (consolidateCmd) Help() string { return "Example:  arc consolidate   (merges what says the same)" }

// Run implements the command.
func (consolidateCmd) Run(a *app, v arc.View) error {
	r, err := v.Memory().Consolidate(a.ctx)
	if err != nil {
		return err
	}
	return a.present(r, func() {
		a.headed(good, "merged", fmt.Sprintf("%d of %d pairs; %d memories before, %d after", r.Merged, r.Tried, r.Before, r.After))
	})
}
