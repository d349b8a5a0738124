package repair

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// findConversions wraps values whose type does not fit in a conversion: the
// operands of an operator, and what is assigned, passed, returned, sent, looked
// up or put into a literal. Numbers are converted to numbers, strings to and
// from their bytes and runes, a single byte or rune to a string.
// A variable that fits nowhere may have been given another type where it was
// declared.
func findConversions(s *source) (likely, others []proposal) {
	fit := func(e ast.Expr, want types.Type) {
		have := s.typeOf(e)
		if have == nil || want == nil || types.AssignableTo(have, want) || s.isFree(e) || !converts(have, want) {
			return
		}
		likely = append(likely, s.convert(e, want))
		others = append(others, s.convertDeclared(e, want)...)
		others = append(others, s.convertOperands(e, want)...)
	}
	for _, f := range s.files {
		var results []*types.Tuple // of the functions around the node
		var walk func(ast.Node) bool
		within := func(t types.Type, body *ast.BlockStmt) bool {
			if sig, ok := t.(*types.Signature); ok && body != nil {
				results = append(results, sig.Results())
				ast.Inspect(body, walk)
				results = results[:len(results)-1]
			}
			return false
		}
		walk = func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				return within(s.info.Defs[n.Name].Type(), n.Body)
			case *ast.FuncLit:
				return within(s.typeOf(n), n.Body)
			case *ast.BinaryExpr:
				best, other := s.matchOperands(n.X, n.Y, n.Op)
				likely, others = append(likely, best...), append(others, other...)
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
						have, want := s.typeOf(n.Lhs[i]), s.typeOf(n.Rhs[i])
						if have != nil && want != nil && !types.AssignableTo(want, have) {
							others = append(others, s.convertDeclared(n.Lhs[i], want)...)
						}
					}
				}
			case *ast.CallExpr:
				s.fitArguments(n, fit)
			default:
				s.fitElements(n, fit)
			}
			return true
		}
		ast.Inspect(f, walk)
	}
	return likely, others
}

// convertDeclared converts what a variable was declared with.
func (s *source) convertDeclared(e ast.Expr, want types.Type) (ps []proposal) {
	o := s.objectOf(e)
	if _, ok := e.(*ast.Ident); !ok || o == nil || !converts(o.Type(), want) {
		return nil
	}
	for n := range s.nodes() {
		if a, ok := n.(*ast.AssignStmt); ok && a.Tok == token.DEFINE && len(a.Lhs) == len(a.Rhs) {
			for i, l := range a.Lhs {
				if id, ok := l.(*ast.Ident); ok && s.info.Defs[id] == o {
					ps = append(ps, s.convert(a.Rhs[i], want))
				}
			}
		}
	}
	return ps
}

// convertOperands converts the operands of an operator instead of its result.
func (s *source) convertOperands(e ast.Expr, want types.Type) []proposal {
	b, ok := ast.Unparen(e).(*ast.BinaryExpr)
	if !ok {
		return nil
	}
	var p proposal
	for i, x := range []ast.Expr{b.X, b.Y} {
		shifts := i == 1 && (b.Op == token.SHL || b.Op == token.SHR)
		if t := s.typeOf(x); t != nil && !shifts && !s.isFree(x) && converts(t, want) && !types.Identical(t, want) {
			p = append(p, s.convert(x, want)...)
		}
	}
	if len(p) == 0 {
		return nil
	}
	return []proposal{p}
}

// fitElements fits what a declaration, a literal, a send or the index of a map
// holds to its place.
func (s *source) fitElements(n ast.Node, fit func(ast.Expr, types.Type)) {
	switch n := n.(type) {
	case *ast.ValueSpec:
		for _, v := range n.Values {
			if n.Type != nil {
				fit(v, s.typeOf(n.Type))
			}
		}
	case *ast.SendStmt:
		if c, ok := under(s.typeOf(n.Chan)).(*types.Chan); ok {
			fit(n.Value, c.Elem())
		}
	case *ast.IndexExpr:
		if m, ok := under(s.typeOf(n.X)).(*types.Map); ok {
			fit(n.Index, m.Key())
		}
	case *ast.CompositeLit:
		for i, e := range n.Elts {
			kv, keyed := e.(*ast.KeyValueExpr)
			if keyed {
				e = kv.Value
			}
			switch t := under(s.typeOf(n)).(type) {
			case *types.Map:
				if keyed {
					fit(kv.Key, t.Key())
				}
				fit(e, t.Elem())
			case interface{ Elem() types.Type }: // a slice or an array
				fit(e, t.Elem())
			case *types.Struct:
				for j := range t.NumFields() {
					if !keyed && i == j || keyed && s.code(kv.Key) == t.Field(j).Name() {
						fit(e, t.Field(j).Type())
					}
				}
			}
		}
	}
}

