package repair

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
)

// findImports adds imports for qualifiers that resolve to nothing and name a
// standard package: of several, the one that has all that is asked of it.
func findImports(s *source) (likely, others []proposal) {
	for _, f := range s.files {
		members := map[string][]string{} // by qualifier
		var order []string
		for n := range ast.Preorder(f) {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				continue
			}
			if q, ok := sel.X.(*ast.Ident); ok && len(standardPackages[q.Name]) > 0 && !s.resolves(q) {
				if members[q.Name] == nil {
					order = append(order, q.Name)
				}
				members[q.Name] = append(members[q.Name], sel.Sel.Name)
			}
		}
		for _, name := range order {
			paths := standardPackages[name]
			lacks := func(path string) (n int) {
				p, err := exports.Import(path)
				for _, m := range members[name] {
					if err != nil || p.Scope().Lookup(m) == nil {
						n++
					}
				}
				return n
			}
			best := slices.MinFunc(paths, func(a, b string) int { return lacks(a) - lacks(b) })
			likely = append(likely, proposal{addImport(f, best)})
		}
	}
	return likely, nil
}

// addImport inserts an import of path into f.
func addImport(f *ast.File, path string) edit {
	spec, why := strconv.Quote(path), fmt.Sprintf("import %q", path)
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		if g.Lparen.IsValid() {
			return edit{g.Lparen + 1, g.Lparen + 1, "\n\t" + spec, why}
		}
		return edit{g.Pos(), g.Pos(), "import " + spec + "\n", why}
	}
	return edit{f.Name.End(), f.Name.End(), "\n\nimport " + spec, why}
}

// resolves reports whether an identifier in an expression denotes anything.
func (s *source) resolves(id *ast.Ident) bool {
	if s.info.Uses[id] != nil || s.info.Defs[id] != nil {
		return true
	}
	// The type checker leaves some names alone that follow another mistake.
	_, o := s.scopeAt(id).LookupParent(id.Name, id.Pos())
	return o != nil
}
