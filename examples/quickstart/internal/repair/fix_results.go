package repair

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// findResults completes assignments that take fewer results than the call
// returns. An error is returned where the function around returns one, or
// dropped, as are other results.
func findResults(s *source) (likely, others []proposal) {
	for _, f := range s.files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				likely = append(likely, s.complete(fn.Body, s.info.Defs[fn.Name].Type())...)
			}
		}
	}
	return likely, nil
}

// complete returns the proposals for the body of a function of type t.
func (s *source) complete(body *ast.BlockStmt, t types.Type) (ps []proposal) {
	around, ok := t.(*types.Signature)
	if !ok {
		return nil
	}
	declares := false // an err that later assignments need: the next state
	ast.Inspect(body, func(n ast.Node) bool {
		if lit, ok := n.(*ast.FuncLit); ok {
			ps = append(ps, s.complete(lit.Body, s.typeOf(lit))...)
			return false
		}
		for _, stmt := range statements(n) {
			a, ok := stmt.(*ast.AssignStmt)
			if ok && !declares {
				var alternatives []proposal
				alternatives, declares = s.completeAssign(a, around)
				ps = append(ps, alternatives...)
			}
		}
		return true
	})
	return ps
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

// completeAssign returns what may be done to one assignment, and whether that
// declares err.
func (s *source) completeAssign(a *ast.AssignStmt, around *types.Signature) (ps []proposal, declares bool) {
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
	take := func(more, why string) proposal {
		return proposal{{last.End(), last.End(), strings.Repeat(", _", n-1-len(a.Lhs)) + more, why + s.code(call.Fun)}}
	}
	drop := take(", _", "drop other results of ")
	if !endsInError(sig) || !endsInError(around) {
		return []proposal{drop}, false
	}
	withError := take(", err", "return the error of ")
	if a.Tok == token.ASSIGN {
		if _, o := s.scopeAt(a).LookupParent("err", a.Pos()); o == nil {
			declares = true
			withError = append(withError, edit{a.Pos(), a.Pos(), "var err error\n", ""})
		}
	}
	check := func(results string) proposal {
		return append(slices.Clone(withError), edit{a.End(), a.End(), "\nif err != nil {\nreturn " + results + "\n}", ""})
	}
	ps = []proposal{check(s.zeroResults(around) + "err"), drop, withError}
	if named := around.Results().At(0).Name(); named != "" && named != "_" {
		ps = slices.Insert(ps, 1, check("")) // with what the results are by then
	}
	return ps, declares
}

func endsInError(sig *types.Signature) bool {
	n := sig.Results().Len()
	return n > 0 && isError(sig.Results().At(n-1).Type())
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
