package lint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// architectureDoc has a flow in each numbered list: a link to a file, then the
// functions in it that are called in turn, then the next file.
const architectureDoc = "docs/architecture.md"

const (
	maxItems   = 10 // of a flow
	maxChanges = 60 // of file, where budget.txt has no row "flow"
)

var (
	flowItem  = regexp.MustCompile(`^\d+\. `)
	flowToken = regexp.MustCompile("\\[[^]]*\\]\\(\\.\\./([^)]+\\.go)\\)|`([A-Za-z0-9_.]+)`")
)

// architectureRule checks that each function of a flow lives in the file
// before it, and that a file earlier in the flow mentions it. It counts how
// often the flow changes file, returns included.
func architectureRule(r *repo) []string {
	text, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(architectureDoc)))
	if err != nil {
		return []string{architectureDoc + ": cannot be read"}
	}
	var out []string
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		if f := r.flow(body); f.items > 0 {
			for _, o := range f.offences {
				out = append(out, fmt.Sprintf("%s: %s: %s", architectureDoc, title, o))
			}
			out = append(out, r.changes(title, f)...)
		}
	}
	return out
}

func (r *repo) changes(title string, f flow) []string {
	key := "flow " + strings.ReplaceAll(title, " ", "-")
	r.measured[key] = float64(f.changes)
	ceiling, ok := r.budget()[key]
	if !ok {
		ceiling = maxChanges
	}
	var out []string
	if f.changes > int(ceiling) {
		out = append(out, fmt.Sprintf("%s: %s: %d changes of file, more than %s", architectureDoc, title, f.changes, format(ceiling)))
	}
	if f.items > maxItems {
		out = append(out, fmt.Sprintf("%s: %s: %d items, more than %d", architectureDoc, title, f.items, maxItems))
	}
	return out
}

type flow struct {
	items, changes int
	offences       []string
}

func (r *repo) flow(text string) (f flow) {
	var path string
	var before []string // files of the flow so far
	for line := range strings.Lines(text) {
		if flowItem.MatchString(line) {
			f.items++
		} else if f.items == 0 || !strings.HasPrefix(line, "   ") {
			continue
		}
		for _, w := range flowToken.FindAllStringSubmatch(line, -1) {
			if w[1] != "" {
				if path != "" && path != w[1] {
					f.changes++
				}
				path = w[1]
				before = append(before, path)
				continue
			}
			switch name := w[2][strings.LastIndex(w[2], ".")+1:]; {
			case !r.declares(path, name):
				f.offences = append(f.offences, fmt.Sprintf("%s has no function %s", path, name))
			case len(before) > 1 && !slices.ContainsFunc(before, func(p string) bool { return r.mentions(p, name) }):
				f.offences = append(f.offences, fmt.Sprintf("%s in %s is called from no file before it", name, path))
			}
		}
	}
	return f
}
