package redact

import (
	_ "embed" // of the tables
	"math"
	"regexp"
	"slices"
	"strings"
)

// maxOrdinary is the length in bytes up to which a value can be found to be no secret. A
// longer one always counts as a secret, so that scanning stays linear.
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
	commandEnds = class("\n;&|")
)

// class returns the set of bytes that expr matches between the brackets of a regular
// expression. All bytes outside ASCII are in it, or none.
func class(expr string) *[256]bool {
	var set [256]bool
	in := regexp.MustCompile("[" + expr + "]")
	for c := range set {
		set[c] = in.MatchString(string([]byte{byte(c)}))
	}
	return &set
}

// length returns how many bytes at the beginning of s are in a set.
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

// escape matches the end of an escape sequence, behind which a word can begin though a letter
// or digit precedes it: \n, \u003d, %3D, or a terminal's colour, with its ESC stripped or encoded.
var escape = regexp.MustCompile(`(\\|%5[Cc])([nrt]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})$|%(25)?[0-9a-fA-F]{2}$|` +
	`(\[|%5B)[0-9;]*m$`)

// startsWord reports whether a word can begin at t[i].
func startsWord(t string, i int) bool {
	before := t[max(0, i-16):i]
	return before == "" || !isAlnum(t[i-1]) || strings.ContainsAny(before, `\%[`) && escape.MatchString(before)
}

// span is a secret found in a text: text[start:end].
type span struct {
	start, end int
	kind       string
	quote      string // put around the replacement
}

// wherever returns all occurrences of a value in a text.
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

// outside sorts spans, drops those inside an earlier replacement, and widens those that
// overlap one to cover it.
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

// tokenLen returns the length of the replacement that text begins with, or 0.
func tokenLen(text string) int {
	if strings.HasPrefix(text, tokenOpen) {
		if m := tokenForm.FindStringIndex(text[:min(len(text), 64)]); m != nil && m[0] == 0 {
			return m[1]
		}
	}
	return 0
}

var strong = regexp.MustCompile(`[A-Za-z].*[0-9!@#$%^&*?]|[0-9].*[A-Za-z]|^.+[!@#$%^&*?].*[A-Za-z]`)

// looksStrong reports whether a word of a sentence looks like a password: letters mixed with
// digits or punctuation.
func looksStrong(v string) bool { return len(v) >= 4 && !stopWord(v) && strong.MatchString(v) }

func stopWord(v string) bool {
	return len(v) <= 16 && slices.Contains(words["ordinary"], strings.ToLower(v))
}

// scheme matches the scheme of an Authorization header.
var scheme = regexp.MustCompile(`(?i)^(?:` + alternatives("$scheme") + `)[ \t]+`)

// placeholder matches what stands for a secret without being one: ${NAME}, $NAME, {{name}},
// <name>, [NAME], %s, ****, or a replacement.
var placeholder = regexp.MustCompile(`^(\$\{[^}]*\}?|\$\{\{.*|\$\(.*|\$[A-Z_][A-Z0-9_]*|\{\{.*|<.*>|[<{]|` +
	`%[A-Za-z]|\[[A-Z_]+\]|\*+|\.+|•+|[xX]{3,}|` + tokenForm.String() + `)$`)

func isPlaceholder(v string) bool {
	return len(v) <= maxOrdinary && strings.IndexByte("$%{<[*.\xe2xX", v[0]) >= 0 && placeholder.MatchString(v)
}

// isDummy reports whether v is an example token of a manual: one that the issuer publishes,
// one with a word such as «example» that does not look random, or one masked by x for the most part.
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
var drawn = regexp.MustCompile(`[0-9]+[A-Za-z]+[^0-9]*[0-9]`) // two numbers: a name has one at most

// looksRandom reports whether v has a part that looks random: at least 16 letters and digits
// of 3 bits of entropy per byte. UUIDs and hex count only if asked for, since ordinary texts
// are full of the ids of commits, files and requests.
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

// The tables: forms of tokens, name endings, word lists, and exceptions.
//
//go:embed formats.txt
var formatTable string

//go:embed endings.txt
var endingTable string

//go:embed words.txt
var wordTable string

//go:embed exceptions.txt
var exceptionTable string

// rows returns the columns of each row of a table, without empty lines and comments.
func rows(table string) (out [][]string) {
	for line := range strings.Lines(table) {
		if cols := strings.Fields(line); len(cols) > 0 && line[0] != '#' {
			out = append(out, cols)
		}
	}
	return out
}

// words are the lists of words.txt by name.
var words = func() map[string][]string {
	out := map[string][]string{}
	for _, col := range rows(wordTable) {
		out[col[0]] = append(out[col[0]], col[1:]...)
	}
	return out
}()

// alternatives returns a regular expression that matches any word of a list, given as $list.
func alternatives(name string) string {
	return strings.ReplaceAll(regexp.QuoteMeta(strings.Join(words[name[1:]], " ")), " ", "|")
}
