package redact

import (
	"bytes"
	b64 "encoding/base64"
	"regexp"
	"strings"
	"unicode/utf8"
)

// userinfo looks for user:password@ after the :// that ends at i.
func (sc *scanner) userinfo(i int) int {
	t := sc.text[i:sc.run(i, unbounded, authorities)]
	at := max(0, strings.LastIndexByte(t, '@'))
	_, password, _ := strings.Cut(t[:at], ":")
	if password == "" || isPlaceholder(password) || tokenLen(t[:at]) == at {
		return i
	}
	return sc.found(i, i+at, "url_credentials")
}

// curl has the password of curl -u user:password, or an API key in the place of the user.
var curl = regexp.MustCompile(`^-(?:u|user)[ =]*\\?["']?` +
	`(?:[^\s:"'$<{[\\]*:([^\s"'[\\][^\s"'\\]*)|([^\s:"'$<{[\\]+):(?:[\s"'\\]|$))`)

// curl looks for curl's credentials around the dash before the u at i.
func (sc *scanner) curl(i int) bool {
	before, _ := sc.before(i, 2*maxOrdinary)
	m := curl.FindStringSubmatchIndex(sc.window(i, maxOrdinary))
	if m == nil || !strings.Contains(before, "curl") {
		return false
	}
	start, end := i+max(m[2], m[4]), i+max(m[3], m[5])
	if v := sc.text[start:end]; isPlaceholder(v) || stopWord(v) {
		return false
	}
	return sc.found(start, end, "password") > 0
}

// drawnWord tells a credential from the word after «bearer» in a sentence.
var drawnWord = regexp.MustCompile(`[a-z][A-Z]|[0-9_~+=]|.{20}`)

var schemed = regexp.MustCompile(`^(?:([Bb])(?i:earer)|[Bb](?i:asic))[ \t]{1,16}([A-Za-z0-9._~+/=-]*[A-Za-z0-9_~+/=-])`)

// scheme looks for Bearer or Basic and its credential at i, or passes over media.
func (sc *scanner) scheme(i int) int {
	t := sc.text[i:]
	if end := i + len("base64,"); strings.HasPrefix(t, "base64,") && sc.byteAt(i-1) == ';' {
		// Data such as a picture: somewhere in it anything can stand.
		if end = sc.run(end, unbounded, values); end-i >= 128 {
			return end
		}
	}
	if c := sc.byteAt(i+2) | 0x20; c != 'a' && c != 's' || !startsWord(sc.text, i) || sc.byteAt(i-1) == '_' {
		return i
	}
	m := schemed.FindStringSubmatch(t) // after a capital, most words count
	if m == nil || m[1] == "" && !isBasic(m[2]) ||
		m[1] != "" && !drawnWord.MatchString(m[2]) && (m[1] == "b" || stopWord(m[2])) {
		return i
	}
	return sc.found(i+len(m[0])-len(m[2]), i+len(m[0]), "authorization")
}

// isBasic asks that the credential decodes to user:password.
func isBasic(v string) bool {
	b, err := b64.RawStdEncoding.DecodeString(strings.TrimRight(v, "="))
	return err == nil && bytes.IndexByte(b, ':') >= 0 && utf8.Valid(b)
}

// scan looks for the secrets of the text.
func (sc *scanner) scan() {
	odd := uint8(0)
	for i := 0; i < len(sc.text); {
		on := matcher.stops[sc.text[i]]
		if on&(onRule|onPlace) == 0 {
			odd |= on
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
	sc.odd = odd != 0
}

// place looks for a secret around the byte at i, if it is one of those that matcher lists.
func (sc *scanner) place(i int) int {
	before, next := sc.byteAt(i-1), sc.byteAt(i+1)
	switch sc.text[i] {
	case '=':
		return sc.assigned(i)
	case ':':
		switch {
		case strings.HasPrefix(sc.text[i:], "://"):
			return sc.userinfo(i + 3)
		case next == ':':
			return i + 2
		case next != '=': // which looks itself
			return sc.assign(colon, i, i+1)
		}
	case '>': // <name>value<
		value := sc.run(i+1, maxName, spaces)
		if c := sc.byteAt(value); c != '<' && c != 0 {
			return sc.given(tag, header, i, value)
		}
	case 's': // the password is value, is: value
		if before == 'i' && sc.byteAt(i-2) == ' ' && (next == ' ' || next == ':') {
			return sc.given(is, header, i-2, i+2)
		}
	case '-':
		switch {
		case next == 'u' && sc.curl(i):
		case blanks[before] && blanks[next] && quotes[sc.byteAt(i+2)]: // name - "value": as sure as a sentence
			return sc.given(is, header|faint, i, i+1)
		case isAlpha(next) && before == '-' && (i < 2 || spaces[sc.text[i-2]] || quotes[sc.text[i-2]]): // --name value
			if end := sc.run(i+1, maxName, parts); blanks[sc.byteAt(end)] {
				return sc.given(flag, header, end, end)
			}
		}
	case 'b', 'B':
		return sc.scheme(i)
	case '[':
		return i + tokenLen(sc.text[i:]) // over a replacement made earlier
	}
	return i
}
