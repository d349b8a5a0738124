package redact_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/redact"
)

func lines(t testing.TB, file string) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

var (
	filler = regexp.MustCompile(`\{(\d+)([UH]?)\}`)
	marked = regexp.MustCompile(`⟦([^⟧]*)⟧`)
)

// fill puts made-up characters in the place of {N}. The corpus is written so
// that no line of it looks like a leaked key.
func fill(line string) string {
	rng := rand.New(rand.NewPCG(1, uint64(len(line))))
	return filler.ReplaceAllStringFunc(line, func(s string) string {
		m := filler.FindStringSubmatch(s)
		n, _ := strconv.Atoi(m[1]) // digits by the expression
		set := map[string]string{
			"":  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
			"U": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
			"H": "0123456789abcdef",
		}[m[2]]
		b := make([]byte, n)
		for i := range b {
			b[i] = set[rng.IntN(len(set))]
		}
		b[n/2] = '7'
		return string(b)
	})
}

type secretCase struct{ text, secret, want string }

func secretCases(t testing.TB) (cases []secretCase) {
	for _, line := range lines(t, "secrets.txt") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		kind, text, ok := strings.Cut(fill(line), " | ")
		require.True(t, ok, line)
		text = strings.ReplaceAll(text, `\\n`, "\x00")
		if kind == "private_key" {
			text = strings.ReplaceAll(text, `\n`, "\n")
		}
		text = strings.ReplaceAll(text, "\x00", `\n`)
		m := marked.FindStringSubmatch(text)
		require.NotNil(t, m, line)
		cases = append(cases, secretCase{
			text:   marked.ReplaceAllString(text, "$1"),
			secret: m[1],
			want:   marked.ReplaceAllString(text, "[REDACTED:"+kind+"]"),
		})
	}
	return cases
}

// People name a password in their own language.
func TestPasswordsOfOtherLanguages(t *testing.T) {
	t.Parallel()
	var s redact.Sanitizer
	for _, name := range []string{
		"Passwort", "Kennwort", "wachtwoord", "senha", "contrasena", "mot_de_passe", "DB_PASSWORT", "salasana", "lozinka", "heslo", "jelszo",
		"contraseña", "La Contraseña", "CONTRASEÑA", "contrasen\u0303a", "mot de passe", "Mot de passe", "hasło", "пароль", "Пароль", "şifre",
		"palavra-passe",
	} {
		for _, sign := range []string{": ", " : ", "=", " = "} {
			text := name + sign + "hunter2"
			require.Equal(t, name+sign+"[REDACTED:password]", s.Sanitize(text))
		}
		got := s.JSON(json.RawMessage(`{"` + name + `":"hunter2"}`))
		require.JSONEq(t, `{"`+name+`":"[REDACTED:password]"}`, string(got))
	}
	for _, text := range []string{"Passwort vergessen: hier", "Passwort: falsch", "Das Passwort muss neu sein", "Passwortlos: ja",
		"contraseña: incorrecta", "Mot de passe : oublié", "le passe: hunter2", "señora: hunter2", "прпароль: x9",
	} {
		require.Equal(t, text, s.Sanitize(text))
	}
}

func TestSecretsAreReplaced(t *testing.T) {
	t.Parallel()
	s := new(redact.Sanitizer).WithEmails()
	for _, c := range secretCases(t) {
		for _, around := range []string{"%s", "%s\n", "first line\n%s\nlast line", "\t%s"} {
			in, want := fmt.Sprintf(around, c.text), fmt.Sprintf(around, c.want)
			require.Equal(t, want, s.Sanitize(in), "Sanitize(%q)", in)
			require.Equal(t, want, s.Sanitize(want), "second pass over %q", want)
		}
	}
}

func TestOrdinaryTextIsKept(t *testing.T) {
	t.Parallel()
	var s redact.Sanitizer
	for _, line := range lines(t, "ordinary.txt") {
		require.Equal(t, line, s.Sanitize(line))
		require.Equal(t, "x\n"+line+"\ny", s.Sanitize("x\n"+line+"\ny"))
	}
}

func TestNameAndValueOnTwoLines(t *testing.T) {
	t.Parallel()
	var s redact.Sanitizer
	const in = "env:\n  - name: DB_USER\n    value: bob\n  - name: DB_PASSWORD\n    value: hunter2\n  - name: PORT\n    value: \"80\"\n"
	require.Equal(t, strings.Replace(in, "hunter2", "[REDACTED:password]", 1), s.Sanitize(in))
}

