package v1_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/identity/internal/loosejson"
	"github.com/arc-learn/arc/memory/identity/internal/v1"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestIs(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]bool{`{"expertise":[]}`: true, `{"privacy":1}`: true, `{"facts":[],"core":{}}`: false, `{"hello":1}`: false, `{}`: false} {
		require.Equal(t, want, v1.Is(loosejson.FieldsOf([]byte(doc))), doc)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	d := v1.Read([]byte(`{"meta":{"userId":"u","deviceId":"d","lastModified":"2025-01-02"},
		"core":{"name":"Ann","role":"nurse","pronouns":"she"}, "expertise":["Go",{"name":"Rust"},{"name":"C","level":9},""],
		"communication":{"style":"brief","pace":"slow"}, "custom":{"a":{"b":1}},
		"currentFocus":{"projects":["Arc",{"name":"Boat","status":"new"},{"status":"old"}],"goals":"rest"},
		"privacy":{"public":["Role","core.name"],"localOnly":["communication.style","boat","EXPERTISE"]}}`), now)
	require.Equal(t, v1.Document{
		Name: "Ann", Role: "nurse", Visibility: "public", UserID: "u", DeviceID: "d",
		Modified: time.Date(2025, 1, 2, 0, 0, 0, 0, time.UTC),
		Statements: []v1.Statement{
			{Category: "expertise", Content: "Go", Visibility: "local"},
			{Category: "expertise", Content: "Rust", Visibility: "local"},
			{Category: "expertise", Content: `{"name":"C","level":9}`, Visibility: "local"},
			{Category: "preference", Content: "Communication style: brief", Visibility: "local"},
			{Category: "focus", Content: "Arc", Visibility: "trusted", Current: true},
			{Category: "focus", Content: "Boat", Visibility: "local", Current: true, Project: []byte(`{"status":"new"}`)},
			{Category: "focus", Content: `{"status":"old"}`, Visibility: "trusted", Current: true, Project: []byte(`{"status":"old"}`)},
			{Category: "focus", Content: "Goal: rest", Visibility: "trusted"},
			{Category: "context", Content: "Pace: slow", Visibility: "trusted"},
			{Category: "core", Content: "Pronouns: she", Visibility: "trusted"},
			{Category: "context", Content: `A: {"b":1}`, Visibility: "trusted"},
		},
	}, d)
	require.Equal(t, v1.Document{Visibility: "trusted", Modified: now}, v1.Read([]byte(`[]`), now))
	require.Equal(t, now, v1.Read([]byte(`{"meta":{"lastModified":"2999-01-01"}}`), now).Modified, "it is not of the future")
	require.Equal(t, "trusted", v1.Read([]byte(`{"privacy":{"public":["name"]}}`), now).Visibility, "the role may not go as far")
}

// Whatever a document holds, reading it says something of each text that it has a step for.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"expertise":["Go",{"name":"x"}],"currentFocus":{"projects":[{"status":"x"}]},"privacy":{"public":"x"}}`))
	f.Add([]byte(`{"core":{"name":1,"":"x"},"meta":7,"custom":{"é":[null,""]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, s := range v1.Read(data, now).Statements {
			require.NotEmpty(t, s.Content)
			require.Contains(t, []string{"public", "trusted", "local"}, s.Visibility)
		}
	})
}

// The name of a field begins with a letter, however many bytes it has.
func TestNamesOfOtherAlphabets(t *testing.T) {
	t.Parallel()
	d := v1.Read([]byte(`{"custom":{"état":"a","имя":"b","":"c"}}`), now)
	var got []string
	for _, s := range d.Statements {
		got = append(got, s.Content)
	}
	require.Equal(t, []string{": c", "État: a", "Имя: b"}, got)
}
