package rank

import "errors"

// Errors of a [Policy].
var (
	// ErrNoCandidate: there is nothing to choose from.
	ErrNoCandidate = errors.New("no candidate")
	// ErrCandidate: a candidate's prior is not a number in [0,1], or two
	// candidates have the same name.
	ErrCandidate = errors.New("bad candidate")
	// ErrSituation: a feature is not a finite number, or the skill is not an
	// identifier ([Book.Learned]).
	ErrSituation = errors.New("bad situation")
)

// ErrSample: a sample lacks its Key or Candidate, or holds a value out of
// range ([Book.Observe]). Nothing was stored.
var ErrSample = errors.New("bad sample")

// ErrOptions: an option of [Open] or [Book.Learned] is out of range.
var ErrOptions = errors.New("bad options")
