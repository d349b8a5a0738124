//go:build unix

package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "record the sessions in testdata anew")

// typed is a command at the terminal: when it has shown a text, a person types another.
type call struct {
	args  []string
	code  int
	typed [][2]string
}

// varies is what no two recordings have in common.
var varies = []struct {
	what *regexp.Regexp
	is   string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}`), "0193…"},
	{regexp.MustCompile(`\b[0-9a-f]{24}\b`), "0193…"},
	{regexp.MustCompile(`\b[0-9.]+(ms|µs|s)\b`), "TIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?`), "DATE"},
}

// What a person sees and types at a terminal of 80 columns, as it was recorded: a change
// is looked at, and recorded with -rewrite.
func TestRecordedSessions(t *testing.T) {
	sessions := map[string]struct {
		template string
		calls    []call
	}{
		"run": {"notes", []call{{args: []string{"do"}}, {args: []string{"do"}}, {args: []string{"status"}}}},
		"ask": {"notes", []call{
			{args: []string{"do", "--text", "tidy up"}, typed: [][2]string{{"answer:", "collect\n"}}},
			{args: []string{"tasks", "add", "--subject", "tidy up"}},
			{args: []string{"run"}, code: exitWaiting},
		}},
		"approve": {"desk", []call{
			{args: []string{"do", "--text", "reply to 1002: we are on it"}, typed: [][2]string{{"decide later]", "y\n"}}},
			{args: []string{"do", "--text", "reply to 1001: no"}, code: exitBlocked, typed: [][2]string{{"decide later]", "n\n"}}},
			{args: []string{"do", "--text", "reply to 1001: so"}, code: exitWaiting, typed: [][2]string{{"decide later]", "\n"}}},
		}},
		"interrupt": {"notes", []call{
			{args: []string{"do", "--text", "tidy up", "--id", "left"}, code: exitInterrupted, typed: [][2]string{{"answer:", "\x03"}}},
			{args: []string{"resume", "--run", "left"}, typed: [][2]string{{"answer:", "collect\n"}}},
		}},
	}
	for name, session := range sessions {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			calls := append([]call{{args: []string{"init", "--template", session.template}}}, session.calls...)
			var got strings.Builder
			for _, c := range calls {
				s := begin(t, dir, c.args...)
				for _, at := range c.typed {
					s.expect(at[0])
					s.typed(at[1])
				}
				text := strings.ReplaceAll(plainText(s.ends(c.code)), "\r", "")
				for line := range strings.Lines(text) {
					require.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), 80, line)
				}
				got.WriteString("$ arc " + strings.Join(c.args, " ") + "\n" + text)
			}
			text := got.String()
			for _, v := range varies {
				text = v.what.ReplaceAllString(text, v.is)
			}
			file := filepath.Join("testdata", "sessions", name+".txt")
			if *rewrite {
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), text)
		})
	}
}
