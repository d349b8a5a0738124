package redact

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
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
	arrow                       // name => value

	lit    // the value stands in quotes
	json_  // so does the name, in double ones
	within // password_of_prod: the name goes on behind what tells

	anyhow = lit - 1
)

var notations = strings.Fields("tight spaced colon code flag tag is arrow lit json within")

// candidate is a name that tells, and a value given to it.
type candidate struct {
	text                         string
	keyStart, keyEnd, start, end int
	by                           notation
	family                       family
}

func (c *candidate) keyText() string { return c.text[c.keyStart:c.keyEnd] }

func (c *candidate) value() string { return c.text[c.start:c.end] }

// test is what a row of a table can ask of a candidate. A token is one with its mark, and
// what stands before that, as the key.
type test func(c *candidate) bool

// tests are those besides expressions.
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

// allOf are the tests of a column, joined by &, whose expressions are about a text of the candidate,
// or behind an @ about its name.
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

// exception is a row of the table of exceptions.
type exception struct {
	secret bool
	family family
	by     notation // any of these
	also   notation // all of these
	holds  []test
}

// columns are the texts that a row's last columns are about: the value, what stands before
// the name, and what behind the value.
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

// setIn is the set of those names that a list has, of all but these behind a dash.
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

// isOrdinary says whether the value of c is something else than a secret: a placeholder, a
// word of a sentence, a type, an expression of a program.
func isOrdinary(c *candidate) bool {
	for _, e := range exceptions {
		if e.family&c.family != 0 && e.by&c.by != 0 && e.also&^c.by == 0 && c.holds(e.holds) {
			return !e.secret
		}
	}
	return true
}

// isUndrawn says whether the value is none that a name such as stripe_key makes a secret.
func isUndrawn(c *candidate) bool {
	key, v := c.keyText(), c.value()
	query := strings.EqualFold(key, "key") && c.keyStart > 0 && strings.IndexByte("?&", c.text[c.keyStart-1]) >= 0
	return c.by&(code|lit) == code || !consistsOf(v, values) ||
		!isKeyed(key, v) && !(query && strings.ToLower(v) == v && looksRandom(v, true, true))
}

var camel = regexp.MustCompile(`^([^0-9]*[a-z][^0-9]*[A-Z]|[^0-9]+[A-Z][^0-9]*[a-z])[^0-9]*[0-9]{0,4}$`)

// isOwnName recognises a variable by its name: act.pass = pass, key: testPrivateKey.
func isOwnName(c *candidate) bool {
	v, key := c.value(), c.keyText()
	own := len(key) >= len(v) && strings.EqualFold(key[len(key)-len(v):], v)
	return consistsOf(v, names) && familyOf(v) != none && (own || c.family != password && camel.MatchString(v))
}

// hasHeader says whether a token begins with the JSON of a header, as a JSON web token does.
func hasHeader(c *candidate) bool {
	head, _, _ := strings.Cut(c.value(), ".")
	b, err := base64.RawURLEncoding.DecodeString(head)
	return err == nil && json.Valid(b)
}
