package memory_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// A phrase brings its record wherever it stands in a text, and nothing else does.
func TestTriggered(t *testing.T) {
	t.Parallel()
	st, c := store.NewMem(), newClock()
	s := open(t, st, c).In("acme")
	keep := func(content string, phrases ...string) memory.ID {
		return remember(t, s, memory.Draft{Kind: memory.Fact, Content: content, Triggers: phrases})
	}
	cache := keep("Redis keeps the sessions.", "session store", "Redis")
	errs := keep("Errors are values.", "error_handling", "exceptions")
	gone := keep("Exceptions are thrown.", "exceptions")
	keep("The error handling of the session store is a mess.")
	c.move(time.Hour) // of two by the same phrase, the newer is first
	web := remember(t, s, memory.Draft{Kind: memory.Fact, Content: "Redis is slow.", Triggers: []string{"redis"}, Source: memory.Source{Origin: memory.Web}})
	require.NoError(t, s.Supersede(t.Context(), gone, errs))
	for range 2 {
		for text, want := range map[string][]memory.ID{
			"is REDIS our session store?":                 {web, cache},
			"eror handling, and then the session store":   {errs, cache},
			"no exception in erorr-handling":              {errs},
			"sessions of the store, handling of an error": nil,
			"redsi": {web, cache},
			"rdesi": nil,
			"what do we do when exceptions come from redis": {errs, web, cache},
			"": nil,
		} {
			got := ids(recall(t, s, memory.Query{Text: text, Triggered: true}))
			require.ElementsMatch(t, want, got, text)
			if len(want) > 0 {
				require.Equal(t, want[0], got[0], text)
			}
		}
		require.Equal(t, []memory.ID{cache}, ids(recall(t, s, memory.Query{Text: "redis", Triggered: true, Inject: true})))
		require.Len(t, recall(t, s, memory.Query{Text: "redis exceptions", Triggered: true, K: 1}), 1)
		s = open(t, st, c).In("acme")
	}
	require.Equal(t, []string{"session store", "Redis"}, get(t, s, cache).Triggers)
	require.NoError(t, s.Forget(t.Context(), cache))
	require.Equal(t, []memory.ID{web}, ids(recall(t, s, memory.Query{Text: "redis", Triggered: true})))
	for _, bad := range [][]string{{" "}, {strings.Repeat("x", 300)}, make([]string, memory.MaxLinks+1)} {
		_, err := s.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "x", Triggers: bad})
		require.Error(t, err)
	}
}

// An edit is allowed in words, not in numbers: another number is another thing.
func TestTriggersTakeNoOtherNumber(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	remember(t, s, memory.Draft{Kind: memory.Fact, Content: "It is paid.", Triggers: []string{"invoice 10234"}})
	require.Len(t, recall(t, s, memory.Query{Text: "what about invoice 10234?", Triggered: true}), 1)
	require.Empty(t, recall(t, s, memory.Query{Text: "what about invoice 10235?", Triggered: true}))
}

// Facts in the same words that other phrases bring are two.
func TestTriggersKeepTwinsApart(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	for _, phrase := range []string{"deploy", "rollback", "deploy"} {
		_, err := s.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: "the gateway needs a drain", Triggers: []string{phrase}})
		require.NoError(t, err)
	}
	require.Len(t, recall(t, s, memory.Query{}), 2)
	require.Len(t, recall(t, s, memory.Query{Text: "how do I rollback?", Triggered: true}), 1)
}
