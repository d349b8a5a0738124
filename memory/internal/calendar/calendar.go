// Package calendar makes terms of dates, by which texts of a day and queries that name it find
// one another.
package calendar

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/text"
)

// Calendar has the terms of dates: the month as a word, which texts have as
// well, and for each day of a year a term that no text has.
type Calendar struct {
	months [12]text.Term
	days   [12][31]text.Term
	// Next has the day after, by the day: much of a day is told on that.
	Next map[string]string
}

// New returns the calendar of a language.
func New(l text.Language) *Calendar {
	c := &Calendar{Next: make(map[string]string)}
	for m := range c.months {
		c.months[m] = l.Append(nil, time.Month(m+1).String())[0]
		for d := range c.days[m] {
			c.days[m][d] = text.Term{Text: fmt.Sprintf("@%02d-%02d", m+1, d+1)}
		}
	}
	for at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() == 2024; { // a leap year
		after := at.AddDate(0, 0, 1)
		c.Next[c.days[at.Month()-1][at.Day()-1].Text] = c.days[after.Month()-1][after.Day()-1].Text
		at = after
	}
	return c
}

// Append appends the terms of a date, in UTC: year, month and day.
func (c *Calendar) Append(buf []text.Term, at time.Time) []text.Term {
	year, month, day := at.Date()
	return append(buf, text.Term{Text: strconv.Itoa(year), Mark: true}, c.months[month-1], c.days[month-1][day-1])
}

// AppendNamed appends the days that terms, which are those of a query, name, as
// in "7 May", "7th of May", "May 7th", "7 Sept" and "7.9.2024".
func (c *Calendar) AppendNamed(terms []text.Term) []text.Term {
	n := len(terms)
	for i := range n {
		if s := terms[i].Text; strings.Count(s, ".") == 2 { // an error of Parse is three allocations
			if at, err := time.Parse("2.1.2006", s); err == nil {
				m, d := at.Month()-1, at.Day()-1
				terms[i] = text.Term{Text: strconv.Itoa(at.Year()), Mark: true} // no text has the date so
				terms = append(terms, c.months[m], c.days[m][d])
				continue
			}
		}
		m, short := c.month(terms[i].Text)
		if m < 0 {
			continue
		}
		day := 0
		switch {
		case i+1 < n && dayOf(terms[i+1].Text) > 0:
			day = dayOf(terms[i+1].Text)
		case i > 0 && terms[i-1].Text != "of":
			day = dayOf(terms[i-1].Text)
		case i > 1:
			day = dayOf(terms[i-2].Text)
		}
		if day > 0 && short {
			terms = append(terms, c.months[m])
		}
		if day > 0 {
			terms = append(terms, c.days[m][day-1])
		}
	}
	return terms
}

// month returns the month that s, or its first three letters or four, names.
func (c *Calendar) month(s string) (m int, short bool) {
	for m := range c.months {
		name := c.months[m].Text
		if short = name != s; !short || (len(s) == 3 || len(s) == 4) && strings.HasPrefix(name, s) {
			return m, short
		}
	}
	return -1, false
}

// dayOf returns the day of the month that "7" or "7th" names, or 0.
func dayOf(s string) int {
	for _, suffix := range [...]string{"st", "nd", "rd", "th"} {
		s = strings.TrimSuffix(s, suffix)
	}
	if n, err := strconv.Atoi(s); err == nil && len(s) <= 2 && 1 <= n && n <= 31 {
		return n
	}
	return 0
}
