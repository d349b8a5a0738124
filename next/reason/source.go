package reason

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/arc-learn/arc/next/internal/index"
	"github.com/arc-learn/arc/next/internal/text"
)

// Bounds of [Documents], in bytes: about a section, of a document, and of all.
const (
	sectionSize  = 1200
	maxDocument  = 1 << 20
	maxDocuments = 32 << 20
)

// Documents returns a Source of the documents in fsys (.md, .rst, .adoc, .txt). A passage is a section, which begins
// at a heading or a paragraph and has some 1,200 bytes; its name is the path and the line. Sections come by how well
// they answer the objective; those that share no word with it do not come.
//
// The documents are read at each call, 32 MiB at most. Folders that begin with a dot, files over 1 MiB and what is
// not UTF-8 are left out.
func Documents(fsys fs.FS) Source {
	return func(ctx context.Context, objective string, tokens int) ([]Passage, error) {
		an, err := text.New()
		if err != nil {
			return nil, err
		}
		ix, sections, left := index.New(an), []Passage(nil), maxDocuments
		err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
			hidden := strings.HasPrefix(path.Base(name), ".") && name != "."
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				return err
			case d.IsDir() && hidden:
				return fs.SkipDir
			case hidden || !d.Type().IsRegular() || !slices.Contains(documentTypes, strings.ToLower(path.Ext(name))):
				return nil
			}
			data, err := readFile(fsys, name)
			if err != nil || len(data) > maxDocument || !utf8.Valid(data) {
				return err
			}
			if left -= len(data); left < 0 {
				return fs.SkipAll
			}
			for _, s := range split(name, string(data)) {
				ix.Insert(ix.Analyze(index.Doc{Trigger: name, Content: s.Text}))
				sections = append(sections, s)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		var out []Passage
		for _, m := range ix.Search(&index.Query{Text: objective, K: 64}) {
			s := sections[m.Row] // rows are counted from 0, in the order of the sections
			if tokens -= countTokens(s.Name + s.Text); tokens < 0 {
				break
			}
			out = append(out, s)
		}
		return out, nil
	}
}

var documentTypes = []string{".md", ".markdown", ".rst", ".adoc", ".txt"}

func readFile(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxDocument+1))
}

// split cuts a document into sections: at each heading, and at the paragraph after which one is full.
func split(name, doc string) (out []Passage) {
	first, line := 1, 0
	var b strings.Builder
	flush := func(next int) {
		if s := strings.TrimSpace(b.String()); s != "" {
			out = append(out, Passage{Name: fmt.Sprintf("%s:%d", name, first), Text: s})
		}
		b.Reset()
		first = next
	}
	for l := range strings.Lines(doc) {
		line++
		heading := strings.HasPrefix(l, "#") || strings.HasPrefix(l, "==")
		if heading || strings.TrimSpace(l) == "" && b.Len() > sectionSize || b.Len() > 4*sectionSize {
			flush(line)
		}
		b.WriteString(l)
	}
	flush(line)
	return out
}
