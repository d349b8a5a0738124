package slots

import (
	"slices"
	"strings"

	"github.com/arc-learn/arc/internal/text"
)

// maxWords is the number of words above which a phrase names no slot.
const maxWords = 10

// bag is the set of canonical words that a slot is known by.
type bag []string

func (b bag) has(w string) bool { return slices.Contains(b, w) }

func (b bag) with(words ...string) bag {
	out := make(bag, 0, len(b)+len(words))
	return append(append(out, b...), words...)
}

func (b bag) drop(w string) bag {
	return slices.DeleteFunc(b, func(x string) bool { return x == w })
}

// settle brings a bag into the form in which slots are compared: synonyms that
// mean the same only beside certain words or values are made one, and words
// that say nothing beside others go. val may be nil.
func (b bag) settle(val []token) bag {
	out := slices.Clone(b)
	kind := kindOf(val)
	if out.has("phone") || out.has("email") {
		out = out.drop("number").drop("contact")
	}
	if out.has("number") && kind == phoneLike && !out.has("phone") {
		out = out.drop("number").drop("contact").with("phone")
	}
	if kind == emailLike && !out.has("email") {
		out = out.drop("address").drop("contact").drop("mail").with("email")
	}
	if out.has("mail") && out.has("address") {
		out = out.drop("mail").with("email")
	}
	if out.has("email") {
		out = out.drop("address")
	}
	if kind == urlLike && !out.has("url") {
		out = out.drop("address").drop("where").with("url")
	}
	if out.has("url") {
		out = out.drop("address").drop("where")
	}
	if out.has("deadline") {
		out = out.drop("when")
	}
	if out.has("marital") {
		out = out.drop("status")
	}
	if out.has("headquart") {
		out = out.drop("where")
	}
	if out.has("when") && onlyClock(val) {
		out = out.drop("when").with("hour")
	}
	slices.Sort(out)
	out = slices.Compact(out)
	for _, w := range [...]string{"valu", "set", "paramet", "variabl", "option", "choic", "configur"} {
		if len(out) > 1 {
			out = out.drop(w)
		}
	}
	return out
}

// as returns a settled bag with words for who speaks.
func (b bag) as(words ...string) bag {
	out := b.with(words...).drop(me)
	slices.Sort(out)
	return slices.Compact(out)
}

// key is FNV-1a over the words of a settled bag.
func (b bag) key() uint64 {
	h := uint64(offset)
	for _, w := range b {
		h = hash(h, w)
	}
	return h | 1 // never 0
}

const (
	offset = 14695981039346656037
	prime  = 1099511628211
)

func hash(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * prime
	}
	return (h ^ 0xff) * prime
}

// stem appends the canonical forms of a word.
func stem(dst bag, low string) bag {
	if c, ok := canonical[low]; ok {
		return append(dst, c)
	}
	if c, ok := canonical[strings.TrimSuffix(low, "s")]; ok {
		return append(dst, c)
	}
	if n, ok := numeral[low]; ok {
		return append(dst, n)
	}
	letters, hyphen := true, false
	for i := range len(low) {
		switch c := low[i]; {
		case c == '-':
			hyphen = true
		case c < 'a' || c > 'z':
			letters = false
		}
	}
	if !letters {
		return append(dst, strings.Trim(low, "_"))
	}
	if hyphen {
		for part := range strings.SplitSeq(low, "-") {
			if part != "" {
				dst = stem(dst, part)
			}
		}
		return dst
	}
	var buf [4]text.Term
	ts := text.Append(buf[:0], low)
	if len(ts) == 0 {
		return append(dst, low)
	}
	return append(dst, ts[0].Text)
}

// kind is what a value looks like.
type kind uint8

const (
	plainText kind = iota
	number
	phoneLike
	emailLike
	urlLike
	pathLike
	temporal
)

