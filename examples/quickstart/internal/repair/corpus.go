package repair

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"
)

// Package is a broken package of the corpus. Family and Session are for the
// program that picks packages and for tests; they are not written to disk, so
// nothing that looks at an unpacked package can see them.
type Package struct {
	Name    string // of the archive, without its extension
	About   string // what the package is for
	Family  string // the kind of breakage
	Session int    // in which session of the quickstart it is repaired; 0: none
	files   []txtar.File
}

// Load reads the archives of fsys whose names match the pattern, in their order. The
// comment of an archive is a line about the package, then "family:" and
// "session:" lines.
func Load(fsys fs.FS, pattern string) ([]Package, error) {
	names, err := fs.Glob(fsys, pattern)
	if err != nil {
		return nil, err
	}
	var ps []Package
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		p, err := parsePackage(strings.TrimSuffix(path.Base(name), ".txtar"), txtar.Parse(data))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		ps = append(ps, p)
	}
	return ps, nil
}

func parsePackage(name string, ar *txtar.Archive) (Package, error) {
	p := Package{Name: name, files: ar.Files}
	for line := range strings.Lines(string(ar.Comment)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "family":
			p.Family = value
		case "session":
			n, err := strconv.Atoi(value)
			if err != nil {
				return p, fmt.Errorf("session: %w", err)
			}
			p.Session = n
		default:
			p.About = strings.TrimSpace(p.About + " " + strings.TrimSpace(line))
		}
	}
	if p.Family == "" || len(p.files) == 0 {
		return p, fmt.Errorf("a package needs a family and files")
	}
	return p, nil
}

// Unpack writes the package to dir as a module of its own.
func (p Package) Unpack(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range p.files {
		if !filepath.IsLocal(f.Name) {
			return fmt.Errorf("unpack %s: %q leaves the directory", p.Name, f.Name)
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o644); err != nil {
			return err
		}
	}
	mod := fmt.Appendf(nil, "module example.com/%s\n\ngo 1.26\n", p.Name)
	return os.WriteFile(filepath.Join(dir, "go.mod"), mod, 0o644)
}
