package memory_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// apart remembers two near-duplicates that Remember keeps apart: the second
// arrives quarantined, and is trusted afterwards.
func apart(t tb, s memory.Space, c *clock, a, b memory.Draft) (first, second memory.ID) {
	t.Helper()
	first = remember(t, s, a)
	c.move(time.Second)
	b.Source.Origin = memory.Web
	second = remember(t, s, b)
	require.NoError(t, s.Trust(context.Background(), second))
	return first, second
}

func consolidate(t tb, s memory.Space) memory.ConsolidateReport {
	t.Helper()
	r, err := s.Consolidate(context.Background())
	require.NoError(t, err)
	require.Equal(t, r.Before, r.After+r.Merged)
	require.Equal(t, r.Tried, r.Merged+r.Apart)
	return r
}

// place is the rank of the record that the id leads to when it is asked for in
// these words, by words alone.
func place(t tb, s memory.Space, text string, id memory.ID) int {
	t.Helper()
	hits := recall(t, s, memory.Query{Text: text, K: 1000, Archived: true})
	id = get(t, s, id).ID
	i := slices.IndexFunc(hits, func(h memory.Hit) bool { return h.Record.ID == id })
	require.GreaterOrEqual(t, i, 0)
	rank := 1
	for _, h := range hits {
		if h.Parts.Relevance > hits[i].Parts.Relevance {
			rank++
		}
	}
	return rank
}

const (
	twenty = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon"
	often  = twenty + " zebra zebra"

	situation = "situation of some words"
)

// A merger that would be found worse than its parts were is not made, and not
// tried again until a text changes.
func TestConsolidateIsVerified(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	st, c := store.NewMem(), newClock()
	s := open(t, st, c).In("acme")
	a, b := apart(t, s, c,
		memory.Draft{Kind: memory.Failure, Trigger: situation, Content: often, Vector: []float32{1, 2}},
		memory.Draft{Kind: memory.Failure, Trigger: situation, Content: twenty, Vector: []float32{2, 1}})
	// One more word makes these a little worse than the second, and not as much
	// as two more make the first.
	for i := range 30 {
		remember(t, s, memory.Draft{Kind: memory.Episode, Trigger: situation, Content: fmt.Sprint(twenty, " other", i)})
	}
	used(t, s, 1, "u", b)
	queries := []memory.Query{{Text: twenty}, {Text: often}, {Text: "zebra"}, {K: 50}, {Vector: []float32{2, 1}, K: 50}}
	var want [][]memory.Hit
	for _, q := range queries {
		want = append(want, recall(t, s, q))
	}
	first, second := get(t, s, a), get(t, s, b)
	require.Equal(t, memory.ConsolidateReport{Before: 32, Tried: 1, Apart: 1, After: 32}, consolidate(t, s))
	for range 2 {
		require.Equal(t, first, get(t, s, a))
		require.Equal(t, second, get(t, s, b), "with its vector and its counters")
		for i, q := range queries {
			require.Equal(t, want[i], recall(t, s, q))
		}
		require.Equal(t, memory.ConsolidateReport{Before: 32, After: 32}, consolidate(t, s))
		s = open(t, st, c).In("acme")
	}
	_, err := s.Remember(ctx, memory.Draft{Kind: memory.Failure, Trigger: situation, Content: often + " zebra", Source: memory.Source{Run: "again"}})
	require.NoError(t, err)
	require.Equal(t, 1, consolidate(t, s).Tried, "it is another text now")
}

