package wording

import (
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/text"
)

// RelevantWords is the number of matching words at which Relevance is 1.
const RelevantWords = 3

// Term is a word as Relevance compares it: a stem, with its weight.
type Term struct {
	text   string
	weight float64
}

// Terms returns those of a text. Words with '+' or '#' stay as they are.
func Terms(s string) (out []Term) {
	for _, w := range wordsIn(s) {
		if strings.ContainsAny(w, "+#") {
			out = append(out, Term{w, 1})
			continue
		}
		for _, t := range text.Append(nil, w) {
			out = append(out, Term{t.Text, t.Weight()})
		}
	}
	return out
}

// Relevance is the weight of the terms of a statement that a task has as well, over
// RelevantWords, at most 1.
func Relevance(statement, task []Term) float64 {
	sum := 0.0
	for _, t := range statement {
		if slices.ContainsFunc(task, func(u Term) bool { return u.text == t.text }) {
			sum += t.weight
		}
	}
	return min(sum/RelevantWords, 1)
}
