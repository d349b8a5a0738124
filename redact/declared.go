package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const minSecret = 8 // bytes: a shorter value stands in too many texts by chance

// With returns a Sanitizer that knows these secrets, too, beside others of the same names; a value that it
// knows goes by the new name. Each becomes [secret NAME] where it stands as it is or as encoders write it in
// JSON, a URL, HTML, base64 or hex (not base32, nor if signs are escaped that need not be, but for %XX of
// all); so do its lines of 16 bytes and more, as output has lines. Errors are a secret of under 8 bytes, and
// a name with other signs than letters, digits, '_', '-' and '.'.
func (s *Sanitizer) With(secrets map[string]string) (*Sanitizer, error) {
	c := s.copy()
	c.names = maps.Collect(maps.All(c.names)) // its own, never nil
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(secrets))) {
		secret := secrets[name]
		if p := "[secret " + name + "]"; placeholder.FindString(p) != p {
			return nil, fmt.Errorf("%.80q is no name of a secret", name)
		}
		if len(strings.TrimSpace(secret)) < minSecret {
			return nil, fmt.Errorf("secret %s has under %d bytes", name, minSecret)
		}
		lines := strings.Split(secret, "\n")
		for i, part := range append([]string{secret, strings.TrimSpace(visible(secret))}, lines...) {
			part = strings.TrimSuffix(part, "\r")
			if len(part) < minSecret || i > 1 && (len(part) < 2*minSecret || strings.HasPrefix(part, "-----")) {
				continue
			}
			for _, encoded := range encodings(part) {
				c.names[encoded] = name
			}
		}
	}
	var pairs []string // the longest first: of those that begin at a place, the first is replaced
	for _, encoded := range slices.SortedFunc(maps.Keys(c.names), func(a, b string) int {
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	}) {
		pairs = append(pairs, encoded, "[secret "+c.names[encoded]+"]")
	}
	c.declared = strings.NewReplacer(pairs...)
	return &Sanitizer{c}, nil
}

var (
	escape = regexp.MustCompile(`%[0-9A-F]{2}`)
	// component makes what JavaScript's encodeURIComponent writes of what QueryEscape does.
	component = strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")
)

// encodings returns a value as it is and as it is written in other notations, also in JSON within JSON, as
// logs have it. In base64 there are three, by its place in what is encoded, of characters that are its own.
func encodings(v string) []string {
	forAll, _ := json.Marshal(v) // with <, > and & escaped; a string can be encoded
	hexed := hex.EncodeToString([]byte(v))
	out := []string{v, hexed, strings.ToUpper(hexed), html.EscapeString(v)}
	for _, quoted := range []string{encode(v), string(forAll), strconv.QuoteToASCII(v)} {
		inside := quoted[1 : len(quoted)-1]
		twice := encode(inside)
		out = append(out, inside, strings.ReplaceAll(inside, "/", `\/`), twice[1:len(twice)-1])
	}
	for _, escaped := range []string{
		url.QueryEscape(v), url.PathEscape(v), component.Replace(url.QueryEscape(v)),
		url.UserPassword("", v).String()[1:], strings.ReplaceAll(fmt.Sprintf(" % X", v), " ", "%"),
	} {
		out = append(out, escaped, escape.ReplaceAllStringFunc(escaped, strings.ToLower))
	}
	for before := range 3 { // bytes of what is encoded, counted in threes
		raw := append(make([]byte, before), v...)
		from, to := (8*before+5)/6, 8*len(raw)/6 // the characters that hold bits of v alone
		out = append(out, base64.StdEncoding.EncodeToString(raw)[from:to],
			base64.URLEncoding.EncodeToString(raw)[from:to])
	}
	return out
}

// encode returns text as a JSON string, without escapes that are for HTML.
func encode(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string can be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// mapStrings returns raw with f applied to its strings, keys included. What is no valid JSON is one string,
// and returned as such. Strings that f leaves alone, and all between strings, stay as they are, to the byte.
func mapStrings(raw json.RawMessage, f func(string) string) json.RawMessage {
	text := string(raw)
	if !json.Valid(raw) {
		return json.RawMessage(f(text))
	}
	var out []byte
	done := 0 // bytes of text that out has
	for end := 0; end < len(text); end++ {
		if text[end] != '"' {
			continue
		}
		start, escaped := end, false
		for end++; text[end] != '"'; end++ {
			if text[end] == '\\' {
				end, escaped = end+1, true
			}
		}
		was := text[start+1 : end]
		if escaped {
			var plain string // apart, so that others need no memory of their own
			_ = json.Unmarshal(raw[start:end+1], &plain)
			was = plain
		}
		if is := f(was); is != was {
			out, done = append(append(out, text[done:start]...), encode(is)...), end+1
		}
	}
	if done == 0 {
		return raw
	}
	return append(out, text[done:]...)
}

// alone matches a placeholder that is all of a string, or all behind one word.
var alone = regexp.MustCompile(`^(?:[A-Za-z]+ )?` + placeholder.String() + `$`)

// Fill puts secrets in the place of their [secret NAME] in the strings of raw, where that is all of a string,
// be it behind one word ("Bearer [secret KEY]"), or the string stands so in given, too. In any other, such as
// a URL, somebody may want to be given it: it stays, as a name that is not among them does, and is missing.
func Fill(raw, given json.RawMessage, secrets map[string]string) (filled json.RawMessage, missing []string) {
	filled = mapStrings(raw, func(text string) string {
		if !strings.Contains(text, "[secret ") {
			return text
		}
		may := alone.MatchString(text) || bytes.Contains(given, []byte(encode(text)))
		return placeholder.ReplaceAllStringFunc(text, func(p string) string {
			name := placeholder.FindStringSubmatch(p)[1]
			if secret, ok := secrets[name]; ok && may {
				return secret
			}
			missing = append(missing, name)
			return p
		})
	})
	return filled, missing
}
