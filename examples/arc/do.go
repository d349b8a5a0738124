package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

type doCmd struct {
	Text      *string  `help:"The objective. Without it: what arc.yaml says under try." placeholder:"TEXT"`
	Situation string   `help:"The kind of situation, if another text may be of the same." placeholder:"TEXT"`
	Inputs    string   `help:"Data for planner and workers, as JSON." placeholder:"JSON"`
	Session   string   `help:"Session that the run belongs to." placeholder:"ID"`
	Skill     []string `help:"Skill that the work needs." placeholder:"NAME"`
	ID        string   `help:"Id of the run; that of a finished one shows its report." name:"id" placeholder:"ID"`
	Fresh     bool     `help:"Recall nothing, and let nothing fire."`
}

// Run implements the command.
func (c *doCmd) Run(a *app) error {
	if err := a.configure(); err != nil {
		return err
	}
	text := &a.config.Try
	if c.Text != nil { // an empty one is a mistake
		text = c.Text
	}
	o := arc.Objective{
		ID: c.ID, Text: *text, Situation: c.Situation, Session: c.Session, Skills: c.Skill,
		Fresh: c.Fresh,
	}
	if strings.TrimSpace(o.Text) == "" {
		return misuse("say what is to be done: arc do --text \"…\"")
	}
	if c.Inputs != "" {
		if o.Inputs = json.RawMessage(c.Inputs); !json.Valid(o.Inputs) {
			return misuse("--inputs is not JSON")
		}
	}
	if err := a.haveSkills(c.Skill); err != nil {
		return err
	}
	v, err := a.view()
	if err != nil {
		return err
	}
	if c.ID != "" {
		switch r, err := v.Report(a.ctx, c.ID); {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return err
		case c.Text == nil:
			o.Text = r.Objective
		}
	}
	if !a.json {
		a.headed(strong, "objective", o.Text)
	}
	return a.drive(func(ctx context.Context) (*arc.Report, error) { return a.agent.Run(ctx, o) })
}

// haveSkills refuses names of skills that are neither on the shelf nor a worker's.
func (a *app) haveSkills(names []string) error {
	shelf, err := reason.LoadSkills(os.DirFS(a.path("skills")))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range names {
		_, has := shelf[name]
		for i := range a.config.Workers {
			has = has || slices.Contains(a.config.Workers[i].Skills, name)
		}
		if !has {
			return refused("no skill is called %q: arc skills list", name)
		}
	}
	return nil
}

type dropCmd struct {
	ID  string `help:"The run." name:"run" required:"" placeholder:"ID"`
	Yes bool   `help:"Do not ask."`
}

// Run implements the command.
func (c *dropCmd) Run(a *app, v arc.View) error {
	r, err := v.Report(a.ctx, c.ID)
	if err != nil {
		return err
	}
	if err := a.sure(a.ctx, c.Yes, fmt.Sprintf("Give up %q?", clip(oneLine(r.Objective), 60))); err != nil {
		return err
	}
	return a.did(a.drop(v, c.ID), "dropped", c.ID)
}

// drop deletes a run. The agent may be going on with it by itself: that comes to a stop first.
func (a *app) drop(v arc.View, id string) error {
	_, err := unlessRunning(a.ctx, func() (*arc.Report, error) { return nil, v.Delete(a.ctx, id) })
	return err
}

type resumeCmd struct {
	ID     string `help:"The run. Without it: all that were interrupted or are due." name:"run" placeholder:"ID"`
	Answer string `help:"For a run that asks." placeholder:"TEXT"`
	Note   string `help:"For a run that is blocked: what has changed since, so that it is tried again." placeholder:"TEXT"`
}

// Run implements the command.
func (c *resumeCmd) Run(a *app, v arc.View) error {
	if c.ID == "" && c.Note+c.Answer != "" {
		return misuse("say which run: arc resume --run ID")
	}
	if c.Answer != "" {
		return a.drive(func(ctx context.Context) (*arc.Report, error) { return v.Answer(ctx, c.ID, c.Answer) })
	}
	if c.Note != "" {
		return a.drive(func(ctx context.Context) (*arc.Report, error) { return v.Retry(ctx, c.ID, c.Note) })
	}
	if c.ID != "" {
		return a.drive(func(ctx context.Context) (*arc.Report, error) { return a.settled(ctx, v, c.ID) })
	}
	runs := []*arc.Report{}
	for r, err := range v.Runs(a.ctx, arc.Filter{}) {
		if err != nil {
			return err
		}
		if r.Status == arc.Running || r.Status == arc.Asking || r.Status == arc.Waiting {
			runs = append(runs, r)
		}
	}
	n, all := exitDone, []*arc.Report{}
	for _, r := range runs {
		if !a.json {
			a.headed(strong, "objective", r.Objective)
		}
		r, err := a.driven(func(ctx context.Context) (*arc.Report, error) { return a.settled(ctx, v, r.ID) })
		if r != nil {
			all = append(all, r)
		}
		if n = cmp.Or(n, a.exits(err)); a.ctx.Err() != nil {
			n = exitInterrupted
			break
		}
	}
	err := a.present(all, func() {
		if len(runs) == 0 {
			a.say("nothing to go on with")
		}
	})
	if err == nil && n != exitDone {
		return &exit{code: n}
	}
	return err
}

