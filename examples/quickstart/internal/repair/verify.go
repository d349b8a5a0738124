package repair

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Unchanged is the complaint about a repair that is none.
const Unchanged = "nothing was changed"

// Verify checks a repaired package against the original it was copied from,
// which is known to be broken. The complaint is empty when build, vet and
// tests pass and the tests are the original ones; otherwise it is what a next
// attempt should know.
func Verify(ctx context.Context, original, repaired string) (complaint string, err error) {
	want, err := digest(original)
	if err != nil {
		return "", err
	}
	got, err := digest(repaired)
	if err != nil {
		return "", err
	}
	if maps.Equal(want, got) {
		return Unchanged, nil // and what it was does not pass
	}
	if !maps.Equal(fixed(want), fixed(got)) {
		return "tests were changed", nil
	}
	d, err := Check(ctx, repaired)
	if err != nil || d.OK() {
		return "", err
	}
	return "go " + d.Step + " fails:\n" + d.Text, nil
}

// sums holds the digest of each file of a tree, by path.
type sums map[string][sha256.Size]byte

// fixed returns what decides whether tests pass and no repair may touch: test
// sources, testdata, and go.mod.
func fixed(all sums) sums {
	kept := sums{}
	for rel, sum := range all {
		if strings.HasSuffix(rel, "_test.go") || slices.Contains(strings.Split(rel, "/"), "testdata") || rel == "go.mod" {
			kept[rel] = sum
		}
	}
	return kept
}

func digest(dir string) (sums, error) {
	all := sums{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		all[filepath.ToSlash(rel)] = sha256.Sum256(data)
		return nil
	})
	return all, err
}

// Copy copies the tree at src to dst, without hidden directories such as
// .git. An existing dst is replaced.
func Copy(dst, src string) error {
	if err := os.RemoveAll(dst); err != nil {
		return err
	}
	return filepath.WalkDir(src, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		target := filepath.Join(dst, rel)
		switch {
		case e.IsDir() && rel != "." && strings.HasPrefix(e.Name(), "."):
			return filepath.SkipDir
		case e.IsDir():
			return os.MkdirAll(target, 0o755)
		case !e.Type().IsRegular():
			return nil // links and sockets are not part of a package
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o644)
	})
}
