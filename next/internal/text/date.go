package text

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Day is a calendar day in the zone of the time that it was made of. Year 0 is any year.
type Day struct {
	Year, Month, Day int
}

// DayOf returns the day of a time in its own zone.
func DayOf(at time.Time) Day {
	y, m, d := at.Date()
	return Day{y, int(m), d}
}

// Is reports whether o is the day that d names.
func (d Day) Is(o Day) bool {
	return d.Month == o.Month && d.Day == o.Day && (d.Year == 0 || d.Year == o.Year)
}

// AppendDay appends the terms of a day: its year and month as texts have them, and its day of the year.
func (a *Analyzer) AppendDay(dst []Term, d Day) []Term {
	if d.Year != 0 {
		dst = append(dst, Term{Text: strconv.Itoa(d.Year)})
	}
	dst = append(dst, a.term(time.Month(d.Month).String()))
	return append(dst, Term{Text: fmt.Sprintf("@%02d-%02d", d.Month, d.Day)})
}

// dateWords are the words that dates are made of in a language. Months have the form in which they follow a day.
type dateWords struct {
	months, weekdays []string
	days             map[string]int // words for a day near today, and how many days after it that is
	last, not        []string       // before a weekday: the one before today; no date
}

var dateWordsByLanguage = map[string]*dateWords{
	"en": {fields("january february march april may june july august september october november december"),
		fields("monday tuesday wednesday thursday friday saturday sunday"),
		map[string]int{"yesterday": -1, "today": 0, "tomorrow": 1}, fields("last past previous"), fields("every each next")},
	"de": {fields("januar februar marz april mai juni juli august september oktober november dezember"),
		fields("montag dienstag mittwoch donnerstag freitag samstag sonntag"),
		map[string]int{"vorgestern": -2, "gestern": -1, "heute": 0}, fields("letzten vergangenen"), fields("jeden nachsten")},
	"fr": {fields("janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre"),
		fields("lundi mardi mercredi jeudi vendredi samedi dimanche"), map[string]int{"hier": -1}, nil, fields("chaque")},
	"es": {fields("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"),
		fields("lunes martes miercoles jueves viernes sabado domingo"),
		map[string]int{"anteayer": -2, "ayer": -1, "hoy": 0}, fields("pasado"), fields("cada proximo")},
	"it": {fields("gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"),
		fields("lunedi martedi mercoledi giovedi venerdi sabato domenica"), map[string]int{"ieri": -1, "oggi": 0}, nil,
		fields("ogni prossimo")},
	"pt": {fields("janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro"), nil,
		map[string]int{"anteontem": -2, "ontem": -1, "hoje": 0}, nil, nil},
	"nl": {fields("januari februari maart april mei juni juli augustus september oktober november december"),
		fields("maandag dinsdag woensdag donderdag vrijdag zaterdag zondag"),
		map[string]int{"eergisteren": -2, "gisteren": -1, "vandaag": 0}, fields("afgelopen"), fields("elke volgende")},
	"ru": {fields("января февраля марта апреля мая июня июля августа сентября октября ноября декабря"),
		fields("понедельник вторник среду четверг пятницу субботу воскресенье"),
		map[string]int{"позавчера": -2, "вчера": -1, "сегодня": 0}, fields("прошлый прошлую прошлое"), nil},
}

// dayWords are words for a day near today in scripts without spaces and such. A longer one is before what it has
// in it.
var dayWords = []struct {
	word string
	days int
}{
	{"前天", -2}, {"一昨日", -2}, {"おととい", -2}, {"그저께", -2}, {"昨天", -1}, {"昨日", -1}, {"きのう", -1}, {"어제", -1},
	{"امس", -1}, {"今天", 0}, {"今日", 0}, {"오늘", 0}, {"اليوم", 0},
}

func fields(s string) []string { return strings.Fields(s) }

