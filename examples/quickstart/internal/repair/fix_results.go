package repair

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// findResults completes assignments that take fewer results than the call
// returns. An error is returned where the function around returns one; it is
// dropped elsewhere, as are other results.
func findResults(s *source) []edit {
	var edits []edit
	for _, f := range s.files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				edits = append(edits, s.complete(fn.Body, s.info.Defs[fn.Name].Type())...)
			}
		}
	}
	return edits
}

// complete returns the edits to the body of a function of type t.
func (s *source) complete(body *ast.BlockStmt, t types.Type) (edits []edit) {
	around, ok := t.(*types.Signature)
	if !ok {
		return nil
	}
	declares := false // an err that later assignments need: the next pass
	ast.Inspect(body, func(n ast.Node) bool {
		if lit, ok := n.(*ast.FuncLit); ok {
			edits = append(edits, s.complete(lit.Body, s.typeOf(lit))...)
			return false
		}
		for _, stmt := range statements(n) {
			a, ok := stmt.(*ast.AssignStmt)
			if ok && !declares {
				var es []edit
				es, declares = s.completeAssign(a, around)
				edits = append(edits, es...)
			}
		}
		return true
	})
	return edits
}

// statements returns the statement list of a block or clause.
func statements(n ast.Node) []ast.Stmt {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return n.List
	case *ast.CaseClause:
		return n.Body
	case *ast.CommClause:
		return n.Body
	}
	return nil
}

// completeAssign returns the edits to one assignment, and whether they declare
// err.
func (s *source) completeAssign(a *ast.AssignStmt, around *types.Signature) (edits []edit, declares bool) {
	if len(a.Rhs) != 1 || a.Tok != token.DEFINE && a.Tok != token.ASSIGN {
		return nil, false
	}
	call, ok := a.Rhs[0].(*ast.CallExpr)
	if !ok {
		return nil, false
	}
	sig, ok := s.typeOf(call.Fun).(*types.Signature)
	if !ok || sig.Results().Len() <= len(a.Lhs) {
		return nil, false
	}
	last, n := a.Lhs[len(a.Lhs)-1], sig.Results().Len()
	if !isError(sig.Results().At(n - 1).Type()) {
		dropped := strings.Repeat(", _", n-len(a.Lhs))
		return []edit{{last.End(), last.End(), dropped, fmt.Sprintf("drop other results of %s", s.code(call.Fun))}}, false
	}
	others := strings.Repeat(", _", n-1-len(a.Lhs))
	if around.Results().Len() == 0 || !isError(around.Results().At(around.Results().Len()-1).Type()) {
		return []edit{{last.End(), last.End(), others + ", _", fmt.Sprintf("drop the error of %s", s.code(call.Fun))}}, false
	}
	if a.Tok == token.ASSIGN {
		if _, o := s.scopeAt(a).LookupParent("err", a.Pos()); o == nil {
			declares = true
			edits = append(edits, edit{a.Pos(), a.Pos(), "var err error\n", ""})
		}
	}
	edits = append(edits,
		edit{last.End(), last.End(), others + ", err", fmt.Sprintf("return the error of %s", s.code(call.Fun))},
		edit{a.End(), a.End(), "\nif err != nil {\nreturn " + s.zeroResults(around) + "err\n}", ""})
	return edits, declares
}

// zeroResults writes the zero values of all results but the last.
func (s *source) zeroResults(sig *types.Signature) string {
	var b strings.Builder
	for i := range sig.Results().Len() - 1 {
		b.WriteString(s.zero(sig.Results().At(i).Type()) + ", ")
	}
	return b.String()
}

// zero writes the zero value of a type.
func (s *source) zero(t types.Type) string {
	if _, ok := t.(*types.TypeParam); ok {
		return "*new(" + s.typeString(t) + ")"
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case u.Info()&types.IsString != 0:
			return `""`
		case u.Info()&types.IsBoolean != 0:
			return "false"
		case u.Info()&types.IsNumeric != 0:
			return "0"
		}
	case *types.Struct, *types.Array:
		return s.typeString(t) + "{}"
	}
	return "nil"
}

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }
