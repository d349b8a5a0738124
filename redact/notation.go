package redact

import (
	"regexp"
	"strings"
)

// notation is what stands between a name and its value. Notations are sets.
type notation uint16

const (
	tight  notation = 1 << iota // name=value
	spaced                      // name = value
	colon                       // name: value
	code                        // :=, ==, !=: only a literal can be a secret
	flag                        // --name value
	tag                         // <name>value<
	is                          // name is value

	lit    // the value stands in quotes
	json_  // so does the name, in double ones
	within // password_of_prod: the name goes on behind what tells

	anyhow = tight | spaced | colon | code | flag | tag | is
)

// candidate is a name that tells, and a value given to it: text[start:end].
type candidate struct {
	text       string
	start, end int
	v          string // text[start:end]
	by         notation
	family     family
	keyStart   int
	keyEnd     int
}

// maxOrdinary bounds what is looked at to decide that a value is no secret; a
// longer value always counts as one. It keeps scanning linear.
const maxOrdinary = 256

// maxName bounds a name and the space around it.
const maxName = 64

// colon looks for name: value, or the end of a URL's scheme, around the colon at i.
func (sc *scanner) colon(i int) int {
	t := sc.text
	switch {
	case strings.HasPrefix(t[i:], "://"):
		return sc.userinfo(i + 3)
	case strings.HasPrefix(t[i:], "::"):
		return i + 2
	case strings.HasPrefix(t[i:], ":="):
		return i // the = looks
	}
	return sc.assign(candidate{by: colon}, i, i+1)
}

// assigned looks for name=value around the = at i.
func (sc *scanner) assigned(i int) int {
	t, end := sc.text, i
	for end > 0 && i-end < 3 && strings.IndexByte("!<>~+*/%^|&-=:.?", t[end-1]) >= 0 {
		end--
	}
	next := i + 1
	for next < len(t) && next-i < 3 && (t[next] == '=' || t[next] == '>' && next == i+1) {
		next++
	}
	by := code
	switch op := t[end:next]; {
	case op == "=>":
		by = colon
	case op == "=" || op == "?=":
		by = tight
		if sc.is(end-1, blanks) || sc.is(next, blanks) {
			by = spaced
		}
	}
	return sc.assign(candidate{by: by}, end, next)
}

// given looks at the value at next whose name ends before end, unless that is of those families.
func (sc *scanner) given(by notation, but family, end, next int) int {
	c := candidate{by: by}
	sc.name(&c, end)
	if c.family&^but == 0 || by == tag && (c.keyStart == 0 || strings.IndexByte("<:", sc.text[c.keyStart-1]) < 0) {
		return 0
	}
	return sc.value(c, next)
}

// said looks for «the password is …» around the s at i.
func (sc *scanner) said(i int) int {
	t := sc.text
	if i < 3 || t[i-2:i] != " i" || i+1 == len(t) || t[i+1] != ' ' && t[i+1] != ':' {
		return 0
	}
	return sc.given(is, header, i-2, sc.run(i+1, 1, colons))
}

// dash looks for a private key, curl's credentials, name - "value" or a flag around the dash at i.
func (sc *scanner) dash(i int) int {
	t := sc.text
	switch {
	case strings.HasPrefix(t[i:], pemBegin):
		return sc.pem(i)
	case sc.is(i-1, blanks) && sc.is(i+1, blanks) && sc.is(i+2, quotes):
		return sc.given(is, header|faint, i, i+1) // as sure as a sentence
	case sc.is(i+1, letters) && (t[i+1] != 'u' || !sc.curl(i)) && sc.is(i-1, dashes) && (i < 2 || sc.is(i-2, openSpaces)):
		if end := sc.run(i+1, maxName, parts); sc.is(end, blanks) {
			return sc.given(flag, header, end, end)
		}
	}
	return 0
}

// curl has the credentials of curl -u user:password behind the first dash.
var curl = regexp.MustCompile(`^(?:u|user)[ =]*\\?["']?([^\s:"'$<{\\]*):([^\s"'$<{\\]*)`)

