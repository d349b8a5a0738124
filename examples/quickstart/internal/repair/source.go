package repair

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/build"
	"go/format"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// source is a package as the fixers see it: parsed, and type-checked where its
// mistakes allow it. Test files are not part of it.
type source struct {
	dir   string
	fset  *token.FileSet
	files []*ast.File
	text  map[string][]byte // by file name
	pkg   *types.Package
	info  *types.Info
	errs  []types.Error
	trace []Place // of the failure
}

// edit replaces the text between two positions.
type edit struct {
	pos, end token.Pos
	text     string
	why      string // in words, for the summary; "" when another edit says it
}

// proposal holds edits that belong together.
type proposal []edit

// load reads the package in dir. Type errors are collected, not returned;
// a file that does not parse is an error, unless all that it lacks is what an
// import imports. It returns what lies in dir as well, by file name.
func load(ctx context.Context, dir string) (*source, map[string][]byte, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, nil, err
	}
	text, disk := map[string][]byte{}, map[string][]byte{}
	for _, name := range names {
		match, err := build.Default.MatchFile(dir, filepath.Base(name))
		if err != nil {
			return nil, nil, err
		}
		if !match || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if disk[name], err = os.ReadFile(name); err != nil {
			return nil, nil, err
		}
		text[name] = disk[name]
		if _, err := parser.ParseFile(token.NewFileSet(), name, disk[name], parser.ImportsOnly); err != nil {
			text[name] = bareImport.ReplaceAll(disk[name], nil)
		}
	}
	if len(text) == 0 {
		return nil, nil, fmt.Errorf("no Go files in %s", dir)
	}
	s, err := parseFiles(ctx, dir, text)
	return s, disk, err
}

// bareImport is an import that names no package.
var bareImport = regexp.MustCompile(`(?m)^import[ \t]*\n+`)

func parseFiles(ctx context.Context, dir string, text map[string][]byte) (*source, error) {
	s := &source{dir: dir, fset: token.NewFileSet(), text: text}
	for _, name := range slices.Sorted(maps.Keys(text)) {
		f, err := parser.ParseFile(s.fset, name, text[name], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, f)
	}
	return s, s.typeCheck(ctx)
}

func (s *source) typeCheck(ctx context.Context) error {
	var paths []string
	for n := range s.nodes() {
		switch n := n.(type) {
		case *ast.ImportSpec:
			paths = append(paths, strings.Trim(n.Path.Value, "\"`"))
		case *ast.SelectorExpr: // what of several packages findImports chooses from
			if q, ok := n.X.(*ast.Ident); ok && len(standardPackages[q.Name]) > 1 {
				paths = append(paths, standardPackages[q.Name]...)
			}
		}
	}
	if err := exports.need(ctx, s.dir, paths...); err != nil {
		return err
	}
	s.info = &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Defs:       map[*ast.Ident]types.Object{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
		Scopes:     map[ast.Node]*types.Scope{},
	}
	conf := types.Config{
		Importer: exports,
		Error: func(err error) {
			if e, ok := err.(types.Error); ok {
				s.errs = append(s.errs, e)
			}
		},
	}
	// The error repeats the first of s.errs.
	s.pkg, _ = conf.Check(s.files[0].Name.Name, s.fset, s.files, s.info)
	return nil
}

// nodes yields what the package is made of, each node before its children.
func (s *source) nodes() iter.Seq[ast.Node] {
	return func(yield func(ast.Node) bool) {
		for _, f := range s.files {
			for n := range ast.Preorder(f) {
				if !yield(n) {
					return
				}
			}
		}
	}
}

// typeOf returns the type of an expression, nil when it has no valid one.
func (s *source) typeOf(e ast.Expr) types.Type {
	t := s.info.TypeOf(e)
	if t == nil || t == types.Typ[types.Invalid] {
		return nil
	}
	return t
}

// under is the underlying type of t, nil for none.
func under(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	return t.Underlying()
}

// basic says what sort of basic type lies under t; 0 if none does.
func basic(t types.Type) types.BasicInfo {
	if b, ok := under(t).(*types.Basic); ok {
		return b.Info()
	}
	return 0
}

// typeString writes t as it is written inside the package.
func (s *source) typeString(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == s.pkg {
			return ""
		}
		return p.Name()
	})
}

