package lint_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// repo is what the rules look at: the packages of the root module and all
// that they import without their tests, as the go command lists them, and
// every Go file of the tree, nested modules and other systems included.
type repo struct {
	dir    string
	module string
	pkgs   map[string]*pkg // by import path
	files  []*file
	fset   *token.FileSet

	checked  []*unit            // see units
	measured map[string]float64 // see over
}

// pkg is a package as go list prints it.
type pkg struct {
	ImportPath string
	Name       string
	Standard   bool
	DepOnly    bool
	Export     string // the file with its export data
	Imports    []string
	Module     *struct {
		Path string
		Main bool
	}
}

// file is a parsed Go file. Its path is relative to the repository, with
// slashes.
type file struct {
	path string
	src  []byte
	ast  *ast.File
}

func (f *file) test() bool    { return strings.HasSuffix(f.path, "_test.go") }
func (f *file) outside() bool { return strings.HasSuffix(f.ast.Name.Name, "_test") }
func (f *file) dir() string {
	return strings.TrimSuffix(f.path[:strings.LastIndex(f.path, "/")+1], "/")
}

// library reports whether hosts link the file's package: neither programs
// nor what only they use.
func (f *file) library() bool {
	return !f.test() && f.ast.Name.Name != "main" && !under(f.dir(), "examples") && !under(f.dir(), "benchmarks")
}

func under(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

func internal(path string) bool {
	return strings.Contains("/"+path+"/", "/internal/")
}

// whole is this repository, which several tests look at and none changes.
var whole = sync.OnceValues(func() (*repo, error) { return load(filepath.Join("..", "..")) })

func load(dir string) (*repo, error) {
	r := &repo{dir: dir, pkgs: map[string]*pkg{}, fset: token.NewFileSet(), measured: map[string]float64{}}
	if err := r.list(); err != nil {
		return nil, err
	}
	return r, filepath.WalkDir(dir, r.visit)
}

// list asks the go command for the packages and their export data, from which
// their types are read without checking any source again.
func (r *repo) list() error {
	cmd := exec.Command("go", "list", "-deps", "-export",
		"-json=ImportPath,Name,Standard,DepOnly,Export,Imports,Module", "./...")
	cmd.Dir = r.dir
	cmd.Env = append(cmd.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(pkg)
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if strings.Contains(p.ImportPath+"/", "/arc/next/") {
			continue // the second house has rules of its own
		}
		r.pkgs[p.ImportPath] = p
		if p.Module != nil && p.Module.Main {
			r.module = p.Module.Path
		}
	}
}

func (r *repo) visit(path string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	name := d.Name()
	if d.IsDir() {
		if path == filepath.Join(r.dir, "next") || path != r.dir && (name == "testdata" || name[0] == '.' || name[0] == '_') {
			return filepath.SkipDir
		}
		return nil
	}
	if !strings.HasSuffix(name, ".go") {
		return nil
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(r.dir, path)
	if err != nil {
		return err
	}
	rel = filepath.ToSlash(rel)
	f, err := parser.ParseFile(r.fset, rel, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	r.files = append(r.files, &file{path: rel, src: src, ast: f})
	return nil
}

func (r *repo) at(n ast.Node, format string, args ...any) string {
	p := r.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d: %s", p.Filename, p.Line, fmt.Sprintf(format, args...))
}

// short returns the path of a package of the root module relative to it, "."
// for the root itself, and whether it is one.
func (r *repo) short(path string) (string, bool) {
	if path == r.module {
		return ".", true
	}
	return strings.CutPrefix(path, r.module+"/")
}
