package lint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// promisesFile lists what hosts may rely on, in a table of number | promise |
// tests | figures.
const promisesFile = "docs/reliability.md"

// promises is how many there are.
const promises = 30

// namedTest is a test as the table names it: `store/badger.TestKill`, and
// `arc.TestErase` for one of the root.
var namedTest = regexp.MustCompile("`([a-z0-9_/]+)[.]((?:Test|Fuzz)[A-Za-z0-9_]+)`")

// promiseRule checks that each promise stands in the table once, in order, and
// names tests that exist, or says "none".
func promiseRule(r *repo) []string {
	text, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(promisesFile)))
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	say := func(at int, format string, args ...any) {
		out = append(out, fmt.Sprintf("%s:%d: ", promisesFile, at+1)+fmt.Sprintf(format, args...))
	}
	tests, next := r.tests(), 1
	for at, line := range strings.Split(string(text), "\n") {
		named := namedTest.FindAllStringSubmatch(line, -1)
		for _, m := range named {
			name := m[1] + "." + m[2]
			if m[1] == "arc" {
				name = row("") + "." + m[2]
			}
			if !tests[name] {
				say(at, "there is no test %s.%s", m[1], m[2])
			}
		}
		if !strings.HasPrefix(line, "| P") {
			continue
		}
		if !strings.HasPrefix(line, fmt.Sprintf("| P%d |", next)) {
			say(at, "is not P%d", next)
		}
		next++
		if cells := strings.Split(line, "|"); len(cells) != 6 {
			say(at, "has %d cells, not number | promise | tests | figures", len(cells)-2)
		} else if len(named) == 0 && strings.TrimSpace(cells[3]) != "none" {
			say(at, `names neither a test nor "none"`)
		}
	}
	if next != promises+1 {
		out = append(out, fmt.Sprintf("%s: has %d promises, not %d", promisesFile, next-1, promises))
	}
	return out
}
