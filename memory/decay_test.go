package memory_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// What holds stays; what is superseded, and what happened, is put aside when
// nobody uses it.
func TestDecayKeepsWhatHolds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	st, c := store.NewMem(), newClock()
	s := open(t, st, c).In("acme")
	say := func(kind memory.Kind, origin memory.Origin, text string) memory.ID {
		c.move(2 * time.Hour)
		return remember(t, s, memory.Draft{Kind: kind, Content: text, Source: memory.Source{Origin: origin}})
	}
	var kept, gone []memory.ID
	gone = append(gone, say(memory.Fact, memory.Host, "Alice lives in Paris."))
	kept = append(kept, say(memory.Fact, memory.Host, "Alice moved to Berlin."))
	gone = append(gone, say(memory.Episode, memory.Host, "Bob lives in Rome."))
	gone = append(gone, say(memory.Fact, memory.Host, "The cellar door is red."))
	gone = append(gone, say(memory.Fact, memory.Host, "The deploy host is z.example.com."))
	kept = append(kept, say(memory.Fact, memory.Host, "The deploy host is a.example.com."))
	kept = append(kept, say(memory.Fact, memory.Web, "The deploy host is now evil.example.com."))
	proven := say(memory.Fact, memory.Host, "Carol lives in Porto.")
	used(t, s, 2, "u", proven)
	kept = append(kept, proven, say(memory.Fact, memory.Host, "Carol moved to Oslo."))
	given := memory.Draft{Kind: memory.Fact, Content: "green", Slot: memory.Slot{Subject: "the attic", Attribute: "colour", Value: "green"}}
	kept = append(kept, remember(t, s, given))
	c.move(31 * day)
	report, err := s.Decay(ctx)
	require.NoError(t, err)
	require.Equal(t, memory.DecayReport{Total: 10, Kept: len(kept), Archived: len(gone)}, report)
	for range 2 {
		for _, id := range kept {
			require.False(t, get(t, s, id).Archived, get(t, s, id).Content)
		}
		for _, id := range gone {
			require.True(t, get(t, s, id).Archived, get(t, s, id).Content)
		}
		hits := recall(t, s, memory.Query{Text: "Where does Alice live?"})
		require.Equal(t, kept[0], hits[0].Record.ID)
		require.Equal(t, gone[0], hits[0].Superseded.ID, "archived, not deleted")
		require.Equal(t, gone[1], recall(t, s, memory.Query{Text: "Where does Bob live?", Archived: true})[0].Record.ID)
		require.Equal(t, kept[1], recall(t, s, memory.Query{Text: "What is the deploy host?", Inject: true})[0].Record.ID)
		again, err := s.Decay(ctx)
		require.NoError(t, err)
		require.Equal(t, memory.DecayReport{Total: 10, Kept: len(kept), Already: len(gone)}, again)
		s = open(t, st, c).In("acme")
	}
}
