package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/benchmarks/peers/report"
)

func TestPictures(t *testing.T) {
	dir := t.TempDir()
	figures := filepath.Join(dir, "figures.json")
	r := report.Report{Machine: "a <machine> & more", Date: "2026-11-21", Runs: 5, Versions: map[string]string{"go": "go1.26.8"}}
	for i, e := range []string{"arc", "bleve", "bleve, BM25"} {
		r.AddLatency(report.Latency{Engine: e, Set: "content", N: 1000, P50: 1, P99: 2})
		r.AddLatency(report.Latency{Engine: e, Set: "content", N: 100_000, P50: 20 * float64(1+40*i), P99: 5000})
		for _, k := range []int{1, 10, 50} {
			for _, level := range []string{"turn", "session"} {
				r.AddRecall(report.Recall{Engine: e, Level: level, K: k, Value: float64(30 + k - i), Questions: 1234})
			}
		}
	}
	r.AddBuild(report.Build{Engine: "arc", Set: "words", N: 100_000, Build: 2, Open: 0.5, Heap: 500})
	r.AddWrite(report.Write{Engine: "arc", Writers: 64, PerSec: 31_000, P50: 12, P99: 1500})
	require.NoError(t, r.Save(figures))
	require.NoError(t, run(figures, dir))
	for file, want := range map[string][]string{
		"recall-at-k.svg":    {"arc", "bleve, BM25", "1,234 questions", "40.0", "39.0"},
		"recall-latency.svg": {"100,000 memories", "820 µs (41 × arc)", "a &lt;machine&gt; &amp; more"},
	} {
		b, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		svg := string(b)
		for _, text := range want {
			require.Contains(t, svg, text)
		}
		require.Contains(t, svg, "prefers-color-scheme: dark")
		require.Equal(t, 1, strings.Count(svg, "http"), "nothing is loaded from elsewhere")
		require.NotContains(t, svg, "NaN")
		for d := xml.NewDecoder(strings.NewReader(svg)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else {
				require.NoError(t, err)
			}
		}
	}
}

func TestTables(t *testing.T) {
	var r report.Report
	for _, e := range []string{"bleve", "arc"} {
		r.AddLatency(report.Latency{Engine: e, Set: "vector", N: 1000, P50: float64(30 * len(e)), P99: 2000, Recall: 0.99})
		r.AddRecall(report.Recall{Engine: e, Level: "turn", Category: 2, K: 1, Value: 40, Questions: 7})
		r.AddRecall(report.Recall{Engine: e, Level: "turn", Category: 2, K: 10, Value: 60.04, Questions: 7})
	}
	md, err := tables(&r)
	require.NoError(t, err)
	require.Contains(t, md, "| vector, 0.990 of the exact ten | 1,000 | bleve | 150 µs | 2.0 ms | 0 | 1.7 |\n")
	require.Contains(t, md, "| turn | 2 | 7 | arc | 40.0 | 60.0 |\n| turn | 2 | 7 | bleve | 40.0 | 60.0 |\n")
	require.NotContains(t, md, "Building")
}

func TestNothingToDraw(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, run(filepath.Join(dir, "none.json"), dir))
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, files)
}

func TestSpread(t *testing.T) {
	got := spread([]float64{10, 11, 50}, 10)
	require.InDeltaSlice(t, []float64{5.5, 15.5, 50}, got, 0.1)
}
