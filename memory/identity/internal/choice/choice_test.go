package choice_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/memory/identity/internal/choice"
)

func TestBest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		items   []choice.Item
		room, k int
		want    []int
	}{
		"none":                      {nil, 10, 10, nil},
		"the most valuable":         {[]choice.Item{{.2, 1}, {.9, 9}}, 9, 9, []int{1}},
		"the most for their tokens": {[]choice.Item{{.5, 3}, {.6, 9}, {.4, 3}}, 9, 9, []int{0, 2}},
		"only so many":              {[]choice.Item{{.5, 3}, {.6, 3}, {.4, 3}}, 9, 2, []int{1, 0}},
		"the first of equals":       {[]choice.Item{{.5, 3}, {.5, 3}}, 5, 9, []int{0}},
		"the shorter of equals":     {[]choice.Item{{.5, 3}, {.5, 2}}, 3, 9, []int{1}},
		"what costs nothing":        {[]choice.Item{{.1, 0}, {.5, 3}}, 0, 9, []int{0}},
		"no room":                   {[]choice.Item{{.5, 3}}, -1, 9, nil},
		"no number":                 {[]choice.Item{{.5, 3}}, 9, 0, nil},
	} {
		require.Equal(t, c.want, choice.Best(c.items, c.room, c.k), name)
	}
}
