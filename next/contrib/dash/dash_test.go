package dash_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPages(t *testing.T) {
	b := newBench(t, nil, nil)
	for range 2 { // empty, and full
		for _, path := range []string{"", "runs", "learned", "memories", "worth", "queue", "proposals"} {
			code, page := b.get(path)
			require.Equal(t, 200, code, path)
			require.Contains(t, page, "<h1>", path)
		}
		if len(t.Name()) > 0 {
			b.fill()
		}
	}
}
