package badger

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"

	"github.com/arc-learn/arc/store"
)

// The external magic in Badger's MANIFEST marks a directory as arc's, in its
// first byte, and tells the version of what is in it, in the second.
const (
	arcMagic = 0xA2
	schema   = 1
	magic    = arcMagic<<8 | schema

	badgerFormat = 8 // of the manifest, since Badger 4.0
)

const (
	lockName     = "arc.lock"
	markName     = "arc.mark"
	tmpSuffix    = ".tmp"
	manifestName = badger.ManifestFilename
	discardName  = "DISCARD"
)

// Names of files that may be in the directory. Badger cannot open one with
// another file that ends in .mem or .vlog.
var (
	numbered = regexp.MustCompile(`^[0-9]{1,18}\.(mem|vlog|sst)$`)
	known    = map[string]bool{
		lockName: true, markName: true, markName + tmpSuffix: true,
		manifestName: true, "MANIFEST-REWRITE": true, discardName: true, "LOCK": true,
		badger.KeyRegistryFileName: true, badger.KeyRegistryRewriteFileName: true,
	}
)

// contents is what Open found in the directory.
type contents struct {
	dir      string
	missing  bool     // there is no directory
	empty    bool     // there is nothing in it
	manifest bool     // there is a store in it
	ours     bool     // there is a file that only arc makes
	marked   bool     // there is a mark, which is written after the manifest
	data     []string // Badger's files, but for MANIFEST and LOCK
	void     []string // .mem and .vlog files without a byte
	tables   uint64   // bytes in tables
}

// inspect looks at a directory without touching it, and returns the error with
// which Open must refuse it whoever has it open.
func inspect(dir string) (*contents, error) {
	c := &contents{dir: dir}
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
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	c.empty = len(files) == 0
	foreign := ""
	for _, f := range files {
		if !c.add(f) && (foreign == "" || trips(f.Name())) {
			foreign = f.Name()
		}
	}
	if c.manifest {
		if err := checkManifest(filepath.Join(dir, manifestName), c.ours); err != nil {
			return nil, err
		}
	}
	if foreign != "" && (!c.manifest && !c.ours || trips(foreign)) {
		return nil, fmt.Errorf("%w: %s does not belong there", store.ErrForeign, foreign)
	}
	return c, nil
}

// trips reports whether Badger, or this package, would take a file of this
// name for one of its own.
func trips(name string) bool {
	ext := filepath.Ext(name)
	return known[name] || ext == ".mem" || ext == ".vlog" || ext == ".sst"
}

// add notes a file, and reports false if it is none of arc's or Badger's.
func (c *contents) add(f fs.DirEntry) bool {
	name := f.Name()
	if !f.Type().IsRegular() || !known[name] && !numbered.MatchString(name) {
		return false
	}
	switch name {
	case manifestName:
		c.manifest = true
		return true
	case lockName, markName, markName + tmpSuffix:
		c.ours, c.marked = true, c.marked || name == markName
		return true
	case "LOCK", "MANIFEST-REWRITE":
		return true
	}
	c.data = append(c.data, name)
	info, err := f.Info()
	if err != nil {
		return true // it went away: another opener is at work, and the lock will tell
	}
	switch {
	case strings.HasSuffix(name, ".sst"):
		c.tables += uint64(info.Size())
	case info.Size() == 0 && numbered.MatchString(name):
		c.void = append(c.void, name)
	}
	return true
}

// checkManifest looks at the first bytes of MANIFEST: the text "Bdgr", the
// external magic, and the version of Badger's format.
func checkManifest(name string, ours bool) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	var head [8]byte
	n, err := f.ReadAt(head[:], 0)
	if n < len(head) || string(head[:4]) != "Bdgr" {
		if ours {
			return fmt.Errorf("%w: %s has no header (%v)", store.ErrDamaged, manifestName, err)
		}
		return fmt.Errorf("%w: %s is not Badger's", store.ErrForeign, manifestName)
	}
	switch {
	case head[4] != arcMagic:
		return fmt.Errorf("%w: %s belongs to another program", store.ErrForeign, manifestName)
	case head[5] > schema:
		return fmt.Errorf("%w: it has version %d, and this one reads up to %d", store.ErrNewer, head[5], schema)
	}
	switch format := binary.BigEndian.Uint16(head[6:]); {
	case format > badgerFormat:
		return fmt.Errorf("%w: Badger's format is %d, and this one reads %d", store.ErrNewer, format, badgerFormat)
	case format < badgerFormat || head[5] == 0:
		return fmt.Errorf("%w: %s has an impossible header", store.ErrDamaged, manifestName)
	}
	return nil
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

// prepare refuses what Badger would turn into a loss, and clears away what it
// stumbles over. It needs the lock.
func (c *contents) prepare() error {
	if !c.manifest && (c.marked || len(c.data) > 0) {
		// Badger would begin an empty store and delete the tables.
		return fmt.Errorf("%w: %s is missing", store.ErrDamaged, manifestName)
	}
	if err := c.checkTables(); err != nil {
		return err
	}
	if err := checkWritable(filepath.Join(c.dir, discardName)); err != nil {
		return err
	}
	// A kill between the creation of a file and its first byte, or between its
	// truncation and its removal, leaves it empty. Nothing was in it that had
	// been acknowledged.
	for _, name := range c.void {
		if err := os.Remove(filepath.Join(c.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// checkTables reads the indexes of the tables in the manifest. Others are the
// rest of a compaction that was killed, and Badger removes them.
func (c *contents) checkTables() error {
	if !c.manifest {
		return nil
	}
	f, err := os.Open(filepath.Join(c.dir, manifestName))
	if err != nil {
		return err
	}
	defer f.Close()
	manifest, _, err := badger.ReplayManifestFile(f, magic, badger.DefaultOptions(c.dir).WithLogger(nil))
	if err != nil {
		return fmt.Errorf("%w: %s: %v", store.ErrDamaged, manifestName, err)
	}
	for id := range manifest.Tables {
		if err := checkTable(table.NewFilename(id, c.dir), id); err != nil {
			return err
		}
	}
	return nil
}

// checkTable reads a table and verifies its blocks. Badger does so in goroutines
// of its own, where the panics with which it meets a table that was cut short,
// or a block whose checksum cannot even be found, would end the process.
func checkTable(name string, id uint64) (err error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s is missing", store.ErrDamaged, filepath.Base(name))
	}
	if err != nil {
		return err
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: the index of %s, or a block", store.ErrDamaged, filepath.Base(name))
		}
	}()
	t, err := table.OpenInMemoryTable(data, id, &table.Options{})
	if err == nil {
		err = t.VerifyChecksum()
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %v", store.ErrDamaged, filepath.Base(name), err)
	}
	return nil
}

// checkWritable returns an error for a file that cannot be written. Badger
// ends the process if it cannot open DISCARD.
func checkWritable(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// randomID fills id. Reading randomness does not fail: see crypto/rand.
func randomID(id []byte) { rand.Read(id) }
