package repair

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// findSpelling replaces names that do not exist by one near that does: of the
// scope, of a package, or among the fields and methods of a type. Where the
// near one is declared in the package, it may itself be the misspelled one.
func findSpelling(s *source) (likely, others []proposal) {
	missing := map[string][]*ast.Ident{}
	near := map[string][]string{}
	var order []string
	correct := func(id *ast.Ident, names []string) {
		found := nearest(id.Name, names)
		key := strings.Join(append(found, id.Name), " ")
		if len(found) > 0 && missing[key] == nil {
			order, near[key] = append(order, key), found
		}
		missing[key] = append(missing[key], id)
	}
	members := map[*ast.Ident]bool{} // and what else stands in no scope
	for n := range s.nodes() {
		switch n := n.(type) {
		case *ast.File:
			members[n.Name] = true
		case *ast.SelectorExpr:
			members[n.Sel] = true
			if names, missing := s.membersInsteadOf(n); missing {
				correct(n.Sel, names)
			}
		case *ast.CompositeLit:
			s.literalKeys(n, members, correct)
		case *ast.FuncDecl:
			s.labels(n, members, correct)
		case *ast.Ident:
			if !members[n] && n.Name != "_" && !s.resolves(n) {
				correct(n, s.namesAt(n))
			}
		}
	}
	for k := range maxNear {
		for _, key := range order {
			if k < len(near[key]) {
				others = append(others, respell(missing[key], near[key][k]))
			}
		}
	}
	for _, key := range order {
		if p := s.rename(near[key][0], missing[key][0].Name); len(p) > 0 {
			others = append(others, p)
		}
	}
	return others[:len(order)], others[len(order):]
}

func respell(ids []*ast.Ident, name string) (p proposal) {
	for _, id := range ids {
		p = append(p, edit{id.Pos(), id.End(), name, fmt.Sprintf("%s is spelled %s", id.Name, name)})
	}
	return p
}

// rename gives what the package declares by a name another one.
func (s *source) rename(old, name string) (p proposal) {
	declared := map[types.Object]bool{}
	for id, o := range s.info.Defs {
		declared[o] = declared[o] || o != nil && id.Name == old
	}
	for n := range s.nodes() {
		if id, ok := n.(*ast.Ident); ok && id.Name == old && declared[s.info.ObjectOf(id)] {
			p = append(p, respell([]*ast.Ident{id}, name)...)
		}
	}
	return p
}

// labels marks the labels of a function, which stand in no scope, and corrects
// those that lead nowhere.
func (s *source) labels(fn *ast.FuncDecl, marked map[*ast.Ident]bool, correct func(*ast.Ident, []string)) {
	var names []string
	for n := range ast.Preorder(fn) {
		if l, ok := n.(*ast.LabeledStmt); ok {
			marked[l.Label], names = true, append(names, l.Label.Name)
		}
	}
	for n := range ast.Preorder(fn) {
		if b, ok := n.(*ast.BranchStmt); ok && b.Label != nil {
			if marked[b.Label] = true; !slices.Contains(names, b.Label.Name) {
				correct(b.Label, names)
			}
		}
	}
}

// literalKeys marks the keys of a struct literal, which no scope resolves,
// and corrects those that are no field.
func (s *source) literalKeys(lit *ast.CompositeLit, keys map[*ast.Ident]bool, correct func(*ast.Ident, []string)) {
	st, ok := under(s.typeOf(lit)).(*types.Struct)
	if !ok {
		return
	}
	var names []string
	for v := range st.Fields() {
		names = append(names, v.Name())
	}
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok {
				keys[key] = true
				if !slices.Contains(names, key.Name) {
					correct(key, names)
				}
			}
		}
	}
}

// membersInsteadOf returns what could stand behind the dot when what stands
// there does not exist.
func (s *source) membersInsteadOf(sel *ast.SelectorExpr) (names []string, missing bool) {
	o := s.info.Uses[sel.Sel]
	if s.info.Selections[sel] != nil || o != nil && (o.Exported() || o.Pkg() == s.pkg) {
		return nil, false
	}
	if q, ok := sel.X.(*ast.Ident); ok {
		if p, ok := s.info.Uses[q].(*types.PkgName); ok {
			for _, name := range p.Imported().Scope().Names() {
				if ast.IsExported(name) {
					names = append(names, name)
				}
			}
			return names, true
		}
	}
	t := s.typeOf(sel.X)
	if t == nil {
		return nil, false
	}
	return s.membersOf(t), true
}

// membersOf lists the fields and methods that can be selected on a value of
// type t.
func (s *source) membersOf(t types.Type) []string {
	var names []string
	usable := func(o types.Object) {
		if o.Exported() || o.Pkg() == s.pkg {
			names = append(names, o.Name())
		}
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	if st, ok := t.Underlying().(*types.Struct); ok {
		for v := range st.Fields() {
			usable(v)
		}
	}
	if !types.IsInterface(t) {
		t = types.NewPointer(t)
	}
	for m := range types.NewMethodSet(t).Methods() {
		usable(m.Obj())
	}
	return names
}

// scopeAt returns the innermost scope around a node.
func (s *source) scopeAt(n ast.Node) *types.Scope {
	for _, f := range s.files {
		if scope := s.info.Scopes[f]; scope != nil && scope.Contains(n.Pos()) {
			if inner := scope.Innermost(n.Pos()); inner != nil {
				return inner
			}
			return scope
		}
	}
	return s.pkg.Scope()
}

// namesAt lists the names that can be used at a node, innermost scope first.
func (s *source) namesAt(n ast.Node) []string {
	var names []string
	for scope := s.scopeAt(n); scope != nil; scope = scope.Parent() {
		for _, name := range scope.Names() {
			if _, o := scope.LookupParent(name, n.Pos()); o != nil {
				names = append(names, name)
			}
		}
	}
	return names
}

// maxNear is how many names are tried for one that is misspelled.
const maxNear = 3

// nearest returns the names with the fewest edits to a misspelled one, none
// when none is near. Of those as near, the first comes first.
func nearest(misspelled string, names []string) (near []string) {
	limit := min(2, len(misspelled)/2)
	for d := 1; d <= limit; d++ {
		for _, name := range names {
			if name != "_" && len(near) < maxNear && distance(misspelled, name) == d && !slices.Contains(near, name) {
				near = append(near, name)
			}
		}
	}
	return near
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b (optimal string alignment).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(x)][len(y)]
}
