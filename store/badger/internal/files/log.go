// Package files reads and writes the files of a Badger directory, without Badger:
// its logs, its tables and the manifest that lists these. It reads before Badger
// does, which deletes, cuts and rewrites files before it knows whether it can open
// them, and it writes with plain writes, whose errors are errors, where Badger
// writes through memory maps and in goroutines that panic.
package files

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/dgraph-io/badger/v4/skl"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/arc-learn/arc/store"
	"github.com/arc-learn/arc/store/badger/internal/record"
)

// A log of Badger's has a header with the id of a key, which is zero here, and
// a nonce. Then come groups: entries, each with its version behind the key, and
// one that ends the group. An entry is a header, the key, the value, and a
// checksum over these.
const (
	logHeader = 20
	finKey    = "!badger!txn"

	metaDelete = 1 << 0
	metaGroup  = 1 << 6
	metaFin    = 1 << 7
)

// Entry is what a log or a table holds of a key.
type Entry struct {
	Key     []byte
	Version uint64
	Rec     []byte // of package record; nothing if Meta says that it was deleted
	Meta    byte
	size    int
}

// Deleted reports whether the entry deletes its key.
func (e *Entry) Deleted() bool { return e.Meta&metaDelete != 0 }

// Memory is how much of a memtable the entry takes.
func (e *Entry) Memory() int64 { return int64(skl.MaxNodeSize + len(e.Key) + len(e.Rec) + 32) }

// ReadLog calls fn with each whole group, and returns the versions of the groups
// that end behind the first record that is not whole.
func ReadLog(data []byte, fn func(group []Entry) error) (behind []uint64, err error) {
	if !bytes.Equal(data[:min(8, len(data))], make([]byte, min(8, len(data)))) {
		return nil, fmt.Errorf("%w: the log names a key of encryption", store.ErrDamaged)
	}
	bad, err := readGroups(data, min(logHeader, len(data)), fn)
	return finsAfter(data, bad), err
}

// SalvageLog calls fn with each whole group, also behind records that are not
// whole, and reports whether there are such.
func SalvageLog(data []byte, fn func(group []Entry)) (damaged bool) {
	for at := min(logHeader, len(data)); at < len(data); {
		bad, _ := readGroups(data, at, func(group []Entry) error { fn(group); return nil })
		if len(finsAfter(data, bad)) == 0 {
			break
		}
		damaged = true
		for at = bad + 1; at < len(data) && !plausible(data[at:]); at++ {
		}
	}
	return damaged
}

func readGroups(data []byte, at int, fn func(group []Entry) error) (bad int, err error) {
	var group []Entry
	for {
		e, ok := parseEntry(data[at:])
		if !ok || len(group) > 0 && group[0].Version != e.Version {
			return at, nil
		}
		at += e.size
		switch {
		case e.Meta&metaGroup != 0:
			group = append(group, e)
			continue
		case e.Meta&metaFin == 0:
			group = append(group, e)
		case string(e.Rec) != fmt.Sprint(e.Version) || len(group) == 0:
			return at - e.size, nil
		}
		if err := fn(group); err != nil {
			return at, err
		}
		group = nil
	}
}

func parseEntry(data []byte) (e Entry, ok bool) {
	if len(data) < 2 {
		return e, false
	}
	e.Meta = data[0]
	at := 2
	var sizes [3]uint64 // of key and value; the third is when it expires
	for i := range sizes {
		n := 0
		if sizes[i], n = binary.Uvarint(data[at:]); n <= 0 {
			return e, false
		}
		at += n
	}
	rest := uint64(len(data) - at)
	if sizes[0] < 8 || sizes[0] > math.MaxUint16 || sizes[1] > rest || sizes[0]+sizes[1]+4 > rest {
		return e, false
	}
	key, end := data[at:at+int(sizes[0])], at+int(sizes[0]+sizes[1])
	if crc32.Checksum(data[:end], record.Castagnoli) != binary.BigEndian.Uint32(data[end:]) {
		return e, false
	}
	e.Key, e.Version, e.Rec, e.size = y.ParseKey(key), y.ParseTs(key), data[at+len(key):end], end+4
	return e, true
}

// plausible reports whether a record of a group begins here. Most places are
// told by their first bytes.
func plausible(data []byte) bool {
	if len(data) < 2 || data[0]&^metaDelete != metaGroup || data[1] != 0 {
		return false
	}
	e, ok := parseEntry(data[:min(len(data), 2*store.MaxValue)])
	return ok && len(e.Key) > 0
}

// finsAfter returns the versions of the groups that end in data after at.
func finsAfter(data []byte, at int) (versions []uint64) {
	const lead = 2 + 1 + 1 + 1 // what stands before the key of such an entry
	for at < len(data) {
		i := bytes.Index(data[at:], []byte(finKey))
		if i < 0 {
			break
		}
		if begin := at + i - lead; begin >= 0 {
			if e, ok := parseEntry(data[begin:]); ok && e.Meta&metaFin != 0 {
				versions = append(versions, e.Version)
			}
		}
		at += i + len(finKey)
	}
	return versions
}
