package repair

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// findMaps makes maps that are written to but never made: variables declared
// without a value, fields that a struct literal leaves out, and maps within
// maps. Fields of structs that no literal makes are made where they are written.
func findMaps(s *source) []edit {
	written, assigned := s.writtenMaps()
	edits := s.makeMissing(written, assigned)
	if len(edits) == 0 {
		edits = s.makeAtWrites(written, assigned)
	}
	return edits
}

func (s *source) makeMissing(written, assigned map[types.Object]bool) (edits []edit) {
	for _, f := range s.files {
		for _, d := range f.Decls {
			here := map[types.Object]bool{} // assigned in this function
			s.assignments(d, nil, here)
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ValueSpec:
					edits = append(edits, s.makeVariable(n, written, assigned)...)
				case *ast.CompositeLit:
					edits = append(edits, s.makeFields(n, written, here)...)
				case *ast.FuncDecl:
					edits = append(edits, s.makeResults(n, written, assigned)...)
				}
				for _, stmt := range statements(n) {
					edits = append(edits, s.makeInner(stmt)...)
				}
				if branch, ok := n.(*ast.IfStmt); ok {
					edits = append(edits, s.makeChecked(branch)...)
				}
				return true
			})
		}
	}
	return edits
}

// makeChecked makes m in a branch for m == nil that goes on without it.
func (s *source) makeChecked(branch *ast.IfStmt) []edit {
	cond, ok := branch.Cond.(*ast.BinaryExpr)
	if !ok || cond.Op != token.EQL || s.code(cond.Y) != "nil" {
		return nil
	}
	if t := s.typeOf(cond.X); t == nil || !isMap(t) {
		return nil
	}
	here := map[types.Object]bool{}
	s.assignments(branch.Body, nil, here)
	leaves := false
	ast.Inspect(branch.Body, func(n ast.Node) bool {
		_, isReturn := n.(*ast.ReturnStmt)
		_, isBranch := n.(*ast.BranchStmt)
		leaves = leaves || isReturn || isBranch
		return true
	})
	if o := s.objectOf(cond.X); o == nil || here[o] || leaves {
		return nil
	}
	at := branch.Body.Lbrace + 1
	text := fmt.Sprintf("\n%s = make(%s)", s.code(cond.X), s.typeString(s.typeOf(cond.X)))
	return []edit{{at, at, text, fmt.Sprintf("make the map %s", s.code(cond.X))}}
}

// makeAtWrites makes the fields that are written to and nowhere made before
// each write.
func (s *source) makeAtWrites(written, assigned map[types.Object]bool) (edits []edit) {
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			for _, stmt := range statements(n) {
				var left ast.Expr
				switch n := stmt.(type) {
				case *ast.AssignStmt:
					left = n.Lhs[0]
				case *ast.IncDecStmt:
					left = n.X
				}
				if ix, ok := left.(*ast.IndexExpr); ok {
					o, ok := s.objectOf(ix.X).(*types.Var)
					if ok && o.IsField() && written[o] && !assigned[o] {
						edits = append(edits, s.makeBefore(stmt, ix.X))
					}
				}
			}
			return true
		})
	}
	return edits
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
		if t := s.typeOf(ix.X); t != nil && isMap(t) && written != nil {
			written[s.objectOf(ix.X)] = true
		}
	}
	ast.Inspect(n, func(n ast.Node) bool {
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

func (s *source) makeVariable(spec *ast.ValueSpec, written, assigned map[types.Object]bool) []edit {
	if len(spec.Names) != 1 || len(spec.Values) > 0 {
		return nil
	}
	if o := s.info.Defs[spec.Names[0]]; !written[o] || assigned[o] {
		return nil
	}
	text := fmt.Sprintf(" = make(%s)", s.code(spec.Type))
	if t, ok := spec.Type.(*ast.MapType); ok {
		why := fmt.Sprintf("make the map %s", spec.Names[0].Name)
		return []edit{{t.Pos(), t.End(), text[1:], why}}
	}
	return []edit{{spec.End(), spec.End(), text, fmt.Sprintf("make the map %s", spec.Names[0].Name)}}
}

// makeResults makes the results of a function that have a name, are written to
// and nowhere made.
func (s *source) makeResults(fn *ast.FuncDecl, written, assigned map[types.Object]bool) (edits []edit) {
	if fn.Type.Results == nil || fn.Body == nil {
		return nil
	}
	for _, field := range fn.Type.Results.List {
		for _, name := range field.Names {
			if o := s.info.Defs[name]; written[o] && !assigned[o] {
				at := fn.Body.Lbrace + 1
				text := fmt.Sprintf("\n%s = make(%s)", name.Name, s.code(field.Type))
				edits = append(edits, edit{at, at, text, fmt.Sprintf("make the map %s", name.Name)})
			}
		}
	}
	return edits
}

// makeFields makes the maps that a literal leaves out, unless they are assigned
// here, in the function around it.
func (s *source) makeFields(lit *ast.CompositeLit, written, here map[types.Object]bool) []edit {
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
		if set[v.Name()] || !written[v] || here[v] || !isMap(v.Type()) {
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
	return []edit{s.makeBefore(stmt, inner)}
}

// makeBefore makes a map before a statement, if it is nil.
func (s *source) makeBefore(stmt ast.Stmt, m ast.Expr) edit {
	text := fmt.Sprintf("if %[1]s == nil {\n%[1]s = make(%[2]s)\n}\n", s.code(m), s.typeString(s.typeOf(m)))
	return edit{stmt.Pos(), stmt.Pos(), text, fmt.Sprintf("make the map %s", s.code(m))}
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
