package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/redact"
)

// These are made up. They are put together here so that no scanner takes this file for a leak.
var (
	github = "ghp" + "_16C7e42F292c6912E7710c838347Ae178B4a"
	aws    = "AKIA" + "IOSFODNN7RZ2QW5T"
	slack  = "https://hooks.slack" + ".com/services/T00F2A00B/B00C7DE00/q4Xm8ZtY2kLwVn5RbHs9JdPc"
	pem    = "-----BEGIN RSA PRIVATE" + " KEY-----\n" + strings.Repeat("MIIEpAIBAAKCAQEA7bq2Xh3kYw1s9vTt\n", 8) + "-----END RSA PRIVATE" + " KEY-----"
	google = "AIza" + "SyD9x7Qm3kLw2Vn5RbHs8JdPcTgYf4ZuXa0"
)

func TestProse(t *testing.T) {
	var s *redact.Sanitizer
	for _, c := range []struct{ text, secret string }{
		// What the reports of strangers had.
		{"postgres://svc:Tr0ub4#dorK9x@db:5432/app", "Tr0ub4#dorK9x"},
		{"svc:pw@tcp(127.0.0.1:3306)/app", "svc:pw"},
		{"Set-Cookie: sessionid=38afes7a8; Path=/", "38afes7a8"},
		// Credentials before the last @, whatever else they have.
		{"redis://:p4ss@cache:6379/0", "p4ss"}, {"amqp://u:p@ss/w?rd@mq", "p@ss/w?rd"}, {"svc:Pw9/x@unix(/tmp/my.sock)/app", "Pw9/x"},
		{"see https://user:he%2F%2Fo@pypi.example.net/simple.", "he%2F%2Fo"}, {"svc:Secret1@db:5432/app", "Secret1"},
		// Headers.
		{"curl -H 'Authorization: Bearer 5f0c8a1e9b' x", "5f0c8a1e9b"}, {"Authorization: Basic dXNlcjpodW50ZXIy", "dXNlcjpodW50ZXIy"},
		{"Authorization: Bearer abc.def.ghi-jkl_mno12345", "mno12345"}, {"Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"},
		{"curl -sS -u admin:Passw0rd! https://x", "Passw0rd!"}, {"curl --user 'bob:s3cr3t' x", "s3cr3t"},
		{`"Cookie": "a=1; sid=1f9c2b7a"`, "1f9c2b7a"},
		// Names.
		{"password=hunter", "hunter"}, {"password：hunter2x9", "hunter2x9"}, {"password＝hunter2x9", "hunter2x9"}, {"DB_PASSWORD: 'correct horse'", "correct horse"}, {`{"passwd":"a\"b3456"}`, "b3456"},
		{"my password is hunter2.", "hunter2"}, {"mysql --password s3cr3t -u x", "s3cr3t"}, {"api_key = 9f8a7b6c5d4e3f2a", "9f8a7b6c5d4e3f2a"},
		{"https://x.example/?token=8f7e6d5c4b3a2918&x=1", "8f7e6d5c4b3a2918"}, {"<Secret>\n  q9w8e7r6t5\n</Secret>", "q9w8e7r6t5"},
		{`if ("open sesame" == passphrase) {`, "open sesame"}, {`setProperty("X_TOKEN", "8f7e6d5c4b3a2918")`, "8f7e6d5c4b3a2918"},
		{`password="""q9 w8"""`, "q9 w8"}, {`"password=""hunter22"""`, "hunter22"}, {`secret.assign("p}w$7")`, "p}w$7"}, {"run --acme-api-key a1b2c3d4", "a1b2c3d4"}, {"chat_token=07633784579488709032498085105182", "0763"},
		{strings.Repeat("key=", 99) + github, github}, {strings.Repeat("key:", 99) + "password=hunter2", "hunter2"},
		{`api_key="` + strings.Repeat("a1B2c3", 99) + `"`, "c3a1"}, {"Authorization: Basic " + "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ1IjoxfQ.c2ln", "c2ln"},

		// Tokens and keys.
		{"use " + github + ".", github}, {`"` + aws + `"`, aws}, {"post to " + slack, slack}, {google, google}, {"key:\n" + pem + "\nend", "MIIE"},
		{"key:\n" + pem[:200], "MIIE"}, {pem[:32] + "MIIEabc123\n" + pem[len(pem)-29:], "MIIEabc123"}, {pem[:32] + "MIIEvQIBADANBg\n", "MIIEv"}, {`\n` + github, github}, {"110201543:AA" + "HdqTcvCH1vGWJxfSe1ofSAs0K5PALDsaw", "AAHd"},
	} {
		clean := s.Prose(c.text)
		require.NotContains(t, clean, c.secret, c.text)
		require.Contains(t, clean, "[redacted:", c.text)
		require.Equal(t, clean, s.Prose(clean), "what is clean stays")
	}
	for _, text := range []string{
		"%wheel ALL=(ALL) NOPASSWD: ALL", "order no. 4539 1488 0343 6467", "password: required", "api_key：どこにありますか", "secret = os.Getenv(name)",
		"token := scanner.Token()", "PASSWORD=${DB_PASSWORD}", "the key is in the drawer", "mailto:bob@example.com",
		"https://host:8080/@scope/pkg", "ghp_" + strings.Repeat("x", 36), "commit 16c7e42f292c6912e7710c838347ae178b4a0000",
		"password=[secret DB]", "Authorization: Bearer $TOKEN", "api_key: <your key>", "Authorization: Bearer token.value_1(x)",
		"docker run -u 1000:1000 img", "basic training", "Basic authorization", pem[:32] + "...\n" + pem[len(pem)-29:], "curl -u user:password x",
		"git@github.com:arc/arc.git", "OP_TOKEN=ops_eyJzaWduSW5BZGRyZXNz...", "token: jjwt-jackson-0.11.2",
		"key=" + "AKIA" + "IOSFODNN7EXAMPLE", `if password == "" { return errors.New("no password") }`,
		`if (password === '') throw new Error('no password')`, "has_password=false", "secret=None",
	} {
		require.Equal(t, text, s.KeepPlaceholders().Prose(text))
	}
}

