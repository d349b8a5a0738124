package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/benchmarks/peers/report"
)

// TestRun takes the whole comparison through a small corpus.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "figures.json")
	err := run(t.Context(), file, "locomo,words,vectors", "1000", 1, "testdata/conversations.json", "a machine")
	require.NoError(t, err)
	r, err := report.Read(file)
	require.NoError(t, err)
	require.Equal(t, "a machine", r.Machine)
	found := map[string]float64{}
	for _, f := range r.Recall {
		if f.Level == "turn" && f.Category == 0 && f.K == 3 {
			require.Equal(t, 3, f.Questions, "questions without evidence do not count")
			found[f.Engine] = f.Value
		}
	}
	for _, name := range []string{"arc", "bleve", "bluge"} {
		require.InDelta(t, 100, found[name], 1e-9, name)
	}
	sets := map[string]int{}
	for _, f := range r.Latency {
		if f.Set == "vector" {
			require.Greater(t, f.Recall, 0.9, f.Engine)
		}
		sets[f.Set]++
		require.Positive(t, f.P50)
		require.GreaterOrEqual(t, f.P99, f.P50)
	}
	for _, name := range []string{"content", "all", "threads", "4 writers", "vector", "hybrid"} {
		require.Positive(t, sets[name], name)
	}

	// A second run replaces what it measures.
	require.NoError(t, run(t.Context(), file, "locomo", "1000", 1, "testdata/conversations.json", "a machine"))
	again, err := report.Read(file)
	require.NoError(t, err)
	require.Len(t, again.Recall, len(r.Recall))
	require.Equal(t, r.Latency, again.Latency)
}

func TestRunRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "figures.json")
	require.Error(t, run(t.Context(), file, "nothing", "1000", 1, "", ""))
	require.Error(t, run(t.Context(), file, "words", "12", 1, "", ""))
	require.Error(t, run(t.Context(), file, "locomo", "1000", 1, "testdata/none.json", ""))
	require.NoError(t, run(t.Context(), file, "locomo", "1000", 1, "", ""))
}

// TestCorpus checks that memories and queries are what the comparison says.
func TestCorpus(t *testing.T) {
	z := newZipf()
	rank := map[string]int{}
	for r, w := range z.words {
		rank[w] = r
	}
	require.Len(t, rank, words, "every word is another")
	docs := corpus(z, 2000, 1, true)
	require.Equal(t, docs, corpus(z, 2000, 1, true))
	counts := map[string]int{}
	for _, d := range docs {
		n := 0
		for w := range strings.FieldsSeq(d.text) {
			counts[w]++
			n++
		}
		require.True(t, n >= 20 && n <= 40)
	}
	require.InDelta(t, 2, float64(counts[z.words[0]])/float64(counts[z.words[1]]), 0.2, "the second word is half as common")
	for _, q := range questions(z, docs, true) {
		seen := map[string]bool{}
		for w := range strings.FieldsSeq(q) {
			seen[w] = true
			require.GreaterOrEqual(t, rank[w], common)
		}
		require.Len(t, seen, perQuery)
	}
	near := addVectors(docs)
	require.Len(t, near, queries)
	require.Equal(t, 0, nearest(docs, docs[0].vector, 10)[0])
}

func TestFuse(t *testing.T) {
	a, b := []hit{{doc: 1}, {doc: 2}, {doc: 3}}, []hit{{doc: 3}, {doc: 4}}
	require.Equal(t, []hit{{doc: 3}, {doc: 1}, {doc: 2}}, fuse(3, a, b))
}
