package main

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
)

// picture shows what share of the tasks is solved for how much money.
type picture struct {
	singles []outcome // of one model each
	names   []string
	ladders []outcome // fixed, the best for their money in hindsight
	arc     []outcome // by what a task may cost
	oracle  outcome
}

// draw returns the picture as SVG. The money is on a logarithmic scale.
func (p *picture) draw() []byte {
	const width, height, left, right, top, bottom = 760.0, 460.0, 60.0, 150.0, 40.0, 50.0
	all := append(append(append([]outcome{p.oracle}, p.singles...), p.ladders...), p.arc...)
	least, most, low, high := math.Inf(1), 0.0, 1.0, 0.0
	for _, o := range all {
		least, most = min(least, o.usd), max(most, o.usd)
		low, high = min(low, o.solved), max(high, o.solved)
	}
	least, most = least/1.3, most*1.3
	low, high = math.Floor(low*10)/10, min(1, math.Ceil(high*20)/20)
	x := func(usd float64) float64 {
		return left + (width-left-right)*math.Log(usd/least)/math.Log(most/least)
	}
	y := func(solved float64) float64 { return height - bottom - (height-top-bottom)*(solved-low)/(high-low) }

	var b bytes.Buffer
	text := func(x, y float64, fill, anchor, text string) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" fill="%s" text-anchor="%s">%s</text>`+"\n", x, y, fill, anchor, html.EscapeString(text))
	}
	line := func(os []outcome, fill string, dashes string) {
		fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="2" stroke-dasharray="%s" points="`, fill, dashes)
		for _, o := range os {
			fmt.Fprintf(&b, "%.1f,%.1f ", x(o.usd), y(o.solved))
		}
		b.WriteString("\"/>\n")
	}
	dot := func(o outcome, r float64, fill string) {
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="%g" fill="%s"/>`+"\n", x(o.usd), y(o.solved), r, fill)
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%g" height="%g" fill="#fff"/>`+"\n", width, height)
	for s := low; s <= high+1e-9; s += 0.1 {
		fmt.Fprintf(&b, `<path d="M%g %.1fH%g" stroke="#ddd"/>`+"\n", left, y(s), width-right)
		text(left-6, y(s)+4, "#666", "end", fmt.Sprintf("%.0f %%", 100*s))
	}
	for _, usd := range []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10} {
		if usd > least && usd < most {
			fmt.Fprintf(&b, `<path d="M%.1f %gV%g" stroke="#ddd"/>`+"\n", x(usd), top, height-bottom)
			text(x(usd), height-bottom+16, "#666", "middle", fmt.Sprintf("$%g", usd))
		}
	}
	text(left, top-16, "#444", "start", "solved, by what a task costs on average")
	const grey, blue, red, green = "#888", "#2f7fc1", "#c0603a", "#3a8a4a"
	var taken [][3]float64 // names that are drawn: where, and how wide
	order := make([]int, len(p.singles))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(p.singles[j].solved, p.singles[i].solved) })
	for _, i := range order {
		o := p.singles[i]
		dot(o, 3, grey)
		at := [3]float64{x(o.usd) + 6, y(o.solved) + 4, 6.5 * float64(len(p.names[i]))}
		for slices.ContainsFunc(taken, func(t [3]float64) bool {
			return at[0] < t[0]+t[2] && t[0] < at[0]+at[2] && math.Abs(at[1]-t[1]) < 12
		}) {
			at[1]++
		}
		taken = append(taken, at)
		text(at[0], at[1], grey, "start", p.names[i])
	}
	line(p.ladders, red, "5 4")
	line(p.arc, blue, "none")
	for _, o := range p.arc {
		dot(o, 4.5, blue)
	}
	dot(p.oracle, 5, green)
	for i, l := range []struct{ fill, text string }{
		{green, "oracle"}, {red, "fixed ladders,"}, {red, "best in hindsight"}, {blue, "arc, from a cold start"}, {grey, "one model, always"},
	} {
		text(width-right+12, top+12+18*float64(i), l.fill, "start", l.text)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}
