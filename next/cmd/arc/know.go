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

	"github.com/spf13/cobra"

	arc "github.com/arc-learn/arc/next"
	"github.com/arc-learn/arc/next/learn"
	"github.com/arc-learn/arc/next/memory"
	"github.com/arc-learn/arc/next/store"
)

// knowCommands are about what the agent knows and what it costs.
func (c *command) knowCommands() []*cobra.Command {
	return []*cobra.Command{
		c.recallCommand(), c.rememberCommand(), c.feedbackCommand(), c.healthCommand(), c.metaCommand(),
		c.chunkCommand(), c.decayCommand(), c.consolidateCommand(), c.costsCommand(),
	}
}

// memory has a command work on the memory of the scope.
func (c *command) memory(f func(context.Context, *app, memory.Space) error) func(*cobra.Command, []string) error {
	return c.with(reads, func(ctx context.Context, a *app) error {
		m, err := a.view().Memory(ctx)
		if err != nil {
			return err
		}
		return f(ctx, a, m)
	})
}

// words has the positional words of a command stand for a flag.
func words(cmd *cobra.Command, to *string, f func(*cobra.Command, []string) error) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *to == "" {
			*to = strings.Join(args, " ")
		}
		return f(cmd, args)
	}
}

func (c *command) recallCommand() *cobra.Command {
	var q memory.Query
	cmd := &cobra.Command{Use: "recall [--query] TEXT", Short: "Show what memory has of something"}
	cmd.Flags().StringVar(&q.Text, "query", "", "what about; none: the most useful and most recent")
	cmd.Flags().IntVar(&q.K, "limit", 10, "at most so many")
	cmd.Flags().BoolVar(&q.Archived, "archived", false, "archived ones, too")
	words(cmd, &q.Text, c.memory(func(ctx context.Context, _ *app, m memory.Space) error {
		hits, err := m.Recall(ctx, q)
		if err != nil {
			return err
		}
		if c.json {
			return c.writeJSON(hits)
		}
		if len(hits) == 0 {
			c.print("nothing is known of that: arc remember --text \"…\"")
		}
		var rows [][]string
		for _, h := range hits {
			text := h.Content
			if h.Trigger != "" {
				text = h.Trigger + ": " + text
			}
			rows = append(rows, []string{short(string(h.ID)), string(h.Kind), fmt.Sprintf("%.2f", h.Score), text})
		}
		if len(rows) > 0 {
			c.table([]string{"memory", "kind", "score", "what"}, rows)
		}
		return nil
	}))
	return cmd
}

func (c *command) rememberCommand() *cobra.Command {
	d, kind, resolution, source := memory.Draft{}, "fact", "", ""
	cmd := &cobra.Command{Use: "remember [--text] TEXT", Short: "Keep something that is so"}
	f := cmd.Flags()
	f.StringVar(&d.Content, "text", "", "what")
	f.StringVar(&kind, "type", kind, "fact, rule (told in every run, or where --trigger stands in the text), pattern or failure")
	f.StringVar(&d.Trigger, "trigger", "", "the situation that it is for")
	f.StringVar(&resolution, "resolution", "", "of a failure: what should be done differently")
	f.StringVar(&source, "source", "", "where it comes from")
	f.StringVar(&d.Slot, "slot", "", "what it states the value of: a later one replaces it")
	words(cmd, &d.Content, c.memory(func(ctx context.Context, _ *app, m memory.Space) error {
		d.Kind, d.Source.Ref, d.Content = memory.Kind(kind), source, cmp.Or(resolution, d.Content)
		if d.Content == "" {
			return usage("remember what? arc remember --text \"…\"")
		}
		r, err := m.Remember(ctx, d)
		if err == nil {
			c.print("kept " + short(string(r.ID)) + ": " + cut(r.Content, c.width-14))
		}
		return err
	}))
	return cmd
}

