package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc/contrib/mcp"
)

// A client that sends one endless line costs no more memory than the longest line, and its next one
// is read.
func TestRelayBoundsALine(t *testing.T) {
	in := strings.Repeat("x", 4*mcp.MaxLine) + "\r\n" + strings.Repeat("y", mcp.MaxLine) + "\r\n\r\nping"
	r, err := newRelay(strings.NewReader(in), nil, hello{})
	require.NoError(t, err)
	for _, n := range []int{mcp.MaxLine + 1, mcp.MaxLine, len("ping")} {
		require.Len(t, <-r.lines, n+1)
	}
	_, more := <-r.lines
	require.False(t, more)
}
