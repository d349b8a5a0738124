package redact

import "strings"

// The scanner passes once over a text and stops only at bytes that every kind
// of secret contains near its start: its trigger. There it looks around.
const (
	onMark   = 1 << iota // the anchor of a rule
	onAssign             // = or :, or the > that closes an XML tag
	onAt                 // an e-mail address
	onAuth               // Bearer, Basic
	onDash               // a private key block, a command-line flag
	onIs                 // the password is …
	onToken              // a replacement made earlier
	onDot                // the first dot of a token of Discord
)

// triggers are those that do not depend on the rules.
var triggers = func() (t [256]uint8) {
	t['='] |= onAssign
	t[':'] |= onAssign
	t['>'] |= onAssign
	t['@'] |= onAt
	t['b'] |= onAuth
	t['B'] |= onAuth
	t['-'] |= onDash
	t['s'] |= onIs
	t['['] |= onToken
	t['.'] |= onDot
	return t
}()

type scanner struct {
	text  string
	m     *matcher
	work  int // bytes looked at in places where their number has no bound of its own, and stops
	spans []span

	emails bool
	noAt   int // an @ before this offset is no e-mail address

	pemKnown bool
	pemNext  int // see nextPemEnd
}

// scan returns the secrets of text in the order in which they were met.
func (m *matcher) scan(text string, emails bool) []span {
	sc := scanner{text: text, m: m, emails: emails}
	sc.scan()
	return sc.spans
}

func (sc *scanner) scan() {
	t, triggers := sc.text, &sc.m.triggers
	for i := 0; i < len(t); {
		on := triggers[t[i]]
		if on == 0 {
			i++
			continue
		}
		sc.work++
		if on&onMark != 0 {
			if next := sc.mark(i); next > i {
				i = next
				continue
			}
		}
		i = sc.at(i, on)
	}
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
		if strings.HasPrefix(t[i:], "base64,") {
			return sc.media(i)
		}
		return sc.auth(i)
	case on&onDot != 0:
		if i+7 >= len(t) || t[i+7] != '.' {
			return i + 1
		}
		return sc.discord(i)
	case on&onDash != 0:
		return max(i+1, sc.dash(i))
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
	if (t[i-1] == 'n' || t[i-1] == 'r' || t[i-1] == 't') && endsBackslash(t[:i-1]) {
		return true
	}
	if !isHex(t[i-1]) {
		return t[i-1] == 'm' && endsColour(t[max(0, i-16):i-1])
	}
	return i >= 3 && isHex(t[i-2]) && (t[i-3] == '%' || i >= 5 && t[i-5:i-2] == "%25") ||
		i >= 4 && t[i-3] == 'x' && isHex(t[i-2]) && endsBackslash(t[:i-3]) ||
		i >= 6 && t[i-5] == 'u' && isHex(t[i-4]) && isHex(t[i-3]) && isHex(t[i-2]) && endsBackslash(t[:i-5])
}

// endsBackslash says whether s ends with a backslash, in a URL perhaps.
func endsBackslash(s string) bool {
	return strings.HasSuffix(s, `\`) || strings.HasSuffix(s, "%5C") || strings.HasSuffix(s, "%5c")
}

// endsColour says whether s ends with the beginning of a terminal's escape
// sequence, ESC [ and numbers.
func endsColour(s string) bool {
	s = strings.TrimRight(s, "0123456789;")
	return strings.HasSuffix(s, "\x1b[") || strings.HasSuffix(s, "1b[") || strings.HasSuffix(s, "33[") || strings.HasSuffix(s, `\e[`) ||
		strings.HasSuffix(s, "%1B%5B")
}

// run returns the end of the run of bytes in set that begins at i.
func run(t string, i int, set *[256]bool) int {
	for i < len(t) && set[t[i]] {
		i++
	}
	return i
}

var (
	bearers = alphabet("A-Za-z0-9._~+/=-")
	data    = alphabet("A-Za-z0-9+/=")
	values  = alphabet("A-Za-z0-9._~+/=%-")
	parts   = alphabet("A-Za-z0-9_-")
)