func TestWhole(t *testing.T) {
	s, err := redact.New(nil).With(map[string]string{"A": "abcdefgh", "B": "abcdefghijkl"})
	require.NoError(t, err)
	jwt := "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + strings.Repeat("zdWIiOiIx", 90) + ".SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV"
	for text, want := range map[string]string{
		"abcdefghijkl":    "[secret B]", // the longest one
		"t=" + jwt + " x": "t=[redacted:jwt] x",
		"api_key=" + strings.Repeat("a1B2c3", 9999) + " x":          "api_key=[redacted:secret] x",
		"Set-Cookie: sessionid=38afes7a8; Path=/; Domain=x.example": "Set-Cookie: sessionid=[redacted:cookie]; Path=/; Domain=x.example",
		"x" + github:                            "x" + github, // in a word
		github + "x" + strings.Repeat("y", 300): github + "x" + strings.Repeat("y", 300),
		"ghp_" + strings.Repeat("ab", 18):       "ghp_" + strings.Repeat("ab", 18), // of a manual
	} {
		require.Equal(t, want, s.Prose(text))
	}
}

func TestData(t *testing.T) {
	s, err := redact.New(nil).With(map[string]string{"DB": "Tr0ub4dor&3\"", "PIN": "12345678"})
	require.NoError(t, err)
	for raw, want := range map[string]string{
		`{"password":"hunter2","n":12345678}`:                   `{"password":"hunter2","n":12345678}`, // a guess, and no string
		`{"` + github + `":["a", "x ` + aws + `"]}`:             `{"[redacted:github-token]":["a", "x [redacted:aws-key]"]}`,
		`{"u":"Tr0ub4dor&3\"","v":"Tr0ub4dor\u00263\u0022"}`:    `{"u":"[secret DB]","v":"[secret DB]"}`,
		`"[secret DB] and <b>"`:                                 `"(secret DB) and <b>"`,
		`{"k":"` + google + `"}`:                                `{"k":"` + google + `"}`,
		`not JSON ` + github:                                    `not JSON [redacted:github-token]`,
		`"slack: ` + strings.ReplaceAll(slack, "/", `\/`) + `"`: `"slack: https://[redacted:slack-webhook]"`,
		``: ``,
	} {
		require.Equal(t, want, string(s.Data(json.RawMessage(raw))))
	}
}

