// Package report is what the comparison of recall with its peers measured, as
// it is kept in a file.
package report

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"regexp"
	"slices"
)

// Report has the figures of one machine. A part that was not run is empty.
type Report struct {
	Machine  string            `json:"machine"`
	Date     string            `json:"date"`
	Runs     int               `json:"runs"`
	Versions map[string]string `json:"versions"`
	Latency  []Latency         `json:"latency"`
	Build    []Build           `json:"build"`
	Write    []Write           `json:"write"`
	Recall   []Recall          `json:"recall"`
}

// Latency is what one query costs. Quantiles are medians over the runs of the
// quantile of each, in microseconds.
type Latency struct {
	Engine string  `json:"engine"`
	Set    string  `json:"set"` // of queries: content, all, threads, vector, …
	N      int     `json:"n"`   // memories
	P50    float64 `json:"p50_us"`
	P99    float64 `json:"p99_us"`
	Allocs float64 `json:"allocs"`           // per query, of Go
	Recall float64 `json:"recall,omitempty"` // of vectors: the share of the exact 10 that is found
}

// Build is what it costs to index N memories, and to open them again.
type Build struct {
	Engine string  `json:"engine"`
	Set    string  `json:"set"`
	N      int     `json:"n"`
	Build  float64 `json:"build_s"`
	Open   float64 `json:"open_s,omitempty"`
	Heap   float64 `json:"heap_b"` // bytes of Go heap per memory when opened
	Store  float64 `json:"store_b,omitempty"`
	Text   float64 `json:"text_b"` // bytes of text per memory
	Disk   float64 `json:"disk_b"` // per memory
}

// Write is the durable writing of memories, one per operation.
type Write struct {
	Engine  string  `json:"engine"`
	Writers int     `json:"writers"`
	PerSec  float64 `json:"per_s"`
	P50     float64 `json:"p50_us"`
	P99     float64 `json:"p99_us"`
}

// Recall is the share of the evidence that is among the first K, mean over
// questions.
type Recall struct {
	Engine    string  `json:"engine"`
	Level     string  `json:"level"`    // turn, session
	Category  int     `json:"category"` // 0: all
	K         int     `json:"k"`
	Value     float64 `json:"value"`
	Questions int     `json:"questions"`
}

// Read returns the report in a file; the zero Report if there is none.
func Read(file string) (Report, error) {
	var r Report
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(b, &r)
}

// Save puts the report into a file, one figure per line.
func (r *Report) Save(file string) error {
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	b = figure.ReplaceAllFunc(b, func(f []byte) []byte { return space.ReplaceAll(f, []byte(" ")) })
	return os.WriteFile(file, append(b, '\n'), 0o644)
}

var (
	figure = regexp.MustCompile(`(?s)  \{[^{}]*\}`)
	space  = regexp.MustCompile(`\n *`)
)

// AddLatency adds a figure in place of an earlier one of the same kind; so do
// the other methods Add.
func (r *Report) AddLatency(f Latency) {
	round(2, &f.P50, &f.P99, &f.Allocs)
	round(4, &f.Recall)
	put(&r.Latency, f, func(o Latency) bool { return o.Engine == f.Engine && o.Set == f.Set && o.N == f.N })
}

// AddBuild adds a figure.
func (r *Report) AddBuild(f Build) {
	round(4, &f.Build, &f.Open)
	round(0, &f.Heap, &f.Store, &f.Text, &f.Disk)
	put(&r.Build, f, func(o Build) bool { return o.Engine == f.Engine && o.Set == f.Set && o.N == f.N })
}

// AddWrite adds a figure.
func (r *Report) AddWrite(f Write) {
	round(1, &f.PerSec, &f.P50, &f.P99)
	put(&r.Write, f, func(o Write) bool { return o.Engine == f.Engine && o.Writers == f.Writers })
}

// AddRecall adds a figure.
func (r *Report) AddRecall(f Recall) {
	round(2, &f.Value)
	put(&r.Recall, f, func(o Recall) bool {
		return o.Engine == f.Engine && o.Level == f.Level && o.Category == f.Category && o.K == f.K
	})
}

// round leaves so many decimals.
func round(decimals int, xs ...*float64) {
	p := math.Pow10(decimals)
	for _, x := range xs {
		*x = math.Round(*x*p) / p
	}
}

func put[T any](list *[]T, f T, same func(T) bool) {
	if i := slices.IndexFunc(*list, same); i >= 0 {
		(*list)[i] = f
		return
	}
	*list = append(*list, f)
}
