package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two terminals: what one says, the other does. Interrupted in between, the first
// goes on with what was said.
func TestTwoTerminals(t *testing.T) {
	for say, want := range map[string]string{"yes": "deployer: deploy version 2 to everybody\nthe run is delivered\n", "no": "the run is blocked\n"} {
		t.Run(say, func(t *testing.T) {
			dir := t.TempDir()
			begin := func() (lines *bufio.Reader, addr string, stop func(), ended chan error) {
				ctx, stop := context.WithCancel(t.Context())
				first, out := io.Pipe()
				ended = make(chan error, 1)
				go func() {
					err := wait(ctx, out, dir, "127.0.0.1:0")
					out.Close()
					ended <- err
				}()
				lines = bufio.NewReader(first)
				line := func() string {
					s, err := lines.ReadString('\n')
					require.NoError(t, err)
					return s
				}
				require.Equal(t, "deployer waits: its effects reach: public\n", line())
				require.Contains(t, line(), "in another terminal, before ")
				return lines, regexp.MustCompile(`-addr (\S+) `).FindStringSubmatch(line())[1], stop, ended
			}
			_, _, stop, ended := begin()
			stop()
			require.ErrorIs(t, <-ended, context.Canceled)
			lines, addr, stop, ended := begin()
			defer stop()
			var second bytes.Buffer
			require.NoError(t, answer(t.Context(), &second, addr, say == "yes", "ada"))
			require.Contains(t, second.String(), "by ada\n")
			rest, err := io.ReadAll(lines)
			require.NoError(t, err)
			require.Equal(t, want, string(rest))
			require.NoError(t, <-ended)
		})
	}
}
