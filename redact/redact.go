package redact

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Sanitizer replaces secrets in text. The zero value and a nil pointer know the
// built-in kinds; [New] adds patterns of the host. It is immutable and safe for
// concurrent use.
type Sanitizer struct {
	m        *matcher // nil: builtin
	patterns []Pattern
	emails   bool
	key      []byte // of the tags; nil: none
	known    []known
}

// WithEmails returns a Sanitizer that replaces e-mail addresses too. They are
// personal data rather than secrets, and what an agent works on is full of them.
func (s *Sanitizer) WithEmails() *Sanitizer {
	out := s.derive()
	out.emails = true
	return out
}

func (s *Sanitizer) derive() *Sanitizer {
	if s == nil {
		return &Sanitizer{}
	}
	out := *s
	return &out
}

// WithKey returns a Sanitizer that puts a tag behind the kind, as in
// [REDACTED:password:1f08c2d9], unless it has a key: equal secrets have equal tags,
// and without the key a guess at one cannot be checked.
func (s *Sanitizer) WithKey(key []byte) *Sanitizer {
	out := s.derive()
	if len(out.key) == 0 {
		out.key = bytes.Clone(key)
	}
	return out
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
}

func (p *Pattern) check() error {
	switch {
	case !isKind(p.Kind):
		return fmt.Errorf("kind %q: %w", p.Kind, ErrPattern)
	case p.Expr == nil || p.Group < 0 || p.Group > p.Expr.NumSubexp():
		return fmt.Errorf("%s: no expression, or no group %d: %w", p.Kind, p.Group, ErrPattern)
	}
	return nil
}

// Options of [New]. Nil and the zero value mean the built-in kinds alone.
type Options struct {
	// Rules are looked for beside the built-in ones, and before them where both
	// fit. They cost next to nothing, however many there are.
	Rules []Rule
	// Patterns are looked for beside the built-in kinds. Each costs a search of
	// the whole text.
	Patterns []Pattern
	// Key is that of the tags, see [Sanitizer.WithKey]: at least 16 bytes drawn at
	// random. nil: there are none.
	Key []byte
}

// ErrPattern is returned by [New], joined once per bad pattern, for a pattern
// without an expression, with a malformed kind, or with a group that its
// expression does not have.
var ErrPattern = errors.New("bad pattern")

// ErrRule is returned by [New], joined once per bad rule, for a rule whose
// fields are outside of what [Rule] says.
var ErrRule = errors.New("bad rule")

