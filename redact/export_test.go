package redact

import "strconv"

// Work returns the number of bytes that a scan of text looks at where nothing
// but the text bounds it, and of the places where it stops to look around.
func Work(text string) int {
	sc := scanner{text: text}
	sc.scan()
	return sc.work
}

// Rule is a row of the table of formats, for one of its marks.
type Rule struct {
	Kind, Alphabet, Mark string
	Min, Max, Before     int
}

// Rules reads the table of formats. It panics where a number is none.
func Rules() (out []Rule) {
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			panic(err)
		}
		return n
	}
	for _, c := range rows(formatTable) {
		for _, mark := range c[7:] {
			out = append(out, Rule{c[0], c[1], mark, number(c[2]), number(c[3]), number(c[4])})
		}
	}
	return out
}
