package benchmarks

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/memorytest"
	"github.com/arc-learn/arc/store"
)

// bench holds a Bank for each conversation, by its scope.
type bench struct {
	banks map[string]*memory.Bank
	names map[memory.ID]string // the Key of each record
	took  []time.Duration      // of recalls
}

// ingest remembers all turns in order, with default options but for the clock:
// it stands at the end of the conversation, or years after.
func ingest(t *testing.T, cs []conversation, years int) *bench {
	b := &bench{banks: map[string]*memory.Bank{}, names: map[memory.ID]string{}}
	for _, c := range cs {
		now := c.end.AddDate(years, 0, 0)
		bank, err := memory.Open(t.Context(), store.NewMem(), &memory.Options{Now: func() time.Time { return now }, Embedder: embedder(t), MinCosine: *minCosine})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, bank.Close()) })
		b.banks[string(c.scope)] = bank
		receipts, err := bank.In(c.scope).RememberAll(t.Context(), c.drafts)
		require.NoError(t, err)
		require.NoError(t, bank.Embed(t.Context()))
		for i, r := range receipts {
			b.names[r.ID] = c.drafts[i].Key
		}
	}
	return b
}

func (b *bench) space(q memorytest.Question) memory.Space {
	return b.banks[q.Where].In(memory.Scope(q.Where))
}

func (b *bench) records(ctx context.Context, q memorytest.Question, k int) ([]memorytest.Hit, error) {
	start := time.Now()
	hits, err := memorytest.Records(b.space(q), func(r *memory.Record) string { return b.names[r.ID] })(ctx, q, k)
	b.took = append(b.took, time.Since(start))
	return hits, err
}

func (b *bench) threads(ctx context.Context, q memorytest.Question, k int) ([]memorytest.Hit, error) {
	return memorytest.Threads(b.space(q))(ctx, q, k)
}

// scan recalls by a scorer of each conversation.
func scan[S scorer](cs []conversation, build func([]memory.Draft) S) memorytest.Recall {
	scorers := map[string]S{}
	for _, c := range cs {
		scorers[string(c.scope)] = build(c.drafts)
	}
	return func(_ context.Context, q memorytest.Question, k int) ([]memorytest.Hit, error) {
		c := cs[slices.IndexFunc(cs, func(c conversation) bool { return string(c.scope) == q.Where })]
		scores := scorers[q.Where].score(q.Text)
		var hits []memorytest.Hit
		for _, i := range best(scores) {
			hits = append(hits, memorytest.Hit{Name: c.drafts[i].Key, Text: c.drafts[i].Content, Relevance: scores[i]})
		}
		return hits[:min(k, len(hits))], nil
	}
}

func measure(t *testing.T, what string, recall memorytest.Recall, qs []memorytest.Question) memorytest.Report {
	t.Helper()
	r, err := memorytest.Measure(t.Context(), recall, qs, &memorytest.Options{Cutoffs: []int{1, 5, 10, 50}})
	require.NoError(t, err)
	t.Logf("%s\n%s", what, r)
	return r
}

