package repair

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// findBounds corrects loops and indexes that run past the end: i <= len(s)
// where s[i] is read, i < len(s) where s[i+1] is read, i := len(s) where s[i]
// is read going down, and s[len(s)].
func findBounds(s *source) []edit {
	var edits []edit
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ForStmt:
				edits = append(edits, s.upperBound(n)...)
				edits = append(edits, s.startBound(n)...)
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

// upperBound looks at for …; i < len(s) or i <= len(s); ….
func (s *source) upperBound(loop *ast.ForStmt) []edit {
	cond, ok := loop.Cond.(*ast.BinaryExpr)
	if !ok {
		return nil
	}
	i, ok := cond.X.(*ast.Ident)
	of := s.lenOf(cond.Y)
	if !ok || of == "" {
		return nil
	}
	switch reach := s.reach(loop.Body, of, i.Name); {
	case cond.Op == token.LEQ && reach == 0:
		return []edit{{cond.OpPos, cond.OpPos + 2, "<", fmt.Sprintf("%s ends before len(%s)", i.Name, of)}}
	case cond.Op == token.LSS && reach == 1:
		return []edit{{cond.Y.End(), cond.Y.End(), "-1", fmt.Sprintf("%s+1 ends before len(%s)", i.Name, of)}}
	}
	return nil
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
