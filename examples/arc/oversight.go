package main

import (
	"bytes"
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

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta/proposal"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/goal"
	"github.com/arc-learn/arc/store"
)

type runsCmd struct {
	Status  *arc.Status `help:"running, asking, waiting, delivered or blocked." enum:"running,asking,waiting,delivered,blocked" placeholder:"STATUS"`
	Session string      `help:"Those of a session." placeholder:"ID"`
	Limit   uint        `help:"At most so many, the latest; 0: all." default:"20"`
}

// Run implements the command.
func (c *runsCmd) Run(a *app, v arc.View) error {
	all := []*arc.Report{}
	for r, err := range v.Runs(a.ctx, arc.Filter{Status: *cmp.Or(c.Status, new(arc.Status)), Session: c.Session}) {
		if err != nil {
			return err
		}
		if all = append(all, r); c.Limit > 0 && uint(len(all)) > c.Limit {
			break
		}
	}
	return limited(a.screen, all, c.Limit, []string{"id", "began", "status", "objective"}, func(r *arc.Report) []string {
		why := said(cmp.Or(r.Reason, strings.Join(r.Questions, " ")))
		return []string{r.ID, when(r.Started), string(r.Status), r.Objective + why}
	})
}

type skillsCmd struct {
	List skillsListCmd `cmd:"" default:"1" help:"The skills on the shelf, and which workers have them."`
	Show skillsShowCmd `cmd:"" help:"Print a skill's SKILL.md."`
	Run  skillsRunCmd  `cmd:"" help:"Run a skill's run.sh by hand."`
}

type skillsListCmd struct{}

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
		return "", refused("the skill %q has no %s: arc skills list", name, file)
	}
	return path, nil
}

type skillsShowCmd struct {
	Name string `help:"The skill." required:"" placeholder:"NAME"`
}

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
	return a.present(string(text), func() { a.say("%s", bytes.TrimRight(text, "\n")) })
}

type skillsRunCmd struct {
	Name string   `help:"The skill." required:"" placeholder:"NAME"`
	Args []string `arg:"" optional:"" passthrough:"" help:"What follows -- goes to the script."`
}

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
		return refused("the script ended with %s", failed)
	}
	return err
}

type goalsCmd struct {
	Keep bool `help:"Have what is violated mended, once."`
}

// Run implements the command.
func (c *goalsCmd) Run(a *app, _ arc.View) error {
	goals, world := &a.config.goals, new(goal.World)
	for _, d := range a.config.World {
		read := goal.Collector{Domain: d.Name, Every: 1, MaxAge: time.Hour, Read: a.reader(d)} // anew with each Poll
		if err := world.Collect(read); err != nil {
			return misuse("arc.yaml: %v", err)
		}
	}
	if err := world.Poll(a.ctx, time.Now()); err != nil {
		a.explain(bad, "world", err.Error())
	}
	if c.Keep {
		if err := a.keepOnce(world, goals); err != nil {
			return err
		}
	}
	all, open := []goal.Verdict{}, false
	for _, g := range goals.All() {
		v := g.Evaluate(world, time.Now())
		all, open = append(all, v), open || v.Status != goal.Met
	}
	err := listed(a.screen, all, []string{"goal", "severity", "status", "why"}, func(g goal.Verdict) []string {
		return []string{g.Goal, g.Severity, string(g.Status), g.Reason}
	})
	if c.Keep && open && err == nil {
		return &exit{code: exitError}
	}
	return err
}

