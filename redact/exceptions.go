package redact

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// notation is how a value is given to a name. Notations form sets.
type notation uint16

const (
	tight  notation = 1 << iota // name=value
	spaced                      // name = value
	colon                       // name: value
	code                        // :=, ==, !=: only a literal can be a secret
	flag                        // --name value
	tag                         // <name>value<
	is                          // name is value
	arrow                       // name => value

	lit    // the value is quoted
	json_  // the name is in double quotes
	within // password_of_prod: see familyWithin

	anyhow = lit - 1
)

var notations = strings.Fields("tight spaced colon code flag tag is arrow lit json within")

// candidate is a name in text, and the value given to it. A token is a candidate whose value
// is all of it, and whose name is its mark with the characters before.
type candidate struct {
	text                         string
	keyStart, keyEnd, start, end int
	by                           notation
	family                       family
}

func (c *candidate) keyText() string { return c.text[c.keyStart:c.keyEnd] }

func (c *candidate) value() string { return c.text[c.start:c.end] }

// test is a condition that a row of a table can ask of a candidate.
type test func(c *candidate) bool

// tests are the conditions by name. All others are regular expressions.
var tests = map[string]test{
	"<stand-in>": func(c *candidate) bool { return isPlaceholder(c.value()) },
	"<dummy>":    func(c *candidate) bool { return isDummy(c.value()) },
	"<dull>":     func(c *candidate) bool { return c.end-c.start >= 16 && entropy(c.value()) < 2.5 },
	"<weak>":     func(c *candidate) bool { return !looksStrong(c.value()) },
	"<random>":   func(c *candidate) bool { return looksRandom(c.value(), true, true) && consistsOf(c.value(), values) },
	"<undrawn>":  isUndrawn,
	"<name>":     isOwnName,
	"<alone>":    func(c *candidate) bool { return c.start == 0 || strings.IndexByte("_-./", c.text[c.start-1]) < 0 },
	"<varied>":   func(c *candidate) bool { return entropy(c.text[c.keyEnd:c.end]) >= 2.5 },
	"<drawn>":    func(c *candidate) bool { return entropy(c.text[c.keyEnd:c.end]) >= 3.5 },
	"<header>":   hasHeader,
}

// allOf returns the tests of a column, which are joined by &. An expression is matched against
// what text returns of the candidate, or behind an @ against its name.
func allOf(column string, text func(c *candidate) string) (out []test) {
	for expr := range strings.SplitSeq(column, "&") {
		text := text
		if name, ok := strings.CutPrefix(expr, "@"); ok {
			expr, text = name, (*candidate).keyText
		}
		if t := tests[expr]; t != nil {
			out = append(out, t)
		} else if expr != "-" {
			re := regexp.MustCompile(section.ReplaceAllStringFunc(expr, alternatives))
			out = append(out, func(c *candidate) bool { return re.MatchString(text(c)) })
		}
	}
	return out
}

func (c *candidate) holds(tests []test) bool {
	return !slices.ContainsFunc(tests, func(t test) bool { return !t(c) })
}

// exception is a row of exceptions.txt: a value that it matches is a secret, or is none.
type exception struct {
	secret bool
	family family
	by     notation // any of these
	also   notation // all of these
	holds  []test
}

// columns are the texts that a row's last columns match: the value, the 16 bytes before the
// name, and the 48 behind the value.
var columns = []func(c *candidate) string{
	(*candidate).value,
	func(c *candidate) string { return c.text[max(0, c.keyStart-16):c.keyStart] },
	func(c *candidate) string { return c.text[c.end:min(len(c.text), c.end+48)] },
}

var exceptions = func() (out []exception) {
	for _, col := range rows(exceptionTable) {
		e := exception{secret: col[0] == "secret", family: setIn[family](families, col[1])}
		e.by, e.also = setIn[notation](notations, col[2])&anyhow, setIn[notation](notations, col[3])
		for i, part := range col[4:] {
			e.holds = append(e.holds, allOf(part, columns[i])...)
		}
		out = append(out, e)
	}
	return out
}()

// setIn parses a list of names into a set. A list that begins with a dash is the complement.
func setIn[T ~uint8 | ~uint16](names []string, list string) (set T) {
	list, but := strings.CutPrefix(list, "-")
	for i, name := range names {
		if slices.Contains(strings.Split(list, ","), name) != but {
			set |= 1 << i
		}
	}
	return set
}

var section = regexp.MustCompile(`\$[a-z]+`)

// isOrdinary reports whether the value of c is no secret: a placeholder, a word of a
// sentence, a type, an expression of a program. The first exception that matches decides.
func isOrdinary(c *candidate) bool {
	for _, e := range exceptions {
		if e.family&c.family != 0 && e.by&c.by != 0 && e.also&^c.by == 0 && c.holds(e.holds) {
			return !e.secret
		}
	}
	return true
}

// isUndrawn reports whether the value is no secret though its name is keyed.
func isUndrawn(c *candidate) bool {
	key, v := c.keyText(), c.value()
	query := strings.EqualFold(key, "key") && c.keyStart > 0 && strings.IndexByte("?&", c.text[c.keyStart-1]) >= 0
	return c.by&(code|lit) == code || !consistsOf(v, values) ||
		!isKeyed(key, v) && !(query && strings.ToLower(v) == v && looksRandom(v, true, true))
}

var camel = regexp.MustCompile(`^([^0-9]*[a-z][^0-9]*[A-Z]|[^0-9]+[A-Z][^0-9]*[a-z])[^0-9]*[0-9]{0,4}$`)

// isOwnName reports whether the value is a variable: act.pass = pass, key: testPrivateKey.
func isOwnName(c *candidate) bool {
	v, key := c.value(), c.keyText()
	own := len(key) >= len(v) && strings.EqualFold(key[len(key)-len(v):], v)
	return consistsOf(v, names) && familyOf(v) != none && (own || c.family != password && camel.MatchString(v))
}

// hasHeader reports whether a token begins with JSON in base64, as a JSON web token does.
func hasHeader(c *candidate) bool {
	head, _, _ := strings.Cut(c.value(), ".")
	b, err := base64.RawURLEncoding.DecodeString(head)
	return err == nil && json.Valid(b)
}
