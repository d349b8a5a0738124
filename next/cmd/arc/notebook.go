package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	arc "github.com/arc-learn/arc/next"
)

// readText reads a file that a person writes.
func readText(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err == nil && !utf8.Valid(data) {
		err = fmt.Errorf("%s is not UTF-8: it is neither read nor changed; save it as UTF-8", file)
	}
	return string(data), err
}

const (
	learnedHead = "## Learned"
	idleFor     = 3 * time.Second // a file that was changed since may be under a person's hands
)

func (c *command) noteCommands() []*cobra.Command {
	var commit bool
	return []*cobra.Command{c.leaf(reads, "notes", "Print memory/MEMORY.md, which every prompt has; --commit commits it", func(ctx context.Context, a *app, _ []string) error {
		text, err := readText(a.notes())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if !commit {
			c.print(cmp.Or(text, "nothing is noted yet"))
			return nil
		}
		done, err := a.commitNotes(ctx)
		if err == nil {
			c.print(map[bool]string{true: "committed", false: "nothing has changed"}[done])
		}
		return err
	}, func(f *pflag.FlagSet) { f.BoolVar(&commit, "commit", false, "commit what has changed") })}
}

func (a *app) notes() string { return a.path("memory", "MEMORY.md") }

// note keeps for MEMORY.md what an event teaches.
func (a *app) note(run string, e arc.Event) {
	if e.Kind == "learned" || e.Kind == "blocked" {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.noted = append(a.noted, note{run, e})
	}
}

type note struct {
	run   string
	event arc.Event
}

// writeNotes appends what was learned since below «## Learned». A file that a person may be writing is left for the
// next time, unless it is the last one; what it says already is not said again.
func (a *app) writeNotes(ctx context.Context, last bool) error {
	a.mu.Lock()
	noted := a.noted
	a.noted = nil
	a.mu.Unlock()
	later := func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.noted = append(noted, a.noted...)
	}
	if len(noted) == 0 {
		return a.daily(ctx, last)
	}
	text, err := readText(a.notes())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if info, err := os.Stat(a.notes()); err == nil && time.Since(info.ModTime()) < idleFor && time.Since(a.wrote) > idleFor {
		if !last {
			later()
			return nil
		}
		time.Sleep(idleFor)
		if text, err = readText(a.notes()); err != nil {
			return err
		}
	}
	var lines []string
	for _, n := range noted {
		r, err := a.view().Report(ctx, n.run)
		if err != nil {
			continue // it was deleted
		}
		objective := cut(r.Objective, 100)
		line := objective + ": done by a learned plan from now on"
		if n.event.Kind == "blocked" {
			line = "[FLAG] " + objective + ": " + cut(string(r.Cause)+": "+r.Text, 200)
		} else if len(r.Failed) > 0 {
			line = objective + ": passed, after " + cut(r.Failed[0].Complaint, 200)
		}
		if !strings.Contains(text, line) && !slices.ContainsFunc(lines, func(l string) bool { return strings.HasSuffix(l, line) }) {
			lines = append(lines, "- "+n.event.At.Local().Format(time.DateOnly)+" "+line)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	added := strings.Join(lines, "\n") + "\n"
	before, after, ok := strings.Cut(text, learnedHead+"\n")
	if !ok {
		before, after = strings.TrimRight(text, "\n")+"\n\n", "\n"
	}
	section, rest, more := strings.Cut(after, "\n## ")
	text = strings.TrimLeft(before, "\n") + learnedHead + "\n" + strings.TrimRight(section, "\n") + "\n" + added
	if more {
		text += "\n## " + rest
	}
	if err := os.MkdirAll(filepath.Dir(a.notes()), 0o755); err != nil {
		return err
	}
	if err = os.WriteFile(a.notes()+".new", []byte(text), 0o644); err == nil {
		err = os.Rename(a.notes()+".new", a.notes())
	}
	a.wrote = time.Now()
	return err
}

// daily commits the file where its last commit is of another day.
func (a *app) daily(ctx context.Context, last bool) error {
	if last {
		return nil
	}
	out, err := a.git(ctx, "log", "-1", "--format=%cs", "--", "memory/MEMORY.md")
	if err != nil || strings.TrimSpace(out) == time.Now().Format(time.DateOnly) {
		return nil // no repository, or it is committed
	}
	_, err = a.commitNotes(ctx)
	return err
}

func (a *app) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = a.dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(errs.String()))
	}
	return string(out), err
}

func (a *app) commitNotes(ctx context.Context) (bool, error) {
	out, err := a.git(ctx, "status", "--porcelain", "--", "memory/MEMORY.md")
	if err != nil || out == "" {
		return false, err
	}
	if _, err = a.git(ctx, "add", "memory/MEMORY.md"); err == nil {
		_, err = a.git(ctx, "commit", "-m", "docs(memory): what was learned", "--", "memory/MEMORY.md")
	}
	return err == nil, err
}