// reader reads a domain by its command, which prints JSON.
func (a *app) reader(d domain) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		out, err := printed(ctx, a.dir, d.Run, nil)
		if err != nil {
			return nil, err
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
	if err := world.Poll(a.ctx, time.Now()); err != nil {
		return err
	}
	r, err := c.Tick(a.ctx)
	for _, g := range r.Goals {
		if g.Why != "" {
			a.explain(bad, "not mended", g.Why)
		}
	}
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

// Run implements the command.
func (c *approveCmd) Run(a *app, v arc.View) error {
	if c.ID == "" && *c != (approveCmd{}) {
		return misuse("say which run: arc approve --run ID")
	}
	all := []arc.Approval{}
	for p, err := range v.Approvals(a.ctx) {
		if err != nil {
			return err
		}
		if c.ID == "" || p.Run == c.ID {
			all = append(all, p)
		}
	}
	if c.ID != "" && len(all) == 0 {
		return refused("nothing of run %q waits", c.ID)
	}
	if c.ID != "" && !c.Yes && !c.No && !a.json {
		for i := range all {
			a.asked(&all[i])
			a.askedHow(&all[i])
		}
		return nil
	}
	if c.ID == "" || !c.Yes && !c.No {
		header := []string{"run", "attempt", "until", "worker", "wants to"}
		return listed(a.screen, all, header, func(p arc.Approval) []string {
			return []string{
				p.Run, fmt.Sprint(p.Attempt), when(p.Until), p.Worker, p.Task.Objective + said(strings.Join(p.Why, "; ")),
			}
		})
	}
	r := arc.Ruling{
		Run: c.ID, Attempt: cmp.Or(c.Attempt, all[0].Attempt), Allow: c.Yes, By: cmp.Or(c.By, who()), Note: c.Note,
	}
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

// Run implements the command.
func (c *judgeCmd) Run(a *app) error {
	if c.Right == c.Wrong {
		return misuse("say --right or --wrong")
	}
	v, err := a.view()
	if err != nil {
		return err
	}
	err = v.Judge(a.ctx, c.ID, arc.Verdict{Task: c.Task, Right: c.Right, Why: c.Why, Source: who()})
	return a.did(err, "judged", c.ID)
}

type healthCmd struct{}

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

// costLine is what one day, worker or task has cost.
type costLine struct {
	What                string
	Attempts, Successes int
	act.Usage
}

// Run implements the command. What planning took is what runs used beyond their workers.
func (c *costCmd) Run(a *app, v arc.View) error {
	if c.Days < 1 || c.Days > 36500 {
		return misuse("--days is 1 to 36500, not %d", c.Days)
	}
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
		t.Usage = t.Add(l.Usage)
	}
	var workers, all act.Usage
	for _, t := range tallies {
		what := map[string]string{
			"day": t.From.Format(time.DateOnly), "worker": t.Candidate, "task": cmp.Or(t.Skill, "no skill"),
		}[c.By]
		used := act.Usage{TokensIn: t.TokensIn, TokensOut: t.TokensOut, CostUSD: t.CostUSD, APICostUSD: t.APICostUSD}
		add(what, costLine{"", t.Samples, t.Successes, used})
		workers = workers.Add(used)
	}
	for r, err := range v.Runs(a.ctx, arc.Filter{Since: since}) {
		if err != nil {
			return err
		}
		all = all.Add(r.Usage)
	}
	add("planning by "+cmp.Or(a.config.Model, "arc.yaml"), costLine{Usage: act.Usage{
		TokensIn: max(0, all.TokensIn-workers.TokensIn), TokensOut: max(0, all.TokensOut-workers.TokensOut),
		CostUSD: max(0, all.CostUSD-workers.CostUSD), APICostUSD: max(0, all.APICostUSD-workers.APICostUSD),
	}})
	sorted := []costLine{}
	for _, what := range slices.Sorted(maps.Keys(lines)) {
		sorted = append(sorted, *lines[what])
	}
	header := []string{c.By, "passed", "tokens", "reported", "estimated"}
	return listed(a.screen, sorted, header, func(l costLine) []string {
		return []string{
			l.What, fmt.Sprintf("%d of %d", l.Successes, l.Attempts), fmt.Sprintf("%d+%d", l.TokensIn, l.TokensOut),
			fmt.Sprintf("$%.4f", l.CostUSD), fmt.Sprintf("$%.4f", l.APICostUSD),
		}
	})
}

type proposalsCmd struct {
	Approve string `help:"Make the change of a proposal." placeholder:"ID" xor:"say"`
	Reject  string `help:"Close a proposal." placeholder:"ID" xor:"say"`
	Undo    string `help:"Take the change of a proposal back." placeholder:"ID" xor:"say"`
	Note    string `help:"Why." placeholder:"TEXT"`
}

// Run implements the command.
func (c *proposalsCmd) Run(a *app, v arc.View) (err error) {
	all := []proposal.Proposal{}
	decided := proposal.Proposal{}
	switch {
	case c.Approve != "":
		decided, err = v.Approve(a.ctx, c.Approve, who(), c.Note)
	case c.Reject != "":
		decided, err = v.Reject(a.ctx, c.Reject, who(), c.Note)
	case c.Undo != "":
		decided, err = v.Undo(a.ctx, c.Undo, who(), c.Note)
	default:
		for p, err := range v.Proposals(a.ctx) {
			if errors.Is(err, store.ErrDamaged) {
				continue // arc health tells of it
			}
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
	return listed(a.screen, all, []string{"id", "kind", "about", "status", "why"}, func(p proposal.Proposal) []string {
		return []string{p.ID, p.Kind, p.Subject, p.Status, p.Reason + said(cmp.Or(p.Note, p.Advice))}
	})
}

type thinkCmd struct {
	Text string `help:"The objective." required:"" placeholder:"TEXT"`
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

// Run implements the command.
func (c *metaCmd) Run(a *app, v arc.View) error {
	s, err := v.Assess(a.ctx, c.Session)
	if err != nil {
		return err
	}
	return a.present(s, func() {
		a.headed(strong, s.State, fmt.Sprintf("%s (%s confidence), %d of %d succeeded",
			s.Recommendation, s.Confidence, s.Successes, s.Total))
		for _, e := range s.Evidence {
			a.explain(faint, "since", e)
		}
	})
}

type chunkCmd struct {
	Session string `help:"The session; a run without one is its own." required:"" placeholder:"ID"`
}

// Run implements the command.
func (c *chunkCmd) Run(a *app, v arc.View) error {
	all, err := v.Chunk(a.ctx, c.Session)
	if err != nil {
		return err
	}
	return listed(a.screen, all, []string{"pattern", "became", "why"}, func(r memory.Receipt) []string {
		return []string{string(r.ID), string(r.Disposition), r.Reason}
	})
}

type decayCmd struct{}

// Run implements the command.
func (decayCmd) Run(a *app, v arc.View) error {
	r, err := v.Memory().Decay(a.ctx)
	if err != nil {
		return err
	}
	return a.present(r, func() {
		a.headed(good, "decay", fmt.Sprintf("%d archived, %d were before, %d kept, %d episodes removed",
			r.Archived, r.Already, r.Kept, r.Removed))
	})
}

type consolidateCmd struct{}

// Run implements the command.
func (consolidateCmd) Run(a *app, v arc.View) error {
	r, err := v.Memory().Consolidate(a.ctx)
	if err != nil {
		return err
	}
	return a.present(r, func() {
		a.headed(good, "merged", fmt.Sprintf("%d of %d pairs; %d memories before, %d after",
			r.Merged, r.Tried, r.Before, r.After))
	})
}