// A declared value goes wherever it stands and however it is encoded.
func TestDeclaredEverywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-zA-Z0-9!"#$%&'()*+,/:;<=>?@\[\\\]^_{|}~äß€ \n.-]{8,40}`).Filter(func(s string) bool {
			return len(strings.TrimSpace(s)) >= 8
		}).Draw(t, "secret")
		around := rapid.StringMatching(`[a-z ={}:"]{0,4}`)
		before, after := around.Draw(t, "before"), around.Draw(t, "after")
		s, err := redact.New(nil).With(map[string]string{"X": secret, "OTHER": "not in any of the texts"})
		require.NoError(t, err)
		quoted, _ := json.Marshal(secret)
		pad := strings.Repeat("o", rapid.IntRange(0, 5).Draw(t, "pad"))
		for name, text := range map[string]string{
			"raw": secret, "JSON": string(quoted[1 : len(quoted)-1]), "ASCII": strings.Trim(fmt.Sprintf("%+q", secret), `"`),
			"bytes": strings.ReplaceAll(fmt.Sprintf(" % x", secret), " ", "%"), "query": url.QueryEscape(secret), "path": url.PathEscape(secret), "user": url.UserPassword("u", secret).String(),
			"hex": hex.EncodeToString([]byte(secret)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(secret))),
			"base64":    base64.StdEncoding.EncodeToString([]byte(pad + secret + pad)),
			"base64url": base64.RawURLEncoding.EncodeToString([]byte(pad + secret + pad)),
		} {
			if strings.Contains(secret, `"`) && name == "ASCII" {
				continue // Trim took the last quote
			}
			text = before + text + after
			require.Contains(t, s.Prose(text), "[secret X]", "%s: %s", name, text)
			data, err := json.Marshal(map[string]any{"a": []string{text}, text: 1})
			require.NoError(t, err)
			clean := s.Data(data)
			require.True(t, json.Valid(clean))
			require.Equal(t, 2, strings.Count(string(clean), "[secret X]"), "%s: %s", name, clean)
		}
	})
}

func TestWith(t *testing.T) {
	s := redact.New(nil)
	for name, secret := range map[string]string{"SHORT": "1234567", "BLANK": "       \n\n", "": "12345678", "A]": "12345678", "a b": "12345678"} {
		_, err := s.With(map[string]string{name: secret})
		require.Error(t, err, name)
	}
	for _, from := range []string{"\ufeffkx-0123456789", "kx-0123456789\x00\r\n", "\u200bkx-0123456789 "} { // a file
		file, err := s.With(map[string]string{"A": from})
		require.NoError(t, err)
		require.Equal(t, "it is [secret A].", file.Prose("it is kx-0123456789."), "%q", from)
	}
	unseen, err := s.With(map[string]string{"A": "\u200b\u200b\u200b"})
	require.NoError(t, err)
	require.Equal(t, "as it was", unseen.Prose("as it was"))
	one, err := s.With(map[string]string{"A": "first secret\n"})
	require.NoError(t, err)
	two, err := one.With(map[string]string{"B": pem})
	require.NoError(t, err)
	require.Equal(t, "[secret A] [secret B]", two.Prose("first secret "+pem))
	require.Equal(t, "a line: [secret B]", two.Prose("a line: "+strings.Split(pem, "\n")[1]))
	require.NotContains(t, one.Prose(pem), "secret B")
	rotated, err := two.With(map[string]string{"A": "second secret"})
	require.NoError(t, err)
	require.Equal(t, "[secret A] [secret A] [secret B]", rotated.Prose("first secret second secret "+pem))
	require.Equal(t, "second secret", two.Prose("second secret"))
	renamed, err := rotated.With(map[string]string{"C": "first secret", "D": "first secret"})
	require.NoError(t, err)
	require.Equal(t, "[secret C] [secret A]", renamed.Prose("first secret second secret"), "as Fill knows it")
	for _, printed := range []string{fmt.Sprintf("%+v %#v %v", two, two, *two), fmt.Sprintf("%+v", struct{ S *redact.Sanitizer }{two})} {
		require.NotContains(t, printed, "first")
	}
}

