// Package redact takes secrets out of text before the text is stored, indexed,
// embedded, logged, or put into an error.
//
// A [Sanitizer] replaces each secret that it recognises by a replacement that names the
// kind, as in [REDACTED:github_token]. Its zero value is ready:
//
//	var s redact.Sanitizer
//	s.Sanitize("password=hunter2 next") // password=[REDACTED:password] next
//	s.JSON(json.RawMessage(`{"api_key":123}`)) // {"api_key":"[REDACTED:secret]"}
//
// It recognises authorization headers and bearer tokens; the tokens of over a hundred
// issuers by their form (GitHub, GitLab, AWS, Azure, Google, OpenAI, Anthropic, Hugging
// Face, Slack, Stripe, npm and others); JSON web tokens (in base64 too), private key blocks
// (cut ones too), credentials in URLs, of curl, in .netrc and behind -p or -a of mysql,
// docker login, sshpass and redis-cli; values assigned to a name that says secret:
// password, token, api_key and their relatives, in the notations of shells, query strings,
// JSON, YAML, XML, program source and plain sentences (names in English, and the words for
// «password» of some other languages, spelled in ASCII); values that look random under
// names such as STRIPE_KEY or "auth"; and payment card numbers, by network, check digit and
// groups, unless a name or the sentence says that the number is that of an order, a parcel
// or the like. A host adds its own patterns by [Options], and e-mail addresses by
// [Sanitizer.WithEmails]. A secret that was found at one place is replaced at all places of
// the text. [Sanitizer.Knowing] replaces values that the host knows, in their encodings
// too, and [Sanitizer.Reveal] puts them back.
//
// With a key ([Options], [Sanitizer.WithKey]) a tag follows the kind, as in
// [REDACTED:password:1f08c2d9]: equal secrets have equal tags, and a reader without the
// key learns nothing about a secret from its tag. The tables formats.txt, endings.txt,
// words.txt and exceptions.txt hold the forms of tokens, the names that tell of a secret,
// and the exceptions.
//
// Sanitising is idempotent, keeps valid UTF-8 valid, and takes time linear in
// the length of the text; a text without secrets comes back as it is, without
// an allocation. With the built-in kinds the result has at most 8 times the
// bytes of the text and 64 more. All methods are safe for concurrent use, also
// on a nil pointer.
//
// Not recognised: secrets inside base64 or percent-encoding, random words without context,
// plain hex under a name that tells nothing, account numbers (IBAN), which are no secrets,
// and secrets that span two texts. Sanitise a text before you cut it into pieces.
package redact

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/fence"
)

// Sanitizer replaces secrets in text. The zero value and a nil pointer know the
// built-in kinds; [New] adds patterns of the host. It is immutable and safe for
// concurrent use.
type Sanitizer struct {
	patterns []Pattern
	key      []byte // HMAC key of the tags; nil: no tags
	known    []known
}

// Format prints the type's name alone: neither the key nor the values that it knows.
func (s Sanitizer) Format(to fmt.State, _ rune) {
	io.WriteString(to, "redact.Sanitizer") // printing reports no errors
}

// WithEmails returns a Sanitizer that replaces e-mail addresses too. By default they stay:
// they are personal data rather than secrets, and an agent's texts are full of them.
func (s *Sanitizer) WithEmails() *Sanitizer {
	out := *cmp.Or(s, &zero)
	out.patterns = append(slices.Clip(out.patterns), Pattern{Kind: "email", Expr: address, Group: 1, needs: "@"})
	return &out
}

var zero Sanitizer

// WithKey returns a Sanitizer with tags, as in [REDACTED:password:1f08c2d9]: equal secrets
// have equal tags, and without the key a guess at a secret cannot be checked. A Sanitizer
// that has a key keeps it.
func (s *Sanitizer) WithKey(key []byte) *Sanitizer {
	out := *cmp.Or(s, &zero)
	if len(out.key) == 0 {
		out.key = bytes.Clone(key)
	}
	return &out
}

// Options of [New]. Nil and the zero value mean the built-in kinds alone.
type Options struct {
	// Patterns are searched for beside the built-in kinds. Each costs a search of the
	// whole text, which is fast if the expression begins with a literal.
	Patterns []Pattern
	// Key is the HMAC key of the tags, see [Sanitizer.WithKey]: at least 16 random
	// bytes. nil: no tags.
	Key []byte
}

// ErrPattern is returned by [New], joined once per bad pattern, for a pattern
// without an expression, with a malformed kind, or with a group that its
// expression does not have.
var ErrPattern = errors.New("bad pattern")

