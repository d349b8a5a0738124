package memory_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

func TestBadQueries(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	ctx := context.Background()
	for _, c := range []struct {
		q    memory.Query
		want error
	}{
		{memory.Query{K: -1}, memory.ErrQuery},
		{memory.Query{Floor: -0.1}, memory.ErrQuery},
		{memory.Query{Floor: math.NaN()}, memory.ErrQuery},
		{memory.Query{Kinds: []memory.Kind{"note"}}, memory.ErrKind},
		{memory.Query{Also: []memory.Scope{"evil/user-42"}}, memory.ErrTenant},
		{memory.Query{Also: []memory.Scope{"acme/../x"}}, nil}, // dots are allowed
		{memory.Query{Also: []memory.Scope{"acme/"}}, memory.ErrScope},
		{memory.Query{Also: []memory.Scope{""}}, memory.ErrScope},
	} {
		_, err := s.Recall(ctx, c.q)
		require.ErrorIs(t, err, c.want)
		_, err = s.RecallThreads(ctx, c.q)
		require.ErrorIs(t, err, c.want)
	}
	var limit *store.LimitError
	_, err := s.Recall(ctx, memory.Query{Text: strings.Repeat("a", memory.MaxText+1)})
	require.ErrorAs(t, err, &limit)
	_, err = s.Recall(ctx, memory.Query{Situation: strings.Repeat("a", memory.MaxText+1)})
	require.ErrorAs(t, err, &limit)
}

func TestBadScopes(t *testing.T) {
	t.Parallel()
	b := open(t, store.NewMem(), newClock())
	ctx := context.Background()
	for _, c := range []struct {
		scope  memory.Scope
		tenant bool // that is what is bad
	}{
		{"", true}, {"*", true}, {"/a", true}, {"a b", true}, {"\x00", true}, {"ä", true},
		{memory.Scope(strings.Repeat("a", 129)), true},
		{"acme/", false}, {"acme//x", false}, {"acme/x\x00y", false}, {"a/b/c/d/e/f/g/h/i", false},
	} {
		s := b.In(c.scope)
		_, err := s.Remember(ctx, pattern("a trigger that is long enough", "c"))
		require.ErrorIs(t, err, memory.ErrScope, "%q", c.scope)
		require.ErrorContains(t, err, "segment")
		if c.tenant {
			require.ErrorContains(t, err, "letters, digits and _.:@-")
			require.ErrorIs(t, err, memory.ErrTenant, "%q", c.scope)
		}
		_, err = s.Recall(ctx, memory.Query{})
		require.ErrorIs(t, err, memory.ErrScope)
		require.ErrorIs(t, s.Feedback(ctx, memory.Feedback{Key: "k"}), memory.ErrScope)
		_, err = s.Get(ctx, "x")
		require.ErrorIs(t, err, memory.ErrScope)
		for _, err := range s.All(ctx) {
			require.ErrorIs(t, err, memory.ErrScope)
		}
	}
	longest := memory.Scope(strings.Repeat(strings.Repeat("a", 128)+"/", 7) + strings.Repeat("b", 128))
	s := b.In(longest)
	id := remember(t, s, pattern("a trigger that is long enough", "c"))
	used(t, s, 1, "k", id)
	require.Equal(t, longest, get(t, s, id).Scope)
	_, err := memory.Space{}.Recall(ctx, memory.Query{})
	require.ErrorIs(t, err, memory.ErrScope)
}

// What does not match never wins by being fresh and proven.
func TestGate(t *testing.T) {
	t.Parallel()
	s, c := space(t)
	relevant := remember(t, s, pattern("go build reports an import cycle", "move the shared type down"))
	feedback(t, s, memory.Feedback{Key: "m", Misled: []memory.ID{relevant}})
	c.move(300 * day)
	partial := remember(t, s, pattern("the weekly import of invoices is slow", "add an index"))
	fresh := remember(t, s, pattern("a test fails under the race detector", "guard the map"))
	used(t, s, 20, "u", partial, fresh)

	hits := recall(t, s, memory.Query{Text: "import cycle in go build"})
	require.Equal(t, []memory.ID{relevant, partial}, ids(hits))
	require.True(t, hits[0].Parts.Near)
	require.False(t, hits[1].Parts.Near)
	require.Equal(t, 0.5*hits[1].Parts.Relevance, hits[1].Score)
	require.Greater(t, hits[1].Parts.Effectiveness, 0.9, "it is reported all the same")

	p := hits[0].Parts
	require.InDelta(t, 0.5*p.Relevance+0.3*p.Effectiveness+0.2*p.Recency, hits[0].Score, 1e-12)
}

