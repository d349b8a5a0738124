package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/arc-learn/arc/examples/quickstart/internal/repair"
)

// repairPackage repairs the user's package in a copy of its module.
func (s *shop) repairPackage(ctx context.Context) error {
	dir := s.config.pkg
	root, err := moduleRoot(dir)
	if err != nil {
		return err
	}
	copied := filepath.Join(s.scratch, "module")
	if err := repair.Copy(copied, root); err != nil {
		return err
	}
	rel, err := filepath.Rel(root, dir)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(copied, "go.mod")); errors.Is(err, fs.ErrNotExist) {
		err = os.WriteFile(filepath.Join(copied, "go.mod"), []byte("module example.com/"+filepath.Base(dir)+"\n\ngo 1.26\n"), 0o644)
		if err != nil {
			return err
		}
	}
	ses := &session{Name: "package"}
	s.result.Sessions = append(s.result.Sessions, ses)
	broken := filepath.Join(copied, rel)
	d, err := repair.Check(ctx, broken)
	if err != nil {
		return err
	}
	if d.OK() {
		s.out.printf("%s: build, vet and tests pass; there is nothing to repair.\n", dir)
		return s.finish(ctx)
	}
	s.out.printf("%s\n", d.Text)
	if err := s.repair(ctx, ses, job{filepath.Base(dir), copied, broken, d}); err != nil {
		return err
	}
	ses.Seconds = ses.Packages[0].Seconds
	if p := ses.Packages[0]; p.Delivered {
		if err := s.show(broken, p.Dir, dir); err != nil {
			return err
		}
	}
	return s.finish(ctx)
}

// moduleRoot returns the directory of the go.mod above dir, or dir itself.
func moduleRoot(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		_, err := os.Stat(filepath.Join(at, "go.mod"))
		switch {
		case err == nil:
			return at, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		case at == filepath.Dir(at):
			return dir, nil
		}
	}
}

// show prints what changed between two copies of a package, and writes it to
// the user's if asked to.
func (s *shop) show(before, after, user string) error {
	names, err := filepath.Glob(filepath.Join(after, "*.go"))
	if err != nil {
		return err
	}
	for _, name := range names {
		base := filepath.Base(name)
		was, err := os.ReadFile(filepath.Join(before, base))
		if err != nil {
			return err
		}
		is, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if bytes.Equal(was, is) {
			continue
		}
		s.out.diff(base, string(was), string(is))
		if s.config.write {
			if err := rewrite(filepath.Join(user, base), was, is); err != nil {
				return err
			}
		}
	}
	if s.config.write {
		s.out.printf("\nWritten to %s.\n", user)
	} else {
		s.out.printf("\nThe repaired copy is in\n  %s\nand -write changes\n  %s\n", after, user)
	}
	return nil
}

// rewrite replaces a file of the user, unless it was changed meanwhile.
func rewrite(path string, was, is []byte) error {
	now, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, was) {
		return fmt.Errorf("%s was changed meanwhile, and is left alone", path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, is, info.Mode().Perm())
}
