package reason

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/store"
)

// SurveyOptions bound a survey. The zero value, and nil, are ready.
type SurveyOptions struct {
	Files int   // files that are looked at; 0: 20,000
	Bytes int64 // that are read, over all files; 0: 256 MiB
}

// Codebase is what a survey found. Paths are as in the file system: they can
// hold anything that a file may be called.
type Codebase struct {
	Files int   // texts that were read
	Bytes int64 // of these
	Lines int

	Languages []CodeLanguage // most bytes first
	Entries   []CodeEntry    // where to begin reading, nearest the root first, scripts last; at most 64
	Relevant  []CodeMatch    // for the objective, best first; at most 20

	Skipped    []CodeSkip // what was passed over and why, by reason
	Unreadable []error    // the first 20 of files and folders that could not be read
	Stopped    string     // the bound at which the survey ended; "": it saw everything
}

// CodeLanguage sums up the files of a language. It goes by a file's extension
// or name; where these are unknown, the extension stands for the language.
type CodeLanguage struct {
	Name  string
	Files int
	Bytes int64
	Lines int
}

// CodeEntry is a file at which a program starts, or which says how to build,
// run or test what is there.
type CodeEntry struct {
	Path string
	Why  string // such as "Go program" or "make"
}

// CodeMatch is a file that has words in common with the objective.
type CodeMatch struct {
	Path  string
	Score float64  // comparable within one survey
	Terms []string // words of the objective, as stems, that it has: those that count most first
}

// CodeSkip counts what was passed over for one reason.
type CodeSkip struct {
	Why     string
	Count   int    // files, or folders with all that is in them
	Example string // a path
}

const (
	maxSurveyDepth      = 32
	maxSurveyFile       = 1 << 20
	maxSurveyEntries    = 64
	maxSurveyMatches    = 20
	maxSurveyUnreadable = 20
	maxSurveyObjective  = 64 << 10
)

// Survey reads a codebase and says what there is: languages and sizes, where
// programs start, and the files that an objective is about, by the words that
// it shares with their paths and first 64 KiB (BM25 with fields; Robertson,
// Zaragoza & Taylor 2004); tests, documents and data count about half. The
// objective may be "".
//
// Survey skips, and counts: folders that begin with a dot but .github, and
// those of dependencies and build results; what is no regular file, so that no
// link is followed; binary, generated and lock files; files above 1 MiB; and
// what lies deeper than 32 folders. It knows nothing of .gitignore.
//
// It goes by levels, in order of names, so that the same tree and bounds give
// the same result. At a bound, among them the end of ctx, it returns what it
// has seen and sets Stopped. Files that cannot be read are reported in the
// Codebase. An error means that there is none: the root cannot be read, ctx
// had ended before, or the objective is over 64 KiB (a *store.LimitError).
func Survey(ctx context.Context, fsys fs.FS, objective string, opts *SurveyOptions) (*Codebase, error) {
	if err := store.CheckContext(ctx); err != nil {
		return nil, err
	}
	if guard.IsNil(fsys) {
		return nil, errors.New("survey: the file system is nil")
	}
	if len(objective) > maxSurveyObjective {
		return nil, &store.LimitError{Field: "objective of a survey", Limit: maxSurveyObjective, Got: len(objective)}
	}
	var o SurveyOptions
	if opts != nil {
		o = *opts
	}
	if o.Files < 0 || o.Bytes < 0 {
		return nil, errors.New("survey: a bound is negative")
	}
	if o.Files == 0 {
		o.Files = 20_000
	}
	if o.Bytes == 0 {
		o.Bytes = 256 << 20
	}
	s := surveyor{
		fsys: fsys, o: o, match: newMatcher(objective),
		languages: make(map[string]*CodeLanguage), skipped: make(map[string]*CodeSkip), programs: make(map[string]bool),
	}
	if err := s.walk(ctx); err != nil {
		return nil, fmt.Errorf("survey: %w", err)
	}
	return s.codebase(), nil
}

type surveyor struct {
	fsys  fs.FS
	o     SurveyOptions
	match *matcher

	c         Codebase
	seen      int   // files that were looked at
	read      int64 // bytes
	languages map[string]*CodeLanguage
	skipped   map[string]*CodeSkip
	programs  map[string]bool // folders of Go programs
}

