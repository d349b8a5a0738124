package redact

import (
	"cmp"
	b64 "encoding/base64"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/arc-learn/arc/redact/internal/card"
)

// scan records the secrets of the text.
func (sc *scanner) scan() {
	if strings.Contains(sc.text, "PRIVATE KEY") {
		sc.matches(privateKeys)
	}
	sc.cards()
	t, odd := sc.text, uint8(0)
	for i := 0; i < len(t); {
		on := matcher.stops[t[i]]
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

// place looks for a secret around the byte at i by the notation that the byte belongs to. It
// returns where to go on, or i.
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
		case next != '=': // := is looked at from its =
			return sc.assign(colon, i, i+1)
		}
	case '>': // <name>value<
		value := sc.run(i+1, maxName, spaces)
		if c := sc.byteAt(value); c != '<' && c != 0 {
			return sc.given(tag, header, i, value)
		}
	case 's': // name is value, name is: value
		if before == 'i' && sc.byteAt(i-2) == ' ' && (next == ' ' || next == ':') {
			return sc.given(is, header, i-2, i+2)
		}
		if next == 'w' && i > 2 && strings.HasPrefix(sc.text[i-3:], "password") {
			return sc.netrc(i-3, i+5)
		}
	case '-':
		switch {
		case next == 'u' && sc.curl(i):
		case (next == 'p' || next == 'a') && beforeFlag[before]:
			return sc.argument(i)
		case blanks[before] && blanks[next] && quotes[sc.byteAt(i+2)]: // name - "value", read like name is "value"
			return sc.given(is, header|faint, i, i+1)
		case isAlpha(next) && before == '-' && (i < 2 || beforeFlag[sc.text[i-2]]): // --name value
			end := sc.run(i+1, maxName, parts)
			if m := listedFlag.FindStringSubmatchIndex(sc.window(end, 16)); m != nil {
				return sc.given(flag, header, end, end+m[2])
			}
			if blanks[sc.byteAt(end)] {
				return sc.given(flag, header, end, end)
			}
		}
	case 'b', 'B':
		return sc.scheme(i)
	case '[':
		return i + tokenLen(sc.text[i:]) // skips an earlier replacement
	}
	return i
}

// listedFlag matches what follows the name in a list of arguments: "--name", "value".
var listedFlag = regexp.MustCompile("^\\\\*[\"'`],[ \t]*(\\\\*[\"'`])[^-\"'`\\\\]")

// maxName is the length in bytes of the longest name, and of the longest space around one.
const maxName = 64

// assigned looks for name=value around the = at i.
func (sc *scanner) assigned(i int) int {
	end, next := sc.back(i, 3, operators), i+1
	for next-i < 3 && (sc.byteAt(next) == '=' || sc.byteAt(next) == '>' && next == i+1) {
		next++
	}
	by := code
	switch op := sc.text[end:next]; {
	case op == "=>":
		by = arrow
	case op == "=" && (strings.HasPrefix(sc.text[next:], `\u003e`) || strings.HasPrefix(sc.text[next:], "&gt;")):
		by, next = arrow, next+1+strings.IndexAny(sc.text[next:], "e;") // => escaped in JSON or HTML
	case op != "=" && op != "?=":
	case blanks[sc.byteAt(end-1)] || blanks[sc.byteAt(next)]:
		by = spaced
	default:
		by = tight
	}
	return sc.assign(by, end, next)
}

// given looks at the value at next whose name ends before end. It returns 0 if the name says
// no more than the families in but.
func (sc *scanner) given(by notation, but family, end, next int) int {
	c := sc.name(by, end)
	if c.family&^but == 0 || by == tag && strings.IndexByte("<:", sc.byteAt(c.keyStart-1)) < 0 {
		return 0
	}
	return sc.value(c, next)
}

// typed matches a name and its type: var name string =, name: str =.
var typed = regexp.MustCompile(`([A-Za-z0-9_]+):?[ \t]\*?(?:string|String|str)$`)

