package redact

import "strings"

// ordinary says whether v, an unquoted value given to the name of a, followed
// by rest, is something else than a secret: a placeholder, a word of a
// sentence, a type, an expression of a program. Values longer than maxOrdinary
// never are.
func (sc *scanner) ordinary(a assignment, v, rest string) bool {
	if len(v) > maxOrdinary {
		return false
	}
	if isPlaceholder(v) || stopWord(v) || v[0] == '<' && strings.IndexByte(rest[:min(len(rest), 48)], '>') >= 0 {
		return true
	}
	if a.sep == tag {
		return strings.TrimSpace(v) == ""
	}
	switch {
	case a.family == faint && (a.sep == colon || a.sep == spaced || a.sep == is):
		return true
	case a.family == short && strings.IndexByte("/~.", v[0]) >= 0:
		return true
	}
	sh := shapeOf(v)
	if a.sep == is {
		return !looksStrong(v)
	}
	if a.sep == colon && a.keyStart > 0 && sc.text[a.keyStart-1] == ':' {
		return true // one of a row of names: group:password:id
	}
	if isCode(a.sep, v, sh) || sc.isOwnName(a, v, sh) || (sh.letters == len(v) && sc.afterComplaint(a.keyStart)) {
		return true
	}
	if a.family != password && (strings.HasPrefix(v, "https://") || strings.HasPrefix(v, "http://") || strings.HasPrefix(v, "0x") && len(v) <= 10) {
		return true
	}
	if a.family == password {
		return sh.letters == len(v) && closesCode(rest)
	}
	if a.keyQuoted && a.sep == colon {
		return sh.digits == 0 // a number in JSON
	}
	if sh.letters == 0 {
		return sh.digits < 6 || sh.digits < len(v)
	}
	if a.sep == tight || a.sep == flag {
		return false
	}
	if sh.digits > 0 && sh.others == 0 {
		return len(v) < 6
	}
	if sh.others > 0 && len(v) >= 8 {
		return false
	}
	return a.family == weak || len(v) < 4 || !(rest == "" || rest[0] == '\n' || rest[0] == '\r') || sc.inSentence(a.keyStart)
}

// shape counts the bytes of a value: letters, digits, the rest of what names
// are made of (_ - .), and others.
type shape struct{ letters, digits, joins, others int }

func shapeOf(v string) (s shape) {
	for i := range len(v) {
		switch c := v[i]; {
		case isAlpha(c):
			s.letters++
		case isDigit(c):
			s.digits++
		case c == '_' || c == '-' || c == '.':
			s.joins++
		default:
			s.others++
		}
	}
	return s
}

func hasAlnum(v string) bool {
	for i := range len(v) {
		if isAlnum(v[i]) || v[i] >= 0x80 {
			return true
		}
	}
	return false
}

// looksStrong says whether a word of a sentence looks like a secret: letters
// mixed with digits or with marks inside.
func looksStrong(v string) bool {
	sh := shapeOf(v)
	if len(v) < 4 || stopWord(v) {
		return false
	}
	return sh.letters > 0 && sh.digits > 0 || sh.letters > 0 && strings.ContainsAny(v[1:], "!@#$%^&*?")
}

