package repair

import (
	"go/types"
	"regexp"
	"slices"
	"strings"
)

var (
	position = regexp.MustCompile(`^(vet: )?\S*\.go:\d+(:\d+)?: `)
	word     = regexp.MustCompile(`"[^"]*"|%[a-z]|[A-Za-z_][A-Za-z_0-9]*(\.[A-Za-z_][A-Za-z_0-9]*)*`)
	argument = regexp.MustCompile(`^(undefined|declared and not used): (\S+)$`)
	member   = regexp.MustCompile(`^\S+ undefined \(type `)
	mismatch = regexp.MustCompile(`\((mismatched types .*)\)$|^cannot use .* \(.*of type (.* as .*) value in `)
)

// vocabulary holds the words in which the compiler, vet, the runtime and
// table tests state a problem. What is not in it is a name of the package at
// hand, or too common to tell one problem from another.
var vocabulary = strings.Fields(`
	argument arg assign assignment bad bounds break call cannot closed constant contains copies
	cycle declared declaration deadlock dereference divide duplicate entry error expected field
	format func goroutine implement import imported index initialization interface
	invalid key label length literal lock loop map memory method mismatch mismatched
	missing mixed multiple necessary negative nil nondeclaration not operand operation operator
	out outside overflow panic parameter passes pointer possible range reading receiver redeclared
	return returns self shift slice statement struct syntax tag timed truncated
	type types undefined unexpected unkeyed unreachable unused use used value values variable variables want got
	verb wrong zero`)

// isBasic reports whether a word is the name of a basic type, such as int.
func isBasic(word string) bool {
	name, ok := types.Universe.Lookup(word).(*types.TypeName)
	return ok && basic(name.Type()) != 0
}

// Situation says in words what kind of problem the diagnosis shows, such as
// "build undefined standard package". The names, values and positions of the
// package are left out, so that two packages with the same mistake are in the
// same situation. It is computed from the diagnosis alone; a diagnosis that
// is OK has the situation "".
func (d Diagnosis) Situation() string {
	if d.OK() {
		return ""
	}
	var words []string
	add := func(w string) {
		if !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	add(d.Step)
	for _, m := range d.messages() {
		for _, w := range abstract(m) {
			add(w)
		}
	}
	return strings.Join(words, " ")
}

// messages returns the lines that state a problem, without their positions.
// A panic is the problem, whatever else the tests printed.
func (d Diagnosis) messages() []string {
	var ms []string
	for line := range strings.Lines(d.Text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "panic: ") && d.Step == "test" {
			text, _, _ := strings.Cut(line, " [recovered")
			return []string{text}
		}
		if at := position.FindString(line); at != "" {
			ms = append(ms, line[len(at):])
		}
	}
	return ms
}

// abstract turns a message into words of the vocabulary and placeholders. What says
// the same in two ways, as the compiler does of types and of names, becomes alike.
func abstract(message string) []string {
	if m := argument.FindStringSubmatch(message); m != nil {
		return append(known(m[1]), placeholder(m[2])...)
	}
	if m := mismatch.FindStringSubmatch(message); m != nil {
		return known("mismatched types " + m[1] + m[2])
	}
	if member.MatchString(message) {
		return []string{"undefined", "name", "field", "method"}
	}
	return known(message)
}

// known returns the words of the text that belong to the vocabulary. Quoted
// text that is an import path of the standard library counts as one.
func known(text string) []string {
	var words []string
	for _, w := range word.FindAllString(text, -1) {
		switch {
		case strings.HasPrefix(w, `"`):
			if isStandard(strings.Trim(w, `"`)) {
				words = append(words, "standard", "package")
			}
		case isBasic(w):
			words = append(words, "basic")
		case slices.Contains(vocabulary, w):
			words = append(words, w)
		}
	}
	return words
}

// placeholder says what sort of name stands where a message names one.
func placeholder(name string) []string {
	qualifier, _, qualified := strings.Cut(name, ".")
	_, standard := standardPackages[qualifier]
	switch {
	case standard && qualified:
		return []string{"standard", "member"}
	case standard:
		return []string{"standard", "package"}
	}
	return []string{"name"}
}