// name reads the name that ends before end, and classifies it.
func (sc *scanner) name(by notation, end int) candidate {
	t := sc.text
	end = sc.back(end, 16, blanks)
	if end > 0 && t[end-1] == ']' {
		if end--; by&code == 0 {
			end = sc.back(end, 9, sizes) // of an array, as in key[25]
		}
	}
	if end > 0 && quotes[t[end-1]] {
		if t[end-1] == '"' {
			by |= json_
		}
		end = sc.back(end-1, maxName, backslashes)
	}
	start := end
	if end > 0 && idents[t[end-1]] {
		start = sc.back(end, maxName, names)
	}
	switch t[start:end] {
	case "string", "String", "str":
		before, at := sc.before(end, 2*maxName)
		if m := typed.FindStringSubmatchIndex(before); m != nil {
			start, end = at+m[2], at+m[3]
		}
	}
	c := candidate{text: t, by: by, keyStart: start, keyEnd: end}
	c.family = familyOf(t[start:end])
	if c.family == none && start > 0 && t[start-1] == '\\' {
		c.keyStart += len(escaped.FindString(t[start:end])) // \npwd, \u0026sig
		c.family = familyOf(c.keyText())
	}
	if c.family == none && start > 1 && t[start-1] == ' ' && strings.EqualFold(sc.window(start, 3), "key") {
		c.keyStart = sc.back(start-1, maxName, idents) // «api key», «secret key»
		c.family = familyOf(c.keyText())
	}
	if c.family == none && start > 0 && (t[start-1] >= utf8.RuneSelf || strings.EqualFold(c.keyText(), "passe")) {
		c.keyStart = max(0, end-maxName) // «contraseña», «mot de passe»
		c.family = familyOf(c.keyText())
	}
	return c
}

// escaped matches an escape sequence behind its backslash: n of \n, u0026 of \u0026.
var escaped = regexp.MustCompile(`^(?:[nrt]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})`)

// title matches the name given to a «value»: name: DB_PASSWORD, value: x, on one line or two.
var title = regexp.MustCompile(`(?i)(?:name|key)[ \t\\"']*[:=][ \t\\"']*([\w.-]+)[\s,;\\"']*$`)

// assign looks at the value at next whose name ends before end. It returns where to go on.
func (sc *scanner) assign(by notation, end, next int) int {
	c := sc.name(by, end)
	key := c.keyText()
	if c.family == none && by == code && sc.compared(end, next) {
		return next
	}
	if c.family == none && strings.EqualFold(key, "value") {
		before, _ := sc.before(c.keyStart, 2*maxName)
		if m := title.FindStringSubmatch(before); m != nil {
			c.family = familyOf(m[1]) &^ header
		}
	}
	if start := sc.run(next, 16, blanks); c.family == none && len(key) > 2 {
		if openings[sc.byteAt(start)] || strings.HasPrefix(sc.text[start:], `@"`) {
			c.family = familyWithin(key)
		}
		if c.family != none {
			c.by |= within
		} else if value := sc.run(start, 8, openings); sc.run(value, 16, values) == value+16 {
			c.family = keyed
		}
	}
	if c.family == none {
		return next
	}
	return sc.value(c, next)
}

// literal matches a quoted literal at the end of a text.
var literal = regexp.MustCompile("[\"'`]([^\"'`\n]{4,})[\"'`][ \t]*$")

// compared looks for "value" == name, whose literal ends before end and whose name begins at
// next. It reports whether it recorded the value.
func (sc *scanner) compared(end, next int) bool {
	if !quotes[sc.byteAt(sc.back(end, 16, blanks)-1)] {
		return false
	}
	name := sc.run(next, maxName, blanks)
	key := sc.text[name:sc.run(name, maxName, names)]
	f := cmp.Or(familyOf(key), familyWithin(key)) &^ header
	before, from := sc.before(end, maxOrdinary)
	m := literal.FindStringSubmatchIndex(before)
	if f == none || m == nil || !looksStrong(before[m[2]:m[3]]) || isPlaceholder(before[m[2]:m[3]]) {
		return false
	}
	return sc.found(from+m[2], from+m[3], f.kind()) > 0
}

// scalar matches a JSON value without quotes, and the byte that ends it.
var scalar = regexp.MustCompile(`^(?:null|true|false|-?[0-9]+)[,\]}]`)

