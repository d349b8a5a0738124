package repair

import (
	"cmp"
	"context"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// The bounds of a search. Reading a package takes milliseconds, running it
// seconds.
const (
	maxTries = 12  // sets of edits that are run
	maxReads = 150 // sets of edits that are type-checked
	maxDepth = 4   // proposals one upon the other
)

// search looks for proposals with which a package passes: best first, where
// the fewest problems are left. Type errors are counted without running go.
type search struct {
	propose func(*source) (likely, others []proposal)
	dir     string
	disk    map[string][]byte // what lies in dir
	step    string            // that failed; those before it are left to the gate
	tried   int
	reads   int
	seen    map[string]bool // what was read
}

// state is a source that proposals have led to.
type state struct {
	*source
	why      []string
	problems int // type errors, else messages of vet; tests count as one
	depth    int
}

// from searches from a source that fails as d says. It returns nil if it found
// nothing.
func (r *search) from(ctx context.Context, s *source, d Diagnosis) (*state, error) {
	if d.OK() {
		return nil, nil
	}
	front := []state{{source: s, problems: problems(s, d)}}
	for len(front) > 0 {
		at := front[0]
		front = front[1:]
		next, err := r.expand(ctx, at)
		if err != nil {
			return nil, err
		}
		for _, n := range next {
			if len(n.errs) == 0 {
				if r.tried == maxTries {
					continue
				}
				r.tried++
				d, err := r.try(ctx, n.source)
				if err != nil {
					return nil, err
				}
				if d.OK() {
					return &n, nil
				}
				n.problems, n.trace = problems(n.source, d), d.Trace
			}
			differs := len(n.errs) > 0 || !slices.Equal(n.trace, at.trace)
			if n.depth < maxDepth && (n.problems < at.problems || n.problems == at.problems && differs) {
				front = append(front, n)
			}
		}
		slices.SortStableFunc(front, func(a, b state) int { return cmp.Compare(a.problems, b.problems) })
	}
	return nil, nil
}

// problems counts what is wrong, so that each step weighs more than what comes
// after it.
func problems(s *source, d Diagnosis) int {
	const build, vet = 10_000, 100
	switch {
	case len(s.errs) > 0:
		return build + len(s.errs)
	case d.Step == "vet":
		return vet + strings.Count(d.Text, "\n")
	case d.Step == "test":
		return 1
	}
	return build
}

// expand returns what the proposals for a state make of it, the likeliest first:
// with type errors all proposals at once, and then each, by the errors left;
// else each, by how near to the failure it is, and then all.
func (r *search) expand(ctx context.Context, at state) (next []state, err error) {
	likely, others := r.propose(at.source)
	if at.depth > 0 {
		unread, _ := findUnused(at.source) // what an edit left unread
		others = append(others, unread...)
	}
	ps, first := append(slices.Clone(likely), others...), 0
	if at.problems == 1 {
		ps, first = at.byDistance(likely, others)
	}
	if len(likely) > 1 {
		ps = slices.Insert(ps, first, together(likely))
	}
	for _, p := range ps {
		if r.reads++; r.reads > maxReads || ctx.Err() != nil {
			break
		}
		s, err := at.edited(ctx, p)
		if err != nil || r.seen[s.joined()] {
			continue // it does not parse, or comes to what another came to
		}
		r.seen[s.joined()] = true
		if len(at.errs) > 0 && s.complaints() == at.complaints() || len(s.errs) > 0 && len(at.errs) == 0 {
			continue
		}
		s.trace = at.trace
		why := append(slices.Clone(at.why), at.describe(p)...)
		next = append(next, state{s, why, problems(s, Diagnosis{}), at.depth + 1})
	}
	if len(at.errs) > 0 {
		slices.SortStableFunc(next, func(a, b state) int { return cmp.Compare(len(a.errs), len(b.errs)) })
	}
	return next, ctx.Err()
}

// try writes a source to the disk and checks it.
func (r *search) try(ctx context.Context, s *source) (Diagnosis, error) {
	if err := overwrite(r.disk, s.text); err != nil {
		return Diagnosis{}, err
	}
	r.disk = s.text
	return checkFrom(ctx, r.dir, r.step)
}

// joined is the text of all files.
func (s *source) joined() string {
	var b strings.Builder
	for _, f := range s.files {
		b.Write(s.text[s.fset.File(f.Pos()).Name()])
	}
	return b.String()
}

// complaints are the type errors, without their places.
func (s *source) complaints() string {
	var b strings.Builder
	for _, e := range s.errs {
		fmt.Fprintln(&b, e.Msg)
	}
	return b.String()
}

func (s *source) describe(p proposal) (why []string) {
	for _, e := range p {
		if at := s.fset.PositionFor(e.pos, false); e.why != "" {
			why = append(why, fmt.Sprintf("%s:%d: %s", filepath.Base(at.Filename), at.Line, e.why))
		}
	}
	return why
}

// together joins the proposals that do not overlap an earlier one.
func together(ps []proposal) (all proposal) {
	type span struct{ pos, end token.Pos }
	var taken []span
	for _, p := range ps {
		at := span{p[0].pos, p[0].end}
		for _, e := range p {
			at.pos, at.end = min(at.pos, e.pos), max(at.end, e.end)
		}
		if slices.ContainsFunc(taken, func(t span) bool { return at.pos == t.pos || at.pos < t.end && t.pos < at.end }) {
			continue
		}
		all, taken = append(all, p...), append(taken, at)
	}
	return all
}

// byDistance sorts proposals by how near they are, the likely ones before
// others on a line of the trace, and in a function; a few likely ones come
// first. It says how many to try before all the likely ones together.
func (s *source) byDistance(likely, others []proposal) (ps []proposal, first int) {
	const few = 3
	key := map[*edit]int{}
	for _, p := range others {
		key[&p[0]] = s.far(p) + step
	}
	for _, p := range likely {
		if key[&p[0]] = s.far(p); len(likely) <= few {
			key[&p[0]] -= 2 * unrelated
		}
	}
	ps = slices.SortedStableFunc(slices.Values(append(slices.Clone(likely), others...)), func(a, b proposal) int {
		return cmp.Compare(key[&a[0]], key[&b[0]])
	})
	for first < len(ps) && key[&ps[first][0]] < unrelated {
		first++
	}
	return ps, min(first, few)
}
