package redact

import (
	_ "embed" // of the tables
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The tables: the forms of tokens, and the words that tell secrets from other values.
var (
	//go:embed formats.txt
	formatTable string
	//go:embed words.txt
	wordTable string
	//go:embed exceptions.txt
	exceptionTable string
)

// section is a line of the table of words, and the words below it.
type section struct {
	flags, words []string
}

// sections reads the table of words.
var sections = func() map[string][]section {
	out, name := map[string][]section{}, ""
	for line := range strings.Lines(wordTable) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || line[0] == '#':
		case line[0] == '\t':
			last := &out[name][len(out[name])-1]
			last.words = append(last.words, words...)
		default:
			name = words[0]
			out[name] = append(out[name], section{flags: words[1:]})
		}
	}
	return out
}()

// setOf returns the words of a section.
func setOf(name string) map[string]bool {
	set := map[string]bool{}
	for _, w := range sections[name][0].words {
		set[w] = true
	}
	return set
}

var (
	about, stopWords, files = setOf("about"), setOf("ordinary"), setOf("file")
	otherKeys, issuers      = sections["other"][0].words, sections["issuer"][0].words
	standIns                = sections["standin"][0].words
)

// builtin has the rules alone that are built in.
var builtin = compile(nil, formats())

// formats reads the table of formats.
func formats() (out []rule) {
	for line := range strings.Lines(formatTable) {
		if line[0] == '#' {
			continue
		}
		col := strings.Fields(line)
		var n [6]int
		for i := 2; i < 6; i++ {
			n[i], _ = strconv.Atoi(col[i]) // a test reads the table
		}
		r := rule{Rule: Rule{Kind: col[0], Alphabet: col[1], Min: n[2], Max: n[3], Before: n[4], BeforeMax: n[5]}}
		for also := range strings.SplitSeq(col[6], "&") {
			if least, err := strconv.ParseFloat(also, 64); err == nil {
				r.Entropy = least
			} else if also == "alone" {
				r.alone = true
			} else if also != "-" {
				r.holds = append(r.holds, regexp.MustCompile(also))
			}
		}
		for _, r.Mark = range col[7:] {
			out = append(out, r)
		}
	}
	return slices.Clip(out)
}
