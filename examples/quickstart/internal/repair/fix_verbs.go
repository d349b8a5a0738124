package repair

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// findVerbs replaces printf verbs that cannot print their argument by one
// that can, in calls of what takes a format and is named as printf is.
func findVerbs(s *source) (likely, others []proposal) {
	for n := range s.nodes() {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			continue
		}
		if at := s.formatOf(call); at >= 0 && at < len(call.Args) && !call.Ellipsis.IsValid() {
			if lit, ok := call.Args[at].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				likely = append(likely, s.matchVerbs(lit, call.Args[at+1:])...)
			}
		}
	}
	return likely, nil
}

// formatOf returns which argument of a call is a format, -1 for none.
func (s *source) formatOf(call *ast.CallExpr) int {
	fn := s.objectOf(call.Fun)
	sig, ok := s.typeOf(call.Fun).(*types.Signature)
	if !ok || fn == nil || !strings.HasSuffix(fn.Name(), "f") || !sig.Variadic() || sig.Params().Len() < 2 {
		return -1
	}
	at := sig.Params().Len() - 2
	args, ok := sig.Params().At(at + 1).Type().(*types.Slice)
	if !ok || !types.IsInterface(args.Elem()) || !isString(sig.Params().At(at).Type()) {
		return -1
	}
	return at
}

// matchVerbs compares the verbs in the source of a format with the arguments.
// No escape in a Go string contains a percent sign, so that the offsets in the
// source are those of the verbs.
func (s *source) matchVerbs(lit *ast.BasicLit, args []ast.Expr) (ps []proposal) {
	text, arg := lit.Value, 0
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			continue
		}
		start := i
		for i++; i < len(text) && strings.IndexByte("+-# 0123456789.", text[i]) >= 0; i++ {
		}
		switch {
		case i == len(text) || text[i] == '*' || text[i] == '[':
			return ps // widths from arguments: beyond this fixer
		case text[i] == '%':
			continue
		case arg == len(args):
			return ps
		}
		t := s.typeOf(args[arg])
		arg++
		if t == nil || prints(text[i], t) {
			continue
		}
		old, pos := text[start:i+1], lit.Pos()+token.Pos(start)
		for k, verb := range append([]byte{bestVerb(t, text[i])}, "sqvxdgc"...) {
			flags := text[start+1 : i]
			switch whole, _, precise := strings.Cut(flags, "."); {
			case k > 0 && (!prints(verb, t) || verb == bestVerb(t, text[i])):
				continue
			case verb == 'g' && precise:
				verb = 'f' // of g it would be the number of all digits
			case verb != 'g':
				flags = whole
			}
			fixed := "%" + flags + string(verb)
			why := fmt.Sprintf("%s prints %s, not %s", fixed, s.typeString(t), old)
			ps = append(ps, proposal{{pos, pos + token.Pos(len(old)), fixed, why}})
		}
	}
	return ps
}

// prints reports whether a verb can print values of a type. It is stricter
// than it is complete: what it does not know passes.
func prints(verb byte, t types.Type) bool { return printsWithin(verb, t, 8) }

// printsWithin looks that deep into what holds values: types may hold themselves.
func printsWithin(verb byte, t types.Type, depth int) bool {
	switch {
	case depth == 0 || verb == 'v' || verb == 'T' || verb == 'w' && isError(t) || types.IsInterface(t) && !isError(t):
		return true
	case isError(t) || (hasMethod(t, "Error") || hasMethod(t, "String")) && strings.IndexByte("sqxX", verb) >= 0:
		return strings.IndexByte("sqxX", verb) >= 0
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for f := range u.Fields() {
			if !printsWithin(verb, f.Type(), depth-1) {
				return false
			}
		}
		return true
	case *types.Slice:
		return isLetter(u.Elem()) && strings.IndexByte("sqxX", verb) >= 0 || printsWithin(verb, u.Elem(), depth-1)
	case *types.Array:
		return printsWithin(verb, u.Elem(), depth-1)
	case *types.Map:
		return printsWithin(verb, u.Key(), depth-1) && printsWithin(verb, u.Elem(), depth-1)
	}
	verbs := verbsOf(t)
	return verbs == "" || strings.IndexByte(verbs, verb) >= 0
}

// verbsOf lists the verbs for a basic type, the usual one first; "" for others.
func verbsOf(t types.Type) string {
	switch b := basic(t); {
	case b&types.IsInteger != 0:
		return "dboOxXcqU"
	case b&types.IsFloat != 0:
		return "gfeEGxXb"
	case b&types.IsString != 0:
		return "sqxX"
	case b&types.IsBoolean != 0:
		return "t"
	}
	return ""
}

// bestVerb is the verb one would write for a type, in the place of another.
func bestVerb(t types.Type, old byte) byte {
	if old == 's' && isLetter(t) {
		return 'c' // a letter was meant as text
	}
	if hasMethod(t, "Error") || hasMethod(t, "String") {
		return 's'
	}
	return (verbsOf(t) + "v")[0]
}

// hasMethod reports whether values of t have a method of that name.
func hasMethod(t types.Type, name string) bool {
	o, _, _ := types.LookupFieldOrMethod(t, false, nil, name)
	_, ok := o.(*types.Func)
	return ok
}
