package index

import (
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/text"
)

// actor is who said or did something: records with the same terms in Actor
// have the same.
type actor struct {
	id    uint32   // from 1
	words []string // distinct, without function words
	n     int      // records
}

func actorKey(terms []text.Term) string {
	words := make([]string, len(terms))
	for i, t := range terms {
		words[i] = t.Text
	}
	return strings.Join(words, "\x00")
}

// enter counts a record of an actor, and returns the number of the actor; 0 if
// there is none.
func (ix *Index) enter(terms []text.Term) uint32 {
	if len(terms) == 0 {
		return 0
	}
	key := actorKey(terms)
	a := ix.actors[key]
	if a == nil {
		ix.lastActor++
		a = &actor{id: ix.lastActor}
		ix.actors[key] = a
		for _, t := range terms {
			if !t.Stop && !slices.Contains(a.words, t.Text) {
				a.words = append(a.words, t.Text)
			}
		}
		ix.rename(a, func(as []*actor) []*actor { return append(as, a) })
	}
	a.n++
	return a.id
}

// exit takes back what enter did.
func (ix *Index) exit(terms []text.Term) {
	key := actorKey(terms)
	a := ix.actors[key]
	if a == nil {
		return
	}
	if a.n--; a.n == 0 {
		delete(ix.actors, key)
		ix.rename(a, func(as []*actor) []*actor {
			return slices.DeleteFunc(as, func(x *actor) bool { return x == a })
		})
	}
}

// rename changes the actors of the words of a name.
func (ix *Index) rename(a *actor, change func([]*actor) []*actor) {
	for _, word := range a.words {
		if as := change(ix.names[word]); len(as) > 0 {
			ix.names[word] = as
		} else {
			delete(ix.names, word)
		}
	}
}

// onlyNamed returns the number of the only actor whose name has one of the words,
// function words aside, or 0.
func (ix *Index) onlyNamed(words []word) uint32 {
	found := uint32(0)
	for i := range words {
		for _, a := range ix.names[words[i].text] {
			if found != 0 && found != a.id {
				return 0
			}
			found = a.id
		}
	}
	return found
}

// Names returns whether the last search that sc served, which was of ix, named one
// actor and no other, and a function that reports whether a row is of that one.
func (ix *Index) Names(sc *Scratch) (of func(row uint32) bool, one bool) {
	actor := sc.named
	return func(row uint32) bool { return ix.cols.actor[row] == actor }, actor != 0
}

// NamedGain is by what the score of a record of the actor is multiplied that the
// query names.
const NamedGain = 1 + actorNamed
