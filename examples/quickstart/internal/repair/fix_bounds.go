package repair

import (
	"fmt"
	"go/ast"
	"go/token"
)

// findBounds ends by one earlier what runs past the end of a slice: an index or
// a limit that is a length, and a comparison that lets the limit itself in. It
// looks at what a failure passed through, and everywhere at e <= len(s).
func findBounds(s *source) (likely, others []proposal) {
	var limits []proposal
	for n := range s.nodes() {
		switch n := n.(type) {
		case *ast.CallExpr:
			if of := s.lenOf(n); of != "" && s.passed(n) {
				others = append(others, proposal{{n.End(), n.End(), "-1", fmt.Sprintf("len(%s) is past the end", of)}})
			}
		case *ast.BinaryExpr:
			strict, ok := map[token.Token]string{token.LEQ: "<", token.GEQ: ">"}[n.Op]
			if !ok {
				continue
			}
			p := proposal{{n.OpPos, n.OpPos + 2, strict, fmt.Sprintf("%s ends before %s", s.code(n.X), s.code(n.Y))}}
			if n.Op == token.LEQ && s.lenOf(n.Y) != "" {
				likely = append(likely, p)
			} else if s.passed(n) {
				limits = append(limits, p)
			}
		}
	}
	return likely, append(others, limits...)
}

// lenOf returns what the expression is the length of, "" for anything else.
func (s *source) lenOf(e ast.Expr) string {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return ""
	}
	if fn, ok := call.Fun.(*ast.Ident); !ok || fn.Name != "len" {
		return ""
	}
	return s.code(call.Args[0])
}
