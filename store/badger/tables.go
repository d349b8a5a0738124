package badger

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
)

// tableSize is how large the tables of a rewrite become, in bytes. Each takes a
// descriptor; building one takes three times its size in memory.
const tableSize = 32 << 20

// tables writes entries that come in key order as a directory that Badger
// opens. It writes with plain writes, whose errors are errors; Badger's own
// writers use memory maps, where a full disk is a signal, and goroutines that
// panic.
type tables struct {
	dir     string
	builder *table.Builder
	ids     []uint64
	entries uint64
	size    uint64
	id      []byte
	newest  uint64
}

// lastLevel is the level of Badger's on which tables do not overlap and no
// others are below.
const lastLevel = 6

func newTables(dir string) (*tables, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	return &tables{dir: dir}, nil
}

// add appends an entry. A key comes once.
func (w *tables) add(key []byte, version uint64, rec []byte) error {
	if w.builder != nil && w.builder.ReachedCapacity() {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if w.builder == nil {
		o := settings(w.dir, minMemTable, nil)
		w.builder = table.NewTableBuilder(table.Options{
			TableSize: tableSize, BlockSize: o.BlockSize, BloomFalsePositive: o.BloomFalsePositive,
		})
	}
	w.builder.Add(y.KeyWithTs(key, version), y.ValueStruct{Value: rec}, 0)
	w.entries++
	w.newest = max(w.newest, version)
	if string(key) == idKey {
		w.id = append(w.id, rec[min(recordHeader, len(rec)):]...)
	}
	return nil
}

// flush writes a table.
func (w *tables) flush() error {
	if w.builder == nil {
		return nil
	}
	id := uint64(len(w.ids) + 1)
	data := w.builder.Finish()
	w.builder.Close()
	w.builder = nil
	w.ids, w.size = append(w.ids, id), w.size+uint64(len(data))
	return writeFile(table.NewFilename(id, w.dir), data)
}

// finish writes the number of entries and what is left, and makes it durable.
// Keys of this package sort behind those of the host, and seqKey is the last.
func (w *tables) finish(seq uint64) (*survey, error) {
	if err := w.add([]byte(seqKey), seq, seqRecord(seq, w.entries+1)); err != nil {
		return nil, err
	}
	if err := w.flush(); err != nil {
		return nil, err
	}
	if err := writeFile(filepath.Join(w.dir, manifestName), encodeManifest(w.ids, nil)); err != nil {
		return nil, err
	}
	v := &survey{
		dir: w.dir, id: w.id, seq: seq, told: w.entries, entries: w.entries, newest: w.newest, tables: make([]found, len(w.ids)),
	}
	return v, syncDir(w.dir)
}

// encodeManifest returns a manifest of Badger's: a header, and one set of
// changes, in protocol buffers, that creates the tables on these levels, or all
// on the last one.
func encodeManifest(ids, levels []uint64) []byte {
	var changes []byte
	for i, id := range ids {
		level := uint64(lastLevel)
		if levels != nil {
			level = levels[i]
		}
		change := binary.AppendUvarint([]byte{1 << 3}, id)
		change = append(change, 3<<3, byte(level))
		changes = append(changes, 1<<3|2, byte(len(change)))
		changes = append(changes, change...)
	}
	b := []byte("Bdgr")
	b = binary.BigEndian.AppendUint16(b, magic)
	b = binary.BigEndian.AppendUint16(b, badgerFormat)
	b = binary.BigEndian.AppendUint32(b, uint32(len(changes)))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(changes, castagnoli))
	return append(b, changes...)
}
