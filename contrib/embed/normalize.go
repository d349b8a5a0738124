package embed

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// part is a step of a tokenizer.json: a type, and what some types need.
type part struct {
	Type string `json:"type"`

	Normalizers   []part `json:"normalizers"`
	Pretokenizers []part `json:"pretokenizers"`

	CleanText *bool `json:"clean_text"`
	Chinese   *bool `json:"handle_chinese_chars"`
	Strip     *bool `json:"strip_accents"`
	Lowercase *bool `json:"lowercase"`

	Left      bool   `json:"strip_left"`
	Right     bool   `json:"strip_right"`
	Prepend   string `json:"prepend"`
	Content   string `json:"content"`
	Pattern   struct{ String, Regex *string }
	Mark      string `json:"replacement"`
	Scheme    string `json:"prepend_scheme"`
	AddPrefix *bool  `json:"add_prefix_space"`
	Split     *bool  `json:"split"`
	Single    bool   `json:"individual_digits"`
	Behavior  string `json:"behavior"`
}

// What a tokenizer may ask for: depth of sequences, their length, bytes that a
// step puts in, and bytes of a text between two steps.
const (
	maxParts  = 8
	maxSteps  = 32
	maxInsert = 64
	maxText   = 1 << 20
)

// normalizer changes a text before it is split.
type normalizer func(string) string

// newNormalizer returns what raw, null or a part, asks for.
func newNormalizer(raw json.RawMessage) (normalizer, error) {
	p, err := newPart(raw)
	if p == nil || err != nil {
		return func(s string) string { return s }, err
	}
	return p.normalizer(maxParts)
}

func newPart(raw json.RawMessage) (*part, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil // there is none, which is no error
	}
	p := new(part)
	if err := json.Unmarshal(raw, p); err != nil {
		return nil, fmt.Errorf("%w: tokenizer.json: %v", ErrModel, err)
	}
	return p, nil
}

func (p *part) normalizer(depth int) (normalizer, error) {
	if len(p.Prepend) > maxInsert || len(p.Content) > maxInsert {
		return nil, fmt.Errorf("%w: normalizer %.32q puts in more than %d bytes", ErrUnsupported, p.Type, maxInsert)
	}
	switch p.Type {
	case "Sequence":
		return p.normalizers(depth)
	case "BertNormalizer":
		return p.bert(), nil
	case "Lowercase":
		return strings.ToLower, nil
	case "NFC":
		return norm.NFC.String, nil
	case "NFD":
		return norm.NFD.String, nil
	case "NFKC":
		return norm.NFKC.String, nil
	case "NFKD":
		return norm.NFKD.String, nil
	case "Precompiled":
		return func(s string) string { return norm.NFKC.String(clean(s)) }, nil
	case "StripAccents":
		return stripMarks, nil
	case "Prepend":
		return func(s string) string {
			if s == "" {
				return s
			}
			return p.Prepend + s
		}, nil
	case "Strip":
		return p.trim, nil
	case "Replace":
		if p.Pattern.String != nil && *p.Pattern.String != "" {
			old := *p.Pattern.String
			return func(s string) string { return strings.ReplaceAll(s, old, p.Content) }, nil
		}
		if p.Pattern.Regex != nil && (*p.Pattern.Regex == " {2,}" || *p.Pattern.Regex == `\s+`) {
			return func(s string) string { return squeeze(s, p.Content, *p.Pattern.Regex == `\s+`) }, nil
		}
	}
	return nil, fmt.Errorf("%w: normalizer %.32q", ErrUnsupported, p.Type)
}

func (p *part) normalizers(depth int) (normalizer, error) {
	if depth == 0 || len(p.Normalizers) > maxSteps {
		return nil, fmt.Errorf("%w: too many normalizers", ErrUnsupported)
	}
	var all []normalizer
	for i := range p.Normalizers {
		n, err := p.Normalizers[i].normalizer(depth - 1)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return func(s string) string {
		for _, n := range all {
			s = n(s[:min(len(s), maxText)])
		}
		return s
	}, nil
}

func (p *part) bert() normalizer {
	lower := is(p.Lowercase, true)
	cleaned, chinese, strip := is(p.CleanText, true), is(p.Chinese, true), is(p.Strip, lower)
	return func(s string) string {
		if cleaned {
			s = clean(s)
		}
		if chinese {
			s = spaceChinese(s)
		}
		if strip {
			s = stripMarks(norm.NFD.String(s))
		}
		if lower {
			s = strings.ToLower(s)
		}
		return s
	}
}

func is(b *bool, otherwise bool) bool {
	if b == nil {
		return otherwise
	}
	return *b
}

func (p *part) trim(s string) string {
	if p.Left {
		s = strings.TrimLeftFunc(s, unicode.IsSpace)
	}
	if p.Right {
		s = strings.TrimRightFunc(s, unicode.IsSpace)
	}
	return s
}

// clean leaves control characters out, and makes every space a plain one.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == 0 || r == unicode.ReplacementChar || unicode.Is(unicode.C, r):
			return -1
		}
		return r
	}, s)
}

func stripMarks(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, s)
}

// spaceChinese puts spaces around the characters of the CJK Unified
// Ideographs, as BERT does.
func spaceChinese(s string) string {
	if strings.IndexFunc(s, chinese) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if chinese(r) {
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func chinese(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF || r >= 0x20000 && r <= 0x2CEAF ||
		r >= 0xF900 && r <= 0xFAFF || r >= 0x2F800 && r <= 0x2FA1F
}

// squeeze replaces runs of two spaces or more, or with all runs of any
// space, by with.
func squeeze(s, with string, all bool) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		n := len(s[i:]) - len(strings.TrimLeftFunc(s[i:], func(r rune) bool { return r == ' ' || all && unicode.IsSpace(r) }))
		switch {
		case n > 1 || n == 1 && all:
			b.WriteString(with)
			i += n
		default:
			b.WriteByte(s[i])
			i++
		}
	}
	return b.String()
}
