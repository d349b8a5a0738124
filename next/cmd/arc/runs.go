package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	arc "github.com/arc-learn/arc/next"
	"github.com/arc-learn/arc/next/act"
	"github.com/arc-learn/arc/next/learn"
	"github.com/arc-learn/arc/next/reason"
)

// runCommands are those that work, and that look at work.
func (c *command) runCommands() []*cobra.Command {
	out := []*cobra.Command{c.doCommand(), c.thinkCommand(), c.runsCommand()}
	for _, o := range []struct {
		use, about string
		how        access
		do         func(context.Context, *app, *arc.Report, string) error
		text       string // the name of the flag of a text
	}{
		{"answer", "Answer what a run asks, and go on with it", drives, c.answer, "text"},
		{"approve", "Allow what a run waits for, and go on with it", drives, c.ruling(true), "note"},
		{"deny", "Refuse what a run waits for", drives, c.ruling(false), "note"},
		{"retry", "Try a blocked run again", drives, c.retry, "note"},
		{"resume", "Go on with a run that was left, and follow it", drives, c.resume, ""},
		{"cancel", "End a run", drives, c.cancel, "why"},
		{"judge", "Say what a run was worth: --verdict delivered or failed", reads, c.judge, "verdict"},
	} {
		var id, text, why string
		cmd := &cobra.Command{Use: o.use + " [ID]", Short: o.about, Args: cobra.MaximumNArgs(1), ValidArgsFunction: c.completeRuns}
		cmd.Flags().StringVar(&id, "id", "", "the run: an ID of arc runs, or its beginning; none: the one that waits")
		if o.text != "" {
			cmd.Flags().StringVar(&text, o.text, "", "in words")
		}
		if o.use == "judge" {
			cmd.Flags().StringVar(&why, "why", "", "in words")
		}
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				id = args[0]
			}
			return c.with(o.how, func(ctx context.Context, a *app) error {
				r, err := a.run(ctx, id, o.use)
				if err != nil {
					return err
				}
				if why != "" {
					text += "\x00" + why
				}
				return o.do(ctx, a, r, text)
			})(cmd, args)
		}
		out = append(out, cmd)
	}
	return out
}

// objective are the flags of do and think.
func (c *command) objective(cmd *cobra.Command) *arc.Objective {
	o := &arc.Objective{}
	f := cmd.Flags()
	f.StringVar(&o.Text, "text", "", "what is to be done; it may stand without the flag")
	f.StringVar(&o.Situation, "situation", "", "the kind of case: equal cases have the same words")
	f.Var(jsonFlag{&o.Inputs}, "inputs", "JSON object: what varies between cases")
	f.Var(jsonFlag{&o.Data}, "data", "JSON that workers get, and that is no part of the case")
	f.StringVar(&o.Session, "session", "", "runs of a session are assessed together")
	f.StringSliceVar(&o.Conditions, "condition", nil, "what else must hold for the same plan to be right")
	f.StringSliceVar(&o.Secrets, "secret", nil, "names of credentials that may stand in the inputs")
	f.Float64Var(&o.Budget.USD, "usd", 0, "the most dollars; 0: the budget of arc.yaml")
	f.BoolVar(&o.Fresh, "fresh", false, "without memory: nothing is recalled and no plan fires")
	cmd.Args = cobra.ArbitraryArgs
	return o
}

// jsonFlag is a flag of JSON.
type jsonFlag struct{ to *json.RawMessage }

func (f jsonFlag) String() string { return "" }
func (f jsonFlag) Type() string   { return "json" }
func (f jsonFlag) Set(s string) error {
	if !json.Valid([]byte(s)) {
		return errors.New("it is no JSON")
	}
	*f.to = json.RawMessage(s)
	return nil
}

