// Package layout is what lies in the directory of a store, by reading alone: which files
// are whose, which generation counts, and whether what they hold fits together. Nothing
// here opens Badger.
package layout

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/dgraph-io/badger/v4"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger/internal/disk"
	"github.com/arc-learn/arc/store/badger/internal/files"
	"github.com/arc-learn/arc/store/badger/internal/record"
)

const (
	LockName    = "arc.lock"
	MarkName    = "arc.mark"
	cleanName   = "arc.clean"
	BallastName = "arc.ballast"
	CurrentName = "CURRENT"
	DiscardName = "DISCARD"
)

// Names of files that may be in the directory. Badger cannot open one with
// another file that ends in .mem or .vlog.
var (
	numbered = regexp.MustCompile(`^[0-9]{1,18}\.(mem|vlog|sst)$`)
	genName  = regexp.MustCompile(`^g[0-9]{6}$`)
	ours     = map[string]bool{
		LockName: true, cleanName: true, MarkName: true, MarkName + disk.Tmp: true, BallastName: true,
		CurrentName: true, CurrentName + disk.Tmp: true, files.Manifest + disk.Tmp: true,
	}
	engines = map[string]bool{
		files.Manifest: true, "MANIFEST-REWRITE": true, DiscardName: true, "LOCK": true,
		badger.KeyRegistryFileName: true, badger.KeyRegistryRewriteFileName: true,
	}
)

// Contents is what Open found in the directory of a store, and in that of its
// current generation.
type Contents struct {
	Dir      string
	Current  string // the directory of the current generation
	Manifest bool   // there is a store in it
	Tables   uint64 // bytes in tables

	empty  bool     // there is nothing in it
	ours   bool     // there is a file that only arc makes
	marked bool     // there is a mark, which is written after the manifest
	data   []string // the engine's files in current, without MANIFEST and LOCK
	rest   []string // paths of generations that do not count
}

// Inspect looks at a directory without touching it, and returns the error with
// which Open must refuse it, open elsewhere or not.
func Inspect(dir string) (*Contents, error) {
	c := &Contents{Dir: dir, Current: dir}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.empty = true
		return c, nil
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%w: it is not a directory", store.ErrForeign)
	}
	name, err := ReadCurrent(dir)
	if err != nil {
		return nil, err
	}
	c.Current = filepath.Join(dir, name)
	there, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	c.empty = len(there) == 0
	foreign := c.sort(there, name)
	if name != "" {
		if there, err = os.ReadDir(c.Current); err != nil {
			return nil, fmt.Errorf("%w: generation %s: %v", store.ErrDamaged, name, err)
		}
		foreign = append(foreign, c.sort(there, "")...)
	}
	if c.Manifest {
		if err := files.CheckManifest(c.Current, c.ours); err != nil {
			return nil, err
		}
	}
	trip := slices.IndexFunc(foreign, trips)
	if trip < 0 && len(foreign) > 0 && !c.Manifest && !c.ours {
		trip = 0
	}
	if trip >= 0 {
		return nil, fmt.Errorf("%w: %s does not belong there", store.ErrForeign, foreign[trip])
	}
	return c, nil
}

// sort notes the files of a directory, and returns those of neither arc
// nor Badger. Below names the generation that counts, if it is not this one.
func (c *Contents) sort(there []fs.DirEntry, below string) (foreign []string) {
	here := c.Current
	if below != "" {
		here = c.Dir
	}
	for _, f := range there {
		name := f.Name()
		switch regular := f.Type().IsRegular(); {
		case regular && ours[name]:
			c.ours, c.marked = true, c.marked || name == MarkName
		case f.IsDir() && genName.MatchString(name):
			if c.ours = true; name != below {
				c.rest = append(c.rest, filepath.Join(here, name))
			}
		case !regular || !Engines(name):
			foreign = append(foreign, name)
		case below != "":
			c.rest = append(c.rest, filepath.Join(here, name))
		default:
			c.noteFile(f)
		}
	}
	return foreign
}

