// Package uuids draws UUIDs of version 7 from a seed.
package uuids

import (
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
)

// Salted returns a seed that a salt has changed; "" does not.
func Salted(seed uint64, salt string) uint64 {
	for _, c := range []byte(salt) {
		seed = (seed ^ uint64(c)) * 1099511628211 // FNV-1a
	}
	return seed
}

// Draw returns the n-th of a seed, of a time.
func Draw(now time.Time, seed, n uint64) string {
	var r rand.PCG
	r.Seed(seed, n)
	ms := uint64(now.UnixMilli())
	hi, lo := r.Uint64(), r.Uint64()
	var id uuid.UUID
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6], id[7] = 0x70|byte(hi&0x0f), byte(hi>>8)
	for i := range 8 {
		id[8+i] = byte(lo >> (8 * i))
	}
	id[8] = 0x80 | id[8]&0x3f
	return id.String()
}