// The bars of turn recall at 10 and 50, and of session recall at 10.
func TestLocomo(t *testing.T) {
	cs := locomo(t)
	var undated []conversation
	var turns, threads, abstain []memorytest.Question
	for i, c := range cs {
		undated = append(undated, c.undated())
		abstain = append(abstain, c.ofOthers(&cs[(i+1)%len(cs)])...)
		turns = append(turns, c.questions...)
		for _, q := range c.questions {
			threads = append(threads, c.byThread(q))
		}
	}
	// Long after, nothing is recent any more: recency changes no order.
	b, recent := ingest(t, cs, 100), ingest(t, cs, 0)
	old := measure(t, "turns, plain BM25", scan(cs, newPlain), turns)
	reference := measure(t, "turns, the score by scanning", scan(cs, newNaive), turns)
	got := measure(t, "turns", b.records, turns)
	now := measure(t, "turns, with recency", recent.records, turns)
	sessions := measure(t, "sessions", b.threads, threads)
	ordered := measure(t, "turns, in the order in which they were remembered", ingest(t, undated, 100).records, turns)
	measure(t, "turns, and questions without an answer", b.records, slices.Concat(turns, abstain))
	slices.Sort(b.took)
	t.Logf("a recall took %v (median), %v (p99), of at most 50 records", b.took[len(b.took)/2], b.took[len(b.took)*99/100])

	at := func(r memorytest.Report, name string) float64 { return 100 * r.Metric("", name).Value }
	for _, k := range []string{"R@5", "R@10", "R@50"} {
		require.InDelta(t, at(reference, k), at(got, k), 0.5, k) // the scan knows neither misspelt words nor the day after, nor dates in numbers
		require.InDelta(t, at(got, k), at(now, k), 0.6, k)
		require.InDelta(t, at(got, k), at(ordered, k), 1e-9, k)
	}
	require.GreaterOrEqual(t, at(now, "R@10"), 81.0)
	require.GreaterOrEqual(t, at(now, "R@50"), 91.0)
	require.GreaterOrEqual(t, at(sessions, "R@10"), 95.0)
	for _, row := range old.Rows {
		got, was := now.Metric(row.Category, "R@10").Value, old.Metric(row.Category, "R@10").Value
		require.GreaterOrEqual(t, got, was, "category %s", row.Category)
	}
}

// What each part of the score gives, by leaving it out of the scan.
func TestLocomoParts(t *testing.T) {
	cs := locomo(t)
	var turns []memorytest.Question
	for _, c := range cs {
		turns = append(turns, c.questions...)
	}
	for _, part := range []struct {
		name   string
		change func(*recipe)
	}{
		{"all", func(*recipe) {}},
		{"no window", func(r *recipe) { r.window = nil }},
		{"window of two", func(r *recipe) { r.window = map[int]float64{-1: 0.3, -2: 0.15, 1: 0.15, 2: 0.08} }},
		{"neighbors count as before", func(r *recipe) {
			r.k1, r.window = 1.2, map[int]float64{-1: 0.5, -2: 0.3, -3: 0.15, 1: 0.25, 2: 0.2, 3: 0.1}
		}},
		{"long records too", func(r *recipe) { r.open = 1e9 }},
		{"named actor counts as any", func(r *recipe) { r.named = 0 }},
		{"questions count as answers", func(r *recipe) { r.asked = 0 }},
		{"no actor's name", func(r *recipe) { r.actor = false }},
		{"no date", func(r *recipe) { r.date = false }},
		{"no function words", func(r *recipe) { r.function = false }},
		{"usual length at least 32", func(r *recipe) { r.usual = 32 }},
		{"usual length at least 128", func(r *recipe) { r.usual = 128 }},
		{"b 0.75", func(r *recipe) { r.b = 0.75 }},
		{"b 0.5", func(r *recipe) { r.b = 0.5 }},
		{"k1 0.6", func(r *recipe) { r.k1 = 0.6 }},
		{"k1 1.5", func(r *recipe) { r.k1 = 1.5 }},
		{"few records count as few", func(r *recipe) { r.records = 1 }},
	} {
		r := standard
		part.change(&r)
		report, err := memorytest.Measure(t.Context(), scan(cs, r.over), turns, &memorytest.Options{Resamples: 1})
		require.NoError(t, err)
		at := func(name string) float64 { return 100 * report.Metric("", name).Value }
		t.Logf("%-28s %.1f %.1f %.1f", part.name, at("R@5"), at("R@10"), at("R@50"))
	}
}

// Chats between real people, as LoCoMo: recall of turns at 1 and 10.
func TestRealtalk(t *testing.T) {
	cs := chats(t, given(t, *realtalkFile, "realtalk"), "realtalk")
	var turns []memorytest.Question
	for _, c := range cs {
		turns = append(turns, c.questions...)
	}
	b := ingest(t, cs, 0)
	measure(t, "turns, plain BM25", scan(cs, newPlain), turns)
	report, err := memorytest.Measure(t.Context(), b.records, turns, &memorytest.Options{Cutoffs: []int{1, 5, 10, 50}})
	require.NoError(t, err)
	t.Log("\n" + report.String())
}
