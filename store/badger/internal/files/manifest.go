package files

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger/internal/disk"
	"github.com/arc-learn/arc/store/badger/internal/record"
)

// The external magic in MANIFEST marks a directory as arc's, in its first byte, and
// tells the version of what is in it, in the second.
const (
	Magic = arcMagic<<8 | schema

	arcMagic = 0xA2
	schema   = 1
	format   = 8 // of the manifest, since Badger 4.0
)

// Manifest is the name of the file that lists the tables.
const Manifest = badger.ManifestFilename

// LastLevel is the level on which tables do not overlap and no others are below.
const LastLevel = 6

// Listed is a table that a manifest lists.
type Listed struct {
	ID    uint64
	Level uint8
}

// ReadManifest returns the tables that a manifest lists, and whether it ends within a
// record.
func ReadManifest(dir string) (tables []Listed, torn bool, err error) {
	f, err := os.Open(filepath.Join(dir, Manifest))
	if err != nil {
		return nil, false, err
	}
	defer f.Close() // it was not written to
	m, end, err := badger.ReplayManifestFile(f, Magic, badger.DefaultOptions(dir).WithLogger(nil))
	if err != nil {
		return nil, false, fmt.Errorf("%w: %s: %v", store.ErrDamaged, Manifest, err)
	}
	for id, t := range m.Tables {
		tables = append(tables, Listed{ID: id, Level: t.Level})
	}
	info, err := f.Stat()
	return tables, err == nil && info.Size() != end, err
}

// encodeManifest returns a manifest: a header, and one set of changes, in protocol
// buffers, that creates the tables.
func encodeManifest(tables []Listed) []byte {
	var changes []byte
	for _, t := range tables {
		change := binary.AppendUvarint([]byte{1 << 3}, t.ID)
		change = append(change, 3<<3, t.Level)
		changes = append(changes, 1<<3|2, byte(len(change)))
		changes = append(changes, change...)
	}
	b := []byte("Bdgr")
	b = binary.BigEndian.AppendUint16(b, Magic)
	b = binary.BigEndian.AppendUint16(b, format)
	b = binary.BigEndian.AppendUint32(b, uint32(len(changes)))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(changes, record.Castagnoli))
	return append(b, changes...)
}

// ReplaceManifest makes a manifest that lists the tables, in place of what was there.
func ReplaceManifest(dir string, tables []Listed) error {
	return disk.Replace(filepath.Join(dir, Manifest), encodeManifest(tables))
}

// CheckManifest looks at the first bytes of a manifest: the text "Bdgr", the external
// magic, and the version of Badger's format. Ours says whether the directory is known
// to be arc's.
func CheckManifest(dir string, ours bool) error {
	f, err := os.Open(filepath.Join(dir, Manifest))
	if err != nil {
		return err
	}
	defer f.Close() // it was not written to
	var head [8]byte
	n, err := f.ReadAt(head[:], 0)
	is := binary.BigEndian.Uint16(head[6:])
	switch {
	case (n < len(head) || string(head[:4]) != "Bdgr") && ours:
		return fmt.Errorf("%w: %s has no header (%v)", store.ErrDamaged, Manifest, err)
	case n < len(head) || string(head[:4]) != "Bdgr":
		return fmt.Errorf("%w: %s is not Badger's", store.ErrForeign, Manifest)
	case head[4] != arcMagic:
		return fmt.Errorf("%w: %s belongs to another program", store.ErrForeign, Manifest)
	case head[5] > schema:
		return fmt.Errorf("%w: it has version %d, and this one reads up to %d", store.ErrNewer, head[5], schema)
	case is > format:
		return fmt.Errorf("%w: Badger's format is %d, and this one reads %d", store.ErrNewer, is, format)
	case is < format || head[5] == 0:
		return fmt.Errorf("%w: %s has an impossible header", store.ErrDamaged, Manifest)
	}
	return nil
}
