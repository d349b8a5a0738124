package learn

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/arc-learn/arc/internal/template"
	"github.com/arc-learn/arc/memory"
)

// isGeneral is the relation of a pattern with variables to those that it was
// drawn from.
const isGeneral = "generalises"

const (
	examples     = 3   // chunks of one shape that make a general one
	maxVariables = 4   // that it has at most
	fixed        = 0.5 // share of its words that are no variables, at least
)

// generalise looks for chunks of the same shape as the one that was just stored,
// and remembers one with variables in place of the words that they differ in. It
// is done when three agree: in their conditions and, with variables in place, in
// their words and plans. Chunks that cannot be drawn together are left as they are:
// the errors are those of the store alone.
func (l *Learner) generalise(ctx context.Context, o *Outcome, id memory.ID, like []memory.Hit) error {
	own, err := l.bank.In(o.Scope).Get(ctx, id)
	if err != nil {
		return err
	}
	first, err := l.decoded(&own)
	if err != nil || first.Unfit != "" {
		return nil
	}
	first = first.loose()
	shape, links := []*chunk{first}, []memory.Link{{To: id, Rel: isGeneral}}
	for i := range like {
		r := &like[i].Record
		if !r.MayFire() || r.ID == id || generalises(r) > 0 {
			continue
		}
		c, err := l.decoded(r)
		if err != nil {
			continue
		}
		if c = c.loose(); !first.alike(c) {
			continue
		}
		if _, ok := columns(append(slices.Clone(shape), c)); ok {
			shape, links = append(shape, c), append(links, memory.Link{To: r.ID, Rel: isGeneral})
		}
	}
	c, ok := unify(shape)
	if !ok {
		return nil
	}
	d, err := c.draft()
	if err != nil {
		return nil
	}
	for _, l := range links {
		d.Links = append(d.Links, memory.Link{To: l.To}) // derived from it: Revoke follows
	}
	d.Links, d.Key = append(d.Links, links...), digest(d.Trigger+"\x00"+string(d.Plan), "general")
	if _, err = l.remember(ctx, o, d); errors.Is(err, memory.ErrPlan) {
		return nil
	}
	return err
}

// loose returns the chunk without the words of its objective, if none of them stands
// in the plan: the host vouches that the situation alone decides.
func (c *chunk) loose() *chunk {
	if len(c.Quotes)+len(c.Named) > 0 || c.Objective == nil {
		return c
	}
	l := *c
	l.Objective = nil
	return &l
}

// generalises returns how many patterns one with variables was drawn from.
func generalises(r *memory.Record) (n int) {
	for _, l := range r.Links {
		if l.Rel == isGeneral {
			n++
		}
	}
	return n
}

// alike reports whether two chunks are the same besides their words and plans.
func (c *chunk) alike(d *chunk) bool {
	inputs := func(a, b input) bool {
		if a.Quoted && b.Quoted && !a.Kept && !b.Kept {
			a.Value = b.Value
		}
		return a == b
	}
	return c.Vouched == d.Vouched && d.Unfit == "" && slices.Equal(c.Above, d.Above) &&
		len(c.Words) == len(d.Words) && len(c.Objective) == len(d.Objective) &&
		maps.Equal(c.Conditions, d.Conditions) && slices.EqualFunc(c.Inputs, d.Inputs, inputs)
}

// word returns a word of the situation or, after these, of the objective.
func (c *chunk) word(at int) *template.Part {
	if at < len(c.Words) {
		return &c.Words[at]
	}
	return &c.Objective[at-len(c.Words)]
}

// columns returns where the words of chunks differ: positions that go together in
// all of them are of one variable. It reports false if they differ too much to be
// of one shape, or in what is no word.
func columns(cs []*chunk) (cols [][]int, ok bool) {
	word := func(c *chunk, at int) string { return template.Fold(c.word(at).Text) }
	same := func(a, b int) bool {
		return !slices.ContainsFunc(cs, func(c *chunk) bool { return word(c, a) != word(c, b) })
	}
	differ, n := 0, len(cs[0].Words)+len(cs[0].Objective)
next:
	for at := range n {
		p := cs[0].word(at)
		for _, c := range cs[1:] {
			if !slices.Equal(c.word(at).From, p.From) {
				return nil, false
			}
		}
		if !slices.ContainsFunc(cs, func(c *chunk) bool { return word(c, at) != word(cs[0], at) }) {
			continue
		}
		differ++
		for i := range cols {
			if same(cols[i][0], at) {
				cols[i] = append(cols[i], at)
				continue next
			}
		}
		cols = append(cols, []int{at})
	}
	return cols, len(cols) <= maxVariables && float64(n-differ) >= fixed*float64(n)
}

// unify draws a general chunk from chunks of one shape. A word becomes a variable
// only where it stands in all plans at the same places: otherwise these differ.
func unify(cs []*chunk) (*chunk, bool) {
	if len(cs) < examples {
		return nil, false
	}
	cols, ok := columns(cs)
	if !ok || len(cols) == 0 {
		return nil, false
	}
	var out *chunk
	for _, c := range cs {
		g, ok := c.vary(cols)
		if !ok {
			return nil, false
		}
		if out == nil {
			out = g
			continue
		}
		if !out.sameAs(g) {
			return nil, false
		}
		for _, k := range g.Variables {
			if !slices.Contains(out.Variables, k) {
				out.Variables = append(out.Variables, k)
			}
		}
	}
	return out, true
}

// vary puts variables in place of the words at some positions, in the plan too. It
// reports false if one of them does not stand in the plan.
func (c *chunk) vary(cols [][]int) (*chunk, bool) {
	g := *c
	g.Words, g.Objective = slices.Clone(c.Words), slices.Clone(c.Objective)
	var sources []template.Source
	for i, col := range cols {
		name := template.Ref{strconv.Itoa(i + 1)}
		word := c.word(col[0]).Text
		if k := template.LookOf(word); !slices.Contains(g.Variables, k) {
			g.Variables = append(g.Variables, k)
		}
		sources = append(sources, template.Source{Value: template.Value{Kind: template.String, Text: word}, From: name})
		for _, at := range col {
			*g.word(at) = template.Part{From: name}
		}
	}
	q := template.NewQuoter(sources)
	g.Situation = q.Phrase(template.Literal(c.Situation)).Show()
	g.quote(q)
	g.Quotes, g.Named = nil, nil // all words are held as they are
	quoted := g.quoted()
	return &g, !slices.ContainsFunc(sources, func(s template.Source) bool { return !quoted[s.From[0]] })
}

// sameAs reports whether the plans and conditions of two chunks with variables are
// the same: what a variable did not replace tells them apart.
func (c *chunk) sameAs(d *chunk) bool {
	core := func(c chunk) string {
		c.Situation, c.Words, c.Objective, c.Inputs, c.Variables = "", nil, nil, nil, nil
		raw, err := json.Marshal(c)
		if err != nil {
			return ""
		}
		return string(raw)
	}
	a := core(*c)
	return a != "" && a == core(*d)
}
