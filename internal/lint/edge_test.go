package lint_test

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// edgeRule checks that an error of a part of the host passes package guard
// before anything looks at it. A call of such a part stands in guard.Returned,
// is returned by a function given to guard.Do or by a method that only passes
// it on, or has guard.Error in the statement behind it. Stores are guarded
// where an Agent takes one.
func edgeRule(r *repo) []string {
	var out []string
	for _, u := range r.units() {
		for _, f := range u.files {
			if !f.library() || u.dir == "internal/guard" || strings.HasSuffix(u.dir, "test") || under(u.dir, "contrib") {
				continue
			}
			var above []ast.Node
			ast.Inspect(f.ast, func(n ast.Node) bool {
				if n == nil {
					above = above[:len(above)-1]
					return true
				}
				if call, ok := n.(*ast.CallExpr); ok && r.mayFail(u.info.Uses[callee(call)]) && !guarded(call, above) {
					out = append(out, r.at(call, "an error of the host's %s is used before package guard has seen it", callee(call).Name))
				}
				above = append(above, n)
				return true
			})
		}
	}
	return out
}

// mayFail reports whether o belongs to a host and returns an error: a method of
// an exported interface, or a function in an exported field or of an exported
// type.
func (r *repo) mayFail(o types.Object) bool {
	if o == nil || o.Pkg() == nil || !under(o.Pkg().Path(), r.module) || o.Pkg().Path() == r.module+"/store" {
		return false
	}
	sig, ok := o.Type().Underlying().(*types.Signature)
	if !ok || !strings.HasSuffix(sig.Results().String(), "error)") {
		return false
	}
	of := o.Type()
	switch v, isVar := o.(*types.Var); {
	case isVar && v.IsField():
		return v.Exported()
	case sig.Recv() != nil && types.IsInterface(sig.Recv().Type()) && o.Exported():
		of = sig.Recv().Type()
	case !isVar: // of ours, or a conversion
		return false
	}
	named, ok := of.(*types.Named)
	return ok && named.Obj().Exported()
}

// guarded reports whether a call below the given nodes is one that edgeRule
// allows.
func guarded(call *ast.CallExpr, above []ast.Node) bool {
	parent := above[len(above)-1]
	_, returned := parent.(*ast.ReturnStmt)
	for i := len(above) - 1; i >= 0 && !mentions(parent, "Returned") && !mentions(parent, "Error"); i-- {
		switch fn := above[i].(type) {
		case *ast.BlockStmt:
			if next := slices.Index(fn.List, above[i+1].(ast.Stmt)) + 1; next < len(fn.List) && mentions(fn.List[next], "Error") {
				return true
			}
		case *ast.FuncLit:
			return returned && mentions(above[i-1], "Do")
		case *ast.FuncDecl:
			_, own := call.Fun.(*ast.Ident) // a receiver that is a function
			return returned && fn.Recv != nil && (own || fn.Name.Name == callee(call).Name)
		}
	}
	return true
}

// mentions reports whether a function of package guard stands in n.
func mentions(n ast.Node, name string) bool {
	return slices.ContainsFunc(uses(n), func(u use) bool { return u.name == "guard."+name })
}

// callee is the name of what is called, nil if it has none.
func callee(call *ast.CallExpr) *ast.Ident {
	if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
		return sel.Sel
	}
	id, _ := call.Fun.(*ast.Ident)
	return id
}
