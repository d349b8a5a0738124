package identity

import (
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/text"
)

// Marks around a word that are not part of it. A '.' in front of one is
// (.NET), and so are '+' and '#' behind it (C++, C#).
const (
	before = "\"'`“”‘’„«»‹›([{<*_~-–—,;:!?¡¿"
	behind = "\"'`“”‘’„«»‹›)]}>*_~-–—,;:!?.…"
)

// wordsOf returns the words of s in lower case, without what surrounds them.
func wordsOf(s string) []string {
	words := strings.Fields(strings.ToLower(fence.Visible(s)))
	out := words[:0]
	for _, w := range words {
		w = strings.TrimRight(strings.TrimLeft(w, before), behind)
		if w != "" {
			out = append(out, w)
		}
	}
	return out
}

// canonical returns the form in which two statements are the same: their
// words, whatever the case, spacing and punctuation. A text without words is
// its own form, so that "!!!" is not "???".
func canonical(s string) string {
	if words := wordsOf(s); len(words) > 0 {
		return strings.Join(words, " ")
	}
	return strings.Join(strings.Fields(strings.ToLower(s)), " ")
}

// holds reports whether the words of part stand next to each other in whole.
func holds(whole, part []string) bool {
	if len(part) == 0 {
		return false
	}
	for i := 0; i+len(part) <= len(whole); i++ {
		if slices.Equal(whole[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

// overlaps reports whether one text holds the other as whole words.
func overlaps(a, b string) bool {
	if canonical(a) == canonical(b) {
		return true
	}
	u, v := wordsOf(a), wordsOf(b)
	return holds(u, v) || holds(v, u)
}

// term is a word as relevance compares it.
type term struct {
	text   string
	weight float64
}

// termsOf returns the stems of s. Words with '+' or '#' stay as they are.
func termsOf(s string) []term {
	var out []term
	var stems []text.Term
	for _, w := range wordsOf(s) {
		if strings.ContainsAny(w, "+#") {
			out = append(out, term{w, 1})
			continue
		}
		stems = text.Append(stems[:0], w)
		for _, t := range stems {
			out = append(out, term{t.Text, t.Weight()})
		}
	}
	return out
}

// categories are words that tell what a statement is about, in the order in which they
// are tried.
var categories = []struct {
	category Category
	phrases  string // separated by commas
}{
	{Preference, "prefer,prefers,preferred,preference,likes,i like,dislikes,i dislike,loves,i love,hates,i hate,always,never,avoid,avoids,rather than,style"},
	{Focus, "working on,works on,focused on,focusing on,building,learning,studying,preparing,goal,project,currently,planning"},
	{Expertise, "years of,years with,experience,experienced,expert,expertise,proficient,fluent,skilled,specializes,specialises,knows,i know,good at"},
	{Context, "based in,lives in,i live,located in,works at,i use,uses,i work at,timezone"},
	{Core, "my name,i'm a,i'm an,i am a,i am an,is called,works as,i work as"},
}

// categorize guesses the category of a statement from its phrases. Without any that it
// knows, that is Context.
func categorize(content string) Category {
	words := wordsOf(strings.ReplaceAll(content, "’", "'"))
	for _, c := range categories {
		for p := range strings.SplitSeq(c.phrases, ",") {
			if holds(words, strings.Fields(p)) {
				return c.category
			}
		}
	}
	return Context
}
