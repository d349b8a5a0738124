package slots

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word of a text, or a mark that divides it.
type token struct {
	text   string // as it stands, less an ending 's
	low    string // in lower case
	poss   bool   // it ends in 's or s', which may be "is"
	mark   bool   // a punctuation mark: , ; : . ? ! =
	quoted bool   // it stood in quotes or backticks
}

// proper reports whether the word begins with a capital.
func (t *token) proper() bool {
	r, _ := utf8.DecodeRuneInString(t.text)
	return unicode.IsUpper(r)
}

// time reports whether the word names a day, a month or the like.
func (t *token) time() bool { return timeword[t.low] || t.low == "may" && t.proper() }

// timeAt reports whether there is such a word at i, not in quotes.
func timeAt(ts []token, i int) bool { return i < len(ts) && !ts[i].quoted && ts[i].time() }

func (t *token) digits() int {
	n := 0
	for i := range len(t.text) {
		if c := t.text[i]; '0' <= c && c <= '9' {
			n++
		}
	}
	return n
}

// scan appends the tokens of the text. It takes time linear in the text.
func scan(ts []token, s string) []token {
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\n':
			ts = append(ts, token{low: ".", mark: true})
			i++
			continue
		case c <= ' ':
			i++
			continue
		}
		if q, n := quote(s[i:]); n > 0 {
			ts = append(ts, token{text: q, low: strings.ToLower(q), quoted: true})
			i += n
			continue
		}
		end := i + 1
		for end < len(s) && s[end] > ' ' && s[end] != '`' {
			end++
		}
		ts = chunk(ts, s[i:end])
		i = end
	}
	return ts
}

// maxQuote is the number of bytes within which a quote must end.
const maxQuote = 200

// quote returns what stands in the quotes that s begins with, and how many
// bytes that takes.
func quote(s string) (string, int) {
	var open, end string
	switch {
	case s[0] == '`':
		open, end = "`", "`"
	case s[0] == '"':
		open, end = `"`, `"`
	case strings.HasPrefix(s, "“"):
		open, end = "“", "”"
	default:
		return "", 0
	}
	rest := s[len(open):]
	if len(rest) > maxQuote {
		rest = rest[:maxQuote]
	}
	n := strings.Index(rest, end)
	if n < 0 {
		if open == "`" || open == `"` {
			return "", len(open) // a stray one
		}
		return "", 0
	}
	return strings.TrimSpace(rest[:n]), len(open) + n + len(end)
}

// secret begins what a sanitizer has put in place of a secret.
const secret = "[REDACTED"

// chunk appends what stands between two blanks.
func chunk(ts []token, w string) []token {
	if i := strings.Index(w, secret); i >= 0 {
		if end := strings.IndexByte(w[i:], ']'); end > 0 {
			if i > 0 {
				ts = chunk(ts, w[:i])
			}
			ts = append(ts, token{text: w[i : i+end+1], low: strings.ToLower(w[i : i+end+1]), quoted: true})
			if w = w[i+end+1:]; w == "" {
				return ts
			}
		}
	}
	switch w {
	case "=", "==", ":=", ":", "->", "=>", "→":
		low := ":"
		if w == "->" || w == "=>" || w == "→" {
			low = "to"
		} else if w != ":" {
			low = "="
		}
		return append(ts, token{low: low, mark: low != "to"})
	case "-", "--", "–", "—":
		return append(ts, token{low: ";", mark: true})
	}
	for w != "" && strings.IndexByte("([{<'*\"", w[0]) >= 0 {
		if w[0] == '(' && len(w) > 1 && !digitsOnly(w[1:]) {
			ts = append(ts, token{low: "(", mark: true})
		} else if w[0] == '(' && len(w) > 1 {
			break // a dialling code
		}
		w = w[1:]
	}
	core, tail := w, ""
	for core != "" && strings.IndexByte(",;:.?!)]}>*'\"", core[len(core)-1]) >= 0 {
		if core[len(core)-1] == ')' && core[0] == '(' {
			break
		}
		core, tail = core[:len(core)-1], core[len(core)-1:]+tail
	}
	if strings.HasPrefix(tail, "'") && strings.HasSuffix(core, "s") {
		core += "'"
	}
	if tail != "" && tail[0] == '.' && abbreviation(core) {
		tail = tail[1:]
	}
	if core != "" {
		ts = assigned(ts, core)
	}
	for i := range len(tail) {
		switch c := tail[i]; c {
		case ',', ';', ':', '.', '?', '!', ')':
			ts = append(ts, token{low: tail[i : i+1], mark: true})
		}
	}
	return ts
}

func digitsOnly(s string) bool {
	s = strings.TrimRight(s, "),.;:")
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func abbreviation(w string) bool {
	switch w {
	case "Dr", "Mr", "Mrs", "Ms", "Prof", "St", "Jr", "Sr", "vs", "e.g", "i.e", "approx", "No", "no":
		return w != "no"
	}
	return len(w) == 1 && w[0] >= 'A' && w[0] <= 'Z' && w != "I"
}

// assigned splits key=value and key:value, and appends other words whole.
func assigned(ts []token, w string) []token {
	if i := strings.IndexAny(w, "=:"); i > 1 && i < len(w)-1 && identifier(w[:i]) {
		rest := w[i+1:]
		if w[i] == '=' && rest[0] != '=' || w[i] == ':' && !strings.HasPrefix(rest, "/") && strings.IndexByte(rest, ':') < 0 {
			ts = word(ts, w[:i])
			ts = append(ts, token{low: w[i : i+1], mark: true})
			return word(ts, rest)
		}
	}
	return word(ts, w)
}

// identifier reports whether s is letters, with digits and marks after them.
func identifier(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if !('a' <= c && c <= 'z' || i > 0 && ('0' <= s[i] && s[i] <= '9' || s[i] == '_' || s[i] == '-' || s[i] == '.')) && s[i] != '_' {
			return false
		}
	}
	return s != ""
}

// word appends a word, contractions taken apart.
func word(ts []token, w string) []token {
	if strings.Contains(w, "’") {
		w = strings.ReplaceAll(w, "’", "'")
	}
	low := strings.ToLower(w)
	i := strings.LastIndexByte(low, '\'')
	if i <= 0 || len(low) != len(w) {
		if plain(low) {
			ts = append(ts, token{text: w, low: low})
		}
		return ts
	}
	whole := func(a, b string) []token {
		return append(ts, token{text: a, low: strings.ToLower(a)}, token{text: b, low: b})
	}
	switch low[i:] {
	case "'s":
		if pronoun[low[:i]] {
			return whole(w[:i], "is")
		}
		return append(ts, token{text: w[:i], low: low[:i], poss: true})
	case "'":
		return append(ts, token{text: w[:i], low: low[:i], poss: true})
	case "'m":
		return whole(w[:i], "am")
	case "'re":
		return whole(w[:i], "are")
	case "'ve":
		return whole(w[:i], "have")
	case "'ll":
		return whole(w[:i], "will")
	case "'d":
		return whole(w[:i], "would")
	case "'t":
		if strings.HasSuffix(low[:i], "n") {
			if low == "can't" || low == "won't" {
				return whole("will", "not")
			}
			return whole(w[:i-1], "not")
		}
	}
	return append(ts, token{text: w, low: low})
}

// plain reports whether the word has a letter or a digit.
func plain(w string) bool {
	for _, r := range w {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return true
		}
	}
	return false
}
