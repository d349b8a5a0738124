package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/arc-learn/arc/next/act/queue"
	"github.com/arc-learn/arc/next/contrib/notebook"
	"github.com/arc-learn/arc/next/contrib/workspace"
	"github.com/arc-learn/arc/next/internal/yaml"
	"github.com/arc-learn/arc/next/reason"
)

// skills are those of the folder: skills/NAME/SKILL.md, with AGENT.md, an executable sensor and an executable cli
// beside it where it has them, each with any extension.
func (c *command) skills() ([]reason.Skill, error) {
	return reason.LoadSkills(os.DirFS(filepath.Join(c.dir, "skills")))
}

// program is an executable file of a skill, with any extension; "": it has none.
func program(dir, skill, name string) string {
	files, _ := filepath.Glob(filepath.Join(dir, "skills", skill, name+"*")) // the pattern is well-formed
	for _, f := range files {
		base, _, _ := strings.Cut(filepath.Base(f), ".")
		if info, err := os.Stat(f); err == nil && base == name && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return f
		}
	}
	return ""
}

func (c *command) skillCommands() []*cobra.Command {
	var name string
	byName := func(f *pflag.FlagSet) { f.StringVar(&name, "name", "", "of the skill") }
	named := func(args []string) (reason.Skill, error) {
		all, err := c.skills()
		for _, s := range all {
			if s.Name == cmp.Or(name, strings.Join(args, "")) {
				return s, nil
			}
		}
		return reason.Skill{}, errors.Join(usage("no skill %q: see arc skills", cmp.Or(name, strings.Join(args, ""))), err)
	}
	run := c.leaf(local, "run [ID]", "Run a skill's own command: arc skills run --name NAME -- ARGS", func(ctx context.Context, _ *app, args []string) error {
		if name == "" && len(args) > 0 {
			name, args = args[0], args[1:]
		}
		file := program(c.dir, name, "cli")
		if file == "" {
			return usage("skill %q has no command: an executable skills/%s/cli", name, name)
		}
		cmd := exec.CommandContext(ctx, file, args...)
		cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Cwd, os.Stdin, c.Out, c.Err
		cmd.Env = append(os.Environ(), "ARC_DIR="+c.dir)
		err := cmd.Run()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return &exitError{code: max(1, exit.ExitCode())}
		}
		return err
	}, byName)
	var due bool
	return []*cobra.Command{
		group(c.leaf(local, "skills", "List skills", func(context.Context, *app, []string) error {
			all, err := c.skills()
			return list(c, all, 0, err, "skill has for", "no skills: write skills/NAME/SKILL.md", func(s reason.Skill) []string {
				has := ""
				for _, what := range []string{"cli", "sensor"} {
					if program(c.dir, s.Name, what) != "" {
						has += " " + what
					}
				}
				return []string{s.Name, strings.TrimSpace(has), s.Description}
			})
		}, nil),
			c.leaf(local, "show [ID]", "Print a skill's SKILL.md", func(_ context.Context, _ *app, args []string) error {
				s, err := named(args)
				if err == nil {
					c.Print(s.Text)
				}
				return err
			}, byName), run),
		group(c.leaf(reads, "sensors", "Run all sensors once", func(ctx context.Context, a *app, _ []string) error {
			return c.sense(ctx, a, due)
		}, func(f *pflag.FlagSet) { f.BoolVar(&due, "due", false, "only those whose time has come") }),
			c.leaf(local, "list", "List sensors", func(context.Context, *app, []string) error {
				return list(c, sensors(c.dir), 0, nil, "sensor every file", "no sensors: an executable skills/NAME/sensor prints tasks", func(s sensor) []string {
					return []string{s.Skill, s.Every.String(), s.File}
				})
			}, nil)),
	}
}

// sensor is a program that looks at something and prints the tasks that follow, as YAML or JSON: a list of them. An
// interval may stand as «every» in the front matter of SKILL.md.
type sensor struct {
	Skill, File string
	Every       time.Duration
}

func sensors(dir string) (out []sensor) {
	skills, _ := os.ReadDir(filepath.Join(dir, "skills")) // there may be none
	for _, e := range skills {
		s := sensor{e.Name(), program(dir, e.Name(), "sensor"), 5 * time.Minute}
		if s.File == "" {
			continue
		}
		var fields map[string]yaml.Node
		text, _ := notebook.Read(filepath.Join(dir, "skills", e.Name(), "SKILL.md")) // it may have none
		matter, _ := front(text)
		if yaml.Decode([]byte(matter), &fields) == nil {
			if d, err := time.ParseDuration(fields["every"].Value); err == nil && d > 0 {
				s.Every = d
			}
		}
		out = append(out, s)
	}
	return out
}

// sense runs the sensors side by side; one that fails holds no other up.
func (c *command) sense(ctx context.Context, a *app, due bool) error {
	all := sensors(a.dir)
	if len(all) == 0 && !due {
		c.Print("no sensors: an executable skills/NAME/sensor prints tasks")
	}
	var each sync.WaitGroup
	var failed atomic.Bool
	for _, s := range all {
		interval := time.Second // the least that the queue takes
		if due {
			interval = s.Every
		}
		each.Go(func() {
			added, err := a.queue.Sense(ctx, s.Skill, interval, func(ctx context.Context) ([]queue.Draft, error) { return a.look(ctx, s) })
			if err != nil {
				failed.Store(true)
				c.Say(c.Paint(red, "sensor "+s.Skill+": ") + err.Error())
			}
			for _, j := range added {
				c.Print(s.Skill + ": " + short(j.ID) + " " + j.Subject)
			}
		})
	}
	if each.Wait(); failed.Load() {
		return &exitError{code: exitFailed}
	}
	return nil
}

func (a *app) look(ctx context.Context, s sensor) (drafts []queue.Draft, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	out, err := a.in(workspace.In(a.dir)).Text(ctx, nil, s.File)
	if out = strings.TrimSpace(out); err != nil || out == "" || out == "skip" {
		return nil, err
	}
	var texts []taskText
	if err := yaml.Decode([]byte(out), &texts); err != nil {
		return nil, fmt.Errorf("it prints no list of tasks: %w", err)
	}
	for _, t := range texts {
		var d queue.Draft
		t.over(&d)
		drafts = append(drafts, d)
	}
	return drafts, nil
}
