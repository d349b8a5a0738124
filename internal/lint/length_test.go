package lint_test

import (
	"go/ast"
	"go/token"
	"strings"
)

// A function is told at warnLines, and is an offence above maxLines unless its
// comment says that it is one table. A file is one above maxFile.
const (
	warnLines = 60
	maxLines  = 120
	maxFile   = 900
)

// lengthRule lists the functions and files outside tests that are too long to
// read in one go.
func lengthRule(r *repo) []string {
	out := r.longer(maxLines)
	for _, f := range r.files {
		if n := strings.Count(string(f.src), "\n"); !f.test() && n > maxFile {
			out = append(out, r.at(f.ast, "the file has %d lines, more than %d", n, maxFile))
		}
	}
	return out
}

// longer lists the functions with more lines than that, first and last
// included.
func (r *repo) longer(limit int) []string {
	var out []string
	for _, f := range r.files {
		if f.test() {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || strings.Contains(strings.Join(strings.Fields(fn.Doc.Text()), " "), "one table") {
				continue
			}
			if n := r.line(fn.End()) - r.line(fn.Pos()) + 1; n > limit {
				out = append(out, r.at(fn, "%s has %d lines, more than %d", fn.Name.Name, n, limit))
			}
		}
	}
	return out
}

func (r *repo) line(p token.Pos) int { return r.fset.Position(p).Line }
