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
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/contrib/notebook"
	"github.com/arc-learn/arc/contrib/skills"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// memory is a command on the memory of the scope.
func (c *command) memory(
	use, short string, do func(context.Context, memory.Space, string) error, flags func(*pflag.FlagSet),
) *cobra.Command {
	return c.leaf(reads, use, short, func(ctx context.Context, a *app, operand string) error {
		m, err := a.view().Memory(ctx)
		if err != nil {
			return err
		}
		return do(ctx, m, operand)
	}, flags)
}

// knowCommands are about what the agent knows.
func (c *command) knowCommands() []*cobra.Command {
	var q memory.Query
	recall := func(ctx context.Context, m memory.Space, text string) error {
		q.Text = text
		hits, err := m.Recall(ctx, q)
		none := `nothing is known of that: arc remember "…"`
		return list(c, hits, 0, err, "memory kind trusted score what", none, func(h memory.Hit) []string {
			text, is, score := strings.TrimPrefix(h.Trigger+": "+h.Content, ": "), fmt.Sprint(h.Trusted), h.Score
			return []string{short(string(h.ID)), string(h.Kind), is, fmt.Sprintf("%.2f", score), text}
		})
	}
	var d memory.Draft
	kind, resolution := string(memory.Fact), ""
	remember := func(ctx context.Context, m memory.Space, text string) error {
		d.Kind, d.Content = memory.Kind(kind), cmp.Or(resolution, text)
		if d.Content == "" {
			return usage(`remember what? arc remember "…"`)
		}
		r, err := m.Remember(ctx, d)
		return c.result("kept", r, err)
	}
	var read bool
	chunk := func(ctx context.Context, a *app, _ string) error {
		layer, err := learn.New(ctx, a.store, &learn.Options{Scope: a.scope})
		if err != nil {
			return err
		}
		defer layer.Close()
		do, said := skills.Write, "%d plans are written below %s\n"
		if read {
			do, said = skills.Sync, "%d plans were changed below %s\n"
		}
		n, err := do(ctx, layer, a.scope, a.path("skills", "learned"))
		c.Print(fmt.Sprintf(said, n, a.path("skills", "learned")))
		return err
	}
	return []*cobra.Command{
		c.memory("recall QUERY", "Show what memory has of something; alone: what is the most useful", recall,
			func(f *pflag.FlagSet) { f.IntVar(&q.K, "limit", 10, "at most so many") }),
		c.memory("remember TEXT", "Keep something that is so", remember, func(f *pflag.FlagSet) {
			const more = "; none: fact. A rule is told in every run, or where --trigger stands in the text"
			choice(f, &kind, "type", more, "fact", "pattern", "failure", "rule")
			f.StringVar(&d.Trigger, "trigger", "", "the situation that it is for")
			f.StringVar(&resolution, "resolution", "", "of a failure: what should be done differently")
			f.StringVar(&d.Source.Ref, "source", "", "where it comes from")
			f.StringVar(&d.Slot, "slot", "", "what it states the value of: a later one replaces it")
		}),
		c.memory("forget ID", "Delete a memory that is wrong", c.the("forgotten", memory.Space.Forget), nil),
		c.memory("trust ID", "Vouch for what an MCP client has said", c.the("trusted", memory.Space.Trust), nil),
		c.memory("consolidate", "Merge memories that are equal, and list those that are alike", c.consolidate, nil),
		c.leaf(drives, "decay", "Archive what never helped, and delete runs past the retention", c.decay, nil),
		c.leaf(reads, "chunk", "Write the plans that fire as skills/learned/NAME/SKILL.md", chunk,
			func(f *pflag.FlagSet) {
				f.BoolVar(&read, "read", false, "take up what a person has changed in the files")
			}),
		c.leaf(reads, "meta SESSION", "Say whether what a session does is working", c.meta, nil),
		c.leaf(reads, "health", "Say what failed and why, what waits, what memory is worth", c.health, nil),
		c.costsCommand(),
	}
}

// the does something with the one memory that a person means.
func (c *command) the(
	done string, do func(memory.Space, context.Context, memory.ID) error,
) func(context.Context, memory.Space, string) error {
	return func(ctx context.Context, m memory.Space, id string) error {
		all, err := collect(m.All(ctx))
		if err != nil {
			return err
		}
		r, err := find("memory", id, all, func(r memory.Record) string { return string(r.ID) })
		if err == nil {
			err = do(m, ctx, r.ID)
		}
		return c.result(done, r, err)
	}
}

func (c *command) consolidate(ctx context.Context, m memory.Space, _ string) error {
	merged, near, err := m.Consolidate(ctx)
	if err != nil {
		return err
	}
	c.Print(fmt.Sprintf("%d are merged, %d pairs are alike", merged, len(near)))
	for _, pair := range near[:min(len(near), 20)] {
		for i, id := range pair {
			if r, err := m.Get(ctx, id); err == nil {
				c.Print([]string{"- ", "  "}[i] + short(string(id)) + " " + cut(r.Content, c.Width-12))
			}
		}
	}
	return nil
}

func (c *command) decay(ctx context.Context, a *app, _ string) error {
	deleted, err := a.view().Maintain(ctx)
	if err == nil {
		c.Print(fmt.Sprintf("what never helped is archived, %d runs are deleted", deleted))
	}
	return err
}

func (c *command) meta(ctx context.Context, a *app, session string) error {
	if session == "" {
		return usage("which session? arc meta --session NAME, that of arc do --session")
	}
	s, err := a.view().Assess(ctx, session)
	return c.result("meta", s, err)
}

