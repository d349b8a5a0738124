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
	"regexp"
	"slices"
	"strings"
	"unicode"
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
	text = inert(Visible(text))
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

// Visible returns s without invisible characters, and with every kind of line end
// as a newline.
func Visible(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return (r < ' ' || r > '~') && r != '\n' && r != '\t' }) {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case ' ' <= r && r <= '~', r == '\n', r == '\t':
			return r
		case r == '\r' || r == '\v' || r == '\f' || r == 0x85 || unicode.In(r, unicode.Zl, unicode.Zp):
			return '\n'
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co),
			unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
			return -1
		}
		return r
	}, s)
}

// Line returns the visible part of s, inert, on one line.
func Line(s string) string { return inert(strings.Join(strings.Fields(Visible(s)), " ")) }

// control matches the words by which chat templates name the speaker, such as
// <|im_end|>, <start_of_turn> and [/INST]. Some servers, llama.cpp's among them,
// obey such a word in any text. A fenced text with one would end its turn and
// begin another, for example that of the system.
var control = regexp.MustCompile(`(?i)<[|\x{ff5c}][^<>|\x{ff5c}\n]{1,64}[|\x{ff5c}]>` +
	`|</?s>|<(start|end)_of_turn>|\[/?INST\]|<</?SYS>>`)

// inert returns s with a space in each control word, which makes the word text.
func inert(s string) string {
	return control.ReplaceAllStringFunc(s, func(word string) string { return word[:1] + " " + word[1:] })
}