func TestEffectivenessAndRecencyOrderTheRelevant(t *testing.T) {
	t.Parallel()
	s, c := space(t)
	bad := remember(t, s, pattern("import cycle in package one", "first way to do it"))
	good := remember(t, s, pattern("import cycle in package two", "second way to do it"))
	feedback(t, s, memory.Feedback{Key: "1", Misled: []memory.ID{bad}, Injected: []memory.ID{good}, Utilized: []memory.ID{good}, Delivered: true})
	require.Equal(t, []memory.ID{good, bad}, ids(recall(t, s, memory.Query{Text: "import cycle"})))
	c.move(10 * day)
	young := remember(t, s, pattern("import cycle in package six", "third way to do it"))
	require.Equal(t, young, recall(t, s, memory.Query{Text: "import cycle"})[0].Record.ID, "0.2·0.63 more recency, 0.3·0.17 less effectiveness")
}

func TestRecency(t *testing.T) {
	t.Parallel()
	s, c := space(t)
	id := remember(t, s, pattern("go build reports an import cycle", "move the shared type down"))
	recency := func() float64 { return recall(t, s, memory.Query{})[0].Parts.Recency }
	require.Equal(t, 1.0, recency())
	c.move(36 * time.Hour)
	require.InDelta(t, math.Exp2(-1.5/7), recency(), 1e-12, "fractions of days count")
	c.move(5*day + 12*time.Hour)
	require.InDelta(t, 0.5, recency(), 1e-12)
	for range 3 {
		require.InDelta(t, 0.5, recency(), 1e-12, "reading it does not change it")
	}
	used(t, s, 1, "u", id)
	require.Equal(t, 1.0, recency(), "it counts from the last use")
	c.move(-300 * day)
	require.Equal(t, 1.0, recency(), "a date ahead has 1")
	remember(t, s, memory.Draft{Kind: memory.Fact, Content: "tomorrow", At: c.now().Add(day)})
	require.Equal(t, 1.0, recall(t, s, memory.Query{Text: "tomorrow"})[0].Parts.Recency)
	remember(t, s, memory.Draft{Kind: memory.Fact, Content: "antiquity", At: time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC)})
	require.Equal(t, 0.0, recall(t, s, memory.Query{Text: "antiquity"})[0].Parts.Recency)
}

func TestBaseLevel(t *testing.T) {
	t.Parallel()
	s, c := space(t)
	id := remember(t, s, pattern("go build reports an import cycle", "move the shared type down"))
	base := func() float64 { return recall(t, s, memory.Query{})[0].Parts.BaseLevel }
	require.InDelta(t, -0.5*math.Log(0.05), base(), 1e-12)
	used(t, s, 4, "u", id)
	c.move(100 * time.Second)
	require.InDelta(t, math.Log(5)-0.5*math.Log(100), base(), 1e-12)
}

func TestSpreading(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	fact := func(content string, links ...memory.ID) memory.ID {
		d := memory.Draft{Kind: memory.Fact, Content: content}
		for _, id := range links {
			d.Links = append(d.Links, memory.Link{To: id, Rel: "about"})
		}
		return remember(t, s, d)
	}
	lawyer, park := fact("the lawyer"), fact("the park")
	both := fact("the lawyer is in the park", lawyer, park)
	one := fact("a lawyer reads", lawyer)
	spread := func(id memory.ID, context ...memory.ID) float64 {
		for _, h := range recall(t, s, memory.Query{Context: context}) {
			if h.Record.ID == id {
				return h.Parts.Spreading
			}
		}
		return -1
	}
	require.Zero(t, spread(both))
	require.Equal(t, 0.75, spread(both, lawyer, park), "a fan of 2 and one of 1")
	require.Equal(t, 0.25, spread(one, lawyer, park))
	require.Equal(t, 0.5, spread(park, both), "links work both ways")
	require.Zero(t, spread(both, both, "unknown"))
	require.NoError(t, s.Forget(context.Background(), one))
	require.Equal(t, 1.0, spread(both, lawyer), "the fan shrinks")
}

