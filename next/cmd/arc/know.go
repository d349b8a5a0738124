package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	arc "github.com/arc-learn/arc/next"
	"github.com/arc-learn/arc/next/learn"
	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/store"
)

// memory is a command on the memory of the scope.
func (c *command) memory(
	use, short string, f func(ctx context.Context, m memory.Space, args []string) error, flags func(*pflag.FlagSet),
) *cobra.Command {
	return c.leaf(reads, use, short, func(ctx context.Context, a *app, args []string) error {
		m, err := a.view().Memory(ctx)
		if err != nil {
			return err
		}
		return f(ctx, m, args)
	}, flags)
}

// knowCommands are about what the agent knows.
func (c *command) knowCommands() []*cobra.Command {
	var q memory.Query
	var d memory.Draft
	var session, kind, resolution string
	var helped, misled, forget, read bool
	return []*cobra.Command{
		c.memory("recall TEXT", "Show what memory has of something", func(ctx context.Context, m memory.Space, args []string) error {
			q.Text = cmp.Or(q.Text, strings.Join(args, " "))
			hits, err := m.Recall(ctx, q)
			if err != nil {
				return err
			}
			var rows [][]string
			for _, h := range hits {
				text := strings.TrimPrefix(h.Trigger+": "+h.Content, ": ")
				rows = append(rows, []string{short(string(h.ID)), string(h.Kind), fmt.Sprintf("%.2f", h.Score), text})
			}
			return c.list(hits, "memory kind score what", rows, len(hits), `nothing is known of that: arc remember "…"`)
		}, func(f *pflag.FlagSet) {
			f.StringVar(&q.Text, "query", "", "what about; none: the most useful and most recent")
			f.IntVar(&q.K, "limit", 10, "at most so many")
		}),
		c.memory("remember TEXT", "Keep something that is so", func(ctx context.Context, m memory.Space, args []string) error {
			d.Kind, d.Content = memory.Kind(kind), cmp.Or(resolution, d.Content, strings.Join(args, " "))
			if d.Content == "" {
				return usage(`remember what? arc remember "…"`)
			}
			r, err := m.Remember(ctx, d)
			if err == nil {
				c.print("kept " + short(string(r.ID)) + ": " + cut(r.Content, c.Width-14))
			}
			return err
		}, func(f *pflag.FlagSet) {
			f.StringVar(&d.Content, "text", "", "what")
			f.StringVar(&kind, "type", "fact", "fact, pattern, failure, or rule: told in every run, or where --trigger stands in the text")
			f.StringVar(&d.Trigger, "trigger", "", "the situation that it is for")
			f.StringVar(&resolution, "resolution", "", "of a failure: what should be done differently")
			f.StringVar(&d.Source.Ref, "source", "", "where it comes from")
			f.StringVar(&d.Slot, "slot", "", "what it states the value of: a later one replaces it")
		}),
		c.memory("feedback TEXT", "Say of memories, by their IDs, that they helped, misled, or are wrong", func(ctx context.Context, m memory.Space, args []string) error {
			if len(args) == 0 || !helped && !misled && !forget {
				return usage("arc feedback ID --utilized, --misled or --forget; of a run: arc judge")
			}
			var all []memory.Record
			for r, err := range m.All(ctx) {
				if err != nil {
					return err
				}
				all = append(all, r)
			}
			said := memory.Feedback{Key: "cli/" + newRun(time.Now())}
			for _, typed := range args {
				r, err := find("memory", typed, all, func(r memory.Record) string { return string(r.ID) })
				if err == nil && forget {
					err = m.Forget(ctx, r.ID)
				}
				if err != nil {
					return err
				}
				said.Shown = append(said.Shown, r.ID)
			}
			if helped {
				said.Utilized = said.Shown
			}
			if misled {
				said.Misled = said.Shown
			}
			err := m.Feedback(ctx, said)
			if err == nil {
				c.print("noted")
			}
			return err
		}, func(f *pflag.FlagSet) {
			f.BoolVar(&helped, "utilized", false, "they helped")
			f.BoolVar(&misled, "misled", false, "they led astray")
			f.BoolVar(&forget, "forget", false, "they are wrong, and go")
		}),
		c.memory("consolidate", "Merge memories that are equal, and list those that are alike", func(ctx context.Context, m memory.Space, _ []string) error {
			merged, near, err := m.Consolidate(ctx)
			if err != nil {
				return err
			}
			c.print(fmt.Sprintf("%d are merged, %d pairs are alike", merged, len(near)))
			for _, pair := range near[:min(len(near), 20)] {
				for i, id := range pair {
					if r, err := m.Get(ctx, id); err == nil {
						c.print(map[int]string{0: "- ", 1: "  "}[i] + short(string(id)) + " " + cut(r.Content, c.Width-12))
					}
				}
			}
			return nil
		}, nil),
		c.leaf(drives, "decay", "Archive what never helped, and delete runs past the retention", func(ctx context.Context, a *app, _ []string) error {
			m, err := a.view().Memory(ctx)
			if err != nil {
				return err
			}
			archived, err := m.Decay(ctx)
			if err != nil {
				return err
			}
			deleted, err := a.agent.Maintain(ctx, a.scope)
			c.print(fmt.Sprintf("%d memories are archived, %d runs are deleted", archived, deleted))
			return err
		}, nil),
		c.leaf(reads, "chunk", "Write the plans that fire as skills/learned/NAME/SKILL.md", func(ctx context.Context, a *app, _ []string) error {
			layer, err := learn.New(ctx, a.store, &learn.Options{Scope: a.scope})
			if err != nil {
				return err
			}
			defer layer.Close()
			do, said := layer.WriteSkills, "%d plans are written below %s\n"
			if read {
				do, said = layer.ReadSkills, "%d plans were changed below %s\n"
			}
			n, err := do(ctx, a.scope, a.path("skills", "learned"))
			c.print(fmt.Sprintf(said, n, a.path("skills", "learned")))
			return err
		}, func(f *pflag.FlagSet) {
			f.BoolVar(&read, "read", false, "take up what a person has changed in the files")
		}),
		c.leaf(reads, "meta", "Say whether what a session does is working", func(ctx context.Context, a *app, _ []string) error {
			if session == "" {
				return usage("which session? arc meta --session NAME, that of arc do --session")
			}
			s, err := a.view().Assess(ctx, session)
			if err != nil || c.json {
				return errors.Join(err, c.writeJSON(s))
			}
			c.print(c.paint(paints[s.State], s.State) + ": " + strings.Join(append([]string{s.Step}, s.Also...), ", "))
			for _, e := range s.Evidence {
				c.print("  " + e)
			}
			for _, l := range s.Left {
				c.print("  not tried yet: " + l)
			}
			return nil
		}, func(f *pflag.FlagSet) { f.StringVar(&session, "session", "", "that of arc do --session") }),
		c.leaf(reads, "health", "Say how it goes: what failed and why, what waits, what memory is worth", c.health, nil),
		c.costsCommand(),
	}
}