func TestValuesOfJSONInText(t *testing.T) {
	t.Parallel()
	text := `got [{"password":null},{"token":true},[]], {"secret":123456},{"a":1}`
	want := `got [{"password":null},{"token":true},[]], {"secret":"[REDACTED:secret]"},{"a":1}`
	require.Equal(t, want, new(redact.Sanitizer).Sanitize(text))
}

func TestNilAndEmpty(t *testing.T) {
	t.Parallel()
	var s *redact.Sanitizer
	require.Equal(t, "pwd=[REDACTED:password]", s.Sanitize("pwd=hunter2"))
	require.Empty(t, s.Sanitize(""))
	require.Nil(t, s.JSON(nil))
	require.Equal(t, `{"pwd":"[REDACTED:password]"}`, string(s.JSON(json.RawMessage(`{"pwd":"x"}`))))
}

func TestJSON(t *testing.T) {
	t.Parallel()
	s := new(redact.Sanitizer).WithEmails()
	for _, c := range []struct{ in, want string }{
		{`{"a":1}`, `{"a":1}`},
		{` { "a" : [ 1 , null ] } `, ` { "a" : [ 1 , null ] } `},
		{`{"password":"x","api_key":123}`, `{"password":"[REDACTED:password]","api_key":"[REDACTED:secret]"}`},
		{`{"password":null,"secret":true,"token":"","tokens":5}`, `{"password":null,"secret":true,"token":"","tokens":5}`},
		{`{"secret":{"a":["x",-1.5e+3,{"b":"y"}],"c":false}}`, `{"secret":{"a":["[REDACTED:secret]","[REDACTED:secret]",{"b":"[REDACTED:secret]"}],"c":false}}`},
		{`{"pass":12,"fail":3,"suites":[{"pass":0.98}]}`, `{"pass":12,"fail":3,"suites":[{"pass":0.98}]}`},
		{`{"cvv":123,"cvc":"0737","cvc_check":"pass"}`, `{"cvv":"[REDACTED:secret]","cvc":"[REDACTED:secret]","cvc_check":"pass"}`},
		{`{"pass":"x1","db_pass":123}`, `{"pass":"[REDACTED:password]","db_pass":"[REDACTED:password]"}`},
		{`["mysql","--password","hunter2","-h","db"]`, `["mysql","--password","[REDACTED:password]","-h","db"]`},
		{`["x","--password","-v","--max-tokens","5","--password=","y","--password"]`, `["x","--password","-v","--max-tokens","5","--password=","y","--password"]`},
		{`{"pass\u0077ord":"x"}`, `{"pass\u0077ord":"[REDACTED:password]"}`},
		{`["mail \u0062ob@example.com"]`, `["mail [REDACTED:email]"]`},
		{`{"bob@example.com":1}`, `{"[REDACTED:email]":1}`},
		{`{"cmd":"login --password hunter2 \u003cb\u003e"}`, `{"cmd":"login --password [REDACTED:password] <b>"}`},
		{`{"body":"{\"password\":\"x\"}"}`, `{"body":"{\"password\":\"[REDACTED:password]\"}"}`},
		{`{"Authorization":"Bearer abc"}`, `{"Authorization":"Bearer [REDACTED:authorization]"}`},
		{`"password=hunter2"`, `"password=[REDACTED:password]"`},
		{`12`, `12`},
		{`[{"name":"DB_PASSWORD","value":"x"},{"name":"DB_USER","value":"y"}]`, `[{"name":"DB_PASSWORD","value":"[REDACTED:password]"},{"name":"DB_USER","value":"y"}]`},
		{`[{"value":"x\"1","name":"DB_PASSWORD"},{"value":"y","name":"DB_USER"}]`, `[{"value":"[REDACTED:password]","name":"DB_PASSWORD"},{"value":"y","name":"DB_USER"}]`},
		{`{"key":"password","value":"x","name":"label"}`, `{"key":"password","value":"[REDACTED:password]","name":"label"}`},
		{`{"key":"apiKey","type":"string","value":"x1"}`, `{"key":"apiKey","type":"string","value":"[REDACTED:secret]"}`},
		{`{"name":"a\"","value":"x"}`, `{"name":"a\"","value":"x"}`},
		{`{"password":"x"`, `"{\"password\":\"[REDACTED:password]\""`},
		{`not json`, `"not json"`},
		{` `, `" "`},
	} {
		got := s.JSON(json.RawMessage(c.in))
		require.Equal(t, c.want, string(got), "JSON(%s)", c.in)
		require.Equal(t, c.want, string(s.JSON(got)), "second pass over %s", got)
	}
}

