// Package spelling knows how programs write a text into another: in JSON, Go, HTML,
// URLs, hexadecimal and base64.
package spelling

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

var encoders = []func(v string) string{
	strings.Clone,
	InJSON,
	forPages,
	func(v string) string { return InJSON(InJSON(v)) },
	func(v string) string { return InJSON(forPages(v)) },
	func(v string) string { return unquoted(strconv.Quote(v)) },
	func(v string) string { return unquoted(strconv.QuoteToASCII(v)) },
	html.EscapeString,
	url.PathEscape,
	url.QueryEscape,
	func(v string) string { return strings.ReplaceAll(url.QueryEscape(v), "+", "%20") },
	func(v string) string { return inScripts.Replace(url.QueryEscape(v)) },
	func(v string) string { return strings.ReplaceAll(InJSON(v), "/", `\/`) },
	func(v string) string { return fmt.Sprintf("%x", v) },
	func(v string) string { return fmt.Sprintf("%X", v) },
}

// forPages is InJSON as encoding/json writes it by default.
func forPages(v string) string {
	b, _ := json.Marshal(v) // any string encodes
	return unquoted(string(b))
}

// inScripts makes of a query what encodeURIComponent would.
var inScripts = strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")

var percents = regexp.MustCompile(`%[0-9A-F]{2}`)

func unquoted(s string) string { return s[1 : len(s)-1] }

// JSON returns v as a JSON string.
func JSON(v string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // any string encodes
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// InJSON returns v as it stands between the quotes of a JSON string.
func InJSON(v string) string { return unquoted(string(JSON(v))) }

// All returns v as it may stand in a text, v itself first. Some may be equal. Of base64,
// it is the letters that v alone decides, for each place at which v may begin.
func All(v string) (out []string) {
	for _, encode := range encoders {
		text := encode(v)
		out = append(out, text, percents.ReplaceAllStringFunc(text, strings.ToLower))
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 { // where it stands within a longer text
			text := enc.EncodeToString([]byte("\x00\x00"[:shift] + v))
			first, last := (8*shift+5)/6, 8*(shift+len(v))/6
			out = append(out, text[min(first, last):last])
		}
	}
	return out
}
