package repair

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// findUnused blanks the variables that the type checker found unread, and
// removes the declarations that this leaves empty.
func findUnused(s *source) []edit {
	unused := map[token.Pos]bool{}
	for _, e := range s.errs {
		if strings.HasPrefix(e.Msg, "declared and not used") {
			unused[e.Pos] = true
		}
	}
	if len(unused) == 0 {
		return nil
	}
	isUnused := func(e ast.Expr) bool {
		id, ok := e.(*ast.Ident)
		return ok && unused[id.Pos()]
	}
	var edits []edit
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				edits = append(edits, blankAssigned(n, isUnused)...)
			case *ast.RangeStmt:
				edits = append(edits, blankRange(n, isUnused)...)
			case *ast.DeclStmt:
				edits = append(edits, dropDeclared(n, isUnused)...)
			}
			return true
		})
	}
	return edits
}

// blankAssigned turns a := f() into _ = f(), and a, b := f() into _, b := f().
func blankAssigned(n *ast.AssignStmt, unused func(ast.Expr) bool) []edit {
	if n.Tok != token.DEFINE {
		return nil
	}
	var edits []edit
	named := false
	for _, l := range n.Lhs {
		id, ok := l.(*ast.Ident)
		switch {
		case unused(l):
			edits = append(edits, edit{l.Pos(), l.End(), "_", fmt.Sprintf("%s is not used", id.Name)})
		case !ok || id.Name != "_":
			named = true
		}
	}
	if len(edits) > 0 && !named {
		edits = append(edits, edit{n.TokPos, n.TokPos + 2, "=", ""})
	}
	return edits
}

// blankRange turns for i, v := range into for _, v := range and the like.
func blankRange(n *ast.RangeStmt, unused func(ast.Expr) bool) []edit {
	switch {
	case n.Tok != token.DEFINE:
		return nil
	case n.Value != nil && unused(n.Value) && unused(n.Key):
		return []edit{{n.Key.Pos(), n.Range, "", "the variables of the range are not used"}}
	case n.Value != nil && unused(n.Value):
		return []edit{{n.Key.End(), n.Value.End(), "", "the value of the range is not used"}}
	case !unused(n.Key):
		return nil
	case n.Value != nil:
		return []edit{{n.Key.Pos(), n.Key.End(), "_", "the key of the range is not used"}}
	}
	return []edit{{n.Key.Pos(), n.Range, "", "the key of the range is not used"}}
}

// dropDeclared removes a declaration of a single variable, or keeps only what
// computes its value.
func dropDeclared(n *ast.DeclStmt, unused func(ast.Expr) bool) []edit {
	g, ok := n.Decl.(*ast.GenDecl)
	if !ok || g.Tok != token.VAR || len(g.Specs) != 1 {
		return nil
	}
	spec, ok := g.Specs[0].(*ast.ValueSpec)
	if !ok || len(spec.Names) != 1 || !unused(spec.Names[0]) {
		return nil
	}
	name := spec.Names[0]
	why := fmt.Sprintf("%s is not used", name.Name)
	if len(spec.Values) == 0 {
		return []edit{{n.Pos(), n.End(), "", why}}
	}
	return []edit{{name.Pos(), name.End(), "_", why}}
}
