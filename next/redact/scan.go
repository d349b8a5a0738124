package redact

import (
	"bytes"
	_ "embed" // of the table
	"encoding/base64"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// A rule looks at reach bytes from where it begins, and at longest where it matches all of them: a scan takes time
// linear in the length of the text.
const reach, longest = 320, 16 << 10

//go:embed forms.txt
var table string

// span is a secret in a text.
type span struct {
	start, end int
	kind       string
}

// form is a row of forms.txt.
type form struct {
	kind, check  string // no check: a token of an issuer
	begins       string
	rest, before *regexp.Regexp
	prose        bool // it is for prose only
}

// forms has the rows of forms.txt, grouped by the first two bytes that they begin with; begins has the index of a
// group by these bytes, 0 where nothing begins.
var forms, begins = func() (groups [][]*form, begins [1 << 16]uint16) {
	groups = [][]*form{nil}
	var names []string
	for line := range strings.Lines(table) {
		line = strings.NewReplacer(names...).Replace(strings.TrimSpace(line))
		if name, part, ok := strings.Cut(strings.TrimPrefix(line, "="), " "); ok && line[0] == '=' {
			names = append(names, "{"+name+"}", strings.TrimSpace(part))
			continue
		}
		col := strings.Fields(line)
		if len(col) == 0 || line[0] == '#' {
			continue
		}
		f := form{prose: line[0] == '?'}
		f.kind, f.check, _ = strings.Cut(strings.TrimPrefix(col[0], "?"), ":")
		if before, ok := strings.CutPrefix(col[1], "<"); ok {
			f.before, col = regexp.MustCompile("(?:"+before+")$"), col[1:]
		}
		last := len(col) - 1
		f.rest = regexp.MustCompile("^(?:" + col[last] + ")")
		for _, f.begins = range col[1:last] {
			row := f
			for _, b := range row.starts() {
				if begins[b] == 0 {
					begins[b] = uint16(len(groups))
					groups = append(groups, nil)
				}
				groups[begins[b]] = append(groups[begins[b]], &row)
			}
		}
	}
	for _, forms := range groups { // the longest first
		slices.SortStableFunc(forms, func(a, b *form) int { return len(b.begins) - len(a.begins) })
	}
	return groups, begins
}()

// pair is the number of two bytes of a text.
func pair(text string, i int) int { return int(text[i])<<8 | int(text[i+1]) }

// starts returns the pairs that a form can begin with; one that begins with one byte, with any second byte.
func (f *form) starts() (out []int) {
	for _, first := range []byte(f.begins[:1] + strings.ToUpper(f.begins[:1])) {
		for second := range 256 {
			two := string([]byte{first, byte(second)})
			if f.at(two, 0, f.begins[:min(2, len(f.begins))]) && !slices.Contains(out, pair(two, 0)) {
				out = append(out, pair(two, 0))
			}
		}
	}
	return out
}

// at reports whether a part of where the form begins stands at text[i:].
func (f *form) at(text string, i int, part string) bool {
	end := i + len(part)
	return end <= len(text) && (text[i:end] == part || f.check != "" && strings.EqualFold(text[i:end], part))
}

// scan returns the secrets of a text in the order in which their forms begin.
func scan(text string, prose bool) (spans []span) {
	tries, word := 0, 0 // of rows for a prose, for nothing, in the word that ends there
	for i := 0; i+1 < len(text); i++ {
		group := begins[pair(text, i)]
		if group == 0 {
			continue
		}
		for _, f := range forms[group] {
			if f.prose && !prose || !f.at(text, i, f.begins) {
				continue
			}
			if f.check != "" && i >= word {
				tries, word = 0, wordEnd(text, i)
			}
			if f.check != "" {
				if tries++; tries > maxTries {
					continue
				}
			}
			if sp, ok := f.find(text, i); ok {
				spans, tries = append(spans, sp), 0
				i = max(i, sp.end-1)
				break
			}
		}
	}
	return spans
}

// maxTries bounds the rows for a prose that look at one word for nothing, which may be one of password=password=….
// Tokens are found behind them, too.
const maxTries = 16

func wordEnd(text string, i int) int {
	window := text[i:min(len(text), i+longest)]
	if n := strings.IndexAny(window, " \t\n\"'`&;<>"); n >= 0 {
		return i + n
	}
	return i + len(window)
}

// find returns the secret of a form that begins at text[i:].
func (f *form) find(text string, i int) (sp span, ok bool) {
	if f.check == "" && f.before == nil && !apart(text[:i]) {
		return sp, false
	}
	from := i + len(f.begins)
	m := f.rest.FindStringSubmatchIndex(text[from:min(len(text), from+reach)])
	if m == nil {
		return sp, false
	}
	sp = span{i, from + m[1], f.kind}
	for g := 2; g < len(m); g += 2 {
		if m[g] >= 0 {
			sp.start, sp.end = from+m[g], from+m[g+1]
		}
	}
	if f.before != nil {
		from := max(0, i-reach/2)
		m := f.before.FindStringSubmatchIndex(text[from:i])
		if m == nil {
			return sp, false
		}
		if len(m) > 2 {
			sp.start, sp.end = from+m[2], from+m[3]
		} else if f.check == "" {
			sp.start = from + m[0]
		}
	}
	quoted := sp.start > 0 && strings.ContainsRune("\"'`", rune(text[sp.start-1]))
	if f.check != "" && !quoted {
		sp.end = sp.start + len(strings.TrimRight(text[sp.start:sp.end], `\.,)]}`))
	}
	if f.check != "" && strings.HasPrefix(text[sp.end:], "...") {
		return sp, false // it is cut
	}
	if v := text[sp.start:sp.end]; !fits(v, f.check) || f.check != "" && f.check != "header" && !quoted && code.MatchString(v) {
		return sp, false
	}
	if m[1] == reach { // it is longer than was looked at
		sp.end = from + len(f.rest.FindString(text[from:min(len(text), from+longest)]))
		for sp.end < len(text) && alnum(text[sp.end]) {
			sp.end++
		}
	}
	return sp, f.check != "" || (sp.end == len(text) || !alnum(text[sp.end])) && apart(text[:sp.start])
}

var (
	// masked matches a token of a manual, which may count up.
	masked = regexp.MustCompile(`(?i)x{5}|EXAMPLE$|abcdefg|ghijklm|mnopqrs|stuvwxy|1234567`)
	// stands matches what stands for a secret: a variable, a pattern, a mask or a mark.
	stands = regexp.MustCompile(`^(?:\$|[{<%(*/]|\[(?:secret |redacted:|[A-Z_]+\]?$)|\.+$)|(?i:x{5})|EXAMPLE$|(?:\.\.\.|…)$`)
	// code matches a name with a mark, or an expression, of a program.
	code = regexp.MustCompile(`^[A-Za-z_]\w*(?:[.\[(:]|->)|^[&*(\[{]`)
)

// fits reports whether a value passes a check of forms.txt.
func fits(v, check string) bool {
	if check == "" {
		return bits(v) >= 2.5 && !masked.MatchString(v)
	}
	if v == "" || stands.MatchString(v) || len(v) >= 8 && bits(v) < 2 {
		return false
	}
	letters, digits := strings.ToLower(v) != strings.ToUpper(v), strings.ContainsAny(v, "0123456789")
	marks := strings.ContainsAny(v, "!@#$%^&*?")
	switch check {
	case "basic":
		raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "="))
		return err == nil && utf8.Valid(raw) && bytes.IndexByte(raw, ':') > 0 // a word is none
	case "header":
		return letters && (digits || marks) && !strings.ContainsAny(v, "([{")
	case "strong":
		return letters && len(v) >= 4 && (digits || marks) || digits && len(v) >= 6
	case "marked":
		return marks
	case "random":
		return len(v) >= 10 && bits(v) >= 2.9 && !strings.ContainsAny(v, " \t,") && !strings.Contains(v, "//") && drawn(v)
	}
	return true
}

// drawn reports whether a part of a value has letters and digits, or many digits: a name with a version has none.
func drawn(v string) bool {
	for part := range strings.FieldsFuncSeq(v, func(r rune) bool { return r > 127 || !alnum(byte(r)) }) {
		n := len(strings.Trim(part, "0123456789"))
		digits := strings.ContainsAny(part, "0123456789")
		if digits && (n > 0 && len(part) >= 8 || n == 0 && len(part) >= 20) {
			return true
		}
	}
	return false
}

// apart reports whether a token can begin behind a text: not in a word, or behind an escape such as \n or %3D.
func apart(text string) bool {
	n := len(text)
	return n == 0 || !alnum(text[n-1]) && text[n-1] != '.' ||
		n > 1 && text[n-2] == '\\' && strings.IndexByte("nrt", text[n-1]) >= 0 || n > 2 && text[n-3] == '%'
}

func alnum(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// bits is the Shannon entropy of the beginning of a text, in bits a byte. Examples of manuals have little.
func bits(text string) (sum float64) {
	var counts [256]float64
	text = text[:min(len(text), 256)]
	for _, c := range []byte(text) {
		counts[c] += 1 / float64(len(text))
	}
	for _, p := range counts {
		if p > 0 {
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
