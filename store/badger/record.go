package badger

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/arc-learn/arc/store"
)

// Keys of the host and of this package live apart. The prefix also keeps a
// host's key from beginning with Badger's own, "!badger!".
const (
	hostPrefix = "k"
	idKey      = "m/id"  // 16 random bytes that name the store
	seqKey     = "m/seq" // written by every group, see seqRecord
)

// A record is what Badger keeps as the value of a key: a checksum over key,
// value and revision, the revision, and the value. The checksum binds the
// value to its key; the revision is that of the commit, where Badger's version
// is that of the group.
const recordHeader = 4 + 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// newRecord returns a record without a revision, and its checksum so far.
func newRecord(key, value []byte) ([]byte, uint32) {
	rec := make([]byte, recordHeader+len(value))
	copy(rec[recordHeader:], value)
	return rec, crc32.Update(crc32.Update(0, castagnoli, key), castagnoli, value)
}

// seal completes a record of newRecord.
func seal(rec []byte, sum uint32, rev uint64) {
	binary.BigEndian.PutUint64(rec[4:], rev)
	binary.BigEndian.PutUint32(rec, crc32.Update(sum, castagnoli, rec[4:recordHeader]))
}

// openRecord returns the revision and the value of a record, which share its
// memory.
func openRecord(key, rec []byte) (rev uint64, value []byte, err error) {
	if len(rec) < recordHeader {
		return 0, nil, fmt.Errorf("%w: %q holds %d bytes", store.ErrDamaged, name(key), len(rec))
	}
	value = rec[recordHeader:]
	sum := crc32.Update(crc32.Update(0, castagnoli, key), castagnoli, value)
	if crc32.Update(sum, castagnoli, rec[4:recordHeader]) != binary.BigEndian.Uint32(rec) {
		return 0, nil, fmt.Errorf("%w: %q does not match its checksum", store.ErrDamaged, name(key))
	}
	return binary.BigEndian.Uint64(rec[4:]), value, nil
}

// name returns the key as the host knows it.
func name(key []byte) string {
	if len(key) > 0 && string(key[:1]) == hostPrefix {
		return string(key[1:])
	}
	return string(key)
}

// seqRecord returns the record of seqKey: how many entries the generation has,
// of all versions, itself among them.
func seqRecord(seq, entries uint64) []byte {
	rec, sum := newRecord([]byte(seqKey), binary.BigEndian.AppendUint64(nil, entries))
	seal(rec, sum, seq)
	return rec
}