// curl looks for curl's credentials around the dash before the u at i.
func (sc *scanner) curl(i int) bool {
	if !strings.Contains(sc.text[max(0, i-2*maxOrdinary):i], "curl") {
		return false
	}
	m := curl.FindStringSubmatchIndex(sc.window(i+1, maxOrdinary))
	if m == nil || tokenLen(sc.text[i+1+m[2]:]) > 0 || tokenLen(sc.text[i+1+m[4]:]) > 0 {
		return false
	}
	start, end := i+1+m[4], i+1+m[5]
	if start == end { // an API key in the place of the user
		start, end = i+1+m[2], i+1+m[3]
	}
	if start == end || isPlaceholder(sc.text[start:end]) {
		return false
	}
	sc.found(start, end, password.kind())
	return true
}

// typed is a name before its type: var name string =, name: str =.
var typed = regexp.MustCompile(`([A-Za-z0-9_]+):?[ \t]\*?(?:string|String|str)$`)

// name reads the name that ends before end, and what it says.
func (sc *scanner) name(c *candidate, end int) {
	t := sc.text
	end = sc.back(end, 16, blanks)
	if end > 0 && t[end-1] == ']' {
		end--
		if size := sc.back(end, 8, digits); c.by&code == 0 && sc.is(size-1, brackets) { // of an array, as in key[25]
			end = size - 1
		}
	}
	if end > 0 && quotes[t[end-1]] {
		if t[end-1] == '"' {
			c.by |= json_
		}
		end = sc.back(end-1, maxName, slashes)
	}
	start := end
	if sc.is(end-1, idents) {
		start = sc.back(end, maxName, names)
	}
	switch t[start:end] {
	case "string", "String", "str":
		if m := typed.FindStringSubmatchIndex(t[max(0, start-maxName):end]); m != nil {
			start, end = max(0, start-maxName)+m[2], max(0, start-maxName)+m[3]
		}
	}
	c.keyStart, c.keyEnd = start, end
	c.family = familyOf(c.keyOf(t))
	if c.family == none && hasPrefixFold(t[start:], "key") && start > 1 && t[start-1] == ' ' {
		c.keyStart = sc.back(start-1, maxName, letters) // «api key», «secret key»
		c.family = familyOf(c.keyOf(t))
	}
}

func (c *candidate) keyOf(t string) string { return t[c.keyStart:c.keyEnd] }

