package lint_test

import (
	"errors"
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxProgram is the length of the longest program in README.md.
const maxProgram = 40

// setup are the commands that README.md must name, alone on their lines: one
// runs the main job, the other the tests.
var setup = []string{"go run ./examples/quickstart", "go test ./..."}

// maxReadme is the length of README.md in lines: a page.
const maxReadme = 120

// examplesDoc lists the examples.
const examplesDoc = "docs/examples.md"

// readmeRule checks that README.md is a page, that its Go code is, byte for byte, a
// program in examples/, which is compiled and run with the other tests, and that
// docs/examples.md links the main.go of every example.
func readmeRule(r *repo) []string {
	text, err := os.ReadFile(filepath.Join(r.dir, "README.md"))
	if errors.Is(err, fs.ErrNotExist) {
		return []string{"README.md: does not exist"}
	} else if err != nil {
		return []string{err.Error()}
	}
	var out []string
	if n := strings.Count(string(text), "\n"); n > maxReadme {
		out = append(out, fmt.Sprintf("README.md: has %d lines, more than %d", n, maxReadme))
	}
	for _, cmd := range setup {
		if !strings.Contains(string(text), "\n"+cmd+"\n") {
			out = append(out, fmt.Sprintf("README.md: has no line %q", cmd))
		}
	}
	programs, err := r.programs()
	if err != nil {
		return append(out, err.Error())
	}
	list, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(examplesDoc)))
	if err != nil {
		return append(out, examplesDoc+": cannot be read")
	}
	for _, path := range programs {
		if strings.HasSuffix(path, "/main.go") && !strings.Contains(string(list), "(../"+path+")") {
			out = append(out, examplesDoc+": does not link "+path)
		}
	}
	blocks := goBlocks(string(text))
	if len(blocks) == 0 {
		out = append(out, "README.md: has no Go program")
	}
	for i, b := range blocks {
		if programs[b] == "" {
			out = append(out, fmt.Sprintf("README.md: Go block %d is no program in examples", i+1))
		}
		if n := strings.Count(b, "\n"); n > maxProgram {
			out = append(out, fmt.Sprintf("README.md: Go block %d has %d lines, more than %d", i+1, n, maxProgram))
		}
	}
	return out
}

// programs maps the text of each main package's files under examples to their
// path.
func (r *repo) programs() (map[string]string, error) {
	out := map[string]string{}
	for _, f := range r.files {
		if !under(f.dir(), "examples") || f.ast.Name.Name != "main" || f.test() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(f.path)))
		if err != nil {
			return nil, err
		}
		out[string(text)] = f.path
	}
	return out, nil
}

// goBlocks returns the fenced blocks of Go in a Markdown text.
func goBlocks(text string) []string {
	var out []string
	for {
		_, rest, ok := strings.Cut(text, "\n```go\n")
		if !ok {
			return out
		}
		block, after, _ := strings.Cut(rest, "```")
		out = append(out, block)
		text = after
	}
}

// Hosts.md shows parts of one example, each short enough to be read at a
// glance.
const (
	hostsDoc   = "docs/hosts.md"
	hostsDir   = "examples/hosts"
	maxSnippet = 20
)

// hostsRule checks that the Go code of docs/hosts.md stands, line for line, in
// examples/hosts, which is compiled and run with the other tests.
func hostsRule(r *repo) []string {
	text, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(hostsDoc)))
	if err != nil {
		return []string{hostsDoc + ": cannot be read"}
	}
	var sources []string
	for _, f := range r.files {
		if f.dir() != hostsDir || f.test() {
			continue
		}
		source, err := os.ReadFile(filepath.Join(r.dir, filepath.FromSlash(f.path)))
		if err != nil {
			return []string{err.Error()}
		}
		sources = append(sources, "\n"+string(source))
	}
	var out []string
	blocks := goBlocks(string(text))
	if len(blocks) == 0 {
		out = append(out, hostsDoc+": has no Go code")
	}
	for i, b := range blocks {
		if !slices.ContainsFunc(sources, func(s string) bool { return strings.Contains(s, "\n"+b) }) {
			out = append(out, fmt.Sprintf("%s: Go block %d does not stand in %s", hostsDoc, i+1, hostsDir))
		}
		if n := strings.Count(b, "\n"); n > maxSnippet {
			out = append(out, fmt.Sprintf("%s: Go block %d has %d lines, more than %d", hostsDoc, i+1, n, maxSnippet))
		}
	}
	return out
}

// maxTerminal is the width of a terminal, in characters.
const maxTerminal = 80

// outputRule checks that what the examples print fits a terminal. It reads the
// Output comments of their Example functions, which go test compares with what
// the programs print.
func outputRule(r *repo) []string {
	var out []string
	for _, f := range r.files {
		if !f.test() || !under(f.dir(), "examples") {
			continue
		}
		for _, group := range f.ast.Comments {
			if !slices.ContainsFunc(group.List, func(c *ast.Comment) bool { return c.Text == "// Output:" }) {
				continue
			}
			for _, c := range group.List {
				if n := utf8.RuneCountInString(strings.TrimPrefix(c.Text, "// ")); n > maxTerminal {
					out = append(out, r.at(c, "the output has %d columns, more than %d", n, maxTerminal))
				}
			}
		}
	}
	return out
}
