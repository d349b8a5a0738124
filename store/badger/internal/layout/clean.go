package layout

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/arc-learn/arc/store/badger/internal/files"
)

// A store that was closed has a file, arc.clean, with a hash over the names, sizes
// and times of its files, and over MANIFEST. While it holds, no process has written
// to the store since, and Open leaves the blocks of the tables for later: see
// package engine. It reads all else: MANIFEST, the index of each table, which has a
// checksum and says how many entries there are, and the number of the last commit.
// Open deletes the file before it lets Badger write.
const cleanMagic = "arcclean1 "

// vouch returns what arc.clean says of a directory as it is: nothing where there
// is a log, which a store that was closed has not.
func (c *Contents) vouch() ([]byte, error) {
	manifest, err := os.ReadFile(filepath.Join(c.Current, files.Manifest))
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %x\n", strings.TrimPrefix(c.Current, c.Dir), manifest)
	for _, name := range c.data {
		info, err := os.Stat(filepath.Join(c.Current, name))
		switch {
		case err != nil:
			return nil, err
		case info.Size() == 0, name == DiscardName, strings.HasSuffix(name, ".vlog"):
			continue // it holds nothing, see clear
		case strings.HasSuffix(name, ".mem"):
			return nil, nil
		}
		fmt.Fprintf(sum, "%s %d %d\n", name, info.Size(), info.ModTime().UnixNano())
	}
	return fmt.Appendf(nil, "%s%x\n", cleanMagic, sum.Sum(nil)), nil
}

// vouched reports whether the directory is as a Close has left it.
func (c *Contents) vouched() bool {
	said, err := os.ReadFile(filepath.Join(c.Dir, cleanName))
	if err != nil || len(said) == 0 {
		return false
	}
	is, err := c.vouch()
	return err == nil && bytes.Equal(is, said)
}

// Vouch writes the clean mark of a directory. It is not synced: without it, or with a part
// of it, Open reads all.
func Vouch(dir string) error {
	c, err := Inspect(dir)
	if err != nil {
		return err
	}
	is, err := c.vouch()
	if err != nil || is == nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, cleanName), is, 0o600)
}