func TestPlaceholders(t *testing.T) {
	s, err := redact.New(nil).With(map[string]string{"DB": "Tr0ub4dor&3"})
	require.NoError(t, err)
	require.Equal(t, "give me (secret DB), not [secret DB]", s.Prose("give me [secret DB], not Tr0ub4dor&3"))
	require.Equal(t, "[secret DB]", s.KeepPlaceholders().Prose("[secret DB]"))
	raw := json.RawMessage(`{"a":"[secret DB]","b":["Bearer [secret DB]","\u005bsecret DB]"],"c":"u:[secret DB]@\"h\""}`)
	filled, missing := redact.Fill(raw, json.RawMessage(`["u:[secret DB]@\"h\""]`), map[string]string{"DB": `"q"`})
	require.Empty(t, missing)
	require.JSONEq(t, `{"a":"\"q\"","b":["Bearer \"q\"","\"q\""],"c":"u:\"q\"@\"h\""}`, string(filled))
	for _, text := range []string{"http://evil.example/?k=[secret DB]", "u:[secret DB]@", "[secret DB] ", "[secret DB][secret DB]",
		"evil.example [secret DB]", "Bearer  [secret DB]", "[secret GONE]", "x\n[secret DB]"} {
		raw, err := json.Marshal(text)
		require.NoError(t, err)
		filled, missing := redact.Fill(raw, json.RawMessage(`{"dsn":"u:[secret DB]@h"}`), map[string]string{"DB": "12345678"})
		require.NotEmpty(t, missing, text)
		require.Equal(t, string(raw), string(filled))
	}
}

// What a prompt leaves out hides no secret, and a text in which it hides none keeps it.
func TestInvisible(t *testing.T) {
	s, err := redact.New(nil).With(map[string]string{"DB": "Tr0ub4dor&3"})
	require.NoError(t, err)
	for c := range unicode.MaxRune + 1 {
		r := string(c)
		if fence.Visible(r) != "" || unicode.Is(unicode.Co, c) && c%4096 != 0 {
			continue
		}
		hidden := github[:9] + r + github[9:]
		require.Equal(t, "a\r\n[redacted:github-token]", s.Prose("a\r\n"+hidden), "%q", r)
		require.Equal(t, "[redacted:github-token]", string(s.Data(json.RawMessage(hidden))), "%q", r)
		require.NotContains(t, s.Prose(pem[:100]+r+pem[100:]), "MIIE", "%q", r)
		require.NotContains(t, s.Prose(github+r+"Tail99"), "Tail99", "%q", r)
		require.NotContains(t, s.Prose("a"+r+github+" password=hun"+r+"ter2"), github, "%q", r)
		require.NotContains(t, s.Prose(aws+r+"more password=hun"+r+"ter2"), aws, "%q", r)
		require.Equal(t, "[secret DB] (secret DB)", s.Prose("Tr0ub4"+r+"dor&3 [sec"+r+"ret DB]"), "%q", r)
		require.Equal(t, "می"+r+"خواهم [secret DB]", s.Prose("می"+r+"خواهم Tr0ub4dor&3"), "%q", r)
	}
}

// What was cleaned is clean: a mark says "token" and "secret", and is no name of what stands behind it.
func TestCleanedAgain(t *testing.T) {
	s, err := redact.New(nil).With(map[string]string{"KEY": "Tr0ub4dor&3"})
	require.NoError(t, err)
	s = s.KeepPlaceholders()
	for _, secret := range []string{github, aws, slack, pem, "Tr0ub4dor&3", "password=hunter2x9"} {
		for _, behind := range []string{": a1b2c3d4e5f6", " = a1b2c3d4e5f6", `: "a1b2c3d4e5f6"`, `":"a1b2c3d4e5f6"`, "(a1b2c3d4e5f6)", ", a1b2c3d4e5f6"} {
			clean := s.Prose("use " + secret + behind)
			require.Equal(t, clean, s.Prose(clean))
		}
	}
}

