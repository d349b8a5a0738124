package mcp_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
)

// What a client has remembered and learned is found by a tool after a year of daily
// maintenance in which nobody used it: put aside, and never lost. A query about one
// finds it without being asked to look among what was put aside.
func TestMaintenanceLosesNothing(t *testing.T) {
	t.Parallel()
	var days atomic.Int64
	now := func() time.Time {
		return time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC).AddDate(0, 0, int(days.Load()))
	}
	agent, err := arc.Open(t.Context(), "", scripted(), &arc.Options{Now: now, Maintain: -1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, agent.Close()) })
	s := serve(t, agent, anna)
	said := map[string]string{} // content by id
	kinds := [...]string{"fact", "pattern", "failure", "episode"}
	for i, content := range []string{
		"the attic lamp burns sixty watts", "descale the kettle with vinegar", "the garage door jams in frost", "Ben painted the fence green",
		"tulips bloom behind the shed", "sharpen chisels on wet stone", "bleach ruins woollen jumpers", "a heron ate three goldfish",
	} {
		kind := kinds[i%len(kinds)]
		r := call[receipt](t, s, "remember", js(map[string]any{
			"content": content, "kind": kind, "trigger": "asked what is so of: " + content, "at": now().Format(time.RFC3339),
		}))
		require.Equal(t, "stored", r.Disposition)
		said[r.ID] = content
	}
	fact := call[changed](t, s, "update_identity", `{"content":"prefers lamps to candles"}`).Fact.ID
	for range 365 {
		days.Add(1)
		_, err := agent.Maintain(t.Context(), "acme/anna")
		require.NoError(t, err)
	}
	found, aside := map[string]string{}, 0
	for _, m := range call[memories](t, s, "recall", `{"archived":true,"limit":50}`).Memories {
		found[m.ID] = m.Content
		if m.Archived {
			aside++
		}
	}
	require.Equal(t, said, found)
	require.Positive(t, aside, "something was put aside")
	for id, content := range said {
		hits := call[memories](t, s, "recall", js(map[string]any{"query": content, "limit": 1})).Memories
		require.Len(t, hits, 1, content)
		require.Equal(t, id, hits[0].ID)
	}
	kept := call[facts](t, s, "get_identity", `{"archived":true}`).Facts
	require.Len(t, kept, 1)
	require.Equal(t, fact, kept[0].ID)
}

// Without a task, context tells the facts of highest standing, each half relevant.
func TestContextWithoutATask(t *testing.T) {
	t.Parallel()
	s := serve(t, open(t, scripted()), anna)
	for _, content := range []string{"prefers tabs", "works at Acme"} {
		id := call[changed](t, s, "update_identity", js(map[string]any{"content": content})).Fact.ID
		call[changed](t, s, "validate_fact", js(map[string]any{"id": id, "reason": "said so"}))
	}
	for _, args := range []string{`{}`, `{"task":""}`, `{"task":"  "}`} {
		got := call[struct {
			Text  string
			Facts []struct {
				Content   string
				Relevance float64
			}
		}](t, s, "context", args)
		require.Len(t, got.Facts, 2, args)
		for _, f := range got.Facts {
			require.InDelta(t, .5, f.Relevance, 1e-9, args)
			require.Contains(t, got.Text, f.Content)
		}
	}
}

// A suggestion of infer is refused by its id, before it is a fact, and not made again.
func TestSuggestionsAreRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, open(t, scripted()), anna)
	note := func(round int) {
		for i := range 5 {
			call[struct{ Added int }](t, s, "add_context", js(map[string]any{
				"kind": "page_visit", "topic": "Rust programming", "key": fmt.Sprint(round, i),
			}))
		}
	}
	type suggested struct{ Suggestions []struct{ ID string } }
	note(0)
	found := call[suggested](t, s, "infer", `{}`).Suggestions
	require.Len(t, found, 1)
	r := call[changed](t, s, "reject_fact", js(map[string]any{"id": found[0].ID, "reason": "it was for a colleague"}))
	require.True(t, r.Fact.Rejected)
	note(1)
	require.Empty(t, call[suggested](t, s, "infer", `{}`).Suggestions)
	require.Contains(t, refuse(t, s, "validate_fact", js(map[string]any{"id": found[0].ID, "reason": "x"})), "rejected before")
	require.Empty(t, call[facts](t, s, "get_identity", `{}`).Facts)
}