// assign looks at the value at next whose name ends before end.
func (sc *scanner) assign(c candidate, end, next int) int {
	sc.name(&c, end)
	key := c.keyOf(sc.text)
	if c.family == none && c.by&code != 0 && sc.compared(end, next) {
		return next
	}
	if c.family == none && strings.EqualFold(key, "value") {
		c.family = sc.titled(c.keyStart)
	}
	if start := sc.run(next, 16, blanks); c.family == none && len(key) > 2 {
		if sc.is(start, openings) {
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

// title is what names a «value»: name: DB_PASSWORD, value: x, on one line or two.
var title = regexp.MustCompile(`(?i)(?:name|key)[ \t\\"']*[:=][ \t\\"']*([\w.-]+)[\s,;\\"']*$`)

// titled returns the family of what stands before the name «value» at i.
func (sc *scanner) titled(i int) family {
	if m := title.FindStringSubmatch(sc.text[max(0, i-2*maxName):i]); m != nil {
		return familyOf(m[1]) &^ header
	}
	return none
}

// literal is one that ends a text.
var literal = regexp.MustCompile("[\"'`]([^\"'`\n]{4,})[\"'`][ \t]*$")

// compared looks for "value" == name, whose literal ends before end and whose
// name begins at next.
func (sc *scanner) compared(end, next int) bool {
	name := sc.run(next, maxName, blanks)
	f := familyOf(sc.text[name:sc.run(name, maxName, names)]) &^ header
	if f == none {
		return false
	}
	from := max(0, end-maxOrdinary)
	m := literal.FindStringSubmatchIndex(sc.text[from:end])
	if m == nil {
		return false
	}
	v := sc.text[from+m[2] : from+m[3]]
	if !looksStrong(v) || isPlaceholder(v) || tokenLen(v) == len(v) {
		return false
	}
	sc.found(from+m[2], from+m[3], f.kind())
	return true
}

// value looks for the value of c that begins at i and returns where to go on.
func (sc *scanner) value(c candidate, i int) int {
	t := sc.text
	i = sc.run(i, maxOrdinary, blanks)
	if strings.HasPrefix(t[i:], `@"`) {
		i++ // a literal of C# or Objective-C
	}
	q := sc.run(i, 8, slashes)
	if c.by&tag == 0 && sc.is(q, quotes) {
		c.by |= lit
	}
	switch {
	case i == len(t):
		return i
	case c.by == lit|c.by&(tight|colon) && q == i && closesString(t, c.keyStart, i):
		return i + 1
	case c.by&lit != 0:
		c.start, c.end = q+1, sc.closing(q, q-i)
	case c.by&tag != 0:
		c.start, c.end = i, sc.run(i, unbounded, texts)
		if next := sc.run(c.end, maxName, spaces); next == len(t) || t[next] != '<' {
			return i
		}
	case c.family == keyed:
		c.start, c.end = i, sc.run(i, maxOrdinary+1, values)
		if c.end < len(t) && strings.IndexByte("([{:", t[c.end]) >= 0 {
			return i
		}
	default:
		c.start, c.end = i, i+bareEnd(t[i:])
		sc.work += c.end - i
		c.end = i + len(trimEnd(t[i:c.end]))
	}
	if strings.HasPrefix(t[c.start:], pemBegin) {
		return c.start
	}
	if c.family == header {
		sc.credential(&c)
	}
	c.text, c.v = t, t[c.start:c.end]
	long := len(c.v) > maxOrdinary
	if c.v == "" || long && (c.family == keyed || c.by&within != 0) || !long && isOrdinary(&c) {
		return c.start
	}
	end := sc.found(c.start, c.end, c.family.kind())
	if c.by == json_|colon && c.family != header {
		sc.spans[len(sc.spans)-1].quote = true // a JSON number: the text stays JSON
	}
	return end
}

// closing returns the end of the literal whose opening quote, behind so many backslashes,
// is at i. A literal that is not closed on its line ends with the line.
func (sc *scanner) closing(i, backslashes int) int {
	t, end, n := sc.text, i+1, 0 // n: the backslashes right before end
	for ; end < len(t) && t[end] != '\n'; end++ {
		if t[end] == '\\' {
			n++
			continue
		}
		if t[end] == t[i] && n <= backslashes {
			end -= n
			break
		}
		n = 0
	}
	sc.work += end - i
	return end
}

// closesString says whether the quote at i ends a string that holds the name at
// key ("password="+p) instead of beginning the value: one is open on the line,
// and what follows cannot stand in a value at its start.
func closesString(t string, key, i int) bool {
	if i+1 < len(t) && strings.IndexByte("+,;:.)]} \t\n", t[i+1]) < 0 {
		return false
	}
	line := t[max(0, key-maxOrdinary):key]
	return strings.Count(line[strings.LastIndexByte(line, '\n')+1:], t[i:i+1])%2 == 1
}

// bareEnd returns the length of the value without quotes that t begins with: up to the next
// space or quote, or a mark that begins the next assignment of a list of them.
func bareEnd(t string) int {
	for j := range len(t) {
		switch c := t[j]; {
		case spaces[c], quotes[c], c == '<' && j > 0,
			c == '\\' && j+1 < len(t) && strings.IndexByte(`nrt"'`, t[j+1]) >= 0,
			(c == '&' || c == ';' || c == ',') && next.MatchString(t[j+1:min(len(t), j+49)]):
			return j
		}
	}
	return len(t)
}

// next is the beginning of name= or name:, or the end.
var next = regexp.MustCompile(`^[\w. "\[\]-]{1,47}[=:]|^$`)

// trimEnd takes closing brackets and the punctuation of a sentence off a value.
func trimEnd(v string) string {
	n := tokenLen(v)
	return v[:n+len(strings.TrimRight(v[n:], ".,;:)]}"))]
}

// scheme is that of an Authorization header.
var scheme = regexp.MustCompile(`(?i)^(?:` + alternatives("$scheme") + `)[ \t]+`)

// credential looks for the credential of an Authorization header behind its scheme.
func (sc *scanner) credential(c *candidate) {
	t := sc.text
	n := len(scheme.FindString(sc.window(c.start, maxOrdinary)))
	c.start += n
	switch {
	case c.by&lit != 0:
		c.end = max(c.start, c.end)
		return
	case n == 0:
		c.family = secret
		return
	case hasPrefixFold(t[c.start-n:], "digest") || hasPrefixFold(t[c.start-n:], "aws4"):
		c.end = sc.run(c.start, unbounded, lines)
	default:
		c.end = c.start + bareEnd(t[c.start:])
		sc.work += c.end - c.start
	}
	c.end = c.start + len(trimEnd(t[c.start:c.end]))
}
