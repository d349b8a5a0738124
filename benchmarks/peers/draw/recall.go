package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/arc-learn/arc/benchmarks/peers/report"
)

// recallAtK draws the share of the evidence that is found among the first k,
// for turns and for sessions.
func recallAtK(r *report.Report) (string, error) {
	turns, sessions := curves(r, "turn"), curves(r, "session")
	if len(turns) == 0 {
		return "", errNothing
	}
	var n int
	var said []string
	for _, f := range r.Recall {
		if f.Level == "turn" && f.Category == 0 && f.K == 10 {
			n = f.Questions
			said = append(said, fmt.Sprintf("%s %.1f", f.Engine, f.Value))
		}
	}
	c := newCanvas(900, 440, "Evidence found among the first k, by arc and its peers", "Turns at k = 10: "+strings.Join(said, ", "))
	c.text(20, 28, "h", "start", "Evidence found among the first k")
	c.text(20, 48, "s", "start", fmt.Sprintf("LoCoMo, conversations 0 to 4, %s questions, no model; percent, mean over questions", thousands(n)))
	panel(c, 60, "which turn was it", turns)
	panel(c, 500, "which session was it", sessions)
	c.text(20, 428, "s", "start", "Each engine by its defaults, a document per turn: speaker and text. arc has the speaker as actor and the session as thread.")
	return c.end(), nil
}

type curve struct {
	engine string
	points []report.Recall // by rising k
}

func curves(r *report.Report, level string) []curve {
	var cs []curve
	for _, e := range engines {
		cv := curve{engine: e.name}
		for _, f := range r.Recall {
			if f.Engine == e.name && f.Level == level && f.Category == 0 {
				cv.points = append(cv.points, f)
			}
		}
		slices.SortFunc(cv.points, func(a, b report.Recall) int { return cmp.Compare(a.K, b.K) })
		if len(cv.points) > 0 {
			cs = append(cs, cv)
		}
	}
	return cs
}

// panel draws curves on a logarithmic axis of k, with names at their ends.
func panel(c *canvas, left float64, title string, cs []curve) {
	const top, height, width = 90, 270, 240
	low, maxK := 100.0, 1
	for _, cv := range cs {
		low = min(low, cv.points[0].Value)
		maxK = max(maxK, cv.points[len(cv.points)-1].K)
	}
	low = math.Floor(low/10) * 10
	x := func(k int) float64 { return left + width*math.Log(float64(k))/math.Log(float64(maxK)) }
	y := func(v float64) float64 { return top + height*(100-v)/(100-low) }
	c.text(left, top-14, "b", "start", title)
	for v := low; v <= 100; v += 10 {
		c.line(left, y(v), left+width, y(v), "g")
		c.text(left-8, y(v)+4, "s", "end", fmt.Sprintf("%.0f", v))
	}
	for _, p := range cs[0].points {
		c.text(x(p.K), top+height+20, "s", "middle", fmt.Sprint(p.K))
	}
	c.text(left+width/2, top+height+40, "s", "middle", "k")
	for _, cv := range slices.Backward(cs) { // arc on top
		style := "l " + class(cv.engine)
		if cv.engine == "arc" {
			style += " a"
		}
		if strings.Contains(cv.engine, ",") {
			style += " d"
		}
		var path []string
		for _, p := range cv.points {
			path = append(path, fmt.Sprintf("%.1f,%.1f", x(p.K), y(p.Value)))
		}
		c.add(`<polyline points="%s" class="%s"/>`, strings.Join(path, " "), style)
		for _, p := range cv.points {
			c.dot(x(p.K), y(p.Value), 2.5, "f "+class(cv.engine))
		}
	}
	label(c, left+width+12, cs, y)
}

// label names the curves beside their values at k = 10, which most readers
// look for.
func label(c *canvas, left float64, cs []curve, y func(float64) float64) {
	at10 := func(cv curve) float64 {
		for _, p := range cv.points {
			if p.K == 10 {
				return p.Value
			}
		}
		return cv.points[len(cv.points)-1].Value
	}
	cs = slices.Clone(cs)
	slices.SortStableFunc(cs, func(a, b curve) int { return cmp.Compare(at10(b), at10(a)) })
	var ys []float64
	for _, cv := range cs {
		ys = append(ys, y(at10(cv)))
	}
	ys = spread(ys, 19)
	c.text(left+128, ys[0]-22, "s", "end", "at 10")
	for i, cv := range cs {
		weight := ""
		if cv.engine == "arc" {
			weight = " b"
		}
		c.text(left, ys[i]+4, class(cv.engine)+weight, "start", cv.engine)
		c.text(left+128, ys[i]+4, class(cv.engine)+weight, "end", fmt.Sprintf("%.1f", at10(cv)))
	}
}
