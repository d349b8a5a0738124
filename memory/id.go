package memory

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"time"
)

// base orders ids as the bytes that they encode.
var base = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// idLength is the length of most ids.
const idLength = 26

const keyedMark = 'k' // first byte of an id made from a Key; base has digits there

// digest hashes the parts, each with its length, so that two different
// sequences never hash the same bytes.
func digest(parts ...string) [sha256.Size]byte {
	var small [512]byte
	buf := small[:0]
	for _, p := range parts {
		buf = append(binary.BigEndian.AppendUint64(buf, uint64(len(p))), p...)
	}
	return sha256.Sum256(buf)
}

func encodeID(b []byte) string { return base.EncodeToString(b) }

// keyedID is the id of every draft with this key: the key needs no index.
func keyedID(s Scope, key string) ID {
	sum := digest("key", string(s), key)
	return ID(string(keyedMark) + encodeID(sum[:15]))
}

func (id ID) keyed() bool { return id != "" && id[0] == keyedMark }

// timedID is the n-th id of a draft without a key: 48 bits of milliseconds,
// and 72 that depend on the seed and on what it says. Drawing it from what it
// names makes it the same whatever else is remembered meanwhile.
func timedID(seed uint64, now time.Time, r *Record, n uint64) ID {
	var salt [16]byte
	binary.BigEndian.PutUint64(salt[:8], seed)
	binary.BigEndian.PutUint64(salt[8:], n)
	sum := digest("draw", string(salt[:]), string(r.Scope), string(r.Kind), r.Trigger, r.Content)
	var b [15]byte
	ms := uint64(max(now.UnixMilli(), 0))
	for i := range 6 {
		b[i] = byte(ms >> (8 * (5 - i)))
	}
	copy(b[6:], sum[:9])
	return ID(encodeID(b[:]))
}