// code returns the source text of a node.
func (s *source) code(n ast.Node) string {
	pos, end := s.fset.PositionFor(n.Pos(), false), s.fset.PositionFor(n.End(), false)
	return string(s.text[pos.Filename][pos.Offset:end.Offset])
}

// edited returns the source after edits. A file that was formatted by gofmt stays
// so; edits that overlap an earlier one are dropped.
func (s *source) edited(ctx context.Context, edits []edit) (*source, error) {
	edits = slices.SortedStableFunc(slices.Values(edits), func(a, b edit) int { return cmp.Compare(a.pos, b.pos) })
	byFile := map[string][]edit{}
	for _, e := range edits {
		name := s.fset.PositionFor(e.pos, false).Filename
		if done := byFile[name]; len(done) > 0 && e.pos < done[len(done)-1].end {
			continue
		}
		byFile[name] = append(byFile[name], e)
	}
	text := maps.Clone(s.text)
	for name, es := range byFile {
		old := s.text[name]
		var buf bytes.Buffer
		at := 0
		for _, e := range es {
			buf.Write(old[at:s.fset.PositionFor(e.pos, false).Offset])
			buf.WriteString(e.text)
			at = s.fset.PositionFor(e.end, false).Offset
		}
		buf.Write(old[at:])
		text[name] = buf.Bytes()
		if tidy, err := format.Source(old); err == nil && bytes.Equal(tidy, old) {
			if text[name], err = format.Source(buf.Bytes()); err != nil {
				return nil, fmt.Errorf("%s: %w", filepath.Base(name), err)
			}
		}
	}
	return parseFiles(ctx, s.dir, text)
}

// overwrite writes the files that differ from what lies on the disk.
func overwrite(disk, files map[string][]byte) error {
	for name, text := range files {
		if bytes.Equal(text, disk[name]) {
			continue
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// unrelated is the distance of what has nothing to do with a failure.
const unrelated = 1 << 10

// step is more than a trace has lines.
const step = 100

// far says how near a proposal is to a failure: on a line of its trace, else in
// a function of it.
func (s *source) far(p proposal) int {
	at, best := s.fset.PositionFor(p[0].pos, false), unrelated
	for i, t := range s.trace {
		if filepath.Base(at.Filename) != t.File {
			continue
		}
		if at.Line == t.Line {
			best = min(best, i)
		} else if from, to := s.lines(p[0].pos); from <= t.Line && t.Line <= to {
			best = min(best, 2*step+i)
		}
	}
	return best
}

// passed reports whether a panic passed through the declaration around a node.
func (s *source) passed(n ast.Node) bool { return s.far(proposal{{pos: n.Pos()}}) < unrelated }

// lines returns the first and the last line of the declaration around a place.
func (s *source) lines(pos token.Pos) (from, to int) {
	for _, f := range s.files {
		for _, d := range f.Decls {
			if d.Pos() <= pos && pos <= d.End() {
				return s.fset.PositionFor(d.Pos(), false).Line, s.fset.PositionFor(d.End(), false).Line
			}
		}
	}
	return 0, 0
}

// exportData imports packages from the export data that the go command keeps
// in its build cache: type-checking the sources of fmt takes a second, this a
// millisecond. It is filled once per process and shared.
type exportData struct {
	mu       sync.Mutex
	file     map[string]string // import path to file; "" when there is none
	importer types.Importer
}

var exports = newExportData()

func newExportData() *exportData {
	x := &exportData{file: map[string]string{}}
	x.importer = importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if x.file[path] == "" {
			return nil, fmt.Errorf("no export data for %s", path)
		}
		return os.Open(x.file[path])
	})
	return x
}

// need asks the go command for the export data of the paths not yet known.
func (x *exportData) need(ctx context.Context, dir string, paths ...string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	var unknown []string
	for _, p := range paths {
		if _, ok := x.file[p]; !ok && p != "unsafe" && p != "C" && !slices.Contains(unknown, p) {
			unknown = append(unknown, p)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	args := []string{"list", "-e", "-export", "-f", "{{.ImportPath}}\t{{.Export}}"}
	out, err := goTool(ctx, dir, append(args, unknown...)...)
	if err != nil {
		// Without them the type checker knows less, which is no reason to stop.
		return ctx.Err()
	}
	for line := range strings.Lines(string(out)) {
		if path, file, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			x.file[path] = file
		}
	}
	return nil
}

// Import implements types.Importer.
func (x *exportData) Import(path string) (*types.Package, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.importer.Import(path)
}
