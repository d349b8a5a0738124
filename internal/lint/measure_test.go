package lint_test

import (
	"go/scanner"
	"go/token"
	"strings"
)

// sizeRule holds the lines of code of each package, without comments and
// blanks, and its exported identifiers against their ceilings.
func sizeRule(r *repo) []string {
	code, ids := map[string]measure{}, map[string]measure{}
	for _, f := range r.files {
		if f.test() {
			continue
		}
		dir := row(f.dir())
		c, i := code[dir], ids[dir]
		c.value += float64(codeLines(f))
		i.value += float64(len(surface(f)))
		code[dir], ids[dir] = c, i
	}
	return append(r.over("code", code), r.over("ids", ids)...)
}

// surface returns the names that the file exports: types, functions, methods
// of exported types, constants and variables. Fields do not count, nor do the
// methods of interfaces.
func surface(f *file) []string {
	var out []string
	for _, id := range exported(f.ast) {
		if !id.method {
			out = append(out, id.name)
		}
	}
	return out
}

// codeLines counts the lines of a file with a token that is no comment.
func codeLines(f *file) int {
	in := token.NewFileSet().AddFile("", -1, len(f.src))
	var s scanner.Scanner
	s.Init(in, f.src, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return len(lines)
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue
		}
		for i := range strings.Count(lit, "\n") + 1 {
			lines[in.Line(pos)+i] = true
		}
	}
}
