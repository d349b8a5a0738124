package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/contrib/mcp"
	"github.com/arc-learn/arc/memory"
)

// A directory has one opener. The process that has it open, its owner, serves
// others of the same user by a socket; each begins with a hello, and speaks MCP
// then. When the owner ends, one of the others takes the directory over, and tells
// the new server what its client has said to the first.

// hello is the first line on the socket.
type hello struct {
	Scope    memory.Scope `json:"scope"`
	Operator bool         `json:"operator"`
}

const (
	helloTime = 5 * time.Second  // for which an owner waits for it
	pauseTime = time.Second      // before one is accepted again, after an error
	drainTime = 10 * time.Second // for answers after the end of a client's input
)

// socketOf returns where the owner of a directory listens: in a directory that only
// this user can enter.
func socketOf(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	private := filepath.Join(os.TempDir(), fmt.Sprintf("arc-mcp-%d", os.Getuid()))
	if err := os.Mkdir(private, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	if err := checkPrivate(private); err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(private, fmt.Sprintf("%x.sock", sum[:8])), nil
}

// share serves those who come by the socket until ctx ends, and waits for their
// sessions. It is the owner's: what lies at the path is of an owner that was killed.
func share(ctx context.Context, agent *arc.Agent, c config, path string) (func(), error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			switch {
			case err == nil:
				all.Go(func() { welcome(ctx, agent, c, conn) })
				continue
			case errors.Is(err, net.ErrClosed):
				return
			}
			c.logger.Warn("a client could not be let in", "error", err) // too many open files: not for ever
			select {
			case <-time.After(pauseTime):
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		_ = listener.Close() // removes the socket
		all.Wait()
	}, nil
}

// welcome serves one connection. A bad one is closed, which is all that the other
// side needs to know.
func welcome(ctx context.Context, agent *arc.Agent, c config, conn net.Conn) {
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // ends the read below
	defer conn.Close()
	in := bufio.NewReader(conn)
	if conn.SetReadDeadline(time.Now().Add(helloTime)) != nil {
		return
	}
	line, err := in.ReadSlice('\n')
	var h hello
	if err != nil || json.Unmarshal(line, &h) != nil || conn.SetReadDeadline(time.Time{}) != nil {
		return
	}
	server, err := mcp.NewServer(agent, &mcp.Options{Scope: h.Scope, Operator: h.Operator, Logger: c.logger})
	if err == nil {
		err = server.Stdio(ctx, in, conn)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
		c.logger.Warn("a session by the socket ended", "error", err)
	}
}

// errLost says that the owner has ended, and the client has not.
var errLost = errors.New("the process that has the directory open has ended")

// relay carries a client's lines to whoever has the directory open.
type relay struct {
	lines    <-chan []byte // closed at the end of the client's input
	out      io.Writer
	hello    []byte
	answered chan struct{} // has room for one: look again at what is open

	mu        sync.Mutex
	began     [][]byte        // initialize and initialized, to be told to the next server
	first     string          // id of initialize
	replaying bool            // its answer is not for the client again
	open      map[string]bool // ids of requests without an answer
}

func newRelay(in io.Reader, out io.Writer, h hello) (*relay, error) {
	first, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	lines := make(chan []byte)
	go func() { // ends with the process: a read of standard input cannot be interrupted
		defer close(lines)
		r := bufio.NewReader(in)
		for {
			line, err := []byte(nil), bufio.ErrBufferFull
			for errors.Is(err, bufio.ErrBufferFull) {
				var part []byte
				part, err = r.ReadSlice('\n')
				line = append(line, part[:min(len(part), mcp.MaxLine+1-len(line))]...) // enough for the server to refuse it
			}
			if len(bytes.TrimSpace(line)) > 0 {
				lines <- append(bytes.TrimRight(line, "\r\n"), '\n')
			}
			if err != nil {
				return
			}
		}
	}()
	return &relay{
		lines: lines, out: out, hello: append(first, '\n'), answered: make(chan struct{}, 1), open: map[string]bool{},
	}, nil
}

// message is what a relay reads of a line.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// through carries lines both ways until the client ends (nil), ctx does, or the
// other side (errLost): then every request that it left without an answer has an
// error for one.
func (r *relay) through(ctx context.Context, conn io.ReadWriteCloser) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.answers(conn)
	}()
	err := r.requests(ctx, conn, ended)
	_ = conn.Close() // ends the reader
	<-ended
	if errors.Is(err, errLost) {
		return errors.Join(err, r.giveUp())
	}
	return err
}

func (r *relay) requests(ctx context.Context, conn io.Writer, ended <-chan struct{}) error {
	r.mu.Lock()
	before := append([][]byte{r.hello}, r.began...)
	r.replaying = len(r.began) > 0
	r.mu.Unlock()
	for _, line := range before {
		if _, err := conn.Write(line); err != nil {
			return errLost
		}
	}
	for {
		select {
		case line, ok := <-r.lines:
			if !ok {
				return r.drain(ctx, ended)
			}
			r.note(line)
			if _, err := conn.Write(line); err != nil {
				return errLost
			}
		case <-ended:
			return errLost
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// drain waits for the answers that a client which has ended its input may still read.
func (r *relay) drain(ctx context.Context, ended <-chan struct{}) error {
	late := time.NewTimer(drainTime)
	defer late.Stop()
	for {
		r.mu.Lock()
		n := len(r.open)
		r.mu.Unlock()
		if n == 0 {
			return nil
		}
		select {
		case <-r.answered:
		case <-ended:
			return nil
		case <-late.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// note remembers what the next server has to know.
func (r *relay) note(line []byte) {
	batch := make([]message, 1)
	if json.Unmarshal(line, &batch) != nil && json.Unmarshal(line, &batch[0]) != nil {
		return // no message: the server says so
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range batch {
		switch m.Method {
		case "initialize":
			r.began, r.first = append(r.began, line), string(m.ID)
		case "notifications/initialized":
			r.began = append(r.began, line)
		}
		if m.Method != "" && len(m.ID) > 0 {
			r.open[string(m.ID)] = true
		}
	}
}

// answers passes on what comes from a server.
func (r *relay) answers(conn io.Reader) {
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return // half a line is none
		}
		var m message
		known := json.Unmarshal(line, &m) == nil && m.Method == "" && len(m.ID) > 0
		r.mu.Lock()
		again := known && r.replaying && string(m.ID) == r.first
		if again {
			r.replaying = false
		} else {
			if known {
				delete(r.open, string(m.ID))
			}
			_, err = r.out.Write(line)
			select {
			case r.answered <- struct{}{}:
			default:
			}
		}
		r.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// giveUp answers what the lost server has not.
func (r *relay) giveUp() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.open {
		line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"the server has changed: it is unknown whether this was done"}}`+"\n", id)
		if _, err := r.out.Write(line); err != nil {
			return err
		}
	}
	clear(r.open)
	return nil
}
