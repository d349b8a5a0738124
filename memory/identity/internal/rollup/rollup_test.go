package rollup_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/identity/internal/rollup"
)

func TestAdd(t *testing.T) {
	var d rollup.Day
	for range 3 {
		d.Add(rollup.Count{Topic: "Go", N: 1, More: .1})
	}
	d.Add(rollup.Count{Host: "a.example", N: 2})
	require.Equal(t, []rollup.Count{{Topic: "Go", N: 3, More: .3}, {Host: "a.example", N: 2}}, d.Counts)
	for i := range 100 {
		d.Add(rollup.Count{Topic: fmt.Sprint("topic ", i), N: 1})
	}
	require.Len(t, d.Counts, 80)
	require.Equal(t, 22, d.Others)
	d.Add(rollup.Count{Topic: "Go", N: 1})
	require.Equal(t, 22, d.Others, "what is counted by itself stays so")
}

func TestMerge(t *testing.T) {
	a := &rollup.Day{Counts: []rollup.Count{{Topic: "Go", N: 3, More: .5}, {Topic: "Rust", N: 1}}, Others: 2}
	b := &rollup.Day{Counts: []rollup.Count{{Topic: "Go", N: 3, More: .7}, {Topic: "Zig", N: 4}}, Others: 1}
	a.Mark("x")
	b.Mark("y")
	b.Mark("x")
	ab, ba := a.Clone(), b.Clone()
	ab.Merge(b)
	ba.Merge(a)
	require.Equal(t, ab, ba, "whichever comes first")
	require.Equal(t, []rollup.Count{{Topic: "Go", N: 3, More: .7}, {Topic: "Rust", N: 1}, {Topic: "Zig", N: 4}}, ab.Counts)
	require.Equal(t, 2, ab.Others)
	require.Equal(t, []string{"x", "y"}, ab.Marks)
	again := ab.Clone()
	again.Merge(b)
	require.Equal(t, ab, again)
	require.Len(t, a.Counts, 2, "a clone shares nothing")
}

func TestMore(t *testing.T) {
	for dwell, want := range map[time.Duration]float64{
		0: 0, -1: 0, time.Second: -.8, 30 * time.Second: -.5, time.Minute: 0, 2 * time.Minute: 1, time.Hour: 2,
	} {
		require.InDelta(t, want, rollup.More(dwell), 1e-12, dwell)
	}
}

func TestRead(t *testing.T) {
	date, d, whole := rollup.Read([]byte(`{"day":"2026-03-01","others":-2,"counts":[{"topic":"tea","n":9000000000000000000,"more":1e308},
		{"topic":"chess","n":2,"more":-9}]}`))
	require.True(t, whole)
	require.Equal(t, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), rollup.TimeOf(date))
	require.Equal(t, &rollup.Day{Counts: []rollup.Count{
		{Topic: "chess", N: 2, More: -2}, {Topic: "tea", N: math.MaxInt32, More: 3 * math.MaxInt32},
	}}, d)
	for _, raw := range []string{`7`, `{}`, `{"day":"never"}`, `{"day":"2026-02-30"}`, `{"day":"2026-03-01","counts":7}`} {
		date, _, whole := rollup.Read([]byte(raw))
		require.False(t, whole, raw)
		require.Empty(t, date, raw)
	}
	for _, c := range []string{`"n":0`, `"n":1,"type":"` + strings.Repeat("x", 65) + `"`, `"n":1,"host":"\n"`, `"n":1,"topic":" "`} {
		_, d, whole := rollup.Read([]byte(`{"day":"2026-03-01","counts":[{"n":1},{` + c + `}]}`))
		require.False(t, whole, c)
		require.Len(t, d.Counts, 1, c)
	}
	_, d, whole = rollup.Read([]byte(`{"day":"2026-03-01","marks":["a","\n"]}`))
	require.False(t, whole)
	require.Equal(t, []string{"a"}, d.Marks)
}
