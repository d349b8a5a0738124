package redact

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// rule describes the tokens of one issuer: a mark that each contains, and how many
// characters of a set stand before and after it. A token begins where a word begins, and no
// letter or digit follows it.
type rule struct {
	kind, mark        string
	before, beforeMax int // characters in front of the mark
	after, afterMax   int // and behind it
	set               *[256]bool
	holds             []test
	at                int // index in mark of the byte at which the scanner stops
}

// formats are the rules of the table.
var formats = func() (out []rule) {
	for _, col := range rows(formatTable) {
		r := rule{kind: col[0], set: class(col[1]), holds: allOf(col[6], (*candidate).value)}
		fmt.Sscan(strings.Join(col[2:6], " "), &r.after, &r.afterMax, &r.before, &r.beforeMax) // a test reads the table
		r.afterMax = cmp.Or(r.afterMax, unbounded)
		for _, r.mark = range col[7:] {
			out = append(out, r)
		}
	}
	return out
}()

// rarest orders the bytes of tokens by what it costs to stop at them: first those at which
// the scanner stops anyway, then from rare to common in ordinary text.
const rarest = "-_~+$/QXZJKVWYUGHFBDPLNOMRCISTEAs0123456789jqxzkvpygfwmucdlhrniotea.:b="

func pairAt(t string, i int) uint16 { return uint16(t[i-1])<<8 | uint16(t[i]) }

// Why the scanner stops at a byte: a rule may hold there, place has a case for it, or it
// may be part of an invisible character.
const onRule, onPlace, onOdd = 1, 2, 4

// matcher finds the rules that may hold at a byte without trying all: the scanner stops at
// the rarest byte of each mark, and looks up the pair that it makes with the byte before.
// Rules of one pair are tried from the longest mark to the shortest.
var matcher = func() (m struct {
	stops  [256]uint8
	pairs  [1 << 16]bool // those of byPair
	byPair map[uint16][]*rule
}) {
	m.byPair = map[uint16][]*rule{}
	for c := range m.stops {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c > '~' {
			m.stops[c] = onOdd
		} else if strings.IndexByte("=:>s-bB[", byte(c)) >= 0 {
			m.stops[c] = onPlace
		}
	}
	slices.SortStableFunc(formats, func(a, b rule) int { return len(b.mark) - len(a.mark) })
	for i := range formats {
		r := &formats[i]
		r.at = 1
		for at := 2; at < len(r.mark); at++ { // as uint, the -1 of a byte not in rarest is the largest
			if uint(strings.IndexByte(rarest, r.mark[at])) < uint(strings.IndexByte(rarest, r.mark[r.at])) {
				r.at = at
			}
		}
		p := pairAt(r.mark, r.at)
		m.stops[r.mark[r.at]] |= onRule
		m.pairs[p] = true
		m.byPair[p] = append(m.byPair[p], r)
	}
	return m
}()

// scanner passes once over a text and stops only at bytes that each kind of secret has near
// its start. There it tries the rules of matcher, and place.
type scanner struct {
	text  string
	under string // the name of the field that holds the text, or ""
	odd   bool   // the text may have invisible characters
	spans []span // the secrets found
	work  int    // stops, and bytes read there
	// untagged is the end of the last text that is known to have no closing tag.
	untagged int
}

// found records a secret and returns its end.
func (sc *scanner) found(start, end int, kind string) int {
	sc.spans = append(sc.spans, span{start: start, end: end, kind: kind})
	return end
}

const unbounded = 1 << 62

// run returns the end of the run of bytes in a set that begins at i, at most n long.
func (sc *scanner) run(i, n int, set *[256]bool) int {
	end := i + length(sc.text[i:min(len(sc.text)-i, n)+i], set)
	sc.work += end - i
	return end
}

// back returns the beginning of the run of bytes in a set that ends at i, at most n long.
func (sc *scanner) back(i, n int, set *[256]bool) int {
	start := i
	for start > 0 && i-start < n && set[sc.text[start-1]] {
		start--
	}
	return start
}

// byteAt returns the byte at i, or 0.
func (sc *scanner) byteAt(i int) byte {
	if i < 0 || i >= len(sc.text) {
		return 0
	}
	return sc.text[i]
}

// before returns up to n bytes of the text that end at i, and their index.
func (sc *scanner) before(i, n int) (string, int) { return sc.text[max(0, i-n):i], max(0, i-n) }

// window returns up to n bytes of the text that begin at i.
func (sc *scanner) window(i, n int) string { return sc.text[i:min(len(sc.text), i+n)] }