func (c *command) doCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "do [--text] TEXT", Short: "Do something, and learn from it",
		Example: `  arc do "collect the todos"` + "\n" + `  arc do --text "refund the order" --inputs '{"order":"A-17"}'`}
	o := c.objective(cmd)
	var skills []string
	cmd.Flags().StringSliceVar(&skills, "skill", nil, "skills whose SKILL.md is read first")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.Text == "" {
			o.Text = strings.Join(args, " ")
		}
		if o.Text == "" {
			return usage("what is to be done? arc do --text \"…\"")
		}
		return c.with(drives, func(ctx context.Context, a *app) error {
			o.ID = newRun(time.Now())
			if o.Budget == (arc.Budget{}) {
				o.Budget = arc.Budget(budget(a.config.Load().Budget))
			}
			if len(skills) > 0 && o.Data == nil {
				o.Data, _ = json.Marshal(map[string]any{"skills": skills})
			}
			return c.watch(ctx, a, o.ID, func(ctx context.Context) (*arc.Report, error) { return a.agent.Run(ctx, *o) })
		})(cmd, args)
	}
	return cmd
}

// newRun makes an ID that sorts by its time.
func newRun(now time.Time) string {
	return now.UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:8])
}

func (c *command) thinkCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "think [--text] TEXT", Short: "Say what would be done, and why; nothing is done or kept"}
	o := c.objective(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.Text == "" {
			o.Text = strings.Join(args, " ")
		}
		if o.Text == "" {
			return usage("what about? arc think --text \"…\"")
		}
		return c.with(drives, func(ctx context.Context, a *app) error {
			t, err := a.agent.Think(ctx, *o)
			if err != nil {
				return err
			}
			if c.json {
				return c.writeJSON(t)
			}
			for _, h := range t.Advice.Memories {
				c.print(c.paint(faint, "recalled  ") + cut(cmp.Or(h.Content, h.Trigger), c.width-10))
			}
			for _, w := range t.Advice.Warnings {
				c.print(c.paint(yellow, "warning   ") + cut(warning(w), c.width-10))
			}
			how := "plan"
			if t.Fired > 0 {
				how = "a learned plan, without asking a model"
			} else if t.Advice.Why != "" {
				c.print(c.paint(faint, "no plan fires: ") + cut(t.Advice.Why, c.width-15))
			}
			for i, task := range t.Tasks {
				c.print(fmt.Sprintf("%-9s %d. %s %s %s", how, i+1, cmp.Or(task.Skill, task.Worker), task.Objective, task.Inputs))
				how = ""
			}
			if t.Status != arc.Running {
				c.print(string(t.Status) + ": " + t.Text)
			}
			return nil
		})(cmd, args)
	}
	return cmd
}

// warning is one in words.
func warning(w reason.Warning) string {
	text := fmt.Sprintf("%s: %s (%d times)", cmp.Or(w.Skill, "it"), w.Complaint, w.Times)
	if w.Instead != "" {
		text += "; passed instead: " + w.Instead
	}
	return text
}

// watch follows a run that f begins or goes on with, and prints what comes of it.
func (c *command) watch(ctx context.Context, a *app, id string, f func(context.Context) (*arc.Report, error)) error {
	p := &progress{screen: c.screen, since: time.Now()}
	end := a.follow(id, c.screen, p.tell)
	defer end()
	p.busy("begins")
	r, err := f(ctx)
	for err == nil && r.Status == arc.Asking && c.ask != nil {
		c.still()
		for _, q := range r.Questions {
			c.say(c.paint(yellow, "? ") + q)
		}
		var text string
		if text, err = c.question(ctx, "  > "); err != nil || text == "" {
			err = nil
			break // it goes on asking
		}
		r, err = a.view().Answer(ctx, id, text)
	}
	c.still()
	if err != nil {
		if ctx.Err() != nil && r != nil {
			c.say(fmt.Sprintf("interrupted: arc resume %s goes on where it was", short(id)))
			return &exitError{code: exitInterrupted}
		}
		return err
	}
	a.learned(context.WithoutCancel(ctx), r)
	return c.outcome(ctx, a, r)
}

