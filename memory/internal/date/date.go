// Package date finds the days that a question names.
package date

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/arc-learn/arc/internal/text"
)

// Day is a calendar day in the zone of the time that it was made of. Year 0 is any year.
type Day struct {
	Year, Month, Day int
}

// Of returns the day of a time in its own zone.
func Of(at time.Time) Day {
	y, m, d := at.Date()
	return Day{y, int(m), d}
}

// Terms are the words of a day: its year and month as texts have them, and its day of the year ("@03-06").
func (d Day) Terms(an *text.Analyzer) []text.Term {
	words := time.Month(d.Month).String()
	if d.Year != 0 {
		words = strconv.Itoa(d.Year) + " " + words
	}
	ofYear := text.Term{Text: fmt.Sprintf("@%02d-%02d", d.Month, d.Day)}
	return append(an.Append(make([]text.Term, 0, 3), words), ofYear)
}

// dateWord is what a word means in a date: the n-th month or weekday, or yesterday.
type dateWord struct {
	kind byte // 'm', 'w' or 'y'
	n    int
}

// dateWords are the English names of months, also by their first three and four letters, and of weekdays, and
// the words for yesterday of languages where they have no other meaning elsewhere (as "hier" has). What is
// asked for today ("How is the weather today?") is seldom what was said today, and wants no day.
var dateWords = func() map[string]dateWord {
	words := map[string]dateWord{}
	for w := range strings.FieldsSeq("yesterday gestern ayer ieri ontem gisteren wczoraj вчера вчора") {
		words[w] = dateWord{kind: 'y'}
	}
	for m := time.January; m <= time.December; m++ {
		name := strings.ToLower(m.String())
		for _, n := range []int{3, 4, len(name)} {
			words[name[:min(n, len(name))]] = dateWord{'m', int(m)}
		}
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		words[strings.ToLower(d.String())] = dateWord{'w', int(d)}
	}
	return words
}()

// joined are words for yesterday to which others are written.
var joined = []string{"昨天", "昨日", "어제", "امس"}

var (
	numeric = regexp.MustCompile(`\b(\d{1,4})([-/.])(\d{1,2})([-/.])(\d{1,4})\b`)
	eastern = regexp.MustCompile(`(?:(\d{4})\s*[年년]\s*)?(\d{1,2})\s*[月월]\s*(\d{1,2})`)
)

// Days returns the days that a question names, as seen at a time and in its zone: "2025-03-06", "3/6/2025"
// (both days that this may be), "6.3.2025", "3月6日", "March 6, 2025", "7 May", "yesterday", "last Friday",
// "two days ago". A weekday is the last one before today, or today as well.
//
// Libraries that find dates in prose were measured and not taken: markusmobius/go-dateparser adds 7.3 MB,
// takes .2 to 200 ms, and reads "we" as a Wednesday; olebedev/when reads 2025-03-06 as 3:06 of the clock;
// tj/go-naturaldate reads only whole phrases. This takes 2 to 7 µs.
func Days(question string, at time.Time) []Day {
	f := finder{at: at}
	q := text.Plain(question)
	if strings.ContainsAny(q, "0123456789") && strings.ContainsAny(q, "-/.月월") {
		f.numbers(q)
	}
	f.tokens = strings.FieldsFunc(q, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range f.tokens {
		if word := dateWords[w]; word.kind == 'm' {
			f.month(i, word.n)
		}
	}
	if len(f.days) > 0 {
		return f.days // "on the Friday before 10 January"
	}
	for i, w := range f.tokens {
		switch word := dateWords[w]; {
		case word.kind == 'y' && f.token(i-1) == "before" && f.token(i-2) == "day":
			f.near(-2)
		case word.kind == 'y':
			f.near(-1)
		case word.kind == 'w':
			back := (int(at.Weekday()) + 7 - word.n) % 7
			f.near(-back)
			if back == 0 {
				f.near(-7)
			}
		case w == "ago" && strings.HasPrefix(f.token(i-1), "day"):
			if n := f.count(i - 2); n > 0 {
				f.near(-n)
			}
		}
	}
	if slices.ContainsFunc(joined, func(w string) bool { return strings.Contains(q, w) }) {
		f.near(-1)
	}
	return f.days
}

// finder finds the days that a question names.
type finder struct {
	at     time.Time
	tokens []string // words and numbers
	days   []Day
}

func (f *finder) add(y, m, d int) {
	day, leap := Day{y, m, d}, Day{max(y, 4), m, d} // there was a 29 February in the year 4
	real := Of(time.Date(leap.Year, time.Month(m), d, 0, 0, 0, 0, time.UTC)) == leap
	if real && len(f.days) < 8 && !slices.Contains(f.days, day) {
		f.days = append(f.days, day)
	}
}

func (f *finder) near(days int) {
	d := Of(f.at.AddDate(0, 0, days))
	f.add(d.Year, d.Month, d.Day)
}

// numbers finds days in numbers.
func (f *finder) numbers(q string) {
	for _, m := range numeric.FindAllStringSubmatch(q, 4) {
		x, y, z := number(m[1]), number(m[3]), number(m[5])
		switch {
		case m[2] != m[4]:
		case len(m[1]) == 4:
			f.add(x, y, z)
		case len(m[5]) == 4:
			if m[2] != "." {
				f.add(z, x, y)
			}
			f.add(z, y, x)
		}
	}
	for _, m := range eastern.FindAllStringSubmatch(q, 4) {
		f.add(number(m[1]), number(m[2]), number(m[3]))
	}
}

// month finds the day of the month m, which the i-th token is.
func (f *finder) month(i, m int) {
	for _, at := range []int{i + 1, i - 1, i - 2} { // May 7, 7 May, 7th of May
		if d := f.count(at); 0 < d && d <= 31 && (at >= i-1 || len(f.token(i-1)) == 2) {
			year := f.token(max(at, i) + 1)
			if len(year) != 4 {
				year = ""
			}
			f.add(number(year), m, d)
			return
		}
	}
}

func (f *finder) token(i int) string {
	if i < 0 || i >= len(f.tokens) {
		return ""
	}
	return f.tokens[i]
}

var counts = strings.Fields("zero one two three four five six seven")

// count returns the number that the i-th token is, such as 7, 7th or seven; 0: none.
func (f *finder) count(i int) int {
	s := f.token(i)
	if n := len(s) - 2; n > 0 && slices.Contains([]string{"st", "nd", "rd", "th"}, s[n:]) {
		s = s[:n]
	}
	return max(number(s), slices.Index(counts, s), 0)
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
