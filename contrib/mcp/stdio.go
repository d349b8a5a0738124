package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// MaxLine is the largest message on a stream, in bytes.
const MaxLine = sdk.DefaultMaxRequestBodyBytes

// Stdio is Serve on a pair of streams, a message on each line: a program's
// standard input and output. It closes neither. A line that is no message, or
// longer than MaxLine, is answered by an error, and the session goes on. The
// messages of a batch are answered one by one. A read that is under way when ctx
// ends goes on until in does.
func (s *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	to := &wholeLines{out: out}
	from := &messages{in: bufio.NewReader(in), refused: to}
	return s.Serve(ctx, &sdk.IOTransport{Reader: io.NopCloser(from), Writer: to})
}

// wholeLines is an output of several writers, each of which writes whole lines. It
// is not closed.
type wholeLines struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *wholeLines) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

func (*wholeLines) Close() error { return nil }

// messages reads lines, and passes on those that are messages: the SDK ends the
// session at any other.
type messages struct {
	in      *bufio.Reader
	refused io.Writer
	ready   []byte // to be read
}

func (m *messages) Read(p []byte) (int, error) {
	for len(m.ready) == 0 {
		line, err := m.line()
		if line = bytes.TrimSpace(line); len(line) > 0 || errors.Is(err, errLong) {
			if err := m.take(line, err); err != nil {
				return 0, err
			}
		}
		if err != nil && !errors.Is(err, errLong) {
			if len(m.ready) > 0 {
				break // the next call meets the end again
			}
			return 0, err
		}
	}
	n := copy(p, m.ready)
	m.ready = m.ready[n:]
	return n, nil
}

var errLong = fmt.Errorf("the line has more than %d bytes", MaxLine)

// line reads the next line. What is too long is passed over.
func (m *messages) line() (line []byte, err error) {
	long := false
	for {
		part, err := m.in.ReadSlice('\n')
		if long = long || len(line)+len(part) > MaxLine; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		if err == nil && long {
			return nil, errLong
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// take has a line read if it is a message or a batch of such, and refuses it
// otherwise. The error is that of the output.
func (m *messages) take(line []byte, long error) error {
	code, err := int64(jsonrpc.CodeInvalidRequest), long
	if !errors.Is(long, errLong) {
		err = nil
		batch := []json.RawMessage{line}
		if !json.Valid(line) {
			code, err = jsonrpc.CodeParseError, errors.New("the line is not JSON")
		} else if line[0] == '[' {
			if err = json.Unmarshal(line, &batch); err == nil && len(batch) == 0 {
				err = errors.New("the batch is empty")
			}
		}
		var ready []byte
		for _, raw := range batch {
			if err == nil {
				_, err = jsonrpc.DecodeMessage(raw)
			}
			ready = append(append(ready, raw...), '\n')
		}
		if err == nil {
			m.ready = ready
			return nil
		}
	}
	answer, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": err.Error()},
	})
	if err == nil {
		_, err = m.refused.Write(append(answer, '\n'))
	}
	return err
}