// feedbackCommand says what became of a run, and which memories have helped. Without --utilized it forgets, by
// --forget, what is wrong.
func (c *command) feedbackCommand() *cobra.Command {
	var run, delivered, forget string
	var utilized, misled []string
	cmd := &cobra.Command{Use: "feedback", Short: "Say which memories helped, which misled, and which are wrong", Args: cobra.NoArgs}
	f := cmd.Flags()
	f.StringVar(&run, "run", "", "the run that it is about")
	f.StringVar(&delivered, "delivered", "", "true or false: a person's verdict on the run")
	f.StringSliceVar(&utilized, "utilized", nil, "memories that helped: IDs of arc recall")
	f.StringSliceVar(&misled, "misled", nil, "memories that led astray")
	f.StringVar(&forget, "forget", "", "a memory that is wrong, and goes")
	cmd.RunE = c.memory(func(ctx context.Context, a *app, m memory.Space) error {
		var all []memory.Record
		for r, err := range m.All(ctx) {
			if err != nil {
				return err
			}
			all = append(all, r)
		}
		ids := func(typed []string) (out []memory.ID, err error) {
			for _, t := range typed {
				r, err := find("memory", t, all, func(r memory.Record) string { return string(r.ID) })
				if err != nil {
					return nil, err
				}
				out = append(out, r.ID)
			}
			return out, nil
		}
		helped, err := ids(utilized)
		if err != nil {
			return err
		}
		bad, err := ids(misled)
		if err != nil {
			return err
		}
		if len(helped)+len(bad) > 0 {
			err = m.Feedback(ctx, memory.Feedback{Key: "cli/" + cmp.Or(run, newRun(time.Now())), Shown: append(slices.Clone(helped), bad...), Utilized: helped, Misled: bad})
			if err != nil {
				return err
			}
		}
		if forget != "" {
			gone, err := ids([]string{forget})
			if err != nil {
				return err
			}
			if err := m.Forget(ctx, gone[0]); err != nil {
				return err
			}
		}
		if delivered != "" {
			r, err := a.run(ctx, run, "judge")
			if err != nil {
				return err
			}
			verdict := learn.Delivered
			if delivered != "true" {
				verdict = learn.Failed
			}
			if err := a.view().Judge(ctx, r.ID, verdict, ""); err != nil {
				return err
			}
		}
		if len(helped)+len(bad) == 0 && forget+delivered == "" {
			return usage("what about? --utilized, --misled, --forget, or --run with --delivered")
		}
		c.print("noted")
		return nil
	})
	return cmd
}

func (c *command) healthCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "health", Short: "Say how it goes: what failed and why, what waits, what memory is worth", Args: cobra.NoArgs}
	cmd.RunE = c.with(reads, func(ctx context.Context, a *app) error {
		h, err := a.agent.Health(ctx, a.scope)
		if err != nil {
			return err
		}
		m, err := a.view().Memory(ctx)
		if err != nil {
			return err
		}
		holds, err := m.Health(ctx)
		if err != nil {
			return err
		}
		if c.json {
			return c.writeJSON(map[string]any{"health": h, "memory": holds})
		}
		state, rest, _ := strings.Cut(h.Text(), ":")
		c.print(c.paint(paints[h.State], state) + ":" + rest)
		var kinds []string
		for _, k := range []memory.Kind{memory.Fact, memory.Rule, memory.Pattern, memory.Failure, memory.Episode} {
			if n := holds.Kinds[k]; n > 0 {
				kinds = append(kinds, fmt.Sprintf("%d %ss", n, k))
			}
		}
		c.print("memory: " + cmp.Or(strings.Join(kinds, ", "), "empty"))
		if u := h.Uplift; u.Delivered.N > 0 {
			c.print(fmt.Sprintf("beside runs without memory: %+.0f %% delivered, %+.1f model calls a run (%d runs)", 100*u.Delivered.Mean, u.Calls.Mean, u.Delivered.N))
		} else if a.config.Load().Holdout == 0 {
			c.print(c.paint(faint, "what memory is worth beside runs without it: holdout: 0.1 in arc.yaml measures it"))
		}
		return nil
	})
	return cmd
}