// outcome prints where a run is, and what to type next.
func (c *command) outcome(ctx context.Context, a *app, r *arc.Report) error {
	if c.json {
		if err := c.writeJSON(r); err != nil {
			return err
		}
		return finished(r)
	}
	id := short(r.ID)
	switch r.Status {
	case arc.Delivered:
		c.print(cmp.Or(r.Text, "done"))
	case arc.Blocked:
		c.say(c.paint(red, "blocked") + fmt.Sprintf(" (%s): %s", r.Cause, r.Text))
		c.say("  arc runs show " + id + "   what happened, whole\n  arc retry " + id + "       once that is mended")
	case arc.Asking:
		c.say(c.paint(yellow, "it asks: ") + r.Text + "\n  arc answer " + id + ` --text "…"`)
	case arc.Waiting:
		c.say(c.paint(yellow, "waits: ") + r.Text)
		if len(r.Approvals) > 0 {
			c.say("  arc approve " + id + "   or   arc deny " + id)
		}
	default:
		c.say(string(r.Status) + ": " + r.Text)
	}
	c.say(c.paint(faint, id+" · "+a.took(r)))
	if text := a.saved(ctx, r); text != "" {
		c.say(c.paint(green, text))
	}
	return finished(r)
}

// took says what a run took.
func (a *app) took(r *arc.Report) string {
	end := r.Ended
	if end.IsZero() {
		end = time.Now()
	}
	text := span(end.Sub(r.Began))
	if r.Attempts != 1 {
		text += fmt.Sprintf(", %d attempts", r.Attempts)
	}
	return text + ", " + usageText(r.Usage)
}

// usageText has the three figures: tokens, dollars reported, dollars estimated.
func usageText(u *reason.Usage) string {
	if u == nil {
		return "no model was asked"
	}
	text := fmt.Sprintf("%d model calls, %d tokens", u.Calls, u.Input+u.Output)
	switch {
	case u.CostUSD != nil:
		text += ", " + dollars(u.CostUSD)
	case u.EstimateUSD != nil:
		text += ", about " + dollars(u.EstimateUSD)
	default:
		text += ", dollars unknown"
	}
	return text
}

// saved says what memory has spared a run.
func (a *app) saved(ctx context.Context, r *arc.Report) string {
	if r.Status != arc.Delivered || r.Fired == 0 || r.Deliberations > 0 {
		return ""
	}
	h, err := a.agent.Health(ctx, a.scope)
	text := "by a learned plan, without asking the planner"
	if err == nil && h.Saved.Calls.N > 0 {
		text += fmt.Sprintf(": about %.1f model calls", -h.Saved.Calls.Mean)
		if h.Saved.USD.N > 0 {
			text += fmt.Sprintf(" and $%.4f", -h.Saved.USD.Mean)
		}
		text += " saved"
	}
	return text
}

// progress shows a run as it goes on.
type progress struct {
	*screen
	mu     sync.Mutex
	doing  string
	words  string // the last of the model's
	since  time.Time
	usd    float64
	priced bool
}

func (p *progress) busy(doing string) {
	p.mu.Lock()
	p.doing, p.since, p.words = doing, time.Now(), ""
	p.mu.Unlock()
	p.show(func(width int) string {
		p.mu.Lock()
		defer p.mu.Unlock()
		text := fmt.Sprintf("%s … %s", p.doing, span(time.Since(p.since)))
		if p.priced {
			text += fmt.Sprintf(", $%.3f", p.usd)
		}
		if room := width - cells(text) - 4; p.words != "" && room > 10 {
			words := []rune(strings.Join(strings.Fields(p.words), " "))
			text += "  " + string(words[max(0, len(words)-room):])
		}
		return text
	})
}

