// Package names draws names that sort by the time at which they were drawn.
package names

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc/memory/internal/ident"
)

// Source draws names. With a Seed they are the same each time; another Source may have drawn
// them then. Seed 0: random ones.
type Source struct {
	Seed  uint64
	draws atomic.Uint64
}

// Draw returns a name that sorts by time, and of one Source also by order. Random ones are
// not in use with overwhelming odds.
func (s *Source) Draw(now time.Time) string {
	n := s.draws.Add(1)
	var b [15]byte
	binary.BigEndian.PutUint64(b[:], uint64(max(now.UnixMilli(), 0))<<16)
	b[6], b[7], b[8] = byte(n>>16), byte(n>>8), byte(n)
	if s.Seed != 0 {
		copy(b[9:], ident.Name("draw", fmt.Sprint(s.Seed), fmt.Sprint(n)))
	} else if _, err := rand.Read(b[9:]); err != nil {
		panic(err) // crypto/rand never fails
	}
	return string(ident.Append(nil, b[:]))
}

// Drawn reports whether a name has the form of those that a Source draws.
func Drawn(name string) bool {
	return len(name) == 24 && strings.Trim(name, "0123456789abcdefghijklmnopqrstuv") == ""
}