func TestFilters(t *testing.T) {
	t.Parallel()
	s, c := space(t)
	pat := remember(t, s, pattern("import cycle in the build", "one"))
	c.move(day)
	fact := remember(t, s, memory.Draft{Kind: memory.Fact, Content: "import cycle seen", At: epoch.Add(-10 * day)})
	c.move(day)
	web := remember(t, s, memory.Draft{Kind: memory.Fact, Content: "import cycle on the web", Source: memory.Source{Origin: memory.Web}})
	for _, c := range []struct {
		name string
		q    memory.Query
		want []memory.ID
	}{
		{"all", memory.Query{}, []memory.ID{pat, fact, web}},
		{"kinds", memory.Query{Kinds: []memory.Kind{memory.Fact, memory.Episode}}, []memory.ID{fact, web}},
		{"what held ten days ago", memory.Query{At: epoch.Add(-10 * day)}, []memory.ID{fact}},
		{"what held before", memory.Query{At: epoch.Add(-11 * day)}, []memory.ID{}},
		{"what was known at first", memory.Query{Known: epoch}, []memory.ID{pat}},
		{"both clocks", memory.Query{At: epoch.Add(-5 * day), Known: epoch.Add(5 * day)}, []memory.ID{fact}},
		{"for a prompt", memory.Query{Inject: true}, []memory.ID{pat, fact}},
		{"what is new", memory.Query{Since: epoch}, []memory.ID{fact, web}},
		{"what is newest", memory.Query{Since: epoch.Add(day)}, []memory.ID{web}},
		{"what is yet to come", memory.Query{Since: epoch.AddDate(1e6, 0, 0)}, []memory.ID{}},
	} {
		for _, text := range []string{"", "import cycle"} {
			c.q.Text = text
			require.ElementsMatch(t, c.want, ids(recall(t, s, c.q)), "%s, text %q", c.name, text)
		}
	}
	for _, h := range recall(t, s, memory.Query{}) {
		require.Equal(t, h.Record.ID != web, h.Record.Trusted)
	}
	require.Equal(t, 1.0, recall(t, s, memory.Query{At: epoch.Add(-10 * day)})[0].Parts.Recency, "as of then")
	c.move(day)
	require.NoError(t, s.Trust(t.Context(), web))
	require.Equal(t, []memory.ID{web}, ids(recall(t, s, memory.Query{Text: "import cycle", Since: epoch.Add(2 * day)})), "vouched for since")
}

// Function words find nothing by themselves, unless there is nothing else.
func TestFunctionWords(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	id := remember(t, s, memory.Draft{Kind: memory.Fact, Content: "who is who in the house"})
	require.Empty(t, recall(t, s, memory.Query{Text: "the cause of the crash"}))
	hits := recall(t, s, memory.Query{Text: "who is the"})
	require.Equal(t, []memory.ID{id}, ids(hits))
	require.Less(t, hits[0].Parts.Relevance, 0.6)
}

func TestAlso(t *testing.T) {
	t.Parallel()
	c, st := newClock(), store.NewMem()
	b := open(t, st, c)
	mine, shared, other := b.In("acme/ann"), b.In("acme/all"), b.In("acme/bob")
	a := remember(t, mine, pattern("import cycle in the build", "one"))
	z := remember(t, shared, pattern("import cycle in a build of ours", "two"))
	remember(t, other, pattern("import cycle in a build of bob", "three"))
	require.Equal(t, []memory.ID{a}, ids(recall(t, mine, memory.Query{Text: "import cycle"})))
	hits := recall(t, mine, memory.Query{Text: "import cycle", Also: []memory.Scope{"acme/all", "acme/all", "acme/ann", "acme/none"}})
	require.ElementsMatch(t, []memory.ID{a, z}, ids(hits))
	for _, h := range hits {
		require.Equal(t, h.Record.ID == z, h.Record.Scope == "acme/all")
	}
	x, err := mine.Explain(context.Background(), memory.Query{Text: "import cycle", Also: []memory.Scope{"acme/all"}}, z)
	require.NoError(t, err)
	require.True(t, x.Returned)
	_, err = mine.Get(context.Background(), z)
	require.ErrorIs(t, err, store.ErrNotFound)
}

