package redact

import (
	_ "embed" // of the table
	"math"
	"regexp"
	"slices"
	"strings"
)

// A row looks at reach bytes behind what it begins with, and at longest where its match goes on there: a scan
// takes time linear in the length of the text. After maxLooks rows of a word that found nothing, as in
// key=key=key=…, a row for a prose looks at short bytes.
const reach, short, longest, maxLooks = 320, 32, 16 << 10, 16

//go:embed forms.txt
var table string

// form is a row of forms.txt, for one of what it begins with.
type form struct {
	kind, check, begins string // no check: a token of an issuer
	before, after       *regexp.Regexp
	prose               bool // it is for prose only
}

// forms has the rows of forms.txt, in their order, by the lower of the first two bytes that they begin with.
var forms = func() (forms [256][256][]*form) {
	var parts []string
	for line := range strings.Lines(table) {
		col := strings.Fields(strings.NewReplacer(parts...).Replace(line))
		if len(col) == 0 || col[0] == "#" {
			continue
		}
		if name, ok := strings.CutPrefix(col[0], "="); ok {
			parts = append(parts, "{"+name+"}", strings.Join(col[1:], " "))
			continue
		}
		f := form{prose: line[0] == '?'}
		f.kind, f.check, _ = strings.Cut(strings.TrimPrefix(col[0], "?"), ":")
		if before, ok := strings.CutPrefix(col[1], "<"); ok {
			f.before, col = regexp.MustCompile("(?:"+before+")$"), col[1:]
		}
		last := len(col) - 1
		f.after = regexp.MustCompile("^(?:" + col[last] + ")")
		for _, f.begins = range col[1:last] {
			row, first := f, lower(f.begins[0])
			for second := range 256 { // behind a single byte, any
				if len(f.begins) == 1 || second == int(lower(f.begins[1])) {
					forms[first][second] = append(forms[first][second], &row)
				}
			}
		}
	}
	return forms
}()

// lower makes lower-case letters of upper-case ones, and whatever of other bytes.
func lower(c byte) byte { return c | 0x20 }

// scan returns a text with marks in the place of declared values and of what the forms find, and what these
// found, as it is seen, each with its mark. At each place the first row of forms.txt that finds something
// decides, and the scan goes on behind that.
func (s *sanitizer) scan(text string, prose bool) (clean string, marks []string) {
	if s.declared != nil {
		text = s.declared.Replace(text)
	}
	var b strings.Builder
	done, looks := 0, 0 // bytes of text that b has; rows that found nothing since the last space
	for i := 0; i+1 < len(text); i++ {
		if text[i] <= ' ' {
			looks = 0
		}
		for _, f := range forms[lower(text[i])][lower(text[i+1])] {
			if f.prose && !prose || !f.at(text[i:]) {
				continue
			}
			reach := reach
			if f.check != "" && looks > maxLooks {
				reach = short
			}
			start, end := f.find(text, i, done, reach)
			if start >= end {
				looks++
				continue
			}
			if f.kind != "mark" && !slices.Contains(s.o.Allow, text[start:end]) {
				mark := "[redacted:" + f.kind + "]"
				b.WriteString(text[done:start] + mark)
				if seen := visible(text[start:end]); len(seen) >= minSecret {
					marks = append(marks, seen, mark)
				}
				done = end
			}
			i = max(i, end-1)
			break
		}
	}
	return b.String() + text[done:], marks // the text itself, where it has none
}

// at reports whether a text begins as the form does.
func (f *form) at(text string) bool {
	n := len(f.begins)
	return n <= len(text) && lower(text[n-1]) == lower(f.begins[n-1]) && // most texts end here
		(text[:n] == f.begins || f.check != "" && strings.EqualFold(text[:n], f.begins))
}

