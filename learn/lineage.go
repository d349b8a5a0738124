package learn

import (
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/learn/internal/chunk"
	"github.com/arc-learn/arc/memory"
)

// What a lesson is as trusted as. Its words are the host's (objective, situation,
// names of skills and workers), the reasoner's (approach, tasks), and others'
// (complaints, and what the reasoner repeats of outputs, pages and users). Those
// of others stand below the first line of a Failure and an Episode, so that the
// next plan may repeat the first, as its reasoner's own.

// quotes are whose words a Failure or Episode repeats: never the host's alone.
func (o *Outcome) quotes() []memory.Source {
	out := append([]memory.Source{{Origin: memory.Model}}, o.Quotes...)
	for _, f := range o.Failed {
		out = append(out, memory.Source{Origin: memory.Executor, Ref: f.Worker})
	}
	if o.Worker != "" && o.Complaint != "" {
		out = append(out, memory.Source{Origin: memory.Executor, Ref: o.Worker})
	}
	return out
}

// tainted reports whether the reasoner repeats others.
func (o *Outcome) tainted() bool {
	return slices.ContainsFunc(o.Quotes, func(s memory.Source) bool {
		return s.Origin != memory.Host && s.Origin != memory.Model && s.Origin != memory.Derived
	})
}

// ours sets the objective and the approach off from what a lesson quotes: they
// are on the first line unless they quote as well.
func (o *Outcome) ours(b *strings.Builder, how string) {
	b.Grow(64 + len(how) + len(o.Objective) + len(o.Approach) + len(o.Worker))
	put := func(texts ...string) {
		for _, s := range texts {
			b.WriteString(s)
		}
	}
	between := " "
	if o.tainted() {
		between = "\n"
	}
	put(how, ":", between, text.Line(o.Objective), ".")
	if o.Approach != "" {
		put(between, "Approach: ", text.Line(o.Approach), ".")
	}
}

// How a Failure and an Episode begin.
const (
	delivered    = "Delivered"
	notDelivered = "Not delivered"
)

// parents links to the memories of the scope that the plan of a chunk was drawn from: those
// that the reasoner has named or repeated, and facts that say what else the plan has from
// nowhere. What another has taken the place of is none.
func (o *Outcome) parents(c *chunk.Chunk) (links []memory.Link) {
	of := o.chunkCase(o.Situation, o.Objective)
	shares := c.Sharing(&of)
	for i := range o.Injected {
		r := &o.Injected[i].Record
		over := func(h memory.Hit) bool { return replaces(&h, r) }
		if r.Scope != o.Scope || len(links) == memory.MaxLinks || slices.ContainsFunc(o.Injected, over) {
			continue
		}
		told := r.Trusted && r.Kind == memory.Fact && shares(r.Content)
		if told || slices.Contains(o.Parents, r.ID) {
			links = append(links, memory.Link{To: r.ID})
		}
	}
	return links
}

// Quotable returns the texts of a memory by which a plan that repeats it is known,
// and whether a plan may repeat them, since it is trusted, or the plan of a chunk.
// Of a lesson it is what stands below the first line, which is the reasoner's own.
func Quotable(r *memory.Record) (trigger, content string, free bool) {
	if r.Trusted || r.MayFire() {
		return r.Trigger, r.Content, true
	}
	first, rest, _ := strings.Cut(r.Content, "\n")
	lesson := r.Source.Origin == memory.Derived && (r.Kind == memory.Failure || r.Kind == memory.Episode)
	if lesson && (strings.HasPrefix(first, delivered+":") || strings.HasPrefix(first, notDelivered+":")) {
		return r.Trigger, rest, false
	}
	return r.Trigger, r.Content, false
}
