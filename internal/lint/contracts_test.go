package lint_test

import (
	"go/types"
	"slices"
)

// A contract is an interface as the signatures of its methods by name, so that
// one package can be held against another's without being checked with it.
type contract map[string]string

// errorMethods are found by package errors without an interface of a name.
var errorMethods = []string{"Unwrap", "Is", "As"}

// contracts returns the interfaces of this repository and of what its
// packages import.
func (r *repo) contracts() []contract {
	out := []contract{contractOf(types.Universe.Lookup("error").Type().Underlying().(*types.Interface))}
	seen := map[string]bool{}
	add := func(p *types.Package) {
		if seen[p.Path()] {
			return
		}
		seen[p.Path()] = true
		for _, name := range p.Scope().Names() {
			t, ok := p.Scope().Lookup(name).(*types.TypeName)
			if !ok {
				continue
			}
			if i, ok := t.Type().Underlying().(*types.Interface); ok && i.NumMethods() > 0 {
				out = append(out, contractOf(i))
			}
		}
	}
	for _, u := range r.units() {
		if !u.tests {
			add(u.pkg)
		}
	}
	for _, u := range r.units() {
		if !u.tests {
			for _, dep := range u.pkg.Imports() {
				add(dep)
			}
		}
	}
	return out
}

func contractOf(i *types.Interface) contract {
	c := contract{}
	for m := range i.Methods() {
		c[m.Name()] = types.TypeString(m.Type(), nil)
	}
	return c
}

// satisfies reports whether the object is a method without which its type
// would not meet some interface.
func satisfies(o types.Object, contracts []contract) bool {
	if !method(o) {
		return false
	}
	fn := o.(*types.Func)
	has := contract{}
	for sel := range types.NewMethodSet(types.NewPointer(receiverType(fn))).Methods() {
		has[sel.Obj().Name()] = types.TypeString(sel.Type(), nil)
	}
	if has["Error"] == "func() string" && slices.Contains(errorMethods, fn.Name()) {
		return true
	}
	return slices.ContainsFunc(contracts, func(c contract) bool {
		if c[fn.Name()] == "" {
			return false
		}
		for m, signature := range c {
			if has[m] != signature {
				return false
			}
		}
		return true
	})
}