// New returns a Sanitizer with the rules and patterns of opts beside the
// built-in kinds. The error names all that are bad and matches [ErrPattern] or
// [ErrRule].
func New(opts *Options) (*Sanitizer, error) {
	if opts == nil {
		return &Sanitizer{}, nil
	}
	var errs []error
	for i := range opts.Rules {
		if err := opts.Rules[i].check(); err != nil {
			errs = append(errs, fmt.Errorf("redact: rule %d: %w", i, err))
		}
	}
	for i := range opts.Patterns {
		if err := opts.Patterns[i].check(); err != nil {
			errs = append(errs, fmt.Errorf("redact: pattern %d: %w", i, err))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	s := &Sanitizer{patterns: slices.Clone(opts.Patterns), key: bytes.Clone(opts.Key)}
	if len(opts.Rules) > 0 {
		s.m = compile(opts.Rules, builtin.rules)
	}
	return s, nil
}

// maxPasses bounds how often a text is scanned again after something in it was
// replaced. Text made to need more is replaced whole.
const maxPasses = 8

// Sanitize returns text with each secret replaced by [REDACTED:kind]. A text
// without secrets is returned as it is. Sanitising a sanitised text changes
// nothing.
func (s *Sanitizer) Sanitize(text string) string {
	text = s.hide(text)
	for range maxPasses {
		spans := s.find(text)
		if len(spans) == 0 {
			return text
		}
		text = s.replace(text, everywhere(text, spans))
	}
	if len(s.find(text)) == 0 {
		return text
	}
	return s.token("text", text)
}

// span is a secret found in a text: text[start:end].
type span struct {
	start, end int
	kind       string
	quote      bool // the replacement has to bring its own double quotes
}

func (s *Sanitizer) find(text string) []span {
	m := builtin
	if s != nil && s.m != nil {
		m = s.m
	}
	sc := scanner{text: text, m: m, emails: s != nil && s.emails}
	spans := sc.scan()
	if s == nil || len(s.patterns) == 0 {
		return spans
	}
	for _, p := range s.patterns {
		for _, m := range p.Expr.FindAllStringSubmatchIndex(text, -1) {
			start, end := m[2*p.Group], m[2*p.Group+1]
			if start < end {
				spans = append(spans, span{start: start, end: end, kind: p.Kind})
			}
		}
	}
	return outside(text, spans)
}

// Bounds of what is looked for once more.
const (
	minRepeated = 8  // bytes of a value
	maxRepeated = 16 // values of a text
)

// everywhere adds to the secrets that were found in a text the other places where
// the same values stand: what is a secret under its name is one without it.
func everywhere(text string, spans []span) []span {
	seen := make(map[string]bool)
	for _, sp := range slices.Clone(spans) {
		v := text[sp.start:sp.end]
		if len(v) < minRepeated || sp.kind == "email" || !looksStrong(v) || seen[v] || len(seen) == maxRepeated {
			continue
		}
		seen[v] = true
		spans = append(spans, wherever(text, v, sp.kind)...)
	}
	return outside(text, spans)
}

// wherever returns the places where a value stands in a text.
func wherever(text, v, kind string) (spans []span) {
	for at := 0; ; {
		n := strings.Index(text[at:], v)
		if n < 0 {
			return spans
		}
		at += n + len(v)
		spans = append(spans, span{start: at - len(v), end: at, kind: kind})
	}
}

// outside drops the spans that lie within a replacement made earlier and widens
// those that cut one.
func outside(text string, spans []span) []span {
	slices.SortStableFunc(spans, func(a, b span) int { return a.start - b.start })
	kept := spans[:0]
	start, end := nextToken(text, 0) // the first replacement that ends after the span begins
	for _, sp := range spans {
		for start >= 0 && end <= sp.start {
			start, end = nextToken(text, end)
		}
		inside := start >= 0 && sp.start >= start && sp.end <= end
		for s, e := start, end; s >= 0 && s < sp.end; s, e = nextToken(text, e) {
			sp.start, sp.end = min(sp.start, s), max(sp.end, e)
		}
		if !inside {
			kept = append(kept, sp)
		}
	}
	return kept
}

// nextToken returns where the first replacement at or after i begins and ends;
// start is -1 if there is none.
func nextToken(text string, i int) (start, end int) {
	m := tokenForm.FindStringIndex(text[i:])
	if m == nil {
		return -1, -1
	}
	return i + m[0], i + m[1]
}

// replace puts a token in the place of each span; overlapping spans become one,
// named by the one that starts first.
func (s *Sanitizer) replace(text string, spans []span) string {
	slices.SortStableFunc(spans, func(a, b span) int { return a.start - b.start })
	var b strings.Builder
	b.Grow(len(text) + 16*len(spans))
	at := 0
	for i := 0; i < len(spans); {
		cur := spans[i]
		for i++; i < len(spans) && spans[i].start < cur.end; i++ {
			cur.end = max(cur.end, spans[i].end)
		}
		token := s.token(cur.kind, text[cur.start:cur.end])
		if cur.quote {
			token = `"` + token + `"`
		}
		b.WriteString(text[at:cur.start] + token)
		at = cur.end
	}
	b.WriteString(text[at:])
	return b.String()
}

const tokenOpen = "[REDACTED:"

// tagLen is the number of characters of a tag.
const tagLen = 8

// token is what takes the place of a secret.
func (s *Sanitizer) token(kind, secret string) string {
	if s == nil || len(s.key) == 0 {
		return tokenOpen + kind + "]"
	}
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(secret)) // never fails
	return fmt.Sprintf("%s%s:%x]", tokenOpen, kind, mac.Sum(nil)[:tagLen/2])
}

var (
	tokenForm = regexp.MustCompile(`\[REDACTED:[a-z_]{1,32}(?::[0-9a-f]{8})?\]`)
	kindForm  = regexp.MustCompile(`^[a-z_]{1,32}$`)
)

// tokenLen is the length of the replacement that text starts with, or 0.
func tokenLen(text string) int {
	if strings.HasPrefix(text, tokenOpen) {
		if m := tokenForm.FindStringIndex(text[:min(len(text), 64)]); m != nil && m[0] == 0 {
			return m[1]
		}
	}
	return 0
}

func isKind(s string) bool { return kindForm.MatchString(s) }
