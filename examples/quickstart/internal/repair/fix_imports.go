package repair

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
)

// findImports adds imports for qualifiers that resolve to nothing and name a
// standard package.
func findImports(s *source) []edit {
	var edits []edit
	for _, f := range s.files {
		var added []string
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			q, ok := sel.X.(*ast.Ident)
			if !ok || s.resolves(q) {
				return true
			}
			paths := standardPackages[q.Name]
			if len(paths) == 0 || slices.Contains(added, paths[0]) {
				return true
			}
			added = append(added, paths[0])
			edits = append(edits, addImport(f, paths[0]))
			return true
		})
	}
	return edits
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
