package iar

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fold returns a text without what makes no difference between cases: runs of spaces, one final full stop,
// and the capital of a plain first word.
func Fold(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	for _, stop := range []string{".", "。", "।"} {
		t, ends := strings.CutSuffix(s, stop)
		last, _ := utf8.DecodeLastRuneInString(t)
		if ends && (!isSign(last) || last == '}') {
			s = t
		}
	}
	if head, _, _ := strings.Cut(s, " "); plainWord.MatchString(head) {
		s = strings.ToLower(head) + s[len(head):]
	}
	return s
}

var plainWord = regexp.MustCompile(`^\p{Lu}\p{Ll}+$`)

// Words are the runs of letters and of digits of texts, in lower case; of scripts without spaces each letter.
func Words(texts ...string) map[string]bool {
	out := make(map[string]bool)
	for _, w := range words.FindAllString(strings.ToLower(strings.Join(texts, " ")), -1) {
		out[w] = true
	}
	return out
}

var words = regexp.MustCompile(strings.ReplaceAll(`\pN+|[SPACELESS]|(?:[^\PLSPACELESS]|[^\PMSPACELESS])+`,
	"SPACELESS", `\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}`))

// Alike reports whether a string is built as both a and b are, since a list or another target would not be.
// It has no signs, such as those of a shell, a query or a path, that neither has as often or has at that end;
// a single sign that names are made of ("d.oneil", "lena-k", "a_b") is none; and no Latin, Greek or Cyrillic
// letters, many of which look alike, if neither has any. Where all three have the same [Kinds], its numbers
// have as many digits. It begins and ends with what both begin and end with.
func Alike(s, a, b string) bool {
	for _, script := range []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Cyrillic} {
		is := func(r rune) bool { return unicode.Is(script, r) }
		if strings.ContainsFunc(s, is) && !strings.ContainsFunc(a+b, is) {
			return false
		}
	}
	x, y, now := parts(a), parts(b), parts(s)
	same := Kinds(a) == Kinds(s) && Kinds(b) == Kinds(s)
	for i, p := range now {
		sign := kind(p) == "" && p != "." && p != "-" && p != "_"
		more := sign && count(now, p) > max(count(x, p), count(y, p))
		digits := same && kind(p) != "" && kind(p) != "a"
		if more || digits && (len(p) < min(len(x[i]), len(y[i])) || len(p) > max(len(x[i]), len(y[i]))) {
			return false
		}
	}
	begins := common(x, now) >= common(x, y)
	for _, of := range [][]string{x, y, now} {
		slices.Reverse(of)
	}
	return begins && common(x, now) >= common(x, y)
}

// Kinds is how a string is built: its signs, with "a" for letters, "9" for digits 0 to 9, and "٩" for those
// of other scripts, however many.
func Kinds(s string) string {
	return part.ReplaceAllStringFunc(s, func(p string) string { return cmp.Or(kind(p), p) })
}

var part = regexp.MustCompile(`[\pL\pM\p{Nl}\p{No}]+|\d+|[^\P{Nd}\d]+|[^\pL\pM\pN]+`)

// parts are runs of letters, of digits, and of signs. The ends are signs: a sign there is none inside.
func parts(s string) []string { return part.FindAllString("\x02"+s+"\x03", -1) }

// kind is what stands for a part in [Kinds]: "" for signs.
func kind(part string) string {
	switch r, _ := utf8.DecodeRuneInString(part); {
	case '0' <= r && r <= '9':
		return "9"
	case unicode.IsDigit(r):
		return "٩"
	case isSign(r):
		return ""
	}
	return "a"
}

// count returns how often a part is among some.
func count(of []string, part string) int {
	return len(slices.DeleteFunc(slices.Clone(of), func(p string) bool { return p != part }))
}

// common counts the parts with which both begin. Digits are alike.
func common(a, b []string) (n int) {
	alike := func(p, q string) bool { return p == q || kind(p) == kind(q) && kind(p) > "" && kind(p) != "a" }
	for n < min(len(a), len(b)) && alike(a[n], b[n]) {
		n++
	}
	return n
}
