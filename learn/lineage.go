package learn

import (
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/learn/internal/chunk"
	"github.com/arc-learn/arc/memory"
)

// The trust in a lesson depends on whose words it repeats: those of the host (objective, situation,
// names of skills and workers), of the reasoner (approach, tasks), and of others (complaints, and
// what the reasoner repeats of outputs, pages and users). The words of others stand below the first
// line of a Failure and an Episode, so that the next plan may repeat the first line as its
// reasoner's own.

// quotes returns the sources whose words a Failure or Episode repeats, beside the host.
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

// tainted reports whether the reasoner repeats the words of others.
func (o *Outcome) tainted() bool {
	return slices.ContainsFunc(o.Quotes, func(s memory.Source) bool {
		return s.Origin != memory.Host && s.Origin != memory.Model && s.Origin != memory.Derived
	})
}

// ours writes the objective and the approach on the first line, apart from what a lesson quotes, unless
// they quote others themselves.
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

// The beginning of a Failure and of an Episode.
const (
	delivered    = "Delivered"
	notDelivered = "Not delivered"
)

// parents links to the memories, of whatever scope, that the plan of a chunk was drawn from: those
// that the reasoner has named or repeated, and facts that say what else the plan has from
// nowhere. What another has taken the place of is none.
func (o *Outcome) parents(c *chunk.Chunk) (links []memory.Link) {
	of := o.chunkCase(o.Situation, o.Objective)
	shares := c.Sharing(&of)
	for i := range o.Injected {
		r := &o.Injected[i].Record
		over := func(h memory.Hit) bool { return replaces(&h, r) }
		if len(links) == memory.MaxLinks || slices.ContainsFunc(o.Injected, over) {
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
