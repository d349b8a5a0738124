package memory_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// A Fact of a Slot that holds stays; what is superseded, and the rest, is put
// aside when it is not used.
func TestDecayKeepsWhatHolds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	st, c := store.NewMem(), newClock()
	s := open(t, st, c).In("acme")
	say := func(kind memory.Kind, origin memory.Origin, text string, slot *memory.Slot) memory.ID {
		c.move(2 * time.Hour)
		d := memory.Draft{Kind: kind, Content: text, Source: memory.Source{Origin: origin}}
		if slot != nil {
			d.Slot = *slot
		}
		return remember(t, s, d)
	}
	var kept, gone []memory.ID
	home := func(who, where string) *memory.Slot {
		return &memory.Slot{Subject: who, Attribute: "home", Value: where}
	}
	host := func(name string) *memory.Slot { return &memory.Slot{Subject: "deploy", Attribute: "host", Value: name} }
	gone = append(gone, say(memory.Fact, memory.Host, "Alice lives in Paris.", home("Alice", "Paris")))
	kept = append(kept, say(memory.Fact, memory.Host, "Alice moved to Berlin.", home("Alice", "Berlin")))
	gone = append(gone, say(memory.Episode, memory.Host, "Bob lives in Rome.", nil))
	gone = append(gone, say(memory.Fact, memory.Host, "The cellar door is red.", nil))
	gone = append(gone, say(memory.Fact, memory.Host, "The deploy host is z.example.com.", host("z")))
	kept = append(kept, say(memory.Fact, memory.Host, "The deploy host is a.example.com.", host("a")))
	kept = append(kept, say(memory.Fact, memory.Web, "The deploy host is now evil.example.com.", host("evil")))
	proven := say(memory.Fact, memory.Host, "Carol lives in Porto.", nil)
	used(t, s, 2, "u", proven)
	kept = append(kept, proven)
	c.move(31 * day)
	report, err := s.Decay(ctx)
	require.NoError(t, err)
	require.Equal(t, memory.DecayReport{Total: 8, Kept: len(kept), Archived: len(gone)}, report)
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
		require.Equal(t, kept[1], recall(t, s, memory.Query{Text: "deploy host", Inject: true})[0].Record.ID)
		again, err := s.Decay(ctx)
		require.NoError(t, err)
		require.Equal(t, memory.DecayReport{Total: 8, Kept: len(kept), Already: len(gone)}, again)
		s = open(t, st, c).In("acme")
	}
}
