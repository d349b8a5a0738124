package rank

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"
)

// Explain says in a sentence for each candidate, in the order of Learned, what its rank rests on.
func (b *Book) Explain(ctx context.Context, t Task, cs []Candidate) ([]string, error) {
	ranked, err := b.Learned().Score(ctx, t, cs)
	if err != nil {
		return nil, err
	}
	es, err := b.estimates(ctx, t, cs)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for i, c := range cs {
		at[c.Name] = i
	}
	out := make([]string, len(ranked))
	for i, r := range ranked {
		out[i] = b.sentence(t, r, &es[at[r.Name]])
	}
	return out, nil
}

func (b *Book) sentence(t Task, r Scored, e *estimate) string {
	s := b.Stats(r.Name, t.Skill)
	var w strings.Builder
	fmt.Fprintf(&w, "%s: ", r.Name)
	if s.Judged == 0 {
		fmt.Fprintf(&w, "no attempt was judged yet; it claims %.2f", r.Prior)
	} else {
		fmt.Fprintf(&w, "%d of its last %d judged attempts delivered, %v and $%.4f each on average",
			s.Delivered, s.Judged, s.Wall.Round(time.Millisecond), s.CostUSD)
	}
	if outages := s.Samples - s.Judged; outages > 0 {
		fmt.Fprintf(&w, "; %d more tell nothing about skill", outages)
	}
	if t.Key != "" {
		b.mu.RLock()
		if sk := b.lookup(t.Skill); sk != nil && sk.pairs[r.Name] != nil {
			c, _ := sk.pairs[r.Name].rec.cell(hash(t.Key))
			if n, sum := c.at(b.opts.Now().Unix()); n > 0 {
				fmt.Fprintf(&w, "; at this kind of case %.2f on average of some %.0f", sum/max(n, 1), math.Ceil(n))
			}
		}
		b.mu.RUnlock()
	}
	fmt.Fprintf(&w, "; expected worth %.2f", e.worth)
	if explore := e.bonus + e.draw; explore >= .005 {
		fmt.Fprintf(&w, ", and %.2f for what is not known", explore)
	}
	return w.String()
}
