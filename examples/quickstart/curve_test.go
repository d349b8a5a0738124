package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/examples/quickstart/internal/repair"
)

var (
	curveFile   = flag.String("curve", "", "measure the learning curve, and draw it into this SVG file")
	curveOrders = flag.Uint64("curve.orders", 5, "orders of the packages that are measured")
)

// TestLearningCurve repairs all packages in shuffled orders, once with one agent
// that learns and once with a new one for each package. It takes minutes.
func TestLearningCurve(t *testing.T) {
	if *curveFile == "" {
		t.Skip("no curve: -curve names the file to draw")
	}
	var learns, forgets [][]int
	for seed := uint64(1); seed <= *curveOrders; seed++ {
		with, without := curve(t, seed, true), curve(t, seed, false)
		t.Logf("order %d: %d attempts with learning, %d without: %.0f %% fewer; of the last ten packages %d and %d: %.0f %%",
			seed, sum(with), sum(without), fewer(with, without), sum(with[20:]), sum(without[20:]), fewer(with[20:], without[20:]))
		learns, forgets = append(learns, with), append(forgets, without)
	}
	require.NoError(t, os.WriteFile(*curveFile, []byte(drawCurve(learns, forgets)), 0o644))
}

func sum(values []int) (n int) {
	for _, v := range values {
		n += v
	}
	return n
}

func fewer(a, b []int) float64 { return 100 * (1 - float64(sum(a))/float64(sum(b))) }

// curve returns the attempts that each package takes, in order.
func curve(t *testing.T, seed uint64, learning bool) (attempts []int) {
	t.Helper()
	packages, err := repair.Load(corpus, "testdata/*.txtar")
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(seed, 3))
	r.Shuffle(len(packages), func(i, j int) { packages[i], packages[j] = packages[j], packages[i] })
	var s *shop
	for _, p := range packages {
		if s == nil || !learning {
			s = bench(t, seed)
		}
		ses, err := s.session(t.Context(), "curve", []repair.Package{p})
		require.NoError(t, err)
		require.Equal(t, 1, ses.Delivered, p.Name)
		attempts = append(attempts, ses.Attempts)
	}
	return attempts
}

// bench is a shop that keeps nothing on disk and says nothing.
func bench(t *testing.T, seed uint64) *shop {
	t.Helper()
	dir := t.TempDir()
	h := host(filepath.Join(dir, "attempt"), seed)
	crew := &crew{}
	agent, err := arc.Open(t.Context(), "", h, &arc.Options{Seed: seed, Attempts: len(h.Workers), Policy: crew.policy})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, agent.Close()) })
	return &shop{
		agent: agent, crew: crew, config: config{dir: dir, seed: seed}, scratch: dir, stamp: "curve",
		out: newPrinter(io.Discard), result: &result{},
	}
}

// drawCurve draws the mean attempts by position in the order, with learning and
// without.
func drawCurve(learns, forgets [][]int) string {
	const width, height, left, top, right, bottom = 720, 360, 56, 24, 24, 48
	n := len(learns[0])
	x := func(i int) float64 { return left + float64(i)*(width-left-right)/float64(n-1) }
	y := func(v float64) float64 { return height - bottom - v*(height-top-bottom)/10 }
	line := func(runs [][]int, color string) string {
		var b strings.Builder
		for i := range n {
			mean := 0.0
			for _, r := range runs {
				mean += float64(r[i]) / float64(len(runs))
			}
			fmt.Fprintf(&b, "%.1f,%.1f ", x(i), y(mean))
		}
		return fmt.Sprintf(`<polyline fill="none" stroke="%s" stroke-width="2.5" points="%s"/>`+"\n", color, strings.TrimSpace(b.String()))
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13" fill="#888">`+"\n", width, height)
	for v := 0; v <= 10; v += 2 {
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#8884"/><text x="%d" y="%.1f" text-anchor="end">%d</text>`+"\n",
			left, width-right, y(float64(v)), y(float64(v)), left-8, y(float64(v))+4, v)
	}
	for i := 0; i < n; i += 5 {
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n", x(i), height-bottom+20, i+1)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">package, in shuffled order (mean of %d orders)</text>`+"\n", (left+width-right)/2, height-8, len(learns))
	fmt.Fprintf(&b, `<text x="%d" y="14">attempts per delivered package</text>`+"\n", left-40)
	b.WriteString(line(forgets, "#c0603a") + line(learns, "#2f7fc1"))
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end" fill="#c0603a">without learning</text>`+"\n", width-right, top+20)
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end" fill="#2f7fc1">with learning</text>`+"\n</svg>\n", width-right, top+40)
	return b.String()
}
