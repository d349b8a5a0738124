package main

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
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
	err := fs.WalkDir(templates, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel := strings.TrimPrefix(name, root+"/")
		to := a.path(filepath.FromSlash(rel))
		text, err := templates.ReadFile(name)
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
		return errors.Join(err, f.Close())
	})
	err = errors.Join(
		err, os.MkdirAll(a.path(".arc"), 0o700), os.WriteFile(a.path(".arc", ".gitignore"), []byte("*\n"), 0o600),
	)
	if err != nil {
		return err
	}
	return a.present(made, func() {
		a.headed(good, "made", strings.Join(made, " "))
		a.headed(faint, "next", "arc do    (what arc.yaml says under try; say your own with --text)")
	})
}
