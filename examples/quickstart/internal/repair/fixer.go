package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// Fixer edits one kind of mistake in Go source. It proposes edits, and keeps
// those with which build, vet and tests pass. Test files are never edited.
type Fixer struct {
	Name  string // for a worker's card
	About string // what it does, in a sentence
	// propose returns what is likely to mend it, and what else may.
	propose func(*source) (likely, others []proposal)
}

// Outcome is what a fixer did.
type Outcome struct {
	Changed bool
	Edits   []string // "file:line: what", in source order, edit by edit
	Tried   int      // on how many sets of edits it ran build, vet or tests
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

// Apply edits the package in dir, of which d says what fails, until it passes.
// A package that passes with none of the edits that are tried stays byte for
// byte as it is, which is not an error. An error means that the package could
// not be read, written or run, or that ctx ended.
func (f Fixer) Apply(ctx context.Context, dir string, d Diagnosis) (Outcome, error) {
	s, was, err := load(ctx, dir)
	if err = errors.Join(ctx.Err(), err); err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", f.Name, err)
	}
	s.trace = d.Trace
	r := &search{propose: f.propose, dir: dir, disk: was, step: d.Step, seen: map[string]bool{}}
	found, err := r.from(ctx, s, d)
	if err == nil && found != nil {
		return Outcome{true, found.why, r.tried}, nil
	}
	if err = cmp.Or(err, overwrite(r.disk, was)); err != nil {
		err = fmt.Errorf("%s: %w", f.Name, err)
	}
	return Outcome{Tried: r.tried}, err
}
