package index

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

// Actors that are no more than a side of a conversation: that of who asks the queries, and the other.
var (
	asking    = []string{"user", "human", "customer", "me"}
	answering = []string{"assistant", "ai", "agent", "bot", "model", "system", "tool"}
)

// actorName returns the actor as a name to be found by; "" for a side: half of all records have that.
func actorName(actor string) string {
	if side := strings.ToLower(actor); slices.Contains(asking, side) || slices.Contains(answering, side) {
		return ""
	}
	return actor
}

// otherSide reports whether a record is by the other side than the one that asks, where that can be told.
func otherSide(actor string, machine bool) bool {
	side := strings.ToLower(actor)
	return machine && !slices.Contains(asking, side) || slices.Contains(answering, side)
}

// The weights are fitted to conversations of LoCoMo, where a question without an answer asks of one speaker what the
// other has said; see docs/benchmarks.md.
const (
	compared   = 10 // matches
	few        = 3
	leadBase   = 0.457
	leadBest   = 3.78 // by how much the best of the named actor leads
	leadFew    = 3.10 // and the best few
	selfWeight = 0.5  // of a word by which somebody who asks is meant
	unnamed    = 0.95 // of a query that names no actor, or several
)

// attributed estimates how likely what was found was said by the one actor whom the query names: it compares the
// best of their records with the best of the others.
func (ix *Index) attributed(sc *scratch, ms []Match) float64 {
	if sc.named == 0 {
		return unnamed
	}
	var best, sum [2]float64 // of the named actor, and of the others
	var n [2]int
	for _, m := range ms[:min(compared, len(ms))] {
		side, score := 0, m.Ratio/(1+actorNamed)
		if ix.extras[m.Row].actor != sc.named {
			side, score = 1, m.Ratio
		}
		best[side] = max(best[side], score)
		if n[side]++; n[side] <= few {
			sum[side] += score
		}
	}
	lead := func(s [2]float64) float64 { return (s[0] - s[1]) / max(s[0], s[1]) }
	return 1 / (1 + math.Exp(-leadBase-leadBest*lead(best)-leadFew*lead(sum)))
}

// selfWords are the words by which somebody who asks is meant.
var selfWords = map[string]bool{"i": true, "me": true, "my": true, "mine": true, "myself": true, "we": true, "us": true,
	"our": true, "ours": true, "ourselves": true}

// asksOfSelf reports whether a question is about the one who asks it: it has I or we in one of their forms, and
// does not ask what the other side has said or done ("what did you tell me").
func asksOfSelf(question string) bool {
	words := strings.FieldsFunc(strings.ToLower(question), func(r rune) bool { return !unicode.IsLetter(r) })
	self := false
	for i, w := range words {
		self = self || selfWords[w]
		if w == "you" {
			if i > 0 && (words[i-1] == "did" || words[i-1] == "have" || words[i-1] == "had") || i+1 < len(words) && said(words[i+1]) {
				return false
			}
		}
	}
	return self
}

func said(w string) bool {
	return strings.HasSuffix(w, "ed") || slices.Contains([]string{"said", "told", "gave", "made", "wrote"}, w)
}
