package console_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc/contrib/console"
)

// typed is a terminal at which those lines are typed.
func typed(args string, lines ...string) (t *console.Terminal, out, errs *bytes.Buffer) {
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	t = &console.Terminal{Args: strings.Fields(args), Cwd: "/home/anna", Env: map[string]string{"A": "1"},
		Width:  132,
		Person: "anna", Out: out, Err: errs}
	t.Ask = func(ctx context.Context, prompt string) (string, error) {
		if len(lines) == 0 {
			return "", io.EOF
		}
		line := lines[0]
		lines = lines[1:]
		return line, nil
	}
	return t, out, errs
}

func TestConsole(t *testing.T) {
	defer goleak.VerifyNone(t)
	path := console.Path(t.TempDir(), "c.sock")
	waits := make(chan struct{})
	_, err := console.Forward(t.Context(), path, &console.Terminal{})
	require.ErrorIs(t, err, console.ErrNobody)
	require.NoError(t, os.WriteFile(path, nil, 0o600), "of a process that was killed")
	s, err := console.Listen(path, func(ctx context.Context, at *console.Terminal) int {
		switch at.Args[0] {
		case "wait":
			close(waits)
			<-ctx.Done()
			return 130
		case "ask":
			for {
				line, err := at.Ask(ctx, "name? ")
				if err != nil {
					fmt.Fprint(at.Err, err)
					return 3
				}
				fmt.Fprintf(at.Out, "hello %s\n", line)
			}
		}
		fmt.Fprint(at.Out, at.Args, at.Cwd, at.Env["A"], at.Width, at.Live, at.Color, at.Person)
		return 7
	})
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	at, out, _ := typed("print it")
	code, err := console.Forward(t.Context(), path, at)
	require.NoError(t, err)
	require.Equal(t, 7, code)
	require.Equal(t, "[print it]/home/anna1132 false falseanna", out.String())

	at, out, errs := typed("ask", "anna", "bob")
	code, err = console.Forward(t.Context(), path, at)
	require.NoError(t, err)
	require.Equal(t, 3, code)
	require.Equal(t, "hello anna\nhello bob\n", out.String())
	require.Equal(t, "name? name? name? EOF", errs.String())

	ctx, stop := context.WithCancel(t.Context())
	go func() { <-waits; stop() }()
	at, _, _ = typed("wait")
	code, err = console.Forward(ctx, path, at)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, code)
	require.NoError(t, s.Close(), "the command has ended, too")
	code, err = console.Forward(t.Context(), path, at)
	require.True(t, errors.Is(err, console.ErrNobody))
	require.Equal(t, 1, code)

	l, err := net.Listen("unix", path) // it is gone in the middle of a command
	require.NoError(t, err)
	go func() {
		if conn, err := l.Accept(); err == nil {
			_, _ = bufio.NewReader(conn).ReadString('\n')
			fmt.Fprintln(conn, "{}")
			conn.Close()
		}
	}()
	code, err = console.Forward(t.Context(), path, at)
	require.ErrorContains(t, err, "is gone")
	require.Equal(t, 1, code)
	require.NoError(t, l.Close())
}

func TestPath(t *testing.T) {
	require.Equal(t, filepath.Join("/srv/a", "arc.sock"), console.Path("/srv/a", "arc.sock"))
	long := strings.Repeat("/deep", 30)
	require.LessOrEqual(t, len(filepath.Base(console.Path(long, "arc.sock"))), 40)
	require.NotEqual(t, console.Path(long, "arc.sock"), console.Path(long+"er", "arc.sock"))
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	require.Equal(t, cache, filepath.Dir(console.Path(long, "arc.sock")), "where nobody else can put one")
}