// Whatever the texts are: one that is merged is found as early as it was, and
// one that is not is as if nobody had tried.
func TestConsolidateKeepsRecall(t *testing.T) {
	t.Parallel()
	merged, kept := 0, 0
	words := strings.Fields(twenty)[:8]
	rapid.Check(t, func(t *rapid.T) {
		st, c := store.NewMem(), newClock()
		s := open(t, st, c).In("acme")
		draft := func(kind memory.Kind, content string) memory.Draft {
			d := memory.Draft{Kind: kind, Content: content, Trigger: rapid.SampledFrom([]string{situation, "zebra " + situation}).Draw(t, "trigger")}
			if rapid.Bool().Draw(t, "in a thread") {
				d.Thread, d.Actor, d.At = "t", "Ann", epoch.Add(-time.Duration(rapid.IntRange(0, 3).Draw(t, "ago"))*time.Hour)
			}
			return d
		}
		sentence := func() string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 3, 20).Draw(t, "words"), " ")
		}
		base := sentence()
		one := draft(memory.Failure, base)
		two := one
		two.Content = base + strings.Repeat(" "+rapid.SampledFrom(append(words, "yak")).Draw(t, "word"), rapid.IntRange(0, 2).Draw(t, "times"))
		a, b := apart(t, s, c, one, two)
		for range rapid.IntRange(0, 8).Draw(t, "others") {
			text := rapid.OneOf(rapid.Just(two.Content+" yak"), rapid.Just(two.Content+" filler"), rapid.Just(base), rapid.Custom(func(*rapid.T) string { return sentence() })).Draw(t, "other")
			remember(t, s, draft(memory.Episode, text))
		}
		was := [2]int{place(t, s, one.Trigger+" "+one.Content, a), place(t, s, two.Trigger+" "+two.Content, b)}
		q := memory.Query{Text: two.Content, K: 100}
		before := recall(t, s, q)
		first, second := get(t, s, a), get(t, s, b)
		report := consolidate(t, s)
		switch {
		case report.Merged == 1:
			merged++
			require.LessOrEqual(t, place(t, s, one.Trigger+" "+one.Content, a), was[0])
			require.LessOrEqual(t, place(t, s, two.Trigger+" "+two.Content, b), was[1])
			require.Equal(t, get(t, s, a), get(t, s, b))
			require.Equal(t, one.Content, get(t, s, a).Content)
			require.Equal(t, memory.Web, get(t, s, a).Variants[0].Source.Origin)
		default:
			kept += report.Apart
			require.Equal(t, before, recall(t, s, q))
			require.Equal(t, first, get(t, s, a))
			require.Equal(t, second, get(t, s, b))
		}
		again := open(t, st, c).In("acme")
		require.Equal(t, recall(t, s, q), recall(t, again, q))
		require.Zero(t, consolidate(t, again).Tried)
	})
	require.Positive(t, merged)
	require.Positive(t, kept)
}

// Interrupted at any commit, before or after it took place, consolidation comes
// to what it would have come to.
func TestConsolidateIsResumableWhereSomeStayApart(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	run := func(stop int, took bool) (records []memory.Record, commits int) {
		st, c := store.NewMem(), newClock()
		f := &faulty{Store: st}
		bank := open(t, f, c)
		s := bank.In("acme")
		a, b := apart(t, s, c, memory.Draft{Kind: memory.Failure, Trigger: situation, Content: often}, memory.Draft{Kind: memory.Failure, Trigger: situation, Content: twenty})
		for i := range 20 {
			remember(t, s, memory.Draft{Kind: memory.Episode, Trigger: situation, Content: fmt.Sprint(twenty, " other", i)})
		}
		kept, also := pairs(t, s, 2)
		used(t, s, 2, "u", append(kept, also[0], a, b)...)
		require.NoError(t, bank.Flush(ctx))
		f.set(func(n int, _ []store.Op) (before, after error) {
			switch {
			case n < stop:
			case n == stop && took:
				return nil, errDisk
			default:
				return errDisk, nil
			}
			return nil, nil
		})
		_, err := s.Consolidate(ctx)
		commits = f.count()
		require.Equal(t, commits >= stop, err != nil)
		f.set(nil)
		s = open(t, st, c).In("acme") // the process is gone
		report := consolidate(t, s)
		require.Equal(t, 24, report.After)
		require.Equal(t, memory.ConsolidateReport{Before: 24, After: 24}, consolidate(t, s))
		for r, err := range open(t, st, c).In("acme").All(ctx) {
			require.NoError(t, err)
			records = append(records, r)
		}
		return records, commits
	}
	want, commits := run(1000, false)
	require.GreaterOrEqual(t, commits, 3, "one for each pair")
	for stop := 1; stop <= commits; stop++ {
		for _, took := range []bool{false, true} {
			got, _ := run(stop, took)
			require.Equal(t, want, got, "stopped at commit %d, which took place: %v", stop, took)
		}
	}
}

