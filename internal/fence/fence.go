// Package fence writes kept text into a prompt so that it stays data: without characters that hide or reorder
// text, with the control words of chat templates broken up, and between delimiters that it does not contain.
package fence

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Block returns body between two delimiters that begin with name, the first of which is followed by note. The
// mark is one of [Mark] over all bodies of a prompt, so that no text in one block ends another. Body is the
// result of [Text], or several of [Line].
func Block(name, mark, note, body string) string {
	if body != "" && !strings.HasSuffix(body, "\n") {
		body += "\n"
	}
	return fmt.Sprintf("<<<%s-%s %s\n%s%s-%s>>>\n", name, mark, note, body, name, mark)
}

// Mark returns 16 hexadecimal digits that none of the texts contains: who writes a text cannot know them, as
// the text would have to contain its own hash. They are a function of the texts, so that a run repeats
// exactly and a provider's cache of prompts holds.
func Mark(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(t))))
		h.Write([]byte(t))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

var secret = regexp.MustCompile(`\[secret [\w.-]+\]`)

// Secrets returns the placeholders of secrets in s, of the form that package redact gives them.
func Secrets(s string) []string { return secret.FindAllString(s, -1) }

// Line returns the [Text] of s on one line.
func Line(s string) string { return Text(strings.Join(strings.Fields(Visible(s)), " ")) }

// controls matches what the chat templates of models are made of: <|…|> also with full-width bars, [/…] and
// words in capitals between brackets, <<…>>, and tags whose name has an underscore or is that of a token:
// each begins with "<" or "[".
var controls = regexp.MustCompile(`<[|｜]|<</?[A-Z_]+>>|\[/[A-Za-z_]+\]|\[[A-Z][A-Z_]+\]|` +
	`</?(?:[A-Za-z]+(?:_[A-Za-z]+)+|s|bos|eos|pad|unk)>`)

// Text returns the [Visible] part of s with a space behind the first character of each control word, so that
// no tokenizer takes it for one.
func Text(s string) string {
	s = Visible(s)
	if !strings.ContainsAny(s, "<[") {
		return s
	}
	return controls.ReplaceAllStringFunc(s, func(word string) string { return word[:1] + " " + word[1:] })
}

// Visible returns s without control, format and private characters, and with every kind of line end as a
// newline. Behind a character that is not ASCII one joiner or variation selector stays (Persian, emoji).
func Visible(s string) string {
	last := ' ' // the character before, as far as it was kept
	return strings.Map(func(r rune) rune {
		switch {
		case r >= ' ' && r <= '~', r == '\n', r == '\t':
		case r == '\r', r == '\v', r == '\f', r == 0x85, unicode.In(r, unicode.Zl, unicode.Zp):
			r = '\n'
		case Joins(r) && last > unicode.MaxASCII && !Joins(last):
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Variation_Selector,
			unicode.Other_Default_Ignorable_Code_Point):
			return -1
		}
		last = r
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
}

// Escaped returns JSON of its own in which each character that does not show, or that reorders others, is its
// escape: equal JSON, which a person can rule on.
func Escaped(raw []byte) []byte {
	escaped := make([]byte, 0, len(raw))
	for _, r := range string(raw) {
		if s := string(r); r > '~' && Visible(s) != s {
			for _, unit := range utf16.AppendRune(nil, r) {
				escaped = fmt.Appendf(escaped, `\u%04x`, unit)
			}
		} else {
			escaped = utf8.AppendRune(escaped, r)
		}
	}
	return escaped
}

// Joins reports whether r is a joiner of letters or of emoji, or the selector of an emoji's picture.
func Joins(r rune) bool { return r == '\u200c' || r == '\u200d' || r == '\ufe0f' }

// Cut returns a text, or its first n bytes without a part of what a person sees as one character: a letter
// with its marks, a flag, a family. One of more than 64 bytes, or that n has no room for, loses marks.
func Cut(s string, n int) string {
	if len(s) > n {
		char := graphemes.FromString(s)
		for char.Next() && char.End() <= n {
		}
		if char.Start() > max(0, n-64) {
			n = char.Start()
		}
		s = strings.ToValidUTF8(s[:n], "")
	}
	return s
}

// Clip is Cut with a sign that the text goes on.
func Clip(s string, n int) string {
	if len(s) > n {
		s = Cut(s, n) + "…"
	}
	return s
}
