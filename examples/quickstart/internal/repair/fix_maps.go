package repair

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// findMaps makes maps that are written to but never made: variables declared
// without a value, fields that a struct literal leaves out, and maps within
// maps.
func findMaps(s *source) []edit {
	written := s.writtenMaps()
	var edits []edit
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				edits = append(edits, s.makeVariable(n, written)...)
			case *ast.CompositeLit:
				edits = append(edits, s.makeFields(n, written)...)
			}
			for _, stmt := range statements(n) {
				edits = append(edits, s.makeInner(stmt)...)
			}
			return true
		})
	}
	return edits
}

// writtenMaps returns the variables and fields m of map type that occur in
// m[k] = v and are nowhere assigned themselves.
func (s *source) writtenMaps() map[types.Object]bool {
	written, assigned := map[types.Object]bool{}, map[types.Object]bool{}
	mark := func(e ast.Expr) {
		ix, ok := e.(*ast.IndexExpr)
		if !ok {
			assigned[s.objectOf(e)] = true
			return
		}
		if t := s.typeOf(ix.X); t != nil && isMap(t) {
			written[s.objectOf(ix.X)] = true
		}
	}
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, l := range n.Lhs {
					mark(l)
				}
			case *ast.IncDecStmt:
				mark(n.X)
			}
			return true
		})
	}
	for o := range assigned {
		delete(written, o)
	}
	delete(written, nil)
	return written
}

// objectOf returns the variable or field that an expression denotes.
func (s *source) objectOf(e ast.Expr) types.Object {
	switch e := e.(type) {
	case *ast.Ident:
		return s.info.ObjectOf(e)
	case *ast.SelectorExpr:
		return s.info.ObjectOf(e.Sel)
	}
	return nil
}

func (s *source) makeVariable(spec *ast.ValueSpec, written map[types.Object]bool) []edit {
	if len(spec.Names) != 1 || len(spec.Values) > 0 || !written[s.info.Defs[spec.Names[0]]] {
		return nil
	}
	text := fmt.Sprintf(" = make(%s)", s.code(spec.Type))
	if t, ok := spec.Type.(*ast.MapType); ok {
		why := fmt.Sprintf("make the map %s", spec.Names[0].Name)
		return []edit{{t.Pos(), t.End(), text[1:], why}}
	}
	return []edit{{spec.End(), spec.End(), text, fmt.Sprintf("make the map %s", spec.Names[0].Name)}}
}

func (s *source) makeFields(lit *ast.CompositeLit, written map[types.Object]bool) []edit {
	t := s.typeOf(lit)
	if t == nil {
		return nil
	}
	st, ok := t.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	set := map[string]bool{}
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return nil // positional: complete by definition
		}
		if key, ok := kv.Key.(*ast.Ident); ok {
			set[key.Name] = true
		}
	}
	var edits []edit
	for v := range st.Fields() {
		if set[v.Name()] || !written[v] || !isMap(v.Type()) {
			continue
		}
		text := fmt.Sprintf("%s: make(%s)", v.Name(), s.typeString(v.Type()))
		at := lit.Lbrace + 1
		if len(lit.Elts) > 0 {
			at = lit.Elts[len(lit.Elts)-1].End()
			text = ", " + text
		} else if len(edits) > 0 {
			text = ", " + text
		}
		edits = append(edits, edit{at, at, text, fmt.Sprintf("make the map %s", v.Name())})
	}
	return edits
}

// makeInner makes m[k] before m[k][j] = v, unless the statement before looks
// after it. Only writes with a plain index are understood.
func (s *source) makeInner(stmt ast.Stmt) []edit {
	var left ast.Expr
	switch n := stmt.(type) {
	case *ast.AssignStmt:
		left = n.Lhs[0]
	case *ast.IncDecStmt:
		left = n.X
	default:
		return nil
	}
	outer, ok := left.(*ast.IndexExpr)
	if !ok {
		return nil
	}
	inner, ok := outer.X.(*ast.IndexExpr)
	if !ok {
		return nil
	}
	t, mt := s.typeOf(inner), s.typeOf(inner.X)
	if t == nil || mt == nil || !isMap(t) || !isMap(mt) || s.assigns(inner) {
		return nil
	}
	text := fmt.Sprintf("if %[1]s == nil {\n%[1]s = make(%[2]s)\n}\n", s.code(inner), s.typeString(t))
	return []edit{{stmt.Pos(), stmt.Pos(), text, fmt.Sprintf("make the map %s", s.code(inner))}}
}

// assigns reports whether any statement of the package assigns to an
// expression written like e.
func (s *source) assigns(e ast.Expr) bool {
	want, found := s.code(e), false
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			if a, ok := n.(*ast.AssignStmt); ok && a.Tok == token.ASSIGN {
				for _, l := range a.Lhs {
					found = found || s.code(l) == want
				}
			}
			return !found
		})
	}
	return found
}

func isMap(t types.Type) bool {
	_, ok := t.Underlying().(*types.Map)
	return ok
}
