package table

import (
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/template"
	"github.com/arc-learn/arc/internal/text"
)

// Slot is what a record states, for comparison: another value of the same.
type Slot struct{ of, value string }

// SlotOf returns the Slot of an attribute of a subject, whatever the order and form of their
// words. "I", "me" and "my" are the actor.
func SlotOf(subject, attribute, value, actor string) *Slot {
	var words []string
	for _, t := range text.Append(nil, subject+" "+attribute) {
		switch own := t.Text == "i" || t.Text == "me" || t.Text == "my"; {
		case own && actor != "":
			for _, t := range text.Append(nil, actor) {
				words = append(words, t.Text)
			}
		case own || !t.Stop:
			words = append(words, t.Text)
		}
	}
	slices.Sort(words)
	return &Slot{
		of:    strings.Join(slices.Compact(words), " "),
		value: strings.ToLower(strings.Join(template.Folded(value), " ")), // -18 is not 18, nor C++ C
	}
}
