package redact

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// Rule describes the tokens of one issuer by their form: a mark that each of
// them holds, and so many characters of an alphabet around it. A token begins
// where a word begins, and is not followed by a further letter or digit.
//
// Rules are data: [Rules] returns those that are built in, and a host adds its
// own through [Options].
type Rule struct {
	// Kind names the token in the replacement, as in [REDACTED:kind]: 1 to 32
	// characters of a to z and underscore.
	Kind string
	// Mark is in each token, as written: 2 to 64 bytes of printable ASCII.
	// Mostly it is the token's beginning.
	Mark string
	// Before and BeforeMax are the least and the largest number of characters in
	// front of the mark, 0 to 256; = is none of them. Both 0, the default, mean
	// that the token begins with its mark.
	Before, BeforeMax int
	// Alphabet has the characters of the token besides its mark, as in the
	// brackets of a regular expression: "0-9a-f". A dash that is meant stands
	// last. Empty means A-Za-z0-9.
	Alphabet string
	// Min and Max are the least and the largest number of characters after the
	// mark; Max 0 means any number. What has more than Max is no token.
	Min, Max int
	// Entropy is the least that the characters after the mark must have, in bits
	// per character (Shannon, of the distribution of the characters themselves):
	// 0, the default, asks nothing, random hex has 3 and more, a word 2 to 3.
	Entropy float64
}

// Rules returns the built-in rules. The slice is the caller's.
func Rules() []Rule {
	out := make([]Rule, len(builtin.rules))
	for i := range builtin.rules {
		out[i] = builtin.rules[i].Rule
	}
	return out
}

var markForm = regexp.MustCompile(`^[!-~]{2,64}$`)

func (r *Rule) check() error {
	for _, c := range []struct {
		bad  bool
		what string
	}{
		{!isKind(r.Kind), "kind"},
		{!markForm.MatchString(r.Mark), "mark"},
		{r.Before < 0 || r.BeforeMax < r.Before || r.BeforeMax > maxOrdinary, "number of characters before the mark"},
		{r.Min < 0 || r.Max < 0 || r.Max > 0 && r.Max < r.Min, "number of characters after the mark"},
		{!(r.Entropy >= 0 && r.Entropy <= 8), "entropy"},
		{alphabet(r.Alphabet) == nil, "alphabet"},
	} {
		if c.bad {
			return fmt.Errorf("%s of %+v: %w", c.what, *r, ErrRule)
		}
	}
	return nil
}

// alphabet returns the set that a class such as "a-z0-9_-" stands for, or nil.
func alphabet(class string) *[256]bool {
	if class == "" {
		class = "A-Za-z0-9"
	}
	var set [256]bool
	for i := 0; i < len(class); i++ {
		lo, hi := class[i], class[i]
		if i+2 < len(class) && class[i+1] == '-' {
			hi = class[i+2]
			i += 2
		}
		if lo < '!' || hi > '~' || lo > hi || lo == '[' {
			return nil
		}
		for c := int(lo); c <= int(hi); c++ {
			set[c] = true
		}
	}
	return &set
}

// rule is a Rule made ready.
type rule struct {
	Rule
	holds []*regexp.Regexp // what the token must match as well
	alone bool             // does not follow one of _-./
	at    int              // the byte of the mark at which the scanner stops
	set   *[256]bool
}

// matcher finds the rules that may hold at a place of a text without trying them all: the
// scanner stops at a byte of the mark that is rare in ordinary text, and looks at the pair
// that it makes with the one before.
type matcher struct {
	rules  []rule
	stops  [256]uint8
	pairs  [1 << 10]uint64 // those of byPair, as bits
	byPair [1 << 10][]uint16
}

// rarest are the bytes of tokens, those first that cost least to stop at: where the scanner
// stops anyway, else by how common each is in ordinary text.
const rarest = "-_~+$/QXZJKVWYUGHFBDPLNOMRCISTEAs0123456789jqxzkvpygfwmucdlhrniotea.:b="

func pairAt(t string, i int) uint16 { return uint16(t[i-1])<<8 | uint16(t[i]) }

func bucket(p uint16) uint32 { return uint32(p) * 0x9E3779B1 >> 22 }

// compile makes rules ready, those of the host before the built-in ones. Among
// marks that begin alike the longest is tried first.
func compile(own []Rule, builtin []rule) *matcher {
	m := &matcher{}
	for _, c := range []byte("=:>s-bB@[.") {
		m.stops[c] = onPlace
	}
	for _, r := range own {
		m.rules = append(m.rules, rule{Rule: r})
	}
	m.rules = append(m.rules, builtin...)
	for i := range m.rules {
		r := &m.rules[i]
		r.set = alphabet(r.Alphabet)
		r.at = 1
		for at := range len(r.Mark) {
			if at > 0 && cost(r.Mark[at]) < cost(r.Mark[r.at]) {
				r.at = at
			}
		}
		m.stops[r.Mark[r.at]] |= onRule
		p := pairAt(r.Mark, r.at)
		m.pairs[p>>6] |= 1 << (p & 63)
		b := &m.byPair[bucket(p)]
		at := len(*b)
		for at > 0 && len(m.rules[(*b)[at-1]].Mark) < len(r.Mark) {
			at--
		}
		*b = slices.Insert(*b, at, uint16(i))
	}
	return m
}

func cost(c byte) uint { return uint(strings.IndexByte(rarest, c)) } // not there: most

// rule looks for a token whose pair is at i; it returns its end, or i.
func (sc *scanner) rule(i int) int {
	t := sc.text
	if i == 0 {
		return i
	}
	p := pairAt(t, i)
	if sc.m.pairs[p>>6]>>(p&63)&1 == 0 {
		return i
	}
	for _, n := range sc.m.byPair[bucket(p)] {
		r := &sc.m.rules[n]
		at := i - r.at
		if at < 0 || !strings.HasPrefix(t[at:], r.Mark) {
			continue
		}
		start := at
		for start > 0 && at-start <= r.BeforeMax && r.BeforeMax > 0 && r.set[t[start-1]] && t[start-1] != '=' {
			if at-start >= r.Before && isAlnum(t[start-1]) && startsWord(t, start) {
				break // behind \n or %3D
			}
			start--
		}
		if start == at && !startsWord(t, at) || at-start < r.Before || at-start > r.BeforeMax ||
			r.alone && start > 0 && strings.IndexByte("_-./", t[start-1]) >= 0 {
			continue
		}
		body, most := at+len(r.Mark), unbounded
		if r.Max > 0 {
			most = r.Max + 1
		}
		end := sc.run(body, most, r.set)
		for end > body && t[end-1] == '.' { // the end of a sentence
			end--
		}
		if end-body < r.Min || end-body >= most || end < len(t) && isAlnum(t[end]) {
			continue
		}
		if end-body > maxOrdinary || r.isToken(t[start:end], t[body:end]) {
			return sc.found(start, end, r.Kind)
		}
	}
	return i
}

// isToken says whether what has the form of a token is one.
func (r *rule) isToken(token, body string) bool {
	for _, re := range r.holds {
		if !re.MatchString(token) {
			return false
		}
	}
	return (r.Entropy == 0 || entropy(body) >= r.Entropy) && !isDummy(body)
}

// entropy returns the Shannon entropy of the bytes of s, in bits per byte.
func entropy(s string) (bits float64) {
	var counts [256]float64
	for i := range len(s) {
		counts[s[i]]++
	}
	for _, n := range counts {
		if n > 0 {
			bits -= n * math.Log2(n/float64(len(s)))
		}
	}
	return bits / float64(max(1, len(s)))
}
