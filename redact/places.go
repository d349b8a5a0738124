package redact

import (
	b64 "encoding/base64"
	"regexp"
	"strings"
	"unicode/utf8"
)

// script are the letters of addresses.
const script = `\p{Latin}\p{Greek}\p{Cyrillic}`

var (
	// mailbox is what stands before an @, behind the n of an escaped line end perhaps.
	mailbox = regexp.MustCompile(`(?:\\[nrt])?['.-]*([` + script + `0-9._%+'-]*)$`)
	// domain is a name with a top-level domain, at least two labels.
	domain = regexp.MustCompile(strings.ReplaceAll(`^(?:[L0-9][L0-9-]*\.)+(?:[L]{2,}|xn--[a-z0-9-]+)`, "L", script))
	// version is that of a package: name@1.2.3-rc.one.
	version = regexp.MustCompile(`\.[0-9]+(?:\.|$)`)
)

// email looks for an address around the @ at i (RFC 5321: at most 64 bytes
// before and 255 after it; more are taken before it, for safety).
func (sc *scanner) email(i int) int {
	t := sc.text
	if !sc.emails || i < sc.noAt {
		return i
	}
	start := i - len(mailbox.FindStringSubmatch(t[max(0, i-320):i])[1])
	host := domain.FindString(sc.window(i+1, 255))
	if start == i || host == "" || t[start:i] == "git" || version.MatchString(host) ||
		files[host[strings.LastIndexByte(host, '.')+1:]] {
		return i
	}
	return sc.found(start, i+1+len(host), "email")
}

// userinfo looks for user:password@ after the :// that ends at i.
func (sc *scanner) userinfo(i int) int {
	t := sc.text
	end := sc.run(i, unbounded, authorities)
	at := i + strings.LastIndexByte(t[i:end], '@')
	if at < i || tokenLen(t[i:at]) == at-i {
		return i
	}
	_, password, _ := strings.Cut(t[i:at], ":")
	if password == "" || isPlaceholder(password) {
		return i
	}
	sc.noAt = at + 1
	return sc.found(i, at, "url_credentials")
}

// drawnWord tells a credential from the word after «bearer» in a sentence.
var drawnWord = regexp.MustCompile(`[a-z][A-Z]|[0-9_~+=]|.{20}`)

var schemeName = regexp.MustCompile(`^(?i)(?:bearer|basic)[ \t]{1,16}`)

// scheme looks for Bearer or Basic and its credential at i, or passes over media.
func (sc *scanner) scheme(i int) int {
	t := sc.text
	if i+6 > len(t) || t[i+1]|0x20 != 'e' && t[i+1]|0x20 != 'a' {
		return i
	}
	if strings.HasPrefix(t[i:], "base64,") {
		// Data in base64, such as a picture: somewhere in it anything can stand.
		if end := sc.run(i+7, unbounded, data); i > 0 && t[i-1] == ';' && end-i >= 128 {
			return end
		}
		return i
	}
	if t[i+2]|0x20 != 'a' && t[i+2]|0x20 != 's' || !startsWord(t, i) || i > 0 && t[i-1] == '_' {
		return i
	}
	start := i + len(schemeName.FindString(sc.window(i, 24)))
	end := sc.run(start, unbounded, bearers)
	v := strings.TrimRight(t[start:end], ".")
	// After a capital, any word that does not belong to talk about the scheme counts.
	bearer := drawnWord.MatchString(v) || t[i] == 'B' && !stopWord(v)
	if start == i || v == "" || t[i+2]|0x20 == 'a' && !bearer || t[i+2]|0x20 == 's' && !isBasic(v) {
		return i
	}
	return sc.found(start, start+len(v), header.kind())
}

// isBasic asks that the credential decodes to user:password.
func isBasic(v string) bool {
	if len(v) > 4096 {
		return true
	}
	b, err := b64.RawStdEncoding.DecodeString(strings.TrimRight(v, "="))
	return err == nil && strings.IndexByte(string(b), ':') >= 0 && utf8.Valid(b)
}

// discord looks for a token of Discord, three parts between dots, whose first
// dot is at i.
func (sc *scanner) discord(i int) int {
	t := sc.text
	if i < 23 || i+7 >= len(t) || t[i+7] != '.' || sc.run(i+1, 6, parts) != i+7 {
		return i
	}
	start, end := i, sc.run(i+8, unbounded, parts)
	for start > 0 && i-start < 29 && isAlnum(t[start-1]) {
		start--
	}
	if i-start < 23 || i-start > 28 || t[start]-'M' > 2 || end-i-8 < 27 {
		return i
	}
	return sc.found(start, end, "discord_token")
}

const (
	pemBegin = "-----BEGIN "
	pemEnd   = "-----END "
)

var (
	pemHead = regexp.MustCompile(`^-----BEGIN [^-]{0,40}PRIVATE KEY[^-]{0,20}-----`)
	pemBody = regexp.MustCompile(`[A-Za-z0-9+/=]{16}`) // key data, and no sentence about keys
	pemCut  = regexp.MustCompile(`(?m)\A[A-Za-z0-9 \t+/=\\:,-]*(?:\n[A-Za-z0-9+/=\\:,\r-]*$)*`)
)

// pem looks for a private key at i.
func (sc *scanner) pem(i int) int {
	body := i + len(pemHead.FindString(sc.window(i, 96)))
	if body == i || !pemBody.MatchString(sc.window(body, maxOrdinary)) {
		return i
	}
	if stop := sc.nextPemEnd(body); stop < len(sc.text) {
		if n := strings.Index(sc.window(stop+len(pemEnd), 80), "-----"); n >= 0 {
			return sc.found(i, stop+len(pemEnd)+n+len("-----"), "private_key")
		}
	}
	// It was cut: its first line, then lines of nothing else than key data.
	rest := pemCut.FindString(sc.text[body:])
	sc.work += len(rest)
	return sc.found(i, body+len(strings.TrimRight(rest, " \t\r\n")), "private_key")
}

// nextPemEnd returns where the first end line at or after i begins, or the length of the
// text. It remembers the answer, which keeps a text of many begin lines linear.
func (sc *scanner) nextPemEnd(i int) int {
	if sc.pemNext < i {
		n := strings.Index(sc.text[i:], pemEnd)
		if n < 0 {
			n = len(sc.text) - i
		}
		sc.pemNext = i + n
		sc.work += n
	}
	return sc.pemNext
}