func TestTiesAreOrdered(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	// The clock stands: score and recency are equal, At and ID decide.
	later := epoch.Add(time.Hour)
	var want []memory.ID
	for range 3 {
		want = append(want, remember(t, s, memory.Draft{Kind: memory.Episode, Content: "hello there", At: later}))
	}
	slices.Sort(want)
	old := remember(t, s, memory.Draft{Kind: memory.Episode, Content: "hello there"})
	for _, text := range []string{"hello", ""} {
		for k := 1; k <= 4; k++ {
			require.Equal(t, append(slices.Clone(want), old)[:k], ids(recall(t, s, memory.Query{Text: text, K: k})))
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	s, c := space(t)
	ctx := context.Background()
	best := remember(t, s, pattern("go build reports an import cycle", "move the shared type down"))
	partial := remember(t, s, pattern("the weekly import of invoices is slow", "add an index"))
	none := remember(t, s, pattern("a test fails under the race detector", "guard the map"))
	web := remember(t, s, memory.Draft{Kind: memory.Fact, Content: "import cycle on the web", Source: memory.Source{Origin: memory.Web}})
	q := memory.Query{Text: "import cycle of the build", K: 1, Inject: true}
	explain := func(q memory.Query, id memory.ID) memory.Explanation {
		t.Helper()
		x, err := s.Explain(ctx, q, id)
		require.NoError(t, err)
		return x
	}
	x := explain(q, best)
	require.Equal(t, [2]int{1, 2}, [2]int{x.Rank, x.Of})
	require.True(t, x.Returned)
	hit := recall(t, s, q)[0]
	require.Equal(t, hit.Score, x.Score)
	require.Equal(t, hit.Parts, x.Parts)
	sum, words := 0.0, make(map[string]memory.Word)
	for _, w := range x.Words {
		sum += w.Weight
		words[w.Text] = w
		require.Equal(t, w.Text != "of", w.Found, w.Text)
	}
	require.Less(t, words["of"].Weight, words["build"].Weight)
	require.InDelta(t, 1, sum, 1e-12)

	x = explain(q, partial)
	require.Equal(t, 2, x.Rank)
	require.False(t, x.Returned)
	require.Contains(t, x.Reason, "beyond the first 1")
	require.Contains(t, x.Reason, "below 0.8 of the best")
	require.Contains(t, explain(memory.Query{Text: "import cycle"}, none).Reason, "no word")
	require.Contains(t, explain(q, web).Reason, "quarantined")
	require.Contains(t, explain(memory.Query{Kinds: []memory.Kind{memory.Fact}}, best).Reason, "kind")
	require.Contains(t, explain(memory.Query{At: epoch.Add(-day)}, best).Reason, "hold")
	require.Contains(t, explain(memory.Query{Known: epoch.Add(-day)}, best).Reason, "known")
	require.Contains(t, explain(memory.Query{}, best).Reason, "there is no text")
	c.move(40 * day)
	_, err := s.Decay(ctx)
	require.NoError(t, err)
	require.Contains(t, explain(q, best).Reason, "archived")
	_, err = s.Explain(ctx, q, "unknown")
	require.ErrorIs(t, err, store.ErrNotFound)
}

func TestRecallThreads(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	say := func(thread, content string) memory.ID {
		return remember(t, s, memory.Draft{Kind: memory.Episode, Thread: thread, Content: content})
	}
	say("", "the import cycle again")
	a := say("a", "we saw an import cycle")
	say("a", "the cycle was in the import graph")
	say("b", "lunch was good")
	say("c", "the import of invoices")
	for range 3 {
		say("c", "they are late again") // found by what was said before
	}
	hits, err := s.RecallThreads(context.Background(), memory.Query{Text: "import cycle"})
	require.NoError(t, err)
	require.Len(t, hits, 2)
	require.Equal(t, "a", hits[0].Thread)
	require.Len(t, hits[0].Hits, 2)
	require.Contains(t, ids(hits[0].Hits), a)
	require.Len(t, hits[1].Hits, 3)
	require.Greater(t, hits[0].Score, hits[1].Score)
	hits, err = s.RecallThreads(context.Background(), memory.Query{K: 1})
	require.NoError(t, err)
	require.Len(t, hits, 1)
}

var topics = strings.Fields("import cycle build race test map lint vet store index query cache the of is not 17 8080")

func sentence(t *rapid.T, label string, least int) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(topics), least, 10).Draw(t, label), " ")
}

// The order of insertion changes nothing, nor does a memory that has nothing
// to do with the query, which does not turn up.
func TestMetamorphic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		ds := make([]memory.Draft, n)
		for i := range ds {
			ds[i] = memory.Draft{
				Kind: memory.Episode, Trigger: sentence(t, "trigger", 0), Content: sentence(t, "content", 1), Key: fmt.Sprint(i),
				// No two at once: these keep the order in which they were made.
				At:     epoch.Add(-time.Duration(rapid.IntRange(0, 33).Draw(t, "half days")*12+i) * time.Hour),
				Thread: rapid.SampledFrom([]string{"", "a", "a", "b"}).Draw(t, "thread"),
				Actor:  rapid.SampledFrom([]string{"", "Ann", "Bob", "user", "assistant"}).Draw(t, "actor"),
			}
		}
		q := memory.Query{Text: sentence(t, "query", 1) + rapid.SampledFrom([]string{"", " of Ann", " that I said", " in March"}).Draw(t, "about"), K: 100}
		results := func(ds []memory.Draft) ([]memory.Hit, []memory.ThreadHit) {
			st := store.NewMem()
			s := open(t, st, newClock()).In("acme")
			_, err := s.RememberAll(context.Background(), ds)
			require.NoError(t, err)
			threads, err := s.RecallThreads(context.Background(), q)
			require.NoError(t, err)
			return recall(t, s, q), threads
		}
		want, threads := results(ds)
		for i, h := range want {
			p := h.Parts
			require.False(t, math.IsNaN(h.Score))
			require.True(t, p.Relevance > 0 && p.Relevance < 1 && p.Recency >= 0 && p.Recency <= 1 && p.Effectiveness >= 0 && p.Effectiveness <= 1)
			require.True(t, i == 0 || h.Score <= want[i-1].Score)
			require.True(t, i == 0 || want[i-1].Parts.Near || !p.Near, "those near the best come first")
		}
		check := func(ds []memory.Draft) {
			hits, ofThreads := results(ds)
			require.Equal(t, want, hits)
			require.Equal(t, threads, ofThreads)
		}
		check(rapid.Permutation(ds).Draw(t, "permuted"))
		at := rapid.IntRange(0, n).Draw(t, "at")
		check(slices.Insert(slices.Clone(ds), at, memory.Draft{
			Kind: memory.Episode, Content: "lorem ipsum dolor sit amet", Key: "irrelevant", Thread: "c", Actor: "Cicero",
			At: epoch.AddDate(-1, 2, 3),
		}))
	})
}

