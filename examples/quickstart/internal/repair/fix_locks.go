package repair

import (
	"fmt"
	"go/ast"
	"go/types"
)

// findLocks makes receivers and parameters pointers when their type holds a
// lock by value, and passes addresses to the functions so changed.
func findLocks(s *source) (likely, others []proposal) {
	var edits proposal
	changed := map[types.Object]map[int]bool{} // function to parameters
	for _, f := range s.files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if fn.Recv != nil {
				for _, field := range fn.Recv.List {
					edits = append(edits, s.byPointer(field.Type)...)
				}
			}
			at := 0
			for _, field := range fn.Type.Params.List {
				es := s.byPointer(field.Type)
				edits = append(edits, es...)
				for range max(1, len(field.Names)) {
					if o := s.info.Defs[fn.Name]; o != nil && len(es) > 0 {
						if changed[o] == nil {
							changed[o] = map[int]bool{}
						}
						changed[o][at] = true
					}
					at++
				}
			}
		}
	}
	if edits = append(edits, s.passAddresses(changed)...); len(edits) > 0 {
		likely = append(likely, edits)
	}
	return likely, nil
}

// byPointer puts a star before a type that holds a lock.
func (s *source) byPointer(e ast.Expr) []edit {
	t := s.typeOf(e)
	if t == nil || !holdsLock(t) {
		return nil
	}
	return []edit{{e.Pos(), e.Pos(), "*", fmt.Sprintf("pass %s by pointer, it holds a lock", s.code(e))}}
}

// passAddresses takes the address of arguments whose parameter became a
// pointer.
func (s *source) passAddresses(changed map[types.Object]map[int]bool) (edits []edit) {
	for n := range s.nodes() {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			continue
		}
		for i, arg := range call.Args {
			if !changed[s.objectOf(call.Fun)][i] {
				continue
			}
			if star, ok := arg.(*ast.StarExpr); ok {
				edits = append(edits, edit{star.Pos(), star.X.Pos(), "", ""})
			} else {
				edits = append(edits, edit{arg.Pos(), arg.Pos(), "&", ""})
			}
		}
	}
	return edits
}

// holdsLock reports whether copying a value of type t copies a lock.
func holdsLock(t types.Type) bool {
	if n, ok := types.Unalias(t).(*types.Named); ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "sync" {
		return n.Obj().Name() != "Locker"
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for f := range u.Fields() {
			if holdsLock(f.Type()) {
				return true
			}
		}
	case *types.Array:
		return holdsLock(u.Elem())
	}
	return false
}
