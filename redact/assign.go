package redact

import "strings"

// separator is what stands between a name and its value.
type separator uint8

const (
	tight  separator = iota // name=value
	spaced                  // name = value
	colon                   // name: value
	code                    // :=, ==, !=: only a literal can be a secret
	flag                    // --name value
	tag                     // <name>value<
	is                      // name is value
)

// assignment is a name that says secret, and how a value is given to it.
type assignment struct {
	keyStart  int
	keyEnd    int
	keyQuoted bool // in double quotes, as in JSON
	family    family
	sep       separator
}

// maxOrdinary bounds what is looked at to decide that a value is no secret; a
// longer value always counts as one. It keeps scanning linear.
const maxOrdinary = 256

// assign looks for name=value around the separator at i.
func (sc *scanner) assign(i int) int {
	t := sc.text
	a := assignment{sep: tight}
	next := i + 1
	switch {
	case t[i] == '>':
		return sc.tag(i)
	case t[i] == ':':
		a.sep = colon
		if next < len(t) && t[next] == ':' || i > 0 && t[i-1] == ':' {
			return next
		}
		if next < len(t) && t[next] == '=' {
			a.sep = code
			next++
		}
	default:
		if i > 0 && strings.IndexByte("!<>~+*/%^|&-=", t[i-1]) >= 0 {
			a.sep = code
		}
		if next < len(t) && t[next] == '=' {
			a.sep = code
			for next++; next < len(t) && t[next] == '=' && next-i < 3; {
				next++
			}
		} else if next < len(t) && t[next] == '>' {
			a.sep = colon
			next++
		}
	}
	end := i
	for end > 0 && i-end < 3 && strings.IndexByte(":.?", t[end-1]) >= 0 && t[i] == '=' {
		if end--; t[end] != '?' {
			a.sep = code // ::=, :::=, .=
		}
	}
	if end == i && a.sep == code && end > 0 && strings.IndexByte("!<>~+*/%^|&-=", t[end-1]) >= 0 {
		end-- // the first byte of != and its like
	}
	if !sc.name(&a, end) {
		if a.sep == code && sc.compared(end, next) {
			return next
		}
		if a.family = sc.named(a); a.family == none {
			if at := sc.keyed(a, next); at != next {
				return at
			}
			return sc.within(a, next)
		}
	}
	if a.sep == tight && (end > 0 && isBlank(t[end-1]) || next < len(t) && isBlank(t[next])) {
		a.sep = spaced
	}
	return sc.value(a, next)
}

// name reads the name that ends before end into a and says whether it names a
// secret.
func (sc *scanner) name(a *assignment, end int) bool {
	t := sc.text
	for n := 0; end > 0 && isBlank(t[end-1]) && n < 16; n++ {
		end--
	}
	if end > 0 && t[end-1] == ']' {
		end--
		for size := end; a.sep != code && size > 0 && end-size < 8; size-- { // of an array, as in key[25]
			if t[size-1] == '[' {
				end = size - 1
			} else if isDigit(t[size-1]) {
				continue
			}
			break
		}
	}
	if end > 0 && isQuote(t[end-1]) {
		a.keyQuoted = t[end-1] == '"'
		for end--; end > 0 && t[end-1] == '\\'; end-- {
		}
	}
	if end == 0 || !isIdent(t[end-1]) {
		return false
	}
	start := end
	for start > 0 && end-start < 64 && (isIdent(t[start-1]) || t[start-1] == '-' || t[start-1] == '.') {
		start--
	}
	if name := sc.typed(start, end); name > 0 {
		end = name
		for start = end; start > 0 && end-start < 64 && isIdent(t[start-1]); {
			start--
		}
	}
	a.keyStart, a.keyEnd = start, end
	a.family = familyOf(t[start:end])
	if a.family == none && hasPrefixFold(t[start:], "key") && start > 1 && t[start-1] == ' ' {
		for start--; start > 0 && end-start < 64 && isAlpha(t[start-1]); {
			start--
		}
		a.keyStart = start
		a.family = familyOf(t[start:end]) // «api key», «secret key»
	}
	return a.family != none
}

// typed returns the end of the name that stands before a type, as in
// «var name string =» and «name: string =», if t[start:end] is one; else 0.
func (sc *scanner) typed(start, end int) int {
	t := sc.text
	if end-start > len("*string") || start < 2 || !isBlank(t[start-1]) {
		return 0
	}
	switch t[start:end] {
	case "string", "String", "str":
	default:
		return 0
	}
	name := start - 1
	if t[name-1] == ':' {
		name--
	}
	if name == 0 || !isIdent(t[name-1]) {
		return 0
	}
	return name
}

// compared looks for "value" == name, whose literal ends before end and whose
// name begins at next.
func (sc *scanner) compared(end, next int) bool {
	t := sc.text
	for end > 0 && isBlank(t[end-1]) {
		end--
	}
	if end < 2 || !isQuote(t[end-1]) {
		return false
	}
	start := strings.LastIndexByte(t[max(0, end-1-maxOrdinary):end-1], t[end-1]) + max(0, end-1-maxOrdinary) + 1
	name := skipSpace(t, next)
	stop := name
	for stop < len(t) && stop-name < 64 && (isIdent(t[stop]) || t[stop] == '.') {
		stop++
	}
	f, v := familyOf(t[name:stop]), t[start:end-1]
	if start == 0 || f == none || f == header || v == "" || tokenLen(v) == len(v) || isPlaceholder(v) || !looksStrong(v) {
		return false
	}
	sc.found(start, end-1, f.kind())
	return true
}

