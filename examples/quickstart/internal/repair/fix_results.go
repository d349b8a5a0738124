package repair

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// findResults completes assignments that take one result too few when the
// last one is an error. Where the function around returns an error, the new
// one is returned; elsewhere it is dropped.
func findResults(s *source) []edit {
	var edits []edit
	for _, f := range s.files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			sig, ok := s.info.Defs[fn.Name].Type().(*types.Signature)
			if !ok {
				continue
			}
			declares := false // an err that the assignments after it need: left to the next pass
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if _, ok := n.(*ast.FuncLit); ok {
					return false // its results are not those of fn
				}
				for _, stmt := range statements(n) {
					a, ok := stmt.(*ast.AssignStmt)
					if ok && !declares {
						var es []edit
						es, declares = s.completeAssign(a, sig)
						edits = append(edits, es...)
					}
				}
				return true
			})
		}
	}
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
	if !ok || sig.Results().Len() != len(a.Lhs)+1 || !isError(sig.Results().At(len(a.Lhs)).Type()) {
		return nil, false
	}
	last := a.Lhs[len(a.Lhs)-1]
	if around.Results().Len() == 0 || !isError(around.Results().At(around.Results().Len()-1).Type()) {
		return []edit{{last.End(), last.End(), ", _", fmt.Sprintf("drop the error of %s", s.code(call.Fun))}}, false
	}
	if a.Tok == token.ASSIGN {
		if _, o := s.scopeAt(a).LookupParent("err", a.Pos()); o == nil {
			declares = true
			edits = append(edits, edit{a.Pos(), a.Pos(), "var err error\n", ""})
		}
	}
	edits = append(edits,
		edit{last.End(), last.End(), ", err", fmt.Sprintf("return the error of %s", s.code(call.Fun))},
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
