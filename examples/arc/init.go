package main

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed all:templates
var templates embed.FS

type initCmd struct {
	Template string `help:"What the agent is for: notes, keeper (of a repository) or desk (support)." enum:"notes,keeper,desk" default:"notes"`
}

// Run implements the command. Files that are there stay as they are.
func (c *initCmd) Run(a *app) error {
	if _, err := os.Stat(a.path("arc.yaml")); err == nil {
		return misuse("an agent is in %s already", a.dir)
	}
	root := path.Join("templates", c.Template)
	made := []string{}
	place := func(rel string) error {
		to := a.path(filepath.FromSlash(rel))
		text, err := templates.ReadFile(path.Join(root, rel))
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		if err != nil {
			return err
		}
		made = append(made, rel)
		_, err = f.Write(text)
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(to)) // no half of a file
		}
		return err
	}
	err := fs.WalkDir(templates, root, func(name string, d fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(name, root+"/")
		if err != nil || d.IsDir() || rel == "arc.yaml" {
			return err
		}
		return place(rel)
	})
	if err == nil {
		err = os.MkdirAll(a.path(".arc"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(a.path(".arc", ".gitignore"), []byte("*\n"), 0o600)
	}
	if err == nil {
		err = place("arc.yaml") // the last: where it is, an agent is whole
	}
	if err != nil {
		return err
	}
	slices.Sort(made)
	return a.present(made, func() {
		a.headed(good, "made", strings.Join(made, " "))
		a.headed(faint, "next", "arc do    (what arc.yaml says under try; say your own with --text)")
	})
}