// fitArguments fits the arguments of a call to its parameters.
func (s *source) fitArguments(call *ast.CallExpr, fit func(ast.Expr, types.Type)) {
	if s.objectOf(call.Fun) == types.Universe.Lookup("append") && !call.Ellipsis.IsValid() {
		if t, ok := under(s.typeOf(call.Args[0])).(*types.Slice); ok {
			for _, arg := range call.Args[1:] {
				fit(arg, t.Elem())
			}
		}
		return
	}
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
// to the type of the other: best the one that holds less.
func (s *source) matchOperands(x, y ast.Expr, op token.Token) (best, others []proposal) {
	tx, ty := s.typeOf(x), s.typeOf(y)
	if tx == nil || ty == nil || op == token.SHL || op == token.SHR || types.Identical(tx, ty) {
		return nil, nil
	}
	var ps []proposal
	for _, side := range []struct {
		e    ast.Expr
		have types.Type
		want types.Type
	}{{y, ty, tx}, {x, tx, ty}} {
		if want := types.Default(side.want); !s.isFree(side.e) && converts(side.have, want) {
			ps = append(ps, s.convert(side.e, want))
			others = append(others, s.convertDeclared(side.e, want)...)
			others = append(others, s.convertOperands(side.e, want)...)
		}
	}
	if len(ps) == 2 && capacity(ty) > capacity(tx) {
		slices.Reverse(ps)
	}
	if len(ps) > 1 {
		others = append(ps[1:], others...)
	}
	return ps[:min(1, len(ps))], others
}

// isFree reports whether an expression is a constant that takes the type that is
// asked for; one that does not fit is a different mistake.
func (s *source) isFree(e ast.Expr) bool {
	if s.info.Types[e].Value == nil {
		return false
	}
	for n := range ast.Preorder(e) {
		switch n := n.(type) {
		case *ast.CallExpr: // a conversion, or len of an array
			return false
		case *ast.Ident:
			if c, ok := s.info.Uses[n].(*types.Const); ok && basic(c.Type())&types.IsUntyped == 0 {
				return false
			}
		}
	}
	return true
}

// converts reports whether a conversion from one type to the other keeps the
// meaning: number to number, text to text.
func converts(from, to types.Type) bool {
	if types.IsInterface(from) || types.IsInterface(to) {
		return false
	}
	return isNumber(from) && isNumber(to) || isText(from) && isText(to) && types.ConvertibleTo(from, to) ||
		isLetter(from) && isString(to)
}

// isLetter reports whether t is the type of a byte or a rune.
func isLetter(t types.Type) bool {
	b, ok := under(t).(*types.Basic)
	return ok && (b.Kind() == types.Byte || b.Kind() == types.Rune)
}

func isString(t types.Type) bool { return basic(t)&(types.IsString|types.IsUntyped) == types.IsString }

func isNumber(t types.Type) bool {
	return basic(t)&(types.IsInteger|types.IsFloat) != 0 && basic(t)&types.IsUntyped == 0
}

func isText(t types.Type) bool {
	u, ok := under(t).(*types.Slice)
	return ok && isLetter(u.Elem()) || isString(t)
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
func (s *source) convert(e ast.Expr, t types.Type) proposal {
	name := s.typeString(t)
	open := name + "("
	if strings.HasPrefix(name, "*") || strings.HasPrefix(name, "func") {
		open = "(" + name + ")("
	}
	return proposal{
		{e.Pos(), e.Pos(), open, fmt.Sprintf("convert %s to %s", s.code(e), name)},
		{e.End(), e.End(), ")", ""},
	}
}