// tell shows an event.
func (p *progress) tell(e arc.Event) {
	name := p.paint(bold, e.Name)
	switch e.Kind {
	case "asked":
		p.busy("asking " + e.Name)
	case "heard":
		var u *reason.Usage
		if json.Unmarshal(e.Data, &u) == nil && u != nil {
			if usd := cmp.Or(u.CostUSD, u.EstimateUSD); usd != nil {
				p.mu.Lock()
				p.usd, p.priced = p.usd+*usd, true
				p.mu.Unlock()
			}
		}
		p.busy("thinking about what " + e.Name + " said")
	case "words":
		p.mu.Lock()
		p.words += e.Text
		p.words = p.words[max(0, len(p.words)-500):]
		p.mu.Unlock()
	case "recalled":
		if e.Text != "0 memories, 0 warnings" {
			p.say(p.paint(faint, "recalled "+e.Text))
		}
	case "fired":
		p.say(p.paint(green, "a learned plan: ") + e.Text)
	case "decided":
		p.say(p.paint(faint, "plan: ") + cut(e.Text, 3*p.width))
	case "attempt":
		p.say(p.paint(cyan, "▸ ") + name + " " + p.paint(faint, cut(e.Text, p.width-4-len(e.Name))))
		p.busy(e.Name + " works")
	case "output":
		p.say(p.paint(faint, "  │ ") + strings.TrimRight(e.Text, "\r\n"))
	case "calling":
		p.busy(e.Name + " works")
	case "tool":
		p.say("  " + p.paint(cyan, "→ ") + name + " " + p.paint(faint, cut(cmp.Or(e.Text, string(e.Data)), p.width-6-len(e.Name))))
	case "failed":
		text := strings.TrimSpace(e.Text)
		lines := strings.SplitN(text, "\n", 12)
		if len(lines) == 12 {
			lines[11] = "… arc runs show has it whole"
		}
		p.say(p.paint(red, "✗ ") + name + " " + strings.Join(lines, "\n    "))
	case "delivered":
		if e.Name != "" {
			p.say(p.paint(green, "✓ ") + name)
		}
	case "learned":
		p.say(p.paint(green, "learned: ") + e.Text)
	case "waiting", "stuck", "refused", "source failed", "subgoal", "subgoal reached", "retried", "approval asked", "notify":
		p.say(p.paint(yellow, e.Kind+" ") + cut(strings.TrimSpace(e.Name+" "+e.Text), 3*p.width))
	}
}

// all are the runs of the scope, the latest first.
func (a *app) runs(ctx context.Context) (out []*arc.Report, err error) {
	for r, err := range a.view().Runs(ctx) {
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(x, y *arc.Report) int { return y.Began.Compare(x.Began) })
	return out, nil
}

// run is the one that a person means; without an ID the only one that a command is for.
func (a *app) run(ctx context.Context, typed, what string) (*arc.Report, error) {
	all, err := a.runs(ctx)
	if err != nil {
		return nil, err
	}
	if typed != "" {
		return find("run", typed, all, func(r *arc.Report) string { return r.ID })
	}
	fits := map[string]func(*arc.Report) bool{
		"answer":  func(r *arc.Report) bool { return r.Status == arc.Asking },
		"approve": func(r *arc.Report) bool { return len(r.Approvals) > 0 },
		"deny":    func(r *arc.Report) bool { return len(r.Approvals) > 0 },
		"retry":   func(r *arc.Report) bool { return r.Status == arc.Blocked },
		"resume":  func(r *arc.Report) bool { return r.Status == arc.Running || r.Status == arc.Waiting },
		"cancel":  func(r *arc.Report) bool { return r.Ended.IsZero() },
		"judge":   func(r *arc.Report) bool { return !r.Ended.IsZero() },
	}
	if f := fits[what]; f != nil {
		all = slices.DeleteFunc(all, func(r *arc.Report) bool { return !f(r) })
	}
	switch {
	case len(all) == 0:
		return nil, usage("no run to %s", cmp.Or(what, "show"))
	case len(all) > 1 && what != "show":
		return nil, usage("%d runs could be meant: arc runs lists them; arc %s ID", len(all), what)
	}
	return all[0], nil
}

