package main

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// canvas collects the elements of a picture. Its colours follow the reader's
// scheme, light or dark; the ground is transparent.
type canvas struct {
	strings.Builder
}

// engines have a colour each, the same in all pictures, that differs in hue
// and in lightness (after Okabe and Ito), once on light and once on dark.
var engines = []struct{ name, light, dark string }{
	{"arc", "#0061a8", "#63b8ff"},
	{"bleve", "#c24e00", "#ff9a57"},
	{"bleve, BM25", "#c24e00", "#ff9a57"},
	{"bluge", "#00805c", "#3fd0a4"},
	{"SQLite FTS5", "#a8437f", "#ec9cca"},
	{"chromem-go", "#8a6a00", "#f0c94d"},
	{"chromem-go and bleve", "#6b4fb3", "#b9a4f5"},
}

func class(engine string) string {
	i := slices.IndexFunc(engines, func(e struct{ name, light, dark string }) bool { return e.name == engine })
	return fmt.Sprintf("e%d", i)
}

// newCanvas begins a picture; what it shows is said for those who cannot see
// it, too.
func newCanvas(width, height int, title, desc string) *canvas {
	c := &canvas{}
	c.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="t d">`, width, height, width, height)
	c.add(`<title id="t">%s</title>`, html.EscapeString(title))
	c.add(`<desc id="d">%s</desc>`, html.EscapeString(desc))
	c.add(`<style>`)
	c.add(`text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; fill: #24292f; }`)
	c.add(`.h { font-size: 17px; font-weight: 600; } .s { font-size: 12px; fill: #57606a; } .b { font-weight: 600; }`)
	c.add(`.g { stroke: #d0d7de; stroke-width: 1; } .l { fill: none; stroke-width: 2; stroke-linejoin: round; } .w { stroke-width: 2; }`)
	c.add(`.a { stroke-width: 3.5; } .d { stroke-dasharray: 5 4; }`)
	for i, e := range engines {
		c.add(`.l.e%d, .w.e%d { stroke: %s; } .f.e%d, text.e%d { fill: %s; }`, i, i, e.light, i, i, e.light)
	}
	c.add(`@media (prefers-color-scheme: dark) {`)
	c.add(`text { fill: #e6edf3; } .s { fill: #9198a1; } .g { stroke: #3d444d; }`)
	for i, e := range engines {
		c.add(`.l.e%d, .w.e%d { stroke: %s; } .f.e%d, text.e%d { fill: %s; }`, i, i, e.dark, i, i, e.dark)
	}
	c.add("}\n</style>")
	return c
}

func (c *canvas) add(format string, args ...any) {
	fmt.Fprintf(c, format+"\n", args...)
}

func (c *canvas) text(x, y float64, class, anchor, text string) {
	c.add(`<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`, x, y, class, anchor, html.EscapeString(text))
}

func (c *canvas) line(x1, y1, x2, y2 float64, class string) {
	c.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>`, x1, y1, x2, y2, class)
}

func (c *canvas) dot(x, y, r float64, class string) {
	c.add(`<circle cx="%.1f" cy="%.1f" r="%.1f" class="%s"/>`, x, y, r, class)
}

func (c *canvas) end() string {
	c.add("</svg>")
	return c.String()
}

// spread moves labels apart that are nearer than gap; ys is in rising order.
func spread(ys []float64, gap float64) []float64 {
	out := slices.Clone(ys)
	for range 100 {
		moved := false
		for i := 1; i < len(out); i++ {
			if d := gap - (out[i] - out[i-1]); d > 0.01 {
				out[i-1] -= d / 2
				out[i] += d / 2
				moved = true
			}
		}
		if !moved {
			break
		}
	}
	return out
}

// micros writes a time given in microseconds with two digits that count.
func micros(us float64) string {
	unit := "µs"
	if us >= 1000 {
		us, unit = us/1000, "ms"
	}
	if us < 9.95 {
		return fmt.Sprintf("%.1f %s", us, unit)
	}
	return fmt.Sprintf("%.0f %s", us, unit)
}

// thousands writes a number with commas.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
