package redact

import (
	"regexp"
	"strings"
)

// The scanner passes once over a text and stops only at bytes that every kind of secret
// contains near its start. There it looks around: for a token by the rules, whose bytes
// compile chooses, and for what the place's own function knows.
const (
	onRule = 1 << iota
	onPlace
)

type scanner struct {
	text    string
	m       *matcher
	emails  bool
	spans   []span
	work    int // stops, and bytes looked at without a bound
	noAt    int // an @ before this offset is no e-mail address
	pemNext int // see nextPemEnd
}

// scan returns the secrets of the text in the order in which they were met.
func (sc *scanner) scan() []span {
	for i := 0; i < len(sc.text); {
		on := sc.m.stops[sc.text[i]]
		if on == 0 {
			i++
			continue
		}
		sc.work++
		next := i
		if on&onRule != 0 {
			next = sc.rule(i)
		}
		if next == i && on&onPlace != 0 {
			next = sc.place(i)
		}
		i = max(next, i+1)
	}
	return sc.spans
}

// place looks for a secret around the byte at i, if it is one of those that compile lists.
func (sc *scanner) place(i int) int {
	switch sc.text[i] {
	case '=':
		return sc.assigned(i)
	case ':':
		return sc.colon(i)
	case '>':
		return sc.given(tag, header, i, sc.run(i+1, maxName, spaces))
	case 's':
		return sc.said(i)
	case '-':
		return sc.dash(i)
	case 'b', 'B':
		return sc.scheme(i)
	case '@':
		return sc.email(i)
	case '.':
		return sc.discord(i)
	}
	return i + tokenLen(sc.text[i:]) // over a replacement made earlier
}

// found records a secret and returns its end.
func (sc *scanner) found(start, end int, kind string) int {
	sc.spans = append(sc.spans, span{start: start, end: end, kind: kind})
	return end
}

// run returns the end of the bytes of a set that begin at i, of at most n.
func (sc *scanner) run(i, n int, set *[256]bool) int {
	end := i + length(sc.text[i:min(len(sc.text)-i, n)+i], set)
	if n == unbounded {
		sc.work += end - i
	}
	return end
}

// length is that of the bytes of a set with which s begins.
func length(s string, set *[256]bool) (n int) {
	for n < len(s) && set[s[n]] {
		n++
	}
	return n
}

// back returns the beginning of the bytes of a set that end at i, of at most n.
func (sc *scanner) back(i, n int, set *[256]bool) int {
	start := i
	for start > 0 && i-start < n && set[sc.text[start-1]] {
		start--
	}
	return start
}

// is says whether the byte at i is of a set.
func (sc *scanner) is(i int, set *[256]bool) bool {
	return i >= 0 && i < len(sc.text) && set[sc.text[i]]
}

// window returns up to n bytes of the text from i on.
func (sc *scanner) window(i, n int) string { return sc.text[i:min(len(sc.text), i+n)] }

const unbounded = 1 << 62

var (
	blanks      = bytesOf(" \t")
	spaces      = bytesOf(" \t\n\v\f\r")
	quotes      = bytesOf("\"'`")
	slashes     = bytesOf(`\`)
	colons      = bytesOf(":")
	dashes      = bytesOf("-")
	openSpaces  = bytesOf(" \t\n\v\f\r\"'`")
	brackets    = bytesOf("[")
	openings    = bytesOf("\"'`\\")
	digits      = alphabet("0-9")
	authorities = without(" \t\n\v\f\r/?#\"'`<>\\")
	texts       = without("<\n")
	lines       = without("\r\n")
	letters     = alphabet("A-Za-z")
	idents      = alphabet("A-Za-z0-9_")
	names       = alphabet("A-Za-z0-9_.-")
	parts       = alphabet("A-Za-z0-9_-")
	data        = alphabet("A-Za-z0-9+/=")
	bearers     = alphabet("A-Za-z0-9._~+/=-")
	values      = alphabet("A-Za-z0-9._~+/=%-")
)

func bytesOf(s string) (set *[256]bool) {
	set = new([256]bool)
	for i := range len(s) {
		set[s[i]] = true
	}
	return set
}

// without is the set of all bytes but those.
func without(s string) (set *[256]bool) {
	set = bytesOf(s)
	for c := range set {
		set[c] = !set[c]
	}
	return set
}

func isDigit(c byte) bool { return c-'0' < 10 }
func isAlpha(c byte) bool { return c|0x20-'a' < 26 }
func isAlnum(c byte) bool { return isDigit(c) || isAlpha(c) }

// escape is what can stand before a word though it ends with a letter or digit: \n, \u003d,
// %3D, the colour of a terminal, in a URL perhaps.
var escape = regexp.MustCompile(`(\\|%5[Cc])([nrt]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})$|%(25)?[0-9a-fA-F]{2}$|` +
	`(\x1b|1b|33|\\e|%1B)(\[|%5B)[0-9;]*m$`)

// startsWord says whether a word may begin at i.
func startsWord(t string, i int) bool {
	if i == 0 || !isAlnum(t[i-1]) {
		return true
	}
	before := t[max(0, i-16):i]
	return strings.ContainsAny(before, `\%[`) && escape.MatchString(before)
}
