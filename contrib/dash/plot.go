package dash

import (
	"fmt"
	"math"
	"strings"

	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/meta"
)

// Sizes of plots, in units of their view boxes.
const (
	sparkWide, sparkHigh = 240.0, 48.0
	gridSide             = 200.0
	railWide             = 240.0
)

// spark is a line through values in [0,1].
type spark struct {
	Points string
	X, Y   float64 // of the last value
	Floor  float64 // where 0.7 is, below which resonance is low
	Last   float64
	Low    float64
	High   float64
	Count  int
}

func newSpark(values []float64) *spark {
	if len(values) == 0 {
		return nil
	}
	at := func(v float64) float64 { return 3 + (sparkHigh-6)*(1-min(1, max(0, v))) }
	s := &spark{Floor: at(0.7), Low: 1, Count: len(values)}
	var b strings.Builder
	for i, v := range values {
		x := 4.0
		if len(values) > 1 {
			x += (sparkWide - 8) * float64(i) / float64(len(values)-1)
		}
		fmt.Fprintf(&b, "%.1f,%.1f ", x, at(v))
		s.X, s.Y, s.Last, s.Low, s.High = x, at(v), v, min(s.Low, v), max(s.High, v)
	}
	s.Points = strings.TrimSpace(b.String())
	return s
}

// grid is a reliability diagram: what was claimed, against what came of it.
type grid struct {
	Dots  []dot
	ECE   float64
	Brier float64
	Count int
}

// dot is a range of confidence.
type dot struct {
	X, Y, R            float64
	From, To           float64
	Count              int
	Claimed, Succeeded float64
}

func newGrid(c iar.Calibration) *grid {
	g := &grid{ECE: c.ECE(), Brier: c.Brier(), Count: c.Count()}
	if g.Count == 0 {
		return nil
	}
	for i, b := range c.Bins {
		if b.Count == 0 {
			continue
		}
		n := float64(b.Count)
		d := dot{
			From: float64(i) / 10, To: float64(i+1) / 10, Count: b.Count,
			Claimed: b.Confidence / n, Succeeded: float64(b.Successes) / n,
		}
		d.X, d.Y = gridSide*d.Claimed, gridSide*(1-d.Succeeded)
		d.R = 3 + 9*math.Sqrt(n/float64(g.Count))
		g.Dots = append(g.Dots, d)
	}
	return g
}

// rail is an interval on the scale from -1 to 1.
type rail struct {
	Low, Wide, Mean float64
	Tone            string
}

func newRail(u meta.Uplift) rail {
	at := func(v float64) float64 { return 4 + (railWide-8)*(min(1, max(-1, v))+1)/2 }
	r := rail{Low: at(u.Low), Wide: at(u.High) - at(u.Low), Mean: at(u.Mean)}
	switch {
	case u.Low > 0:
		r.Tone = "good"
	case u.High < 0:
		r.Tone = "bad"
	}
	return r
}
