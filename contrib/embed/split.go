package embed

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// splitter yields the words that a model turns into tokens one by one.
type splitter func(s string, yield func(string))

func newSplitter(raw json.RawMessage) (splitter, error) {
	p, err := newPart(raw)
	if p == nil || err != nil {
		return func(s string, yield func(string)) { yield(s) }, err
	}
	return p.splitter(maxParts)
}

func (p *part) splitter(depth int) (splitter, error) {
	switch p.Type {
	case "Sequence":
		return p.splitters(depth)
	case "BertPreTokenizer":
		return func(s string, yield func(string)) { fields(s, punctuation, yield) }, nil
	case "WhitespaceSplit":
		return func(s string, yield func(string)) { fields(s, func(rune) bool { return false }, yield) }, nil
	case "Whitespace":
		return words, nil
	case "Punctuation":
		if p.Behavior == "" || p.Behavior == "Isolated" {
			return func(s string, yield func(string)) { isolate(s, punctuation, yield) }, nil
		}
	case "Digits":
		if p.Single {
			return func(s string, yield func(string)) { isolate(s, unicode.IsNumber, yield) }, nil
		}
	case "Metaspace":
		return p.metaspace()
	}
	return nil, fmt.Errorf("%w: pre-tokenizer %.32q", ErrUnsupported, p.Type)
}

func (p *part) splitters(depth int) (splitter, error) {
	if depth == 0 || len(p.Pretokenizers) > maxSteps {
		return nil, fmt.Errorf("%w: too many pre-tokenizers", ErrUnsupported)
	}
	all := func(s string, yield func(string)) { yield(s) }
	for i := range p.Pretokenizers {
		next, err := p.Pretokenizers[i].splitter(depth - 1)
		if err != nil {
			return nil, err
		}
		before := all
		all = func(s string, yield func(string)) {
			before(s, func(w string) { next(w, yield) })
		}
	}
	return all, nil
}

// punctuation is what BERT counts as such.
func punctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && r < 0x7f && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	return unicode.IsPunct(r)
}

// fields yields what stands between spaces, and each character that is alone by
// itself.
func fields(s string, alone func(rune) bool, yield func(string)) {
	for w := range strings.FieldsSeq(s) {
		isolate(w, alone, yield)
	}
}

// isolate yields s in pieces: each character that is alone, and what is
// between them.
func isolate(s string, alone func(rune) bool, yield func(string)) {
	start := 0
	for i, r := range s {
		if !alone(r) {
			continue
		}
		if i > start {
			yield(s[start:i])
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		yield(s[i : i+n])
		start = i + n
	}
	if start < len(s) {
		yield(s[start:])
	}
}

// words yields runs of word characters, and runs of others between spaces.
func words(s string, yield func(string)) {
	class := func(r rune) int {
		switch {
		case unicode.IsSpace(r):
			return 0
		case r == '_' || unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.Pc):
			return 1
		}
		return 2
	}
	start, last := 0, 0
	for i, r := range s {
		if c := class(r); c != last {
			if last != 0 {
				yield(s[start:i])
			}
			start, last = i, c
		}
	}
	if last != 0 {
		yield(s[start:])
	}
}

// metaspace makes spaces visible, and begins a word at each.
func (p *part) metaspace() (splitter, error) {
	mark := p.Mark
	if utf8.RuneCountInString(mark) != 1 {
		return nil, fmt.Errorf("%w: the mark for spaces is %.16q", ErrModel, mark)
	}
	prepend := p.Scheme == "first" || p.Scheme == "always"
	if p.Scheme == "" {
		prepend = is(p.AddPrefix, true)
	}
	split := is(p.Split, true)
	return func(s string, yield func(string)) {
		s = strings.ReplaceAll(s, " ", mark)
		if prepend && !strings.HasPrefix(s, mark) {
			s = mark + s
		}
		for split && len(s) > 0 {
			next := strings.Index(s[1:], mark)
			if next < 0 {
				break
			}
			yield(s[:next+1])
			s = s[next+1:]
		}
		if s != "" {
			yield(s)
		}
	}, nil
}
