package redact

import (
	"fmt"
	"math"
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
	// Alphabet has the characters of the token but for its mark, as in the
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

func (r *Rule) check() error {
	switch {
	case !isKind(r.Kind):
		return fmt.Errorf("kind %q: %w", r.Kind, ErrRule)
	case len(r.Mark) < 2 || len(r.Mark) > 64:
		return fmt.Errorf("%s: mark of %d bytes: %w", r.Kind, len(r.Mark), ErrRule)
	case strings.Trim(r.Mark, printable) != "":
		return fmt.Errorf("%s: mark %q: %w", r.Kind, r.Mark, ErrRule)
	case r.Before < 0 || r.BeforeMax < r.Before || r.BeforeMax > maxOrdinary:
		return fmt.Errorf("%s: %d to %d characters before the mark: %w", r.Kind, r.Before, r.BeforeMax, ErrRule)
	case r.Min < 0 || r.Max < 0 || r.Max > 0 && r.Max < r.Min:
		return fmt.Errorf("%s: %d to %d characters after the mark: %w", r.Kind, r.Min, r.Max, ErrRule)
	case !(r.Entropy >= 0 && r.Entropy <= 8):
		return fmt.Errorf("%s: entropy %v: %w", r.Kind, r.Entropy, ErrRule)
	case alphabet(r.Alphabet) == nil:
		return fmt.Errorf("%s: alphabet %q: %w", r.Kind, r.Alphabet, ErrRule)
	}
	return nil
}

var printable = func() string {
	var b []byte
	for c := byte('!'); c <= '~'; c++ {
		b = append(b, c)
	}
	return string(b)
}()

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
	ok    func(before, after string) bool // further condition, or nil; not asked of what is longer than maxOrdinary
	alone bool                            // does not follow one of _-./
	at    int                             // index in the mark of the byte that the scanner stops at
	set   *[256]bool
}

// matcher finds the rules that may hold at a place of a text without trying
// them all: the scanner stops at a byte of the mark that is rare in ordinary
// text, its anchor, and that byte with a neighbour of it selects few of them.
type matcher struct {
	rules    []rule
	triggers [256]uint8
	near     [256][4]uint64 // for each anchor the set of neighbours, as bits
	byPair   [1 << pairBits][]uint16
}

const pairBits = 10

func pair(a, b byte) int {
	return int((uint32(a)<<8 | uint32(b)) * 0x9E3779B1 >> (32 - pairBits))
}

// neighbour is the index in the mark of the byte that is looked at beside the
// anchor.
func (r *rule) neighbour() int {
	if r.at == 0 {
		return 1
	}
	return r.at - 1
}

// compile makes rules ready, those of the host before the built-in ones. Among
// marks that begin alike the longest is tried first.
func compile(own []Rule) *matcher {
	m := &matcher{triggers: triggers}
	for _, r := range own {
		m.rules = append(m.rules, rule{Rule: r})
	}
	m.rules = append(m.rules, builtins()...)
	sets := map[string]*[256]bool{}
	for i := range m.rules {
		r := &m.rules[i]
		if sets[r.Alphabet] == nil {
			sets[r.Alphabet] = alphabet(r.Alphabet)
		}
		r.set = sets[r.Alphabet]
		for at := range len(r.Mark) {
			if cost(r.Mark[at]) < cost(r.Mark[r.at]) {
				r.at = at
			}
		}
		m.triggers[r.Mark[r.at]] |= onMark
		next := r.Mark[r.neighbour()]
		m.near[r.Mark[r.at]][next>>6] |= 1 << (next & 63)
		p := &m.byPair[pair(r.Mark[r.at], next)]
		at := len(*p)
		for at > 0 && len(m.rules[(*p)[at-1]].Mark) < len(r.Mark) {
			at--
		}
		*p = append(*p, 0)
		copy((*p)[at+1:], (*p)[at:])
		(*p)[at] = uint16(i)
	}
	return m
}

// cost says how much it costs to stop at each c of an ordinary text: nothing
// more where the scanner stops anyway, else by how common c is.
func cost(c byte) int {
	switch {
	case c == '-':
		return 0
	case c == '_':
		return 1
	case c-'A' < 26 || strings.IndexByte("~+", c) >= 0:
		return 2
	case isDigit(c):
		return 3
	case isAlpha(c):
		return 4 + strings.IndexByte("jqxzkvbpygfwmucdlhrsnioate", c)
	case triggers[c] != 0:
		return 40 // what stops there has work enough
	}
	return 10
}

// mark looks for a token whose anchor is at i; it returns its end, or i.
func (sc *scanner) mark(i int) int {
	t, near := sc.text, &sc.m.near[sc.text[i]]
	if i > 0 && near[t[i-1]>>6]>>(t[i-1]&63)&1 != 0 {
		if end := sc.marked(i, sc.m.byPair[pair(t[i], t[i-1])]); end > i {
			return end
		}
	}
	if i+1 < len(t) && near[t[i+1]>>6]>>(t[i+1]&63)&1 != 0 {
		return sc.marked(i, sc.m.byPair[pair(t[i], t[i+1])])
	}
	return i
}

func (sc *scanner) marked(i int, rules []uint16) int {
	t := sc.text
	for _, n := range rules {
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
		if start == at && !startsWord(t, at) || at-start < r.Before || at-start > r.BeforeMax {
			continue
		}
		if r.alone && start > 0 && strings.IndexByte("_-./", t[start-1]) >= 0 {
			continue
		}
		body := at + len(r.Mark)
		stop := len(t)
		if r.Max > 0 {
			stop = min(stop, body+r.Max+1)
		}
		end := run(t[:stop], body, r.set)
		sc.work += end - start
		for end > body && t[end-1] == '.' { // the end of a sentence
			end--
		}
		if end-body < r.Min || r.Max > 0 && end-body > r.Max || end < len(t) && isAlnum(t[end]) {
			continue
		}
		long := end-body > maxOrdinary
		if !long && r.Entropy > 0 && entropy(t[body:end]) < r.Entropy {
			continue
		}
		if (r.ok == nil || r.ok(t[start:at], t[body:end])) && (long || !isMask(t[body:end])) {
			return sc.found(start, end, r.Kind)
		}
		if long {
			return end // looked at once: scanning stays linear
		}
	}
	return i
}

// entropy returns the Shannon entropy of the bytes of s, in bits per byte.
func entropy(s string) float64 {
	if s == "" {
		return 0
	}
	var counts [256]uint16
	s = s[:min(len(s), maxOrdinary)]
	for i := range len(s) {
		counts[s[i]]++
	}
	var sum float64
	for _, n := range counts {
		if n > 1 {
			sum += float64(n) * math.Log2(float64(n))
		}
	}
	return math.Log2(float64(len(s))) - sum/float64(len(s))
}
