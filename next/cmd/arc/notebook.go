package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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

// writeFile replaces a file, whole or not at all.
func writeFile(file string, data []byte, mode fs.FileMode) error {
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file+".new", data, mode)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	return err
}

// front is the front matter of a text, and what comes below.
func front(text string) (matter, body string) {
	matter, body, ok := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
	if !ok {
		return "", text
	}
	return matter, strings.TrimSpace(body)
}

const learnedHead = "## Learned"

// idleFor is how long nobody has written MEMORY.md before it is written here: a person may have it open.
const idleFor = 3 * time.Second

func (c *command) noteCommands() []*cobra.Command {
	var commit bool
	return []*cobra.Command{c.leaf(reads, "notes", "Print memory/MEMORY.md, which every prompt has", func(ctx context.Context, a *app, _ []string) error {
		if err := a.writeNotes(ctx, false); err != nil {
			return err
		}
		text, err := readText(a.notes())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if commit {
			text, err = "committed", a.commitNotes(ctx)
			if err != nil {
				return err
			}
		}
		c.Print(cmp.Or(text, "nothing is noted yet"))
		return nil
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

// line says what a note teaches; "": its run was deleted.
func (a *app) line(ctx context.Context, n note) string {
	r, err := a.view().Report(ctx, n.run)
	switch {
	case err != nil:
		return ""
	case n.event.Kind == "blocked":
		return "[FLAG] " + cut(r.Objective, 100) + ": " + cut(string(r.Cause)+": "+r.Text, 200)
	case len(r.Failed) > 0:
		return cut(r.Objective, 100) + ": passed, after " + cut(r.Failed[0].Complaint, 200)
	}
	return cut(r.Objective, 100) + ": done by a learned plan from now on"
}

// writeNotes appends what was learned since below «## Learned», where it does not stand already. A file that a person
// may be writing is left for the next time, if there is one.
func (a *app) writeNotes(ctx context.Context, last bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.noted) == 0 {
		return nil
	}
	if info, err := os.Stat(a.notes()); err == nil && !last && info.ModTime() != a.wrote && time.Since(info.ModTime()) < idleFor {
		return nil
	}
	text, err := readText(a.notes())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	before, after, ok := strings.Cut(text, learnedHead+"\n")
	if !ok {
		before = strings.TrimLeft(strings.TrimRight(text, "\n")+"\n\n", "\n")
	}
	section, rest, more := strings.Cut(after, "\n## ")
	section = strings.TrimRight(section, "\n")
	for _, n := range a.noted {
		if line := a.line(ctx, n); line != "" && !strings.Contains(text+section, line) {
			section += "\n- " + n.event.At.Local().Format(time.DateOnly) + " " + line
		}
	}
	a.noted = nil
	if more {
		rest = "\n## " + rest
	}
	if written := before + learnedHead + "\n" + section + "\n" + rest; section != "" && written != text {
		err = writeFile(a.notes(), []byte(written), 0o644)
		if info, wrong := os.Stat(a.notes()); wrong == nil {
			a.wrote = info.ModTime()
		}
	} else {
		err = nil
	}
	return err
}

// commitNotes commits MEMORY.md where it has changed.
func (a *app) commitNotes(ctx context.Context) error {
	changed, err := a.git(ctx, "status", "--porcelain", "--", a.notes())
	if err == nil && changed != "" {
		_, err = a.git(ctx, "add", "--", a.notes())
	}
	if err == nil && changed != "" {
		_, err = a.git(ctx, "commit", "-m", "docs(memory): what was learned", "--", a.notes())
	}
	return err
}

// commitDaily commits MEMORY.md where its last commit is of another day.
func (a *app) commitDaily(ctx context.Context) error {
	at, err := a.git(ctx, "log", "-1", "--format=%cs", "--", a.notes())
	if err != nil || slices.Contains([]string{"", time.Now().Format(time.DateOnly)}, strings.TrimSpace(at)) {
		return nil // no repository, a person has not committed it yet, or it was committed today
	}
	return a.commitNotes(ctx)
}
