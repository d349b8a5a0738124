package redact_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/redact"
)

// TestKnownValuesAsTextsWriteThem looks for a value that the host knows in what shells,
// programs and encoders make of it.
func TestKnownValuesAsTextsWriteThem(t *testing.T) {
	t.Parallel()
	marshal := func(v string) string {
		b, err := json.Marshal(v)
		require.NoError(t, err)
		return string(b[1 : len(b)-1])
	}
	ascii := func(v string) (out string) { // as json.dumps of Python writes it
		for _, r := range strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(marshal(v)) {
			if q := strconv.QuoteRuneToASCII(r); r > '~' {
				out += q[1 : len(q)-1]
				continue
			}
			out += string(r)
		}
		return strings.NewReplacer(`\x`, `\u00`).Replace(out)
	}
	writes := map[string]func(v string) string{
		"as it is":               func(v string) string { return v },
		"JSON with escaped HTML": marshal,
		"JSON in JSON":           func(v string) string { return marshal(marshal(v)) },
		"JSON in ASCII":          ascii,
		"%q":                     func(v string) string { q := strconv.Quote(v); return q[1 : len(q)-1] },
		"%+q":                    func(v string) string { q := strconv.QuoteToASCII(v); return q[1 : len(q)-1] },
		"%x":                     func(v string) string { return fmt.Sprintf("%x", v) },
		"%X":                     func(v string) string { return fmt.Sprintf("%X", v) },
		"query":                  url.QueryEscape,
		"path":                   url.PathEscape,
		"query in lower case": func(v string) string {
			return regexp.MustCompile(`%..`).ReplaceAllStringFunc(url.QueryEscape(v), strings.ToLower)
		},
		"HTML":           html.EscapeString,
		"without blanks": strings.TrimSpace,
	}
	for _, value := range []string{
		"correct/horse+battery=", "p&ss<w>rd'quoted\"", "sécret-clé-ünï", "tab\tand\\slash", "read-from-a-file\n", "bell\x07and-more", "a?b:c/d e%f",
	} {
		s := new(redact.Sanitizer).WithKey(key).Knowing(value)
		for name, write := range writes {
			text := "before " + write(value) + " after"
			clean := s.Sanitize(text)
			require.NotContains(t, clean, strings.TrimSpace(write(value)), "%q: %s", value, name)
			require.Equal(t, text, s.Reveal(clean), "%q: %s", value, name)
		}
	}
}

// A key of several lines is found by each of its lines, however they are indented.
func TestKnownLines(t *testing.T) {
	t.Parallel()
	value := "-----BEGIN KEY-----\nqX3vT9sLw2RkYd81mZbN\nVe5uH0jCaP74tGfWiOxK\n-----END KEY-----\n"
	s := new(redact.Sanitizer).WithKey(key).Knowing(value)
	for _, text := range []string{strings.ReplaceAll(value, "\n", "\r\n"), strings.ReplaceAll(value, "\n", "\n    "), "line 2 is Ve5uH0jCaP74tGfWiOxK"} {
		require.NotContains(t, s.Sanitize(text), "Ve5uH0jCaP74tGfWiOxK")
	}
	require.Contains(t, s.Sanitize("-----BEGIN KEY-----"), "BEGIN", "what says nothing stays")
}

// A password within a URL that the host knows is known alone.
func TestKnownPasswordOfURL(t *testing.T) {
	t.Parallel()
	s := new(redact.Sanitizer).Knowing("postgres://app:zebra%2Fcrossing@db:5432/main")
	require.Equal(t, "auth failed for zebra/crossing"[:16]+"[REDACTED:known]", s.Sanitize("auth failed for zebra/crossing"))
	require.NotContains(t, s.Sanitize("zebra%2Fcrossing"), "zebra")
}

// What cannot be seen in a text does not part a secret: shown to a person, it is gone.
func TestInvisibleCharacters(t *testing.T) {
	t.Parallel()
	s := new(redact.Sanitizer).Knowing("correct horse")
	for _, text := range []string{
		"ghp_0123456789\u200babcdefghij0123456789", "\u2060g\u00adh\ufeffp_0123456789abcdefghij", "pass\u200bword=hunter2xyz", "correct\u200b horse",
		"\x1b[31mghp_\u200b0123456789abcdefghij\x1b[0m", "\x1b[1;31mgh\u200bp_0123456789abcdefghij\x1b[0m",
	} {
		clean := s.Sanitize(text)
		require.Contains(t, clean, "[REDACTED:", "%q", text)
		require.NotContains(t, clean, "0123456789")
		require.Equal(t, clean, s.Sanitize(clean))
		raw, err := json.Marshal([]string{text})
		require.NoError(t, err)
		require.Contains(t, string(s.JSON(raw)), "[REDACTED:", "%q", text)
	}
	for _, text := range []string{"a\u200bb", "naïve\u00ad\r\ntext \x1b[31mred\x1b[0m"} {
		require.Equal(t, text, s.Sanitize(text), "without a secret it stays as it is")
	}
}

// A Sanitizer that is printed does not show what it knows, or its key.
func TestPrintedSanitizer(t *testing.T) {
	t.Parallel()
	s := new(redact.Sanitizer).WithKey([]byte("hunter2hunter2hunter2")).Knowing("correct horse")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, v := range []any{s, *s, struct{ S redact.Sanitizer }{*s}} {
			out := fmt.Sprintf(verb, v)
			require.NotContains(t, out, "horse", verb)
			require.NotContains(t, out, "hunter2", verb)
			require.NotContains(t, out, fmt.Sprintf("%x", "correct horse"), verb)
			require.NotContains(t, out, "104 117 110", verb)
		}
	}
}

// Authorization says what stands under it, in Go's maps as in JSON.
func TestNamedAuthorization(t *testing.T) {
	t.Parallel()
	var s redact.Sanitizer
	require.Equal(t, "[REDACTED:authorization]", s.Named("Authorization", "s3cr3t"))
	require.Equal(t, "Bearer [REDACTED:authorization]", s.Named("headers.Authorization", "Bearer abc"))
}
