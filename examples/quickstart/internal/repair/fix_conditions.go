package repair

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// findConditions turns around conditions that their own branch contradicts:
// a branch for err == nil that returns err, a branch for !ok that returns the
// value that ok vouches for, and a comparison that keeps the smaller value in
// a function named after the larger, or the reverse.
func findConditions(s *source) []edit {
	var edits []edit
	for _, f := range s.files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if branch, ok := n.(*ast.IfStmt); ok {
					edits = append(edits, s.contradiction(fn.Name.Name, branch)...)
				}
				return true
			})
		}
	}
	return edits
}

func (s *source) contradiction(function string, branch *ast.IfStmt) []edit {
	switch cond := branch.Cond.(type) {
	case *ast.UnaryExpr:
		if v := valueOf(branch.Init, cond.X); cond.Op == token.NOT && v != "" && returns(branch.Body, v) {
			return []edit{{cond.OpPos, cond.OpPos + 1, "", fmt.Sprintf("the branch returns %s, so it is there", v)}}
		}
	case *ast.BinaryExpr:
		x, ok := cond.X.(*ast.Ident)
		if !ok {
			return nil
		}
		if t := s.typeOf(x); cond.Op == token.EQL && s.code(cond.Y) == "nil" && t != nil && isError(t) && returns(branch.Body, x.Name) {
			return []edit{{cond.OpPos, cond.OpPos + 2, "!=", fmt.Sprintf("the branch returns %s, so it is not nil", x.Name)}}
		}
		return s.wrongExtreme(function, cond, branch.Body)
	}
	return nil
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

// returns reports whether the branch has a return that mentions the name.
func returns(body *ast.BlockStmt, name string) bool {
	found := false
	for _, stmt := range body.List {
		if r, ok := stmt.(*ast.ReturnStmt); ok {
			for _, e := range r.Results {
				ast.Inspect(e, func(n ast.Node) bool {
					id, ok := n.(*ast.Ident)
					found = found || ok && id.Name == name
					return !found
				})
			}
		}
	}
	return found
}

// wrongExtreme looks at if x < best { best = x } in a function whose name
// promises the largest, and the reverse.
func (s *source) wrongExtreme(function string, cond *ast.BinaryExpr, body *ast.BlockStmt) []edit {
	if len(body.List) != 1 {
		return nil
	}
	a, ok := body.List[0].(*ast.AssignStmt)
	if !ok || a.Tok != token.ASSIGN || len(a.Lhs) != 1 || s.code(a.Lhs[0]) != s.code(cond.Y) || s.code(a.Rhs[0]) != s.code(cond.X) {
		return nil
	}
	promises := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(strings.ToLower(function), w) {
				return true
			}
		}
		return false
	}
	switch {
	case cond.Op == token.LSS && promises("max", "largest", "longest", "highest", "peak", "latest"):
		return []edit{{cond.OpPos, cond.OpPos + 1, ">", function + " keeps the larger value"}}
	case cond.Op == token.GTR && promises("min", "smallest", "shortest", "lowest", "earliest"):
		return []edit{{cond.OpPos, cond.OpPos + 1, "<", function + " keeps the smaller value"}}
	}
	return nil
}
