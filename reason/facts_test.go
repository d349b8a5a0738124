package reason_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/reasontest"
	"github.com/arc-learn/arc/store"
)

// A long conversation has facts, too, and one that cannot be kept does not lose the others.
func TestFactsOfALongConversation(t *testing.T) {
	b, err := memory.Open(t.Context(), store.NewGroup(store.NewMem()), nil)
	require.NoError(t, err)
	script := reasontest.NewScript(
		reasontest.Say(`{"facts":[{"content":"anna likes tea","slot":"","replaces":[]},{"content":" ","slot":"","replaces":[]}],"holds":[]}`),
		reasontest.Say(`{"facts":[{"content":"anna likes tea","slot":"","replaces":[-1,99]}],"holds":[0,7]}`))
	turns := []reason.Message{{Role: reason.RoleUser, Text: strings.Repeat("é word ", 40_000) + "I like tea"}}
	ids, err := reason.RememberFacts(t.Context(), script, b.In("acme"), turns, memory.Draft{})
	require.NoError(t, err)
	require.Len(t, ids, 1)
	require.Contains(t, script.Requests()[1].Messages[2].Text, "fact 2 has no content")
}

// What was forgotten or changed while the model was asked is not said again.
func TestFactsOfWhatIsForgottenMeanwhile(t *testing.T) {
	b, err := memory.Open(t.Context(), store.NewGroup(store.NewMem()), nil)
	require.NoError(t, err)
	space := b.In("acme")
	var ids []memory.ID
	for _, said := range []string{"Anna drinks green tea", "Anna drinks black tea"} {
		r, err := space.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: said, Source: memory.Source{Origin: memory.Model}})
		require.NoError(t, err)
		ids = append(ids, r.ID)
	}
	m := reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) {
		require.NoError(t, space.Forget(t.Context(), ids[0]))
		require.NoError(t, space.Update(t.Context(), ids[1], func(r *memory.Record) error { r.Content = "Anna drinks water"; return nil }))
		return &reason.Response{Text: `{"facts":[],"holds":[1,2]}`, Stop: reason.StopEnd}, nil
	})
	turns := []reason.Message{{Role: reason.RoleUser, Text: "Anna drinks green and black tea"}}
	_, err = reason.RememberFacts(t.Context(), m, space, turns, memory.Draft{})
	require.NoError(t, err)
	var left []string
	for r, err := range space.All(t.Context()) {
		require.NoError(t, err)
		left = append(left, r.Content)
	}
	require.Equal(t, []string{"Anna drinks water"}, left)
}

// What is missing is told in words.
func TestErrorsInWords(t *testing.T) {
	_, _, err := reason.Ask[struct{}](t.Context(), reasontest.NewScript(), &reason.Request{}, nil)
	require.EqualError(t, err, "invalid: the request has no schema")
	_, err = reason.Replay(strings.NewReader("{}\n"))
	require.EqualError(t, err, "recording: line 1 is no call of a model")
}

// The model is told the day, which "yesterday" is of, and what it confirms is no second fact.
func TestFactsOfADayThatHold(t *testing.T) {
	b, err := memory.Open(t.Context(), store.NewGroup(store.NewMem()), nil)
	require.NoError(t, err)
	trusted, err := b.In("acme").Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "Anna drinks tea"})
	require.NoError(t, err)
	script := reasontest.NewScript(
		reasontest.Say(`{"facts":[{"content":"Anna likes tea","slot":"anna: tea","replaces":[]}],"holds":[]}`),
		reasontest.Say(`{"facts":[],"holds":[1,2]}`))
	turns := []reason.Message{{Role: reason.RoleUser, Text: "Anna: I had tea yesterday, I like it"}}
	for _, thread := range []string{"one", "two"} {
		on := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
		ids, err := reason.RememberFacts(t.Context(), script, b.In("acme"), turns, memory.Draft{Thread: thread, Actor: "model", At: on})
		require.NoError(t, err)
		require.Len(t, ids, 1)
		require.NotEqual(t, trusted.ID, ids[0])
	}
	require.Contains(t, script.Requests()[0].Messages[0].Text, "of Tuesday, 2026-02-03\n")
	all, _, stats, err := b.In("acme").Health(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, all[memory.Fact])
	require.Equal(t, 1, stats.Strengthened)
}