func (c *command) runsCommand() *cobra.Command {
	var status string
	var limit int
	cmd := &cobra.Command{Use: "runs", Short: "List runs, the latest first", Args: cobra.NoArgs}
	cmd.Flags().StringVar(&status, "status", "", "running, waiting, asking, delivered, blocked or canceled")
	cmd.Flags().IntVar(&limit, "limit", 20, "at most so many")
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions([]string{
		"running", "waiting", "asking", "delivered", "blocked", "canceled"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = c.with(reads, func(ctx context.Context, a *app) error {
		all, err := a.runs(ctx)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(r *arc.Report) bool { return status != "" && string(r.Status) != status })
		shown := all[:min(limit, len(all))]
		if c.json {
			return c.writeJSON(shown)
		}
		var rows [][]string
		for _, r := range shown {
			rows = append(rows, []string{short(r.ID), string(r.Status), ago(time.Now(), r.Began), r.Objective})
		}
		if len(rows) == 0 {
			c.print(`no runs: arc do "…"`)
			return nil
		}
		c.table([]string{"run", "status", "began", "objective"}, rows)
		if len(all) > len(shown) {
			c.say(fmt.Sprintf("%d others: --limit %d", len(all)-len(shown), len(all)))
		}
		return nil
	})
	var id string
	var follow bool
	show := &cobra.Command{Use: "show [ID]", Short: "Show what happened in a run, whole", Args: cobra.MaximumNArgs(1), ValidArgsFunction: c.completeRuns}
	show.Flags().StringVar(&id, "id", "", "the run; none: the latest")
	show.Flags().BoolVar(&follow, "follow", false, "go on until it has ended")
	show.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			id = args[0]
		}
		return c.with(reads, func(ctx context.Context, a *app) error { return c.showRun(ctx, a, id, follow) })(cmd, args)
	}
	cmd.AddCommand(show)
	return cmd
}

// showRun prints the journal of a run.
func (c *command) showRun(ctx context.Context, a *app, typed string, follow bool) error {
	r, err := a.run(ctx, typed, "show")
	if err != nil {
		return err
	}
	reading, stop := context.WithCancel(ctx)
	defer stop()
	if !follow && r.Ended.IsZero() { // what is there is read; the rest is not waited for
		context.AfterFunc(ctx, stop)
		time.AfterFunc(time.Second, stop)
	}
	var events []arc.Event
	if !c.json {
		c.print(c.paint(bold, short(r.ID)) + " " + c.paint(paints[string(r.Status)], string(r.Status)) + " " + r.Objective)
		c.print(c.paint(faint, r.ID+", began "+r.Began.Local().Format("2006-01-02 15:04:05")+", "+a.took(r)))
	}
	for e, err := range a.view().Watch(reading, r.ID) {
		if err != nil {
			if reading.Err() != nil && ctx.Err() == nil {
				break
			}
			return err
		}
		if c.json {
			events = append(events, e)
			continue
		}
		text := strings.TrimRight(e.Text, "\n")
		if len(e.Data) > 0 && e.Kind != "output" {
			text = strings.TrimSpace(text + "\n" + string(e.Data))
		}
		text = strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 20))
		c.print(fmt.Sprintf("%s %s %s %s", c.paint(faint, e.At.Local().Format("15:04:05")),
			c.paint(paints[e.Kind], fmt.Sprintf("%-10s", e.Kind)), c.paint(bold, e.Name), text))
	}
	if c.json {
		return c.writeJSON(map[string]any{"run": r, "events": events})
	}
	if r.Ended.IsZero() {
		c.print(c.paint(yellow, string(r.Status)+": ") + r.Text)
	}
	return nil
}

