package lint_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// banned are words without an actor, and turns that have to be decoded. Name
// the caller, the store, the worker; say the rule, then the exception.
var banned = regexp.MustCompile(`(?i)\b(nobody|somebody|anybody|whoever|whomever|whosoever|` +
	`that is none|that are none|be it|but for|as far as)\b`)

const (
	maxTrailing = 60  // characters of a comment behind code, without the slashes
	maxColumns  = 120 // characters of a line, where a tab is one
	maxPackages = 4   // in which an unexported function may have the same name
)

// wordRule holds the offences against prose of each package against their
// ceiling: banned words in comments and strings, long comments behind code,
// long lines.
func wordRule(r *repo) []string {
	got := map[string]measure{}
	for _, f := range r.files {
		if f.test() {
			continue
		}
		m := got[row(f.dir())]
		m.lines = append(m.lines, r.prose(f)...)
		m.value = float64(len(m.lines))
		got[row(f.dir())] = m
	}
	return r.over("prose", got)
}

func (r *repo) prose(f *file) []string {
	var out []string
	say := func(n ast.Node, text string) {
		for _, w := range banned.FindAllString(strings.Join(strings.Fields(text), " "), -1) {
			out = append(out, r.at(n, "says %q", w))
		}
	}
	lines := strings.Split(string(f.src), "\n")
	for _, group := range f.ast.Comments {
		say(group, group.Text())
		for _, c := range group.List {
			p := r.fset.Position(c.Pos())
			n := utf8.RuneCountInString(strings.TrimPrefix(c.Text, "// "))
			if n > maxTrailing && strings.TrimSpace(lines[p.Line-1][:p.Column-1]) != "" {
				out = append(out, r.at(c, "the comment behind code has %d characters, more than %d", n, maxTrailing))
			}
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			say(lit, lit.Value)
		}
		return true
	})
	for i, line := range lines {
		if n := utf8.RuneCountInString(line); n > maxColumns {
			out = append(out, fmt.Sprintf("%s:%d: the line has %d characters, more than %d", f.path, i+1, n, maxColumns))
		}
	}
	return out
}

// verbRule lists the unexported functions and methods whose name stands in so
// many packages that a reader cannot search for it.
func verbRule(r *repo) []string {
	where := map[string]map[string]bool{}
	for _, f := range r.files {
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || f.test() || fn.Name.IsExported() || fn.Name.Name == "main" {
				continue
			}
			if where[fn.Name.Name] == nil {
				where[fn.Name.Name] = map[string]bool{}
			}
			where[fn.Name.Name][row(f.dir())] = true
		}
	}
	budget := r.budget()
	var out []string
	for _, name := range slices.Sorted(maps.Keys(where)) {
		n := len(where[name])
		if n > maxPackages {
			r.measured["verb "+name] = float64(n)
		}
		if ceiling := max(maxPackages, int(budget["verb "+name])); n > ceiling {
			out = append(out, fmt.Sprintf("%s: the name of functions in %d packages, more than %d: %s",
				name, n, ceiling, strings.Join(slices.Sorted(maps.Keys(where[name])), " ")))
		}
	}
	return out
}