// What the two were derived from decides what Revoke removes: with different
// parents they stay two. Other links are taken over.
func TestConsolidateKeepsProvenance(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, x := range []struct {
		name   string
		links  func(parent, other, first memory.ID) (one, two []memory.Link)
		merged int
		want   int // links
	}{
		{"none", func(_, _, _ memory.ID) (one, two []memory.Link) { return nil, nil }, 1, 0},
		{"related", func(p, o, _ memory.ID) (one, two []memory.Link) {
			return []memory.Link{{To: p, Rel: "about"}}, []memory.Link{{To: p, Rel: "about"}, {To: o, Rel: "about"}}
		}, 1, 2},
		{"to the other", func(_, _, first memory.ID) (one, two []memory.Link) {
			return nil, []memory.Link{{To: first, Rel: "like"}}
		}, 1, 0},
		{"of the same parent", func(p, _, _ memory.ID) (one, two []memory.Link) {
			return []memory.Link{{To: p}}, []memory.Link{{To: p}}
		}, 1, 1},
		{"of different parents", func(p, o, _ memory.ID) (one, two []memory.Link) {
			return []memory.Link{{To: p}}, []memory.Link{{To: o}}
		}, 0, 1},
		{"of one parent", func(p, _, _ memory.ID) (one, two []memory.Link) { return []memory.Link{{To: p}}, nil }, 0, 1},
		{"of the other", func(_, _, first memory.ID) (one, two []memory.Link) { return nil, []memory.Link{{To: first}} }, 0, 0},
	} {
		s, c := space(t)
		parent := remember(t, s, memory.Draft{Kind: memory.Episode, Content: "a page", Source: memory.Source{Ref: "p"}})
		other := remember(t, s, memory.Draft{Kind: memory.Episode, Content: "a book"})
		one, _ := x.links(parent, other, "")
		first := remember(t, s, memory.Draft{Kind: memory.Failure, Trigger: situation, Content: twenty, Links: one})
		c.move(time.Second)
		_, two := x.links(parent, other, first)
		second := remember(t, s, memory.Draft{Kind: memory.Failure, Trigger: situation, Content: twenty, Links: two, Source: memory.Source{Origin: memory.User}})
		require.NoError(t, s.Trust(ctx, second))
		remember(t, s, memory.Draft{Kind: memory.Episode, Content: "the handbook", Links: []memory.Link{{To: second, Rel: "about"}}})
		require.Equal(t, x.merged, consolidate(t, s).Merged, x.name)
		r := get(t, s, first)
		require.Len(t, r.Links, x.want, x.name)
		for _, in := range []memory.ID{first, second} { // links to the former id still lead to it
			hits := recall(t, s, memory.Query{Text: "handbook", Context: []memory.ID{in}})
			require.Equal(t, x.merged == 1 || in == second, hits[0].Parts.Spreading > 0, x.name)
		}
		require.Len(t, r.Variants, x.merged, x.name)
		for _, v := range r.Variants {
			require.Equal(t, memory.Variant{ID: second, Source: memory.Source{Origin: memory.User}, At: c.now()}, v)
		}
	}
}

