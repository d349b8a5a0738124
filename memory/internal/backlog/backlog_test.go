package backlog_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/internal/backlog"
)

func same(a, b int) bool { return a == b }

// all takes what there is.
func all(t *testing.T, b *backlog.Backlog[int], elsewhere func() ([]int, bool, error)) (out []int) {
	for {
		n, ok, err := b.Next(elsewhere, same)
		require.NoError(t, err)
		if !ok {
			return out
		}
		out = append(out, n)
	}
}

func none() ([]int, bool, error) { panic("looked elsewhere") }

func TestOrder(t *testing.T) {
	t.Parallel()
	var b backlog.Backlog[int]
	b.Add(1)
	b.Add(2)
	n, ok, err := b.Next(none, same)
	require.NoError(t, err)
	require.True(t, ok)
	b.Again(n)
	require.Equal(t, []int{2, 1}, all(t, &b, none))
}

// What does not fit in memory comes from elsewhere, each once, as does what is added while
// that is looked up.
func TestBound(t *testing.T) {
	t.Parallel()
	var b backlog.Backlog[int]
	const total = 3*backlog.Most + 7
	var stored []int
	for n := range total {
		stored = append(stored, n)
		b.Add(n)
		require.LessOrEqual(t, b.Len(), backlog.Most)
	}
	late := false
	var out []int
	for {
		n, ok, err := b.Next(func() ([]int, bool, error) {
			if !late {
				stored, late = append(stored, total), true
				b.Add(total)
			}
			first := stored[:min(len(stored), backlog.Most)]
			return first, len(first) < len(stored), nil
		}, same)
		require.NoError(t, err)
		if !ok {
			break
		}
		out = append(out, n)
		for i, s := range stored {
			if s == n {
				stored = append(stored[:i:i], stored[i+1:]...)
				break
			}
		}
	}
	require.Len(t, out, total+1)
	seen := map[int]bool{}
	for _, n := range out {
		require.False(t, seen[n], n)
		seen[n] = true
	}
}

// After an error it looks again.
func TestError(t *testing.T) {
	t.Parallel()
	var b backlog.Backlog[int]
	b.LookUp()
	bad := errors.New("bad")
	_, ok, err := b.Next(func() ([]int, bool, error) { return nil, false, bad }, same)
	require.ErrorIs(t, err, bad)
	require.False(t, ok)
	looks := 0
	require.Equal(t, []int{7}, all(t, &b, func() ([]int, bool, error) {
		looks++
		return []int{7}, false, nil
	}))
	require.Equal(t, 1, looks)
}
