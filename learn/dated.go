package learn

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/arc-learn/arc/reason"
)

// A reasoner knows the date, and writes it where an objective says "today". Such a plan is for that day.

// days matches dates in digits, and English dates with names of months.
var days = regexp.MustCompile(`\b(?:\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)\d{2}|` +
	month + ` \d{1,2}(?:st|nd|rd|th)?\b|\d{1,2}(?:st|nd|rd|th|\.)? ` + month + `)`)

const month = `(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|` +
	`Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\b\.?`

// dated returns a date that a plan names and its case does not, or "".
func (o *Outcome) dated() string {
	var few [16]string
	for _, text := range (&reason.Decision{Tasks: o.Plan}).Texts(few[:0]) {
		if !strings.ContainsAny(text, "0123456789") {
			continue
		}
		for _, day := range days.FindAllString(text, -1) {
			if !o.says(day) {
				return fmt.Sprintf("its plan names a day which its case does not: %s", day)
			}
		}
	}
	return ""
}

// says reports whether the case contains a text.
func (o *Outcome) says(text string) bool {
	texts := append([]string{o.Objective, o.Situation, string(o.Inputs)}, o.Goals...)
	for _, said := range o.Conditions {
		texts = append(texts, said)
	}
	return slices.ContainsFunc(texts, func(said string) bool { return strings.Contains(said, text) })
}
