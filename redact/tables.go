package redact

import (
	_ "embed" // of the tables
	"strconv"
	"strings"
)

// The tables: the forms of tokens, and the words that tell secrets from other values.
var (
	//go:embed formats.txt
	formatTable string
	//go:embed words.txt
	wordTable string
)

// section is a line of a table and the words below it.
type section struct {
	name         string
	flags, words []string
}

// sections reads a table of words.
func sections(table string) (out []section) {
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || line[0] == '#':
		case line[0] == '\t':
			last := &out[len(out)-1]
			last.words = append(last.words, words...)
		default:
			out = append(out, section{name: words[0], flags: words[1:]})
		}
	}
	return out
}

// wordsOf returns the words of a section.
func wordsOf(name string) (out []string) {
	for _, s := range sections(wordTable) {
		if s.name == name {
			out = append(out, s.words...)
		}
	}
	return out
}

// setOf returns the words of a section as a set.
func setOf(name string) map[string]bool {
	set := map[string]bool{}
	for _, w := range wordsOf(name) {
		set[w] = true
	}
	return set
}

var (
	about, stopWords, complaints = setOf("about"), setOf("ordinary"), setOf("complaint")
	roots, schemes, files        = setOf("root"), setOf("scheme"), setOf("file")
	notSecret, issuers           = wordsOf("other"), wordsOf("issuer")
)

// builtin has the rules alone that are built in.
var builtin = compile(nil)

// builtins reads the table of formats.
func builtins() (out []rule) {
	for line := range strings.Lines(formatTable) {
		if line[0] == '#' {
			continue
		}
		col := strings.Fields(line)
		n := func(i int) int {
			v, err := strconv.Atoi(col[i])
			if err != nil {
				panic(err) // a test reads the table
			}
			return v
		}
		for _, mark := range col[7:] {
			name, alone := strings.CutSuffix(strings.ReplaceAll(col[6], "+alone", "alone"), "alone")
			out = append(out, rule{
				Rule: Rule{
					Kind: col[0], Mark: mark, Alphabet: col[1], Min: n(2), Max: n(3), Before: n(4), BeforeMax: n(5),
				},
				ok: conditions[name], alone: alone,
			})
		}
	}
	return out
}
