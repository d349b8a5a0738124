package lint_test

import (
	"go/ast"
	"slices"
	"strings"
)

// ident is an exported identifier, or a method of an exported interface.
type ident struct {
	name   string
	node   ast.Node
	doc    string // the comment that belongs to it alone
	loose  bool   // any comment will do: it lies in a documented group or beside it
	method bool   // of an interface
}

// docRule checks that each exported identifier of the public packages has a
// comment that begins with its name.
func docRule(r *repo) []string {
	var out []string
	for _, f := range r.files {
		if !public(f) {
			continue
		}
		for _, id := range exported(f.ast) {
			switch {
			case id.loose || startsWith(id.doc, id.name):
			case id.doc == "":
				out = append(out, r.at(id.node, "%s has no comment", id.name))
			default:
				out = append(out, r.at(id.node, "the comment of %s does not begin with its name", id.name))
			}
		}
	}
	return out
}

// packageRule checks that each package has one package comment, and that a
// library's begins with its name.
func packageRule(r *repo) []string {
	docs := map[string]int{}
	first := map[string]*file{}
	var dirs []string
	var out []string
	for _, f := range r.files {
		if f.test() {
			continue
		}
		if first[f.dir()] == nil {
			first[f.dir()] = f
			dirs = append(dirs, f.dir())
		}
		if f.ast.Doc == nil {
			continue
		}
		docs[f.dir()]++
		name := f.ast.Name.Name
		if name != "main" && !strings.HasPrefix(f.ast.Doc.Text(), "Package "+name+" ") {
			out = append(out, r.at(f.ast.Doc, "the package comment does not begin with Package %s", name))
		}
	}
	for _, dir := range dirs {
		if docs[dir] != 1 {
			out = append(out, r.at(first[dir].ast, "the package has %d package comments", docs[dir]))
		}
	}
	return out
}

func public(f *file) bool { return f.library() && !internal(f.dir()) }

func startsWith(doc, name string) bool {
	words := strings.Fields(doc)
	if len(words) > 1 && slices.Contains([]string{"A", "An", "The"}, words[0]) {
		words = words[1:]
	}
	if len(words) == 0 {
		return false
	}
	return strings.TrimRight(words[0], ",:;.") == name || words[0] == "Deprecated:" ||
		strings.HasPrefix(words[0], name+"'s")
}

func exported(f *ast.File) []ident {
	var out []ident
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d))) {
				out = append(out, ident{name: d.Name.Name, node: d, doc: d.Doc.Text()})
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				out = append(out, exportedSpec(d, spec)...)
			}
		}
	}
	return out
}

func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	for {
		switch u := t.(type) {
		case *ast.StarExpr:
			t = u.X
		case *ast.IndexExpr:
			t = u.X
		case *ast.IndexListExpr:
			t = u.X
		case *ast.Ident:
			return u.Name
		default:
			return ""
		}
	}
}

func exportedSpec(d *ast.GenDecl, spec ast.Spec) []ident {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if !s.Name.IsExported() {
			return nil
		}
		id := ident{name: s.Name.Name, node: s, doc: s.Doc.Text()}
		switch {
		case !d.Lparen.IsValid():
			id.doc = d.Doc.Text()
		case s.Doc == nil:
			id.loose = d.Doc != nil
		}
		return append([]ident{id}, methods(s)...)
	case *ast.ValueSpec:
		var out []ident
		for _, name := range s.Names {
			if !name.IsExported() {
				continue
			}
			id := ident{name: name.Name, node: name, doc: s.Doc.Text()}
			switch {
			case !d.Lparen.IsValid():
				id.doc = d.Doc.Text()
			case s.Doc == nil:
				id.loose = s.Comment != nil || d.Doc != nil
			}
			if len(s.Names) > 1 && id.doc != "" {
				id.loose = true
			}
			out = append(out, id)
		}
		return out
	}
	return nil
}

// methods returns the methods of an interface that has several. A single one
// is told by the comment of its interface.
func methods(s *ast.TypeSpec) []ident {
	iface, ok := s.Type.(*ast.InterfaceType)
	if !ok || iface.Methods.NumFields() < 2 {
		return nil
	}
	var out []ident
	for _, m := range iface.Methods.List {
		for _, name := range m.Names {
			if name.IsExported() {
				out = append(out, ident{name: name.Name, node: m, doc: m.Doc.Text(), loose: m.Comment != nil, method: true})
			}
		}
	}
	return out
}