// Recall looks for the best alone; Explain puts all in order.
func TestRecallReturnsTheFirstOfAll(t *testing.T) {
	t.Parallel()
	words := []string{"red", "green", "blue", "black", "white"}
	rapid.Check(t, func(rt *rapid.T) {
		c := newClock()
		b := open(t, store.NewMem(), c)
		spaces := []memory.Space{b.In("acme/a"), b.In("acme/b")}
		text := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 3).Draw(t, "words"), " ")
		})
		var all []memory.ID
		for i := range rapid.IntRange(1, 30).Draw(rt, "records") {
			d := memory.Draft{Kind: memory.Episode, Content: text.Draw(rt, "content"), Key: fmt.Sprint("key-", i)}
			d.At = c.now().Add(-time.Duration(rapid.IntRange(0, 3).Draw(rt, "age")) * 400 * time.Nanosecond)
			if rapid.Bool().Draw(rt, "web") {
				d.Source.Origin = memory.Web
			}
			s := spaces[rapid.IntRange(0, 1).Draw(rt, "space")]
			id := remember(t, s, d)
			all = append(all, id)
			if rapid.IntRange(0, 3).Draw(rt, "used") == 0 {
				used(t, s, 1, fmt.Sprint("use-", i), id)
				c.move(time.Hour)
			}
		}
		q := memory.Query{Text: text.Draw(rt, "text"), K: rapid.IntRange(1, 12).Draw(rt, "k"), Inject: rapid.Bool().Draw(rt, "inject"), Also: []memory.Scope{"acme/b"}}
		want := []memory.ID{}
		ranked := make(map[int]memory.Explanation)
		for _, id := range all {
			x, err := spaces[0].Explain(context.Background(), q, id)
			require.NoError(t, err)
			ranked[x.Rank] = x
		}
		for i := 1; i <= q.K && ranked[i].ID != ""; i++ {
			want = append(want, ranked[i].ID)
		}
		hits := recall(t, spaces[0], q)
		require.Equal(t, want, ids(hits))
		for i, h := range hits {
			require.Equal(t, ranked[i+1].Score, h.Score)
			require.Equal(t, ranked[i+1].Parts, h.Parts)
		}
	})
}

// The date of a record is part of what it is found by.
func TestDates(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	on := map[string]memory.ID{}
	for _, d := range []string{"2025-05-07", "2025-05-08", "2025-07-05", "2024-11-30"} {
		at, err := time.Parse(time.DateOnly, d)
		require.NoError(t, err)
		on[d] = remember(t, s, memory.Draft{Kind: memory.Episode, Content: "we had lunch", At: at})
	}
	for question, want := range map[string]string{
		"lunch on 7 May": "2025-05-07", "lunch on the 7th of May": "2025-05-07", "lunch, May 8th": "2025-05-08", "lunch July 5": "2025-07-05",
		"lunch on 07.05.2025": "2025-05-07", "lunch on 30 Nov 2024": "2024-11-30", "lunch, Nov. 30": "2024-11-30",
		"lunch in November": "2024-11-30", "lunch in 2024": "2024-11-30",
	} {
		hits := recall(t, s, memory.Query{Text: question})
		require.Len(t, hits, 4, question)
		require.Equal(t, on[want], hits[0].Record.ID, question)
	}
	require.Len(t, recall(t, s, memory.Query{Text: "2025"}), 3)
	require.Empty(t, recall(t, s, memory.Query{Text: "May 32 of 1999"}), "May alone is a function word")
}

