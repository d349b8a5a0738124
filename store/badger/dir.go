package badger

import (
	"crypto/rand"
	"encoding/binary"
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
	cleanName    = "arc.clean"
	ballastName  = "arc.ballast"
	currentName  = "CURRENT"
	tmpSuffix    = ".tmp"
	manifestName = badger.ManifestFilename
	discardName  = "DISCARD"
)

// Names of files that may be in the directory. Badger cannot open one with
// another file that ends in .mem or .vlog.
var (
	numbered = regexp.MustCompile(`^[0-9]{1,18}\.(mem|vlog|sst)$`)
	genName  = regexp.MustCompile(`^g[0-9]{6}$`)
	ours     = map[string]bool{
		lockName: true, cleanName: true, markName: true, markName + tmpSuffix: true, ballastName: true,
		currentName: true, currentName + tmpSuffix: true, manifestName + tmpSuffix: true,
	}
	engines = map[string]bool{
		manifestName: true, "MANIFEST-REWRITE": true, discardName: true, "LOCK": true,
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
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	c.empty = len(files) == 0
	foreign := c.sort(files, name)
	if name != "" {
		if files, err = os.ReadDir(c.current); err != nil {
			return nil, fmt.Errorf("%w: generation %s: %v", store.ErrDamaged, name, err)
		}
		foreign = append(foreign, c.sort(files, "")...)
	}
	if c.manifest {
		if err := checkManifest(filepath.Join(c.current, manifestName), c.ours); err != nil {
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
func (c *contents) sort(files []fs.DirEntry, below string) (foreign []string) {
	here := c.current
	if below != "" {
		here = c.dir
	}
	for _, f := range files {
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
	case manifestName:
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
	return fmt.Appendf(nil, "%s %08x\n", name, crc32.Checksum([]byte(name), castagnoli))
}

// writeFile makes data the durable content of a new file.
func writeFile(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// replaceFile makes data the durable content of a file, or leaves the file as
// it was.
func replaceFile(name string, data []byte) error {
	if err := writeFile(name+tmpSuffix, data); err != nil {
		return err
	}
	if err := os.Rename(name+tmpSuffix, name); err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}

// randomID fills id. Reading randomness does not fail: see crypto/rand.
func randomID(id []byte) { rand.Read(id) }
