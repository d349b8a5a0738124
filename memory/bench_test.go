package memory_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

// drafts returns n memories of words drawn from a Zipf distribution.
func drafts(n, words int) []memory.Draft {
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.1, 8, 20_000)
	sentence := func(n int) string {
		ws := make([]string, n)
		for i := range ws {
			ws[i] = word(zipf.Uint64())
		}
		return strings.Join(ws, " ")
	}
	ds := make([]memory.Draft, n)
	for i := range ds {
		ds[i] = memory.Draft{Kind: memory.Pattern, Trigger: sentence(words / 3), Content: sentence(words - words/3)}
	}
	return ds
}

// word spells a number, so that words have letters only.
func word(n uint64) string {
	syllables := []string{"ba", "ke", "li", "mo", "nu", "pra", "ste", "tri", "vo", "zur"}
	w := ""
	for {
		w += syllables[n%10]
		if n /= 10; n == 0 {
			return w + "t"
		}
	}
}

func benchSpace(b *testing.B, n, words int) (memory.Space, []memory.Draft) {
	bank, err := memory.Open(context.Background(), store.NewMem(), nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, bank.Close()) })
	s := bank.In("acme/user-42")
	ds := drafts(n, words)
	_, err = s.RememberAll(context.Background(), ds)
	require.NoError(b, err)
	return s, ds
}

func BenchmarkRecall(b *testing.B) {
	for _, c := range []struct{ n, words int }{{100, 12}, {10_000, 30}, {100_000, 30}} {
		b.Run(fmt.Sprintf("n=%d", c.n), func(b *testing.B) {
			s, ds := benchSpace(b, c.n, c.words)
			queries := make([]string, 64)
			for i := range queries {
				queries[i] = strings.Join(strings.Fields(ds[i*len(ds)/64].Content)[:5], " ")
			}
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Recall(context.Background(), memory.Query{Text: queries[i%64], Situation: "x"}); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

// A word of the query is in every record.
func BenchmarkRecallBroad(b *testing.B) {
	bank, err := memory.Open(context.Background(), store.NewMem(), nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, bank.Close()) })
	s := bank.In("acme/user-42")
	for i := range 100 {
		_, err := s.Remember(context.Background(), memory.Draft{
			Kind:    memory.Pattern,
			Trigger: fmt.Sprintf("problem number %d in module m%d", i, i%10),
			Content: fmt.Sprintf("look at part p%d before anything else", i),
		})
		require.NoError(b, err)
	}
	q := memory.Query{Text: "the server leaks memory in module m7", K: 8, Inject: true, Situation: "leak"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Recall(context.Background(), q); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRemember(b *testing.B) {
	for _, c := range []struct{ n, words int }{{100, 12}, {10_000, 30}} {
		b.Run(fmt.Sprintf("n=%d", c.n), func(b *testing.B) {
			s, _ := benchSpace(b, c.n, c.words)
			ds := drafts(c.n+50_000, c.words)[c.n:]
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Remember(context.Background(), ds[i%len(ds)]); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

// A pattern that every run derives again, as chunks are.
func BenchmarkStrengthen(b *testing.B) {
	s, ds := benchSpace(b, 100, 12)
	d := ds[50]
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i++
		d.Key = fmt.Sprint("run-", i)
		d.Source = memory.Source{Origin: memory.Derived, Run: d.Key}
		if _, err := s.Remember(context.Background(), d); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFeedback(b *testing.B) {
	s, _ := benchSpace(b, 100, 12)
	hits, err := s.Recall(context.Background(), memory.Query{K: 8})
	require.NoError(b, err)
	shown := ids(hits)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i++
		f := memory.Feedback{Key: fmt.Sprint(i), Injected: shown, Utilized: shown[:2], Delivered: true, Situation: "x"}
		if err := s.Feedback(context.Background(), f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	st := store.NewMem()
	bank, err := memory.Open(context.Background(), st, nil)
	require.NoError(b, err)
	_, err = bank.In("acme/user-42").RememberAll(context.Background(), drafts(10_000, 30))
	require.NoError(b, err)
	require.NoError(b, bank.Close())
	for b.Loop() {
		bank, err := memory.Open(context.Background(), st, nil)
		require.NoError(b, err)
		require.NoError(b, bank.Close())
	}
}

// Under ACTR all that matches is scored.
func BenchmarkRecallACTR(b *testing.B) {
	for _, c := range []struct {
		name, text string
	}{{"few", ""}, {"all", "common"}} {
		b.Run(c.name, func(b *testing.B) {
			bank, err := memory.Open(context.Background(), store.NewMem(), &memory.Options{Policy: memory.ACTR{Noise: 0.25}})
			require.NoError(b, err)
			b.Cleanup(func() { require.NoError(b, bank.Close()) })
			s := bank.In("acme/user-42")
			ds := drafts(10_000, 30)
			for i := range ds {
				ds[i].Content += " common"
			}
			_, err = s.RememberAll(context.Background(), ds)
			require.NoError(b, err)
			q := memory.Query{Text: c.text}
			if c.text == "" {
				q.Text = strings.Join(strings.Fields(ds[5000].Content)[:5], " ")
			}
			q.K = len(ds)
			hits, err := s.Recall(context.Background(), q)
			require.NoError(b, err)
			q.K = 10
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Recall(context.Background(), q); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(hits)), "matches")
		})
	}
}

// BenchmarkColdTenant is the first recall of a tenant that is not in memory, of 1,000 records.
func BenchmarkColdTenant(b *testing.B) {
	st := store.NewMem()
	write, err := memory.Open(context.Background(), st, nil)
	require.NoError(b, err)
	for tenant := range 2 {
		for i := range 1000 {
			_, err := write.In(memory.Scope(fmt.Sprint("tenant-", tenant))).Remember(context.Background(), memory.Draft{
				Kind: memory.Episode, Content: fmt.Sprint("the key of room ", i, " is with ann since the door of house ", i%37, " was mended in march, and nobody else has one"),
			})
			require.NoError(b, err)
		}
	}
	require.NoError(b, write.Close())
	bank, err := memory.Open(context.Background(), st, &memory.Options{IndexBytes: 1})
	require.NoError(b, err)
	for n := 0; b.Loop(); n++ {
		hits, err := bank.In(memory.Scope(fmt.Sprint("tenant-", n%2))).Recall(context.Background(), memory.Query{Text: "who has the key of room 7"})
		require.NoError(b, err)
		require.NotEmpty(b, hits)
	}
	require.NoError(b, bank.Close())
	all, err := memory.Open(context.Background(), st, nil)
	require.NoError(b, err)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.NoError(b, all.Close())
	all = nil
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/2000, "B/record")
	runtime.KeepAlive(st)
}
