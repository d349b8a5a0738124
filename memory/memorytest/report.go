package memorytest

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Report is what [Measure] found: a row for all questions, then one for each
// category, in order of their names.
type Report struct {
	Rows []Row `json:"rows"`
}

// Row is what was found for the questions of a category.
type Row struct {
	Category     string   `json:"category"`     // "": all
	Questions    int      `json:"questions"`    // how many there are
	Unanswerable int      `json:"unanswerable"` // how many of them have no gold
	Metrics      []Metric `json:"metrics"`      // those that apply; see [Measure]
}

// Metric is a figure in [0,1] and its standard error.
type Metric struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Error float64 `json:"error"`
}

// Metric returns a metric of a category, "" being all questions; the zero
// Metric if there is none.
func (r Report) Metric(category, name string) Metric {
	for _, row := range r.Rows {
		for _, m := range row.Metrics {
			if row.Category == category && m.Name == name {
				return m
			}
		}
	}
	return Metric{}
}

// String is the report as a table in per cent, each figure with its error: a
// line for each metric, a column for each category.
func (r Report) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(name string, cell func(Row) string) {
		fmt.Fprintf(w, "%s\t", name)
		for _, row := range r.Rows {
			fmt.Fprintf(w, "%s\t", cell(row))
		}
		fmt.Fprintln(w)
	}
	line("", func(row Row) string { return cmp.Or(row.Category, "all") })
	line("questions", func(row Row) string { return strconv.Itoa(row.Questions) })
	line("no answer", func(row Row) string { return strconv.Itoa(row.Unanswerable) })
	for _, name := range r.names() {
		line(name, func(row Row) string {
			m := r.Metric(row.Category, name)
			if m.Name == "" {
				return "-"
			}
			return fmt.Sprintf("%.1f±%.1f", 100*m.Value, 100*m.Error)
		})
	}
	_ = w.Flush() // a strings.Builder takes everything
	return b.String()
}

// names returns the names of all metrics. The first row has those of every
// other: a metric that applies to some questions applies to all.
func (r Report) names() []string {
	var out []string
	for _, row := range r.Rows[:min(1, len(r.Rows))] {
		for _, m := range row.Metrics {
			out = append(out, m.Name)
		}
	}
	return out
}
