package template_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/internal/template"
)

func TestWordsFoldOnlyWhatRepeatsDifferIn(t *testing.T) {
	t.Parallel()
	for _, same := range [][2]string{
		{"greet the reader", "Greet  reader, please!"}, {"make soup, then set the table", "Make the soup then set the table."},
		{"The build fails", "the build fails"}, {"what is it", "What is it?"}, {"port it to C++", "Port it to C++."},
		{"请发送", "请发送。"}, {"do it; then rest", "do it then rest"}, {"do it or not.", "do it or not"}, {"Write a report with a summary", "write report with summary"},
	} {
		require.Equal(t, template.Folded(same[0]), template.Folded(same[1]), same)
	}
	for _, other := range [][2]string{
		{"pay 1.50", "pay 150"}, {"use v1.2", "use v12"}, {"port it to C++", "port it to C"}, {"invite IT", "invite it"},
		{"rm /tmp/a", "rm /tmp/A"}, {"list A records", "list records"}, {"git add .", "git add"}, {"scale to 1. 50", "scale to 1 50"},
		{"delete the logs", "delete the logs?"}, {"take a 5", "take 5"}, {"delete a from b", "delete from b"},
		{"order the hepatitis a vaccine", "order the hepatitis vaccine"}, {"run plan a for acme", "run plan for acme"}, {"compute 5!", "compute 5"},
		{"copy a to b", "copy to b"}, {"not now", "now"}, {"plan b", "plan B"}, {"-5 kg", "5 kg"},
		{"no, delete it", "no delete it"}, {"I said don't! Delete it", "I said don't delete it"}, {"nein, lösche es", "nein lösche es"},
	} {
		require.NotEqual(t, template.Folded(other[0]), template.Folded(other[1]), other)
	}
}

var (
	names  = []string{"service", "count", "path", "on", "to"}
	values = []string{
		`"web"`, `"db1"`, `"A-1017"`, `"/srv/a.md"`, `"two words"`, `"it"`, `"5"`, `""`, `5`, `300`, `0.5`, `-5`, `true`, `false`, `null`,
		`["n1",7]`, `{"from":"png"}`, `"日本"`, `"a\"b\\c\n"`,
	}
	glue = []string{" ", "", "-", "/", ":", ", ", "'", "\"", ".", " of ", "10"}
)

// inputs draws the inputs of a case.
func inputs(t *rapid.T) json.RawMessage {
	var b strings.Builder
	for i, n := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 4, rapid.ID).Draw(t, "names") {
		b.WriteString([]string{",", "{"}[max(0, 1-i)] + `"` + n + `":` + rapid.SampledFrom(values).Draw(t, "value"))
	}
	return json.RawMessage(b.String() + "}")
}

// wording draws a text of values and what may stand between them.
func wording(t *rapid.T) string {
	var b strings.Builder
	for range rapid.IntRange(0, 5).Draw(t, "pieces") {
		b.WriteString(strings.Trim(rapid.SampledFrom(values).Draw(t, "quoted"), `"`))
		b.WriteString(rapid.SampledFrom(glue).Draw(t, "glue"))
	}
	return b.String()
}

// tree draws JSON of such values.
func tree(t *rapid.T, depth int) json.RawMessage {
	switch rapid.IntRange(0, 4-min(depth, 2)).Draw(t, "kind") {
	case 0, 1:
		return json.RawMessage(rapid.SampledFrom(values).Draw(t, "leaf"))
	case 2:
		raw, err := json.Marshal(wording(t))
		require.NoError(t, err)
		return raw
	case 3:
		return json.RawMessage(`[` + string(tree(t, depth+1)) + `,` + string(tree(t, depth+1)) + `]`)
	}
	name := rapid.SampledFrom(append(names, "x", "")).Draw(t, "name")
	return json.RawMessage(`{"` + name + `":` + string(tree(t, depth+1)) + `,"y":` + string(tree(t, depth+1)) + `}`)
}

// What is quoted of a case and bound to the same case is what it was.
func TestBindingUndoesQuoting(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := template.Binding{Now: make(map[string]template.Value)}
		var sources []template.Source
		for _, l := range template.Flatten(inputs(t), nil) {
			if v := (template.Value{Kind: l.Kind, Text: l.Value}); !l.Open {
				b.Now[l.Path] = v
				sources = append(sources, template.Source{Value: v, From: template.Ref{l.Path}})
			}
		}
		b.Was = b.Now
		q := template.NewQuoter(sources)

		text := wording(t)
		got, err := b.Text(q.Phrase(template.Literal(text)))
		require.NoError(t, err)
		require.Equal(t, text, got)

		raw := tree(t, 0)
		n, err := template.NodeOf(raw)
		require.NoError(t, err)
		n = q.Node(n)
		stored, err := json.Marshal(n)
		require.NoError(t, err)
		again := new(template.Node)
		require.NoError(t, json.Unmarshal(stored, again))
		back, err := b.JSON(again)
		require.NoError(t, err)
		var want bytes.Buffer
		require.NoError(t, json.Compact(&want, raw))
		require.JSONEq(t, want.String(), string(back))

		ws := template.Words(text)
		require.True(t, b.Matches(q.Words(ws), ws, nil), "%q", ws)
	})
}

func TestValuesAreQuotedAsWholeTokens(t *testing.T) {
	t.Parallel()
	q := template.NewQuoter([]template.Source{
		{Value: template.Value{Kind: template.String, Text: "db1"}, From: template.Ref{"/host"}},
		{Value: template.Value{Kind: template.Number, Text: "5"}, From: template.Ref{"/n"}},
	})
	for text, want := range map[string]string{
		"drain db1; db10 takes over": "drain {host}; db10 takes over", "db1:/data": "{host}:/data", "x-db1": "x-db1",
		"scale to 5.": "scale to {n}.", "5%": "5%", "0.5": "0.5", "5 of 5": "5 of 5", "v5": "v5", "08:5": "08:5", "'db1'": "'{host}'",
	} {
		require.Equal(t, want, q.Phrase(template.Literal(text)).Show(), text)
	}
}

// Each word of a value is one that a shell takes for a word, where the value of before had words.
func TestEachWordIsHarmless(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		was, now string
		bound    bool
	}{
		{"Ann Lee", "Bob van Dyke", true}, {"Ann Lee", "Bob - the second", true}, {"Ann", "Bob Dyke", false},
		{"Ann Lee", "Bob --force", false}, {"Ann Lee", "Bob -rf", false}, {"Ann Lee", "-rf Bob", false},
		{"Ann Lee", "Bob /etc/passwd", false}, {"Ann Lee", "Bob @/etc/passwd", false}, {"Ann Lee", "Bob ../b", false},
		{"a /srv/b", "c /srv/d", true}, {"/srv/b", "/srv/d", true}, {"site/b", "/srv/d", false},
	} {
		at := func(v string) map[string]template.Value {
			return map[string]template.Value{"/x": {Kind: template.String, Text: v}}
		}
		b := template.Binding{Was: at(c.was), Now: at(c.now)}
		got, err := b.Text(template.Phrase{{Text: "run "}, {From: template.Ref{"/x"}}})
		if !c.bound {
			require.ErrorContains(t, err, "cannot stand in a text", c)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, "run "+c.now, got)
	}
}