// Who misspells a name finds it, until somebody is called so.
func TestMisspelt(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	say := func(actor, content string) memory.ID {
		return remember(t, s, memory.Draft{Kind: memory.Episode, Actor: actor, Content: content})
	}
	paints := say("Katherine", "I paint boats in Lisbon")
	say("Bob", "I sell boats in Lisbon")
	for _, text := range []string{"Kathrine", "Whose boats does Kathreine paint?", "katherina", "Where are boats painted by Katherines?"} {
		hits := recall(t, s, memory.Query{Text: text})
		require.NotEmpty(t, hits, text)
		require.Equal(t, paints, hits[0].Record.ID, text)
	}
	right, wrong := recall(t, s, memory.Query{Text: "Katherine"})[0], recall(t, s, memory.Query{Text: "Kathrine"})[0]
	require.Less(t, wrong.Parts.Relevance, right.Parts.Relevance)
	for _, text := range []string{"Catherine", "Kathring", "bubs"} { // another beginning, two edits, too short
		require.Empty(t, recall(t, s, memory.Query{Text: text}), text)
	}
	other := say("Kathrine", "I swim")
	require.Equal(t, other, recall(t, s, memory.Query{Text: "Kathrine"})[0].Record.ID)
	require.NoError(t, s.Forget(t.Context(), paints))
	require.Equal(t, other, recall(t, s, memory.Query{Text: "Katherine"})[0].Record.ID)
}

// What is told of a day is told on the next as well.
func TestTheDayAfter(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	day := func(d int) memory.ID {
		at := time.Date(2024, 2, d, 9, 0, 0, 0, time.UTC)
		return remember(t, s, memory.Draft{Kind: memory.Episode, At: at, Content: fmt.Sprint("we went for a walk, no. ", d)})
	}
	day(28)
	after, on := day(30), day(29) // 30 February is the first of March
	day(33)
	hits := recall(t, s, memory.Query{Text: "a walk on February 29"})
	require.Equal(t, []memory.ID{on, after}, []memory.ID{hits[0].Record.ID, hits[1].Record.ID})
	require.Greater(t, hits[1].Parts.Relevance, hits[2].Parts.Relevance)
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, err := memory.Open(ctx, store.NewMem(), &memory.Options{Language: "xx"})
	require.ErrorContains(t, err, "Language")
	st := store.NewMem()
	for language, found := range map[string]int{"": 1, "en": 1, "none": 0} {
		b, err := memory.Open(ctx, st, &memory.Options{Now: newClock().now, Language: language})
		require.NoError(t, err)
		s := b.In("acme")
		_, err = s.Remember(ctx, memory.Draft{Kind: memory.Fact, Content: "Die Häuser in Bremen; classes were running", Key: "k"})
		require.NoError(t, err)
		require.Len(t, recall(t, s, memory.Query{Text: "class run"}), found, language)
		require.Len(t, recall(t, s, memory.Query{Text: "die HÄUSER"}), 1, language)
		require.NoError(t, b.Close())
	}
}

// What the other side said counts less for questions about the asker.
func TestAsker(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	say := func(actor, content string) memory.ID {
		return remember(t, s, memory.Draft{Kind: memory.Episode, Actor: actor, Content: content})
	}
	other := say("assistant", "a bicycle is blue, mostly")
	self := say("user", "they sold the bicycle, which was blue, to a friend in Bremen")
	require.Equal(t, other, recall(t, s, memory.Query{Text: "is the bicycle blue"})[0].Record.ID)
	require.Equal(t, self, recall(t, s, memory.Query{Text: "is my bicycle blue"})[0].Record.ID)
	require.Equal(t, other, recall(t, s, memory.Query{Text: "did you tell me that the bicycle is blue"})[0].Record.ID)
}

// With a floor, a scope that knows nothing about a question says nothing.
func TestFloor(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, _ := space(t)
	know := remember(t, s, memory.Draft{Kind: memory.Episode, Thread: "t", Content: "the deploy to Bremen fails when the disk is full"})
	q := memory.Query{Text: "why does the deploy to Bremen fail", Floor: 0.5}
	require.Equal(t, []memory.ID{know}, ids(recall(t, s, q)))
	threads, err := s.RecallThreads(ctx, q)
	require.NoError(t, err)
	require.Len(t, threads, 1)
	q.Text = "how is the weather in Bremen, and will it rain on Sunday or Monday"
	require.Empty(t, recall(t, s, q))
	threads, err = s.RecallThreads(ctx, q)
	require.NoError(t, err)
	require.Empty(t, threads)
	x, err := s.Explain(ctx, q, know)
	require.NoError(t, err)
	require.Contains(t, x.Reason, "Floor")
	require.Zero(t, x.Rank)
	q.Text = ""
	require.Len(t, recall(t, s, q), 1)
}