// rule looks for a token by the rules whose pair ends at i. It returns the token's end, or i.
func (sc *scanner) rule(i int) int {
	t := sc.text
	if i == 0 || !matcher.pairs[pairAt(t, i)] {
		return i
	}
	for _, r := range matcher.byPair[pairAt(t, i)] {
		at := i - r.at
		if at < 0 || !strings.HasPrefix(t[at:], r.mark) {
			continue
		}
		start := at
		for start > 0 && at-start <= r.beforeMax && r.beforeMax > 0 && r.set[t[start-1]] && t[start-1] != '=' {
			if at-start >= r.before && isAlnum(t[start-1]) && startsWord(t, start) {
				break // behind \n or %3D
			}
			start--
		}
		if start == at && !startsWord(t, at) || at-start < r.before || at-start > r.beforeMax {
			continue
		}
		body := at + len(r.mark)
		end := sc.run(body, min(r.afterMax+1, unbounded), r.set)
		n := len(strings.TrimRight(t[body:end], ".")) // without the end of a sentence
		least := r.after
		if end = body + n; r.after == r.afterMax && isCut(t, end) {
			least -= 3 // with more characters missing the rest is of no use
		}
		if n < least || n > r.afterMax || end < len(t) && isAlnum(t[end]) {
			continue
		}
		c := candidate{text: t, keyStart: start, keyEnd: body, start: start, end: end}
		if n > maxOrdinary || !isDummy(t[body:end]) && c.holds(r.holds) { // tests are for short ones
			return sc.found(start, end, r.kind)
		}
	}
	return i
}

// isCut reports whether a text was cut at i: an ellipsis follows, or the text ends there and
// is at least as long as a line that a terminal cuts.
func isCut(t string, i int) bool {
	return i == len(t) && i >= 72 || strings.HasPrefix(t[i:], "...") || strings.HasPrefix(t[i:], "…")
}

// Issued returns the kind of the first token in text that a rule matches, or "".
func Issued(text string) string {
	sc := scanner{text: text}
	for i := range len(text) {
		if matcher.stops[text[i]]&onRule != 0 && sc.rule(i) > i {
			return sc.spans[0].kind
		}
	}
	return ""
}

// Pattern is one kind of secret that a host adds.
type Pattern struct {
	// Kind names the secret in the replacement, as in [REDACTED:kind]: 1 to 32
	// characters of a to z and underscore.
	Kind string
	// Expr finds the secret. Required. Empty matches are ignored.
	Expr *regexp.Regexp
	// Group is the number of the capturing group that holds the secret;
	// 0, the default, is the whole match.
	Group int

	needs string // what each matching text contains
}

// The parts of addresses, in any script.
const script = `\p{Latin}\p{Greek}\p{Cyrillic}`
const user = `[` + script + `0-9._%+'-]+@`
const label = `[` + script + `0-9][` + script + `0-9-]*\.`

// address matches an e-mail address, also behind an escaped line end (\n). What it matches
// without its group is none: git@, a package's version (name@1.2.3-rc.one), a file (icon@2x.png).
var address = regexp.MustCompile(`(?:\\[nrt])?['.-]*(?:git@|` +
	user + `(?:` + label + `)+(?:[0-9]+\.|(?:` + alternatives("$file") + `)(?:[^` + script + `0-9.-]|$))|` +
	`(` + user + `(?:` + label + `)+(?:[` + script + `]{2,}|xn--[a-z0-9-]+)))`)

// privateKeys match a key up to its END line, or, of one that was cut, the lines of key data.
// A BEGIN line without key data is left: the text is about keys.
var privateKeys = []Pattern{
	keyPattern(`(?s:.*?[A-Za-z0-9+/=]{16}.*?)-----END [^-]{0,70}-----`),
	keyPattern(`[A-Za-z0-9\s+/=\\:,-]*?[A-Za-z0-9+/=]{16}` +
		`(?:[A-Za-z0-9 \t+/=\\:,]*[A-Za-z0-9+/=\\:,])?(?:\r?\n[A-Za-z0-9+/=\\:,]+\r?$)*`),
}

func keyPattern(behind string) Pattern {
	head := `(?m)-----BEGIN [^-]{0,40}PRIVATE KEY[^-]{0,20}-----`
	return Pattern{Kind: "private_key", Expr: regexp.MustCompile(head + behind)}
}

// matches records all matches of the patterns.
func (sc *scanner) matches(patterns []Pattern) {
	for _, p := range patterns {
		if !strings.Contains(sc.text, p.needs) {
			continue
		}
		for _, m := range p.Expr.FindAllStringSubmatchIndex(sc.text, -1) {
			if start, end := m[2*p.Group], m[2*p.Group+1]; start < end {
				sc.found(start, end, p.Kind)
			}
		}
	}
}