func (c *command) health(ctx context.Context, a *app, _ []string) error {
	h, err := a.agent.Health(ctx, a.scope)
	if err != nil {
		return err
	}
	m, err := a.view().Memory(ctx)
	if err != nil {
		return err
	}
	holds, quarantined, _, err := m.Health(ctx)
	if err != nil || c.json {
		return errors.Join(err, c.writeJSON(map[string]any{"health": h, "text": h.Text(), "memory": holds, "quarantined": quarantined}))
	}
	state, rest, _ := strings.Cut(h.Text(), ":")
	c.print(c.paint(paints[h.State], state) + ":" + rest)
	var kinds []string
	for _, k := range []memory.Kind{memory.Fact, memory.Rule, memory.Pattern, memory.Failure, memory.Episode} {
		if n := holds[k]; n > 0 {
			kinds = append(kinds, english.Plural(n, string(k), ""))
		}
	}
	c.print("memory: " + cmp.Or(strings.Join(kinds, ", "), "empty"))
	if u := h.Uplift; u.Delivered.N > 0 {
		c.print(fmt.Sprintf("beside runs without memory: %+.0f %% delivered, %+.1f model calls a run (%d runs)",
			100*u.Delivered.Mean, u.Calls.Mean, u.Delivered.N))
	} else if a.config.Load().Holdout == 0 {
		c.print(c.paint(faint, "holdout: 0.1 in arc.yaml measures what memory is worth beside runs without it"))
	}
	return nil
}

// ledger has what models took on a day, by worker and model: "agent\x00gpt-5-mini".
type ledger map[string]*reason.Usage

func ledgerKey(day time.Time) string { return "cli/ledger/" + day.UTC().Format(time.DateOnly) }