// drive is driven; with --json it prints the run.
func (a *app) drive(begin func(context.Context) (*arc.Report, error)) error {
	r, err := a.driven(begin)
	if r != nil && a.json {
		return cmp.Or(a.present(r, nil), err)
	}
	return err
}

// driven begins or goes on with a run, tells what happens, has a person answer what it
// asks, and says how it ended. ctrl-C leaves the run at its last commit.
func (a *app) driven(begin func(context.Context) (*arc.Report, error)) (*arc.Report, error) {
	start, last := time.Now(), ""
	a.event = func(e arc.Event) {
		last = e.Run
		if !a.json {
			a.narrate(e)
		}
	}
	view := a.agent.In(a.config.Scope)
	edits, unread := a.syncNotebook(nil)
	r, err := begin(a.ctx)
	for err == nil && a.person {
		var next *arc.Report
		switch {
		case r.Status == arc.Asking:
			next, err = a.consult(view, r)
		case r.Status == arc.Waiting && r.Approval != nil:
			next, err = a.allow(view, r)
		}
		if next == nil {
			break
		}
		r = next
	}
	if errors.Is(err, context.Canceled) {
		if r != nil {
			last = cmp.Or(r.ID, last)
		}
		return nil, &exit{exitInterrupted, "left where it is; go on with: " + a.typed("resume --run %s", last)}
	}
	if err != nil {
		return nil, err
	}
	news, unwritten := a.syncNotebook(r.Learned)
	news.Read, news.Aside = news.Read+edits.Read, news.Aside+edits.Aside
	if err := cmp.Or(unwritten, unread); err != nil {
		a.explain(bad, "MEMORY.md", err.Error())
	}
	if !a.json {
		a.ended(r, news, time.Since(start))
	}
	switch r.Status {
	case arc.Delivered:
		return r, nil
	case arc.Blocked:
		return r, &exit{code: exitBlocked}
	}
	return r, &exit{code: exitWaiting}
}

// consult asks the person what the run asks. Without an answer it is left.
func (a *app) consult(v arc.View, r *arc.Report) (*arc.Report, error) {
	a.explain(asking, "asks", strings.Join(r.Questions, " "))
	line, _, err := a.question(a.ctx, "answer:")
	if err != nil || line == "" {
		return nil, err
	}
	return v.Answer(a.ctx, r.ID, line)
}

// allow asks the person whether an attempt may be made.
func (a *app) allow(v arc.View, r *arc.Report) (*arc.Report, error) {
	p := r.Approval
	a.asked(p)
	line, ok, err := a.question(a.ctx, "allow it? [y/n, empty: decide later]")
	if err != nil || !ok || line == "" {
		return nil, err
	}
	if err := v.Rule(a.ctx, arc.Ruling{Run: r.ID, Attempt: p.Attempt, Allow: isYes(line), By: who()}); err != nil {
		return nil, err
	}
	return a.settled(a.ctx, v, r.ID)
}

// asked prints what a person is to allow, with all that it is about.
func (a *app) asked(p *arc.Approval) {
	a.explain(
		asking, "approval", fmt.Sprintf("%s wants to: %s (%s)", p.Worker, p.Task.Objective, strings.Join(p.Why, "; ")),
	)
	if len(p.Task.Inputs) > 0 {
		a.explain(asking, "inputs", unescape.Replace(string(p.Task.Inputs)))
	}
}

// askedHow prints how a person allows it, or refuses it.
func (a *app) askedHow(p *arc.Approval) {
	for _, say := range []string{"--yes", "--no"} {
		a.goesOn("approve --run %s --attempt %s "+say, p.Run, fmt.Sprint(p.Attempt))
	}
}

// goesOn prints the command that goes on: whole, since it is copied.
func (a *app) goesOn(format string, values ...string) { a.say("  %s", a.typed(format, values...)) }

