package fence

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Joiners and selectors are invisible, and part of some words and emoji.
const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
	textual   = '\ufe0e' // the character before it is text
	pictured  = '\ufe0f' // the character before it is a picture
)

// Visible returns s without invisible characters, and with every kind of line end
// as a newline. A joiner stays between two letters of a script that writes with
// joiners, and between the parts of an emoji. The start of an escape sequence
// is invisible: what is left of the sequence is text.
func Visible(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return (r < ' ' || r > '~') && r != '\n' && r != '\t' }) {
		return s
	}
	joined := false
	s = strings.Map(func(r rune) rune {
		switch {
		case ' ' <= r && r <= '~', r == '\n', r == '\t':
			return r
		case r == nonJoiner, r == joiner, r == textual, r == pictured:
			joined = true
			return r
		case r == '\r' || r == '\v' || r == '\f' || r == 0x85 || unicode.In(r, unicode.Zl, unicode.Zp):
			return '\n'
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co),
			unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
			return -1
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
	if !joined {
		return s
	}
	var out strings.Builder
	last, kept := rune(-1), true // the rune before, and whether it stayed
	for i, r := range s {
		next, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		stays := true
		switch r {
		case nonJoiner:
			stays = kept && sameScript(last, next)
		case joiner:
			stays = kept && (sameScript(last, next) || (pictures(last) || last == pictured) && pictures(next))
		case textual, pictured:
			keycap := next == '\u20e3' && (last == '#' || last == '*' || '0' <= last && last <= '9')
			stays = kept && (pictures(last) || keycap)
		}
		if stays {
			out.WriteRune(r)
		}
		last, kept = r, stays
	}
	return out.String()
}

// Blank reports whether nothing of s shows.
func Blank(s string) bool { return strings.TrimSpace(Visible(s)) == "" }

// scripts are those in which joiners tell words apart.
var scripts = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
	unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar,
}

// sameScript reports whether two characters are of one script that has joiners.
func sameScript(a, b rune) bool {
	for _, s := range scripts {
		if unicode.Is(s, a) {
			return unicode.Is(s, b)
		}
	}
	return false
}

// pictures reports whether a character can be part of an emoji.
func pictures(r rune) bool {
	switch {
	case r < 0x80, r == utf8.RuneError:
		return false
	case unicode.Is(unicode.So, r), 0x1f3fb <= r && r <= 0x1f3ff, 0x2190 <= r && r <= 0x21ff, 0x25fb <= r && r <= 0x25fe:
		return true
	}
	return r == '\u2139' || r == '\u203c' || r == '\u2049' || r == '\u3030' || r == '\u303d'
}
