package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/redact"
)

// draw makes up n characters of an alphabet, of which some are digits and, if
// there are any, capitals.
func draw(rng *rand.Rand, alphabet string, n int) string {
	if alphabet == "" {
		alphabet = "A-Za-z0-9"
	}
	var set, digits []byte
	for c := byte('0'); c <= 'z'; c++ {
		in := false
		for i := 0; i+2 < len(alphabet); i++ {
			in = in || alphabet[i+1] == '-' && alphabet[i] <= c && c <= alphabet[i+2]
		}
		switch {
		case in && c <= '9':
			digits = append(digits, c)
		case in:
			set = append(set, c)
		}
	}
	set = append(set, digits...)
	b := make([]byte, n)
	for i := range b {
		b[i] = set[rng.IntN(len(set))]
		if i%5 == 2 {
			b[i] = digits[rng.IntN(len(digits))]
		}
	}
	return string(b)
}

// tokenOf makes up a token by a rule.
func tokenOf(rng *rand.Rand, r redact.Rule) string {
	after := draw(rng, r.Alphabet, max(r.Min, min(r.Max, 40)))
	if r.Kind == "discord_token" {
		after = draw(rng, "", 22) + "." + draw(rng, "", 6) + "." + draw(rng, "", 27)
	}
	switch r.Mark {
	case "eyJ":
		after = "hbGciOiJIUzI1NiJ9." + draw(rng, "", 40) + "." + draw(rng, "", 43)
	case "ZXlK":
		jwt := "eyJhbGciOiJIUzI1NiJ9." + draw(rng, "", 40) + "." + draw(rng, "", 43)
		return base64.StdEncoding.EncodeToString([]byte(jwt))
	case "SG.":
		after = draw(rng, "", 22) + "." + draw(rng, "", 43)
	case "pat":
		after = draw(rng, "", 14) + "." + draw(rng, "0-9a-f", 64)
	case ":AA":
		return draw(rng, "0-9", 10) + ":AA" + after
	case "A3-":
		after = draw(rng, "A-Z0-9", 6) + "-" + draw(rng, "A-Z0-9", 11) + strings.Repeat("-"+draw(rng, "A-Z0-9", 5), 3)
	case "v1.0-":
		after = draw(rng, "0-9a-f", 24) + "-" + draw(rng, "0-9a-f", 146)
	case "pat.", "sat.":
		after = draw(rng, "", 22) + "." + draw(rng, "", 24) + "." + draw(rng, "", 20)
	case "sk.eyJ":
		after = draw(rng, "", 60) + "." + draw(rng, "", 22)
	case "_mmk":
		return draw(rng, "", 6) + "_" + draw(rng, "", 29) + "_mmk"
	}
	return draw(rng, r.Alphabet, r.Before) + r.Mark + after
}

// wrappings are what a token can stand in: %s is the token.
var wrappings = []string{
	"%s", "\t%s\n", "use %s to log in.", "(%s)", "<%s>", "[%s]", "'%s'", `"%s"`, "`%s`", "**%s**", "a,%s,b", "%s;", "%s\r\n", "x|%s|y",
	"key: %s\n", "  - %s\n", "KEY=%s", "export X='%s'", `set X "%s"`, "$ curl -u %s: https://example.com", "--with=%s",
	`{"k":"%s"}`, `{"k": ["%s", 1]}`, `{\"k\":\"%s\"}`, `"a\n%s\n"`, `\u003d%s\u0026`, `\x3d%s`, "https://example.com/?k=%s&b=1", "https://example.com/#%s",
	"https%%3A%%2F%%2Fx%%3Fk%%3D%s%%26", "X-Key: %s", "Cookie: sid=%s; path=/", "Authorization: Bearer %s", "<k>%s</k>", "\x1b[31m%s\x1b[0m", "k=>%s", "→%s←", "é %s",
}

