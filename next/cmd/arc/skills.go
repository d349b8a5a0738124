package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/arc-learn/arc/next/act/queue"
	"github.com/arc-learn/arc/next/contrib/workspace"
	"github.com/arc-learn/arc/next/internal/yaml"
	"github.com/arc-learn/arc/next/reason"
)

// skills are those of the folder: skills/NAME/SKILL.md, with AGENT.md, an executable sensor and an executable cli
// beside it where it has them, each with any extension.
func (c *command) skills() ([]reason.Skill, error) {
	return reason.LoadSkills(os.DirFS(filepath.Join(c.dir, "skills")))
}

// program is an executable file of a skill; "": it has none.
func program(dir, skill, name string) string {
	files, _ := filepath.Glob(filepath.Join(dir, "skills", skill, name)) // the pattern is well-formed
	more, _ := filepath.Glob(filepath.Join(dir, "skills", skill, name+".*"))
	for _, f := range append(files, more...) {
		if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
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
				all, err := sensors(c.dir)
				return list(c, all, 0, err, "sensor every file", "no sensors: an executable skills/NAME/sensor prints tasks", func(s sensor) []string {
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

func sensors(dir string) (out []sensor, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, "skills"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		s := sensor{e.Name(), program(dir, e.Name(), "sensor"), 5 * time.Minute}
		if s.File == "" {
			continue
		}
		if text, err := readText(filepath.Join(dir, "skills", e.Name(), "SKILL.md")); err == nil {
			var fields map[string]yaml.Node
			matter, _ := front(text)
			if yaml.Decode([]byte(matter), &fields) == nil {
				if d, err := time.ParseDuration(fields["every"].Value); err == nil && d > 0 {
					s.Every = d
				}
			}
		}
		out = append(out, s)
	}
	return out, err
}

// sense runs the sensors side by side; one that fails holds no other up.
func (c *command) sense(ctx context.Context, a *app, due bool) error {
	all, err := sensors(a.dir)
	var mu sync.Mutex
	errs := []error{err}
	var each sync.WaitGroup
	for _, s := range all {
		interval := time.Second // the least that the queue takes
		if due {
			interval = s.Every
		}
		each.Go(func() {
			added, err := a.queue.Sense(ctx, s.Skill, interval, func(ctx context.Context) ([]queue.Draft, error) { return a.look(ctx, s) })
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, fmt.Errorf("sensor %s: %w", s.Skill, err))
				c.Say(c.Paint(red, "sensor "+s.Skill+": ") + err.Error())
			}
			for _, j := range added {
				c.Print(s.Skill + ": " + short(j.ID) + " " + j.Subject)
			}
		})
	}
	each.Wait()
	if errors.Join(errs...) != nil {
		return &exitError{code: exitFailed}
	}
	if len(all) == 0 && !due {
		c.Print("no sensors: an executable skills/NAME/sensor prints tasks")
	}
	return nil
}

func (a *app) look(ctx context.Context, s sensor) ([]queue.Draft, error) {
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
	var drafts []queue.Draft
	for _, t := range texts {
		var d queue.Draft
		if err := t.over(&d); err != nil {
			return nil, err
		}
		drafts = append(drafts, d)
	}
	return drafts, nil
}
