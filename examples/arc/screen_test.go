package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What has to be read whole is: an approval of which the end is not shown allows what was not read. No
// line is wider than the terminal, whose cells a character of Han takes two of.
func TestExplainedWhole(t *testing.T) {
	s := &screen{width: 80}
	shown := func(text string) []string {
		var out bytes.Buffer
		s.out = &out
		s.explain(plain, "inputs", text)
		return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	}
	require.Equal(t, []string{
		"inputs     " + strings.Repeat("漢", 34), "           " + strings.Repeat("漢", 6) + " and the rest",
	}, shown(strings.Repeat("漢", 40)+" and the rest"))
	rapid.Check(t, func(t *rapid.T) {
		s.width = rapid.IntRange(20, 120).Draw(t, "width")
		text := oneLine(rapid.StringOf(rapid.RuneFrom([]rune("ab 漢字カ한é🙂\u0301—"))).Draw(t, "text"))
		lines := shown(text)
		for i, line := range lines {
			require.LessOrEqual(t, cells(line), s.width)
			lines[i] = string([]rune(line)[11:])
		}
		require.Equal(t, strings.ReplaceAll(text, " ", ""), strings.ReplaceAll(strings.Join(lines, ""), " ", ""))
		s.out = new(bytes.Buffer)
		s.table([]string{"a", "b"}, [][]string{{"漢字", text}})
		for line := range strings.Lines(s.out.(*bytes.Buffer).String()) {
			require.LessOrEqual(t, cells(strings.TrimSuffix(line, "\n")), s.width)
		}
	})
}
