package identity_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/memory/identity"
	"github.com/arc-learn/arc/store"
)

// value draws any JSON, more often something that a field might hold.
func value(t *rapid.T, depth int) any {
	options := []*rapid.Generator[any]{
		rapid.Custom(func(t *rapid.T) any {
			return rapid.SampledFrom([]any{nil, true, -1, 0.5, 7, 1e300, "", " ", "Go", "go", "Rust!", "\x00", "2026-01-01", "2999-01-01T00:00:00Z", "garbage",
				"proven", "candidate", "local", "manual", "core", "2.0.0", 1736935200000, "token", "\u202e", "I live in Oslo"}).Draw(t, "v")
		}),
	}
	if depth > 0 {
		options = append(options,
			rapid.Custom(func(t *rapid.T) any { return object(t, depth-1) }),
			rapid.Custom(func(t *rapid.T) any {
				var out []any
				for range rapid.IntRange(0, 4).Draw(t, "n") {
					out = append(out, object(t, depth-1))
				}
				return out
			}),
			rapid.Custom(func(t *rapid.T) any {
				var out []any
				for range rapid.IntRange(0, 3).Draw(t, "n") {
					out = append(out, value(t, depth-1))
				}
				return out
			}))
	}
	return rapid.OneOf(options...).Draw(t, "value")
}

var names = []string{
	"version", "facts", "id", "content", "category", "confidence", "lastValidated", "createdAt", "updatedAt", "maturity", "source", "sourceRef", "visibility",
	"validationCount", "subject", "slot", "heldSince", "archivedAt", "rejectedAt", "demotedAt", "evidence", "past", "variants", "damaged", "core", "name", "role",
	"settings", "decayHalfLifeDays", "categoryHalfLifeDays", "autoInfer", "excludedDomains", "blocked", "reasons", "at", "events", "timestamp", "url", "topic", "text",
	"key", "type", "rollups", "day", "counts", "n", "others", "userId", "deviceId", "unreadable", "meta", "communication", "style", "format", "avoid", "expertise",
	"currentFocus", "projects", "goals", "context", "personal", "professional", "privacy", "public", "private", "localOnly", "custom", "sources", "password", "",
}

func object(t *rapid.T, depth int) map[string]any {
	out := map[string]any{}
	for range rapid.IntRange(0, 8).Draw(t, "fields") {
		out[rapid.SampledFrom(names).Draw(t, "name")] = value(t, depth)
	}
	return out
}

// Whatever a document holds, an import is refused with nothing stored, or
// loses nothing: it goes out and in again as it is, and once more changes
// nothing.
func TestAnyDocument(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := object(t, 3)
		doc["unheard"] = "marker-of-the-document"
		marked := []string{"marker-of-the-document"}
		if rapid.Bool().Draw(t, "v2") {
			doc["version"] = "2.0.0"
			var facts []any
			used := map[any]bool{}
			for range rapid.IntRange(0, 5).Draw(t, "facts") {
				f := object(t, 1)
				f["content"] = value(t, 0)
				f["id"] = rapid.SampledFrom([]any{"a", "b", "c", nil}).Draw(t, "id")
				if f["id"] == nil || !used[f["id"]] { // of two states of one fact, only the later keeps such a field
					used[f["id"]] = true
					m := fmt.Sprintf("marker-%d-", len(facts))
					f["unheard"], marked = m, append(marked, m)
				}
				f["updatedAt"] = rapid.SampledFrom([]any{"2026-01-01", "2026-01-02", nil}).Draw(t, "updated")
				facts = append(facts, f)
			}
			doc["facts"] = facts
		} else {
			delete(doc, "version")
			delete(doc, "facts")
			doc["expertise"] = value(t, 2)
		}
		raw, err := json.Marshal(doc)
		require.NoError(t, err)
		x, c := fresh(t)
		r, err := x.Import(tContext, raw)
		if err != nil {
			views, err := x.List(tContext, identity.Filter{Archived: true})
			require.NoError(t, err)
			require.Empty(t, views)
			return
		}
		require.Equal(t, r.Facts, r.Added+r.Merged+r.Kept)
		first := exported(t, x, identity.Local)
		for _, m := range marked {
			require.Contains(t, first, m, "lost of %s", raw)
		}
		y := open(t, store.NewMem(), c)
		_, err = y.Import(tContext, []byte(first))
		require.NoError(t, err)
		require.Equal(t, first, exported(t, y, identity.Local))
		_, err = x.Import(tContext, raw)
		require.NoError(t, err)
		require.Equal(t, first, exported(t, x, identity.Local), "imported again: %s", raw)
	})
}