func (c *command) answer(ctx context.Context, a *app, r *arc.Report, text string) error {
	if text == "" {
		for _, q := range r.Questions {
			c.say(c.paint(yellow, "? ") + q)
		}
		var err error
		if text, err = c.question(ctx, "  > "); errors.Is(err, io.EOF) || text == "" {
			return usage(`what is the answer? arc answer %s --text "…"`, short(r.ID))
		} else if err != nil {
			return err
		}
	}
	return c.watch(ctx, a, r.ID, func(ctx context.Context) (*arc.Report, error) { return a.view().Answer(ctx, r.ID, text) })
}

// ruling rules on all that the run waits for, and follows it.
func (c *command) ruling(allow bool) func(context.Context, *app, *arc.Report, string) error {
	return func(ctx context.Context, a *app, r *arc.Report, note string) error {
		if len(r.Approvals) == 0 {
			return usage("run %s waits for nobody", short(r.ID))
		}
		for _, p := range r.Approvals {
			word := "denied"
			if allow {
				word = "allowed"
			}
			c.say(word + ": " + p.Name + " " + cut(string(p.Inputs), c.width-10))
		}
		return c.watch(ctx, a, r.ID, func(ctx context.Context) (*arc.Report, error) {
			for _, p := range r.Approvals {
				if err := a.view().Decide(ctx, act.Ruling{Approval: p.ID, Allow: allow, By: cmp.Or(c.person, "the command line"), Note: note}); err != nil {
					return nil, err
				}
			}
			return a.settled(ctx, r)
		})
	}
}

// settled waits until a run has ended, or waits for something else than it did.
func (a *app) settled(ctx context.Context, was *arc.Report) (*arc.Report, error) {
	for {
		r, err := a.view().Report(ctx, was.ID)
		if err != nil || r.Status == arc.Asking || !r.Ended.IsZero() {
			return r, err
		}
		if r.Status == arc.Waiting && len(r.Approvals) > 0 && r.Approvals[0].ID != was.Approvals[0].ID {
			return r, nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return r, ctx.Err()
		}
	}
}

func (c *command) retry(ctx context.Context, a *app, r *arc.Report, note string) error {
	return c.watch(ctx, a, r.ID, func(ctx context.Context) (*arc.Report, error) { return a.view().Retry(ctx, r.ID, note) })
}

func (c *command) resume(ctx context.Context, a *app, r *arc.Report, _ string) error {
	return c.watch(ctx, a, r.ID, func(ctx context.Context) (*arc.Report, error) {
		r, err := a.view().Resume(ctx, r.ID)
		if errors.Is(err, arc.ErrRunning) {
			return a.view().Wait(ctx, r.ID)
		}
		return r, err
	})
}

func (c *command) cancel(ctx context.Context, a *app, r *arc.Report, why string) error {
	if err := a.view().Cancel(ctx, r.ID, cmp.Or(why, "by "+cmp.Or(c.person, "the command line"))); err != nil {
		return err
	}
	c.print("canceled " + short(r.ID))
	return nil
}

func (c *command) judge(ctx context.Context, a *app, r *arc.Report, text string) error {
	verdict, why, _ := strings.Cut(text, "\x00")
	if verdict != "delivered" && verdict != "failed" {
		return usage("what was it worth? arc judge %s --verdict delivered, or failed", short(r.ID))
	}
	if err := a.view().Judge(ctx, r.ID, learn.Verdict(verdict), why); err != nil {
		return err
	}
	c.print("run " + short(r.ID) + " counts as " + verdict)
	return nil
}

// completeRuns are the IDs of runs, with their objectives.
func (c *command) completeRuns(cmd *cobra.Command, _ []string, begun string) (out []string, _ cobra.ShellCompDirective) {
	_ = c.with(reads, func(ctx context.Context, a *app) error {
		all, err := a.runs(ctx)
		for _, r := range all[:min(len(all), 50)] {
			if id := short(r.ID); strings.HasPrefix(id, begun) {
				out = append(out, id+"\t"+string(r.Status)+": "+cut(r.Objective, 50))
			}
		}
		return err
	})(cmd, nil)
	return out, cobra.ShellCompDirectiveNoFileComp
}