func (c *command) metaCommand() *cobra.Command {
	var session string
	cmd := &cobra.Command{Use: "meta --session NAME", Short: "Say whether what a session does is working", Args: cobra.NoArgs}
	cmd.Flags().StringVar(&session, "session", "", "that of arc do --session")
	_ = cmd.MarkFlagRequired("session")
	cmd.RunE = c.with(reads, func(ctx context.Context, a *app) error {
		s, err := a.view().Assess(ctx, session)
		if err != nil {
			return err
		}
		if c.json {
			return c.writeJSON(s)
		}
		c.print(c.paint(paints[s.State], s.State) + ": " + strings.Join(append([]string{s.Step}, s.Also...), ", "))
		for _, e := range s.Evidence {
			c.print("  " + e)
		}
		for _, l := range s.Left {
			c.print("  not tried yet: " + l)
		}
		return nil
	})
	return cmd
}

// chunkCommand shows the plans that fire, as files that a person may change.
func (c *command) chunkCommand() *cobra.Command {
	var read bool
	cmd := &cobra.Command{Use: "chunk", Short: "Write the plans that fire as skills/learned/NAME/SKILL.md; --read takes up your changes", Args: cobra.NoArgs}
	cmd.Flags().BoolVar(&read, "read", false, "take up what was changed in the files")
	cmd.RunE = c.with(reads, func(ctx context.Context, a *app) error {
		layer, err := learn.New(ctx, a.store, &learn.Options{Scope: a.scope})
		if err != nil {
			return err
		}
		defer layer.Close()
		dir := a.path("skills", "learned")
		if read {
			n, err := layer.ReadSkills(ctx, a.scope, dir)
			c.print(fmt.Sprintf("%d plans were changed", n))
			return err
		}
		n, err := layer.WriteSkills(ctx, a.scope, dir)
		c.print(fmt.Sprintf("%d plans are written below %s", n, dir))
		return err
	})
	return cmd
}

func (c *command) decayCommand() *cobra.Command {
	return &cobra.Command{Use: "decay", Short: "Archive what never helped, and delete runs past the retention", Args: cobra.NoArgs,
		RunE: c.with(drives, func(ctx context.Context, a *app) error {
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
		})}
}

func (c *command) consolidateCommand() *cobra.Command {
	return &cobra.Command{Use: "consolidate", Short: "Merge memories that are equal, and list those that are alike", Args: cobra.NoArgs,
		RunE: c.memory(func(ctx context.Context, _ *app, m memory.Space) error {
			merged, near, err := m.Consolidate(ctx)
			if err != nil {
				return err
			}
			c.print(fmt.Sprintf("%d are merged, %d pairs are alike", merged, len(near)))
			for _, pair := range near[:min(len(near), 20)] {
				for _, id := range pair {
					if r, err := m.Get(ctx, id); err == nil {
						c.print("  " + short(string(id)) + " " + cut(r.Content, c.width-12))
					}
				}
				c.print("")
			}
			return nil
		})}
}

// cost is a line of arc costs. What nobody has told is nil.
type cost struct {
	Day, Worker, Model string
	Calls, Tokens      int
	CostUSD            *float64
	EstimateUSD        *float64
}

