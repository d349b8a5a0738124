package repair

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// formatArgument says which argument of the functions of fmt and log is the
// format; methods named alike are treated alike.
var formatArgument = map[string]int{
	"Printf": 0, "Sprintf": 0, "Errorf": 0, "Fatalf": 0, "Logf": 0, "Panicf": 0,
	"Fprintf": 1, "Appendf": 1,
}

// findVerbs replaces printf verbs that cannot print their argument by one
// that can.
func findVerbs(s *source) []edit {
	var edits []edit
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			at, ok := formatArgument[sel.Sel.Name]
			if !ok || at >= len(call.Args) {
				return true
			}
			if lit, ok := call.Args[at].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				edits = append(edits, s.matchVerbs(lit, call.Args[at+1:])...)
			}
			return true
		})
	}
	return edits
}

// matchVerbs compares the verbs in the source of a format with the arguments.
// No escape in a Go string contains a percent sign, so that the offsets in the
// source are those of the verbs.
func (s *source) matchVerbs(lit *ast.BasicLit, args []ast.Expr) []edit {
	var edits []edit
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
			return edits // widths from arguments: beyond this fixer
		case text[i] == '%':
			continue
		case arg == len(args):
			return edits
		}
		t := s.typeOf(args[arg])
		arg++
		if t == nil || prints(text[i], t) {
			continue
		}
		flags, verb := text[start+1:i], bestVerb(t)
		if verb != 'f' && verb != 'g' {
			flags, _, _ = strings.Cut(flags, ".")
		}
		old, fixed := text[start:i+1], "%"+flags+string(verb)
		pos := lit.Pos() + token.Pos(start)
		edits = append(edits, edit{pos, pos + token.Pos(len(old)), fixed, fmt.Sprintf("%s prints %s, not %s", fixed, s.typeString(t), old)})
	}
	return edits
}

// prints reports whether a verb can print values of a type. It is stricter
// than it is complete: what it does not know passes.
func prints(verb byte, t types.Type) bool {
	if verb == 'v' || verb == 'T' || verb == 'w' && isError(t) || types.IsInterface(t) && !isError(t) {
		return true
	}
	if hasMethod(t, "Error") || hasMethod(t, "String") {
		return strings.IndexByte("sqxX", verb) >= 0 || !isError(t) && printsBasic(verb, t)
	}
	return printsBasic(verb, t)
}

func printsBasic(verb byte, t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	if !ok {
		return true
	}
	switch {
	case b.Info()&types.IsInteger != 0:
		return strings.IndexByte("dboOxXcqU", verb) >= 0
	case b.Info()&types.IsFloat != 0:
		return strings.IndexByte("feEgGxXb", verb) >= 0
	case b.Info()&types.IsString != 0:
		return strings.IndexByte("sqxX", verb) >= 0
	case b.Info()&types.IsBoolean != 0:
		return verb == 't'
	}
	return true
}

// bestVerb is the verb one would write for a type.
func bestVerb(t types.Type) byte {
	if hasMethod(t, "Error") || hasMethod(t, "String") {
		return 's'
	}
	if b, ok := t.Underlying().(*types.Basic); ok {
		switch {
		case b.Info()&types.IsInteger != 0:
			return 'd'
		case b.Info()&types.IsFloat != 0:
			return 'g'
		case b.Info()&types.IsString != 0:
			return 's'
		case b.Info()&types.IsBoolean != 0:
			return 't'
		}
	}
	return 'v'
}

// hasMethod reports whether values of t have a method of that name.
func hasMethod(t types.Type, name string) bool {
	o, _, _ := types.LookupFieldOrMethod(t, false, nil, name)
	_, ok := o.(*types.Func)
	return ok
}