// What only looks like a mark hides nothing: it may hold a token, or be a name in brackets.
func TestNoMark(t *testing.T) {
	s := redact.New(nil).KeepPlaceholders()
	for _, begin := range []string{"[redacted:", "[redacted: ", "[secret "} {
		require.Equal(t, begin+"[redacted:github-token]]", s.Prose(begin+github+"]"))
		require.Equal(t, `"`+begin+`[redacted:github-token]]"`, string(s.Data([]byte(`"`+begin+github+`]"`))))
	}
	for _, name := range []string{"user[secret_key]", "[secret-key]", "a[secret.password]", "[redacted: password]", "[secret password]"} {
		require.Equal(t, name+` = "[redacted:secret]"`, s.Prose(name+` = "hunter2x9"`))
	}
}

// Secrets that touch are found each, and a private key also where a word goes on behind it.
func TestSecretsThatTouch(t *testing.T) {
	var s *redact.Sanitizer
	require.Equal(t, "[redacted:private-key]then", s.Prose(pem+"then"))
	require.Equal(t, "[redacted:private-key][redacted:github-token]", s.Prose(pem+github))
	require.Equal(t, "[redacted:github-token][redacted:private-key]", s.Prose(github+pem))
}

func TestOptions(t *testing.T) {
	s := redact.New(&redact.Options{Allow: []string{github, "hunter2"}})
	require.Equal(t, "password=hunter2 "+github, s.Prose("password=hunter2 "+github))

	found := redact.New(&redact.Options{Find: func(string) []string { return []string{"", "blue", "hunter2"} }})
	require.Equal(t, "[redacted:found] whale [redacted:secret]", strings.Replace(found.Prose("blue whale password=hunter2"), "password=", "", 1))
	broken := redact.New(&redact.Options{Find: func(string) []string { panic("host") }})
	require.Equal(t, "[redacted:text]", broken.Prose("anything"))
}

func FuzzProse(f *testing.F) {
	f.Add("postgres://svc:Tr0ub4#dorK9x@db:5432/app "+github+" password=hunter2", "Tr0ub4#dorK9x")
	f.Add(pem+` Authorization: "Bearer 12345678a" Cookie: a=bcde; `, `\"`)
	f.Add(`{"a":"[secret X]\u005bsecret X]"}`, "12345678")
	f.Fuzz(func(t *testing.T, text, secret string) {
		s, err := redact.New(nil).With(map[string]string{"X": secret})
		if err != nil {
			s = redact.New(nil)
		}
		clean := s.Prose(text)
		raw := s.Data(json.RawMessage(text))
		require.True(t, json.Valid(raw) || !json.Valid([]byte(text)))
		if err == nil && !strings.Contains("[secret X] [redacted:private-key]", secret) {
			require.NotContains(t, clean, secret)
		}
	})
}

// The text of BenchmarkProse is an ordinary one: documentation of this repository's kind, logs, code and JSON.
const ordinary = `2026-11-28T10:00:00Z INFO request done method=GET path=/v1/runs status=200 took=12ms id=4f1c9a
The record holds what the next step needs and stays small; each step appends what happened. See https://example.com/docs.
func (a *Agent) Run(ctx context.Context, o Objective) (*Report, error) { return a.run(ctx, o, nil) }
{"name":"restart","inputs":{"service":"api","zone":"eu-1"},"keys":["a","b"],"token_count":812}
`

func BenchmarkProse(b *testing.B) {
	text := strings.Repeat(ordinary, 200)
	raw, err := json.Marshal(strings.Split(text, "\n"))
	require.NoError(b, err)
	s, err := redact.New(nil).With(map[string]string{"DB": "Tr0ub4dor&3", "API": "9f8a7b6c5d4e3f2a"})
	require.NoError(b, err)
	run := func(name, text string, f func()) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
	}
	run("prose", text, func() { redact.New(nil).Prose(text) })
	run("prose declared", text, func() { s.Prose(text) })
	run("data", string(raw), func() { s.Data(raw) })
	for name, hostile := range map[string]string{
		"keys": "key=", "urls": "://u:", "at": "a:b@", "pem": "-----BEGIN PRIVATE" + " KEY-----\"", "cookies": "cookie: a=", "quotes": `secret="`,
	} {
		text := strings.Repeat(hostile, 1<<17/len(hostile))
		run("hostile "+name, text, func() { s.Prose(text) })
	}
}
