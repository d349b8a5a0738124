package repair

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// findBounds corrects loops, conditions and indexes that run past the end:
// e <= len(s) where it guards s[e], i < len(s) where the loop reads s[i+1],
// s[len(s)], and i := len(s) where s[i] is read and i is not changed, or goes
// down.
func findBounds(s *source) []edit {
	var edits []edit
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ForStmt:
				edits = append(edits, s.guard(n.Cond, n.Body, true)...)
				edits = append(edits, s.startBound(n)...)
			case *ast.IfStmt:
				edits = append(edits, s.guard(n.Cond, n.Body, false)...)
			case *ast.BinaryExpr:
				if n.Op == token.LAND {
					edits = append(edits, s.guard(n.X, n.Y, false)...)
				}
			case *ast.FuncDecl:
				edits = append(edits, s.lastIndex(n)...)
			case *ast.IndexExpr:
				if of := s.lenOf(n.Index); of != "" && of == s.code(n.X) && s.isSequence(n.X) {
					end := n.Index.End()
					edits = append(edits, edit{end, end, "-1", fmt.Sprintf("%s is past the end", s.code(n))})
				}
			}
			return true
		})
	}
	return edits
}

// guard looks at a condition that has e < len(s) or e <= len(s) to be true
// where guarded runs.
func (s *source) guard(cond ast.Expr, guarded ast.Node, loop bool) []edit {
	b, ok := ast.Unparen(cond).(*ast.BinaryExpr)
	if !ok {
		return nil
	}
	if b.Op == token.LAND {
		return append(s.guard(b.X, guarded, loop), s.guard(b.Y, guarded, loop)...)
	}
	of := s.lenOf(b.Y)
	if of == "" {
		return nil
	}
	i := s.code(b.X)
	switch reach := s.reach(guarded, of, i); {
	case b.Op == token.LEQ && reach == 0:
		return []edit{{b.OpPos, b.OpPos + 2, "<", fmt.Sprintf("%s ends before len(%s)", i, of)}}
	case b.Op == token.LSS && reach == 1 && loop:
		return []edit{{b.Y.End(), b.Y.End(), "-1", fmt.Sprintf("%s+1 ends before len(%s)", i, of)}}
	}
	return nil
}

// lastIndex looks at i := len(s) where i stays as it is and s[i] is read.
func (s *source) lastIndex(fn *ast.FuncDecl) []edit {
	var edits []edit
	changed := map[string]bool{}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IncDecStmt:
			changed[s.code(n.X)] = true
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				if n.Tok != token.DEFINE {
					changed[s.code(l)] = true
				}
			}
		}
		return true
	})
	ast.Inspect(fn, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok || a.Tok != token.DEFINE || len(a.Lhs) != len(a.Rhs) {
			return true
		}
		for k, l := range a.Lhs {
			i, ok := l.(*ast.Ident)
			of := s.lenOf(a.Rhs[k])
			if ok && of != "" && !changed[i.Name] && !changed[of] && s.reach(fn.Body, of, i.Name) == 0 {
				end := a.Rhs[k].End()
				edits = append(edits, edit{end, end, "-1", fmt.Sprintf("%s is an index of %s", i.Name, of)})
			}
		}
		return true
	})
	return edits
}

// startBound looks at for i := len(s); …; i--.
func (s *source) startBound(loop *ast.ForStmt) []edit {
	init, ok := loop.Init.(*ast.AssignStmt)
	if !ok || len(init.Lhs) != 1 {
		return nil
	}
	step, ok := loop.Post.(*ast.IncDecStmt)
	if !ok || step.Tok != token.DEC {
		return nil
	}
	i, ok := init.Lhs[0].(*ast.Ident)
	of := s.lenOf(init.Rhs[0])
	if !ok || of == "" || s.reach(loop.Body, of, i.Name) != 0 {
		return nil
	}
	end := init.Rhs[0].End()
	return []edit{{end, end, "-1", fmt.Sprintf("%s starts before len(%s)", i.Name, of)}}
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

// reach returns how far past i the body reads slice[i], slice[i+1]: 0 or 1,
// and -1 when it does not read it.
func (s *source) reach(body ast.Node, slice, i string) int {
	far := -1
	ast.Inspect(body, func(n ast.Node) bool {
		ix, ok := n.(*ast.IndexExpr)
		if !ok || s.code(ix.X) != slice || !s.isSequence(ix.X) {
			return true
		}
		switch s.code(ix.Index) {
		case i:
			far = max(far, 0)
		case i + "+1", i + " + 1":
			far = max(far, 1)
		}
		return true
	})
	return far
}

func (s *source) isSequence(e ast.Expr) bool {
	t := s.typeOf(e)
	return t != nil && !isMap(t) && !types.IsInterface(t)
}
