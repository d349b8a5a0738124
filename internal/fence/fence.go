// Package fence writes kept text for a prompt so that it stays data: between
// delimiters that it does not contain, and without characters that hide or
// reorder what is there.
package fence

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
)

// Wrap puts body, which ends in a newline or is empty, between two delimiters
// that begin with name and that body does not contain; note follows the
// opening one. The delimiter is drawn from the body, so that a run repeats
// exactly; its length depends on that of name alone.
func Wrap(name, note, body string) string {
	d := delimiter(name, body)
	return fmt.Sprintf("<<<%s %s\n%s%s>>>\n", d, note, body, d)
}

// Visible returns s without the characters that do not show, with every kind
// of line end as a newline.
func Visible(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case ' ' <= r && r <= '~', r == '\n', r == '\t':
			return r
		case r == '\r' || r == '\v' || r == '\f' || r == 0x85 || unicode.In(r, unicode.Zl, unicode.Zp):
			return '\n'
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
			return -1
		}
		return r
	}, s)
}

// Line returns the visible part of s on one line.
func Line(s string) string { return strings.Join(strings.Fields(Visible(s)), " ") }

func delimiter(name, body string) string {
	for n := byte(0); ; n++ {
		h := sha256.New()
		for _, part := range []string{"fence", body, string([]byte{n})} {
			var size [8]byte
			binary.BigEndian.PutUint64(size[:], uint64(len(part)))
			h.Write(size[:])
			h.Write([]byte(part))
		}
		if d := name + "-" + hex.EncodeToString(h.Sum(nil)[:8]); !strings.Contains(body, d) {
			return d
		}
	}
}