func kindOf(val []token) kind {
	digits, letters := 0, 0
	for i := range val {
		t := &val[i]
		switch {
		case t.mark:
			continue
		case strings.Contains(t.low, "://") || strings.HasPrefix(t.low, "www.") || domain(t.low):
			return urlLike
		case strings.IndexByte(t.low, '@') > 0, t.quoted && t.low == "[redacted:email]":
			return emailLike
		case strings.HasPrefix(t.low, "/") || strings.HasPrefix(t.low, "~/") || strings.HasPrefix(t.low, "./") || strings.Contains(t.low, `:\`):
			return pathLike
		}
		if timeword[strings.TrimSuffix(t.low, ".")] || t.time() || clock(t.low) || date(t.low) {
			return temporal
		}
		digits += t.digits()
		for j := range len(t.low) {
			if c := t.low[j]; 'a' <= c && c <= 'z' || c >= 0x80 {
				letters++
			}
		}
	}
	switch {
	case digits >= 7 && letters <= 3:
		return phoneLike
	case digits > 0 && digits >= letters:
		return number
	}
	return plainText
}

// money reports whether the value is an amount of money.
func money(val []token) bool {
	for i := range val {
		w := val[i].low
		if strings.HasPrefix(w, "$") || strings.HasPrefix(w, "€") || strings.HasPrefix(w, "£") || strings.HasSuffix(w, "€") {
			return true
		}
		switch w {
		case "dollars", "euros", "euro", "pounds", "bucks", "cents", "usd", "eur", "gbp":
			return val[0].digits() > 0 || numeral[val[0].low] != ""
		}
	}
	return false
}

var street = set(`street st road rd avenue ave lane ln drive dr boulevard blvd way square court place straße strasse rue`)

// address reports whether the value is a house in a street.
func address(val []token) bool {
	if len(val) < 2 || val[0].digits() == 0 && val[len(val)-1].digits() == 0 {
		return false
	}
	for i := range val {
		if street[val[i].low] {
			return true
		}
	}
	return false
}

func domain(w string) bool {
	i := strings.IndexByte(w, '.')
	if i <= 0 || strings.IndexByte(w, '@') >= 0 {
		return false
	}
	host, _, _ := strings.Cut(w, "/")
	host, _, _ = strings.Cut(host, ":")
	letters := false
	for j := range len(host) {
		c := host[j]
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.') {
			return false
		}
		letters = letters || 'a' <= c && c <= 'z'
	}
	tld := host[strings.LastIndexByte(host, '.')+1:]
	if !letters || len(tld) < 2 || !('a' <= tld[0] && tld[0] <= 'z') {
		return false
	}
	return host[0] < '0' || host[0] > '9' || strings.Count(host, ".") > 1
}

// clock reports whether the word is a time of day: 10:30, 9am.
func clock(w string) bool {
	if w == "" || w[0] < '0' || w[0] > '9' {
		return false
	}
	if strings.HasSuffix(w, "am") || strings.HasSuffix(w, "pm") {
		return len(w) <= 7
	}
	h, m, ok := strings.Cut(w, ":")
	return ok && len(h) <= 2 && len(m) == 2
}

// onlyClock reports whether the value is a time of day without a day.
func onlyClock(val []token) bool {
	found := false
	for i := range val {
		w := val[i].low
		switch {
		case clock(w) || w == "o'clock" || w == "am" || w == "pm" || w == "noon" || w == "midnight":
			found = true
		case val[i].time() || date(w):
			return false
		}
	}
	return found
}

// date reports whether the word is a day in digits: 2026-09-01, 3/4/2026, 12th.
func date(w string) bool {
	if len(w) < 3 || w[0] < '0' || w[0] > '9' {
		return false
	}
	switch w[len(w)-2:] {
	case "st", "nd", "rd", "th":
		return len(w) <= 4 && w[len(w)-3] >= '0' && w[len(w)-3] <= '9'
	}
	return len(w) >= 8 && (strings.Count(w, "-") == 2 || strings.Count(w, "/") == 2)
}

// canonValue is the text by which values are compared.
func canonValue(val []token) string {
	var b strings.Builder
	for i := range val {
		t := &val[i]
		w := t.low
		if t.mark || determiner[w] && !t.quoted {
			continue
		}
		if n, ok := numeral[w]; ok {
			w = n
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w)
	}
	return b.String()
}
