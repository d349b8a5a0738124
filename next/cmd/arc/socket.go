package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/arc-learn/arc/next/store"
)

// The commands of other processes come over DIR/arc.sock, which only its owner can open: POST /v1/command takes an
// order, and answers with frames, a line of JSON each; POST /v1/answer/ID takes what a person has typed.

// order is a command line and the screen that it was typed at.
type order struct {
	Args   []string          `json:"args"`
	Width  int               `json:"width"`
	Live   bool              `json:"live"`
	Color  bool              `json:"color"`
	Person string            `json:"person"`
	Cwd    string            `json:"cwd"`
	Env    map[string]string `json:"env"`
}

// frame is a piece of what a command prints, a question, or its end.
type frame struct {
	Out  string `json:"out,omitempty"`
	Err  string `json:"err,omitempty"`
	Ask  string `json:"ask,omitempty"` // the ID of a question, with the prompt in Err
	Exit *int   `json:"exit,omitempty"`
}

// socketPath is that of the socket of a folder. A path that is too long for a socket is shortened.
func socketPath(dir string) string {
	path := filepath.Join(dir, "arc.sock")
	if len(path) > 100 {
		path = filepath.Join(os.TempDir(), fmt.Sprintf("arc-%d-%s.sock", os.Getuid(), handle(dir)))
	}
	return path
}

// door lets other processes in.
type door struct {
	server http.Server
	busy   sync.WaitGroup // commands under way
	path   string

	mu      sync.Mutex
	answers map[string]chan string
}

// listen opens the door of an app. The caller has the store's lock, so a socket that is there is nobody's.
func (a *app) listen(log *slog.Logger) error {
	d := &door{path: socketPath(a.dir), answers: map[string]chan string{}}
	if err := os.Remove(d.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	mask := syscall.Umask(0o177)
	l, err := net.Listen("unix", d.path)
	syscall.Umask(mask)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/command", func(w http.ResponseWriter, r *http.Request) {
		d.busy.Add(1)
		defer d.busy.Done()
		d.command(a, w, r)
	})
	mux.HandleFunc("POST /v1/answer/{id}", d.answer)
	d.server = http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	a.door = d
	go d.server.Serve(l) // ends with close
	return nil
}

// close waits for the commands under way.
func (d *door) close() error {
	err := os.Remove(d.path)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	d.busy.Wait()
	return errors.Join(err, d.server.Close())
}

func (d *door) command(a *app, w http.ResponseWriter, r *http.Request) {
	var o order
	if err := json.NewDecoder(io.LimitReader(r.Body, 16<<20)).Decode(&o); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var mu sync.Mutex
	send := func(f frame) {
		mu.Lock()
		defer mu.Unlock()
		_ = json.NewEncoder(w).Encode(f) // who has left is told by the context
		w.(http.Flusher).Flush()
	}
	s := &screen{
		out: writer(func(p string) { send(frame{Out: p}) }), err: writer(func(p string) { send(frame{Err: p}) }),
		width: o.Width, live: o.Live, color: o.Color, person: o.Person, cwd: o.Cwd, env: o.Env,
	}
	if o.Person != "" {
		s.ask = func(ctx context.Context, prompt string) (string, error) {
			id, answer := rand.Text(), make(chan string, 1)
			d.mu.Lock()
			d.answers[id] = answer
			d.mu.Unlock()
			defer func() {
				d.mu.Lock()
				defer d.mu.Unlock()
				delete(d.answers, id)
			}()
			send(frame{Ask: id, Err: prompt})
			select {
			case line, ok := <-answer:
				if !ok {
					return "", io.EOF
				}
				return line, nil
			case <-ctx.Done():
				return "", ctx.Err()
			case <-r.Context().Done():
				return "", r.Context().Err()
			}
		}
	}
	code := execute(r.Context(), &command{screen: s, args: o.Args, served: a})
	send(frame{Exit: &code})
}

func (d *door) answer(w http.ResponseWriter, r *http.Request) {
	line, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	d.mu.Lock()
	answer, ok := d.answers[r.PathValue("id")]
	delete(d.answers, r.PathValue("id"))
	d.mu.Unlock()
	switch {
	case !ok:
		http.Error(w, "nobody waits for it any more", http.StatusGone)
	case err != nil || r.Header.Get("X-End") != "":
		close(answer)
	default:
		answer <- string(line)
	}
}

type writer func(string)

func (w writer) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

// reach has the command executed by the process that has the folder open, and returns its exit code; or opens the
// folder here.
func (c *command) reach(ctx context.Context, how access) (*app, int, error) {
	for tries := 0; ; tries++ {
		code, err := c.forward(ctx)
		if err == nil {
			return nil, code, nil
		}
		if !errors.Is(err, errNobody) {
			return nil, 0, err
		}
		a, err := openApp(ctx, c.dir, how, c.logger())
		if err == nil && how == drives {
			if err = a.listen(c.logger()); err != nil {
				err = errors.Join(fmt.Errorf("the socket %s: %w", socketPath(c.dir), err), a.close())
			}
		}
		if !errors.Is(err, store.ErrLocked) || tries == 100 {
			if errors.Is(err, store.ErrLocked) {
				err = fmt.Errorf("another arc has %s open and does not answer: %w", c.dir, err)
			}
			return a, 0, err
		}
		select { // it is just opening, or just closing
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
}

// logger tells what has no other place on the error output.
func (c *command) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(writer(func(text string) { c.say(c.paint(faint, cut(text, 10*c.width))) }),
		&slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
}

var errNobody = errors.New("nobody serves")

// forward has the process that listens execute the command. errNobody: none does.
func (c *command) forward(ctx context.Context) (code int, err error) {
	path := socketPath(c.dir)
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	defer client.CloseIdleConnections()
	env := map[string]string{}
	for k, v := range c.env {
		env[k] = v
	}
	env["ARC_DIR"] = c.dir
	body, err := json.Marshal(order{Args: c.args, Width: c.width, Live: c.live, Color: c.color, Person: c.person, Cwd: c.cwd, Env: env})
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://arc/v1/command", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	answer, err := client.Do(r)
	if err != nil {
		if ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", errNobody, err)
		}
		return 0, err
	}
	defer answer.Body.Close()
	frames := bufio.NewReader(answer.Body)
	for {
		line, err := frames.ReadBytes('\n')
		if err != nil {
			return 0, fmt.Errorf("the arc that serves %s has gone: %w", c.dir, cmp.Or(ctx.Err(), err))
		}
		var f frame
		if err := json.Unmarshal(line, &f); err != nil {
			return 0, err
		}
		switch {
		case f.Exit != nil:
			return *f.Exit, nil
		case f.Ask != "":
			go c.reply(ctx, &client, f)
		default:
			io.WriteString(c.out, f.Out)
			io.WriteString(c.err, f.Err)
		}
	}
}

// reply asks the person here, and sends the answer.
func (c *command) reply(ctx context.Context, client *http.Client, f frame) {
	line, failed := c.ask(ctx, f.Err)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://arc/v1/answer/"+f.Ask, bytes.NewReader([]byte(line)))
	if err != nil {
		return
	}
	if failed != nil {
		r.Header.Set("X-End", "1")
	}
	if answer, err := client.Do(r); err == nil {
		answer.Body.Close()
	}
}
