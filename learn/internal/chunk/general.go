package chunk

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/arc-learn/arc/internal/template"
)

// Examples is how many chunks of one shape make a general one.
const Examples = 3

const (
	maxVariables = 4   // of a general chunk
	fixed        = 0.5 // least share of its words that are no variables
)

// Loose returns the chunk without the words of its objective, if none of them stands in the plan: the host vouches
// that the situation alone decides.
func (c *Chunk) Loose() *Chunk {
	if len(c.Quotes)+len(c.Named) > 0 || c.Objective == nil {
		return c
	}
	l := *c
	l.Objective = nil
	return &l
}

// Alike reports whether two chunks are the same, apart from their words and plans.
func (c *Chunk) Alike(d *Chunk) bool {
	inputs := func(a, b input) bool {
		if a.Quoted && b.Quoted && !a.Kept && !b.Kept {
			a.Value = b.Value
		}
		return a == b
	}
	return c.Vouched == d.Vouched && d.Unfit == "" && slices.Equal(c.Above, d.Above) && slices.Equal(c.Facts, d.Facts) &&
		len(c.Words) == len(d.Words) && len(c.Objective) == len(d.Objective) &&
		maps.Equal(c.Conditions, d.Conditions) && slices.EqualFunc(c.Inputs, d.Inputs, inputs)
}

// word returns a word of the situation or, after these, of the objective.
func (c *Chunk) word(at int) *template.Part {
	if at < len(c.Words) {
		return &c.Words[at]
	}
	return &c.Objective[at-len(c.Words)]
}

// Joins reports whether the last of chunks has the shape of those before.
func Joins(cs []*Chunk) bool {
	_, ok := columns(cs)
	return ok
}

// columns returns the positions where the words of chunks differ. Positions that vary together in all chunks belong to
// one variable. It reports false if the chunks differ too much to be of one shape, or in more than words.
func columns(cs []*Chunk) (cols [][]int, ok bool) {
	word := func(c *Chunk, at int) string { return template.Fold(c.word(at).Text) }
	same := func(a, b int) bool {
		return !slices.ContainsFunc(cs, func(c *Chunk) bool { return word(c, a) != word(c, b) })
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
		if !slices.ContainsFunc(cs, func(c *Chunk) bool { return word(c, at) != word(cs[0], at) }) {
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

// Unify makes a general chunk from chunks of one shape. A word becomes a variable only if it stands in all plans at
// the same places: otherwise the plans differ.
func Unify(cs []*Chunk) (*Chunk, bool) {
	if len(cs) < Examples {
		return nil, false
	}
	cols, ok := columns(cs)
	if !ok || len(cols) == 0 {
		return nil, false
	}
	var out *Chunk
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
func (c *Chunk) vary(cols [][]int) (*Chunk, bool) {
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
	g.Quotes, g.Named = nil, nil // all words have to match
	quoted := g.quoted()
	return &g, !slices.ContainsFunc(sources, func(s template.Source) bool { return !quoted[s.From[0]] })
}

// sameAs reports whether the plans and conditions of two chunks with variables are the same, apart from the words that
// variables replace.
func (c *Chunk) sameAs(d *Chunk) bool {
	core := func(c Chunk) string {
		c.Situation, c.Words, c.Objective, c.Inputs, c.Variables, c.Heard, c.Said = "", nil, nil, nil, nil, 0, nil
		raw, err := json.Marshal(c)
		if err != nil {
			return ""
		}
		return string(raw)
	}
	a := core(*c)
	return a != "" && a == core(*d)
}
