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
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// MaxLine is the largest message on a stream, in bytes, without the end of its line.
const MaxLine = sdk.DefaultMaxRequestBodyBytes

// Stdio is Serve on a pair of streams, a message on each line: a program's
// standard input and output. It closes neither. A line that is no message, or
// longer than MaxLine, is answered by an error, and the session goes on. The
// messages of a batch are answered one by one. When in ends, calls under way have ten
// seconds to be answered. A read that is under way when ctx ends goes on until in does.
func (s *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	to := &wholeLines{out: out, open: map[any]bool{}, answered: make(chan struct{}, 1)}
	from := &messages{in: bufio.NewReader(in), to: to, done: ctx.Done()}
	return s.Serve(ctx, &sdk.IOTransport{Reader: io.NopCloser(from), Writer: to})
}

// wholeLines is an output of several writers, each of which writes whole lines. It
// is not closed.
type wholeLines struct {
	mu       sync.Mutex
	out      io.Writer
	open     map[any]bool  // guarded by mu: ids of calls without an answer
	answered chan struct{} // has room for one: look again at what is open
}

func (w *wholeLines) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.out.Write(p)
	if msg, bad := jsonrpc.DecodeMessage(p); bad == nil {
		if answer, ok := msg.(*jsonrpc.Response); ok {
			delete(w.open, answer.ID.Raw())
			select {
			case w.answered <- struct{}{}:
			default:
			}
		}
	}
	return n, err
}

// expect takes down calls whose answers are to come.
func (w *wholeLines) expect(calls []any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range calls {
		w.open[id] = true
	}
}

// drainTime is for answers after the end of the input: its writer may still read.
const drainTime = 10 * time.Second

// drain waits until all calls are answered, done is closed, or drainTime is over.
func (w *wholeLines) drain(done <-chan struct{}) {
	late := time.NewTimer(drainTime)
	defer late.Stop()
	for {
		w.mu.Lock()
		n := len(w.open)
		w.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-w.answered:
		case <-late.C:
			return
		case <-done:
			return
		}
	}
}

func (*wholeLines) Close() error { return nil }

// messages reads lines, and passes on those that are messages: the SDK ends the
// session at any other.
type messages struct {
	in    *bufio.Reader
	to    *wholeLines
	done  <-chan struct{}
	ready []byte // to be read
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
			if errors.Is(err, io.EOF) {
				m.to.drain(m.done)
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
		if long = long || len(line)+len(bytes.TrimSuffix(part, []byte{'\n'})) > MaxLine; long {
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
		var calls []any
		for _, raw := range batch {
			var msg jsonrpc.Message
			if err == nil {
				msg, err = jsonrpc.DecodeMessage(raw)
			}
			if call, ok := msg.(*jsonrpc.Request); ok && call.IsCall() {
				calls = append(calls, call.ID.Raw())
			}
			ready = append(append(ready, raw...), '\n')
		}
		if err == nil {
			m.ready = ready
			m.to.expect(calls)
			return nil
		}
	}
	answer, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": err.Error()},
	})
	if err == nil {
		_, err = m.to.Write(append(answer, '\n'))
	}
	return err
}
