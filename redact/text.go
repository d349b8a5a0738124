package redact

import (
	_ "embed" // of the tables
	"math"
	"regexp"
	"slices"
	"strings"
)

// maxOrdinary bounds what is looked at to decide that a value is no secret; a
// longer value always counts as one. It keeps scanning linear.
const maxOrdinary = 256

// Sets of bytes.
var (
	blanks      = class(" \t")
	spaces      = class(" \t\n\v\f\r")
	separators  = class(" \t\r\n,:")
	quotes      = class("\"'`")
	beforeFlag  = class("\"'`> \t\n\v\f\r")
	backslashes = class(`\\`)
	openings    = class("\"'`\\\\")
	operators   = class("!<>~+*/%^|&=:.?-")
	sizes       = class(`\[\]0-9`)
	idents      = class("A-Za-z0-9_")
	parts       = class("A-Za-z0-9_-")
	names       = class("A-Za-z0-9_.-")
	values      = class("A-Za-z0-9._~+/=%-")
	authorities = class("^ \t\n\v\f\r/?#\"'`<>\\\\")
	texts       = class("^<\n")
	lines       = class("^\r\n")
)

// class returns the set that the brackets of a regular expression stand for.
func class(expr string) *[256]bool {
	var set [256]bool
	in := regexp.MustCompile("[" + expr + "]")
	for c := range set {
		set[c] = in.MatchString(string([]byte{byte(c)})) // what is no ASCII is alike
	}
	return &set
}

// length is that of the bytes of a set with which s begins.
func length(s string, set *[256]bool) (n int) {
	for n < len(s) && set[s[n]] {
		n++
	}
	return n
}

func consistsOf(v string, set *[256]bool) bool { return length(v, set) == len(v) }

func isDigit(c byte) bool { return c-'0' < 10 }
func isAlpha(c byte) bool { return c|0x20-'a' < 26 }
func isAlnum(c byte) bool { return isDigit(c) || isAlpha(c) }

// escape is what can stand before a word though it ends with a letter or digit: \n, \u003d,
// %3D, the colour of a terminal, in a URL perhaps, or without its first byte, which cannot be seen.
var escape = regexp.MustCompile(`(\\|%5[Cc])([nrt]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})$|%(25)?[0-9a-fA-F]{2}$|` +
	`(\[|%5B)[0-9;]*m$`)

// startsWord says whether a word may begin at i.
func startsWord(t string, i int) bool {
	before := t[max(0, i-16):i]
	return before == "" || !isAlnum(t[i-1]) || strings.ContainsAny(before, `\%[`) && escape.MatchString(before)
}

// span is a secret found in a text: text[start:end].
type span struct {
	start, end int
	kind       string
	quote      string // of its own, which the replacement has to bring
}

// wherever returns the places where a value stands in a text.
func wherever(text, v, kind string) (spans []span) {
	for at := 0; ; at += len(v) {
		n := strings.Index(text[at:], v)
		if n < 0 {
			return spans
		}
		at += n
		spans = append(spans, span{start: at, end: at + len(v), kind: kind})
	}
}

// outside sorts spans, drops those within a replacement made earlier and widens those
// that cut one.
func outside(text string, spans []span) []span {
	if len(spans) == 0 {
		return nil
	}
	slices.SortStableFunc(spans, func(a, b span) int { return a.start - b.start })
	kept, tokens := spans[:0], tokenForm.FindAllStringIndex(text, -1)
	for _, sp := range spans {
		for len(tokens) > 0 && tokens[0][1] <= sp.start {
			tokens = tokens[1:]
		}
		inside := false
		for i := 0; i < len(tokens) && tokens[i][0] < sp.end; i++ {
			inside = inside || sp.start >= tokens[i][0] && sp.end <= tokens[i][1]
			sp.start, sp.end = min(sp.start, tokens[i][0]), max(sp.end, tokens[i][1])
		}
		if !inside {
			kept = append(kept, sp)
		}
	}
	return kept
}

// What replacements and private keys begin with.
const tokenOpen, pemBegin = "[REDACTED:", "-----BEGIN "