// Engines reports whether Badger makes files of this name.
func Engines(name string) bool { return engines[name] || numbered.MatchString(name) }

// trips reports whether Badger, or this package, would take a file of this
// name for one of its own.
func trips(name string) bool {
	ext := filepath.Ext(name)
	return ours[name] || engines[name] || ext == ".mem" || ext == ".vlog" || ext == ".sst"
}

// noteFile notes a file of the current generation.
func (c *Contents) noteFile(f fs.DirEntry) {
	name := f.Name()
	switch name {
	case files.Manifest:
		c.Manifest = true
		return
	case "LOCK", "MANIFEST-REWRITE":
		return
	}
	c.data = append(c.data, name)
	// A file that went away tells that another opener is at work: see the lock.
	if info, err := f.Info(); err == nil && strings.HasSuffix(name, ".sst") {
		c.Tables += uint64(info.Size())
	}
}

// Create makes the directory, and its own and empty ones private.
func (c *Contents) Create() error {
	if !c.empty {
		return nil
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	return os.Chmod(c.Dir, 0o700)
}

// Clear removes what Badger stumbles over, and what no longer counts, from a
// directory that is whole. It needs the lock.
//
// A kill between the creation of a file and its first byte, or between its
// truncation and its removal, leaves it empty. Value logs and their statistics
// hold nothing, see settings, and are made anew.
func (c *Contents) Clear() error {
	if err := os.Remove(filepath.Join(c.Dir, cleanName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, path := range c.rest {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	for _, name := range c.data {
		path := filepath.Join(c.Current, name)
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		void := info.Size() == 0 && numbered.MatchString(name)
		if !void && name != DiscardName && !strings.HasSuffix(name, ".vlog") {
			continue
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// ReadCurrent returns the name of the generation that counts. It is empty
// where there is no CURRENT: then the directory itself is the generation, as in
// every store that has not been rewritten yet.
func ReadCurrent(dir string) (name string, err error) {
	data, err := os.ReadFile(filepath.Join(dir, CurrentName))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	name, _, _ = strings.Cut(string(data), " ")
	if !genName.MatchString(name) || string(data) != string(EncodeCurrent(name)) {
		return "", fmt.Errorf("%w: %s names no generation", store.ErrDamaged, CurrentName)
	}
	return name, nil
}

// EncodeCurrent returns what CURRENT says of a generation.
func EncodeCurrent(name string) []byte {
	return fmt.Appendf(nil, "%s %08x\n", name, crc32.Checksum([]byte(name), record.Castagnoli))
}

// NextName returns the name of the generation behind that of a name, or the first.
func NextName(name string) string {
	n := 0
	if name != "" {
		// A name of a generation is a letter and six digits, see genName.
		_, _ = fmt.Sscanf(name, "g%d", &n)
	}
	return fmt.Sprintf("g%06d", (n+1)%1_000_000)
}

// Resolve returns the absolute name of dir, with links followed where it
// exists, so that a later change of the working directory or of a link does
// not matter.
func Resolve(dir string) (string, error) {
	if dir == "" {
		return "", fs.ErrInvalid
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return abs, nil
	}
	return real, err
}

// Existing returns dir or the nearest directory above it that exists.
func Existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// Begin makes a directory, in place of what was there, and returns what writes a generation
// into it, in key order.
func Begin(dir string) (*files.Writer, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return files.NewWriter(dir, 1, files.LastLevel), nil
}

// Finish writes the number of entries as of seq, whose key is the last, and the manifest.
func Finish(w *files.Writer, dir string, seq uint64) error {
	err := w.Add(files.Entry{Key: []byte(record.SeqKey), Version: seq, Rec: record.Seq(seq, w.Entries+1)})
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return err
	}
	return files.ReplaceManifest(dir, w.Tables)
}
