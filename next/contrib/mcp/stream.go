package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os/exec"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const maxLine = 16 << 20 // bytes of a message

// lines is a stream of messages of JSON-RPC, one a line, as they are in the world: with a byte order mark, and with
// lines between them that are none, at which the SDK would end the session.
type lines struct {
	in    *bufio.Reader
	other func(line []byte) // is told of a line that is no message
	close func() error
	ready []byte // to be read

	mu  sync.Mutex
	out io.Writer // under mu
}

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.ready) == 0 {
		line, err := l.line()
		line = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("\ufeff")))
		switch {
		case len(line) > 0 && (line[0] == '{' || line[0] == '[') && json.Valid(line):
			l.ready = append(line, '\n')
		case len(line) > 0:
			l.other(line)
		}
		if err != nil && len(l.ready) == 0 {
			return 0, err
		}
	}
	n := copy(p, l.ready)
	l.ready = l.ready[n:]
	return n, nil
}

// line reads the next line; of one that is too long, its beginning.
func (l *lines) line() (line []byte, err error) {
	for {
		part, err := l.in.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if len(line) > maxLine {
				line = line[:100] // which is no message any more
			}
			return line, err
		}
	}
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

// Close implements io.Closer.
func (l *lines) Close() error { return l.close() }

// program is a transport to a program over its standard input and output.
type program struct {
	cmd    *exec.Cmd
	logger *slog.Logger
}

// Connect implements sdk.Transport.
func (p *program) Connect(ctx context.Context) (sdk.Connection, error) {
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.cmd.WaitDelay = leaving // its own children may hold the pipes
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	l := &lines{in: bufio.NewReader(out), out: in}
	l.other = func(line []byte) {
		p.logger.Warn("mcp: a line of a server is no message", "line", clip(string(line), 200))
	}
	l.close = sync.OnceValue(func() error { // by either half of the stream
		err := in.Close()
		kill := time.AfterFunc(leaving, func() { _ = p.cmd.Process.Kill() }) // an error: it has ended
		defer kill.Stop()
		var exit *exec.ExitError
		if ended := p.cmd.Wait(); !errors.As(ended, &exit) { // how it ends is its own matter
			err = errors.Join(err, ended)
		}
		return err
	})
	return (&sdk.IOTransport{Reader: l, Writer: l}).Connect(ctx)
}