func (c *command) costsCommand() *cobra.Command {
	var days int
	var by string
	cmd := &cobra.Command{Use: "costs", Short: "Say what models took: tokens, dollars reported, dollars estimated", Args: cobra.NoArgs}
	cmd.Flags().IntVar(&days, "days", 7, "so many, with today")
	cmd.Flags().StringVar(&by, "by", "day", "day, worker or model")
	_ = cmd.RegisterFlagCompletionFunc("by", cobra.FixedCompletions([]string{"day", "worker", "model"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = c.with(reads, func(ctx context.Context, a *app) error {
		all, err := a.costs(ctx, days)
		if err != nil {
			return err
		}
		if c.json {
			return c.writeJSON(all)
		}
		key := map[string]func(cost) string{
			"day": func(c cost) string { return c.Day }, "worker": func(c cost) string { return c.Worker }, "model": func(c cost) string { return c.Model },
		}[by]
		if key == nil {
			return usage("--by is day, worker or model")
		}
		sums, order := map[string]*cost{}, []string{}
		for _, one := range all {
			k := key(one)
			sum := sums[k]
			if sum == nil {
				sum = &cost{}
				sums[k], order = sum, append(order, k)
			}
			sum.add(one)
		}
		slices.Sort(order)
		var rows [][]string
		for _, k := range order {
			s := sums[k]
			rows = append(rows, []string{k, fmt.Sprint(s.Calls), fmt.Sprint(s.Tokens), dollars(s.CostUSD), dollars(s.EstimateUSD)})
		}
		if len(rows) == 0 {
			c.print(fmt.Sprintf("no model was asked in the last %d days", days))
			return nil
		}
		c.table([]string{by, "calls", "tokens", "reported", "estimated"}, rows)
		return nil
	})
	return cmd
}

func (c *cost) add(o cost) {
	c.Calls, c.Tokens = c.Calls+o.Calls, c.Tokens+o.Tokens
	for _, f := range []struct{ to, from **float64 }{{&c.CostUSD, &o.CostUSD}, {&c.EstimateUSD, &o.EstimateUSD}} {
		if *f.from != nil {
			*f.to = new(**f.from + value(*f.to))
		}
	}
}

func value(f *float64) float64 {
	if f == nil {
		return 0
	}
	return *f
}

// costs reads the ledger of the last days.
func (a *app) costs(ctx context.Context, days int) (out []cost, err error) {
	for i := range days {
		day := time.Now().UTC().AddDate(0, 0, i+1-days)
		e, err := a.group.Store().Get(ctx, ledgerKey(day))
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		entries := ledger{}
		if err == nil {
			err = json.Unmarshal(e.Value, &entries)
		}
		if err != nil {
			return nil, err
		}
		for name, u := range entries {
			worker, model, _ := strings.Cut(name, "\x00")
			out = append(out, cost{day.Format(time.DateOnly), worker, model, u.Calls, u.Input + u.Output, u.CostUSD, u.EstimateUSD})
		}
	}
	slices.SortFunc(out, func(x, y cost) int {
		return cmp.Or(strings.Compare(x.Day, y.Day), strings.Compare(x.Worker, y.Worker), strings.Compare(x.Model, y.Model))
	})
	return out, nil
}

// overview is arc alone.
func (c *command) overview(ctx context.Context, a *app) error {
	h, err := a.agent.Health(ctx, a.scope)
	if err != nil {
		return err
	}
	state, _, _ := strings.Cut(h.Text(), "\n")
	var next []string
	c.print(c.paint(paints[h.State], state))
	for _, r := range h.Open {
		id := short(r.ID)
		c.print(c.paint(paints[string(r.Status)], string(r.Status)) + " " + id + " " + cut(r.Objective, c.width-20))
		if r.Status != arc.Running {
			c.print("  " + cut(r.Text, c.width-3))
		}
		switch {
		case r.Status == arc.Asking:
			next = append(next, "arc answer "+id+` --text "…"`)
		case len(r.Approvals) > 0:
			next = append(next, "arc approve "+id)
		}
	}
	for _, r := range h.Failed[:min(3, len(h.Failed))] {
		c.print(c.paint(red, "blocked ") + short(r.ID) + " " + cut(r.Objective, c.width-20))
		c.print("  " + cut(string(r.Cause)+": "+r.Text, c.width-3))
		next = append(next, "arc runs show "+short(r.ID))
	}
	if n := h.Saved.Calls.N; n > 0 {
		text := fmt.Sprintf("saved by learned plans this week: about %.0f model calls", -h.Saved.Calls.Mean*float64(n))
		if h.Saved.USD.N > 0 {
			text += fmt.Sprintf(", $%.2f", -h.Saved.USD.Mean*float64(h.Saved.USD.N))
		}
		c.print(c.paint(green, text))
	}
	waits, err := a.waiting(ctx)
	if err != nil {
		return err
	}
	if waits != "" {
		c.print(waits)
	}
	if h.State == "no_data" && len(h.Open) == 0 {
		next = append(next, "arc doctor", `arc do "…"`)
	}
	for _, line := range next[:min(3, len(next))] {
		c.print(c.paint(faint, "next: ") + line)
	}
	return nil
}
