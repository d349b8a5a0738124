package repair

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// findUnused blanks the variables that the type checker found unread, also
// where they are assigned to, and removes what this leaves empty: else the
// statement that declares them.
func findUnused(s *source) (likely, others []proposal) {
	unread := map[token.Pos]bool{}
	for _, e := range s.errs {
		if strings.Contains(e.Msg, "declared and not used") {
			unread[e.Pos] = true
		}
	}
	if len(unread) == 0 {
		return nil, nil
	}
	objects := map[types.Object]bool{}
	for id, o := range s.info.Defs {
		if unread[id.Pos()] && o != nil {
			objects[o] = true
		}
	}
	isUnused := func(e ast.Expr) bool {
		id, ok := e.(*ast.Ident)
		return ok && (unread[id.Pos()] || objects[s.info.Uses[id]])
	}
	add := func(p proposal) {
		if len(p) > 0 {
			likely = append(likely, p)
		}
	}
	for n := range s.nodes() {
		switch n := n.(type) {
		case *ast.TypeSwitchStmt:
			if a, ok := n.Assign.(*ast.AssignStmt); ok && isUnused(a.Lhs[0]) {
				add(proposal{{a.Pos(), a.Rhs[0].Pos(), "", fmt.Sprintf("%s is not used", s.code(a.Lhs[0]))}})
			}
		case *ast.AssignStmt:
			add(blankAssigned(n, isUnused))
			if len(n.Lhs) == 1 && n.Tok == token.DEFINE && isUnused(n.Lhs[0]) {
				others = append(others, proposal{{n.Pos(), n.End(), "", fmt.Sprintf("%s is not used", s.code(n.Lhs[0]))}})
			}
		case *ast.RangeStmt:
			add(blankRange(n, isUnused))
		case *ast.DeclStmt:
			add(dropDeclared(n, isUnused))
		}
	}
	return likely, others
}

// blankAssigned turns a := f() into _ = f(), and a, b := f() into _, b := f().
func blankAssigned(n *ast.AssignStmt, unused func(ast.Expr) bool) []edit {
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
	if len(edits) > 0 && n.Tok == token.DEFINE && !named {
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

// dropDeclared removes a declaration of a single variable without a value, and
// blanks others.
func dropDeclared(n *ast.DeclStmt, unused func(ast.Expr) bool) []edit {
	g, ok := n.Decl.(*ast.GenDecl)
	if !ok || g.Tok != token.VAR {
		return nil
	}
	var edits []edit
	for _, spec := range g.Specs {
		spec, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for _, name := range spec.Names {
			if !unused(name) {
				continue
			}
			why := fmt.Sprintf("%s is not used", name.Name)
			if len(g.Specs) == 1 && len(spec.Names) == 1 && len(spec.Values) == 0 {
				return []edit{{n.Pos(), n.End(), "", why}}
			}
			edits = append(edits, edit{name.Pos(), name.End(), "_", why})
		}
	}
	return edits
}