// spend puts into the ledger what a call of a model took; nil is unknown, but for the call. It is no part of a run's
// commit: a crash between the two loses a call's figure.
func (a *app) spend(ctx context.Context, model, worker string, u *reason.Usage) {
	if u == nil {
		u = &reason.Usage{Calls: 1}
	}
	err := a.group.Update(context.WithoutCancel(ctx), func(b *store.Batch) error {
		day := ledger{}
		e, err := b.Get(ctx, ledgerKey(time.Now()))
		if err == nil {
			err = json.Unmarshal(e.Value, &day)
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		name := cmp.Or(worker, "-") + "\x00" + model
		day[name] = day[name].Add(u)
		raw, err := json.Marshal(day)
		if err != nil {
			return err
		}
		return b.Put(ledgerKey(time.Now()), raw, store.Any) // the group is the only writer
	})
	if err != nil {
		a.log.Error("the ledger", "error", err)
	}
}

// cost is a line of arc costs. What nobody has told is nil.
type cost struct {
	Day, Worker, Model string
	*reason.Usage
}

// costs reads the ledger of the last days.
func (a *app) costs(ctx context.Context, days int) (out []cost, err error) {
	for i := range days {
		day, entries := time.Now().UTC().AddDate(0, 0, i+1-days), ledger{}
		e, err := a.group.Store().Get(ctx, ledgerKey(day))
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err == nil {
			err = json.Unmarshal(e.Value, &entries)
		}
		if err != nil {
			return nil, err
		}
		for name, u := range entries {
			worker, model, _ := strings.Cut(name, "\x00")
			out = append(out, cost{day.Format(time.DateOnly), worker, model, u})
		}
	}
	slices.SortFunc(out, func(x, y cost) int { return strings.Compare(x.Day+x.Worker+x.Model, y.Day+y.Worker+y.Model) })
	return out, nil
}

func (c *command) costsCommand() *cobra.Command {
	var days int
	var by string
	return c.leaf(reads, "costs", "Say what models took: tokens, dollars reported, dollars estimated", func(ctx context.Context, a *app, _ []string) error {
		all, err := a.costs(ctx, days)
		if err != nil {
			return err
		}
		sums, order := map[string]*reason.Usage{}, []string{}
		for _, one := range all {
			k, ok := map[string]string{"day": one.Day, "worker": one.Worker, "model": one.Model}[by]
			if !ok {
				return usage("--by is day, worker or model")
			}
			if sums[k] == nil {
				order = append(order, k)
			}
			sums[k] = sums[k].Add(one.Usage)
		}
		var rows [][]string
		for _, k := range order {
			s := sums[k]
			rows = append(rows, []string{k, fmt.Sprint(s.Calls), fmt.Sprint(s.Input + s.Output), dollars(s.CostUSD), dollars(s.EstimateUSD)})
		}
		return c.list(all, by+" calls tokens reported estimated", rows, len(rows), "no model was asked in these days")
	}, func(f *pflag.FlagSet) {
		f.IntVar(&days, "days", 7, "so many, with today")
		f.StringVar(&by, "by", "day", "day, worker or model")
	})
}

// overview is arc alone: what waits, what failed, what was saved, and what to type next.
func (c *command) overview(ctx context.Context, a *app, _ []string) error {
	h, err := a.agent.Health(ctx, a.scope)
	if err != nil {
		return err
	}
	today, err := a.costs(ctx, 1)
	if err != nil {
		return err
	}
	jobs, err := a.tasks(ctx)
	if err != nil {
		return err
	}
	var spent *reason.Usage
	for _, one := range today {
		spent = spent.Add(one.Usage)
	}
	tasks := map[string]int{}
	for _, j := range jobs {
		tasks[string(j.State)]++
	}
	if c.json {
		return c.writeJSON(map[string]any{"health": h, "text": h.Text(), "tasks": tasks, "today": spent})
	}
	runs, err := a.runs(ctx)
	if err != nil {
		return err
	}
	state, _, _ := strings.Cut(h.Text(), "\n")
	word, rest, _ := strings.Cut(state, ":")
	c.print(c.paint(paints[h.State], word) + ":" + rest)
	var next []string
	blocked, week := 0, time.Now().AddDate(0, 0, -7)
	for _, r := range runs {
		if blocked == 3 && r.Status == arc.Blocked || r.Ended.Before(week) && !r.Ended.IsZero() ||
			r.Status == arc.Delivered || r.Status == arc.Canceled {
			continue
		}
		id := short(r.ID)
		c.print(c.paint(paints[string(r.Status)], string(r.Status)) + " " + id + " " + cut(r.Objective, c.Width-20))
		if r.Status != arc.Running {
			c.print("  " + cut(strings.TrimPrefix(string(r.Cause)+": "+r.Text, ": "), c.Width-3))
		}
		switch {
		case r.Status == arc.Asking:
			next = append(next, "arc answer "+id+` --text "…"`)
		case needsRuling(r):
			next = append(next, "arc approve "+id)
		case r.Status == arc.Blocked:
			blocked++
			next = append(next, "arc runs show "+id)
		}
	}
	if _, saved, _ := strings.Cut(h.Text(), "\nlearned plans: "); saved != "" && !strings.HasPrefix(saved, "no data") {
		c.print(c.paint(green, "this week learned plans: "+strings.ReplaceAll(saved, "; ", "\n  ")))
	}
	var counts []string
	for _, s := range []string{"active", "pending", "blocked", "failed", "completed"} {
		if n := tasks[s]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(counts) > 0 {
		c.print("tasks: " + strings.Join(counts, ", "))
		if tasks["pending"] > 0 && a.door == nil && c.served == nil {
			next = append(next, "arc serve, or arc run: nobody does the tasks")
		}
	}
	if spent != nil {
		c.print("today: " + usageText(spent))
	}
	if len(next) == 0 && h.State == "no_data" {
		next = []string{"arc doctor", `arc do "…"`}
	}
	for _, line := range next[:min(3, len(next))] {
		c.print(c.paint(faint, "next: ") + line)
	}
	return nil
}