// The one that stays is the earlier by both clocks; of what was told in another
// order than it happened, both stay, as do those of different people and
// conversations.
func TestConsolidateKeepsClocks(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		change func(*memory.Draft)
		merged int
	}{
		{func(*memory.Draft) {}, 1},
		{func(d *memory.Draft) { d.At = epoch.Add(-time.Hour) }, 0},
		{func(d *memory.Draft) { d.Actor = "Bob" }, 0},
		{func(d *memory.Draft) { d.Thread = "u" }, 0},
	} {
		s, c := space(t)
		one := memory.Draft{Kind: memory.Failure, Trigger: situation, Content: twenty, Actor: "Ann", Thread: "t"}
		two := one
		x.change(&two)
		first, second := apart(t, s, c, one, two)
		feedback(t, s, memory.Feedback{Key: "f", Injected: []memory.ID{second}, Delivered: true})
		require.Equal(t, x.merged, consolidate(t, s).Merged)
		require.Equal(t, x.merged == 1, get(t, s, second).ID == first)
		require.Equal(t, 1, get(t, s, second).Stats.Failed)
		require.Len(t, recall(t, s, memory.Query{Text: "alpha", Known: epoch}), 1)
		c.move(30*day - time.Millisecond)
		report, err := s.Decay(context.Background())
		require.NoError(t, err)
		require.Equal(t, 1-x.merged, report.Archived, "the merged one is as young as the younger of the two")
	}
}

// What a merger has counted is counted once, though the Writer of counters has no room meanwhile.
func TestMergerBesideCountersThatWait(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), newClock()
	st := &faulty{Store: store.NewMem()}
	b := open(t, st, c)
	s := b.In("acme")
	d := memory.Draft{Kind: memory.Fact, Content: "the small key opens the door"}
	first, second := apart(t, s, c, d, d)
	used(t, s, 2, "first", first)
	used(t, s, 3, "second", second)
	require.NoError(t, b.Flush(ctx))
	var ids []memory.ID
	for i := range 1024 {
		ids = append(ids, remember(t, s, memory.Draft{Kind: memory.Episode, Content: fmt.Sprint("turn ", i)}))
	}
	st.set(func(_ int, ops []store.Op) (before, after error) {
		if len(ops) > 100 {
			before = errDisk
		}
		return before, nil
	})
	_ = s.Feedback(ctx, memory.Feedback{Key: "f", Injected: ids[:1000], Delivered: true})
	for i := range 60 { // until there is no room
		_ = s.Feedback(ctx, memory.Feedback{Key: fmt.Sprint("g", i), Injected: ids[:1], Delivered: true})
	}
	_, _ = s.Consolidate(ctx)
	st.set(nil)
	_, _ = s.Consolidate(ctx)
	used(t, s, 1, "third", first)
	require.NoError(t, b.Flush(ctx))
	require.Equal(t, 6, get(t, s, second).Stats.Helped)
	require.Equal(t, 6, get(t, open(t, st, c).In("acme"), second).Stats.Helped)
}

// A merger whose answer was lost is what the store has of it: the counters of both, and what they perhaps replace.
func TestMergerWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		ctx, c := t.Context(), newClock()
		st := &faulty{Store: store.NewMem()}
		bank := func() *memory.Bank {
			b, err := memory.Open(ctx, st, &memory.Options{Now: c.now, Seed: 1, Shared: shared})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, b.Close()) })
			return b
		}
		b := bank()
		s := b.In("acme")
		remember(t, s, memory.Draft{Kind: memory.Fact, Content: "Ann lives in Berlin", Actor: "Ann"})
		c.move(time.Hour)
		d := memory.Draft{Kind: memory.Fact, Content: "Ann has moved, she now lives in Lisbon", Actor: "Ann"}
		first, second := apart(t, s, c, d, d)
		used(t, s, 2, "first", first)
		used(t, s, 3, "second", second)
		require.NoError(t, b.Flush(ctx))
		seen := func(s memory.Space) (out []string) {
			for _, h := range recall(t, s, memory.Query{Text: "where does Ann live"}) {
				out = append(out, fmt.Sprint(h.Record.ID, h.Record.Stats.Helped, len(h.Record.Variants), h.Replaced))
			}
			return out
		}
		st.set(func(n int, _ []store.Op) (before, after error) {
			if n == 1 {
				after = errDisk
			}
			return nil, after
		})
		_, err := s.Consolidate(ctx)
		require.ErrorIs(t, err, errDisk)
		st.set(nil)
		used(t, s, 1, "third", second)
		require.NoError(t, b.Flush(ctx))
		require.Equal(t, 6, get(t, s, first).Stats.Helped, shared)
		again := bank().In("acme")
		require.Equal(t, seen(again), seen(s), shared)
	}
}
