package shape_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/reason/internal/shape"
)

const schema = `{"type": "object", "properties": {
  "kind": {"enum": ["", "small", "large"]}, "note": {"type": "string", "description": "a sentence"}, "sure": {"type": "boolean"},
  "tasks": {"type": "array", "items": {"$ref": "#/$defs/task"}}},
  "$defs": {"task": {"type": "object", "properties": {"name": {"type": "string"}, "at": {"type": "string"}}, "required": ["name"]}}}`

func read(t testing.TB) *shape.Shape {
	var s shape.Shape
	require.NoError(t, json.Unmarshal([]byte(schema), &s))
	return &s
}

// TestCheck holds answers to a schema, with the complaint that each gets.
func TestCheck(t *testing.T) {
	for answer, want := range map[string]string{
		`{"kind": "small", "tasks": [{"name": "a"}]}`: "",
		`{"kind": "", "note": null, "more": 1}`:       "",
		`{"tasks": [{"name": "a", "at": null}]}`:      "",
		`{"sure": false}`:                             "",
		`{"sure": "yes"}`:                             `sure: found "yes"; wanted true or false`,
		`{"note": true}`:                              `note: found "true"; wanted a text: a sentence`,
		`{"kind": "tiny"}`:                            `kind: found "tiny"; wanted one of "small", "large", to the letter`,
		`{"note": 7}`:                                 `note: found "7"; wanted a text: a sentence`,
		`{"tasks": {}}`:                               `tasks: found "{}"; wanted an array`,
		`{"tasks": [{}]}`:                             "tasks[0]: found nothing; wanted an object",
		`{"tasks": [{"at": "noon"}]}`:                 "tasks[0].name: found nothing; wanted a text",
		`{"tasks": [{"name": "a", "Name": "b"}]}`:     `wanted it written "name"`,
		`{"tasks": [{"name": "a", "size": 1}]}`:       `tasks[0].size: found a field "size"; wanted no such field`,
		`{"note": "a", "note": "b"}`:                  "note: found it twice; wanted each key once",
		`{"note": "a", "size": 1e999}`:                `size: found "1e999"; wanted a number that can be held`,
	} {
		wrong, deep := read(t).Check(answer)
		require.False(t, deep)
		if want == "" {
			require.Empty(t, wrong, answer)
			continue
		}
		require.Len(t, wrong, 1, answer)
		require.Contains(t, wrong[0], want, answer)
	}
}

// TestCheckIsBounded complains of at most twelve places, and of what is nested too deep.
func TestCheckIsBounded(t *testing.T) {
	wrong, _ := read(t).Check(`{"tasks": [` + strings.Repeat(`7,`, 99) + `7]}`)
	require.Len(t, wrong, 13)
	require.Equal(t, "and 88 more", wrong[12])
	_, deep := read(t).Check(`{"note": ` + strings.Repeat("[", 99) + strings.Repeat("]", 99) + "}")
	require.True(t, deep)
}

func FuzzCheck(f *testing.F) {
	f.Add(`{"kind": "tiny", "tasks": [{"Name": 1e999, "name": "\ud800"}]}`)
	s := read(f)
	f.Fuzz(func(t *testing.T, answer string) {
		if !json.Valid([]byte(answer)) {
			return
		}
		wrong, _ := s.Check(answer)
		for _, w := range wrong {
			require.True(t, utf8.ValidString(w))
			require.Less(t, len(w), 8<<10)
		}
	})
}
