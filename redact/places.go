package redact

import (
	b64 "encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"
)

// email looks for an address around the @ at i (RFC 5321: at most 64 bytes
// before and 255 after it; more are taken before it, for safety).
func (sc *scanner) email(i int) int {
	t := sc.text
	if !sc.emails || i < sc.noAt {
		return i + 1
	}
	start := i
	for start > 0 && i-start < 320 {
		r, n := utf8.DecodeLastRuneInString(t[:start])
		if !isMail(r) && (n > 1 || !strings.ContainsRune("._%+-'", r)) {
			break
		}
		start -= n
	}
	for start < i && (t[start] == '\'' || t[start] == '.' || t[start] == '-') {
		start++
	}
	if start >= 1 && start < i && t[start-1] == '\\' && strings.IndexByte("nrt", t[start]) >= 0 {
		start++ // the n of an escaped line end
	}
	end := domain(t, i+1)
	local := t[start:i]
	if local == "" || end == i+1 || local == "git" || isVersion(t[i+1:end]) || isFile(t[i+1:end]) {
		return i + 1
	}
	return sc.found(start, end, "email")
}

func isMail(r rune) bool {
	if r < utf8.RuneSelf {
		return isAlnum(byte(r))
	}
	return unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic)
}

// domain returns the end of the domain name that begins at i, or i if there is
// none with a top-level domain.
func domain(t string, i int) int {
	end, labelAt := i, i // end of the last good name; start of the current label
	letters := true      // of the current label
	for j := i; j-i < 255; {
		r, n := rune(0), 1
		if j < len(t) {
			r, n = utf8.DecodeRuneInString(t[j:])
		}
		switch {
		case isMail(r):
			letters = letters && !isDigit(byte(min(r, 255)))
		case r == '-' && j > labelAt:
			letters = false
		default:
			if j == labelAt {
				return end
			}
			if letters && labelAt > i && utf8.RuneCountInString(t[labelAt:j]) >= 2 {
				end = j
			} else if xn := t[labelAt:j]; labelAt > i && strings.HasPrefix(xn, "xn--") {
				end = j
			}
			if r != '.' {
				return end
			}
			labelAt, letters = j+1, true
		}
		j += n
	}
	return end
}

// isVersion recognises a package version (name@1.2.3-rc.one) by a label of
// digits that is not the first.
func isVersion(domain string) bool {
	_, rest, _ := strings.Cut(domain, ".")
	for label := range strings.SplitSeq(rest, ".") {
		if strings.Trim(label, "0123456789") == "" {
			return true
		}
	}
	return false
}

// isFile recognises icon@2x.png and getty@tty1.service.
func isFile(domain string) bool { return files[domain[strings.LastIndexByte(domain, '.')+1:]] }

// userinfo looks for user:password@ after the :// that ends at i.
func (sc *scanner) userinfo(i int) int {
	t := sc.text
	at, end := -1, i
	for ; end < len(t) && !isSpace(t[end]) && strings.IndexByte("/?#\"'`<>\\", t[end]) < 0; end++ {
		if t[end] == '@' {
			at = end
		}
	}
	sc.work += end - i
	if at < 0 || tokenLen(t[i:at]) == at-i {
		return i
	}
	_, password, ok := strings.Cut(t[i:at], ":")
	if !ok || password == "" || isPlaceholder(password) {
		return i
	}
	sc.noAt = at + 1
	return sc.found(i, at, "url_credentials")
}

// auth looks for Bearer or Basic and its credential at i.
func (sc *scanner) auth(i int) int {
	t := sc.text
	if !startsWord(t, i) || (i > 0 && t[i-1] == '_') {
		return i + 1
	}
	bearer := hasPrefixFold(t[i:], "bearer")
	n := len("bearer")
	if !bearer {
		if !hasPrefixFold(t[i:], "basic") {
			return i + 1
		}
		n = len("basic")
	}
	start := i + n
	for start < len(t) && isBlank(t[start]) && start < i+n+16 {
		start++
	}
	if start == i+n {
		return i + 1
	}
	end := run(t, start, bearers)
	sc.work += end - start
	for end > start && t[end-1] == '.' {
		end--
	}
	v := t[start:end]
	if v == "" || (bearer && !isBearer(v, t[i] == 'B')) || (!bearer && !isBasic(v)) {
		return start
	}
	return sc.found(start, end, "authorization")
}

