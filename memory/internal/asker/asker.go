// Package asker tells the two sides of a conversation apart, the one that asks and the one that
// answers: by what an actor is called, and by the words of a question.
package asker

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Actors that are no more than a side of a conversation: that of who asks the
// queries, and the other.
var (
	asking    = [...]string{"user", "human", "customer", "me"}
	answering = [...]string{"assistant", "ai", "agent", "bot", "model", "system", "tool"}
)

func oneOf(actor string, roles []string) bool {
	return slices.ContainsFunc(roles, func(role string) bool { return strings.EqualFold(actor, role) })
}

// Name returns the actor as a name to be found by; "" for a role. Half of
// all records have that, and a query for "user" means something else.
func Name(actor string) string {
	if oneOf(actor, asking[:]) || oneOf(actor, answering[:]) {
		return ""
	}
	return actor
}

// Other reports whether a record is by the other side than the one that asks the
// queries, where that can be told: its actor is called so, or it comes from a machine
// (a model, a program, the web) and its actor is not called like one who asks.
func Other(actor string, machine bool) bool {
	if machine {
		return !oneOf(actor, asking[:])
	}
	return oneOf(actor, answering[:])
}

// About reports whether a question is about the one who asks it: it has I
// or we in one of their forms, and does not ask what the other side has said or
// done, as in "what did you tell me".
func About(question string) bool {
	var before string // "", or what the words before stand for
	about := false
	apart := func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '\u2019' }
	for w := range strings.FieldsFuncSeq(question, apart) {
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
			lower = append(lower, byte(min(unicode.ToLower(r), utf8.RuneSelf))) // of none of the words below
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
