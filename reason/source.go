package reason

import (
	"context"
	"io/fs"

	"github.com/arc-learn/arc/reason/internal/survey"
)

// Source gives what a host knows about the work at hand, such as its code, its
// documents or its tickets: texts about the objective, the most useful first.
// Names and texts together have at most tokens times three bytes; the loop drops
// the first that does not fit, and those after it.
//
// A Source may be called concurrently, and returns when ctx ends. The loop
// calls it before each deliberation, and before a chunk fires: that is kept back
// where a Source says something else than when its plan was made. An error, a panic
// or a call over its time costs the run these passages: the loop logs it, asks the
// reasoner without them, and no chunk fires.
type Source func(ctx context.Context, objective string, tokens int) ([]Passage, error)

// Passage is a text for the reasoner. It is data: a prompt shows it in a fence,
// and takes no orders from it.
type Passage struct {
	Name string // where the text is from, such as a path
	Text string
	// Volatile: no plan depends on it, such as the time or what the work itself changes. A
	// chunk fires whatever it says.
	Volatile bool
}

// bytesPerToken is the size of a token that budgets of sources go by. Models
// take four to five bytes of prose a token.
const bytesPerToken = 3

// NewDocuments returns a Source of the documents in fsys: Markdown,
// reStructuredText, AsciiDoc and plain text. Each passage is a section of a
// document, which begins at a heading or a paragraph and has about 1,200 bytes;
// its name is the path and the line. Sections rank by the words that they and
// their paths share with the objective (BM25). Sections without any such word
// are left out.
//
// The documents are read at each call, by the rules of [NewCodebase], and 32 MiB at
// most, from the root on.
func NewDocuments(fsys fs.FS) Source {
	return func(ctx context.Context, objective string, tokens int) (out []Passage, err error) {
		sections, err := survey.Sections(ctx, fsys, objective, tokens*bytesPerToken)
		for _, s := range sections {
			out = append(out, Passage{Name: s.Name, Text: s.Text})
		}
		return out, err
	}
}

// NewCodebase returns a Source that surveys the code in fsys: one passage,
// named codebase, with the files that the objective is about, the files at
// which programs start, and the numbers of files by kind. A file is about the
// objective by the words that it shares with the path (which count eight times)
// and the first 64 KiB (BM25); tests, documents and data count about half.
//
// The files are read at each call. Skipped, and counted: folders that begin
// with a dot, except .github, and folders of dependencies and build results;
// entries that are no regular files, so that no link is followed; binary,
// generated and lock files; files above 1 MiB; folders deeper than 32; files
// that cannot be read. A .gitignore is not read. The survey ends after 20,000
// files, 256 MiB or ctx, and then says so. Where tokens are short, the lists
// lose their last lines and say how many; the rest takes some 100 tokens. The
// passage is Volatile, since work on code changes it.
func NewCodebase(fsys fs.FS) Source {
	return func(ctx context.Context, objective string, tokens int) ([]Passage, error) {
		text, err := survey.Codebase(ctx, fsys, objective, tokens*bytesPerToken)
		if err != nil {
			return nil, err
		}
		return []Passage{{Name: "codebase", Text: text, Volatile: true}}, nil
	}
}
