package identity

import "strings"

// categories are phrases that tell what a statement is about, in the order in
// which they are tried.
var categories = []struct {
	category Category
	phrases  []string
}{
	{Preference, []string{
		"prefer", "prefers", "preferred", "preference", "likes", "i like", "dislikes", "i dislike", "loves", "i love",
		"hates", "i hate", "always", "never", "avoid", "avoids", "rather than", "style",
	}},
	{Focus, []string{
		"working on", "works on", "focused on", "focusing on", "building", "learning", "studying", "preparing",
		"goal", "project", "currently", "planning",
	}},
	{Expertise, []string{
		"years of", "years with", "experience", "experienced", "expert", "expertise", "proficient", "fluent", "skilled",
		"specializes", "specialises", "knows", "i know", "good at",
	}},
	{Context, []string{"based in", "lives in", "i live", "located in", "works at", "i use", "uses", "i work at", "timezone"}},
	{Core, []string{"my name", "i'm a", "i'm an", "i am a", "i am an", "is called", "works as", "i work as"}},
}

// Categorize guesses the category of a statement from its phrases. Without
// any that it knows, that is Context.
func Categorize(content string) Category {
	words := wordsOf(strings.ReplaceAll(content, "’", "'"))
	for _, c := range categories {
		for _, p := range c.phrases {
			if holds(words, strings.Fields(p)) {
				return c.category
			}
		}
	}
	return Context
}
