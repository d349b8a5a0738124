package benchmarks

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// belief and selection are what PrecisionMemBench remembers, and the set that it
// wants for a query.
type belief struct {
	ID           string `json:"_id"`
	User         string `json:"user_id"`
	Type         string
	Name         string `json:"canonical_name"`
	Aliases      []string
	Content      string
	Scope        []string
	Pinned       bool
	SupersededBy string `json:"superseded_by"`
	ResolvedAt   string `json:"resolved_at"`
	Participants []string
}

type selection struct {
	Case, Query, User string
	Scope, Exact      []string
	Max               int
}

func (b *belief) scope(user string) memory.Scope {
	return memory.Scope("bench/" + user + "/" + strings.ReplaceAll(b.Scope[0], ":", "."))
}

// Exact sets of beliefs by trigger phrases: name and aliases of a belief. Pinned
// ones, open questions and participants are the host's, as the set says.
func TestPrecision(t *testing.T) {
	var set struct {
		Beliefs []belief
		Cases   []selection
	}
	require.NoError(t, json.Unmarshal(given(t, *precisionFile, "precisionmembench"), &set))
	bank, err := memory.Open(t.Context(), store.NewMem(), &memory.Options{Now: func() time.Time { return day0 }, Seed: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bank.Close()) })
	byID, ids := map[string]*belief{}, map[memory.ID]*belief{}
	named := map[string]memory.ID{}
	for i := range set.Beliefs {
		b := &set.Beliefs[i]
		byID[b.ID] = b
		if b.ResolvedAt != "" {
			continue // forgotten
		}
		r, err := bank.In(b.scope(b.User)).Remember(t.Context(), memory.Draft{
			Kind: memory.Fact, Content: b.Content, Key: b.ID, Triggers: append([]string{b.Name}, b.Aliases...),
		})
		require.NoError(t, err)
		ids[r.ID], named[b.ID] = b, r.ID
	}
	for _, b := range set.Beliefs {
		if b.SupersededBy != "" {
			require.NoError(t, bank.In(b.scope(b.User)).Supersede(t.Context(), named[b.ID], named[b.SupersededBy]))
		}
	}
	active, empty, passed, silent := 0, 0, 0, 0
	for _, c := range set.Cases {
		at := func(s string) memory.Scope { return (&belief{Scope: []string{s}}).scope(c.User) }
		var also []memory.Scope
		for _, s := range c.Scope[1:] {
			also = append(also, at(s))
		}
		pinned := 0
		for _, b := range set.Beliefs {
			if b.Pinned && b.ResolvedAt == "" && b.User == c.User && slices.Contains(c.Scope, b.Scope[0]) {
				pinned++
			}
		}
		hits, err := bank.In(at(c.Scope[0])).Recall(t.Context(), memory.Query{Text: c.Query, Triggered: true, Also: also, K: 100})
		require.NoError(t, err)
		var got []string
		add := func(b *belief) {
			if !b.Pinned && b.Type != "open_question" && slices.Contains(c.Scope, b.Scope[0]) && !slices.Contains(got, b.ID) {
				got = append(got, b.ID)
			}
		}
		for _, h := range hits {
			b := ids[h.Record.ID]
			add(b)
			for _, p := range b.Participants {
				add(byID[p])
			}
		}
		got = got[:min(len(got), max(0, c.Max-pinned))]
		slices.Sort(got)
		slices.Sort(c.Exact)
		exact := slices.Equal(got, c.Exact)
		if len(c.Exact) == 0 {
			empty++
			if exact {
				silent++
			}
		} else if active++; exact {
			passed++
		}
		if !exact {
			t.Logf("%s: %q: got %v, not %v", c.Case, c.Query, got, c.Exact)
		}
	}
	t.Logf("exact %d of %d, nothing where there is nothing %d of %d", passed, active, silent, empty)
	require.GreaterOrEqual(t, passed, 20)
	require.Equal(t, empty, silent)
}
