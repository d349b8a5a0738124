package benchmarks

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/memory"
)

// scorer gives each record of a conversation a score for a question; 0: it is
// not found.
type scorer interface {
	score(question string) []float64
}

// best returns the slots that have a score, best first, and of equals the
// latest first.
func best(scores []float64) []int {
	var out []int
	for i, s := range scores {
		if s > 0 {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b int) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), b-a) })
	return out
}

// counts are the terms of a text, each with how often it occurs.
type counts map[string]float64

func count(s string) counts {
	out := counts{}
	for _, t := range text.Append(nil, s) {
		out[t.Text]++
	}
	return out
}

func weigh(s string) (weights counts, length float64) {
	weights = counts{}
	for _, t := range text.Append(nil, s) {
		weights[t.Text] = t.Weight()
		length += t.Weight()
	}
	return weights, length
}

func idf(n, df float64) float64 { return math.Log1p((n - df + 0.5) / (df + 0.5)) }

// plain is BM25 as textbooks have it (k1 1.2, b 0.75) over the words of a turn
// and the name of its speaker, less the function words.
type plain struct {
	docs   []counts
	length []float64
	df     counts
	mean   float64
}

func newPlain(drafts []memory.Draft) *plain {
	p := &plain{df: counts{}}
	for _, d := range drafts {
		tf, length := counts{}, 0.0
		for _, t := range text.Append(nil, d.Content+"\n"+d.Actor) {
			if !t.Stop {
				tf[t.Text]++
				length++
			}
		}
		for t := range tf {
			p.df[t]++
		}
		p.docs, p.length = append(p.docs, tf), append(p.length, length)
		p.mean += length / float64(len(drafts))
	}
	return p
}

func (p *plain) score(question string) []float64 {
	const k1, b = 1.2, 0.75
	out := make([]float64, len(p.docs))
	weights, _ := weigh(question)
	for t, w := range weights {
		if w < 1 {
			continue
		}
		for i, tf := range p.docs {
			if n := tf[t]; n > 0 {
				out[i] += idf(float64(len(p.docs)), p.df[t]) * (k1 + 1) * n / (n + k1*(1-b+b*p.length[i]/p.mean))
			}
		}
	}
	return out
}

// naive is the score of package memory for records of conversations, written
// down once more, from texts alone and by scanning everything: what a Bank
// finds is compared with it. See internal/index for the meaning of each part.
type naive struct {
	recipe
	docs   []naiveDoc
	df     counts
	size   float64 // number of records, as the idf counts them
	actors map[string]counts
}

// recipe holds the parts of the score that TestLocomoParts changes.
type recipe struct {
	window       map[int]float64 // weights of the records before and after
	open         float64         // up to this length a record takes part in them
	k1, b        float64
	usual        float64 // least length that the norm calls usual
	records      float64 // least number of records
	named, asked float64
	actor, date  bool // words of the record
	function     bool // function words count
}

var standard = recipe{
	window: map[int]float64{-1: 0.3, -2: 0.18, -3: 0.09, 1: 0.15, 2: 0.12, 3: 0.06}, open: 32,
	k1: 0.9, b: 0.9, usual: 64, records: 1024, named: 0.28, asked: 0.25, actor: true, date: true, function: true,
}

type naiveDoc struct {
	tf            counts // over the length norm
	actor, thread string
	gate          float64
	asked, other  bool
}

func newNaive(drafts []memory.Draft) *naive { return standard.over(drafts) }

