package lint_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write budget.txt as the tree is")

// The ceilings stand in budget.txt: a row for each package, a column for each
// of these, and below them rows for homonyms and flows.
var columns = []string{"code", "ids", "knot", "arrows", "unused", "prose"}

const budgetFile = "internal/lint/budget.txt"

// budgetHead explains budget.txt in its own words.
const budgetHead = `# Ceilings, one row a package. They may only fall: a row that grows is raised in
# the same commit, with a line in docs/decisions.md. To write what the tree has:
#
#	go test ./internal/lint -run Budget -update
#
# code: lines that are neither blank nor comment, without tests
# ids: exported types, functions, methods, constants and variables
# knot: files that reach one another by what they use (at most 5 in a new package)
# arrows: uses from file to file, each pair once, per file (at most 3)
# unused: exported, and used by no other package, program or Example
# prose: banned words, comments behind code over 60 characters, lines over 120
# verb: packages in which an unexported function has this name (at most 4)
# flow: changes of file in a list of docs/architecture.md (at most 60)
#
# package                               code     ids    knot  arrows  unused   prose
`

// measure is a value that has a ceiling, and the offences that make it up, if
// they can be named.
type measure struct {
	value float64
	lines []string
}

func (m measure) with(line string) measure {
	m.lines = append(m.lines, line)
	return m
}

// over compares what a rule measured of each package with its column of
// budget.txt. A value above its ceiling is told with the lines that make it
// up. Every value is remembered, for TestBudget.
func (r *repo) over(column string, got map[string]measure) []string {
	budget := r.budget()
	var out []string
	for _, dir := range slices.Sorted(maps.Keys(got)) {
		m := got[dir]
		r.measured[column+" "+dir] = m.value
		ceiling, ok := budget[column+" "+dir]
		switch {
		case !ok:
			out = append(out, fmt.Sprintf("%s: has no row in %s", dir, budgetFile))
		case format(m.value) != format(ceiling) && m.value > ceiling:
			out = append(out, fmt.Sprintf("%s: %s %s, over its ceiling of %s", dir, column, format(m.value), format(ceiling)))
			out = append(out, m.lines...)
		}
	}
	return out
}

// format writes whole numbers as they are and others to a tenth.
func format(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

// budget reads budget.txt into "column package" → ceiling.
func (r *repo) budget() map[string]float64 {
	text, _ := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(budgetFile))) // none: no ceilings
	return parseBudget(string(text))
}

func parseBudget(text string) map[string]float64 {
	out := map[string]float64{}
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		if len(w) == 0 || w[0] == "#" {
			continue
		}
		if w[0] == "verb" || w[0] == "flow" {
			out[w[0]+" "+w[1]], _ = strconv.ParseFloat(w[2], 64)
			continue
		}
		for i, v := range w[1:] {
			out[columns[i]+" "+w[0]], _ = strconv.ParseFloat(v, 64)
		}
	}
	return out
}

// TestBudget shows how full the budget is. With -update it writes the values
// of the tree: a row that grows needs a line in docs/decisions.md, which
// TestRaised asks for.
func TestBudget(t *testing.T) {
	r, err := whole()
	require.NoError(t, err)
	for _, rule := range ceilings {
		rule(r)
	}
	for key, v := range r.budget() {
		if got := r.measured[key]; got < v {
			t.Logf("%s: %s, its ceiling %s", key, format(got), format(v))
		}
	}
	for _, warning := range r.longer(warnLines) {
		t.Log(warning)
	}
	if *update {
		path := filepath.Join(r.dir, filepath.FromSlash(budgetFile))
		require.NoError(t, os.WriteFile(path, []byte(r.table()), 0o600))
	}
}

// ceilings are the rules that have a column in budget.txt.
var ceilings = []func(*repo) []string{sizeRule, knotRule, useRule, wordRule, verbRule, architectureRule}

// table writes what was measured as budget.txt has it.
func (r *repo) table() string {
	var b strings.Builder
	b.WriteString(budgetHead)
	for _, key := range slices.Sorted(maps.Keys(r.measured)) {
		dir, ok := strings.CutPrefix(key, "code ")
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "%-36s", dir)
		for _, column := range columns {
			fmt.Fprintf(&b, "%8s", format(r.measured[column+" "+dir]))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	for _, key := range slices.Sorted(maps.Keys(r.measured)) {
		if strings.HasPrefix(key, "verb ") || strings.HasPrefix(key, "flow ") {
			fmt.Fprintf(&b, "%s %s\n", key, format(r.measured[key]))
		}
	}
	return b.String()
}
