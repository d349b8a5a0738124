package memory

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"time"
)

// base orders ids as the bytes that they encode.
var base = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// idLength is more than the length of an id that the package makes.
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

// idKey is an id in memory: a mark, and the 15 bytes that it encodes, or as
// many of its hash if the package has not made it.
type idKey [16]byte

// The marks, in the order in which the ids are.
const (
	ownTimed = iota
	ownKeyed
	foreignID
)

// encoded is the length of 15 bytes in base32.
const encoded = 24

// keyOf returns the key of an id.
func keyOf(id ID) (k idKey) {
	s, mark := string(id), byte(ownTimed)
	if len(s) == encoded+1 && s[0] == keyedMark {
		s, mark = s[1:], ownKeyed
	}
	if len(s) == encoded {
		if n, err := base.Decode(k[1:], []byte(s)); n == len(k)-1 && err == nil {
			k[0] = mark
			return k
		}
	}
	sum := digest("id", string(id))
	k[0] = foreignID
	copy(k[1:], sum[:])
	return k
}

// append appends the id, which is not a foreign one.
func (k *idKey) append(buf []byte) []byte {
	if k[0] == ownKeyed {
		buf = append(buf, keyedMark)
	}
	return base.AppendEncode(buf, k[1:])
}