func (r recipe) over(drafts []memory.Draft) *naive {
	n := &naive{recipe: r, df: counts{}, actors: map[string]counts{}, size: r.records}
	var lengths []float64
	for _, d := range drafts {
		name := d.Actor
		if slices.Contains(roles, strings.ToLower(name)) {
			name = ""
		}
		written := d.Content
		if r.actor {
			written += "\n" + name
		}
		length := 0.0
		for _, t := range text.Append(nil, written) {
			length += t.Weight()
		}
		if r.date {
			written += d.At.UTC().Format(" 2006 January")
		}
		asked := length <= 16 && strings.Contains(d.Content, "?")
		length = math.Exp2(math.Round(8*math.Log2(max(length, 1))) / 8)
		lengths = append(lengths, length)
		doc := naiveDoc{tf: count(written), actor: name, thread: d.Thread, asked: asked}
		if r.date {
			doc.tf[d.At.UTC().Format("@01-02")]++
		}
		for t := range doc.tf {
			n.df[t]++
		}
		switch {
		case length <= r.open:
			doc.gate = 1
		case length <= 3*r.open:
			doc.gate = (r.open / length) * (r.open / length)
		}
		doc.other = slices.Contains(roles[3:], strings.ToLower(d.Actor))
		n.docs, n.actors[name] = append(n.docs, doc), count(name)
	}
	for n.size < float64(len(drafts)) {
		n.size *= 2
	}
	sorted := slices.Sorted(slices.Values(lengths))
	usual := r.usual
	for len(sorted) > 0 && usual < sorted[(len(sorted)-1)/4] {
		usual *= 2
	}
	for i, length := range lengths {
		for t := range n.docs[i].tf {
			n.docs[i].tf[t] /= 1 - r.b + r.b*length/usual
		}
	}
	return n
}

// roles are actors whose name says nothing; the first three are the side that
// asks, the others the other.
var roles = []string{"user", "human", "me", "assistant", "ai", "agent", "bot", "model", "system", "tool"}

func (n *naive) score(question string) []float64 {
	weights, _ := weigh(question)
	for _, day := range days(question) {
		weights[day] = 1
	}
	content := false
	for _, w := range weights {
		content = content || w == 1
	}
	out, found := make([]float64, len(n.docs)), make([]bool, len(n.docs))
	for t, w := range weights {
		if w < 1 && !n.function {
			continue
		}
		for i := range n.docs {
			tf := n.docs[i].tf[t]
			for d, share := range n.window {
				if j := i + d; j >= 0 && j < len(n.docs) && n.docs[i].thread != "" && n.docs[j].thread == n.docs[i].thread {
					tf += share * n.docs[i].gate * n.docs[j].gate * n.docs[j].tf[t]
				}
			}
			if tf > 0 {
				out[i] += w * idf(n.size, n.df[t]) * (n.k1 + 1) * tf / (tf + n.k1)
				found[i] = found[i] || w == 1 || !content
			}
		}
	}
	named, asker := n.named(weights), asksForOwn(question)
	for i := range out {
		doc := &n.docs[i]
		factor := 1 + n.recipe.named*indicator(named != "" && doc.actor == named) - 0.5*indicator(asker && doc.other) - n.asked*indicator(doc.asked)
		out[i] *= factor * indicator(found[i])
	}
	return out
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// named is the only actor whose name the question mentions, or "".
func (n *naive) named(weights counts) (name string) {
	for actor, terms := range n.actors {
		for t := range terms {
			if weights[t] == 1 {
				if name != "" && name != actor {
					return ""
				}
				name = actor
			}
		}
	}
	return name
}

var (
	firstPerson = regexp.MustCompile(`(?i)\b(i|me|my|mine|myself|we|us|our|ours|ourselves)\b`)
	otherSide   = regexp.MustCompile(`(?i)\b(did|have|had) you\b|\byou(['’]ve)? ((have|had) )?(said|told|gave|made|wrote|[a-z]+ed)\b`)
	day         = regexp.MustCompile(`(?i)\b(\d{1,2})(?:st|nd|rd|th)?(?: of)? (` + months + `)\b|\b(` + months + `) (\d{1,2})(?:st|nd|rd|th)?\b`)
)

const months = `january|february|march|april|may|june|july|august|september|october|november|december`

func asksForOwn(question string) bool {
	return firstPerson.MatchString(question) && !otherSide.MatchString(question)
}

func days(question string) (out []string) {
	for _, m := range day.FindAllStringSubmatch(strings.ToLower(question), -1) {
		at, err := time.Parse("2 January", fmt.Sprintf("%s %s", cmp.Or(m[1], m[4]), cmp.Or(m[2], m[3])))
		if err == nil {
			out = append(out, at.Format("@01-02"))
		}
	}
	return out
}
