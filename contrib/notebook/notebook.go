// Package notebook keeps what an agent learns in a Markdown file that people read and write, too, such as
// MEMORY.md: a line each below «## Learned», in the words of the runs, and no line twice.
//
//	notes := notebook.New("/srv/agent/memory/MEMORY.md")
//	agent, err := arc.Open(ctx, dir, host, &arc.Options{OnEvent: notes.OnEvent})
//	… // every half minute, and with 0 at the end:
//	err = notes.Write(ctx, agent, 3*time.Second)
//
// Nothing else of the file is changed, and one that is not UTF-8 is refused. [Brief] tells what is above it.
package notebook

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
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/renameio/v2/maybe"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/contrib/command"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/memory"
)

const head = "## Learned"

// Notebook is a file of notes. It may be used concurrently.
type Notebook struct {
	path string

	mu    sync.Mutex
	noted []note
}

type note struct {
	scope memory.Scope
	run   string
	event arc.Event
}

// New returns the notebook at path, which need not exist.
func New(path string) *Notebook { return &Notebook{path: path} }

// OnEvent keeps for Write what an event teaches: that a plan was learned, or a run blocked.
func (n *Notebook) OnEvent(scope memory.Scope, run string, e arc.Event) {
	if e.Kind == "learned" || e.Kind == "blocked" {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.noted = append(n.noted, note{scope, run, e})
	}
}

// Write appends what was kept since, unless the file was changed within idle: somebody may have it open.
// After an error it is kept for the next Write.
func (n *Notebook) Write(ctx context.Context, a *arc.Agent, idle time.Duration) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.noted) == 0 {
		return nil
	}
	if f, err := os.Stat(n.path); err == nil && time.Since(f.ModTime()) < idle {
		return nil
	}
	text, err := Read(n.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	end := "\n"
	if !strings.Contains(text, head+end) && strings.Contains(text, "\r\n") { // as editors of Windows end lines
		end = "\r\n"
	}
	before, after, ok := strings.Cut(text, head+end)
	if !ok {
		before = strings.TrimLeft(strings.TrimRight(text, "\r\n")+end+end, "\r\n")
	}
	section, rest, more := strings.Cut(after, "\n## ")
	section = strings.TrimRight(section, "\r\n")
	for _, one := range n.noted {
		if line := one.line(ctx, a); line != "" && !strings.Contains(text+section, line) {
			section += end + "- " + one.event.At.Local().Format(time.DateOnly) + " " + line
		}
	}
	if more {
		rest = end + "## " + rest
	}
	written := before + head + end + section + end + rest
	if section != "" && written != text {
		if err := os.MkdirAll(filepath.Dir(n.path), 0o755); err != nil {
			return err
		}
		at, _ := filepath.EvalSymlinks(n.path) // a link stays; "": nothing is there
		if err := maybe.WriteFile(cmp.Or(at, n.path), []byte(written), 0o644); err != nil {
			return err
		}
	}
	n.noted = nil
	return nil
}

// line says what a note teaches; "": its run was deleted.
func (one note) line(ctx context.Context, a *arc.Agent) string {
	r, err := a.In(one.scope).Report(ctx, one.run)
	switch {
	case err != nil, r.Cause == arc.Refused: // a wrong key, an empty account, a person's no
		return ""
	case one.event.Kind == "blocked":
		return "[FLAG] " + cut(r.Objective, 100) + ": " + cut(string(r.Cause)+": "+r.Text, 200)
	case len(r.Failed) > 0:
		return cut(r.Objective, 100) + ": passed, after " + cut(r.Failed[0].Complaint, 200)
	}
	text, _, _ := strings.Cut(r.Objective, " {") // its inputs, which differ where the plan fires
	return cut(text, 100) + ": done by a learned plan from now on"
}

// cut is the beginning of a text on one line, in so many bytes.
func cut(text string, most int) string { return fence.Clip(fence.Line(text), most) }

// Commit commits the file to its git repository where it has changed, and where its last commit is before a
// time. A file that nobody has committed is left alone. No hook runs and nothing is signed: either may ask.
func (n *Notebook) Commit(ctx context.Context, before time.Time) error {
	git := func(args ...string) (string, error) {
		argv := []string{"git", "-c", "core.hooksPath=" + os.DevNull, "-c", "commit.gpgSign=false"}
		argv = append(append(argv, args...), "--", filepath.Base(n.path))
		out, err := command.Run(ctx, filepath.Dir(n.path), os.Environ(), nil, argv...)
		return strings.TrimSpace(string(out)), err
	}
	last, err := git("log", "-1", "--format=%cI")
	if at, wrong := time.Parse(time.RFC3339, last); err != nil || wrong != nil || !at.Before(before) {
		return nil // there is no repository or no commit, or a later one
	}
	if changed, err := git("status", "--porcelain"); err != nil || changed == "" {
		return err
	}
	_, err = git("commit", "-m", "docs(memory): what was learned")
	return err
}

// Read reads a file that a person writes. One that is not UTF-8 is an error.
func Read(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err == nil && !utf8.Valid(data) {
		err = fmt.Errorf("%s is not UTF-8: it is neither read nor changed; save it as UTF-8", path)
	}
	return string(data), err
}

// Brief is what a model is told of files of a folder, as far as they exist: each below its name, up to a
// bound of tokens, of three bytes each. What does not fit, or cannot be read, is left out, and an error.
func Brief(dir string, tokens int, files ...string) (text string, err error) {
	left := 3 * tokens
	var b strings.Builder
	for i, f := range files {
		text, wrong := Read(filepath.Join(dir, f))
		if errors.Is(wrong, fs.ErrNotExist) || slices.Contains(files[:i], f) {
			continue
		}
		text, _, _ = strings.Cut("\n"+strings.ReplaceAll(text, "\r\n", "\n"), "\n"+head+"\n") // words of runs
		if wrong == nil && len(text) > left {
			wrong = fmt.Errorf("%s is left out: it has about %d tokens, and there are %d left", f, len(text)/3, left/3)
		}
		if wrong != nil {
			err = errors.Join(err, wrong)
			text = "(left out)"
		} else {
			left -= len(text)
		}
		b.WriteString("# " + f + "\n\n" + strings.TrimSpace(text) + "\n\n")
	}
	return strings.TrimSpace(b.String()), err
}
