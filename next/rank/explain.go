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
	says := map[string]string{}
	ranked, err := policy{b, func(sk *skill, t Task, cs []Candidate) []contender {
		for i, e := range b.estimates(sk, t, cs) {
			says[cs[i].Name] = sk.sentence(t, &cs[i], &e)
		}
		return b.learned(sk, t, cs)
	}}.Score(ctx, t, cs)
	var out []string
	for _, r := range ranked {
		out = append(out, says[r.Name])
	}
	return out, err
}

func (sk *skill) sentence(t Task, c *Candidate, e *estimate) string {
	s := sk.summary(c.Name)
	var w strings.Builder
	fmt.Fprintf(&w, "%s: ", c.Name)
	if s.Judged == 0 {
		fmt.Fprintf(&w, "no attempt was judged yet; it claims %.2f", c.Prior)
	} else {
		fmt.Fprintf(&w, "%d of its last %d judged attempts delivered, %v and $%.4f each on average",
			s.Delivered, s.Judged, s.mean().Round(time.Millisecond), ratio(float64(s.USD+s.Estimated)/billion, int(s.Attempts)))
	}
	if outages := s.Attempts - s.Judged; outages > 0 {
		fmt.Fprintf(&w, "; %d more tell nothing about skill", outages)
	}
	if kind, known := sk.record(c.Name).cell(hash(t.Key)); known && kind.N > 0 {
		fmt.Fprintf(&w, "; at this kind of case %.2f on average of some %.0f", kind.Sum/kind.N, math.Ceil(kind.N))
	}
	fmt.Fprintf(&w, "; expected worth %.2f", e.worth)
	if explore := e.bonus + e.draw; explore >= .005 {
		fmt.Fprintf(&w, ", and %.2f for what is not known", explore)
	}
	return w.String()
}