func TestJSONOfSecretsInStrings(t *testing.T) {
	t.Parallel()
	s := new(redact.Sanitizer).WithEmails()
	for _, c := range secretCases(t) {
		raw, err := json.Marshal(map[string]any{"n": []string{c.text}})
		require.NoError(t, err)
		var got map[string][]string
		require.NoError(t, json.Unmarshal(s.JSON(raw), &got))
		require.Equal(t, c.want, got["n"][0])
	}
}

func TestHostPatterns(t *testing.T) {
	t.Parallel()
	s, err := redact.New(&redact.Options{Patterns: []redact.Pattern{
		{Kind: "ticket", Expr: regexp.MustCompile(`T-(\d+)`), Group: 1},
		{Kind: "all", Expr: regexp.MustCompile(`REDACTED|zz*`)},
		{Kind: "maybe", Expr: regexp.MustCompile(`(q)?`), Group: 1},
	}})
	require.NoError(t, err)
	require.Equal(t, "bob@example.com", s.Sanitize("bob@example.com"))
	s = s.WithEmails()
	require.Equal(t, "T-[REDACTED:ticket] [REDACTED:all] [REDACTED:email] [REDACTED:maybe]", s.Sanitize("T-123 zzz bob@example.com q"))
	require.Equal(t, "[REDACTED:email]", s.Sanitize("[REDACTED:email]"))

	_, err = redact.New(&redact.Options{Patterns: []redact.Pattern{
		{Kind: "", Expr: regexp.MustCompile(`x`)}, {Kind: "a"}, {Kind: "b", Expr: regexp.MustCompile(`x`), Group: 1},
	}})
	require.ErrorIs(t, err, redact.ErrPattern)
	for _, part := range []string{"pattern 0", "pattern 1", "pattern 2"} {
		require.ErrorContains(t, err, part)
	}
	s, err = redact.New(nil)
	require.NoError(t, err)
	require.Equal(t, "x", s.Sanitize("x"))
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	var s redact.Sanitizer
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				if s.Sanitize("pwd=hunter2") != "pwd=[REDACTED:password]" {
					panic("changed under concurrency")
				}
			}
		})
	}
	wg.Wait()
}

// TestHostileTextIsLinear feeds texts that trip scanners which look back or
// ahead without a bound. Each is 256 KiB: a scan that is not linear takes
// minutes and trips the deadline of the test binary.
func TestHostileTextIsLinear(t *testing.T) {
	t.Parallel()
	var s redact.Sanitizer
	for _, unit := range []string{
		"a", "@", "a@", "a@b.", "=", ":", "://", "a://b:", "token=${", "token: a(", "password=", `password="`, `token: "`,
		"-----BEGIN PRIVATE KEY-----\"", "-----BEGIN PRIVATE KEY-----aaaaaaaaaaaaaaaaaaaa.", "[", "[REDACTED:", "[REDACTED:a]", "eyJ", "sk-", "sk-a-",
		"Bearer ", "Basic aaaaaaaa ", " is ", "password is ", "<password>", "\\", `\"`, " ", "key ", "é", "\xff", "AKIA", "token==", "&a", "password=a&",
		"Authorization: Bearer ", "password=a ", "a@b.cc ",
	} {
		text := strings.Repeat(unit, 256<<10/len(unit))
		out := s.Sanitize(text)
		require.Equal(t, out, s.Sanitize(out), "unit %q", unit)
	}
}

var pieces = []string{
	"password", "token", "secret", "api_key", "Authorization", "Bearer ", "basic ", "=", ":", ": ", " = ", ":=", "\"", "'", "`", "\\", "\\n", "\n", " ",
	"hunter2", "abc", "x", "@", "a@b.co", ".com", "://", "u:p@", "ghp_0123456789abcdefghij", "sk-", "sk-0123456789abcdefgh", "eyJabcdefgh.abcdefgh", "[REDACTED:email]",
	"[REDACTED:", "]", "[", "{", "}", "<password>", "<", ">", "--", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "0123456789abcdefghij",
	" is ", "&", ";", ",", ".", "(", ")", "$", "${", "%s", "é", "你", "\xff", "key", "is", "AKIA0123456789ABCDEF", "_", "-", "git@", "*",
}

