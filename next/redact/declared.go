package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

const (
	minSecret = 8  // bytes: a shorter value stands in too many texts by chance
	minLine   = 16 // bytes of a line of a value that counts by itself
)

var nameForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// With returns a Sanitizer that knows these secrets, too, by name. Each becomes [secret NAME] where it stands as it
// is or in JSON, a URL, HTML, base64 or hex; so do the lines of a secret of several lines, since output may come
// line by line. A secret of under 8 bytes is an error, and so is a name that has other characters than letters,
// digits, '_', '-' and '.'.
func (s *Sanitizer) With(secrets map[string]string) (*Sanitizer, error) {
	c := *s.ready()
	c.secrets = maps.Clone(c.secrets)
	if c.secrets == nil {
		c.secrets = map[string]string{}
	}
	for name, secret := range secrets {
		if !nameForm.MatchString(name) {
			return nil, fmt.Errorf("%.80q is no name of a secret", name)
		}
		if len(strings.TrimSpace(secret)) < minSecret {
			return nil, fmt.Errorf("secret %s has under %d bytes", name, minSecret)
		}
		c.secrets[name] = secret
	}
	names := map[string]string{} // by form
	for _, name := range slices.Sorted(maps.Keys(c.secrets)) {
		for _, form := range forms(c.secrets[name]) {
			if _, taken := names[form]; !taken {
				names[form] = name
			}
		}
	}
	// The longest form that begins at a place is the one that is replaced there.
	byLength := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	var pairs []string
	for _, form := range byLength {
		pairs = append(pairs, form, "[secret "+names[form]+"]")
	}
	c.declared = strings.NewReplacer(pairs...)
	return &c, nil
}

// forms returns a secret in all its encodings.
func forms(secret string) (out []string) {
	values := []string{secret, strings.TrimSpace(secret)}
	if strings.ContainsRune(values[1], '\n') {
		for line := range strings.Lines(values[1]) {
			if line = strings.TrimSpace(line); len(line) >= minLine && !strings.HasPrefix(line, "-----") {
				values = append(values, line)
			}
		}
	}
	for _, v := range values {
		plain, ascii := inJSON(v)
		out = append(out, v, hex.EncodeToString([]byte(v)), strings.ToUpper(hex.EncodeToString([]byte(v))),
			html.EscapeString(v), plain, ascii, strings.ReplaceAll(plain, "/", `\/`))
		for _, once := range []string{plain, ascii} { // JSON in a string of JSON
			twice, _ := inJSON(once)
			out = append(out, twice)
		}
		component := strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")
		for _, escaped := range []string{
			url.QueryEscape(v), url.PathEscape(v), component.Replace(url.QueryEscape(v)),
			strings.TrimPrefix(url.UserPassword("", v).String(), ":"),
		} {
			out = append(out, escaped, lowerEscapes.ReplaceAllStringFunc(escaped, strings.ToLower))
		}
		for before := range 3 {
			// Of the characters of base64, those that hold bits of this value alone.
			from, to := (8*before+5)/6, 8*(before+len(v))/6
			raw := append(make([]byte, before, before+len(v)), v...)
			out = append(out, base64.StdEncoding.EncodeToString(raw)[from:to], base64.URLEncoding.EncodeToString(raw)[from:to])
		}
	}
	return out
}

var lowerEscapes = regexp.MustCompile(`%[0-9A-F]{2}`)

// inJSON returns the inside of a value's JSON string: as it is, and with letters of ASCII only.
func inJSON(v string) (plain, ascii string) {
	plain = strings.Trim(string(encode(v)), `"`)
	if b := encode(v); len(b) > 2 {
		plain = string(b[1 : len(b)-1])
	}
	var w strings.Builder
	for _, r := range plain {
		switch {
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&w, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		case r > 126 || strings.ContainsRune("<>&", r):
			fmt.Fprintf(&w, `\u%04x`, r)
		default:
			w.WriteRune(r)
		}
	}
	return plain, w.String()
}

// encode returns text as a JSON string, without escapes that are for HTML.
func encode(text string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string can be encoded
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// mapStrings returns raw with f applied to its strings. What is no valid JSON is one string, and returned as such.
func mapStrings(raw json.RawMessage, f func(string) string) json.RawMessage {
	text := string(raw)
	if !json.Valid(raw) {
		return json.RawMessage(f(text))
	}
	var out []byte
	copied := 0
	for at := strings.IndexByte(text, '"'); at >= 0 && at < len(text); {
		end, escaped := at+1, false
		for ; text[end] != '"'; end++ {
			if text[end] == '\\' {
				escaped = true
				end++
			}
		}
		end++
		was := text[at+1 : end-1]
		if escaped {
			_ = json.Unmarshal([]byte(text[at:end]), &was) // a string of valid JSON
		}
		if is := f(was); is != was {
			out = append(append(out, text[copied:at]...), encode(is)...)
			copied = end
		}
		next := strings.IndexByte(text[end:], '"')
		if next < 0 {
			break
		}
		at = end + next
	}
	if copied == 0 {
		return raw
	}
	return append(out, text[copied:]...)
}

// Placeholders returns the names of the [secret NAME] in a text, in order, each once.
func Placeholders(text string) (names []string) {
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// Fill puts secrets in the place of their [secret NAME] in the strings of raw. A name that is not among them stays.
func Fill(raw json.RawMessage, secrets map[string]string) json.RawMessage {
	return mapStrings(raw, func(text string) string {
		return placeholder.ReplaceAllStringFunc(text, func(p string) string {
			if secret, ok := secrets[placeholder.FindStringSubmatch(p)[1]]; ok {
				return secret
			}
			return p
		})
	})
}
