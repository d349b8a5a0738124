package lint_test

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// forbidden says what library code does not use, and why. A trailing star
// stands for any end of the name; a name without a dot is the whole package.
var forbidden = map[string]string{
	"os.Getenv":       "the environment belongs to the host: take an option",
	"os.LookupEnv":    "the environment belongs to the host: take an option",
	"os.Environ":      "the environment belongs to the host: take an option",
	"os.ExpandEnv":    "the environment belongs to the host: take an option",
	"os.Exit":         "only the host ends its process: return an error",
	"os.Stdin":        "standard streams belong to the host: take an option",
	"os.Stdout":       "standard streams belong to the host: take an option",
	"os.Stderr":       "standard streams belong to the host: take an option",
	"fmt.Print*":      "standard streams belong to the host: take an option",
	"slog.Default":    "no global logger: take a *slog.Logger",
	"slog.SetDefault": "no global logger: take a *slog.Logger",
	"log":             "no global logger: take a *slog.Logger",
	"flag":            "flags belong to the host: take an option",
}

// libraryRule checks that library code leaves alone what belongs to the host,
// and that nothing happens only because it was imported.
func libraryRule(r *repo) []string {
	var out []string
	for _, f := range r.files {
		if !f.library() {
			continue
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				out = append(out, r.at(fn, "init: importing a library does no work"))
			}
		}
		for _, imp := range f.ast.Imports {
			if why, ok := forbidden[importPath(imp)]; ok {
				out = append(out, r.at(imp, "imports %s: %s", importPath(imp), why))
			}
		}
		for _, u := range uses(f.ast) {
			if why := whyForbidden(u.name); why != "" {
				out = append(out, r.at(u.node, "%s: %s", u.name, why))
			}
		}
	}
	return out
}

func whyForbidden(name string) string {
	if name == "print" || name == "println" {
		return forbidden["fmt.Print*"]
	}
	for pattern, why := range forbidden {
		prefix, star := strings.CutSuffix(pattern, "*")
		if name == pattern || star && strings.HasPrefix(name, prefix) {
			return why
		}
	}
	return ""
}

// sleepRule checks that neither code nor tests wait by sleeping. A sleep in a
// bubble of testing/synctest costs no time and is allowed.
func sleepRule(r *repo) []string {
	var out []string
	for _, f := range r.files {
		for _, u := range uses(f.ast) {
			if u.name == "time.Sleep" && !inBubble(f.ast, u.node.Pos()) {
				out = append(out, r.at(u.node, "time.Sleep outside synctest.Test"))
			}
		}
	}
	return out
}

// inBubble reports whether the position lies in a call of synctest.Test.
func inBubble(f *ast.File, pos token.Pos) bool {
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if ok && call.Pos() <= pos && pos < call.End() {
			found = found || slices.ContainsFunc(uses(call), func(u use) bool {
				return u.node == call.Fun && u.name == "synctest.Test"
			})
		}
		return !found
	})
	return found
}

// use is the mention of an identifier of another package, as "os.Getenv"
// whatever the file calls that package, or a call of print or println.
type use struct {
	name string
	node ast.Node
}

func uses(root ast.Node) []use {
	names := map[string]string{}
	if f, ok := root.(*ast.File); ok {
		for _, imp := range f.Imports {
			if imp.Name != nil {
				names[imp.Name.Name] = path.Base(importPath(imp))
			}
		}
	}
	var out []use
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				name := x.Name
				if real, renamed := names[name]; renamed {
					name = real
				}
				out = append(out, use{name + "." + n.Sel.Name, n})
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "print" || id.Name == "println") {
				out = append(out, use{id.Name, id})
			}
		}
		return true
	})
	return out
}

func importPath(imp *ast.ImportSpec) string {
	p, err := strconv.Unquote(imp.Path.Value)
	if err != nil {
		panic(err) // the parser accepts quoted strings only
	}
	return p
}