// within looks for a strong literal at i under a name such as password_of_prod.
func (sc *scanner) within(a assignment, i int) int {
	t := sc.text
	start := i
	for n := 0; start < len(t) && isBlank(t[start]) && n < 16; n++ {
		start++
	}
	if start < len(t) && t[start] == '@' {
		start++
	}
	if start == len(t) || !isQuote(t[start]) || a.keyEnd == a.keyStart {
		return i
	}
	a.family = familyWithin(t[a.keyStart:a.keyEnd])
	end := strings.IndexByte(t[start+1:min(len(t), start+1+maxOrdinary)], t[start])
	if a.family == none || end < 0 {
		return i
	}
	if v := t[start+1 : start+1+end]; !looksStrong(v) || tokenLen(v) == len(v) || isPlaceholder(v) {
		return i
	}
	return sc.found(start+1, start+1+end, a.family.kind())
}

// named returns the family of the name that stands before a «value», as in
// name: DB_PASSWORD, value: x, on one line or two.
func (sc *scanner) named(a assignment) family {
	t := sc.text
	if a.keyEnd-a.keyStart != len("value") || !strings.EqualFold(t[a.keyStart:a.keyEnd], "value") {
		return none
	}
	back := func(i int, set string) int {
		for n := 0; i > 0 && n < 64 && strings.IndexByte(set, t[i-1]) >= 0; n++ {
			i--
		}
		return i
	}
	end := back(a.keyStart, " \t\r\n,;\\\"'")
	start := end
	for start > 0 && end-start < 64 && (isIdent(t[start-1]) || t[start-1] == '-' || t[start-1] == '.') {
		start--
	}
	sep := back(start, " \t\\\"'")
	if sep == 0 || t[sep-1] != ':' && t[sep-1] != '=' {
		return none
	}
	word := back(sep-1, " \t\\\"'")
	title := strings.ToLower(t[max(0, word-4):word])
	if title != "name" && !strings.HasSuffix(title, "key") {
		return none
	}
	if f := familyOf(t[start:end]); f != header {
		return f
	}
	return none
}

// tag looks for <name>value< around the > at i.
func (sc *scanner) tag(i int) int {
	t := sc.text
	start := i
	for start > 0 && i-start < 64 && (isIdent(t[start-1]) || strings.IndexByte("-.:", t[start-1]) >= 0) {
		start--
	}
	if start == 0 || t[start-1] != '<' {
		return i + 1
	}
	f := familyOf(t[start:i])
	if f == none || f == header {
		return i + 1
	}
	return sc.value(assignment{keyStart: start, family: f, sep: tag}, skipSpace(t, i+1))
}

// skipSpace returns the first place from i on that is no space, within 64 bytes.
func skipSpace(t string, i int) int {
	for n := 0; i < len(t) && isSpace(t[i]) && n < 64; n++ {
		i++
	}
	return i
}

// is looks for «the password is …» around the s at i.
func (sc *scanner) is(i int) int {
	t := sc.text
	if i+1 >= len(t) || (t[i+1] != ' ' && t[i+1] != ':') {
		return i + 1
	}
	a := assignment{sep: is}
	if !sc.name(&a, i-2) || a.family == header {
		return i + 1
	}
	next := i + 1
	if t[next] == ':' {
		next++
	}
	return sc.value(a, next)
}

// value looks for the value of a that begins at i and returns where to go on.
func (sc *scanner) value(a assignment, i int) int {
	t := sc.text
	for n := 0; i < len(t) && isBlank(t[i]) && n < 256; n++ {
		i++
	}
	if i == len(t) {
		return i
	}
	if t[i] == '@' && i+1 < len(t) && t[i+1] == '"' {
		i++ // a literal of C# or Objective-C
	}
	slashes := 0
	for i+slashes < len(t) && t[i+slashes] == '\\' && slashes < 8 {
		slashes++
	}
	if a.sep != tag && i+slashes < len(t) && isQuote(t[i+slashes]) {
		return sc.quoted(a, i+slashes, slashes)
	}
	if strings.HasPrefix(t[i:], pemBegin) {
		return i
	}
	if a.sep == code { // an expression, unless it looks drawn
		v := trimEnd(t[i:bareEnd(t[:min(len(t), i+maxOrdinary)], i, code)])
		if looksRandom(v, true, true) && run(v, 0, values) == len(v) || mismatched(v) {
			return sc.found(i, i+len(v), a.family.kind())
		}
		return i
	}
	if a.family == header {
		return sc.credential(a, i, -1)
	}
	return sc.bare(a, i)
}

