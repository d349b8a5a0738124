package lint_test

import (
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// wiredFile lists identifiers that wait for an issue to use them, one
// "package.Name issue" a line. It is empty when the round ends.
const wiredFile = "internal/lint/wired.txt"

// useRule holds the exported identifiers of each package that are used by no
// other package, no program and no Example against their ceiling. Tests do
// not count, but for the suites that tests are made of. Neither do methods
// that satisfy an interface, nor those of unexported types.
func useRule(r *repo) []string {
	used := r.used()
	contracts := r.contracts()
	got := map[string]measure{}
	later := r.wiredLater()
	for _, u := range r.units() {
		if u.tests || !u.files[0].library() || r.pkgs[r.path(u.dir)] == nil {
			continue
		}
		m := measure{}
		for id, o := range u.info.Defs {
			if o == nil || !wantsUse(u, o) || used[name(o)] || satisfies(o, contracts) {
				continue
			}
			short := strings.TrimPrefix(strings.TrimPrefix(name(o), r.module), "/")
			if later[short] {
				delete(later, short)
				continue
			}
			m.lines = append(m.lines, r.at(id, "%s is used by no other package, program or Example", short))
		}
		slices.Sort(m.lines)
		m.value = float64(len(m.lines))
		got[u.dir] = m
	}
	out := r.over("unused", got)
	for _, short := range slices.Sorted(maps.Keys(later)) {
		out = append(out, fmt.Sprintf("%s: is used or gone, and still stands in %s", short, wiredFile))
	}
	return out
}

func (r *repo) wiredLater() map[string]bool {
	text, _ := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(wiredFile))) // none: an empty list
	out := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if w := strings.Fields(line); len(w) == 2 && w[0] != "#" {
			out[w[0]] = true
		}
	}
	return out
}

// used returns the names of the objects that a package other than their own,
// or an Example, mentions.
func (r *repo) used() map[string]bool {
	used := map[string]bool{}
	for _, u := range r.units() {
		if u.info == nil {
			continue
		}
		for id, o := range u.info.Uses {
			if o.Pkg() == nil || !u.tests && o.Pkg() == u.pkg || !method(o) && o.Parent() != o.Pkg().Scope() {
				continue // predeclared, its own, a field or a local
			}
			short, ours := r.short(o.Pkg().Path())
			if ours && (!u.tests || testSupport(short) && short != u.dir || u.inExample(id, r)) {
				used[name(o)] = true
			}
		}
	}
	return used
}

// inExample reports whether the identifier stands in an Example, or in a file
// of them.
func (u *unit) inExample(id *ast.Ident, r *repo) bool {
	at := r.fset.Position(id.Pos())
	if strings.HasPrefix(filepath.Base(at.Filename), "example") {
		return true
	}
	for _, f := range u.files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Pos() <= id.Pos() && id.Pos() < fn.End() {
				return strings.HasPrefix(fn.Name.Name, "Example")
			}
		}
	}
	return false
}
