package memory

import (
	"slices"

	"github.com/arc-learn/arc/internal/phrase"
)

// trigger is a phrase that brings a record.
type trigger struct {
	e     *entry
	words []string // folded
}

// findTriggered finds the records of which a phrase is in the text. The caller
// holds mu.
func (sh *shard) findTriggered(sc *scratch) {
	if len(sh.triggers) == 0 {
		return
	}
	ws := phrase.Parts(sc.query.asked)
	from := len(sc.found)
	for _, t := range sh.triggers {
		at := phrase.In(ws, t.words)
		if at < 0 {
			continue
		}
		rank := float64(at+1) - float64(len(t.words))/256 // the first in the text, and the longer phrase
		if i := slices.IndexFunc(sc.found[from:], func(f found) bool { return f.entry == t.e }); i >= 0 {
			sc.found[from+i].ratio = max(sc.found[from+i].ratio, 1/rank)
			continue
		}
		sh.addRated(sc, t.e.row, rated{ratio: 1 / rank, relevance: 1, lexical: 1})
	}
}

// byPhrase scores what phrases have brought, in their order in the text.
func byPhrase(fs []found) {
	for i := range fs {
		fs[i].score = fs[i].ratio
	}
}
