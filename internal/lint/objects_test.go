package lint_test

import (
	"go/ast"
	"go/types"
	"slices"
)

// wantsUse reports whether the object is part of its package's surface.
func wantsUse(u *unit, o types.Object) bool {
	if method(o) {
		t := receiverType(o.(*types.Func))
		return o.Exported() && t != nil && t.Obj().Exported() && !types.IsInterface(t)
	}
	return o.Exported() && o.Parent() == u.pkg.Scope()
}

func method(o types.Object) bool {
	fn, ok := o.(*types.Func)
	return ok && fn.Signature().Recv() != nil
}

func receiverType(fn *types.Func) *types.Named {
	t := fn.Signature().Recv().Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	named, _ := types.Unalias(t).(*types.Named)
	return named
}

// name returns what an object is called in every package: path.Name, or
// path.Type.Method.
func name(o types.Object) string {
	if method(o) {
		if t := receiverType(o.(*types.Func).Origin()); t != nil {
			return t.Obj().Pkg().Path() + "." + t.Obj().Name() + "." + o.Name()
		}
	}
	return o.Pkg().Path() + "." + o.Name()
}

// declares reports whether the file has a function or method of that name.
func (r *repo) declares(path, name string) bool {
	return slices.ContainsFunc(r.files, func(f *file) bool {
		return f.path == path && slices.ContainsFunc(f.ast.Decls, func(d ast.Decl) bool {
			fn, ok := d.(*ast.FuncDecl)
			return ok && fn.Name.Name == name
		})
	})
}

// mentions reports whether the file names the function outside its declaration.
func (r *repo) mentions(path, name string) bool {
	found := false
	for _, f := range r.files {
		if f.path != path {
			continue
		}
		own := map[*ast.Ident]bool{}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				own[n.Name] = true
			case *ast.Ident:
				found = found || n.Name == name && !own[n]
			}
			return !found
		})
	}
	return found
}