// isBearer tells a credential from the word after «bearer» in a sentence. After
// a capital, any word that does not belong to talk about the scheme counts.
func isBearer(v string, capital bool) bool {
	if len(v) > maxOrdinary || hasDigit(v) || len(v) >= 20 || strings.ContainsAny(v, "_~+=") {
		return true
	}
	for i := 1; i < len(v); i++ {
		if v[i]-'A' < 26 && v[i-1]-'a' < 26 {
			return true
		}
	}
	return capital && !stopWord(v)
}

// isBasic asks that the credential decodes to user:password.
func isBasic(v string) bool {
	if len(v) > 4096 {
		return true
	}
	b, err := b64.RawStdEncoding.DecodeString(strings.TrimRight(v, "="))
	return err == nil && strings.IndexByte(string(b), ':') >= 0 && utf8.Valid(b)
}

// media passes over data in base64 in a text, such as a picture, behind the
// base64, at i: somewhere in it anything can stand.
func (sc *scanner) media(i int) int {
	t := sc.text
	start := i + len("base64,")
	end := run(t, start, data)
	sc.work += end - start
	if i == 0 || t[i-1] != ';' || end-start < 128 {
		return start
	}
	return end
}

// discord looks for a token of Discord, three parts between dots, whose first
// dot is at i.
func (sc *scanner) discord(i int) int {
	t := sc.text
	if i < 23 || i+7+27 >= len(t)+1 || t[i+7] != '.' || run(t[:i+7], i+1, parts) != i+7 {
		return i + 1
	}
	start := i
	for start > 0 && i-start < 29 && isAlnum(t[start-1]) {
		start--
	}
	end := run(t, i+8, parts)
	sc.work += end - i
	if i-start < 23 || i-start > 28 || t[start]-'M' > 2 || end-i-8 < 27 {
		return i + 1
	}
	return sc.found(start, end, "discord_token")
}

const (
	pemBegin = "-----BEGIN "
	pemEnd   = "-----END "
)

// dash looks for a private key block or a command-line flag at i; it returns
// its end, or i.
func (sc *scanner) dash(i int) int {
	t := sc.text
	if strings.HasPrefix(t[i:], pemBegin) {
		return sc.pem(i)
	}
	if i > 0 && i+2 < len(t) && isBlank(t[i-1]) && isBlank(t[i+1]) && isQuote(t[i+2]) {
		return sc.dashed(i)
	}
	if end := sc.curl(i); end > i {
		return end
	}
	if i == 0 || t[i-1] != '-' || i+1 >= len(t) || !isAlpha(t[i+1]) {
		return i
	}
	if i >= 2 && !isSpace(t[i-2]) && !isQuote(t[i-2]) {
		return i
	}
	end := i + 1
	for end < len(t) && end < i+48 && (isIdent(t[end]) || t[end] == '-') {
		end++
	}
	if end >= len(t) || !isBlank(t[end]) {
		return i
	}
	f := familyOf(t[i+1 : end])
	if f == none || f == header {
		return i
	}
	return sc.value(assignment{keyStart: i + 1, family: f, sep: flag}, end)
}