// New returns a Sanitizer with the patterns of opts beside the built-in kinds. The
// error names all that are bad and matches [ErrPattern].
func New(opts *Options) (*Sanitizer, error) {
	opts = cmp.Or(opts, &Options{})
	var errs []error
	for i, p := range opts.Patterns {
		if !kindForm.MatchString(p.Kind) || p.Expr == nil || p.Group < 0 || p.Group > p.Expr.NumSubexp() {
			errs = append(errs, fmt.Errorf("redact: pattern %d: kind %q, group %d: %w", i, p.Kind, p.Group, ErrPattern))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &Sanitizer{patterns: slices.Clone(opts.Patterns), key: bytes.Clone(opts.Key)}, nil
}

var kindForm = regexp.MustCompile(`^[a-z_]{1,32}$`)

// maxPasses is how often a text is scanned again after a replacement. Only a text that was
// made for it needs more, and is replaced whole.
const maxPasses = 8

// Sanitize returns text with each secret replaced by [REDACTED:kind]. A text
// without secrets is returned as it is. Sanitising a sanitised text changes
// nothing.
//
// A secret that invisible characters split is found too. The result is then without
// invisible characters.
func (s *Sanitizer) Sanitize(text string) string { return s.sanitize("", text) }

// sanitize is Sanitize for the value of a field, whose name may tell what a number is.
func (s *Sanitizer) sanitize(name, text string) string {
	for range maxPasses + 1 {
		spans, odd := s.find(name, text)
		if len(spans) > 0 {
			text = s.replace(text, spans)
			continue
		}
		if odd {
			if shown := fence.Visible(text); shown != text {
				if clean := s.sanitize(name, shown); clean != shown {
					return clean
				}
			}
		}
		return text
	}
	return s.token("text", text)
}

// find returns the secrets of one pass, in order, and whether the text may have invisible
// characters. Values that the host knows come first, then, if none is left, the built-in
// kinds, then the host's patterns. A secret found once is found at all places of the text.
func (s *Sanitizer) find(name, text string) (spans []span, odd bool) {
	s = cmp.Or(s, &zero)
	sc := scanner{text: text, under: name}
	for _, k := range s.known {
		sc.spans = append(sc.spans, wherever(text, k.text, "known")...)
	}
	if sc.spans = outside(text, sc.spans); len(sc.spans) == 0 {
		sc.scan()
	} else {
		sc.spans = append(sc.spans, s.torn(name, text, sc.spans)...)
	}
	if sc.spans = outside(text, sc.spans); len(sc.spans) == 0 {
		sc.matches(s.patterns)
	}
	var seen []string // at most 16, of at least 8 bytes
	for _, sp := range sc.spans {
		v := text[sp.start:sp.end]
		if len(v) >= 8 && looksStrong(v) && len(seen) < 16 && !slices.Contains(seen, v) {
			seen = append(seen, v)
			sc.spans = append(sc.spans, wherever(text, v, sp.kind)...)
		}
	}
	return outside(text, sc.spans), sc.odd
}

// torn returns the secrets that contain a known value: once that is replaced, the rest has
// no secret's form any more. The known spans are in order.
func (s *Sanitizer) torn(name, text string, known []span) []span {
	sc := scanner{text: text, under: name}
	sc.scan()
	sc.matches(s.patterns)
	return slices.DeleteFunc(sc.spans, func(sp span) bool {
		i, _ := slices.BinarySearchFunc(known, sp.start+1, func(k span, at int) int { return k.start - at })
		return i == len(known) || known[i].end >= sp.end
	})
}

// replace replaces each span by its token. The spans are in order; overlapping ones become
// one, named by the first.
func (s *Sanitizer) replace(text string, spans []span) string {
	var b strings.Builder
	b.Grow(len(text) + 16*len(spans))
	at := 0
	for i := 0; i < len(spans); {
		cur := spans[i]
		for i++; i < len(spans) && spans[i].start < cur.end; i++ {
			cur.end = max(cur.end, spans[i].end)
		}
		b.WriteString(text[at:cur.start] + cur.quote + s.token(cur.kind, text[cur.start:cur.end]) + cur.quote)
		at = cur.end
	}
	b.WriteString(text[at:])
	return b.String()
}

// token returns the replacement of a secret, with a tag of eight hex digits if there is a key.
func (s *Sanitizer) token(kind, secret string) string {
	if s == nil || len(s.key) == 0 {
		return tokenOpen + kind + "]"
	}
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(secret)) // never fails
	return fmt.Sprintf("%s%s:%x]", tokenOpen, kind, mac.Sum(nil)[:4])
}