// walk visits the folders by level. It returns an error only for the root.
func (s *surveyor) walk(ctx context.Context) error {
	for level, depth := []string{"."}, 0; len(level) > 0; depth++ {
		var next []string
		for _, dir := range level {
			entries, err := fs.ReadDir(s.fsys, dir)
			if err != nil && dir == "." && len(entries) == 0 {
				return err
			}
			if err != nil {
				s.unreadable(dir, err)
			}
			slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
			for _, d := range entries {
				name := path.Join(dir, d.Name())
				if d.IsDir() {
					if why := skipFolder(d.Name(), entries); why != "" {
						s.skip(why, name)
					} else if depth >= maxSurveyDepth {
						s.skip("too deep", name)
					} else {
						next = append(next, name)
					}
					continue
				}
				if s.c.Stopped = s.bound(ctx); s.c.Stopped != "" {
					return nil
				}
				s.file(name, d)
			}
		}
		level = next
	}
	return nil
}

// bound returns the bound that the next file would pass, or "".
func (s *surveyor) bound(ctx context.Context) string {
	switch {
	case ctx.Err() != nil:
		return "the time was up"
	case s.seen >= s.o.Files:
		return fmt.Sprintf("at the bound of %d files", s.o.Files)
	case s.read >= s.o.Bytes:
		return fmt.Sprintf("at the bound of %d bytes", s.o.Bytes)
	}
	return ""
}

func (s *surveyor) skip(why, name string) {
	if s.skipped[why] == nil {
		s.skipped[why] = &CodeSkip{Why: why, Example: name}
	}
	s.skipped[why].Count++
}

func (s *surveyor) unreadable(name string, err error) {
	s.skip("unreadable", name)
	if len(s.c.Unreadable) < maxSurveyUnreadable {
		if _, named := errors.AsType[*fs.PathError](err); !named {
			err = &fs.PathError{Op: "read", Path: name, Err: err}
		}
		s.c.Unreadable = append(s.c.Unreadable, err)
	}
}

func (s *surveyor) file(name string, d fs.DirEntry) {
	s.seen++
	if !d.Type().IsRegular() {
		s.skip("no regular file", name)
		return
	}
	if why := skipName(d.Name()); why != "" {
		s.skip(why, name)
		return
	}
	text, err := s.text(name, d)
	switch {
	case err != nil:
		s.unreadable(name, err)
		return
	case len(text) > maxSurveyFile:
		s.skip("large", name)
		return
	}
	if why := skipText(text); why != "" {
		s.skip(why, name)
		return
	}
	s.count(name, text)
	if why := s.entry(name, text); why != "" {
		s.c.Entries = append(s.c.Entries, CodeEntry{name, why})
	}
	s.match.add(name, text)
}

// text returns what is in a file, up to one byte more than may be.
func (s *surveyor) text(name string, d fs.DirEntry) ([]byte, error) {
	info, err := d.Info()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxSurveyFile {
		return make([]byte, maxSurveyFile+1), nil // no need to read it
	}
	f, err := s.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSurveyFile+1))
	s.read += int64(len(text))
	return text, errors.Join(err, f.Close())
}

func (s *surveyor) count(name string, text []byte) {
	lines := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		lines++
	}
	s.c.Files++
	s.c.Bytes += int64(len(text))
	s.c.Lines += lines
	lang := language(name)
	l := s.languages[lang]
	if l == nil {
		l = &CodeLanguage{Name: lang}
		s.languages[lang] = l
	}
	l.Files++
	l.Bytes += int64(len(text))
	l.Lines += lines
}

func (s *surveyor) codebase() *Codebase {
	for _, l := range s.languages {
		s.c.Languages = append(s.c.Languages, *l)
	}
	slices.SortFunc(s.c.Languages, func(a, b CodeLanguage) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), strings.Compare(a.Name, b.Name))
	})
	for _, k := range s.skipped {
		s.c.Skipped = append(s.c.Skipped, *k)
	}
	slices.SortFunc(s.c.Skipped, func(a, b CodeSkip) int { return strings.Compare(a.Why, b.Why) })
	// The walk goes by levels, so these are nearest the root first already.
	slices.SortStableFunc(s.c.Entries, func(a, b CodeEntry) int {
		return cmp.Compare(scripts(a), scripts(b))
	})
	s.c.Entries = s.c.Entries[:min(len(s.c.Entries), maxSurveyEntries)]
	s.c.Relevant = s.match.best()
	return &s.c
}

// scripts is 1 for what is one, of which there may be many, and else 0.
func scripts(e CodeEntry) int {
	if e.Why == entryScript {
		return 1
	}
	return 0
}
