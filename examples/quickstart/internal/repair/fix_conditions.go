package repair

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
	"unicode"
)

// findConditions turns around conditions that their own branch contradicts:
// a branch for err == nil that tells of err, one for !ok that reads the value
// that ok vouches for, one for x == nil or len(x) == 0 that looks into x, and
// a comparison that keeps the smaller of two values where a name or the value
// to begin with promises the larger, or the reverse.
func findConditions(s *source) []edit {
	var edits []edit
	for _, f := range s.files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			before := map[ast.Stmt]ast.Stmt{}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				list := statements(n)
				for i := 1; i < len(list); i++ {
					before[list[i]] = list[i-1]
				}
				if branch, ok := n.(*ast.IfStmt); ok {
					if branch.Init != nil {
						before[branch] = branch.Init
					}
					edits = append(edits, s.contradiction(fn, before[branch], branch)...)
				}
				return true
			})
		}
	}
	return edits
}

// contradiction looks at a branch, and the statement before it.
func (s *source) contradiction(fn *ast.FuncDecl, before ast.Stmt, branch *ast.IfStmt) []edit {
	switch cond := branch.Cond.(type) {
	case *ast.UnaryExpr:
		if v := valueOf(before, cond.X); cond.Op == token.NOT && v != "" && reads(branch.Body, v) {
			return []edit{{cond.OpPos, cond.OpPos + 1, "", fmt.Sprintf("the branch reads %s, so it is there", v)}}
		}
	case *ast.BinaryExpr:
		x := s.code(cond.X)
		of := s.lenOf(cond.X)
		switch y := s.code(cond.Y); {
		case cond.Op != token.EQL:
		case y == "nil" && s.tells(cond.X, branch.Body) || y == "nil" && s.looksInto(x, branch.Body) ||
			y == "0" && of != "" && s.looksInto(of, branch.Body):
			return []edit{{cond.OpPos, cond.OpPos + 2, "!=", fmt.Sprintf("the branch needs %s, so it is not %s", x, y)}}
		}
		return s.wrongExtreme(fn, cond, branch.Body)
	}
	return nil
}

// tells reports whether x is an error of which a branch tells.
func (s *source) tells(x ast.Expr, body *ast.BlockStmt) bool {
	id, ok := x.(*ast.Ident)
	t := s.typeOf(x)
	return ok && t != nil && isError(t) && reads(body, id.Name)
}

// looksInto reports whether a branch reads an element or a member of what is
// written like x, before it assigns to it.
func (s *source) looksInto(x string, body *ast.BlockStmt) bool {
	found, assigned := false, false
	ast.Inspect(body, func(n ast.Node) bool {
		var of ast.Expr
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				assigned = assigned || s.code(l) == x
			}
		case *ast.StarExpr:
			of = n.X
		case *ast.IndexExpr:
			of = n.X
			if t := s.typeOf(of); t != nil && isMap(t) {
				of = nil // reading a nil map is fine
			}
		case *ast.SelectorExpr:
			of = n.X
			if sel := s.info.Selections[n]; sel == nil || sel.Kind() != types.FieldVal {
				of = nil // methods may take nil
			}
		}
		found = found || !assigned && of != nil && s.code(of) == x
		return !found && !assigned
	})
	return found
}

// valueOf returns v for v, ok := … and the condition ok.
func valueOf(init ast.Stmt, ok ast.Expr) string {
	a, isAssign := init.(*ast.AssignStmt)
	name, isIdent := ok.(*ast.Ident)
	if !isAssign || !isIdent || len(a.Lhs) != 2 {
		return ""
	}
	v, isV := a.Lhs[0].(*ast.Ident)
	flag, isFlag := a.Lhs[1].(*ast.Ident)
	if !isV || !isFlag || flag.Name != name.Name || v.Name == "_" {
		return ""
	}
	return v.Name
}

// reads reports whether a branch mentions the name before it assigns to it.
func reads(body *ast.BlockStmt, name string) bool {
	found, assigned := false, false
	ast.Inspect(body, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok {
			for _, l := range a.Lhs {
				id, ok := l.(*ast.Ident)
				assigned = assigned || ok && id.Name == name
			}
		}
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name && !assigned
		return !found && !assigned
	})
	return found
}

