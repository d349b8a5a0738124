// Package succession says from their texts alone whether what is told later perhaps takes the
// place of what was told earlier: it speaks of a change, in six languages, or says nearly the
// same in other values. A guess is a probability; what is done with it is the caller's.
package succession

import (
	"cmp"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/template"
	"github.com/arc-learn/arc/memory/internal/phrase"
)

// What is compared, and from when on it counts. See docs/benchmarks.md.
const (
	maxWords      = 40   // of a text that may replace another
	changeOverlap = 0.45 // share of the shorter one's words, for a change
	plainOverlap  = 0.5  // for a text that speaks of none
	changeBelief  = 0.75
	plainBelief   = 0.6
	alikeMost     = 0.9 // of what is most alike
)

// Telling is what a text tells. The zero Telling tells nothing.
type Telling struct {
	text  string
	words []string
	tells bool
}

// Tell returns what a text tells: it states something, in few words, as a fact or of who
// speaks.
func Tell(text string, fact bool) (t Telling) {
	if strings.Contains(text, "?") || strings.Contains(text, "？") || len(text) > 16*maxWords {
		return t
	}
	ws := phrase.Words(text)
	if len(ws) > maxWords || !fact && !firstPerson.in(text, ws) {
		return t
	}
	return Telling{text, ws, true}
}

// Changes reports whether it speaks of a change.
func (t Telling) Changes() bool { return changeCues.in(t.text, t.words) }

// MayReplace reports whether it may replace something: it tells, and does not say that it
// holds besides.
func (t Telling) MayReplace() bool { return t.tells && !holdsCues.in(t.text, t.words) }

// OfSame reports whether it may speak of what an earlier one tells of the same, and does not
// say it again.
func (t Telling) OfSame(old Telling) bool {
	return old.tells && !SaysSame(t.text, old.text) && !ofAnother(t.text, t.words, old.text, old.words)
}

// Belief is how likely a telling replaces an earlier one with which it shares enough.
type Belief struct {
	Least       float64 // share of the words of the one that has less
	Probability float64
	Change      bool // it speaks of one
}

// Belief returns what to believe of the telling, false if it replaces nothing by its words:
// what is no fact has to speak of a change.
func (t Telling) Belief(fact bool) (Belief, bool) {
	if t.Changes() {
		return Belief{changeOverlap, changeBelief, true}, true
	}
	return Belief{plainOverlap, plainBelief, false}, fact
}

// Content is the distinct words of a text, function words aside, with what they weigh.
type Content []Word

// Word is a word with its weight.
type Word struct {
	Text   string
	Weight float64
}

// compare returns what two texts have in common: as a share of the one that has
// less words, and of the mean of both.
func (c Content) compare(o Content) (overlap, like float64) {
	var both, own, other float64
	for i := range o {
		other += o[i].Weight
	}
	for i := range c {
		own += c[i].Weight
		for j := range o {
			if o[j].Text == c[i].Text {
				both += c[i].Weight
				break
			}
		}
	}
	if both == 0 {
		return 0, 0
	}
	return both / min(own, other), 2 * both / (own + other)
}

// Earlier is what was told before, under a name.
type Earlier struct {
	Name          string
	Telling       Telling
	Content       Content
	overlap, like float64
}

// Replaced returns the names of those that a telling of this content perhaps replaces, the
// most alike first. It orders all.
func (t Telling) Replaced(b Belief, content Content, all []Earlier) (names []string) {
	enough := false
	for i := range all {
		o := &all[i]
		o.overlap, o.like = content.compare(o.Content)
		enough = enough || o.overlap >= b.Least
	}
	if !enough {
		return nil
	}
	slices.SortFunc(all, func(a, b Earlier) int { return cmp.Compare(b.like, a.like) })
	best := 0.0
	for _, o := range all {
		if o.like < alikeMost*best || !t.OfSame(o.Telling) {
			continue
		}
		if best = max(best, o.like); o.overlap >= b.Least {
			names = append(names, o.Name)
		}
	}
	return names
}

// AsksOfPast reports whether a question is about the past.
func AsksOfPast(question string) bool { return pastCues.in(question, phrase.Words(question)) }

// SaysSame reports whether two texts have the same words and symbols. The case of plain
// words, the punctuation of sentences and articles do not count.
func SaysSame(a, b string) bool {
	return a == b || slices.Equal(withoutArticles(a), withoutArticles(b))
}

func withoutArticles(s string) []string {
	return slices.DeleteFunc(template.Folded(s), func(w string) bool { return w == "an" || w == "the" })
}
