package redact

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// rule describes the tokens of one issuer by their form: a mark that each of them holds,
// and so many characters of a set around it. A token begins where a word begins, and is
// not followed by a further letter or digit.
type rule struct {
	kind, mark        string
	before, beforeMax int // characters in front of the mark
	after, afterMax   int // and behind it
	set               *[256]bool
	holds             []test
	at                int // the byte of the mark at which the scanner stops
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

// rarest are the bytes of tokens, those first that cost least to stop at: where the scanner
// stops anyway, else by how common each is in ordinary text.
const rarest = "-_~+$/QXZJKVWYUGHFBDPLNOMRCISTEAs0123456789jqxzkvpygfwmucdlhrniotea.:b="

func pairAt(t string, i int) uint16 { return uint16(t[i-1])<<8 | uint16(t[i]) }

// What the scanner looks for at a byte: a token, what the place's own function knows, and
// characters that cannot be seen.
const onRule, onPlace, onOdd = 1, 2, 4

// matcher finds the rules that may hold at a place of a text without trying them all: the
// scanner stops at a byte of the mark that is rare in ordinary text, and looks at the pair
// that it makes with the one before. Of marks that begin alike the longest is tried first.
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
		for at := 2; at < len(r.mark); at++ { // a byte that is not there costs most
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

// The scanner passes once over a text and stops only at bytes that every kind of secret
// contains near its start. There it looks around: for a token by the rules, whose bytes
// compile chooses, and for what the place's own function knows.
type scanner struct {
	text  string
	under string // the name that the text stands under
	odd   bool   // there may be characters that cannot be seen
	spans []span
	work  int // stops, and bytes looked at
	// untagged is where the last text ends that no tag closes.
	untagged int
}

// found records a secret and returns its end.
func (sc *scanner) found(start, end int, kind string) int {
	sc.spans = append(sc.spans, span{start: start, end: end, kind: kind})
	return end
}

const unbounded = 1 << 62

// run returns the end of the bytes of a set that begin at i, of at most n.
func (sc *scanner) run(i, n int, set *[256]bool) int {
	end := i + length(sc.text[i:min(len(sc.text)-i, n)+i], set)
	sc.work += end - i
	return end
}

// back returns the beginning of the bytes of a set that end at i, of at most n.
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

// before returns up to n bytes of the text that end at i, and where they begin.
func (sc *scanner) before(i, n int) (string, int) { return sc.text[max(0, i-n):i], max(0, i-n) }

// window returns up to n bytes of the text from i on.
func (sc *scanner) window(i, n int) string { return sc.text[i:min(len(sc.text), i+n)] }

// rule looks for a token whose pair is at i; it returns its end, or i.
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
			least -= 3 // what lacks more cannot be guessed
		}
		if n < least || n > r.afterMax || end < len(t) && isAlnum(t[end]) {
			continue
		}
		c := candidate{text: t, keyStart: start, keyEnd: body, start: start, end: end}
		if n > maxOrdinary || !isDummy(t[body:end]) && c.holds(r.holds) { // a long one always is a token
			return sc.found(start, end, r.kind)
		}
	}
	return i
}

// isCut says whether a text was visibly cut at i: before an ellipsis, or where it ends, if
// it is no shorter than the lines that terminals cut.
func isCut(t string, i int) bool {
	return i == len(t) && i >= 72 || strings.HasPrefix(t[i:], "...") || strings.HasPrefix(t[i:], "…")
}

// Issued returns the kind of the first token in text that has the form of an issuer's, or "".
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

	needs string // is in each text that matches
}

// The parts of addresses, in any script.
const script = `\p{Latin}\p{Greek}\p{Cyrillic}`
const user = `[` + script + `0-9._%+'-]+@`
const label = `[` + script + `0-9][` + script + `0-9-]*\.`

// address is an e-mail address, behind the n of an escaped line end perhaps, and no git@,
// version of a package (name@1.2.3-rc.one) or file (icon@2x.png).
var address = regexp.MustCompile(`(?:\\[nrt])?['.-]*(?:git@|` +
	user + `(?:` + label + `)+(?:[0-9]+\.|(?:` + alternatives("$file") + `)(?:[^` + script + `0-9.-]|$))|` +
	`(` + user + `(?:` + label + `)+(?:[` + script + `]{2,}|xn--[a-z0-9-]+)))`)

// privateKeys are keys up to their end line, and those that were cut: lines of nothing else
// than key data. Without any it is a sentence about keys.
var privateKeys = []Pattern{
	keyPattern(`(?s:.*?[A-Za-z0-9+/=]{16}.*?)-----END [^-]{0,70}-----`),
	keyPattern(`[A-Za-z0-9\s+/=\\:,-]*?[A-Za-z0-9+/=]{16}` +
		`(?:[A-Za-z0-9 \t+/=\\:,]*[A-Za-z0-9+/=\\:,])?(?:\r?\n[A-Za-z0-9+/=\\:,]+\r?$)*`),
}

func keyPattern(behind string) Pattern {
	head := `(?m)-----BEGIN [^-]{0,40}PRIVATE KEY[^-]{0,20}-----`
	return Pattern{Kind: "private_key", Expr: regexp.MustCompile(head + behind)}
}

// matches records what the patterns find.
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