// curl looks for the credentials of curl -u user:password around the dash before
// the u; it returns their end, or i.
func (sc *scanner) curl(i int) int {
	t := sc.text
	start := i + 1
	switch {
	case i > 0 && t[i-1] == '-' && strings.HasPrefix(t[start:], "user"):
		start += len("user")
	case i > 0 && isSpace(t[i-1]) && start < len(t) && t[start] == 'u':
		start++
	default:
		return i
	}
	if start == len(t) || isIdent(t[start]) || t[start] == '-' || !strings.Contains(t[max(0, i-512):i], "curl") {
		return i
	}
	start = skipSpace(t, start)
	if start < len(t) && t[start] == '=' {
		start++
	}
	end := start
	if start < len(t) && isQuote(t[start]) {
		start++
		end = start + max(0, strings.IndexByte(t[start:min(len(t), start+maxOrdinary)], t[start-1]))
	} else {
		end = bareEnd(t[:min(len(t), start+maxOrdinary)], start, spaced)
	}
	user, password, pair := strings.Cut(t[start:end], ":")
	secret := password
	if password == "" {
		secret = user // an API key in the place of the user
	}
	if !pair || secret == "" || tokenLen(secret) > 0 || isPlaceholder(secret) ||
		strings.ContainsAny(secret, "$<{") && !hasDigit(secret) { // a variable
		return i
	}
	if password != "" {
		start = end - len(password)
	} else {
		end = start + len(user)
	}
	return sc.found(start, end, "password")
}

// dashed looks for name - "value" around the dash at i.
func (sc *scanner) dashed(i int) int {
	a := assignment{sep: is} // as sure as a sentence
	if !sc.name(&a, i) || a.family == header || a.family == faint {
		return i
	}
	return sc.value(a, i+1)
}

func (sc *scanner) pem(i int) int {
	t := sc.text
	line := t[i+len(pemBegin):]
	n := strings.Index(line[:min(len(line), 80)], "-----")
	if n < 0 || !strings.Contains(line[:n], "PRIVATE KEY") {
		return i
	}
	body := i + len(pemBegin) + n + len("-----")
	if !hasBody(t[body:min(len(t), body+256)]) {
		return i
	}
	if stop := sc.nextPemEnd(body); stop >= 0 {
		rest := t[stop+len(pemEnd):]
		if n := strings.Index(rest[:min(len(rest), 80)], "-----"); n >= 0 {
			return sc.found(i, stop+len(pemEnd)+n+len("-----"), "private_key")
		}
	}
	end := cutKeyEnd(t, body)
	sc.work += end - body
	return sc.found(i, end, "private_key")
}

// cutKeyEnd returns the end of key data that begins at i and has no end line:
// what can be part of the key on its first line, then lines of nothing else.
func cutKeyEnd(t string, i int) int {
	end := i
	for end < len(t) && isKeyByte(t[end]) {
		end++
	}
	for end < len(t) && (t[end] == '\n' || t[end] == '\r') {
		next := end + 1
		for next < len(t) && isKeyByte(t[next]) && !isBlank(t[next]) {
			next++
		}
		if next < len(t) && t[next] != '\n' && t[next] != '\r' {
			break
		}
		end = next
	}
	for isSpace(t[end-1]) {
		end--
	}
	return end
}

func isKeyByte(c byte) bool {
	return isAlnum(c) || isBlank(c) || strings.IndexByte(`+/=\:,-`, c) >= 0
}

// nextPemEnd returns where the first end line at or after i begins, or -1. It
// remembers the answer, which keeps a text of many begin lines linear.
func (sc *scanner) nextPemEnd(i int) int {
	if sc.pemKnown && (sc.pemNext < 0 || sc.pemNext >= i) {
		return sc.pemNext
	}
	sc.pemKnown = true
	sc.pemNext = strings.Index(sc.text[i:], pemEnd)
	if sc.pemNext >= 0 {
		sc.pemNext += i
		sc.work += sc.pemNext - i
	} else {
		sc.work += len(sc.text) - i
	}
	return sc.pemNext
}

// hasBody says whether a line of key data follows, and not the rest of a
// sentence about keys.
func hasBody(s string) bool {
	n := 0
	for i := range len(s) {
		if !isAlnum(s[i]) && s[i] != '+' && s[i] != '/' && s[i] != '=' {
			n = 0
		} else if n++; n >= 16 {
			return true
		}
	}
	return false
}
