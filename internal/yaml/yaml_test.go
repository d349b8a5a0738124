package yaml_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/yaml"
)

type doc struct {
	Name  string        `yaml:"name"`
	After time.Duration `yaml:"after"`
	Rules yaml.Node     `yaml:"rules"`
	Any   any           `yaml:"any"`
}

func TestDecode(t *testing.T) {
	var d doc
	require.NoError(t, yaml.Decode([]byte("name: a\nafter: 90s\n\nrules:\n  - x\n"), &d))
	require.Equal(t, "a", d.Name)
	require.Equal(t, 90*time.Second, d.After)
	require.Equal(t, 5, d.Rules.Content[0].Line)
	require.ErrorIs(t, yaml.Decode([]byte("# nothing\n"), &d), io.EOF)
	right := "any: ['0042', \"007\", 0, -1, 0.5, 1234567890123456789, 0x1F, 0o17, 12:30]\nname: |\n  0042\n"
	require.NoError(t, yaml.Decode([]byte(right), &d))

	bomb := "any: [&a [x,x,x,x,x,x,x,x,x,x]"
	for _, c := range "bcdefgh" {
		last := string(c - 1)
		bomb += ", &" + string(c) + " [" + strings.Repeat("*"+last+",", 10) + "]"
	}
	for text, want := range map[string]string{
		"name: a\nnmae: b\n":         "line 2: field nmae not found",
		"name: a\nname: b\n":         "line 2",
		"name: a\nafter: soon\n":     "line 2: cannot unmarshal !!str `soon` into time.Duration",
		"name: a\n---\nname: b\n":    "line 2: a second document",
		"name: a\n---\n\t: {\n":      "line",
		"name: [a\n":                 "line",
		"name: a\nany: [1, 0042]\n":  "line 2: 0042 would be another number: put it in quotes",
		"any: {id: -0_7}\n":          "line 1: -0_7",
		"name: 12345678901234567890": "line 1: 12345678901234567890",
		"name: *x\n":                 "unknown anchor",
		bomb + "]\n":                 "excessive aliasing",
		strings.Repeat("[", 20_000):  "depth",
	} {
		require.ErrorContains(t, yaml.Decode([]byte(text), new(doc)), want, "%.40q", text)
	}
}

func TestFront(t *testing.T) {
	for text, want := range map[string][3]any{
		"\ufeff---\r\na: 1\r\n---\r\n\r\nBelow.\r\n": {"\na: 1", "Below.", true},
		"---\n---":               {"", "", true},
		" Text.\n\n---\n\nMore.": {"", "Text.\n\n---\n\nMore.", true},
		"---\na: 1\n":            {"", "---\na: 1", false},
	} {
		front, body, closed := yaml.Front(text)
		require.Equal(t, want, [3]any{front, body, closed}, "%q", text)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("name: a\nrules: [&a {b: *a}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var d doc
		if yaml.Decode(data, &d) == nil {
			require.LessOrEqual(t, len(d.Name), len(data)*10)
		}
	})
}
