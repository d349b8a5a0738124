package badger

import (
	"crypto/rand"
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
	lockName    = "arc.lock"
	markName    = "arc.mark"
	cleanName   = "arc.clean"
	ballastName = "arc.ballast"
	currentName = "CURRENT"
	discardName = "DISCARD"
)

// Names of files that may be in the directory. Badger cannot open one with
// another file that ends in .mem or .vlog.
var (
	numbered = regexp.MustCompile(`^[0-9]{1,18}\.(mem|vlog|sst)$`)
	genName  = regexp.MustCompile(`^g[0-9]{6}$`)
	ours     = map[string]bool{
		lockName: true, cleanName: true, markName: true, markName + disk.Tmp: true, ballastName: true,
		currentName: true, currentName + disk.Tmp: true, files.Manifest + disk.Tmp: true,
	}
	engines = map[string]bool{
		files.Manifest: true, "MANIFEST-REWRITE": true, discardName: true, "LOCK": true,
		badger.KeyRegistryFileName: true, badger.KeyRegistryRewriteFileName: true,
	}
)

// contents is what Open found in the directory of a store, and in that of its
// current generation.
type contents struct {
	dir      string
	current  string   // the directory of the current generation
	missing  bool     // there is no directory
	empty    bool     // there is nothing in it
	manifest bool     // there is a store in it
	ours     bool     // there is a file that only arc makes
	marked   bool     // there is a mark, which is written after the manifest
	data     []string // the engine's files in current, without MANIFEST and LOCK
	rest     []string // paths of generations that do not count
	tables   uint64   // bytes in tables
}

// inspect looks at a directory without touching it, and returns the error with
// which Open must refuse it, open elsewhere or not.
func inspect(dir string) (*contents, error) {
	c := &contents{dir: dir, current: dir}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.missing = true
		return c, nil
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%w: it is not a directory", store.ErrForeign)
	}
	name, err := readCurrent(dir)
	if err != nil {
		return nil, err
	}
	c.current = filepath.Join(dir, name)
	there, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	c.empty = len(there) == 0
	foreign := c.sort(there, name)
	if name != "" {
		if there, err = os.ReadDir(c.current); err != nil {
			return nil, fmt.Errorf("%w: generation %s: %v", store.ErrDamaged, name, err)
		}
		foreign = append(foreign, c.sort(there, "")...)
	}
	if c.manifest {
		if err := files.CheckManifest(c.current, c.ours); err != nil {
			return nil, err
		}
	}
	trip := slices.IndexFunc(foreign, trips)
	if trip < 0 && len(foreign) > 0 && !c.manifest && !c.ours {
		trip = 0
	}
	if trip >= 0 {
		return nil, fmt.Errorf("%w: %s does not belong there", store.ErrForeign, foreign[trip])
	}
	return c, nil
}

// sort notes the files of a directory, and returns those of neither arc
// nor Badger. Below names the generation that counts, if it is not this one.
func (c *contents) sort(there []fs.DirEntry, below string) (foreign []string) {
	here := c.current
	if below != "" {
		here = c.dir
	}
	for _, f := range there {
		name := f.Name()
		switch regular := f.Type().IsRegular(); {
		case regular && ours[name]:
			c.ours, c.marked = true, c.marked || name == markName
		case f.IsDir() && genName.MatchString(name):
			if c.ours = true; name != below {
				c.rest = append(c.rest, filepath.Join(here, name))
			}
		case !regular || !engines[name] && !numbered.MatchString(name):
			foreign = append(foreign, name)
		case below != "":
			c.rest = append(c.rest, filepath.Join(here, name))
		default:
			c.add(f)
		}
	}
	return foreign
}

// trips reports whether Badger, or this package, would take a file of this
// name for one of its own.
func trips(name string) bool {
	ext := filepath.Ext(name)
	return ours[name] || engines[name] || ext == ".mem" || ext == ".vlog" || ext == ".sst"
}

// add notes a file of the current generation.
func (c *contents) add(f fs.DirEntry) {
	name := f.Name()
	switch name {
	case files.Manifest:
		c.manifest = true
		return
	case "LOCK", "MANIFEST-REWRITE":
		return
	}
	c.data = append(c.data, name)
	// A file that went away tells that another opener is at work: see the lock.
	if info, err := f.Info(); err == nil && strings.HasSuffix(name, ".sst") {
		c.tables += uint64(info.Size())
	}
}

// create makes the directory, and its own and empty ones private.
func (c *contents) create() error {
	if c.missing {
		if err := os.MkdirAll(c.dir, 0o700); err != nil {
			return err
		}
	}
	if c.missing || c.empty {
		return os.Chmod(c.dir, 0o700)
	}
	return nil
}

// clear removes what Badger stumbles over, and what no longer counts, from a
// directory that is whole. It needs the lock.
//
// A kill between the creation of a file and its first byte, or between its
// truncation and its removal, leaves it empty. Value logs and their statistics
// hold nothing, see settings, and are made anew.
func (c *contents) clear() error {
	if err := os.Remove(filepath.Join(c.dir, cleanName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, path := range c.rest {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	for _, name := range c.data {
		path := filepath.Join(c.current, name)
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		void := info.Size() == 0 && numbered.MatchString(name)
		if !void && name != discardName && !strings.HasSuffix(name, ".vlog") {
			continue
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// readCurrent returns the name of the generation that counts. It is empty
// where there is no CURRENT: then the directory itself is the generation, as in
// every store that has not been rewritten yet.
func readCurrent(dir string) (name string, err error) {
	data, err := os.ReadFile(filepath.Join(dir, currentName))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	name, _, _ = strings.Cut(string(data), " ")
	if !genName.MatchString(name) || string(data) != string(encodeCurrent(name)) {
		return "", fmt.Errorf("%w: %s names no generation", store.ErrDamaged, currentName)
	}
	return name, nil
}

func encodeCurrent(name string) []byte {
	return fmt.Appendf(nil, "%s %08x\n", name, crc32.Checksum([]byte(name), record.Castagnoli))
}

// randomID fills id. Reading randomness does not fail: see crypto/rand.
func randomID(id []byte) { rand.Read(id) }