// value looks for the value of c that begins at i and returns where to go on.
func (sc *scanner) value(c candidate, i int) int {
	t := sc.text
	i = sc.run(i, maxOrdinary, blanks)
	if strings.HasPrefix(t[i:], `@"`) {
		i++ // a literal of C# or Objective-C
	}
	q := sc.run(i, 8, backslashes)
	behind := q - i
	if mark := sc.window(q, 3); (mark == `"""` || mark == "'''") && !spaces[sc.byteAt(q+3)] {
		q += 2 // a literal of Python or TOML
	}
	if c.by&tag == 0 && quotes[sc.byteAt(q)] {
		c.by |= lit
	}
	switch {
	case c.by == lit|c.by&(tight|colon|arrow) && q == i && sc.closesString(c.keyStart, i):
		return i + 1
	case c.by&lit != 0:
		c.start, c.end = q+1, sc.closing(q, behind)
	case c.by&tag != 0:
		if i < sc.untagged {
			return i
		}
		c.start, c.end = i, sc.run(i, unbounded, texts)
		if sc.byteAt(sc.run(c.end, maxName, spaces)) != '<' {
			sc.untagged = c.end
			return i
		}
	case c.family == keyed:
		c.start, c.end = i, sc.run(i, maxOrdinary+1, values)
	case c.by == json_|colon && scalar.MatchString(sc.window(i, maxName)):
		c.start, c.end = i, i+strings.IndexAny(sc.window(i, maxName), ",]}")
	default:
		c.start, c.end = i, sc.bare(i)
		// A key or token ends before &amp;, a parameter without a value, or another command.
		n := max(0, strings.IndexAny(c.value(), "&;"))
		if v := t[i : i+n]; n >= 8 && c.family&(secret|weak) != 0 && looksStrong(v) && consistsOf(v, values) {
			c.end = i + n
		}
	}
	if strings.HasPrefix(t[c.start:], pemBegin) {
		return c.start
	}
	if c.family == header {
		sc.credential(&c)
	}
	long := c.end-c.start > maxOrdinary
	if c.start == c.end || long && (c.family == keyed || c.by&within != 0) || !long && isOrdinary(&c) {
		return c.start
	}
	end := sc.found(c.start, c.end, c.family.kind())
	// A JSON number becomes a string, so that the text stays JSON.
	if c.by == json_|colon && c.family != header {
		sc.spans[len(sc.spans)-1].quote = `"`
	}
	return end
}

// closing returns the end of the literal whose opening quote is at i, behind so many
// backslashes. A literal without a closing quote on its line ends with the line.
func (sc *scanner) closing(i, behind int) int {
	t, end, n := sc.text, i+1, 0 // n: the backslashes right before end
	for ; end < len(t) && t[end] != '\n' && (t[end] != t[i] || n > behind); end++ {
		if n++; t[end] != '\\' {
			n = 0
		}
	}
	if end < len(t) && t[end] == t[i] {
		end -= n
	}
	sc.work += end - i
	return end
}

// closesString reports whether the quote at i ends a string that holds the name at key
// ("password="+p) instead of opening the value: the line has an odd number of quotes before
// it, and no value begins with the byte that follows.
func (sc *scanner) closesString(key, i int) bool {
	line, _ := sc.before(key, maxOrdinary)
	return strings.IndexByte("+,;:.)]} \t\n\x00", sc.byteAt(i+1)) >= 0 &&
		strings.Count(line[strings.LastIndexByte(line, '\n')+1:], sc.text[i:i+1])%2 == 1
}

// next matches name= or name: at the beginning of a text, or an empty text.
var next = regexp.MustCompile(`^[\w. "\[\]-]{1,47}[=:]|^$`)

// bare returns the end of the value without quotes that begins at i. It ends before a space, a
// quote, or the & ; or comma that the next assignment follows. Closing brackets and a
// sentence's punctuation at its end do not belong to it.
func (sc *scanner) bare(i int) int {
	t := sc.text[i:]
	end := 0
	for ; end < len(t) && !spaces[t[end]] && !quotes[t[end]] && (t[end] != '<' || end == 0); end++ {
		c, behind := t[end], sc.window(i+end+1, 48)
		if c == '\\' && behind != "" && strings.IndexByte(`nrt"'`, behind[0]) >= 0 ||
			(c == '&' || c == ';' || c == ',') && next.MatchString(behind) ||
			c == '\\' && strings.HasPrefix(behind, "u0026") && next.MatchString(behind[5:]) {
			break
		}
	}
	sc.work += end
	return sc.trimmed(i, i+end)
}

// trimmed returns the end of a value without closing brackets and punctuation.
func (sc *scanner) trimmed(start, end int) int {
	start += tokenLen(sc.text[start:end])
	return start + len(strings.TrimRight(sc.text[start:end], ".,;:)]}"))
}

// listed matches a scheme whose credential is a list of parameters.
var listed = regexp.MustCompile(`(?i)^(?:digest|aws4)`)

// credential moves c to the credential of an Authorization header, behind its scheme.
func (sc *scanner) credential(c *candidate) {
	by := scheme.FindString(sc.window(c.start, maxOrdinary))
	c.start += len(by)
	switch {
	case c.by&lit != 0:
		c.end = max(c.start, c.end)
	case by == "":
		c.family = secret
	case listed.MatchString(by):
		c.end = sc.trimmed(c.start, sc.run(c.start, unbounded, lines))
	default:
		c.end = sc.bare(c.start)
	}
}

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

