package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger"
)

// writing has a file made of what write writes; "-" is standard output.
func (a *app) writing(file string, write func(io.Writer) error) error {
	if file == "-" {
		return write(a.out)
	}
	return written(file, 0o600, write)
}

// reading has a file read; "-" is standard input.
func (a *app) reading(file string, read func(io.Reader) error) error {
	if file == "-" {
		return read(&input{a.ctx, a.in})
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return read(f)
}

// counted prints how many entries were written or read.
func (a *app) counted(n int, word string) error {
	return a.present(n, func() { a.headed(good, word, plural(n, "entry", "entries")) })
}

type exportCmd struct {
	File  string `help:"Where to; - is standard output." required:"" placeholder:"FILE" type:"path"`
	Scope string `help:"The scope, with all below it; the agent's own if it is not given." placeholder:"SCOPE"`
}

// Run implements the command.
func (c *exportCmd) Run(a *app, _ arc.View) error {
	if c.Scope != "" && a.lacks(c.Scope) {
		return refused("nothing is kept of %s", c.Scope)
	}
	scope := cmp.Or(memory.Scope(c.Scope), a.config.Scope)
	err := a.writing(c.File, func(w io.Writer) error { return a.agent.Export(a.ctx, scope, w) })
	if err != nil || c.File == "-" {
		return err
	}
	return a.did(nil, "written", string(scope))
}

type importCmd struct {
	File string `help:"What arc export has written; - is standard input." required:"" placeholder:"FILE" type:"path"`
}

// Run implements the command.
func (c *importCmd) Run(a *app, _ arc.View) error {
	return a.reading(c.File, func(r io.Reader) error {
		scope, err := a.agent.Import(a.ctx, r)
		if errors.Is(err, store.ErrForeign) {
			return refused("%s is not what arc export has written; a backup is put back by arc restore", c.File)
		}
		if err != nil {
			return err
		}
		return a.present(scope, func() { a.headed(good, "imported", string(scope)) })
	})
}

type eraseCmd struct {
	Scope string `help:"The scope that is removed, with all below it." required:"" placeholder:"SCOPE"`
	Yes   bool   `help:"Do not ask."`
}

// Run implements the command.
func (c *eraseCmd) Run(a *app, _ arc.View) error {
	if err := a.sure(a.ctx, c.Yes, fmt.Sprintf("Remove all that is kept of %s for good?", c.Scope)); err != nil {
		return err
	}
	nothing := a.lacks(c.Scope)
	if err := a.agent.Erase(a.ctx, memory.Scope(c.Scope)); err != nil {
		return err
	}
	if strings.HasPrefix(string(a.config.Scope)+"/", c.Scope+"/") {
		if err := a.notebook().erase(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if nothing {
		return refused("nothing was kept of %s", c.Scope)
	}
	return a.did(nil, "erased", c.Scope)
}

// lacks reports whether nothing is kept of a scope.
func (a *app) lacks(scope string) bool {
	var kept lines // the first and the last say what it is
	return a.agent.Export(a.ctx, memory.Scope(scope), &kept) == nil && kept <= 2
}

// lines counts those that are written, up to a few.
type lines int

// Write implements io.Writer.
func (n *lines) Write(p []byte) (int, error) {
	if *n += lines(bytes.Count(p, []byte{'\n'})); *n > 2 {
		return 0, io.ErrShortWrite // enough to know
	}
	return len(p), nil
}

type verifyCmd struct {
	File string `help:"A backup; - is standard input. Without it: the store." placeholder:"FILE" type:"path"`
}

// Run implements the command.
func (c *verifyCmd) Run(a *app) error {
	if c.File == "" {
		if _, err := a.view(); err != nil {
			return err
		}
		n, err := a.agent.Verify(a.ctx)
		return errors.Join(err, a.counted(n, "sound"))
	}
	return a.reading(c.File, func(r io.Reader) error {
		n, err := store.Verify(r)
		if err != nil {
			return err
		}
		return a.counted(n, "sound")
	})
}

type backupCmd struct {
	File string `help:"Where to; - is standard output." required:"" placeholder:"FILE" type:"path"`
}

// Run implements the command.
func (c *backupCmd) Run(a *app, _ arc.View) error {
	n := 0
	err := a.writing(c.File, func(w io.Writer) (err error) {
		n, err = a.agent.Backup(a.ctx, w)
		return err
	})
	if err != nil || c.File == "-" {
		return err
	}
	return a.counted(n, "written")
}

type restoreCmd struct {
	File string `help:"What arc backup has written; - is standard input." required:"" placeholder:"FILE" type:"path"`
}

// Run implements the command.
func (c *restoreCmd) Run(a *app) error {
	return a.reading(c.File, func(r io.Reader) error {
		st, err := badger.Open(a.path(".arc", "store"), nil)
		if err != nil {
			return err
		}
		n, err := store.Restore(a.ctx, st, r)
		if err = errors.Join(err, st.Close()); errors.Is(err, store.ErrConflict) {
			return refused("the store of %s is not empty: restore into a folder without .arc", a.dir)
		}
		if errors.Is(err, store.ErrForeign) {
			return refused("%s is not what arc backup has written; an export is taken in by arc import", c.File)
		}
		if err != nil {
			return err
		}
		return a.counted(n, "restored")
	})
}
