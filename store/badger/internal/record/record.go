// Package record is what a store keeps as the value of a key in Badger: a checksum
// over key, value and revision, the revision, and the value. The checksum binds the
// value to its key; the revision is that of the commit, where Badger's version is
// that of the group.
package record

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/arc-learn/arc/store"
)

// Keys of the host and of the store live apart. The prefix also keeps a host's key
// from beginning with Badger's own, "!badger!". The store's sort behind the host's.
const (
	Host   = "k"
	IDKey  = "m/id"  // 16 random bytes that name the store
	SeqKey = "m/seq" // written by every group, see Seq
)

// Header is the size of a record without its value.
const Header = 4 + 8

// Castagnoli is the polynomial of all checksums here, and of Badger's.
var Castagnoli = crc32.MakeTable(crc32.Castagnoli)

// New returns a record without a revision, and its checksum so far.
func New(key, value []byte) ([]byte, uint32) {
	rec := make([]byte, Header+len(value))
	copy(rec[Header:], value)
	return rec, crc32.Update(crc32.Update(0, Castagnoli, key), Castagnoli, value)
}

// Seal completes a record of New.
func Seal(rec []byte, sum uint32, rev uint64) []byte {
	binary.BigEndian.PutUint64(rec[4:], rev)
	binary.BigEndian.PutUint32(rec, crc32.Update(sum, Castagnoli, rec[4:Header]))
	return rec
}

// Sealed returns a whole record.
func Sealed(key string, value []byte, rev uint64) []byte {
	rec, sum := New([]byte(key), value)
	return Seal(rec, sum, rev)
}

// Open returns the revision and the value of a record, which share its memory.
func Open(key, rec []byte) (rev uint64, value []byte, err error) {
	if len(rec) < Header {
		return 0, nil, fmt.Errorf("%w: %q holds %d bytes", store.ErrDamaged, Name(key), len(rec))
	}
	value = rec[Header:]
	sum := crc32.Update(crc32.Update(0, Castagnoli, key), Castagnoli, value)
	if crc32.Update(sum, Castagnoli, rec[4:Header]) != binary.BigEndian.Uint32(rec) {
		return 0, nil, fmt.Errorf("%w: %q does not match its checksum", store.ErrDamaged, Name(key))
	}
	return binary.BigEndian.Uint64(rec[4:]), value, nil
}

// Name returns the key as the host knows it.
func Name(key []byte) string {
	if len(key) > 0 && string(key[:1]) == Host {
		return string(key[1:])
	}
	return string(key)
}

// Seq returns the record of SeqKey: how many entries the generation has, of all
// versions, itself among them.
func Seq(seq, entries uint64) []byte {
	return Sealed(SeqKey, binary.BigEndian.AppendUint64(nil, entries), seq)
}
