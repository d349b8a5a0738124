package activation_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/actr"
	"github.com/arc-learn/arc/memory/internal/activation"
	"github.com/arc-learn/arc/memory/internal/ident"
	"github.com/arc-learn/arc/memory/internal/tally"
)

const second = 1_000_000

// used returns the counters of a record that helped at these seconds.
func used(seconds ...int64) *tally.Counts {
	c := new(tally.Counts)
	for _, s := range seconds {
		c.Helped++
		c.Used(time.UnixMicro(s*second), tally.MostUses)
	}
	return c
}

func TestBaseLevel(t *testing.T) {
	const made, now = 100 * second, 200 * second
	c := used(150, 190)
	for form, want := range map[activation.Form]float64{
		"":          math.Log(1/math.Sqrt(100) + 1/math.Sqrt(50) + 1/math.Sqrt(10)),
		"exact":     math.Log(1/math.Sqrt(100) + 1/math.Sqrt(50) + 1/math.Sqrt(10)),
		"optimized": actr.Optimized(3, 100, .5),
		"none":      0,
	} {
		m := &activation.Model{Form: form, Decay: activation.Decay}
		require.InDelta(t, want, m.BaseLevel(c, made, now), 1e-12, form)
	}
	var defaults *activation.Model
	require.InDelta(t, -.5*math.Log(100), defaults.BaseLevel(used(), made, now), 1e-12, "its making is a use")
	require.InDelta(t, math.Log(1/math.Sqrt(80)+1/math.Sqrt(30)), defaults.BaseLevel(c, made, 180*second), 1e-12,
		"a later use does not count")
	require.False(t, math.IsInf(defaults.BaseLevel(used(), now, made), 0), "the clock was put back")
}

func TestMismatch(t *testing.T) {
	m := &activation.Model{MismatchPenalty: 2}
	require.Zero(t, m.Mismatch(1))
	require.InDelta(t, 2*math.Log(.5), m.Mismatch(.5), 1e-12)
	require.False(t, math.IsInf(m.Mismatch(0), 0))
	require.Zero(t, (&activation.Model{}).Mismatch(.5), "relevance only selects")
}

func TestThreshold(t *testing.T) {
	require.False(t, (&activation.Model{Threshold: activation.NoThreshold}).Cuts())
	require.True(t, (&activation.Model{}).Cuts())
}

// The same query draws the same noise, and any other one another.
func TestDraws(t *testing.T) {
	m, other := &activation.Model{Seed: 1}, &activation.Model{Seed: 2}
	context := []ident.Key{ident.Of("a")}
	d := m.Draws("acme", "text", 5, context)
	require.Equal(t, d, m.Draws("acme", "text", 5, context))
	for _, o := range []uint64{
		other.Draws("acme", "text", 5, context), m.Draws("acmet", "ext", 5, context), m.Draws("acme", "texts", 5, context),
		m.Draws("acme", "text", 6, context), m.Draws("acme", "text", 5, nil),
	} {
		require.NotEqual(t, d, o)
	}
}
