package template

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// figures are the numbers that a case has.
type figures struct {
	said  map[string]bool // as they are written
	at    map[string]*term
	terms []*term
	joins map[byte][]string // texts with several numbers in one, by what joins these
}

// term is a number of a case or, of a list, the numbers that its elements have at one place.
type term struct {
	texts  []string
	values []float64
	sum    float64
}

// maxTerms is the largest number of terms that are computed with.
const maxTerms = 128

var position = regexp.MustCompile(`/\d+`)

// joined matches several numbers in one: a time of day, a date, a version.
var joined = regexp.MustCompile(`\d+(?:[:/-]\d+)+|\d+(?:\.\d+){2,}`)

// joint returns what joins numbers first.
func joint(numbers string) byte { return numbers[strings.IndexAny(numbers, ":/-.")] }

// gather takes in the numbers of a text. One that has no other number beside it is computed with.
func (f *figures) gather(place, text string) {
	for _, j := range joined.FindAllString(text, -1) {
		f.said[strings.TrimPrefix(j, "0")] = true
		f.joins[joint(j)] = append(f.joins[joint(j)], text)
	}
	found := digits.FindAllString(text, -1)
	for _, n := range found {
		for _, a := range amounts(n) {
			f.said[a] = true
		}
	}
	if len(found) != 1 || f.at[place] == nil && len(f.terms) == maxTerms {
		return
	}
	n, err := strconv.ParseFloat(strings.Trim(found[0], ".,"), 64)
	if err != nil {
		return
	}
	t := f.at[place]
	if t == nil {
		t = new(term)
		f.at[place], f.terms = t, append(f.terms, t)
	}
	t.texts, t.values, t.sum = append(t.texts, text), append(t.values, n), t.sum+n
}

// lacking returns the numbers of a plan that the case does not have, in order.
func (f *figures) lacking(numbers map[string]bool) (out []float64) {
	for text := range numbers {
		if n, err := strconv.ParseFloat(text, 64); err == nil && n != 0 && !f.said[text] {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// joining returns the texts with a time, date or version beside which a plan has another one.
func (f *figures) joining(tokens map[string]bool) (out []string) {
	for token := range tokens {
		for _, j := range joined.FindAllString(token, -1) {
			if !f.said[strings.TrimPrefix(j, "0")] {
				out = append(out, f.joins[joint(j)]...)
			}
		}
	}
	return out
}

// giving returns the texts of the terms that alone, or two together, give a number of a plan.
func (f *figures) giving(wanted []float64) (out []string) {
	if len(wanted) == 0 {
		return nil
	}
	for i, t := range f.terms {
		if gives(wanted, t.alone()) {
			out = append(out, t.texts...)
		}
		for _, u := range f.terms[:i] {
			if gives(wanted, t.beside(u)) {
				out = append(append(out, t.texts...), u.texts...)
			}
		}
	}
	return out
}

// gives reports whether one of some results, rounded to two places, is among the numbers wanted, whatever its sign.
func gives(wanted, results []float64) bool {
	return slices.ContainsFunc(results, func(n float64) bool {
		n = math.Abs(n)
		near := max(.005, n*1e-9)
		i, _ := slices.BinarySearch(wanted, n-near)
		return n <= math.MaxFloat64 && i < len(wanted) && wanted[i] <= n+near
	})
}

// units are how many of one unit are in another: per cent, hours, minutes and seconds, bytes.
var units = []float64{24, 60, 100, 1000, 3600, 86400, 1e6, 1e9, 1 << 10, 1 << 20, 1 << 30, 1 << 40}

// alone is what a plan may compute from a term.
func (t *term) alone() []float64 {
	out := []float64{t.sum, t.sum + 1, t.sum - 1}
	for _, u := range units {
		out = append(out, t.sum*u, t.sum/u)
	}
	return out
}

// beside is what a plan may compute from two terms.
func (t *term) beside(u *term) []float64 {
	a, b := t.sum, u.sum
	share, products := a*b/100, 0.
	for k := range min(len(t.values), len(u.values)) {
		products += t.values[k] * u.values[k]
	}
	return []float64{
		a + b, a - b, a * b, a / b, b / a, math.Floor(a / b), math.Ceil(a / b), math.Floor(b / a), math.Ceil(b / a),
		share, a + share, a - share, b + share, b - share, products,
	}
}

// numerals are the English words for the numbers from zero.
var numerals = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve")

var digits = regexp.MustCompile(`[.,]?\d+(?:[.,'’_]\d+)*`)

var none = strings.NewReplacer(",", "", ".", "", "'", "", "’", "", "_", "")

// amounts are what a number may come to: its separators part thousands, or the last
// of them the fraction.
func amounts(s string) (out []string) {
	if n := slices.Index(numerals, s); n >= 0 {
		return []string{strconv.Itoa(n)}
	}
	forms := []string{s, none.Replace(s)}
	if at := strings.LastIndexAny(s, ".,"); at >= 0 {
		forms = append(forms, none.Replace(s[:at])+"."+s[at+1:])
	}
	for _, form := range forms {
		if n, err := strconv.ParseFloat(form, 64); err == nil {
			out = append(out, strconv.FormatFloat(math.Abs(n), 'g', -1, 64))
		}
	}
	return out
}
