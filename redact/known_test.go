package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/redact"
)

var key = []byte("0123456789abcdef")

// Equal secrets have equal tags, others do not, and another key gives others.
func TestTags(t *testing.T) {
	t.Parallel()
	s, err := redact.New(&redact.Options{Key: key})
	require.NoError(t, err)
	clean := s.Sanitize("password=hunter2 and pwd=hunter2, password=hunter3")
	tags := strings.Split(clean, "[REDACTED:password:")[1:]
	require.Len(t, tags, 3)
	require.Equal(t, tags[0][:8], tags[1][:8])
	require.NotEqual(t, tags[0][:8], tags[2][:8])
	require.NotContains(t, new(redact.Sanitizer).WithKey([]byte("another key, 16 bytes")).Sanitize("password=hunter2"), tags[0][:8])
	require.Equal(t, clean, s.Sanitize(clean))
	require.Equal(t, clean, s.WithKey([]byte("no other")).Sanitize(clean), "the first key counts")
	for _, forged := range []string{"[REDACTED:x:0123456]", "[REDACTED:x:0123456g]", "[REDACTED:x:012345678]"} {
		require.NotEqual(t, "password="+forged, s.Sanitize("password="+forged), "no token of ours")
	}
}

// A value that the host knows is gone in each form, and comes back as it was.
func TestKnownValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringN(6, 30, 60).Filter(func(s string) bool { return strings.TrimSpace(s) == s }).Draw(t, "value")
		before := rapid.SampledFrom([]string{"", "a", "ab", "abc", "user:"}).Draw(t, "before")
		s := new(redact.Sanitizer).WithKey(key).Knowing(value)
		quoted, err := json.Marshal(map[string]string{"v": value})
		require.NoError(t, err)
		b64 := base64.StdEncoding.EncodeToString([]byte(before + value + "tail"))
		for _, text := range []string{
			"x " + value + " y", url.QueryEscape(value), fmt.Sprintf("%x", value), base64.RawURLEncoding.EncodeToString([]byte(value)), b64,
		} {
			clean := s.Sanitize(text)
			require.NotContains(t, clean, value)
			require.NotEqual(t, text, clean)
			require.Equal(t, clean, s.Sanitize(clean))
		}
		clean := s.JSON(quoted)
		require.True(t, json.Valid(clean))
		require.NotContains(t, string(clean), string(quoted[5:len(quoted)-1]))
		require.JSONEq(t, string(quoted), string(s.RevealJSON(clean)))
	})
	s := new(redact.Sanitizer).WithKey(key).Knowing("correct horse")
	require.Equal(t, "say correct horse", s.Reveal(s.Sanitize("say correct horse")))
	require.Equal(t, `{"pin":"[REDACTED:known:`, string(new(redact.Sanitizer).WithKey(key).Knowing("123456").JSON([]byte(`{"pin":123456}`)))[:24])
}

// What a name says of its value holds for paths too.
func TestNamed(t *testing.T) {
	t.Parallel()
	var s redact.Sanitizer
	require.Equal(t, `"[REDACTED:password]"`, string(s.Under("data.password", []byte(`"x"`))))
	require.Equal(t, `{"a":"[REDACTED:secret]"}`, string(s.Under("data.apiKey", []byte(`{"a":1}`))))
	require.Equal(t, `"x"`, string(s.Under("data.path", []byte(`"x"`))))
	require.Equal(t, "[REDACTED:password]", s.Named("password", "x"))
	require.Equal(t, "x", s.Named("passages", "x"))
	require.Equal(t, "github_token", redact.Issued("x-ghp_0123456789abcdefghij"))
	require.Empty(t, redact.Issued("password=hunter2hunter2 0198f2c1-7b3e-7c1a-9b4d-0123456789ab"))
}

// A known value is found as PHP and scripts in pages write it.
func TestKnownSecretsByOtherWriters(t *testing.T) {
	for _, c := range [][2]string{
		{"pässwort-9x", `{"echo": "p\u00e4sswort-9x"}`},
		{"p@ss!word(1)", "https://example.com/?q=p%40ss!word(1)"},
		{"a/b/c/d-token", `{"echo": "a\/b\/c\/d-token"}`},
	} {
		s := new(redact.Sanitizer).Knowing(c[0])
		if got := s.Sanitize(c[1]); got == c[1] {
			t.Errorf("%s", got)
		}
	}
}

// A value that anybody can name by a token without a tag comes back nowhere.
func TestRevealNeedsAKey(t *testing.T) {
	t.Parallel()
	early := new(redact.Sanitizer).Knowing("first-of-the-host", "second-of-the-host")
	for _, s := range []*redact.Sanitizer{early, early.WithKey(key), nil} {
		clean := s.Sanitize("a first-of-the-host b second-of-the-host [REDACTED:known]")
		require.Equal(t, clean, s.Reveal(clean))
		require.Equal(t, `"[REDACTED:known]"`, string(s.RevealJSON([]byte(`"[REDACTED:known]"`))))
		require.Nil(t, s.RevealJSON(nil), "package json marshals none that is not nil")
	}
}

// A value that stands by chance in another secret leaves none of that.
func TestKnownValueWithinASecret(t *testing.T) {
	t.Parallel()
	own, err := redact.New(&redact.Options{Key: key, Patterns: []redact.Pattern{{Kind: "acme", Expr: regexp.MustCompile(`\bACME\w{16}`)}}})
	require.NoError(t, err)
	s := own.Knowing("4567")
	for _, text := range []string{
		"ghp_0123456789abcdefghijABCDEFGHIJ012345", "ACME0123456789abcdef",
		"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w4567N_XgL0n3I9PlFUP0THsR8U",
		"Bearer 0123456789abcdefghij",
	} {
		require.Regexp(t, `^x (Bearer )?\[REDACTED:[a-z_]+:[0-9a-f]{8}\] y$`, s.Sanitize("x "+text+" y"))
	}
	text := "https://user:4567@host/ and 4567"
	require.Equal(t, text, s.Reveal(s.Sanitize(text)))
}

// Of a value that is not there any more the tag tells where it stands.
func TestTagged(t *testing.T) {
	t.Parallel()
	s := new(redact.Sanitizer).WithKey(key)
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[a-zé0-9]([ -~]|ß|…){4,30}[a-z0-9]|[+/=!]([ -~]){5,20}[$!]`).Draw(t, "value")
		other := rapid.StringMatching(`[ -~]{0,200}`).Draw(t, "other")
		ends := rapid.SampledFrom([][2]string{{"", ""}, {"use ", ", please"}, {"«", "»"}, {"token='", "'"}, {other + "\n", "\n" + other}}).Draw(t, "ends")
		text := ends[0] + value + ends[1]
		clean := s.Tagged(text, "01234567", s.Tag(value))
		require.NotContains(t, clean, value)
		require.Equal(t, text, s.Knowing(value).Reveal(clean))
		require.Equal(t, text, s.Tagged(text, s.Tag(value+"x")))
	})
	long := strings.Repeat("one two ", 1<<12)
	tags := []string{s.Tag("horse"), s.Tag("horse battery"), s.Tag("horse battery/staple"), s.Tag("short")}
	require.Equal(t, long+s.Knowing("horse battery/staple").Sanitize("horse battery/staple")+" short", s.Tagged(long+"horse battery/staple short", tags...))
	require.Equal(t, "horse", new(redact.Sanitizer).Tagged("horse", "", new(redact.Sanitizer).Tag("horse")))
}
