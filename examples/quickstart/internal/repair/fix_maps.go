package repair

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
)

// findMaps makes maps that are written to but never made: variables declared
// without a value, fields that a struct literal leaves out, and whatever map a
// statement names in which a panic passed.
func findMaps(s *source) (likely, others []proposal) {
	written, assigned := s.writtenMaps()
	for _, f := range s.files {
		for _, d := range f.Decls {
			here := map[types.Object]bool{} // assigned in this function
			s.assignments(d, nil, here)
			for n := range ast.Preorder(d) {
				var p proposal
				switch n := n.(type) {
				case *ast.ValueSpec:
					p = s.makeVariable(n, written, assigned)
				case *ast.CompositeLit:
					p = s.makeFields(n, written, here)
				case *ast.FuncDecl:
					if s.passed(n) {
						others = append(others, s.makeFirst(n)...)
					}
				}
				if len(p) > 0 {
					likely = append(likely, p)
				}
				for _, stmt := range statements(n) {
					if s.onTrace(stmt) || s.passed(stmt) && s.renames(stmt) {
						others = append(others, s.makeBefore(stmt)...)
					}
				}
			}
		}
	}
	return likely, others
}

// onTrace reports whether a panic passed through a statement: of one that holds
// others, through its first line.
func (s *source) onTrace(stmt ast.Stmt) bool {
	from, to := s.fset.PositionFor(stmt.Pos(), false), s.fset.PositionFor(stmt.End(), false)
	switch stmt.(type) {
	case *ast.AssignStmt, *ast.IncDecStmt, *ast.ExprStmt, *ast.ReturnStmt:
	default:
		to = from
	}
	return slices.ContainsFunc(s.trace, func(t Place) bool {
		return t.File == filepath.Base(from.Filename) && from.Line <= t.Line && t.Line <= to.Line
	})
}

// renames reports whether a statement gives a map another name.
func (s *source) renames(stmt ast.Stmt) bool {
	a, ok := stmt.(*ast.AssignStmt)
	if !ok || len(a.Rhs) != 1 {
		return false
	}
	_, isCall := a.Rhs[0].(*ast.CallExpr)
	return !isCall && isMap(s.typeOf(a.Rhs[0]))
}

// makeFirst makes the parameters and results of a function where it begins.
func (s *source) makeFirst(fn *ast.FuncDecl) (ps []proposal) {
	for n := range ast.Preorder(fn.Type) {
		if field, ok := n.(*ast.Field); ok && fn.Body != nil && isMap(s.typeOf(field.Type)) {
			for _, name := range field.Names {
				ps = append(ps, s.makeNil(fn.Body.Lbrace+1, "\n", name))
			}
		}
	}
	return ps
}

// makeNil makes a map at a place, if it is nil.
func (s *source) makeNil(at token.Pos, before string, m ast.Expr) proposal {
	text := fmt.Sprintf("%[1]sif %[2]s == nil {\n%[2]s = make(%[3]s)\n}\n", before, s.code(m), s.typeString(s.typeOf(m)))
	return proposal{{at, at, text, fmt.Sprintf("make the map %s", s.code(m))}}
}

// makeBefore makes each map that a statement names, if it is nil.
func (s *source) makeBefore(stmt ast.Stmt) (ps []proposal) {
	seen := map[string]bool{}
	ast.Inspect(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt, *ast.FuncLit:
			return false
		case *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr:
			e := n.(ast.Expr)
			if m := s.code(e); isMap(s.typeOf(e)) && !s.info.Types[e].IsType() && !seen[m] {
				seen[m] = true
				ps = append(ps, s.makeNil(stmt.Pos(), "", e))
			}
		}
		return true
	})
	return ps
}

// writtenMaps returns the variables and fields m of map type that occur in
// m[k] = v, and those that are assigned themselves.
func (s *source) writtenMaps() (written, assigned map[types.Object]bool) {
	written, assigned = map[types.Object]bool{}, map[types.Object]bool{}
	for _, f := range s.files {
		s.assignments(f, written, assigned)
	}
	delete(written, nil)
	return written, assigned
}

// assignments adds what a node assigns to, and the maps in which it writes.
func (s *source) assignments(n ast.Node, written, assigned map[types.Object]bool) {
	mark := func(e ast.Expr) {
		ix, ok := e.(*ast.IndexExpr)
		if !ok {
			assigned[s.objectOf(e)] = true
			return
		}
		if isMap(s.typeOf(ix.X)) && written != nil {
			written[s.objectOf(ix.X)] = true
		}
	}
	for n := range ast.Preorder(n) {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				mark(l)
			}
		case *ast.IncDecStmt:
			mark(n.X)
		}
	}
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

func (s *source) makeVariable(spec *ast.ValueSpec, written, assigned map[types.Object]bool) proposal {
	if len(spec.Names) != 1 || len(spec.Values) > 0 {
		return nil
	}
	if o := s.info.Defs[spec.Names[0]]; !written[o] || assigned[o] {
		return nil
	}
	text, why := fmt.Sprintf("= make(%s)", s.code(spec.Type)), fmt.Sprintf("make the map %s", spec.Names[0].Name)
	if t, ok := spec.Type.(*ast.MapType); ok {
		return proposal{{t.Pos(), t.End(), text, why}}
	}
	return proposal{{spec.End(), spec.End(), " " + text, why}}
}

// makeFields makes the maps that a literal leaves out, unless they are assigned
// here, in the function around it.
func (s *source) makeFields(lit *ast.CompositeLit, written, here map[types.Object]bool) proposal {
	st, ok := under(s.typeOf(lit)).(*types.Struct)
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
	var edits proposal
	for v := range st.Fields() {
		if set[v.Name()] || !written[v] || here[v] || !isMap(v.Type()) {
			continue
		}
		text := fmt.Sprintf("%s: make(%s)", v.Name(), s.typeString(v.Type()))
		at := lit.Lbrace + 1
		if len(lit.Elts) > 0 {
			at = lit.Elts[len(lit.Elts)-1].End()
		}
		if len(lit.Elts)+len(edits) > 0 {
			text = ", " + text
		}
		edits = append(edits, edit{at, at, text, fmt.Sprintf("make the map %s", v.Name())})
	}
	return edits
}

func isMap(t types.Type) bool {
	_, ok := under(t).(*types.Map)
	return ok
}
