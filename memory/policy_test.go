package memory

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/store"
)

// The figures of ACT-R's manual and tutorial and of pyactr.
func TestActivation(t *testing.T) {
	t.Parallel()
	even := func(n, k int) (ages []float64) {
		for i := 1; i <= min(n, k); i++ {
			ages = append(ages, float64(i)*1000/float64(n))
		}
		return ages
	}
	burst := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, c := range []struct {
		ages []float64
		n    int
		life float64
		want float64
	}{
		{[]float64{5}, 1, 5, -0.80471896}, {[]float64{1}, 1, 1, 0}, {[]float64{16}, 1, 16, -1.38629436}, {[]float64{0}, 1, 0, 1.49786614},
		{[]float64{0.01, 5}, 2, 5, 1.59317632}, {[]float64{1, 2, 3, 4}, 4, 4, 1.0240529}, {burst, 10, 10, 1.6136287},
		{[]float64{1.05, 50.05, 100.05}, 3, 100.05, 0.19657432}, {even(2, 1), 2, 1000, -2.50384795}, {even(2, 3), 2, 1000, -2.57250405},
		{even(5, 1), 5, 1000, -1.40438873}, {even(5, 3), 5, 1000, -1.45751414}, {even(10, 1), 10, 1000, -0.63025589},
		{even(20, 1), 20, 1000, 0.11643965}, {even(1000, 3), 1000, 1000, 4.12819686}, {burst[:1], 20, 999, 0.77260294},
		{burst[:3], 20, 999, 1.1952196}, {burst, 20, 999, 1.72209119},
	} {
		require.InDelta(t, c.want, baseLevel(c.ages, c.n, c.life), 1e-6, "%v of %d", c.ages, c.n)
	}
	for _, c := range []struct {
		most       float64
		fan, links int
		want       float64
	}{{4, 2, 1, 3.306853}, {4, 3, 1, 2.901388}, {4, 2, 0, 0}, {2, 5, 2, 1.083709}, {1, 5, 1, 0}, {maxAssociation, 2, 1, 0.90685282}, {maxAssociation, 4, 1, 0.21370564}} {
		require.InDelta(t, c.want, association(c.most, bond{c.links, c.fan}), 1e-6)
	}
	mean, square := 0.0, 0.0
	for i := range 10_000 {
		x := logistic(time.Unix(int64(i), 0).String())
		mean, square = mean+x/10_000, square+x*x/10_000
	}
	require.InDelta(t, 0, mean, 0.05)
	require.InDelta(t, math.Pi*math.Pi/3, square, 0.3)
}

// Effectiveness goes the way of helped/(helped+failed), and recency is that of whole days where they are whole.
func TestParts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		helped, failed int
		raw            float64
	}{{0, 0, 0.5}, {1, 0, 1}, {0, 1, 0}, {3, 1, 0.75}, {1, 3, 0.25}} {
		m := more{Counts: counts{helped: c.helped, misled: c.failed}}
		got := m.effectiveness(0)
		require.True(t, got > 0 && got < 1 && (got > 0.5) == (c.raw > 0.5) && (got < 0.5) == (c.raw < 0.5), "%+v: %v", c, got)
	}
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	b, err := Open(t.Context(), store.NewGroup(store.NewMem()), &Options{Now: func() time.Time { return now }})
	require.NoError(t, err)
	_, err = b.In("a").Remember(t.Context(), Draft{Kind: Pattern, Content: "restart"})
	require.NoError(t, err)
	for days, want := range map[time.Duration]float64{0: 1, 7: 0.5, 14: 0.25} {
		hits, err := b.In("a").Recall(t.Context(), Query{Text: "restart", At: now.Add(days * 24 * time.Hour)})
		require.NoError(t, err)
		require.InDelta(t, want, hits[0].Recency, 1e-9)
	}
	require.InDelta(t, 0.75, (&Parts{0.5, 1, 1}).weighted(true), 1e-9)
	require.InDelta(t, 0.6, (&Parts{1, 0, 0.5}).weighted(true), 1e-9)
	require.InDelta(t, 0.5, (&Parts{1, 0, 0.5}).weighted(false), 1e-9)
}

func TestCosine(t *testing.T) {
	t.Parallel()
	a, err := text.New()
	require.NoError(t, err)
	similarity := func(x, y string) float64 { return cosine(a.Append(nil, x), a.Append(nil, y)) }
	require.Equal(t, 1.0, similarity("the build fails", "Build: fails THE"))
	require.Equal(t, 0.0, similarity("import cycle", "unused variable"))
	require.Equal(t, 0.0, similarity("", ""))
	require.InDelta(t, 0.5, similarity("red green", "red blue"), 1e-12)
	require.Greater(t, similarity("is it the same build", "build"), 0.9, "function words weigh little")
}
