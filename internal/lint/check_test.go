package lint_test

import (
	"errors"
	"go/ast"
	"go/build"
	"go/importer"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// unit is a package as the type checker sees it: the code of a directory that
// this system builds, or the outside tests of one whose tests have Examples.
type unit struct {
	dir   string // relative to the repository, "." for the root
	tests bool
	files []*file
	pkg   *types.Package
	info  *types.Info
}

// units checks the types of every package of the tree, nested modules
// included. An import that the root module does not link stands for an empty
// package and the errors from it are dropped: the objects of this repository
// resolve all the same.
func (r *repo) units() []*unit {
	if r.checked != nil {
		return r.checked
	}
	byDir := map[string]*unit{}
	for _, f := range r.files {
		match, err := build.Default.MatchFile(filepath.Join(r.dir, f.dir()), filepath.Base(f.path))
		if err != nil || !match || f.test() && !f.outside() {
			continue
		}
		id := f.dir()
		if f.test() {
			id += " tests"
		}
		if byDir[id] == nil {
			byDir[id] = &unit{dir: row(f.dir()), tests: f.test()}
			r.checked = append(r.checked, byDir[id])
		}
		byDir[id].files = append(byDir[id].files, f)
	}
	imp := importer.ForCompiler(r.fset, "gc", r.export)
	for _, u := range r.checked {
		if u.tests && !u.shows() {
			continue
		}
		u.info = &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
		conf := types.Config{Importer: imp, FakeImportC: true, Error: func(error) {}}
		var files []*ast.File
		for _, f := range u.files {
			files = append(files, f.ast)
		}
		u.pkg, _ = conf.Check(r.path(u.dir), r.fset, files, u.info) // errors of missing imports
	}
	return r.checked
}

// export opens the export data of a package that the root module links.
func (r *repo) export(path string) (io.ReadCloser, error) {
	p := r.pkgs[path]
	if p == nil || p.Export == "" {
		return nil, errors.New("the root module does not link " + path)
	}
	return os.Open(p.Export)
}

// shows reports whether a file of the unit is for Examples.
func (u *unit) shows() bool {
	for _, f := range u.files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "Example") {
				return true
			}
		}
	}
	return false
}

// path returns the import path of a directory of the tree.
func (r *repo) path(dir string) string {
	if dir == "." {
		return r.module
	}
	return r.module + "/" + dir
}

// row returns what a directory is called in budget.txt.
func row(dir string) string {
	if dir == "" {
		return "."
	}
	return dir
}