func (c *command) health(ctx context.Context, a *app, _ string) error {
	h, err := a.view().Health(ctx)
	if err != nil {
		return err
	}
	m, err := a.view().Memory(ctx)
	if err != nil {
		return err
	}
	holds, quarantined, _, err := m.Health(ctx)
	return c.result("health", map[string]any{"health": h, "text": h.Text(), "memory": holds,
		"quarantined": quarantined, "holdout": a.config.Load().Holdout}, err)
}

// overview is arc alone: what waits, what failed, what was saved, and what to type next.
func (c *command) overview(ctx context.Context, a *app, _ string) error {
	h, err := a.view().Health(ctx)
	runs, noRuns := a.runs(ctx)
	jobs, noTasks := collect(a.queue.List(ctx, a.scope))
	today, noCosts := a.costs(1, func(cost) cost { return cost{} })
	if err := cmp.Or(err, noRuns, noTasks, noCosts); err != nil {
		return err
	}
	var open []*arc.Report // those that have not ended, and the last that failed
	var next, failed []string
	week := time.Now().AddDate(0, 0, -7)
	for _, r := range runs {
		left := r.Status == arc.Running && taskOf(r.ID) == "" && len(slices.Collect(a.following(r.ID))) == 0
		switch {
		case r.Status == arc.Blocked && r.Ended.After(week) && len(failed) < 3:
			failed = append(failed, "arc runs show "+short(r.ID))
		case r.Status == arc.Asking:
			next = append(next, "arc answer "+short(r.ID)+` --text "…"`)
		case needsRuling(r):
			next = append(next, "arc approve "+short(r.ID))
		case r.Status == arc.Waiting, left: // at once, if it was left
			next = append(next, "arc resume "+short(r.ID))
		case !r.Ended.IsZero():
			continue
		}
		open = append(open, r)
	}
	tasks := map[string]int{}
	for _, j := range jobs {
		tasks[string(j.State)]++
	}
	if tasks["pending"] > 0 && a.door == nil {
		next = append(next, "arc serve, or arc run: nobody does the tasks")
	}
	if next = append(next, failed...); len(next) == 0 && h.State == "no_data" {
		next = []string{"arc doctor", `arc do "…"`}
	}
	var spent *reason.Usage
	if len(today) > 0 {
		spent = today[0].Usage
	}
	return c.result("overview", map[string]any{"health": h, "text": h.Text(), "open": open, "tasks": tasks,
		"today": spent, "next": next[:min(3, len(next))]}, nil)
}

// readNotes prints what a person and the agent have noted.
func (c *command) readNotes(ctx context.Context, a *app, _ string) error {
	if err := a.notes.Write(ctx, a.agent, idleFor); err != nil {
		return err
	}
	text, err := notebook.Read(a.path("memory", "MEMORY.md"))
	if errors.Is(err, fs.ErrNotExist) {
		text, err = "nothing is noted yet", nil
	}
	if err == nil {
		c.Print(text)
	}
	return err
}

// cost is what a worker's calls of a model took on a day. What nobody has told is nil.
type cost struct {
	Day, Worker, Model string
	*reason.Usage
}

func (a *app) ledger(day time.Time) string {
	return a.path(".arc", "costs", day.UTC().Format(time.DateOnly)+".jsonl")
}

// spend appends to the day's file what a call of a model took; nil is unknown, but for the call.
func (a *app) spend(model, worker string, u *reason.Usage) {
	u = cmp.Or(u, &reason.Usage{Calls: 1})
	line, err := json.Marshal(cost{Worker: worker, Model: model, Usage: u})
	f, wrong := os.OpenFile(a.ledger(time.Now()), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err = cmp.Or(err, wrong); err == nil {
		_, err = f.Write(append(line, '\n'))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		a.log.Error("what a model took is not noted", "error", err)
	}
}

// costs adds up the files of the last days by a key, and sorts by that.
func (a *app) costs(days int, key func(cost) cost) (out []cost, err error) {
	sums := map[cost]*reason.Usage{}
	for i := range days {
		day := time.Now().UTC().AddDate(0, 0, i+1-days)
		data, err := os.ReadFile(a.ledger(day))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for line := range bytes.Lines(data) {
			one := cost{Usage: &reason.Usage{}}
			if json.Unmarshal(line, &one) == nil { // else a crash has cut it
				one.Day = day.Format(time.DateOnly)
				sums[key(one)] = sums[key(one)].Add(one.Usage)
			}
		}
	}
	for k, u := range sums {
		out = append(out, cost{k.Day, k.Worker, k.Model, u})
	}
	name := func(c cost) string { return c.Day + c.Worker + c.Model }
	slices.SortFunc(out, func(x, y cost) int { return strings.Compare(name(x), name(y)) })
	return out, nil
}

func (c *command) costsCommand() *cobra.Command {
	var days int
	by := "day"
	costs := func(ctx context.Context, a *app, _ string) error {
		key := map[string]func(cost) cost{
			"day":    func(c cost) cost { return cost{Day: c.Day} },
			"worker": func(c cost) cost { return cost{Worker: c.Worker} },
			"model":  func(c cost) cost { return cost{Model: c.Model} },
		}[by]
		all, err := a.costs(days, key)
		head, none := by+" calls tokens reported estimated", "no model was asked in these days"
		return list(c, all, 0, err, head, none, func(s cost) []string {
			calls, tokens := fmt.Sprint(s.Calls), fmt.Sprint(s.Input+s.Output)
			return []string{s.Day + s.Worker + s.Model, calls, tokens, dollars(s.CostUSD), dollars(s.EstimateUSD)}
		})
	}
	const short = "Say what models took: tokens, dollars reported, dollars estimated"
	return c.leaf(reads, "costs", short, costs, func(f *pflag.FlagSet) {
		f.IntVar(&days, "days", 7, "so many, with today")
		choice(f, &by, "by", "; none: day", "day", "worker", "model")
	})
}