// isPlaceholder recognises what stands for a secret without being one:
// ${NAME}, $NAME, {{name}}, <name>, %s, ****.
func isPlaceholder(v string) bool {
	switch {
	case len(v) > maxOrdinary:
		return false
	case strings.HasPrefix(v, "${"):
		i := strings.IndexByte(v, '}') // cut off with other closing brackets, or last
		return i < 0 || i == len(v)-1 || strings.HasPrefix(v, "${{")
	case strings.HasPrefix(v, "$("):
		return true
	case v[0] == '$' && len(v) > 1:
		return strings.Trim(v[1:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" && !isDigit(v[1])
	case strings.HasPrefix(v, "{{"), v[0] == '<' && v[len(v)-1] == '>':
		return true
	case v == "<" || v == "{":
		return true
	case v[0] == '%' && len(v) == 2:
		return isAlpha(v[1])
	}
	return strings.Trim(v, "*") == "" || strings.Trim(v, ".") == "" || strings.Trim(v, "•") == "" || (len(v) >= 3 && strings.Trim(v, "xX") == "")
}

// isMask recognises a token of which nearly all is masked, as in manuals.
func isMask(v string) bool {
	masked, drawn := 0, 0
	for i := range len(v) {
		if c := v[i]; c|0x20 == 'x' {
			masked++
		} else if isAlnum(c) {
			drawn++
		}
	}
	return masked >= 10 && masked >= 3*drawn
}

// isCode recognises expressions of a program: calls, indexing, literals of
// composite types, and fields of well-known roots.
func isCode(sep separator, v string, sh shape) bool {
	if mismatched(v) {
		return false
	}
	if strings.IndexByte("{[(&*|", v[0]) >= 0 && sh.digits == 0 || strings.HasPrefix(v, "[]") || v == "//" {
		return true
	}
	n := 0
	for n < len(v) && (isIdent(v[n]) || v[n] == '.') {
		n++
	}
	if n > 0 && n < len(v) && isAlpha(v[0]) && (sep != tight || !hasDigit(v[:n])) && (v[n] == '(' || v[n] == '[' || v[n] == '{') {
		return true
	}
	root, field, ok := strings.Cut(v, ".")
	if !ok || sh.others > 0 || sh.digits > 0 {
		return false
	}
	return roots[root] || familyOf(field) != none
}

// mismatched says whether a bracket closes in v that did not open: no part of a
// program that begins with v is like that.
func mismatched(v string) bool {
	var open [16]byte
	n := 0
	for i := range len(v) {
		switch c := v[i]; c {
		case '(', '[', '{':
			if n == len(open) {
				return false
			}
			open[n] = c
			n++
		case ')', ']', '}':
			if n == 0 || open[n-1] != c-1 && open[n-1] != c-2 {
				return true
			}
			n--
		}
	}
	return false
}

// isOwnName recognises a variable by its name: act.pass = pass, key: testPrivateKey.
func (sc *scanner) isOwnName(a assignment, v string, sh shape) bool {
	if a.sep == tight || a.sep == flag || sh.others > 0 || familyOf(v) == none {
		return false
	}
	key := sc.text[a.keyStart:a.keyEnd]
	if len(key) >= len(v) && strings.EqualFold(key[len(key)-len(v):], v) {
		return true
	}
	hasCapital := strings.ToLower(v[1:]) != v[1:] && strings.ToUpper(v) != v
	return a.family != password && hasCapital && sh.digits <= 4
}

// closesCode says whether what follows a value ends a field or an argument in a
// program: a comma at the end of the line, a bracket, a semicolon.
func closesCode(rest string) bool {
	if rest == "" {
		return false
	}
	switch rest[0] {
	case ')', '}', ']':
		return true
	case ',', ';':
		return len(rest) == 1 || rest[1] == '\n'
	}
	return false
}

// afterComplaint says whether the word before the name at i is of a message
// about it («invalid password: too short»).
func (sc *scanner) afterComplaint(i int) bool {
	return complaints[strings.ToLower(sc.wordBefore(i))]
}

// inSentence says whether a word stands right before the name at i.
func (sc *scanner) inSentence(i int) bool { return sc.wordBefore(i) != "" }

func (sc *scanner) wordBefore(i int) string {
	t := sc.text
	if i == 0 || t[i-1] != ' ' {
		return ""
	}
	end := i - 1
	start := end
	for start > 0 && end-start < 16 && isAlpha(t[start-1]) {
		start--
	}
	return t[start:end]
}

func stopWord(v string) bool {
	if len(v) > 16 {
		return false
	}
	var buf [16]byte
	for i := range len(v) {
		c := v[i]
		if c-'A' < 26 {
			c |= 0x20
		}
		buf[i] = c
	}
	return stopWords[string(buf[:len(v)])]
}
