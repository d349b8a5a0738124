package repair

import (
	"context"
	"fmt"
	"path/filepath"
)

// maxPasses bounds how often a fixer runs over its own result. A repair can
// uncover the next one: an operand that fits now makes its sum misfit.
const maxPasses = 4

// Fixer edits one kind of mistake in Go source, wherever it finds what looks
// like one. It may well be wrong: whether the package is repaired is for the
// gate to say. Test files are never edited.
type Fixer struct {
	Name  string // for a worker's card
	About string // what it does, in a sentence
	find  func(*source) []edit
}

// Outcome is what a fixer did.
type Outcome struct {
	Changed bool
	Edits   []string // "file:line: what", in source order, pass by pass
}

// Fixers returns all fixers, in order of name.
func Fixers() []Fixer {
	return []Fixer{
		{"bounds", "moves a loop or an index that runs past the end of its slice", findBounds},
		{"conditions", "turns around a condition that contradicts what its branch does", findConditions},
		{"conversions", "converts operands and values whose types do not match", findConversions},
		{"imports", "imports the standard packages that are used without an import", findImports},
		{"locks", "passes by pointer what holds a lock", findLocks},
		{"maps", "makes the maps that are written before they are made", findMaps},
		{"results", "takes the results that a call returns and an assignment forgets", findResults},
		{"spelling", "corrects names to the nearest one that exists", findSpelling},
		{"unused", "blanks the variables that are never read", findUnused},
		{"verbs", "matches printf verbs to their arguments", findVerbs},
	}
}

// Apply edits the package in dir. An error means that the package could not
// be read or written, or that ctx ended; a package in which there is nothing
// to fix is not an error and stays byte for byte as it is.
func (f Fixer) Apply(ctx context.Context, dir string) (Outcome, error) {
	var out Outcome
	for range maxPasses {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		s, err := load(ctx, dir)
		if err != nil {
			return out, fmt.Errorf("%s: %w", f.Name, err)
		}
		edits := f.find(s)
		if len(edits) == 0 {
			break
		}
		if err := s.write(edits); err != nil {
			return out, fmt.Errorf("%s: %w", f.Name, err)
		}
		out.Changed = true
		for _, e := range edits {
			if at := s.fset.PositionFor(e.pos, false); e.why != "" {
				out.Edits = append(out.Edits, fmt.Sprintf("%s:%d: %s", filepath.Base(at.Filename), at.Line, e.why))
			}
		}
	}
	return out, nil
}