// dateWordsOf returns those of languages, and those that no text in another language has.
func dateWordsOf(languages []string) (out []*dateWords) {
	for _, l := range append(slices.Clone(languages), "ru") {
		if d := dateWordsByLanguage[l]; d != nil && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

var (
	numeric = regexp.MustCompile(`\b(\d{1,4})([-/.])(\d{1,2})([-/.])(\d{1,4})\b`)
	eastern = regexp.MustCompile(`(?:(\d{4})\s*[年년]\s*)?(\d{1,2})\s*[月월]\s*(\d{1,2})`)
)

// Days returns the days that a question names, as seen at a time and in its zone: "2025-03-06", "3/6/2025" (both
// days that this may be), "6.3.2025", "3月6日", "March 6, 2025", "7 May", "yesterday", "last Friday", "two days ago".
// The names of months and weekdays are those of the languages of a.
//
// Libraries that find dates in prose were measured and not taken: markusmobius/go-dateparser adds 7.3 MB to a
// binary, takes .2 ms a question in English and 8 in any language, and reads "we" as Wednesday and "2 of 5" as
// February; olebedev/when reads 2025-03-06 as six minutes past three and drops years; tj/go-naturaldate reads
// whole phrases only.
func (a *Analyzer) Days(question string, at time.Time) (out []Day) {
	q := withoutAccents(lower(question))
	add := func(y, m, d int) {
		day := Day{y, m, d}
		known := time.Date(max(y, 4), time.Month(m), d, 0, 0, 0, 0, time.UTC) // year 4 has a 29 February
		if DayOf(known) == (Day{max(y, 4), m, d}) && !slices.Contains(out, day) && len(out) < 8 {
			out = append(out, day)
		}
	}
	if strings.ContainsAny(q, "0123456789") {
		for _, m := range numeric.FindAllStringSubmatch(q, 4) {
			x, y, z := number(m[1]), number(m[3]), number(m[5])
			switch {
			case m[2] != m[4]:
			case len(m[1]) == 4:
				add(x, y, z)
			case len(m[5]) == 4 && m[2] == ".":
				add(z, y, x)
			case len(m[5]) == 4:
				add(z, x, y)
				add(z, y, x)
			}
		}
		for _, m := range eastern.FindAllStringSubmatch(q, 4) {
			add(number(m[1]), number(m[2]), number(m[3]))
		}
	}
	near := func(days int) { d := DayOf(at.AddDate(0, 0, days)); add(d.Year, d.Month, d.Day) }
	for _, w := range dayWords {
		if q != question && strings.Contains(q, w.word) {
			near(w.days)
			break
		}
	}
	tokens := strings.FieldsFunc(q, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	token := func(i int) string {
		if i < 0 || i >= len(tokens) {
			return ""
		}
		return tokens[i]
	}
	absolute := len(out) > 0
	for i, w := range tokens {
		for _, words := range a.dates {
			if m := words.month(w); m > 0 {
				if d := dayOfMonth(token(i + 1)); d > 0 {
					add(yearOf(token(i+2)), m, d)
				} else if d := dayOfMonth(token(i - 1)); d > 0 {
					add(yearOf(token(i+1)), m, d)
				} else if d := dayOfMonth(token(i - 2)); d > 0 && len(token(i-1)) <= 2 { // 7th of May, 7 de mayo
					add(yearOf(token(i+1)), m, d)
				}
			}
			if len(out) > 0 && tokens != nil && absolute { break }
			if n, ok := words.days[w]; ok {
				if w == "yesterday" && token(i-1) == "before" && token(i-2) == "day" {
					n--
				}
				near(n)
			}
			if n := slices.Index(words.weekdays, w); n >= 0 && !slices.Contains(words.not, token(i-1)) {
				back := (int(at.Weekday()) + 6 - n) % 7 // 0 on such a day
				if back == 0 && slices.Contains(words.last, token(i-1)) {
					back = 7
				}
				near(-back)
			}
		}
		if w == "ago" {
			n := number(token(i - 2))
			if n == 0 {
				n = slices.Index(counts, token(i-2)) // -1: another word
			}
			switch unit := token(i - 1); {
			case n <= 0 || n > 1000:
			case unit == "day" || unit == "days":
				near(-n)
			case unit == "week" || unit == "weeks":
				near(-7 * n)
			}
		}
	}
	return out
}

var counts = strings.Fields("zero one two three four five six seven eight nine ten")

// month returns the month that w names, in full or by its first three letters or four; 0: none.
func (d *dateWords) month(w string) int {
	n := utf8.RuneCountInString(w)
	for i, name := range d.months {
		if name == w || (n == 3 || n == 4) && strings.HasPrefix(name, w) {
			return i + 1
		}
	}
	return 0
}

// dayOfMonth returns the day of the month that "7" or "7th" names, or 0.
func dayOfMonth(s string) int {
	if n := len(s); n > 2 && slices.Contains([]string{"st", "nd", "rd", "th"}, s[n-2:]) {
		s = s[:n-2]
	}
	if n := number(s); len(s) <= 2 && n <= 31 {
		return n
	}
	return 0
}

// yearOf returns the year that s names, or 0.
func yearOf(s string) int {
	if len(s) != 4 {
		return 0
	}
	return number(s)
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
