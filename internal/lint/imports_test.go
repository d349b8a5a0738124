package lint_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// floors says which packages of this module a package may import. A package
// below one of these may import that one, those between, and what it may import, but is
// not itself meant by its parent's name. The root may import everything.
var floors = map[string][]string{
	"store":  {},
	"iar":    {},
	"redact": {},
	"memory": {"store", "redact"},
	"rank":   {"store", "redact", "iar"},
	"reason": {"memory", "rank", "store", "redact"},
	"act":    {"reason", "memory", "rank", "iar", "store", "redact"},
	"meta":   {"memory", "rank", "iar", "store", "redact"},
	"learn":  {"memory", "rank", "act", "meta", "reason", "iar", "store", "redact"},

	"arctest": {"act", "iar", "store"},
}

// may reports whether the package from may import the package to, both
// relative to the module and public.
func may(from, to string) bool {
	if from == "." || under(from, "examples") {
		return !testSupport(to) && !internal(to)
	}
	parent, _, _ := strings.Cut(from, "/")
	if from != to && under(from, to) || from != parent && to == parent {
		return true
	}
	return slices.Contains(floors[parent], to)
}

func testSupport(path string) bool {
	name := path[strings.LastIndex(path, "/")+1:]
	return strings.HasSuffix(name, "test")
}

// importRule checks the direction of imports. An internal package counts as
// part of each package that imports it.
func importRule(r *repo) []string {
	var out []string
	for _, path := range slices.Sorted(maps.Keys(r.pkgs)) {
		from, ours := r.short(path)
		if !ours || internal(from) {
			continue
		}
		parent, _, _ := strings.Cut(from, "/")
		if _, known := floors[parent]; !known && from != "." && !under(from, "examples") {
			out = append(out, fmt.Sprintf("%s: is not in the table of packages", from))
			continue
		}
		for _, to := range r.imports(path) {
			if !may(from, to) {
				out = append(out, fmt.Sprintf("%s: may not import %s", from, to))
			}
		}
	}
	return out
}

// imports returns the public packages of this module that the package imports
// itself or through internal packages, and the internal ones of examples,
// which show only what a host can do.
func (r *repo) imports(path string) []string {
	found := map[string]bool{}
	from, _ := r.short(path)
	var visit func(path string)
	visit = func(path string) {
		for _, dep := range r.pkgs[path].Imports {
			to, ours := r.short(dep)
			switch {
			case !ours || found[to]:
			case under(from, "examples") && under(to, "examples"):
			case internal(to) && !under(from, "examples"):
				visit(dep)
			default:
				found[to] = true
			}
		}
	}
	visit(path)
	return slices.Sorted(maps.Keys(found))
}

// testOnly are the packages that belong in tests. A host that links arc must
// not get them.
var testOnly = []string{
	"testing", "github.com/stretchr/testify", "go.uber.org/goleak", "pgregory.net/rapid",
}

// reachRule checks that production packages do not reach what is for tests.
func reachRule(r *repo) []string {
	var out []string
	for _, path := range slices.Sorted(maps.Keys(r.pkgs)) {
		from, ours := r.short(path)
		if !ours || testSupport(from) {
			continue
		}
		if way := r.way(path); way != nil {
			out = append(out, fmt.Sprintf("%s: reaches a package for tests: %s", from, strings.Join(way, " imports ")))
		}
	}
	return out
}

// way returns a shortest chain of imports from the package to one for tests,
// or nil.
func (r *repo) way(path string) []string {
	before := map[string]string{path: ""}
	for queue := []string{path}; len(queue) > 0; queue = queue[1:] {
		p := queue[0]
		if slices.ContainsFunc(testOnly, func(dir string) bool { return under(p, dir) }) {
			var chain []string
			for ; p != ""; p = before[p] {
				chain = append(chain, p)
			}
			slices.Reverse(chain)
			return chain
		}
		for _, dep := range r.pkgs[p].Imports {
			if _, seen := before[dep]; !seen && r.pkgs[dep] != nil {
				before[dep] = p
				queue = append(queue, dep)
			}
		}
	}
	return nil
}

// maxModules is how many modules a host may get by importing the root.
const maxModules = 25

// linkRule checks how many modules the root brings along.
func linkRule(r *repo) []string {
	seen := map[string]bool{}
	mods := map[string]bool{}
	var visit func(path string)
	visit = func(path string) {
		p := r.pkgs[path]
		if p == nil || seen[path] {
			return
		}
		seen[path] = true
		if p.Module != nil && !p.Module.Main {
			mods[p.Module.Path] = true
		}
		for _, dep := range p.Imports {
			visit(dep)
		}
	}
	visit(r.module)
	if len(mods) <= maxModules {
		return nil
	}
	return []string{fmt.Sprintf(".: links %d modules, more than %d: %s",
		len(mods), maxModules, strings.Join(slices.Sorted(maps.Keys(mods)), " "))}
}
