package lint_test

import (
	"fmt"
	"path/filepath"
	"slices"
)

// A file has an arrow to each other file of its package that declares what it
// uses. A knot is a set of files that reach one another by arrows.

// knotRule holds the largest knot of each package, and its arrows per file,
// against their ceilings.
func knotRule(r *repo) []string {
	knots, arrows := map[string]measure{}, map[string]measure{}
	for _, u := range r.units() {
		if u.tests {
			continue
		}
		g := r.arrows(u)
		knot, n := largest(g), 0
		for _, to := range g {
			n += len(to)
		}
		knots[u.dir] = measure{value: float64(len(knot))}
		for _, f := range knot {
			knots[u.dir] = knots[u.dir].with("in the knot: " + f)
		}
		arrows[u.dir] = measure{value: float64(n) / float64(len(g))}
	}
	return append(r.over("knot", knots), r.over("arrows", arrows)...)
}

// arrows returns the graph of the unit's files by name.
func (r *repo) arrows(u *unit) map[string]map[string]bool {
	g := map[string]map[string]bool{}
	for _, f := range u.files {
		g[filepath.Base(f.path)] = map[string]bool{}
	}
	for id, o := range u.info.Uses {
		if o.Pkg() != u.pkg {
			continue
		}
		from := filepath.Base(r.fset.Position(id.Pos()).Filename)
		to := filepath.Base(r.fset.Position(o.Pos()).Filename)
		if from != to {
			g[from][to] = true
		}
	}
	return g
}

// largest returns the largest knot of a graph, sorted, or nothing where no
// file reaches itself through another.
func largest(g map[string]map[string]bool) []string {
	reach := map[string]map[string]bool{}
	for from := range g {
		reach[from] = map[string]bool{}
		for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
			for to := range g[queue[0]] {
				if !reach[from][to] {
					reach[from][to] = true
					queue = append(queue, to)
				}
			}
		}
	}
	var best []string
	for from := range g {
		var knot []string
		for to := range reach[from] {
			if reach[to][from] {
				knot = append(knot, to)
			}
		}
		slices.Sort(knot)
		if len(knot) > len(best) || len(knot) == len(best) && fmt.Sprint(knot) < fmt.Sprint(best) {
			best = knot
		}
	}
	return best
}
