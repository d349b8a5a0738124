package rank

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/arc-learn/arc/internal/fence"
)

// Reason says in a sentence what the score rests on.
func (s Scored) Reason() string {
	p := &s.Parts
	switch p.Basis {
	case Cold:
		return fmt.Sprintf("the card's prior %s, with %d of the %d known outcomes that trust takes",
			number(p.Prior), p.Known, trusted)
	case Warm:
		return fmt.Sprintf("%d of %d outcomes known: success %+.4g, confidence %+.4g, wall time %+.4g",
			p.Known, s.Samples, p.Success, p.Confidence, p.Wall)
	case Drawn:
		if p.Known == 0 {
			return fmt.Sprintf("no outcome in the last day, first with chance %s", number(p.Chance))
		}
		return fmt.Sprintf("success rate %s and %s USD a success in the last day, first with chance %s",
			number(p.Success), number(p.Cost), number(p.Chance))
	case Priced:
		return fmt.Sprintf("chance %s at %s USD an attempt, worth %s USD by itself",
			number(p.Success), number(p.Cost), number(s.Score))
	case Estimated:
		return fmt.Sprintf("worth %s by about %d samples, %s for the context, %s to find out, %s by the draw",
			number(p.Mean), p.Known, signed(p.Context), signed(p.Bonus), signed(p.Draw))
	}
	return fmt.Sprintf("score %s over %d samples", number(s.Score), s.Samples)
}

// Explain writes one line per candidate of an order, for people to read: its rank, why it has that, and,
// below the first, in which term it lost most to the first.
func Explain(ss []Scored) string {
	var b strings.Builder
	for i := range ss {
		name := cmp.Or(fence.Line(ss[i].Candidate.Name), "(unnamed)")
		fmt.Fprintf(&b, "%d. %s %s: %s", i+1, name, number(ss[i].Score), ss[i].Reason())
		if ss[i].Price != nil {
			fmt.Fprintf(&b, "; %v", ss[i].Price)
		}
		if i > 0 {
			fmt.Fprintf(&b, "; %s", lost(&ss[i], &ss[0]))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// lost says why s comes after first.
func lost(s, first *Scored) string {
	gap := first.Score + first.Parts.Bonus + first.Parts.Draw - s.Score - s.Parts.Bonus - s.Parts.Draw
	switch {
	case s.Parts.Basis == Drawn:
		return fmt.Sprintf("drawn after the first, whose chance was %s", number(first.Parts.Chance))
	case gap > 0 && s.Parts.Basis == first.Parts.Basis && s.Parts.Basis != Cold && s.Parts.Basis != Priced:
		return fmt.Sprintf("%s behind the first, most of it %s", number(gap), mostOf(&s.Parts, &first.Parts))
	case gap > 0:
		return fmt.Sprintf("%s behind the first", number(gap))
	case gap < 0 && s.Parts.Basis == Priced: // by what the attempts after it are worth
		return "worth more after the first than before it"
	case s.Candidate.Prior < first.Candidate.Prior:
		return "as good as the first, with a lower prior"
	case s.Candidate.Blast > first.Candidate.Blast:
		return "as good as the first, with a larger blast"
	}
	return "as good as the first, and later in the input"
}

// mostOf returns the term in which p loses most to first.
func mostOf(p, first *Parts) string {
	most, term := 0.0, ""
	for _, t := range []struct {
		name string
		lost float64
	}{
		{"success", first.Success - p.Success},
		{"confidence", first.Confidence - p.Confidence},
		{"wall time", first.Wall - p.Wall},
		{"worth", first.Mean - p.Mean},
		{"context", first.Context - p.Context},
		{"the bonus", first.Bonus - p.Bonus},
		{"the draw", first.Draw - p.Draw},
	} {
		if t.lost > most {
			most, term = t.lost, t.name
		}
	}
	return term
}

// signed prints a figure with its sign.
func signed(f float64) string { return fmt.Sprintf("%+g", math.Round(f*1e4)/1e4) }

// number prints a figure with at most four digits after the point.
func number(f float64) string { return fmt.Sprintf("%g", math.Round(f*1e4)/1e4) }
