package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arc-learn/arc/benchmarks/peers/report"
)

// tables writes all figures as Markdown.
func tables(r *report.Report) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# Recall and its peers: the figures\n\nWritten by `benchmarks/run peers` from [recall.json](recall.json); what was measured and how is in\n")
	fmt.Fprintf(&b, "[benchmarks/README.md](../benchmarks/README.md#recall-and-its-peers). %s, %s; medians of %d runs.\n%s.\n", r.Machine, r.Date, r.Runs, peers(r))
	for _, part := range []func(*strings.Builder, *report.Report){latencyTable, buildTable, writeTable, recallTable} {
		part(&b, r)
	}
	if len(r.Latency)+len(r.Build)+len(r.Write)+len(r.Recall) == 0 {
		return "", errNothing
	}
	return b.String(), nil
}

// head begins a table under a heading, unless there is nothing to tell.
func head(b *strings.Builder, n int, title string, columns ...string) bool {
	if n == 0 {
		return false
	}
	fmt.Fprintf(b, "\n## %s\n\n| %s |\n|%s\n", title, strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	return true
}

func latencyTable(b *strings.Builder, r *report.Report) {
	if !head(b, len(r.Latency), "A query", "queries", "memories", "engine", "p50", "p99", "Go allocations", "× arc") {
		return
	}
	for _, f := range r.Latency {
		ratio, note := "", ""
		for _, a := range r.Latency {
			if a.Engine == "arc" && f.Engine != "arc" && a.Set == f.Set && a.N == f.N {
				ratio = fmt.Sprintf("%.1f", f.P50/a.P50)
			}
		}
		if f.Recall > 0 {
			note = fmt.Sprintf(", %.3f of the exact ten", f.Recall)
		}
		fmt.Fprintf(b, "| %s%s | %s | %s | %s | %s | %.0f | %s |\n", f.Set, note, thousands(f.N), f.Engine, micros(f.P50), micros(f.P99), f.Allocs, ratio)
	}
}

func buildTable(b *strings.Builder, r *report.Report) {
	if !head(b, len(r.Build), "Building and opening", "memories", "", "engine", "build, s", "open, s", "heap a memory, B", "text a memory, B", "disk a memory, B") {
		return
	}
	for _, f := range r.Build {
		open := ""
		if f.Open > 0 {
			open = fmt.Sprintf("%.2f", f.Open)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %.2f | %s | %.0f | %.0f | %.0f |\n", thousands(f.N), f.Set, f.Engine, f.Build, open, f.Heap, f.Text, f.Disk)
	}
}

func writeTable(b *strings.Builder, r *report.Report) {
	if !head(b, len(r.Write), "Writing one memory, durably", "engine", "writers", "a second", "p50", "p99") {
		return
	}
	for _, f := range r.Write {
		rate := ""
		if f.PerSec > 0 {
			rate = thousands(int(f.PerSec))
		}
		fmt.Fprintf(b, "| %s | %d | %s | %s | %s |\n", f.Engine, f.Writers, rate, micros(f.P50), micros(f.P99))
	}
}

func recallTable(b *strings.Builder, r *report.Report) {
	var ks []int
	for _, f := range r.Recall {
		ks = append(ks, f.K)
	}
	slices.Sort(ks)
	ks = slices.Compact(ks)
	columns := []string{"level", "category", "questions", "engine"}
	for _, k := range ks {
		columns = append(columns, fmt.Sprint("@", k))
	}
	if !head(b, len(r.Recall), "Evidence found among the first k, percent", columns...) {
		return
	}
	figures := slices.Clone(r.Recall)
	slices.SortStableFunc(figures, func(a, b report.Recall) int {
		return cmp.Or(cmp.Compare(b.Level, a.Level), cmp.Compare(a.Category, b.Category), cmp.Compare(class(a.Engine), class(b.Engine)), cmp.Compare(a.K, b.K))
	})
	for i, f := range figures {
		if i == 0 || f.Engine != figures[i-1].Engine || f.Category != figures[i-1].Category || f.Level != figures[i-1].Level {
			category := "all"
			if f.Category > 0 {
				category = fmt.Sprint(f.Category)
			}
			fmt.Fprintf(b, "| %s | %s | %d | %s |", f.Level, category, f.Questions, f.Engine)
		}
		fmt.Fprintf(b, " %.1f |", f.Value)
		if i+1 == len(figures) || figures[i+1].K <= f.K {
			b.WriteByte('\n')
		}
	}
}
