package lint_test

import "go/types"

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