// A letter with its mark apart, as file systems write it, is the same letter.
func TestDecomposedLettersAreFound(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	remember(t, s, memory.Draft{Kind: memory.Fact, Content: "Das Bu\u0308ro ist in Mu\u0308nchen."})
	require.NotEmpty(t, recall(t, s, memory.Query{Text: "München"}))
}

// Explain ranks a record where Recall does, and knows why it is there.
func TestExplainRanksAsRecallDoes(t *testing.T) {
	t.Parallel()
	s, c := space(t)
	var pump memory.ID
	for _, d := range []memory.Draft{
		{Kind: memory.Episode, Actor: "Ann", Content: "I live in Paris, in a flat by the river."},
		{Kind: memory.Episode, Actor: "Ann", Content: "I moved to Berlin, and live in a flat there now."},
		{Kind: memory.Episode, Actor: "Bob", Content: "I live in a house."},
		{Kind: memory.Fact, Content: "Carla lives in a flat in Paris by the river.", Source: memory.Source{Origin: memory.Web}},
		{Kind: memory.Fact, Content: "Alice lives in Paris near the river."},
		{Kind: memory.Fact, Content: "Alice moved, and lives in Berlin now."},
		{Kind: memory.Fact, Content: "The pump stands in the cellar.", Triggers: []string{"water leak"}},
	} {
		c.move(24 * time.Hour)
		pump = remember(t, s, d)
	}
	remember(t, s, memory.Draft{Kind: memory.Fact, Content: "Valves open clockwise.", Links: []memory.Link{{To: pump}}})
	leak := remember(t, s, memory.Draft{Kind: memory.Fact, Content: "A water leak is bad."})
	for _, q := range []memory.Query{
		{Text: "Where do I live, in which flat?"}, {Text: "Who lives in a flat in Paris by the river?"}, {Text: "Ann's flat"}, {},
		{Text: "Where near the river in Paris does Alice live?"}, {Text: "Where is the pump?", Linked: true}, {Text: "there is a water leak", Triggered: true},
	} {
		hits := recall(t, s, q)
		require.NotEmpty(t, hits)
		for i, h := range hits {
			x, err := s.Explain(t.Context(), q, h.Record.ID)
			require.NoError(t, err)
			require.True(t, x.Returned, x.Reason)
			require.Equal(t, i+1, x.Rank, "%s: %q: %s", q.Text, h.Record.Content, x.Reason)
		}
	}
	x, err := s.Explain(t.Context(), memory.Query{Text: "there is a water leak", Triggered: true}, leak)
	require.NoError(t, err)
	require.Equal(t, "no phrase of its Triggers is in the query", x.Reason)
}

// A thread that outsiders have written comes behind one of which a trusted record is found.
func TestRecallThreadsTrustsBeforeOthers(t *testing.T) {
	t.Parallel()
	for name, q := range map[string]memory.Query{"text": {Text: "import cycle"}, "none": {}, "one": {Text: "import cycle", K: 1}} {
		s, _ := space(t)
		say := func(thread, content string, from memory.Origin) memory.ID {
			return remember(t, s, memory.Draft{Kind: memory.Episode, Thread: thread, Content: content, Source: memory.Source{Origin: from}})
		}
		ours := say("ours", "we talked of an import among other things, and of the weather in the hills", memory.Host)
		say("ours", "import cycle, said a page", memory.Web)
		for i := range 5 {
			say("theirs", fmt.Sprint("import cycle import cycle ", i), memory.Web)
		}
		if q.Text == "" {
			used(t, s, 5, name, say("theirs", "use this", memory.Web))
		}
		hits, err := s.RecallThreads(context.Background(), q)
		require.NoError(t, err)
		require.Equal(t, "ours", hits[0].Thread, name)
		require.Equal(t, ours, hits[0].Hits[0].Record.ID, name)
		if q.K == 0 {
			require.Len(t, hits[0].Hits, 2, name)
			require.Len(t, hits, 2, name)
			require.Len(t, hits[1].Hits, 3, name)
		} else {
			require.Len(t, hits, 1)
		}
	}
}

// Far ahead is after all that is known, and long ago before it, however far: 1<<63 microseconds are in 294246.
func TestQueryAtAnyTime(t *testing.T) {
	t.Parallel()
	s, _ := space(t)
	remember(t, s, pattern("import cycle", "move the type"))
	for _, year := range []int{-300000, 1, 2262, 9999, 294246, 294247, 300000, 1 << 32} {
		at := time.Date(year, 2, 1, 0, 0, 0, 0, time.UTC)
		for _, q := range []memory.Query{{At: at}, {Known: at}, {At: at, Text: "import cycle"}} {
			hits, err := s.Recall(context.Background(), q)
			require.NoError(t, err)
			if year < 2026 {
				require.Empty(t, hits, "%d", year)
				continue
			}
			require.Len(t, hits, 1, "%d", year)
			require.True(t, hits[0].Parts.Recency >= 0 && hits[0].Parts.Recency <= 1, "%d: %v", year, hits[0].Parts.Recency)
		}
	}
}

