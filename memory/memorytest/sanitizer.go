package memorytest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Sanitizer takes secrets out of a text, as a *redact.Sanitizer does.
type Sanitizer interface {
	Sanitize(text string) string
}

// Secret is a text and the part of it that must not survive.
type Secret struct {
	Text, Value string
}

// CheckSanitizer holds s to what memory relies on, and returns all offences in
// one error:
//
//   - no secret survives, also in the middle of other text: neither those of
//     the host nor those that every sanitizer has to know (tokens of GitHub, OpenAI,
//     AWS and Slack, an authorization header, an assigned password, the
//     password of a URL, a private key)
//   - an ordinary text stays as it is, those of the host and some of ours
//   - sanitising twice is sanitising once
//   - valid UTF-8 stays valid, and an empty text empty
//   - goroutines that sanitise at the same time get what one alone gets; run
//     the test with -race
//
// The secrets are made up.
func CheckSanitizer(s Sanitizer, secrets []Secret, ordinary []string) error {
	secrets = slices.Concat(secrets, commonSecrets())
	ordinary = slices.Concat(ordinary, commonTexts)
	var errs []error
	complain := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("memorytest: sanitizer: "+format, args...))
	}
	var texts, want []string
	for _, c := range secrets {
		for _, text := range []string{c.Text, "The build fails.\n" + c.Text + "\nWhat now?"} {
			got := s.Sanitize(text)
			texts, want = append(texts, text), append(want, got)
			if strings.Contains(got, c.Value) {
				complain("the secret of %q survives", text)
			}
		}
	}
	for _, text := range ordinary {
		got := s.Sanitize(text)
		texts, want = append(texts, text), append(want, got)
		if got != text {
			complain("ordinary %q becomes %q", text, got)
		}
	}
	for i, once := range want {
		if twice := s.Sanitize(once); twice != once {
			complain("%q is sanitised again to %q", once, twice)
		}
		if utf8.ValidString(texts[i]) && !utf8.ValidString(once) {
			complain("%q becomes %q, which is not UTF-8", texts[i], once)
		}
	}
	if got := s.Sanitize(""); got != "" {
		complain("an empty text becomes %q", got)
	}
	if !atOnce(s, texts, want) {
		complain("it gives other results when goroutines use it at the same time")
	}
	return errors.Join(errs...)
}

// atOnce reports whether goroutines that sanitise all texts get what is wanted.
func atOnce(s Sanitizer, texts, want []string) bool {
	same := make([]bool, 8)
	var wg sync.WaitGroup
	for g := range same {
		wg.Go(func() {
			same[g] = true
			for i := range texts {
				i = (i + g*len(texts)/len(same)) % len(texts) // not all at one text
				same[g] = s.Sanitize(texts[i]) == want[i] && same[g]
			}
		})
	}
	wg.Wait()
	return !slices.Contains(same, false)
}

// letters returns n letters and digits that look drawn by chance. The secrets
// are put together here, so that no scanner takes this file for a leak.
func letters(n int) string {
	const all = "aB3dE5fG7hJ9kLmN2pQrS4tUvW6xYz8"
	b := make([]byte, n)
	for i := range b {
		b[i] = all[(i*i+7*i+n)%len(all)]
	}
	return string(b)
}

func commonSecrets() []Secret {
	var out []Secret
	add := func(format, value string) {
		out = append(out, Secret{fmt.Sprintf(format, value), value})
	}
	add("git clone with %s please", "ghp"+"_"+letters(36))
	add("the key is %s", "sk"+"-"+letters(48))
	add("AWS_ACCESS_KEY_ID=%s", "AKIA"+strings.ToUpper(letters(16)))
	add("post it with %s", "xoxb"+"-"+"123456789012-1234567890123-"+letters(24))
	add("Authorization: Bearer %s", letters(40))
	add("password=%s", "hunter2-"+letters(8))
	add("postgres://admin:%s@db.example.com:5432/app", letters(12))
	add("-----BEGIN "+"PRIVATE KEY-----\n%s\n-----END "+"PRIVATE KEY-----", letters(64))
	return out
}

var commonTexts = []string{
	"The worker rebuilt the package and ran its tests: 12 passed, 0 failed.",
	"The token bucket refills at 10 tokens per second.",
	"Forgot your password? The reset flow sends a link.",
	"commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
	"import \"github.com/acme/store/internal/codec\"",
	"Grüße aus Zürich, 東京 and 🙂",
}
