// Package ident makes the ids of records, and keeps them in 16 bytes of memory.
package ident

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"time"
)

// base orders ids as the bytes that they encode.
var base = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// Length is more than the length of an id that the package makes.
const Length = 26

const keyedMark = 'k' // first byte of an id made from a Key; base has digits there

// Digest hashes the parts, each with its length, so that two different
// sequences never hash the same bytes.
func Digest(parts ...string) [sha256.Size]byte {
	var small [512]byte
	buf := small[:0]
	for _, p := range parts {
		buf = append(binary.BigEndian.AppendUint64(buf, uint64(len(p))), p...)
	}
	return sha256.Sum256(buf)
}

// Append appends bytes to buf as ids encode them: so they are in the same order.
func Append(buf, b []byte) []byte { return base.AppendEncode(buf, b) }

// Name hashes parts into a name.
func Name(parts ...string) string {
	sum := Digest(parts...)
	return base.EncodeToString(sum[:15])
}

// Keyed is the id of every draft of a scope with this key: the key needs no index.
func Keyed(scope, key string) string {
	return string(keyedMark) + Name("key", scope, key)
}

// IsKeyed reports whether Keyed has made the id.
func IsKeyed(id string) bool { return id != "" && id[0] == keyedMark }

// Timed is the n-th id of a draft without a key: 48 bits of milliseconds,
// and 72 that depend on the seed and on what it says. Drawing it from what it
// names makes it the same whatever else is remembered meanwhile.
func Timed(seed uint64, now time.Time, n uint64, says [4]string) string {
	var salt [16]byte
	binary.BigEndian.PutUint64(salt[:8], seed)
	binary.BigEndian.PutUint64(salt[8:], n)
	sum := Digest("draw", string(salt[:]), says[0], says[1], says[2], says[3])
	var b [15]byte
	ms := uint64(max(now.UnixMilli(), 0))
	for i := range 6 {
		b[i] = byte(ms >> (8 * (5 - i)))
	}
	copy(b[6:], sum[:9])
	return base.EncodeToString(b[:])
}

// Key is an id in memory: a mark, and the 15 bytes that it encodes, or as
// many of its hash if the package has not made it.
type Key [16]byte

// The marks, in the order in which the ids are.
const (
	ownTimed = iota
	ownKeyed
	foreign
)

// encoded is the length of 15 bytes in base32.
const encoded = 24

// Of returns the key of an id.
func Of[S ~string](id S) (k Key) {
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
	sum := Digest("id", string(id))
	k[0] = foreign
	copy(k[1:], sum[:])
	return k
}

// Foreign reports whether another has made the id, which Append does not know then.
func (k Key) Foreign() bool { return k[0] == foreign }

// Append appends the id, which is not a foreign one.
func (k *Key) Append(buf []byte) []byte {
	if k[0] == ownKeyed {
		buf = append(buf, keyedMark)
	}
	return base.AppendEncode(buf, k[1:])
}
