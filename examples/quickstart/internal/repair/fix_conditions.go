package repair

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// findConditions turns around conditions that their own branch contradicts:
// a branch for err == nil that tells of err, one for !ok that reads the value
// that ok vouches for, and one for x == nil or len(x) == 0 that looks into x.
// Then it tries comparisons that keep one of two values, and what else may be
// the wrong way round where a failure passed through.
func findConditions(s *source) (likely, others []proposal) {
	var extremes []proposal
	before := map[ast.Stmt]ast.Stmt{}
	for n := range s.nodes() {
		list := statements(n)
		for i := 1; i < len(list); i++ {
			before[list[i]] = list[i-1]
		}
		branch, ok := n.(*ast.IfStmt)
		if !ok {
			continue
		}
		if branch.Init != nil {
			before[branch] = branch.Init
		}
		p := s.contradiction(before[branch], branch)
		switch cond, isBinary := branch.Cond.(*ast.BinaryExpr); {
		case p != nil:
			likely = append(likely, p)
		case isBinary && (s.keeps(branch.Body, cond.X, cond.Y) || s.keeps(branch.Body, cond.Y, cond.X)):
			extremes = append(extremes, s.turn(cond))
		case s.passed(branch):
			others = append(others, s.turn(branch.Cond))
		}
	}
	return likely, append(extremes, others...)
}

// contradiction looks at a branch, and the statement before it.
func (s *source) contradiction(before ast.Stmt, branch *ast.IfStmt) proposal {
	switch cond := branch.Cond.(type) {
	case *ast.UnaryExpr:
		if v := valueOf(before, cond.X); cond.Op == token.NOT && v != "" && reads(branch.Body, v) {
			return proposal{{cond.OpPos, cond.OpPos + 1, "", fmt.Sprintf("the branch reads %s, so it is there", v)}}
		}
	case *ast.BinaryExpr:
		x := s.code(cond.X)
		of := s.lenOf(cond.X)
		switch y := s.code(cond.Y); {
		case cond.Op != token.EQL:
		case y == "nil" && s.tells(cond.X, branch.Body) || y == "nil" && s.looksInto(x, branch.Body) ||
			y == "0" && of != "" && s.looksInto(of, branch.Body):
			return proposal{{cond.OpPos, cond.OpPos + 2, "!=", fmt.Sprintf("the branch needs %s, so it is not %s", x, y)}}
		}
	}
	return nil
}

// turn turns a condition around: a comparison to its mirror, else to the
// opposite.
func (s *source) turn(cond ast.Expr) proposal {
	why := fmt.Sprintf("%s is the wrong way round", s.code(cond))
	switch c := cond.(type) {
	case *ast.UnaryExpr:
		if c.Op == token.NOT {
			return proposal{{c.OpPos, c.OpPos + 1, "", why}}
		}
	case *ast.BinaryExpr:
		if to, ok := mirrored[c.Op]; ok {
			return proposal{{c.OpPos, c.OpPos + token.Pos(len(c.Op.String())), to.String(), why}}
		}
	}
	return proposal{{cond.Pos(), cond.Pos(), "!(", why}, {cond.End(), cond.End(), ")", ""}}
}

var mirrored = map[token.Token]token.Token{
	token.LSS: token.GTR, token.LEQ: token.GEQ, token.GTR: token.LSS, token.GEQ: token.LEQ,
	token.EQL: token.NEQ, token.NEQ: token.EQL,
}

// tells reports whether x is an error of which a branch tells.
func (s *source) tells(x ast.Expr, body *ast.BlockStmt) bool {
	id, ok := x.(*ast.Ident)
	t := s.typeOf(x)
	return ok && t != nil && isError(t) && reads(body, id.Name)
}

// looksInto reports whether a branch reads an element or a member of what is
// written like x, before it assigns to it.
func (s *source) looksInto(x string, body *ast.BlockStmt) bool {
	for n := range ast.Preorder(body) {
		var of ast.Expr
		switch n := n.(type) {
		case *ast.AssignStmt:
			if slices.ContainsFunc(n.Lhs, func(l ast.Expr) bool { return s.code(l) == x }) {
				return false
			}
		case *ast.StarExpr:
			of = n.X
		case *ast.IndexExpr:
			if !isMap(s.typeOf(n.X)) { // reading a nil map is fine
				of = n.X
			}
		case *ast.SelectorExpr:
			if sel := s.info.Selections[n]; sel != nil && sel.Kind() == types.FieldVal { // methods may take nil
				of = n.X
			}
		}
		if of != nil && s.code(of) == x {
			return true
		}
	}
	return false
}

// valueOf returns v for v, ok := … and the condition ok.
func valueOf(init ast.Stmt, ok ast.Expr) string {
	a, isAssign := init.(*ast.AssignStmt)
	name, isIdent := ok.(*ast.Ident)
	if !isAssign || !isIdent || len(a.Lhs) != 2 {
		return ""
	}
	v, isV := a.Lhs[0].(*ast.Ident)
	flag, isFlag := a.Lhs[1].(*ast.Ident)
	if !isV || !isFlag || flag.Name != name.Name || v.Name == "_" {
		return ""
	}
	return v.Name
}

// reads reports whether a branch mentions the name before it assigns to it.
func reads(body *ast.BlockStmt, name string) bool {
	is := func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		return ok && id.Name == name
	}
	for n := range ast.Preorder(body) {
		if a, ok := n.(*ast.AssignStmt); ok && slices.ContainsFunc(a.Lhs, func(l ast.Expr) bool { return is(l) }) {
			return false
		}
		if is(n) {
			return true
		}
	}
	return false
}

// keeps reports whether a branch assigns x to best.
func (s *source) keeps(body *ast.BlockStmt, x, best ast.Expr) bool {
	for _, stmt := range body.List {
		a, ok := stmt.(*ast.AssignStmt)
		if !ok || a.Tok != token.ASSIGN || len(a.Lhs) != len(a.Rhs) {
			continue
		}
		for i := range a.Lhs {
			if s.code(a.Lhs[i]) == s.code(best) && s.code(a.Rhs[i]) == s.code(x) {
				return true
			}
		}
	}
	return false
}
