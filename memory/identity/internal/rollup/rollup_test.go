package rollup_test

import (
	"fmt"
	"testing"

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
