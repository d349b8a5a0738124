package lint_test

import (
	"go/ast"
	"slices"
)

// shellRule checks that the root keeps three things in one file each: only
// loop.go sets the phase of a run, only records.go commits to the store, and
// only watch.go and log.go know of telemetry.
func shellRule(r *repo) []string {
	var out []string
	for _, f := range r.files {
		if f.dir() != "" || f.test() {
			continue
		}
		for _, imp := range f.ast.Imports {
			if importPath(imp) == r.module+"/internal/telemetry" && !slices.Contains([]string{"watch.go", "log.go"}, f.path) {
				out = append(out, r.at(imp, "imports internal/telemetry, which is for watch.go"))
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if f.path != "loop.go" && slices.ContainsFunc(n.Lhs, selects("Phase")) {
					out = append(out, r.at(n, "sets Phase, which is for loop.go: return the next phase"))
				}
			case *ast.CallExpr:
				if f.path != "records.go" && selects("Commit")(n.Fun) {
					out = append(out, r.at(n, "calls Commit, which is for records.go"))
				}
			}
			return true
		})
	}
	return out
}

// selects returns whether an expression is a field or method of that name.
func selects(name string) func(ast.Expr) bool {
	return func(e ast.Expr) bool {
		sel, ok := e.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == name
	}
}