// TestRulesInWrappings makes up a token for each rule and looks whether it
// survives in any of the notations that texts have.
func TestRulesInWrappings(t *testing.T) {
	t.Parallel()
	var s redact.Sanitizer
	rng := rand.New(rand.NewPCG(3, 1))
	for _, r := range redact.Rules() {
		token := tokenOf(rng, r)
		secret := token[max(0, len(token)-max(r.Min, 8)):]
		require.Equal(t, "[REDACTED:"+r.Kind+"]", strings.TrimPrefix(s.Sanitize("  "+token), "  "), "%+v: %s", r, token)
		for _, w := range wrappings {
			text := strings.ReplaceAll(strings.ReplaceAll(w, "%s", token), "%%", "%")
			out := s.Sanitize(text)
			require.NotContains(t, out, secret, "rule %+v in %q", r, text)
			require.Equal(t, out, s.Sanitize(out))
			raw, err := json.Marshal(map[string]any{"a": []string{text}, text: 1})
			require.NoError(t, err)
			require.NotContains(t, string(s.JSON(raw)), secret, "rule %+v in %s", r, raw)
			if query := (url.Values{"q": {strings.ReplaceAll(w, "%%", "%")}}).Encode(); strings.Contains(query, "%25s") && r.Before == 0 {
				require.NotContains(t, s.Sanitize(strings.Replace(query, "%25s", token, 1)), secret)
			}
		}
	}
}

// A row of the table that no token can match is a slip of the pen.
func TestTableOfFormats(t *testing.T) {
	t.Parallel()
	require.GreaterOrEqual(t, len(redact.Rules()), 100)
	for _, r := range redact.Rules() {
		require.Regexp(t, `^[a-z_]{1,32}$`, r.Kind)
		require.Regexp(t, `^[!-Z\\-~]{2,64}$`, r.Mark)
		require.True(t, r.Before >= 0 && r.Min >= 0 && (r.Max == 0 || r.Max >= r.Min), "%+v", r)
	}
}

// TestWorkIsLinear counts what a scan looks at in texts of 1 MiB made to have
// it look around without end, one unit repeated, or each pair of units.
func TestWorkIsLinear(t *testing.T) {
	t.Parallel()
	units := append([]string{
		"a", "@", "a@", "a@b.", "=", ":", "a=", "a:", "://", "a://b:", "token=${", "token: a(", "password=", `password="`, `token: "`, "stripe_key=a1",
		"-----BEGIN PRIVATE KEY-----\"", "-----BEGIN PRIVATE KEY-----aaaaaaaaaaaaaaaaaaaa.", "[", "[REDACTED:", "[REDACTED:a]", "-eyJ", "-sk-", "sk-a-", ";base64,",
		"Bearer ", "Basic aaaaaaaa ", " is ", "password is ", "<password>", "\\", `\"`, " ", "key ", "é", "\xff", "token==", "&a", "password=a&", ".abcdef", "Mabcdef.",
		"Authorization: Bearer ", "password=a ", "a@b.cc ", "key='", "key=\\", ":password>x ", "name: a_password value: ", "value:", "value: ",
		"4111111111111111", "4111 1111 1111 1111 ", "4111 ", "1 ", "12-", "%204111",
		" -p", "mysql -p", "login ", "default login a password ", "password ",
	}, pieces...)
	const size = 1 << 20
	for _, unit := range units {
		checkWork(t, unit, size)
	}
	for _, r := range redact.Rules() {
		checkWork(t, r.Mark, size/16)
		checkWork(t, "-"+r.Mark+"1", size/16)
		units = append(units, r.Mark)
	}
	rng := rand.New(rand.NewPCG(5, 5))
	for range 200 {
		unit := units[rng.IntN(len(units))] + units[rng.IntN(len(units))] + units[rng.IntN(len(units))]
		checkWork(t, unit, size/16)
	}
}

// checkWork compares a text of n bytes with its first sixteenth: the work grows
// as the text does, and is at most some tens of looks at each byte.
func checkWork(t *testing.T, unit string, n int) {
	t.Helper()
	text := strings.Repeat(unit, n/len(unit))
	all, part := redact.Work(text), redact.Work(text[:len(text)/16])
	require.LessOrEqual(t, all, 64*len(text), "unit %q", unit)
	require.LessOrEqual(t, all, 17*part+4096, "unit %q", unit)
}
