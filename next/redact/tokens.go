package redact

import (
	_ "embed" // of the table
	"math"
	"regexp"
	"slices"
	"strings"
)

//go:embed forms.txt
var table string

// form is a form of token: what it begins with, an expression for the rest, and for a few one for what is before.
type form struct {
	kind, begins string
	rest, before *regexp.Regexp
	proseOnly    bool
}

// tokenForms are the rows of forms.txt by the first two bytes of a token, those that begin longest first.
var tokenForms = func() map[[2]byte][]form {
	out := map[[2]byte][]form{}
	for line := range strings.Lines(table) {
		col := strings.Fields(line)
		if len(col) == 0 || line[0] == '#' {
			continue
		}
		f := form{kind: strings.TrimPrefix(col[0], "?"), proseOnly: col[0][0] == '?'}
		last := len(col) - 1
		f.rest = regexp.MustCompile("^(?:" + col[last] + ")")
		if before, ok := strings.CutPrefix(col[1], "<"); ok {
			f.before, col = regexp.MustCompile("(?:"+before+")$"), col[1:]
			last--
		}
		for _, f.begins = range col[1:last] {
			at := [2]byte{f.begins[0], f.begins[1]}
			out[at] = append(out[at], f)
		}
	}
	for _, forms := range out {
		slices.SortStableFunc(forms, func(a, b form) int { return len(b.begins) - len(a.begins) })
	}
	return out
}()

// begins says of each two bytes whether a token can begin with them.
var begins = func() (set [1 << 16]bool) {
	for two := range tokenForms {
		set[int(two[0])<<8|int(two[1])] = true
	}
	return set
}()

// masked matches a token of a manual.
var masked = regexp.MustCompile(`(?i)x{5}|EXAMPLE$`)

// longest is the most of a text that an expression for a token is tried on.
const longest = 4096

// token finds the token that begins at text[i:].
func token(spans []span, text string, i int, prose bool) []span {
	for _, f := range tokenForms[[2]byte{text[i], text[i+1]}] {
		if f.proseOnly && !prose || !strings.HasPrefix(text[i:], f.begins) {
			continue
		}
		start, end := i, i+len(f.begins)
		if f.before != nil {
			m := f.before.FindStringIndex(text[max(0, i-64):i])
			if m == nil {
				continue
			}
			start = max(0, i-64) + m[0]
		}
		n := len(f.rest.FindString(text[end:min(len(text), end+longest)]))
		end += n
		for n == longest && end < len(text) && is(text[end], alnum) {
			end++
		}
		if n == 0 || end < len(text) && is(text[end], alnum) || start > 0 && !apart(text[:start]) {
			continue
		}
		if t := text[start:end]; bits(t[len(f.begins):]) >= 2.5 && !masked.MatchString(t) {
			return append(spans, span{start, end, f.kind})
		}
	}
	return spans
}

// apart reports whether a token can begin behind a text: not in a word, or behind an escape such as \n or %3D.
func apart(text string) bool {
	n := len(text)
	return !is(text[n-1], alnum) && text[n-1] != '.' ||
		n > 1 && text[n-2] == '\\' && strings.IndexByte("nrt", text[n-1]) >= 0 || n > 2 && text[n-3] == '%'
}

// bits is the Shannon entropy of a text in bits a byte. Examples of manuals, such as xxxxxxxx, have little.
func bits(text string) (sum float64) {
	var counts [256]int
	text = text[:min(len(text), 256)]
	for i := range len(text) {
		counts[text[i]]++
	}
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(text))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
