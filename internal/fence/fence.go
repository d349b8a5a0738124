// Package fence writes kept text into a prompt so that it stays data: between
// delimiters that the text does not contain, and without characters that hide or
// reorder text.
package fence

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Wrap puts body between two delimiters that begin with name. The opening one is
// followed by note. Body must end in a newline or be empty. The delimiter is drawn
// from body, which does not contain it, so that a run repeats exactly. Its length
// depends on the length of name alone.
func Wrap(name, note, body string) string { return Block(name, Mark(body), note, body) }

// Block is Wrap with a mark of the caller. A prompt of several blocks draws one
// Mark from all bodies, so that no text in one block closes another.
func Block(name, mark, note, body string) string {
	return fmt.Sprintf("<<<%s-%s %s\n%s%s-%s>>>\n", name, mark, note, body, name, mark)
}

// Mark returns 16 hexadecimal digits that no part contains: the first 8 bytes of
// the SHA-256 of all parts, drawn again while a part contains them.
func Mark(parts ...string) string {
	h := sha256.New()
	write := func(s string) {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(s)))
		h.Write(size[:])
		io.WriteString(h, s) // a hash never fails
	}
	write("fence")
	for _, p := range parts {
		write(p)
	}
	for n := byte(0); ; n++ {
		write(string([]byte{n}))
		mark := hex.EncodeToString(h.Sum(nil)[:8])
		if !slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(p, mark) }) {
			return mark
		}
	}
}

// Quote returns text as a quotation: its visible part, inert, with a bar before
// every line and a newline at the end. Quote cuts a text of more than limit bytes,
// and adds the line "(cut)".
func Quote(text string, limit int) string {
	text = Text(text)
	cut := len(text) > limit
	if cut {
		text = strings.ToValidUTF8(text[:limit], "")
	}
	text = "| " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n| ") + "\n"
	if cut {
		text += "(cut)\n"
	}
	return text
}

// Line returns the visible part of s, inert, on one line.
func Line(s string) string { return inert(strings.Join(strings.Fields(Visible(s)), " ")) }

// Text returns the visible part of s, inert.
func Text(s string) string { return inert(Visible(s)) }
