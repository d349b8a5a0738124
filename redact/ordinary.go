package redact

import (
	"regexp"
	"slices"
	"strings"
)

// exception is a row of the table of exceptions.
type exception struct {
	secret bool
	family family
	by     notation // any of these
	also   notation // all of these
	holds  []func(c *candidate) bool
}

// also are the notations that a row asks for besides others.
const also = lit | json_ | within

var exceptions = func() (out []exception) {
	notations := bits[notation]("tight spaced colon code flag tag is lit json within")
	notations["*"] = anyhow
	functions := map[string]func(c *candidate) bool{
		"<placeholder>": func(c *candidate) bool { return tokenLen(c.v) == len(c.v) || isPlaceholder(c.v) },
		"<dummy>":       func(c *candidate) bool { return isDummy(c.v) },
		"<dull>":        func(c *candidate) bool { return len(c.v) >= 16 && entropy(c.v) < 2.3 },
		"<weak>":        func(c *candidate) bool { return !looksStrong(c.v) },
		"<random>":      func(c *candidate) bool { return looksRandom(c.v, true, true) && consistsOf(c.v, values) },
		"<undrawn>":     isUndrawn,
		"<name>":        isOwnName,
	}
	parts := []func(c *candidate) string{
		func(c *candidate) string { return c.v },
		func(c *candidate) string { return c.text[max(0, c.keyStart-16):c.keyStart] },
		func(c *candidate) string { return c.text[c.end:min(len(c.text), c.end+48)] },
	}
	for line := range strings.Lines(exceptionTable) {
		col := strings.Fields(line)
		if line[0] == '#' {
			continue
		}
		e := exception{secret: col[0] == "secret"}
		list, but := strings.CutPrefix(col[1], "-")
		if e.family = families[list]; but {
			e.family = ^e.family
		}
		list, but = strings.CutPrefix(col[2], "-")
		for name := range strings.SplitSeq(list, ",") {
			e.by |= notations[name]
		}
		if e.by, e.also = e.by&^also, e.by&also; e.by == 0 || but {
			e.by = anyhow &^ e.by
		}
		for i, part := range col[3:] {
			for expr := range strings.SplitSeq(part, "&") {
				if f := functions[expr]; f != nil {
					e.holds = append(e.holds, f)
				} else if expr != "-" {
					re := regexp.MustCompile(section_.ReplaceAllStringFunc(expr, alternatives))
					e.holds = append(e.holds, func(c *candidate) bool { return re.MatchString(parts[i](c)) })
				}
			}
		}
		out = append(out, e)
	}
	return out
}()

var section_ = regexp.MustCompile(`\$[a-z]+`)

// alternatives is the expression for the words of a $section.
func alternatives(name string) string {
	words := slices.Clone(sections[name[1:]][0].words)
	for i := range words {
		words[i] = regexp.QuoteMeta(words[i])
	}
	return strings.Join(words, "|")
}

// isOrdinary says whether the value of c is something else than a secret: a placeholder, a
// word of a sentence, a type, an expression of a program.
func isOrdinary(c *candidate) bool {
	for _, e := range exceptions {
		if e.family&c.family != 0 && e.by&c.by != 0 && e.also&^c.by == 0 &&
			!slices.ContainsFunc(e.holds, func(holds func(*candidate) bool) bool { return !holds(c) }) {
			return !e.secret
		}
	}
	return true
}

var strong = regexp.MustCompile(`[A-Za-z].*[0-9!@#$%^&*?]|[0-9].*[A-Za-z]|^.+[!@#$%^&*?].*[A-Za-z]`)

// looksStrong says whether a word of a sentence looks like a secret: letters
// mixed with digits or with marks inside.
func looksStrong(v string) bool { return len(v) >= 4 && !stopWord(v) && strong.MatchString(v) }

// placeholder is what stands for a secret without being one: ${NAME}, $NAME, {{name}},
// <name>, %s, ****.
var placeholder = regexp.MustCompile(`^(\$\{[^}]*\}?|\$\{\{.*|\$\(.*|\$[A-Z_][A-Z0-9_]*|\{\{.*|<.*>|[<{]|` +
	`%[A-Za-z]|\*+|\.+|•+|[xX]{3,})$`)

func isPlaceholder(v string) bool {
	return len(v) <= maxOrdinary && strings.IndexByte("$%{<*.\xe2xX", v[0]) >= 0 && placeholder.MatchString(v)
}

// isDummy recognises what stands in the place of a token in manuals: it says so and does not
// look drawn, or nearly all of it is masked.
func isDummy(v string) bool {
	lower := strings.ToLower(v)
	masked := strings.Count(lower, "x")
	return masked >= 10 && 4*masked >= 3*len(v) || hasAny(lower, standIns) && !looksRandom(v, true, true)
}

// isUndrawn says whether the value is none that a name such as stripe_key makes a secret.
func isUndrawn(c *candidate) bool {
	key := c.keyOf(c.text)
	query := strings.EqualFold(key, "key") && c.keyStart > 0 && strings.IndexByte("?&", c.text[c.keyStart-1]) >= 0
	return c.by&(code|lit) == code || !consistsOf(c.v, values) ||
		!isKeyed(key, c.v) && !(query && strings.ToLower(c.v) == c.v && looksRandom(c.v, true, true))
}

func consistsOf(v string, set *[256]bool) bool { return length(v, set) == len(v) }

var (
	uuid  = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	hex   = regexp.MustCompile(`^[0-9a-fA-F]*$`)
	drawn = regexp.MustCompile(`[0-9]+[A-Za-z]+[^0-9]*[0-9]`) // a name has one number at most
)

// looksRandom says whether v has a part that looks drawn at random: long, of
// letters and digits, with entropy. Hex and UUIDs only count if asked for, as
// ordinary texts are full of those of commits, files and requests.
func looksRandom(v string, uuids, hexes bool) bool {
	if uuids && uuid.MatchString(v) {
		return true
	}
	if strings.IndexByte(v, '/') >= 0 && (strings.ToLower(v) == v || v[0] == '/' || v[0] == '.') {
		return false // a path
	}
	for _, part := range strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune("-_.~%", r) }) {
		if len(part) >= 16 && drawn.MatchString(part) && entropy(part) > 2.999 &&
			(hexes || !hex.MatchString(part)) {
			return true
		}
	}
	return false
}

var camel = regexp.MustCompile(`^[^0-9]*[a-z][^0-9]*[A-Z][^0-9]*[0-9]{0,4}$|^[^0-9]+[A-Z][^0-9]*[a-z][^0-9]*[0-9]{0,4}$`)

// isOwnName recognises a variable by its name: act.pass = pass, key: testPrivateKey.
func isOwnName(c *candidate) bool {
	v, key := c.v, c.keyOf(c.text)
	if !consistsOf(v, names) || familyOf(v) == none {
		return false
	}
	own := len(key) >= len(v) && strings.EqualFold(key[len(key)-len(v):], v)
	return own || c.family != password && camel.MatchString(v)
}

func stopWord(v string) bool { return len(v) <= 16 && stopWords[strings.ToLower(v)] }
