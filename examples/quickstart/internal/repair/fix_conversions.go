package repair

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// findConversions wraps values whose type does not fit in a conversion: the
// operands of an operator, and what is assigned, passed or returned. Numbers
// are converted to numbers, strings to and from their bytes and runes.
func findConversions(s *source) []edit {
	var edits []edit
	fit := func(e ast.Expr, want types.Type) {
		have := s.typeOf(e)
		if have == nil || want == nil || types.AssignableTo(have, want) || s.isConstant(e) || !converts(have, want) {
			return
		}
		edits = append(edits, s.convert(e, want)...)
	}
	for _, f := range s.files {
		var results []*types.Tuple // of the functions around the node
		var walk func(ast.Node) bool
		walk = func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if sig, ok := s.info.Defs[n.Name].Type().(*types.Signature); ok && n.Body != nil {
					results = append(results, sig.Results())
					ast.Inspect(n.Body, walk)
					results = results[:len(results)-1]
				}
				return false
			case *ast.FuncLit:
				if sig, ok := s.typeOf(n).(*types.Signature); ok {
					results = append(results, sig.Results())
					ast.Inspect(n.Body, walk)
					results = results[:len(results)-1]
				}
				return false
			case *ast.BinaryExpr:
				edits = append(edits, s.matchOperands(n)...)
			case *ast.ReturnStmt:
				if len(results) > 0 && results[len(results)-1].Len() == len(n.Results) {
					for i, r := range n.Results {
						fit(r, results[len(results)-1].At(i).Type())
					}
				}
			case *ast.AssignStmt:
				if len(n.Lhs) == len(n.Rhs) && n.Tok != token.DEFINE && n.Tok != token.SHL_ASSIGN && n.Tok != token.SHR_ASSIGN {
					for i := range n.Lhs {
						fit(n.Rhs[i], s.typeOf(n.Lhs[i]))
					}
				}
			case *ast.CallExpr:
				s.fitArguments(n, fit)
			}
			return true
		}
		ast.Inspect(f, walk)
	}
	return edits
}

// fitArguments fits the arguments of a call to its parameters.
func (s *source) fitArguments(call *ast.CallExpr, fit func(ast.Expr, types.Type)) {
	sig, ok := s.typeOf(call.Fun).(*types.Signature)
	if !ok || s.info.Types[call.Fun].IsType() {
		return
	}
	for i, arg := range call.Args {
		switch {
		case !sig.Variadic() && i < sig.Params().Len() || i < sig.Params().Len()-1:
			fit(arg, sig.Params().At(i).Type())
		case sig.Variadic() && !call.Ellipsis.IsValid():
			fit(arg, sig.Params().At(sig.Params().Len()-1).Type().(*types.Slice).Elem())
		}
	}
}

// matchOperands converts one operand of an arithmetic or comparing operator
// to the type of the other: to the one that holds more.
func (s *source) matchOperands(n *ast.BinaryExpr) []edit {
	x, y := s.typeOf(n.X), s.typeOf(n.Y)
	shift := n.Op == token.SHL || n.Op == token.SHR
	if x == nil || y == nil || shift || types.Identical(x, y) || s.isConstant(n.X) || s.isConstant(n.Y) {
		return nil
	}
	if !converts(x, y) || !converts(y, x) {
		return nil
	}
	if capacity(x) >= capacity(y) {
		return s.convert(n.Y, x)
	}
	return s.convert(n.X, y)
}

// isConstant reports whether an expression is an untyped or typed constant;
// those that do not fit are a different mistake.
func (s *source) isConstant(e ast.Expr) bool { return s.info.Types[e].Value != nil }

// converts reports whether a conversion from one type to the other keeps the
// meaning: number to number, text to text.
func converts(from, to types.Type) bool {
	if types.IsInterface(from) || types.IsInterface(to) {
		return false
	}
	return isNumber(from) && isNumber(to) || isText(from) && isText(to) && types.ConvertibleTo(from, to)
}

func isNumber(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsInteger|types.IsFloat) != 0 && b.Info()&types.IsUntyped == 0
}

func isText(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() == types.String
	case *types.Slice:
		e, ok := u.Elem().Underlying().(*types.Basic)
		return ok && (e.Kind() == types.Byte || e.Kind() == types.Rune)
	}
	return false
}

// capacity orders types by what they can hold; a named type, which has a
// meaning of its own, comes above the basic types of its class.
func capacity(t types.Type) int {
	b, ok := t.Underlying().(*types.Basic)
	if !ok {
		return 0
	}
	c := map[types.BasicKind]int{
		types.Int8: 1, types.Uint8: 2, types.Int16: 3, types.Uint16: 4, types.Int32: 5, types.Uint32: 6,
		types.Uint: 7, types.Uint64: 8, types.Int: 9, types.Int64: 10, types.String: 10,
		types.Float32: 40, types.Float64: 41,
	}[b.Kind()]
	if _, named := t.(*types.Named); named {
		c += 20
	}
	return c
}

// convert wraps e in a conversion to t.
func (s *source) convert(e ast.Expr, t types.Type) []edit {
	name := s.typeString(t)
	open := name + "("
	if strings.HasPrefix(name, "*") || strings.HasPrefix(name, "func") {
		open = "(" + name + ")("
	}
	return []edit{
		{e.Pos(), e.Pos(), open, fmt.Sprintf("convert %s to %s", s.code(e), name)},
		{e.End(), e.End(), ")", ""},
	}
}
