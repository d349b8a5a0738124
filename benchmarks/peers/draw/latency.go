package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/arc-learn/arc/benchmarks/peers/report"
)

// block is a set of queries and the engines that were asked them.
type block struct {
	set, title string
	rows       []report.Latency // in the order of engines
}

// blocks are the figures of each set that has any, where the most memories
// were compared with peers.
func blocks(r *report.Report) (out []block) {
	for _, b := range []block{
		{set: "content", title: "words of content"},
		{set: "all", title: "words of all kinds"},
		{set: "hybrid", title: "words and a vector"},
	} {
		n := 0
		for _, f := range r.Latency {
			if f.Set == b.set && f.Engine != "arc" {
				n = max(n, f.N)
			}
		}
		for _, e := range engines {
			for _, f := range r.Latency {
				if f.Set == b.set && f.N == n && f.Engine == e.name {
					b.rows = append(b.rows, f)
				}
			}
		}
		if len(b.rows) > 0 {
			out = append(out, b)
		}
	}
	return out
}

// latency draws the median and the 99th percentile of a query.
func latency(r *report.Report) (string, error) {
	bs := blocks(r)
	if len(bs) == 0 {
		return "", errNothing
	}
	low, high, height := math.Inf(1), 0.0, 146
	var said []string
	for _, b := range bs {
		height += 44 + 24*len(b.rows)
		for _, f := range b.rows {
			low, high = min(low, f.P50), max(high, f.P99)
			said = append(said, fmt.Sprintf("%s, %s: %s", b.title, f.Engine, micros(f.P50)))
		}
	}
	c := newCanvas(900, height, "Time of a query, by arc and its peers", "Medians. "+strings.Join(said, "; "))
	c.text(20, 28, "h", "start", "Time of a query")
	c.text(20, 48, "s", "start", fmt.Sprintf("%s memories of 30 words on disk, the ten best with their texts; median, and a line to the 99th percentile",
		thousands(bs[0].rows[0].N)))
	from, to := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	x := func(us float64) float64 { return rowLeft + rowWidth*(math.Log10(us)-from)/(to-from) }
	bottom := float64(height - 72)
	for e := from; e <= to; e++ {
		at := x(math.Pow(10, e))
		c.line(at, 66, at, bottom, "g")
		c.text(at, bottom+18, "s", "middle", tick(e))
	}
	y := 84.0
	for _, b := range bs {
		c.text(20, y, "b", "start", b.title)
		y += 26
		for _, f := range b.rows {
			row(c, y, x, f, b.rows[0])
			y += 24
		}
		y += 18
	}
	c.text(20, float64(height-30), "s", "start", fmt.Sprintf("%s, %s; medians of %d runs, by turns in one process", r.Machine, r.Date, r.Runs))
	c.text(20, float64(height-12), "s", "start", peers(r))
	return c.end(), nil
}

// Where the axis of times is.
const rowLeft, rowWidth = 190, 440

// row draws one engine's times at y.
func row(c *canvas, y float64, x func(us float64) float64, f, first report.Latency) {
	k, weight := class(f.Engine), ""
	if f.Engine == "arc" {
		weight = " b"
	}
	c.text(rowLeft-14, y+4, k+weight, "end", f.Engine)
	c.line(x(f.P50), y, x(f.P99), y, "w "+k)
	c.line(x(f.P99), y-4, x(f.P99), y+4, "w "+k)
	c.dot(x(f.P50), y, 5.5, "f "+k)
	c.text(rowLeft+rowWidth+20, y+4, k+weight, "start", value(f, first))
}

// value is the median in figures and, for a peer, how many times it is the
// first row's, which is arc's.
func value(f, first report.Latency) string {
	if f.Engine == first.Engine || first.Engine != "arc" {
		return micros(f.P50)
	}
	ratio := f.P50 / first.P50
	if ratio < 9.95 {
		return fmt.Sprintf("%s (%.1f × arc)", micros(f.P50), ratio)
	}
	return fmt.Sprintf("%s (%.0f × arc)", micros(f.P50), ratio)
}

// tick names 10^e microseconds.
func tick(e float64) string {
	switch {
	case e >= 6:
		return fmt.Sprintf("%.0f s", math.Pow(10, e-6))
	case e >= 3:
		return fmt.Sprintf("%.0f ms", math.Pow(10, e-3))
	}
	return fmt.Sprintf("%g µs", math.Pow(10, e))
}

func peers(r *report.Report) string {
	var parts []string
	for _, name := range []string{"go", "bleve", "bluge", "SQLite FTS5", "chromem-go"} {
		if v := r.Versions[name]; v != "" {
			if name == "SQLite FTS5" {
				name = "mattn/go-sqlite3"
			}
			parts = append(parts, strings.TrimPrefix(name+" "+v, "go "))
		}
	}
	return strings.Join(parts, ", ")
}
