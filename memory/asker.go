package memory

import (
	"strings"
	"unicode"
)

// bySelf reports whether the record is by the person who asks the queries, as
// far as that can be told: it comes from a user, or its actor is called so.
func bySelf(r *Record) bool {
	if r.Source.Origin == User {
		return true
	}
	for _, name := range [...]string{"user", "human", "customer", "me"} {
		if strings.EqualFold(r.Actor, name) {
			return true
		}
	}
	return false
}

// aboutAsker reports whether a question is about the one who asks it: it has I
// or we in one of their forms, and does not ask what the other side has said or
// done, as in "what did you tell me".
func aboutAsker(question string) bool {
	var before string // "", or what the words before stand for
	about := false
	for w := range strings.FieldsFuncSeq(question, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '\u2019' }) {
		var buf [16]byte
		if len(w) > len(buf) {
			before = ""
			continue
		}
		lower := buf[:0]
		for _, r := range w {
			if r == '\u2019' {
				r = '\''
			}
			lower = append(lower, byte(unicode.ToLower(r))) // letters beyond ASCII are in none of the words below
		}
		after := before
		before = ""
		switch word := string(lower); word {
		case "i", "me", "my", "mine", "myself", "we", "us", "our", "ours", "ourselves",
			"i'm", "i've", "i'll", "i'd", "we're", "we've", "we'll", "we'd":
			about = true
		case "did":
			before = "did"
		case "have", "had":
			if before = "did"; after == "you" {
				before = "you"
			}
		case "you", "you've":
			if after == "did" {
				return false
			}
			before = "you"
		case "said", "told", "gave", "made", "wrote":
			if after == "you" {
				return false
			}
		default:
			if after == "you" && strings.HasSuffix(word, "ed") {
				return false
			}
		}
	}
	return about
}
