package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

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
	for name, text := range map[string]string{
		"arc.yaml": firstConfig, ".arc/.gitignore": "*\n",
		"SOUL.md": "# Who I am\n\nI do what I am asked, say what I have done, and say so honestly where I could not.\n",
	} {
		file := filepath.Join(c.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err = f.WriteString(text); err == nil && name != ".arc/.gitignore" {
			c.print("wrote " + name)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	c.print("next: arc doctor")
	return nil
}

func (c *command) doctor(ctx context.Context, a *app, _ []string) error {
	ill := 0
	check := func(what string, err error) {
		if err != nil {
			ill++
			c.print(c.paint(red, "✗ ") + what + ": " + err.Error())
			return
		}
		c.print(c.paint(green, "✓ ") + what)
	}
	cfg := a.config.Load()
	check("arc.yaml", nil)
	check("the store in .arc", nil)
	for _, name := range cfg.models() {
		m := cfg.model(name)
		check("model "+name, a.ping(ctx, m))
		if m.Price == nil {
			c.print(c.paint(yellow, "! ") + "model " + name + " has no price: its dollars are unknown unless it reports them")
		}
	}
	for _, w := range cfg.Workers {
		for _, argv := range [][]string{w.Run, w.Agent} {
			if len(argv) > 0 {
				check("worker "+w.Name, a.runnable(ctx, argv))
			}
		}
		for _, g := range w.Gates {
			check("gate of "+w.Name, a.runnable(ctx, g))
		}
		if len(cfg.Gates)+len(w.Gates) == 0 && cfg.Judge == "" {
			c.print(c.paint(yellow, "! ") + "nothing checks worker " + w.Name + ": what it says is done counts as delivered, until arc judge")
		}
	}
	for _, t := range cfg.Tools {
		check("tool "+t.Name, a.runnable(ctx, t.Run))
	}
	for _, g := range cfg.Gates {
		check("gate "+g[0], a.runnable(ctx, g))
	}
	for _, f := range []string{"SOUL.md", "memory/MEMORY.md"} {
		text, err := readText(a.path(filepath.FromSlash(f)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		check(f, err)
		if len(text) > 3*2000 && f != "SOUL.md" {
			c.print(c.paint(yellow, "! ") + fmt.Sprintf("%s has about %d tokens: over 2,000 is a lot for every prompt", f, len(text)/3))
		}
	}
	if ill > 0 {
		return &exitError{code: exitFailed}
	}
	c.print(`all is there: arc do "…"`)
	return nil
}

// runnable reports why a command cannot be started.
func (a *app) runnable(ctx context.Context, argv []string) error {
	if len(argv) == 0 {
		return errors.New("an empty command")
	}
	_, err := exec.LookPath(a.argv(ctx, argv)[0])
	if err != nil {
		err = fmt.Errorf("%w (PATH is %s)", err, os.Getenv("PATH"))
	}
	return err
}