func TestSanitizeIsIdempotent(t *testing.T) {
	t.Parallel()
	s, err := redact.New(&redact.Options{Patterns: []redact.Pattern{{Kind: "digits", Expr: regexp.MustCompile(`\d{6}\S`)}}})
	require.NoError(t, err)
	var zero redact.Sanitizer
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 24).Draw(t, "pieces"), "")
		checkText(t, &zero, text)
		checkText(t, s, text)
	})
}

func checkText(t require.TestingT, s *redact.Sanitizer, text string) {
	once := s.Sanitize(text)
	require.Equal(t, once, s.Sanitize(once), "second pass over %q", text)
	require.LessOrEqual(t, len(once), 8*len(text)+64, "%q became %q", text, once)
	if utf8.ValidString(text) {
		require.True(t, utf8.ValidString(once), "%q became %q", text, once)
	}
	raw, err := json.Marshal(map[string]string{"k": text, text: "v"})
	require.NoError(t, err)
	clean := s.JSON(raw)
	require.True(t, json.Valid(clean), "%s became %s", raw, clean)
	require.Equal(t, string(clean), string(s.JSON(clean)))
	require.True(t, json.Valid(s.JSON(json.RawMessage(text))) || text == "")
}

func FuzzSanitize(f *testing.F) {
	for _, c := range secretCases(f) {
		f.Add(c.text)
	}
	for _, line := range lines(f, "ordinary.txt") {
		f.Add(line)
	}
	var s redact.Sanitizer
	f.Fuzz(func(t *testing.T, text string) {
		checkText(t, &s, text)
		const key = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
		require.NotContains(t, s.Sanitize(text+" "+key+" "+text), key)
		require.NotContains(t, s.Sanitize(text+"\npassword=hunter2xyz\n"+text), "hunter2xyz")
		for _, w := range wrappings {
			require.NotContains(t, s.Sanitize(text+"\n"+strings.ReplaceAll(w, "%s", key)+"\n"+text), key[4:], "in %q", w)
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"password":"x","a":[1,{"b":null}],"c":"bob@example.com"}`))
	f.Add([]byte(`{"a`))
	f.Add([]byte(`"\ud800"`))
	var s redact.Sanitizer
	f.Fuzz(func(t *testing.T, raw []byte) {
		clean := s.JSON(raw)
		require.True(t, len(raw) == 0 || json.Valid(clean), "%q became %q", raw, clean)
		require.Equal(t, string(clean), string(s.JSON(clean)))
	})
}

const cleanText = "The worker rebuilt the package and ran its tests: 12 passed, 0 failed. The import path github.com/acme/store " +
	"was missing from the module file, so it was added; the build took 3.2 s on this machine."

func TestCleanTextIsNotCopied(t *testing.T) {
	var s redact.Sanitizer
	raw := json.RawMessage(`{"summary":"done","confidence":0.9,"potential_issues":[]}`)
	require.Zero(t, testing.AllocsPerRun(100, func() { s.Sanitize(cleanText) }))
	require.Same(t, &raw[0], &s.JSON(raw)[0])
}

func BenchmarkSanitize(b *testing.B) {
	var s redact.Sanitizer
	for _, c := range []struct{ name, text string }{
		{"clean", cleanText},
		{"code", strings.Repeat("\tif tok, err := p.next(); err != nil || tok.kind == token_ident {\n", 3)},
		{"secret", cleanText + " password=hunter2"},
		{"64k", strings.Repeat(cleanText+"\n", 64<<10/(len(cleanText)+1))},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				s.Sanitize(c.text)
			}
		})
	}
}

func BenchmarkJSON(b *testing.B) {
	var s redact.Sanitizer
	raw := json.RawMessage(`{"status":"Success","confidence":0.98,"summary":"Panel A attached securely.","potential_issues":[],"alignment_check":{"objective":1}}`)
	b.ReportAllocs()
	for b.Loop() {
		s.JSON(raw)
	}
}
