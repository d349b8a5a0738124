package lint_test

import (
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// shared are the dependencies whose types may stand in exported signatures:
// a host's OpenTelemetry providers are of no use as anything else.
var shared = []string{
	"go.opentelemetry.io/otel/trace",
	"go.opentelemetry.io/otel/metric",
}

// signatureRule checks that no exported identifier shows a dependency's type,
// which would make the dependency's next major version arc's.
func signatureRule(r *repo) []string {
	imp := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(r.pkgs[path].Export)
	})
	var out []string
	for _, path := range slices.Sorted(maps.Keys(r.pkgs)) {
		short, ours := r.short(path)
		if !ours || internal(short) || under(short, "examples") || r.pkgs[path].Name == "main" {
			continue
		}
		p, err := imp.Import(path)
		if err != nil {
			out = append(out, fmt.Sprintf("%s: %v", short, err))
			continue
		}
		out = append(out, r.foreign(p)...)
	}
	return out
}

func (r *repo) foreign(p *types.Package) []string {
	var out []string
	for _, name := range p.Scope().Names() {
		obj := p.Scope().Lookup(name)
		if !obj.Exported() {
			continue
		}
		w := &walker{r: r, seen: map[types.Type]bool{}, found: map[string]bool{}}
		if named, ok := obj.Type().(*types.Named); ok && named.Obj() == obj {
			w.body(named)
		} else {
			w.visit(obj.Type())
		}
		short, _ := r.short(p.Path())
		for _, dep := range slices.Sorted(maps.Keys(w.found)) {
			out = append(out, fmt.Sprintf("%s: %s shows %s", short, name, dep))
		}
	}
	return out
}

// walker collects the types of dependencies that can be seen from a type.
type walker struct {
	r     *repo
	seen  map[types.Type]bool
	found map[string]bool
}

// body visits what a named type is made of, and its exported methods.
func (w *walker) body(n *types.Named) {
	w.visit(n.Underlying())
	for m := range n.Methods() {
		if m.Exported() {
			w.visit(m.Type())
		}
	}
	for p := range n.TypeParams().TypeParams() {
		w.visit(p.Constraint())
	}
}

func (w *walker) visit(t types.Type) {
	t = types.Unalias(t)
	if w.seen[t] {
		return
	}
	w.seen[t] = true
	switch t := t.(type) {
	case *types.Named:
		w.named(t)
	case *types.Signature:
		w.visit(t.Params())
		w.visit(t.Results())
		for p := range t.TypeParams().TypeParams() {
			w.visit(p.Constraint())
		}
	case *types.Tuple:
		for v := range t.Variables() {
			w.visit(v.Type())
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				w.visit(f.Type())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			w.visit(m.Type())
		}
		for e := range t.EmbeddedTypes() {
			w.visit(e)
		}
	case *types.Union:
		for term := range t.Terms() {
			w.visit(term.Type())
		}
	case *types.Map:
		w.visit(t.Key())
		w.visit(t.Elem())
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		w.visit(t.Elem())
	}
}

// named records a dependency's type, and looks into those of ours that have
// no comment of their own in this rule: unexported and internal ones.
func (w *walker) named(n *types.Named) {
	for a := range n.TypeArgs().Types() {
		w.visit(a)
	}
	p := n.Obj().Pkg()
	if p == nil { // error, comparable
		return
	}
	short, ours := w.r.short(p.Path())
	switch {
	case ours && (!n.Obj().Exported() || internal(short)):
		w.body(n)
	case ours || !strings.Contains(strings.Split(p.Path(), "/")[0], "."):
	case slices.Contains(shared, p.Path()):
	default:
		w.found[p.Path()+"."+n.Obj().Name()] = true
	}
}