// typed is a command of arc for this folder, as a shell reads it.
func (a *app) typed(format string, values ...string) string {
	if a.dir != "." {
		format, values = format+" --dir %s", append(values, a.dir)
	}
	words := []any{}
	for _, v := range values {
		if !plainWord.MatchString(v) {
			v = "'" + strings.ReplaceAll(v, "'", `'\''`) + "'"
		}
		words = append(words, v)
	}
	return "arc " + fmt.Sprintf(format, words...)
}

// plainWord matches what a shell takes as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,=-]+$`)

// unescape undoes what encoding/json does for HTML.
var unescape = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// who is the person at the terminal.
func who() string { return cmp.Or(os.Getenv("USER"), os.Getenv("USERNAME"), "a person") }

// settled goes on with a run. The agent may be doing so by itself already.
func (a *app) settled(ctx context.Context, v arc.View, id string) (*arc.Report, error) {
	return unlessRunning(ctx, func() (*arc.Report, error) { return v.Resume(ctx, id) })
}

// unlessRunning does something about a run once it is not live.
func unlessRunning(ctx context.Context, do func() (*arc.Report, error)) (*arc.Report, error) {
	for {
		r, err := do()
		if !errors.Is(err, arc.ErrRunning) {
			return r, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// narrate prints what has happened in a run.
func (a *app) narrate(e arc.Event) {
	switch e.Kind {
	case arc.EventRecalled:
		if len(e.IDs) > 0 {
			a.headed(faint, "recalled", plural(len(e.IDs), "memory", "memories"))
		}
	case arc.EventFired:
		a.headed(good, "fired", fmt.Sprintf("%s (has delivered before, so no plan is asked for)", e.Text))
	case arc.EventDecided:
		by := "the plans of arc.yaml"
		if a.config.Model != "" {
			by = a.config.Model
		}
		a.headed(faint, "decided", fmt.Sprintf("%s (asked: %s)", e.Text, by))
	case arc.EventAttempt:
		text, tone := fmt.Sprintf("%d by %s", e.Attempt, e.Worker), faint
		if e.Mode == act.Notification {
			text, tone = text+" (its mode is notification)", asking
		}
		a.headed(tone, "attempt", text)
	case arc.EventExecuted:
		if e.Text != string(act.Finished) && !strings.HasPrefix(e.Text, string(act.Pending)) {
			a.explain(bad, "failed", strings.TrimPrefix(e.Text, "failed: "))
		}
	case arc.EventVerified:
		if e.Pass {
			a.headed(good, "passed", "its gates let it count")
		} else {
			a.explain(bad, "rejected", fmt.Sprintf("by %s: %s", e.Gate, e.Text))
		}
	case arc.EventPivot, arc.EventRefused:
		a.explain(asking, string(e.Kind), e.Text)
	}
}

// ended prints how a run stands.
func (a *app) ended(r *arc.Report, news noted, wall time.Duration) {
	for _, d := range r.Deliveries {
		if made := output(d.Output); made != "" {
			a.headed(faint, "made", made)
		}
	}
	if len(r.Learned)+news.Read+news.Aside > 0 {
		a.headed(faint, "learned", plural(len(r.Learned), "thing", "things")+"; MEMORY.md: "+news.String())
	}
	switch r.Status {
	case arc.Delivered:
		cost := ""
		if r.Usage != (reason.Usage{}) {
			cost = ", " + dollars(r.Usage)
		}
		a.headed(good, "DELIVERED", fmt.Sprintf("%s, planner asked %s, %s%s",
			plural(r.Attempts, "attempt", "attempts"), plural(r.Deliberations, "time", "times"),
			wall.Round(time.Millisecond), cost))
		return
	case arc.Blocked:
		a.explain(bad, "BLOCKED", fmt.Sprintf("%s: %s", r.Cause, r.Reason))
		if r.Cause == arc.CauseSecret {
			a.say("           begin it anew, without the secret: a worker has it by arc creds set")
			return
		}
		a.goesOn(`resume --run %s --note "TEXT"`, r.ID)
		return
	case arc.Asking:
		a.explain(asking, "ASKS", strings.Join(r.Questions, " "))
		a.goesOn(`resume --run %s --answer "TEXT"`, r.ID)
		return
	case arc.Waiting:
		a.explain(asking, "WAITS", fmt.Sprintf("%s: %s", r.Cause, r.Reason))
		if r.Approval != nil {
			a.asked(r.Approval)
			a.askedHow(r.Approval)
			return
		}
	}
	a.goesOn("resume --run %s", r.ID)
}

// dollars is what was used: as reported, and beside it as estimated.
func dollars(u reason.Usage) string {
	return fmt.Sprintf("%d+%d tokens, $%.4f reported, $%.4f estimated", u.TokensIn, u.TokensOut, u.CostUSD, u.APICostUSD)
}