var tokenForm = regexp.MustCompile(`\[REDACTED:[a-z_]{1,32}(?::[0-9a-f]{8})?\]`)

// tokenLen is the length of the replacement that text starts with, or 0.
func tokenLen(text string) int {
	if strings.HasPrefix(text, tokenOpen) {
		if m := tokenForm.FindStringIndex(text[:min(len(text), 64)]); m != nil && m[0] == 0 {
			return m[1]
		}
	}
	return 0
}

var strong = regexp.MustCompile(`[A-Za-z].*[0-9!@#$%^&*?]|[0-9].*[A-Za-z]|^.+[!@#$%^&*?].*[A-Za-z]`)

// looksStrong says whether a word of a sentence looks like a secret: letters
// mixed with digits or with marks inside.
func looksStrong(v string) bool { return len(v) >= 4 && !stopWord(v) && strong.MatchString(v) }

func stopWord(v string) bool {
	return len(v) <= 16 && slices.Contains(words["ordinary"], strings.ToLower(v))
}

// scheme is that of an Authorization header.
var scheme = regexp.MustCompile(`(?i)^(?:` + alternatives("$scheme") + `)[ \t]+`)

// placeholder is what stands for a secret without being one: ${NAME}, $NAME, {{name}},
// <name>, [NAME], %s, ****, and what took the place of one.
var placeholder = regexp.MustCompile(`^(\$\{[^}]*\}?|\$\{\{.*|\$\(.*|\$[A-Z_][A-Z0-9_]*|\{\{.*|<.*>|[<{]|` +
	`%[A-Za-z]|\[[A-Z_]+\]|\*+|\.+|•+|[xX]{3,}|` + tokenForm.String() + `)$`)

func isPlaceholder(v string) bool {
	return len(v) <= maxOrdinary && strings.IndexByte("$%{<[*.\xe2xX", v[0]) >= 0 && placeholder.MatchString(v)
}

// isDummy recognises what stands in the place of a token in manuals: its issuer shows it to
// all, it says so and does not look drawn, or nearly all of it is masked.
func isDummy(v string) bool {
	lower := strings.ToLower(v)
	masked := strings.Count(lower, "x")
	return masked >= 10 && 4*masked >= 3*len(v) || len(v) < 48 && hasAny(lower, words["published"]) ||
		hasAny(lower, words["standin"]) && !looksRandom(v, true, true)
}

func hasAny(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
var hex = regexp.MustCompile(`^[0-9a-fA-F]*$`)
var drawn = regexp.MustCompile(`[0-9]+[A-Za-z]+[^0-9]*[0-9]`) // a name has one number at most

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
	return slices.ContainsFunc(strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune("-_.~%", r) }),
		func(part string) bool {
			return len(part) >= 16 && drawn.MatchString(part) && entropy(part) > 2.999 && (hexes || !hex.MatchString(part))
		})
}

// entropy returns the Shannon entropy of the bytes of s, in bits per byte.
func entropy(s string) (bits float64) {
	var counts [256]float64
	for i := range len(s) {
		counts[s[i]]++
	}
	for _, n := range counts {
		if n > 0 {
			bits -= n * math.Log2(n/float64(len(s)))
		}
	}
	return bits / float64(max(1, len(s)))
}

// The tables: the forms of tokens, and the words that tell secrets from other values.
//
//go:embed formats.txt
var formatTable string

//go:embed endings.txt
var endingTable string

//go:embed words.txt
var wordTable string

//go:embed exceptions.txt
var exceptionTable string

// rows returns the columns of each row of a table.
func rows(table string) (out [][]string) {
	for line := range strings.Lines(table) {
		if cols := strings.Fields(line); len(cols) > 0 && line[0] != '#' {
			out = append(out, cols)
		}
	}
	return out
}

// words are the lists of the table of words.
var words = func() map[string][]string {
	out := map[string][]string{}
	for _, col := range rows(wordTable) {
		out[col[0]] = append(out[col[0]], col[1:]...)
	}
	return out
}()

// alternatives is the expression for the words of a $list.
func alternatives(name string) string {
	return strings.ReplaceAll(regexp.QuoteMeta(strings.Join(words[name[1:]], " ")), " ", "|")
}
