package text

import (
	"hash/maphash"
	"sync/atomic"
)

// memo remembers the terms of words, which are costly to stem. A word has two
// cells, which it shares with others: the older of two words goes when a third
// needs a place. It is a memo of a pure function: sharing it changes no answer.
type memo [1 << 14][2]atomic.Pointer[remembered]

type remembered struct {
	word string
	term Term
}

var (
	memos    [Plain + 1]memo
	memoSeed = maphash.MakeSeed()
)

// recall returns the term of a word in lower case.
func (l Language) recall(w []byte) Term {
	cells := &memos[l][maphash.Bytes(memoSeed, w)%uint64(len(memo{}))]
	first := cells[0].Load()
	if first != nil && first.word == string(w) {
		return first.term
	}
	if second := cells[1].Load(); second != nil && second.word == string(w) {
		return second.term
	}
	word := string(w)
	t := l.analyze(word)
	cells[1].Store(first)
	cells[0].Store(&remembered{word, t})
	return t
}