// TestSince holds queries for what was told since a time, which pass scopes by that were told nothing,
// against all records.
func TestSince(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := newClock()
		b, err := memory.Open(context.Background(), store.NewMem(), &memory.Options{Now: c.now})
		require.NoError(t, err)
		defer func() { require.NoError(t, b.Close()) }()
		s := b.In("acme")
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			c.move(time.Minute)
			if rapid.IntRange(0, 3).Draw(t, "trust") == 0 {
				for r, err := range s.All(context.Background()) {
					require.NoError(t, err)
					if !r.Trusted {
						require.NoError(t, s.Trust(context.Background(), r.ID))
						break
					}
				}
				continue
			}
			d := memory.Draft{
				Kind:    rapid.SampledFrom([]memory.Kind{memory.Fact, memory.Failure, memory.Episode}).Draw(t, "kind"),
				Content: "door " + rapid.StringMatching("[a-z]{6}").Draw(t, "text"),
				Source:  memory.Source{Origin: rapid.SampledFrom([]memory.Origin{memory.User, memory.Web, memory.Derived}).Draw(t, "origin"), Ref: "it"},
			}
			if d.Kind == memory.Failure {
				d.Trigger = "door " + d.Content[5:]
			}
			_, err := s.Remember(context.Background(), d)
			require.NoError(t, err)
		}
		q := memory.Query{
			K: 100, Text: rapid.SampledFrom([]string{"", "door"}).Draw(t, "query"), Inject: rapid.Bool().Draw(t, "inject"),
			Since: c.now().Add(-time.Duration(rapid.IntRange(0, 12).Draw(t, "minutes")) * time.Minute),
		}
		if rapid.Bool().Draw(t, "kinds") {
			q.Kinds = []memory.Kind{memory.Fact, memory.Failure}
		}
		var want []memory.ID
		for r, err := range s.All(context.Background()) {
			require.NoError(t, err)
			told := r.Known
			if r.Vouched.After(told) {
				told = r.Vouched
			}
			if told.After(q.Since) && r.Source.Origin != memory.Derived && (r.Trusted || !q.Inject) && (q.Kinds == nil || r.Kind != memory.Episode) {
				want = append(want, r.ID)
			}
		}
		var got []memory.ID
		hits, err := s.Recall(context.Background(), q)
		require.NoError(t, err)
		for i := range hits {
			got = append(got, hits[i].Record.ID)
		}
		require.ElementsMatch(t, want, got)
	})
}

// A question finds what shares a word with it in languages that add particles to words, or write no spaces between
// them; of three facts about other things at most one is found, behind it, and far less relevant.
func TestRecallInOtherScripts(t *testing.T) {
	t.Parallel()
	for ask, facts := range map[string][]string{
		"결제 서버는 어디에 있나요?": {"결제 서버를 서울로 옮겼다", "고양이가 방에서 잔다", "점심은 김밥이다", "회의는 월요일이다"},
		"API서버는 어디?":      {"API서버를 서울로 옮겼다", "고양이가 방에서 잔다", "점심은 김밥이다", "회의는 월요일이다"},
		"支付网关在哪里？":        {"我们把支付网关搬到了上海", "猫在房间里睡觉", "午饭是米饭", "会议改到星期一"},
		"サーバーはどこですか":      {"決済サーバーを東京に移した", "猫が部屋で寝ている", "昼ご飯はおにぎりです", "会議は月曜日です"},
		"เซิร์ฟเวอร์ชำระเงินอยู่ที่ไหน": {"เราย้ายเซิร์ฟเวอร์ชำระเงินไปกรุงเทพ", "แมวนอนในห้อง", "อาหารกลางวันคือข้าว", "ประชุมวันจันทร์"},
	} {
		s, _ := space(t)
		var ids []memory.ID
		for _, f := range facts {
			ids = append(ids, remember(t, s, memory.Draft{Kind: memory.Fact, Content: f}))
		}
		hits := recall(t, s, memory.Query{Text: ask})
		require.NotEmpty(t, hits, ask)
		require.Equal(t, ids[0], hits[0].Record.ID, ask)
		for _, h := range hits[1:] {
			require.Less(t, h.Score, hits[0].Score/5, "%s finds %s", ask, h.Record.Content)
		}
	}
}
