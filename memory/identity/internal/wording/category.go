package wording

import "strings"

// categories are words that tell what a statement is about, in the order in which they
// are tried.
var categories = []struct {
	category string
	phrases  string // separated by commas
}{
	{"preference", "prefer,prefers,preferred,preference,likes,i like,dislikes,i dislike,loves,i love,hates,i hate," +
		"always,never,avoid,avoids,rather than,style"},
	{"focus", "working on,works on,focused on,focusing on,building,learning,studying,preparing,goal,project," +
		"currently,planning"},
	{"expertise", "years of,years with,experience,experienced,expert,expertise,proficient,fluent,skilled," +
		"specializes,specialises,knows,i know,good at"},
	{"context", "based in,lives in,i live,located in,works at,i use,uses,i work at,timezone"},
	{"core", "my name,i'm a,i'm an,i am a,i am an,is called,works as,i work as"},
}

// Category guesses the category of a statement from its phrases. Without any that it
// knows, that is context.
func Category(s string) string {
	in := " " + strings.Join(wordsIn(strings.ReplaceAll(s, "’", "'")), " ") + " "
	for _, c := range categories {
		for p := range strings.SplitSeq(c.phrases, ",") {
			if strings.Contains(in, " "+p+" ") {
				return c.category
			}
		}
	}
	return "context"
}
