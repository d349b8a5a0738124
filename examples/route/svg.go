package main

import (
	"bytes"
	"fmt"
)

// draw returns a picture of the curves, as SVG.
func draw(curves []curve) []byte {
	const width, height, margin = 720.0, 400.0, 50.0
	colors := []string{"#b0b0b0", "#d08030", "#4080c0", "#202020"}
	low, high, n := 0.0, 1.0, 1
	for _, c := range curves {
		n = max(n, len(c.regret))
		for _, r := range c.regret {
			low, high = min(low, r), max(high, r)
		}
	}
	x := func(i int) float64 { return margin + (width-2*margin)*float64(i)/float64(n) }
	y := func(r float64) float64 { return height - margin - (height-2*margin)*(r-low)/(high-low) }

	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%g" height="%g" fill="#fff"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<path d="M%g %.1fH%g" stroke="#888"/>`+"\n", margin, y(0), width-margin)
	for _, r := range []float64{low, high} {
		fmt.Fprintf(&b, `<text x="%g" y="%.1f" text-anchor="end">%.0f</text>`+"\n", margin-5, y(r)+4, r)
	}
	fmt.Fprintf(&b, `<text x="%g" y="%g">regret against the best single model, after each of %d questions</text>`+"\n", margin, margin/2, n)
	for k, c := range curves {
		fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="1.5" points="`, colors[k%len(colors)])
		step := max(1, len(c.regret)/500)
		for i := 0; i < len(c.regret); i += step {
			fmt.Fprintf(&b, "%.1f,%.1f ", x(i), y(c.regret[i]))
		}
		b.WriteString("\"/>\n")
		fmt.Fprintf(&b, `<text x="%g" y="%g" fill="%s">%s</text>`+"\n", margin+10+150*float64(k), height-margin/3, colors[k%len(colors)], c.name)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}
