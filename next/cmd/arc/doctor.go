package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/arc-learn/arc/next/contrib/notebook"
	"github.com/spf13/cobra"
)

func (c *command) doctorCommands() []*cobra.Command {
	return []*cobra.Command{
		c.leaf(local, "init", "Begin an agent in this folder", c.begin, nil),
		c.leaf(reads, "doctor", "Check that all that arc.yaml names is there; no model is paid", c.doctor, nil),
		c.leaf(reads, "status", "Say what waits, what failed, what was saved: as arc alone", c.overview, nil),
	}
}

func (c *command) begin(context.Context, *app, []string) error {
	soul := "# Who I am\n\nI do what I am asked, say what I have done, and say so honestly where I could not.\n"
	for name, text := range map[string]string{"arc.yaml": firstConfig, "SOUL.md": soul, ".arc/.gitignore": "*\n"} {
		file := filepath.Join(c.dir, filepath.FromSlash(name))
		if _, err := os.Stat(file); err == nil {
			continue // it is the person's
		}
		if err := writeFile(file, []byte(text), 0o644); err != nil {
			return err
		}
		c.Print("wrote " + name)
	}
	c.Print("next: arc doctor")
	return nil
}

func (c *command) doctor(ctx context.Context, a *app, _ []string) error {
	ill := 0
	check := func(what string, err error) {
		if err != nil {
			ill++
			c.Print(c.Paint(red, "✗ ") + what + ": " + err.Error())
			return
		}
		c.Print(c.Paint(green, "✓ ") + what)
	}
	warn := func(text string) { c.Print(c.Paint(yellow, "! ") + text) }
	cfg := a.config.Load()
	check("arc.yaml", nil)
	check("the store in .arc", nil)
	for _, name := range cfg.models() {
		m := cfg.model(name)
		check("model "+name, a.ping(ctx, m))
		if m.Price == nil {
			warn("model " + name + " has no price: its dollars are unknown unless it reports them")
		}
	}
	commands := func(what string, argvs ...[]string) {
		for _, argv := range argvs {
			if len(argv) > 0 {
				_, err := exec.LookPath(a.in(a.place).Argv(ctx, argv...)[0])
				if err != nil {
					err = fmt.Errorf("%w (PATH is %s)", err, os.Getenv("PATH"))
				}
				check(what+": "+argv[0], err)
			}
		}
	}
	commands("gate", cfg.Gates...)
	for _, w := range cfg.Workers {
		commands("worker "+w.Name, append(w.Gates, w.Run, w.Agent)...)
		if len(cfg.Gates)+len(w.Gates) == 0 && cfg.Judge == "" {
			warn("nothing checks worker " + w.Name + ": what it says is done counts as delivered, until arc judge")
		}
	}
	for name, m := range cfg.MCP {
		_, err := a.server(name, m).Tools(ctx)
		check("mcp "+name, err)
	}
	for _, t := range cfg.Tools {
		commands("tool "+t.Name, t.Run)
	}
	for _, f := range []string{"SOUL.md", "memory/MEMORY.md"} {
		text, err := notebook.Read(a.path(filepath.FromSlash(f)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		check(f, err)
		if len(text) > 3*2000 && f != "SOUL.md" {
			warn(fmt.Sprintf("%s has about %d tokens: over 2,000 is a lot for every prompt", f, len(text)/3))
		}
	}
	if ill > 0 {
		return &exitError{code: exitFailed}
	}
	c.Print(`all is there: arc do "…"`)
	return nil
}
