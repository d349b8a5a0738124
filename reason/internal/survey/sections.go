package survey

import (
	"bytes"
	"context"
	"io/fs"
	"iter"
	"strconv"
)

// Bounds of Sections: bytes that are read, bytes after which a section
// ends, sections that are returned.
const (
	maxDocuments = 32 << 20
	maxSection   = 1200
	maxSections  = 20
)

// Section is a part of a document: its name is the path and the line.
type Section struct {
	Name string
	Text string
}

// Sections returns those of the documents in fsys with a word of an objective, best first,
// in at most room bytes.
func Sections(ctx context.Context, fsys fs.FS, objective string, room int) ([]Section, error) {
	m, err := newMatcher(objective, 1)
	if err != nil {
		return nil, err
	}
	t := &tree{fsys: fsys, kinds: documentKinds, maxFiles: maxFiles, maxBytes: maxDocuments}
	found := make(map[string]string) // the texts of sections with a word of the objective
	err = t.walk(ctx, func(name string, text []byte) {
		for line, section := range sectionsOf(text) {
			if at := name + ":" + strconv.Itoa(line); m.match(at, section, 1) {
				found[at] = string(section)
			}
		}
	})
	var out []Section
	for _, s := range m.best(maxSections) {
		if room -= len(s.name) + len(found[s.name]); room < 0 {
			break
		}
		out = append(out, Section{s.name, found[s.name]})
	}
	return out, err
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
