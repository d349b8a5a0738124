package worktree

import (
	"context"
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
)

// GoSyntax is a Guard that refuses a tree with a Go file that does not parse. It leaves out
// directories that the go command leaves out.
func GoSyntax(ctx context.Context, dir string) error {
	var errs []error
	skipped := func(name string) bool {
		return name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case d.IsDir() && path != dir && skipped(name):
			return fs.SkipDir
		case d.Type().IsRegular() && filepath.Ext(name) == ".go":
			if _, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution); err != nil {
				errs = append(errs, errors.New(strings.TrimPrefix(err.Error(), dir+string(filepath.Separator))))
			}
		}
		return nil
	})
	return errors.Join(append(errs, err)...)
}
