// Package fence writes kept text for a prompt so that it stays data: between
// delimiters that it does not contain, and without characters that hide or
// reorder what is there.
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

// Wrap puts body, which ends in a newline or is empty, between two delimiters
// that begin with name and that body does not contain; note follows the
// opening one. The delimiter is drawn from the body, so that a run repeats
// exactly; its length depends on that of name alone.
func Wrap(name, note, body string) string { return Block(name, Mark(body), note, body) }

// Block is Wrap with a mark that the caller has drawn, so that one prompt can
// have several blocks and no text in any of them closes one.
func Block(name, mark, note, body string) string {
	return fmt.Sprintf("<<<%s-%s %s\n%s%s-%s>>>\n", name, mark, note, body, name, mark)
}

// Mark returns 16 hexadecimal digits that are drawn from parts and that none
// of them contains.
func Mark(parts ...string) string {
	h := sha256.New()
	write := func(s string) {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(s)))
		h.Write(size[:])
		io.WriteString(h, s) // a hash does not fail
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

// Quote returns the visible part of text, inert, with a bar before every line,
// and ends in a newline. It is cut after limit bytes, and says so.
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

// Visible returns s without the characters that do not show, with every kind
// of line end as a newline.
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
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
			return -1
		}
		return r
	}, s)
}

// Line returns the visible part of s, inert, on one line.
func Line(s string) string { return inert(strings.Join(strings.Fields(Visible(s)), " ")) }

// control matches the words by which chat templates tell a model who speaks,
// such as <|im_end|>, <start_of_turn> and [/INST]. Some servers, llama.cpp's
// among them, heed them wherever they stand: a text that has one would end its
// turn and begin another, of the system for example, whatever fence it is in.
var control = regexp.MustCompile(`(?i)<[|\x{ff5c}][^<>|\x{ff5c}\n]{1,64}[|\x{ff5c}]>|</?s>|<(start|end)_of_turn>|\[/?INST\]|<</?SYS>>`)

// inert returns s with a space in each control word, which makes it text.
func inert(s string) string {
	return control.ReplaceAllStringFunc(s, func(word string) string { return word[:1] + " " + word[1:] })
}
