package lint_test

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// heldOutFile is a table of what was tuned on a corpus: how much of it comes
// out right on the corpus, and how much on lines that other hands wrote.
const heldOutFile = "internal/lint/heldout.txt"

// maxGap is by how many points the corpus may be better than the other lines.
// A wider gap is a corpus learned by heart.
const maxGap = 20

// heldOutRule checks the rows of the table: what | test | own % | others % |
// issue. The test must exist, and the gap be small, or the row must name the
// issue that owes it. Others of "-" says that no such lines were tried.
func heldOutRule(r *repo) []string {
	text, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(heldOutFile)))
	if err != nil {
		return []string{heldOutFile + ": cannot be read"}
	}
	tests := r.tests()
	var out []string
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		say := func(format string, args ...any) {
			out = append(out, fmt.Sprintf("%s:%d: %s", heldOutFile, n, fmt.Sprintf(format, args...)))
		}
		w := strings.Split(line, "|")
		if len(w) != 5 {
			say("has %d cells, not what | test | own | others | issue", len(w))
			continue
		}
		for i := range w {
			w[i] = strings.TrimSpace(w[i])
		}
		if !tests[w[1]] {
			say("there is no test %s", w[1])
		}
		own, err := strconv.ParseFloat(w[2], 64)
		others, err2 := strconv.ParseFloat(w[3], 64)
		switch gap := own - others; {
		case err != nil || err2 != nil && w[3] != "-":
			say("%q and %q are no shares in percent", w[2], w[3])
		case err2 == nil && gap <= maxGap && w[4] != "":
			say("the gap of %s points is closed, and issue %q still stands here", format(gap), w[4])
		case w[4] != "":
		case err2 != nil:
			say("%s was tried on no lines of other hands", w[0])
		case gap > maxGap:
			say("%s: %s of 100 on its corpus and %s on lines of other hands, more than %d points apart", w[0], w[2], w[3], maxGap)
		}
	}
	return out
}

var testName = regexp.MustCompile(`^(Test|Fuzz)`)

// tests returns the tests and fuzzers of the tree as directory.Name.
func (r *repo) tests() map[string]bool {
	out := map[string]bool{}
	for _, f := range r.files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test() && testName.MatchString(fn.Name.Name) {
				out[row(f.dir())+"."+fn.Name.Name] = true
			}
		}
	}
	return out
}