// curl matches curl -u user:password; its group is the password, or an API key given as the user.
var curl = regexp.MustCompile(`^-(?:u|user)[ =]*\\?["']?` +
	`(?:[^\s:"'$<{[\\]*:([^\s"'[\\][^\s"'\\]*)|([^\s:"'$<{[\\]+):(?:[\s"'\\]|$))`)

// curl looks for curl's credentials behind the flag -u at i. It reports whether it recorded them.
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

// client matches a command whose program takes a password at once behind -p: find has -print and -prune.
var client = regexp.MustCompile(`^[^\w/]*(?:sudo\s+)?(?:\S*/)?(?:mysql|mariadb|sshpass)`)

// argument looks for a password behind the flag -p or -a at i. The command says whether it is one: -p may be a port.
func (sc *scanner) argument(i int) int {
	flagged, value := words[sc.text[i:i+2]], sc.run(i+2, maxName, blanks)
	if value > i+2 {
		flagged = words[sc.text[i:i+2]+"_"]
	}
	start := i // of the command, which goes on behind a backslash
	for start > max(0, i-maxOrdinary) && (!commandEnds[sc.text[start-1]] || sc.byteAt(start-2) == '\\') {
		start--
	}
	command, word := sc.text[start:i], sc.text[value:sc.bare(value)]
	if !hasAny(command, flagged) || value == i+2 && word != "" && !looksStrong(word) && !client.MatchString(command) {
		return i
	}
	return sc.value(candidate{text: sc.text, by: flag, family: short, keyStart: i + 1, keyEnd: i + 2}, value)
}

// entry matches what an entry of .netrc has before its password.
var entry = regexp.MustCompile(`(?:\bmachine\s+\S+|\bdefault)\s+login\s+\S+\s+$`)

// netrc looks for the password of .netrc behind the word that begins at key. It returns where to go on.
func (sc *scanner) netrc(key, end int) int {
	before, _ := sc.before(key, 2*maxName)
	value := sc.run(end, maxName, spaces)
	if value == end || !strings.Contains(before, "login") || !entry.MatchString(before) {
		return end // behind the word
	}
	return sc.value(candidate{text: sc.text, by: flag, family: password, keyStart: key, keyEnd: end}, value)
}

// drawnWord matches a credential, and no word that follows «bearer» in a sentence.
var drawnWord = regexp.MustCompile(`[a-z][A-Z]|[0-9_~+=]|.{20}`)

// schemed matches a scheme and its credential. Group 1 is the b of bearer, group 2 the credential.
var schemed = regexp.MustCompile(`^(?:([Bb])(?i:earer)|[Bb](?i:asic))(?:[ \t]{1,16}|\+|%20)` +
	`((?:[A-Za-z0-9._~+/=-][A-Za-z0-9._~+/=$-]*)?[A-Za-z0-9_~+/=-])`)

// scheme looks for the credential of Bearer or Basic at i, and skips base64 data of 128 bytes or more.
func (sc *scanner) scheme(i int) int {
	t := sc.text[i:]
	if end := i + len("base64,"); strings.HasPrefix(t, "base64,") && sc.byteAt(i-1) == ';' {
		// A picture, say: its characters are arbitrary, and can look like any token.
		if end = sc.run(end, unbounded, values); end-i >= 128 {
			return end
		}
	}
	if c := sc.byteAt(i+2) | 0x20; c != 'a' && c != 's' || !startsWord(sc.text, i) || sc.byteAt(i-1) == '_' {
		return i
	}
	m := schemed.FindStringSubmatch(t) // behind a capital B most words are credentials
	if m == nil || m[1] == "" && !isBasic(m[2]) ||
		m[1] != "" && !drawnWord.MatchString(m[2]) && (m[1] == "b" || stopWord(m[2])) {
		return i
	}
	return sc.found(i+len(m[0])-len(m[2]), i+len(m[0]), "authorization")
}

// isBasic reports whether v decodes to user:password.
func isBasic(v string) bool {
	b, err := b64.RawStdEncoding.DecodeString(strings.TrimRight(v, "="))
	return err == nil && strings.Contains(string(b), ":") && utf8.Valid(b)
}

// cards records the numbers of payment cards.
func (sc *scanner) cards() {
	sc.work += card.Find(sc.text, sc.under, startsWord, func(start, end int, member bool) {
		if sc.found(start, end, "payment_card"); member {
			sc.spans[len(sc.spans)-1].quote = `"` // a JSON number becomes a string
		}
	})
}