// quoted handles a value whose opening quote, behind so many backslashes, is at
// i. A value that is not closed on its line ends with the line.
func (sc *scanner) quoted(a assignment, i, slashes int) int {
	t := sc.text
	q, start := t[i], i+1
	if a.sep == tight && slashes == 0 && closesString(t, a.keyStart, i) {
		return start
	}
	if strings.HasPrefix(t[start:], pemBegin) {
		return start
	}
	end, n := start, 0 // n: the backslashes right before end
	for ; end < len(t) && t[end] != '\n'; end++ {
		if t[end] == '\\' {
			n++
			continue
		}
		if t[end] == q && n <= slashes {
			end -= n
			break
		}
		n = 0
	}
	v := t[start:end]
	sc.work += len(v)
	if a.family == header {
		return sc.credential(a, start, end)
	}
	if v == "" || tokenLen(v) == len(v) || isPlaceholder(v) {
		return end
	}
	if a.family != password && (!hasAlnum(v) || a.sep == is && !looksStrong(v)) {
		return end
	}
	return sc.found(start, end, a.family.kind())
}

// closesString says whether the quote at i ends a string that holds the name at
// key ("password="+p) instead of beginning the value: one is open on the line,
// and what follows cannot stand in a value at its start.
func closesString(t string, key, i int) bool {
	if i+1 < len(t) && strings.IndexByte("+,;:.)]} \t\n", t[i+1]) < 0 {
		return false
	}
	open := false
	for j := key - 1; j >= 0 && key-j <= maxOrdinary && t[j] != '\n'; j-- {
		if t[j] == t[i] {
			open = !open
		}
	}
	return open
}

// bare handles a value without quotes that begins at i.
func (sc *scanner) bare(a assignment, i int) int {
	t := sc.text
	end := bareEnd(t, i, a.sep)
	sc.work += end - i
	v := t[i:end]
	if a.sep != tag {
		v = trimEnd(v)
	} else if next := skipSpace(t, end); next == len(t) || t[next] != '<' {
		return i
	}
	if v == "" {
		return i
	}
	if n := tokenLen(v); n > 0 && n == len(v) {
		return i + n
	}
	if sc.ordinary(a, v, t[i+len(v):]) {
		return i
	}
	end = sc.found(i, i+len(v), a.family.kind())
	if a.keyQuoted && a.sep == colon {
		sc.spans[len(sc.spans)-1].quote = true // a JSON number: the text stays JSON
	}
	return end
}

// bareEnd returns the end of the value that begins at i: the next space or
// quote, or a mark that begins the next assignment of a list of them.
func bareEnd(t string, i int, sep separator) int {
	for j := i; j < len(t); j++ {
		switch c := t[j]; {
		case sep == tag:
			if c == '<' || c == '\n' {
				return j
			}
		case isSpace(c), isQuote(c):
			return j
		case c == '<' && j > i:
			return j
		case c == '\\' && j+1 < len(t) && strings.IndexByte(`nrt"'`, t[j+1]) >= 0:
			return j
		case (c == '&' || c == ';' || c == ',') && startsAssignment(t[j+1:]):
			return j
		}
	}
	return len(t)
}

// startsAssignment says whether s begins with name= or name: or ends.
func startsAssignment(s string) bool {
	for j := 0; j < len(s) && j < 48; j++ {
		if !isIdent(s[j]) && strings.IndexByte("-. \"[]", s[j]) < 0 {
			return j > 0 && (s[j] == '=' || s[j] == ':')
		}
	}
	return s == ""
}

// trimEnd takes closing brackets and the punctuation of a sentence off a value.
func trimEnd(v string) string {
	if n := tokenLen(v); n > 0 {
		return v[:n+len(trimEnd(v[n:]))]
	}
	return strings.TrimRight(v, ".,;:)]}")
}

// credential handles the value of an Authorization header: an optional scheme,
// then what is secret, up to end, or, if that is negative, to the next space.
func (sc *scanner) credential(a assignment, i, end int) int {
	t := sc.text
	quoted := end >= 0
	if !quoted {
		end = bareEnd(t, i, a.sep)
	}
	first := i
	for first < len(t) && (isAlnum(t[first]) || t[first] == '-') && first-i < 32 {
		first++
	}
	scheme := t[i:first]
	if first < len(t) && isBlank(t[first]) && isScheme(scheme) {
		for i = first; i < len(t) && isBlank(t[i]); i++ {
		}
		switch {
		case quoted:
		case strings.EqualFold(scheme, "digest") || hasPrefixFold(scheme, "aws4"):
			for end = i; end < len(t) && t[end] != '\n' && t[end] != '\r'; end++ {
			}
		default:
			end = bareEnd(t, i, a.sep)
		}
	} else if !quoted {
		if isDigit(t[i]) && a.keyQuoted {
			return i
		}
		a.family = secret
		return sc.bare(a, i)
	}
	sc.work += max(i, end) - i
	v := t[i:max(i, end)]
	if !quoted {
		v = trimEnd(v)
	}
	if v == "" || tokenLen(v) == len(v) || isPlaceholder(v) || stopWord(v) {
		return max(i, first)
	}
	return sc.found(i, i+len(v), header.kind())
}

func isScheme(s string) bool { return schemes[strings.ToLower(s)] }
