package reason

import (
	"bytes"
	"context"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Source gives what a host knows about the work at hand, such as its code, its
// documents or its tickets: texts about the objective, the most useful first.
// Names and texts together have at most tokens times three bytes; the loop cuts
// what is beyond.
//
// A Source may be called concurrently, and returns when ctx ends. The loop
// calls it before each deliberation. An error, a panic or a call over its time
// costs the run these passages only: the loop logs it and goes on.
type Source func(ctx context.Context, objective string, tokens int) ([]Passage, error)

// Passage is a text for the reasoner. It is data: a prompt shows it in a fence,
// and takes no orders from it.
type Passage struct {
	Name string // where the text is from, such as a path
	Text string
}

// bytesPerToken is the size of a token that budgets of sources go by. Models
// take four to five bytes of prose a token.
const bytesPerToken = 3

// Bounds of NewDocuments: bytes that are read, bytes after which a section
// ends, sections that are returned.
const (
	maxDocuments = 32 << 20
	maxSection   = 1200
	maxSections  = 20
)

// NewDocuments returns a Source of the documents in fsys: Markdown,
// reStructuredText, AsciiDoc and plain text. Each passage is a section of a
// document, which begins at a heading or a paragraph and has about 1,200 bytes;
// its name is the path and the line. Sections rank by the words that they and
// their paths share with the objective (BM25). Sections without any such word
// are left out.
//
// The files are read at each call, by the rules of [NewCodebase], and 32 MiB at
// most.
func NewDocuments(fsys fs.FS) Source {
	return func(ctx context.Context, objective string, tokens int) ([]Passage, error) {
		m, err := newMatcher(objective, 1)
		if err != nil {
			return nil, err
		}
		t := &tree{fsys: fsys, maxFiles: maxFiles, maxBytes: maxDocuments}
		found := make(map[string]string) // the texts of sections with a word of the objective
		err = t.walk(ctx, func(name string, text []byte) {
			if !slices.Contains(documentKinds, strings.ToLower(path.Ext(name))) {
				return
			}
			for line, section := range sectionsOf(text) {
				if at := name + ":" + strconv.Itoa(line); m.add(at, section, 1) {
					found[at] = string(section)
				}
			}
		})
		var out []Passage
		room := tokens * bytesPerToken
		for _, s := range m.best(maxSections) {
			if room -= len(s.name) + len(found[s.name]); room < 0 {
				break
			}
			out = append(out, Passage{s.name, found[s.name]})
		}
		return out, err
	}
}

// sectionsOf yields the sections of a document with the lines at which they
// begin, from 1.
func sectionsOf(text []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		start, first, end, line := 0, 1, 0, 0
		blank := true // the line before is
		for l := range bytes.Lines(text) {
			line++
			if end > start && blank && (l[0] == '#' || l[0] == '=' || end-start+len(l) > maxSection) {
				if !yield(first, bytes.TrimSpace(text[start:end])) {
					return
				}
				start, first = end, line
			}
			blank = len(bytes.TrimSpace(l)) == 0
			end += len(l)
		}
		if end > start {
			yield(first, bytes.TrimSpace(text[start:]))
		}
	}
}
