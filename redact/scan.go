package redact

import "strings"

// The scanner passes once over a text and stops only at bytes that every kind
// of secret contains near its start: its trigger. There it looks around.
const (
	onPrefix = 1 << iota // ends or sits in the known prefix of a key
	onAssign             // = or :, or the > that closes an XML tag
	onAt                 // an e-mail address
	onAuth               // Bearer, Basic
	onDash               // a private key block, a command-line flag
	onIs                 // the password is …
	onToken              // a replacement made earlier
)

var triggers = func() (t [256]uint8) {
	for _, r := range prefixes {
		t[r.prefix[r.at]] |= onPrefix
	}
	t['='] |= onAssign
	t[':'] |= onAssign
	t['>'] |= onAssign
	t['@'] |= onAt
	t['b'] |= onAuth
	t['B'] |= onAuth
	t['-'] |= onDash
	t['s'] |= onIs
	t['['] |= onToken
	return t
}()

type scanner struct {
	text  string
	spans []span
	noAt  int // an @ before this offset is no e-mail address

	pemKnown bool
	pemNext  int // see nextPemEnd
}

// scan returns the secrets of text in the order in which they were met.
func scan(text string) []span {
	sc := scanner{text: text}
	for i := 0; i < len(text); {
		on := triggers[text[i]]
		if on == 0 {
			i++
			continue
		}
		i = sc.at(i, on)
	}
	return sc.spans
}

// at looks for a secret around the trigger at i and returns where to go on.
func (sc *scanner) at(i int, on uint8) int {
	t := sc.text
	switch {
	case on&onToken != 0:
		return i + max(1, tokenLen(t[i:]))
	case on&onAt != 0:
		return sc.email(i)
	case on&onAssign != 0:
		if t[i] == ':' && strings.HasPrefix(t[i:], "://") {
			return sc.userinfo(i + 3)
		}
		return sc.assign(i)
	case on&onIs != 0:
		if i < 3 || t[i-1] != 'i' || t[i-2] != ' ' {
			return i + 1
		}
		return sc.is(i)
	case on&onAuth != 0:
		if i+6 > len(t) || (t[i+1]|0x20 != 'e' && t[i+1]|0x20 != 'a') {
			return i + 1
		}
		return sc.auth(i)
	}
	if on&onDash != 0 {
		if next := sc.dash(i); next > i {
			return next
		}
	}
	if on&onPrefix != 0 {
		if next := sc.prefix(i); next > i {
			return next
		}
	}
	return i + 1
}

// found records a secret and returns its end.
func (sc *scanner) found(start, end int, kind string) int {
	sc.spans = append(sc.spans, span{start: start, end: end, kind: kind})
	return end
}

func isDigit(c byte) bool { return c-'0' < 10 }
func isAlpha(c byte) bool { return c|0x20-'a' < 26 }
func isAlnum(c byte) bool { return isDigit(c) || isAlpha(c) }
func isIdent(c byte) bool { return isAlnum(c) || c == '_' }
func isHex(c byte) bool   { return isDigit(c) || c|0x20-'a' < 6 }
func isBlank(c byte) bool { return c == ' ' || c == '\t' }
func isSpace(c byte) bool { return c == ' ' || c-'\t' < 5 }
func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// startsWord says whether a word may begin at i: after anything but a letter or
// digit, and after the last letter of an escape such as \n or %3D.
func startsWord(t string, i int) bool {
	if i == 0 || !isAlnum(t[i-1]) {
		return true
	}
	if i >= 2 && t[i-2] == '\\' {
		return t[i-1] == 'n' || t[i-1] == 'r' || t[i-1] == 't'
	}
	return i >= 3 && t[i-3] == '%' && isHex(t[i-2]) && isHex(t[i-1])
}

// run returns the end of the run of bytes in set that begins at i.
func run(t string, i int, set *[256]bool) int {
	for i < len(t) && set[t[i]] {
		i++
	}
	return i
}

func setOf(extra string) *[256]bool {
	var s [256]bool
	for c := range 256 {
		s[c] = isAlnum(byte(c))
	}
	for i := range len(extra) {
		s[extra[i]] = true
	}
	return &s
}