// find returns where the secret of a form is that begins at text[i:], by reach bytes; an empty range: none.
//
// What stands behind the beginning has to match, and what stands before it, where the form says so. A group
// of either is the secret, or else all of it; so it may lie before what the form begins with, as a password
// before the @ of an address. It has to pass the form's check, and to be no expression of a program. A match
// as long as the first look is followed to its end, since what is left of a long key is a key still. And a
// token stands apart: no word goes on before or behind it.
func (f *form) find(text string, i, done, reach int) (start, end int) {
	token := f.check == ""
	if token && f.before == nil && i > done && !apart.MatchString(text[max(0, i-3):i]) {
		return 0, 0
	}
	to := i + len(f.begins)
	after := f.after.FindStringSubmatchIndex(text[to:min(len(text), to+reach)])
	if after == nil {
		return 0, 0
	}
	group := 0 // index in after of the group that matches
	start, end = i, to+after[1]
	for g := 2; g < len(after); g += 2 {
		if after[g] >= 0 {
			group, start, end = g, to+after[g], to+after[g+1]
		}
	}
	if f.before != nil {
		from := max(0, i-reach/2)
		before := f.before.FindStringSubmatchIndex(text[from:i])
		switch {
		case before == nil:
			return 0, 0
		case len(before) > 2 && token: // which the beginning divides
			start = from + before[2]
		case len(before) > 2:
			start, end = from+before[2], from+before[3]
		}
	}
	quoted := start > 0 && strings.IndexByte("\"'`", text[start-1]) >= 0
	bare := !quoted && !token && f.check != "header"
	if v := text[start:end]; !fits(v, f.check) || bare && code.MatchString(v) {
		return 0, 0
	}
	if after[1] == reach { // the match goes on
		if after = f.after.FindStringSubmatchIndex(text[to:min(len(text), to+longest)]); after != nil {
			end = max(end, to+after[group+1])
		}
		for end < len(text) && alnum(text[end]) {
			end++
		}
	}
	goesOn := end < len(text) && alnum(text[end-1]) && alnum(text[end])
	if token && (goesOn || start > done && !apart.MatchString(text[max(0, start-3):start])) {
		return 0, 0
	}
	return max(start, done), end
}

var (
	// apart matches what a token can begin behind: no word, but an escape such as \n or %3D.
	apart = regexp.MustCompile(`(?:^|[^A-Za-z0-9.]|\\[nrt]|%..)$`)
	// masked matches a token of a manual. One that counts up is a token: it may be somebody's canary.
	masked = regexp.MustCompile(`(?i)x{5}|EXAMPLE$`)
	// stands matches what stands for a secret: a variable, a pattern, a mask or a mark.
	stands = regexp.MustCompile(
		`^(?:\$|[{<%(*/]|\[(?:secret |redacted:|[A-Z_]+\]?$)|\.+$)|(?i:x{5})|EXAMPLE$|(?:\.\.\.|…)$`)
	// code matches a name with a mark, a constant, or an expression, of a program.
	code = regexp.MustCompile(`^[A-Za-z_]\w*(?:[.\[(:]|->)|^[&*(\[{]|^(?i:true|false|null|nil|none)$`)
)

// fits reports whether a value passes a check of forms.txt.
func fits(v, check string) bool {
	letters, digits := strings.ToLower(v) != strings.ToUpper(v), strings.ContainsAny(v, "0123456789")
	switch {
	case check == "":
		return bits(v) >= 2.5 && !masked.MatchString(v)
	case stands.MatchString(v) || len(v) >= 8 && bits(v) < 2:
		return false
	case check == "strong" || check == "header":
		return letters && len(v) >= 4 && (digits || strings.ContainsAny(v, "!@#$%^&*?")) || digits && len(v) >= 6
	case check == "random":
		plain := !strings.ContainsAny(v, " \t,") && !strings.Contains(v, "//")
		return len(v) >= 10 && bits(v) >= 2.9 && plain && drawn(v)
	}
	return true
}

// drawn tells what a generator has made from what a person has named: it reports whether a part of a value
// has letters and digits, or many digits. A name with a version has none.
func drawn(v string) bool {
	parts := strings.FieldsFunc(v, func(r rune) bool { return r > 127 || !alnum(byte(r)) })
	return slices.ContainsFunc(parts, func(part string) bool {
		letters, digits := strings.Trim(part, "0123456789") != "", strings.ContainsAny(part, "0123456789")
		return digits && (letters && len(part) >= 8 || len(part) >= 20)
	})
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
