package main

import "strings"

// diff prints the lines that differ between two texts, with the line before
// and after each change.
func (p *printer) diff(name, was, is string) {
	p.printf("\n%s\n", p.style(bold, name))
	lines := diffLines(strings.Split(was, "\n"), strings.Split(is, "\n"))
	near := func(i int) bool { return i >= 0 && i < len(lines) && lines[i][0] != ' ' }
	for i, l := range lines {
		switch {
		case l[0] == '-':
			p.printf("%s\n", p.style(red, l))
		case l[0] == '+':
			p.printf("%s\n", p.style(green, l))
		case near(i-1) || near(i+1):
			p.printf("%s\n", l)
		}
	}
}

// diffLines returns the lines of a and b, marked with "-" and "+" where only
// one has them, by their longest common subsequence.
func diffLines(a, b []string) []string {
	long := make([][]int, len(a)+1) // of a[i:] and b[j:]
	for i := range long {
		long[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				long[i][j] = long[i+1][j+1] + 1
			} else {
				long[i][j] = max(long[i+1][j], long[i][j+1])
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, " "+a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && long[i+1][j] >= long[i][j+1]:
			out = append(out, "-"+a[i])
			i++
		default:
			out = append(out, "+"+b[j])
			j++
		}
	}
	return out
}