// The words that promise the larger or the smaller of two values.
var (
	larger  = wordSet("max maximum largest longest highest peak latest greatest biggest most")
	smaller = wordSet("min minimum smallest shortest lowest earliest least fewest nearest closest cheapest")
)

// wrongExtreme looks at if x < best { best = x }. What is promised is said by
// the name of best, else by what it begins with, the function's name, or its
// comment.
func (s *source) wrongExtreme(fn *ast.FuncDecl, cond *ast.BinaryExpr, body *ast.BlockStmt) []edit {
	best, op := cond.Y, cond.Op
	said := []string{s.code(best), s.beginning(fn, best), fn.Name.Name, fn.Doc.Text()}
	if s.keeps(body, cond.Y, cond.X) { // if best > x { best = x }, or if x > end { x = end }
		best, op = cond.X, mirrored[op]
		said = []string{s.code(best), s.beginning(fn, best)}
	} else if !s.keeps(body, cond.X, cond.Y) {
		return nil
	}
	want := 0
	for _, text := range said {
		if want == 0 {
			want = promise(text)
		}
	}
	value := map[int]string{1: "larger", -1: "smaller"}[want]
	if want > 0 && (op == token.LSS || op == token.LEQ) || want < 0 && (op == token.GTR || op == token.GEQ) {
		end := cond.OpPos + token.Pos(len(cond.Op.String()))
		return []edit{{cond.OpPos, end, mirrored[cond.Op].String(), s.code(best) + " keeps the " + value + " value"}}
	}
	return nil
}

var mirrored = map[token.Token]token.Token{
	token.LSS: token.GTR, token.LEQ: token.GEQ, token.GTR: token.LSS, token.GEQ: token.LEQ,
}

// keeps reports whether a branch assigns x to best.
func (s *source) keeps(body *ast.BlockStmt, x, best ast.Expr) bool {
	for _, stmt := range body.List {
		a, ok := stmt.(*ast.AssignStmt)
		if !ok || a.Tok != token.ASSIGN || len(a.Lhs) != len(a.Rhs) {
			continue
		}
		for i := range a.Lhs {
			if s.code(a.Lhs[i]) == s.code(best) && s.code(a.Rhs[i]) == s.code(x) {
				return true
			}
		}
	}
	return false
}

// beginning says in a word what a variable of a function begins with, if that
// is the end of a range: math.MaxInt is larger than all, so the smallest is
// looked for.
func (s *source) beginning(fn *ast.FuncDecl, v ast.Expr) (word string) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok || word != "" || len(a.Lhs) != len(a.Rhs) {
			return word == ""
		}
		for i := range a.Lhs {
			if s.code(a.Lhs[i]) != s.code(v) {
				continue
			}
			text := s.code(a.Rhs[i])
			begins := func(with string) bool { return strings.HasPrefix(text, with) }
			switch {
			case begins("math.Max"), begins("math.Inf(1"), begins("1<<"):
				word = "min"
			case begins("math.Min"), begins("-math."), begins("math.Inf(-1"), text == "-1":
				word = "max"
			}
		}
		return word == ""
	})
	return word
}

// promise returns 1 if a text speaks of the larger of values, -1 if of the
// smaller, and 0 if it speaks of neither or of both. Names are taken apart.
func promise(text string) (sign int) {
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	seen := map[int]bool{}
	for _, w := range words {
		start := 0
		for i, r := range w + "A" {
			if i > start && unicode.IsUpper(r) && (i == len(w) || !unicode.IsUpper(rune(w[i-1]))) {
				part := strings.ToLower(w[start:i])
				seen[1], seen[-1] = seen[1] || larger[part], seen[-1] || smaller[part]
				start = i
			}
		}
	}
	switch {
	case seen[1] && !seen[-1]:
		return 1
	case seen[-1] && !seen[1]:
		return -1
	}
	return 0
}
