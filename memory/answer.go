package memory

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/index"
)

// Whether there is an answer, fitted to three of five conversations of LoCoMo,
// whose questions without one ask of one speaker what the other has said; see
// docs/benchmarks.md.
const (
	saidByAny    = 0.95 // the question names no actor, or several
	saidBase     = 0.457
	saidBest     = 3.78 // by how much the best of the named one leads
	saidBestFew  = 3.10 // and the best few
	fewBest      = 3
	onTopic      = 0.9 // of Parts.Lexical's x: there, as likely as not
	likely       = onTopic * onTopic * onTopic * onTopic * onTopic * onTopic
	attributable = 10 // hits that are looked at
)

// said is by whom a record is, where the query names one actor.
type said uint8

const (
	byAny said = iota
	byNamed
	byAnother
)

// attribute notes by whom the records are that were found from one on. The caller
// holds mu of sh.
func (sc *scratch) attribute(sh *shard, from int) {
	if of, one := sh.index.Names(&sc.index); one && !sc.query.alone {
		for i := range sc.found[from:] {
			f := &sc.found[from+i]
			if f.by = byAnother; of(f.row) {
				f.by = byNamed
			}
		}
	}
}

// attributed returns how likely what was found is what the one whom the query
// names has said: the best of those records against the best of the others.
func attributed(fs []found) float64 {
	var best [attributable]*found
	n := 0
	for i := range fs {
		at := n
		for at > 0 && fs[i].ratio > best[at-1].ratio {
			at--
		}
		if at == attributable {
			continue
		}
		n = min(n+1, attributable)
		copy(best[at+1:n], best[at:])
		best[at] = &fs[i]
	}
	var most, few [2]float64 // of the best, and of the best few: those of the named one, and the others
	var seen [2]int
	for _, f := range best[:n] {
		if f.by == byAny {
			continue
		}
		side, score := 0, f.ratio/index.NamedGain
		if f.by == byAnother {
			side, score = 1, f.ratio
		}
		most[side] = max(most[side], score)
		if seen[side]++; seen[side] <= fewBest {
			few[side] += score
		}
	}
	if seen[0]+seen[1] == 0 {
		return saidByAny
	}
	lead := func(s [2]float64) float64 { return (s[0] - s[1]) / max(s[0], s[1]) }
	return 1 / (1 + math.Exp(-saidBase-saidBest*lead(most)-saidBestFew*lead(few)))
}

// answers is Parts.Answer.
func (q *query) answers(f *found) float64 {
	switch {
	case q.all:
		return 0
	case q.alone || f.flags.kind().learned(): // of a situation, which asks nothing of what was said
		return f.relevance
	case f.relevance >= 1:
		return q.attributed
	}
	odds := f.relevance / (1 - f.relevance) // x⁴
	y := odds * math.Sqrt(odds) / likely
	return q.attributed * y / (1 + y)
}

// Actors that are no more than a side of a conversation: that of who asks the
// queries, and the other.
var (
	asking    = [...]string{"user", "human", "customer", "me"}
	answering = [...]string{"assistant", "ai", "agent", "bot", "model", "system", "tool"}
)

func oneOf(actor string, roles []string) bool {
	return slices.ContainsFunc(roles, func(role string) bool { return strings.EqualFold(actor, role) })
}

// nameOf returns the actor as a name to be found by; "" for a role. Half of
// all records have that, and a query for "user" means something else.
func nameOf(actor string) string {
	if oneOf(actor, asking[:]) || oneOf(actor, answering[:]) {
		return ""
	}
	return actor
}

// byOther reports whether the record is by the other side than the one that
// asks the queries, as far as that can be told: its actor is called so, or, if
// not called like one who asks, it comes from a model, a program or the web.
func byOther(r *Record) bool {
	switch r.Source.Origin {
	case Model, Executor, Web:
		return !oneOf(r.Actor, asking[:])
	}
	return oneOf(r.Actor, answering[:])
}

// aboutAsker reports whether a question is about the one who asks it: it has I
// or we in one of their forms, and does not ask what the other side has said or
// done, as in "what did you tell me".
func aboutAsker(question string) bool {
	var before string // "", or what the words before stand for
	about := false
	for w := range strings.FieldsFuncSeq(question, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '\u2019' }) {
		var buf [16]byte
		if len(w) > len(buf) {
			before = ""
			continue
		}
		lower := buf[:0]
		for _, r := range w {
			if r == '\u2019' {
				r = '\''
			}
			lower = append(lower, byte(min(unicode.ToLower(r), utf8.RuneSelf))) // of none of the words below
		}
		after := before
		before = ""
		switch word := string(lower); word {
		case "i", "me", "my", "mine", "myself", "we", "us", "our", "ours", "ourselves",
			"i'm", "i've", "i'll", "i'd", "we're", "we've", "we'll", "we'd":
			about = true
		case "did":
			before = "did"
		case "have", "had":
			if before = "did"; after == "you" {
				before = "you"
			}
		case "you", "you've":
			if after == "did" {
				return false
			}
			before = "you"
		case "said", "told", "gave", "made", "wrote":
			if after == "you" {
				return false
			}
		default:
			if after == "you" && strings.HasSuffix(word, "ed") {
				return false
			}
		}
	}
	return about
}
