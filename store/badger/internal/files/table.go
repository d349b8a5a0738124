package files

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger/internal/disk"
	"github.com/arc-learn/arc/store/badger/internal/record"
)

// tableSize is how large the tables of a Writer become, in bytes. Each takes a
// descriptor; building one takes three times its size in memory.
const tableSize = 32 << 20

// tableMemory is how many bytes a Writer must be able to map before it begins a
// table. Badger's builder takes two buffers, of twice and four times tableSize,
// and Finish one more; the rest is for the heap, which grows by 64 MiB at a time,
// and for what others write meanwhile.
const tableMemory = 12 * tableSize

// Attempt returns the panics with which Badger meets damage as errors.
func Attempt(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", store.ErrDamaged, r)
		}
	}()
	return fn()
}

// CheckTable reads a table, and compares its blocks with their checksums unless it
// is told to be quick, when it reads the index alone and maps the rest. It calls hear
// with the newest entries of the store's own keys, and returns how many entries there
// are, and the newest version. Badger does so in goroutines of its own, where the
// panics with which it meets a table that was cut short, or a block whose checksum
// cannot even be found, would end the process.
func CheckTable(
	dir string, id uint64, quick bool, hear func(key []byte, version uint64, rec []byte) error,
) (entries, newest uint64, err error) {
	read := os.ReadFile
	if quick {
		read = disk.Map
	}
	data, err := read(table.NewFilename(id, dir))
	if err != nil {
		return 0, 0, err
	}
	if quick {
		defer func() { err = errors.Join(err, disk.Unmap(data)) }()
	}
	err = Attempt(func() error {
		t, err := table.OpenInMemoryTable(data, id, &table.Options{})
		if err == nil && !quick {
			err = t.VerifyChecksum()
		}
		if err != nil {
			return err
		}
		entries, newest = uint64(t.KeyCount()), t.MaxVersion()
		it := t.NewIterator(table.NOCACHE)
		defer it.Close()
		for _, key := range []string{record.IDKey, record.SeqKey} {
			it.Seek(y.KeyWithTs([]byte(key), math.MaxUint64))
			if !it.Valid() || string(y.ParseKey(it.Key())) != key {
				continue
			}
			if err := hear([]byte(key), y.ParseTs(it.Key()), it.Value().Value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %s: %v", store.ErrDamaged, table.IDToFilename(id), err)
	}
	return entries, newest, nil
}

// SalvageTable calls fn with the entries of each block of a table, and with the keys
// between which these are; an empty one is no bound. Of a block that is not whole, as it
// does not match its checksum, fn gets the records that match theirs, with the revision as
// version: which keys were deleted is not known. It reports whether the table has an index.
func SalvageTable(data []byte, fn func(block []Entry, whole bool, from, to []byte)) bool {
	rest, sum := lastPart(data, 1)
	_, index := lastPart(rest, 1)
	if len(index) == 0 || !bytes.Equal(sum, checksum(index)) {
		return false
	}
	blocks := fb.GetRootAsTableIndex(index, 0)
	var at, next fb.BlockOffset
	for i, n := 0, blocks.OffsetsLength(); i < n; i++ {
		blocks.Offsets(&at, i)
		var to []byte
		if i+1 < n {
			blocks.Offsets(&next, i+1)
			to = y.ParseKey(next.KeyBytes())
		}
		begin := min(int(at.Offset()), len(data))
		block, whole := readBlock(data[begin:min(begin+int(at.Len()), len(data))])
		fn(block, whole, y.ParseKey(at.KeyBytes()), to)
	}
	return true
}

// readBlock reads a block: entries, the places where they begin, and a checksum over all
// that. An entry says how much of the first one's key it shares.
func readBlock(data []byte) (block []Entry, whole bool) {
	rest, sum := lastPart(data, 1)
	entries, places := lastPart(rest, 4)
	whole = bytes.Equal(sum, checksum(rest))
	end := binary.NativeEndian.AppendUint32(nil, uint32(len(entries)))
	places = slices.Concat(places, end)
	var first []byte
	for ; len(places) > 4; places = places[4:] {
		_ = Attempt(func() error { // what cannot be read as an entry is none
			e := entries[binary.NativeEndian.Uint32(places):binary.NativeEndian.Uint32(places[4:])]
			shared, own := binary.NativeEndian.Uint16(e), 4+binary.NativeEndian.Uint16(e[2:])
			key := slices.Concat(first[:shared], e[4:own])
			if first == nil {
				first = key
			}
			var v y.ValueStruct
			v.Decode(e[own:])
			entry := Entry{Key: y.ParseKey(key), Version: y.ParseTs(key), Meta: v.Meta, Rec: v.Value}
			if !whole {
				rev, _, err := record.Open(entry.Key, entry.Rec)
				if err != nil {
					return err
				}
				entry.Version, entry.Meta = rev, 0
			}
			block = append(block, entry)
			return nil
		})
	}
	return block, whole
}

// lastPart cuts off a part whose length stands behind it, in units.
func lastPart(data []byte, unit int) (rest, part []byte) {
	end := len(data) - 4
	if end < 0 {
		return nil, nil
	}
	begin := end - unit*int(binary.BigEndian.Uint32(data[end:]))
	if begin < 0 {
		return nil, nil
	}
	return data[:begin], data[begin:end]
}

// checksum returns what Badger writes behind data: a message of protobuf with field 2.
func checksum(data []byte) []byte {
	return binary.AppendUvarint([]byte{2 << 3}, uint64(crc32.Checksum(data, record.Castagnoli)))
}

// Writer writes entries that come in the order of Badger's keys as tables.
type Writer struct {
	Tables  []Listed
	Size    uint64 // of them, in bytes
	Entries uint64
	Newest  uint64 // version of any entry

	dir     string
	level   uint8
	builder *table.Builder
	next    uint64
}

// NewWriter returns a Writer whose tables have ids from first on.
func NewWriter(dir string, first uint64, level uint8) *Writer {
	return &Writer{dir: dir, next: first, level: level}
}

// Add appends an entry.
func (w *Writer) Add(e Entry) error {
	if w.builder != nil && w.builder.ReachedCapacity() {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if w.builder == nil {
		if err := disk.CheckMemory(tableMemory); err != nil {
			return err
		}
		w.builder = table.NewTableBuilder(table.Options{TableSize: tableSize, BlockSize: 4 << 10, BloomFalsePositive: 0.01})
	}
	w.builder.Add(y.KeyWithTs(e.Key, e.Version), y.ValueStruct{Meta: e.Meta, Value: e.Rec}, 0)
	w.Entries++
	w.Newest = max(w.Newest, e.Version)
	return nil
}

// Flush writes what was added as a table.
func (w *Writer) Flush() error {
	if w.builder == nil {
		return nil
	}
	data := w.builder.Finish()
	w.builder.Close()
	w.builder = nil
	w.Tables, w.Size = append(w.Tables, Listed{ID: w.next, Level: w.level}), w.Size+uint64(len(data))
	w.next++
	return disk.Write(table.NewFilename(w.next-1, w.dir), data)
}

// TableName returns the name of a table's file.
func TableName(id uint64) string { return table.IDToFilename(id) }

// TableID returns the id of the table in a file of this name.
func TableID(name string) (id uint64, ok bool) { return table.ParseFileID(name) }

// LogName returns the name that Badger gives a log.
func LogName(dir string, n int) string { return filepath.Join(dir, fmt.Sprintf("%05d.mem", n)) }
