package main

import (
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
// order and answers with frames, a line of JSON each; POST /v1/answer/ID takes what a person has typed.

// order is a command line and the screen that it was typed at.
type order struct {
	Args        []string
	Width       int
	Live, Color bool
	Person, Cwd string
	Env         map[string]string
}

// frame is a piece of what a command prints, a question, or its end.
type frame struct {
	Out  string `json:",omitempty"`
	Err  string `json:",omitempty"`
	Ask  string `json:",omitempty"` // the ID of a question, with the prompt in Err
	Exit *int   `json:",omitempty"`
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
	server  http.Server
	busy    sync.WaitGroup // commands under way
	path    string
	answers sync.Map // of questions: chan string, closed where the person has left
}

// listen opens the door of an app. The caller has the store's lock, so a socket that is there is nobody's.
func (a *app) listen() error {
	d := &door{path: socketPath(a.dir)}
	if err := os.Remove(d.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	mask := syscall.Umask(0o177)
	l, err := net.Listen("unix", d.path)
	syscall.Umask(mask)
	if err != nil {
		return fmt.Errorf("the socket %s: %w", d.path, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/command", func(w http.ResponseWriter, r *http.Request) {
		d.busy.Add(1)
		defer d.busy.Done()
		d.command(a, w, r)
	})
	mux.HandleFunc("POST /v1/answer/{id}", d.answer)
	d.server.Handler, d.server.ReadHeaderTimeout = mux, 10*time.Second
	a.door = d
	go d.server.Serve(l) // ends with close
	return nil
}

// close waits for the commands under way.
func (d *door) close(log *slog.Logger) error {
	_ = os.Remove(d.path) // nobody new comes in
	late := time.AfterFunc(time.Second, func() { log.Warn("waiting for what other terminals have this arc do; Ctrl-C leaves it") })
	d.busy.Wait()
	late.Stop()
	return d.server.Close()
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
		_ = json.NewEncoder(w).Encode(f) // the request's context tells that the other side has gone
		w.(http.Flusher).Flush()
	}
	s := &screen{
		out: writer(func(p string) { send(frame{Out: p}) }), err: writer(func(p string) { send(frame{Err: p}) }),
		width: o.Width, live: o.Live, color: o.Color, person: o.Person, cwd: o.Cwd, env: o.Env,
	}
	if o.Person != "" {
		s.ask = func(ctx context.Context, prompt string) (string, error) {
			id, answer := rand.Text(), make(chan string, 1)
			d.answers.Store(id, answer)
			defer d.answers.Delete(id)
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
	answer, ok := d.answers.LoadAndDelete(r.PathValue("id"))
	switch {
	case !ok:
		http.Error(w, "nobody waits for it any more", http.StatusGone)
	case err != nil || r.Header.Get("X-End") != "":
		close(answer.(chan string))
	default:
		answer.(chan string) <- string(line)
	}
}

type writer func(string)

func (w writer) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

// reach has the command executed by the process that has the folder open, and returns its exit code; or opens the
// folder here.
func (c *command) reach(ctx context.Context, how access) (a *app, code int, err error) {
	for tries := 0; tries < 100; tries++ {
		if code, err = c.forward(ctx); !errors.Is(err, errNobody) {
			return nil, code, err
		}
		if a, err = openApp(ctx, c.dir, how, c.logger()); err == nil && how == drives {
			if err = a.listen(); err != nil {
				return nil, 0, errors.Join(err, a.close())
			}
		}
		if !errors.Is(err, store.ErrLocked) {
			return a, 0, err
		}
		select { // it is just opening, or just closing
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
	return nil, 0, fmt.Errorf("another arc has %s open and does not answer: %w", c.dir, err)
}

var errNobody = errors.New("nobody serves")

// forward has the process that listens execute the command. errNobody: none does.
func (c *command) forward(ctx context.Context) (code int, err error) {
	path := socketPath(c.dir)
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	defer client.CloseIdleConnections()
	c.env["ARC_DIR"] = c.dir
	body, err := json.Marshal(order{Args: c.args, Width: c.width, Live: c.live, Color: c.color, Person: c.person, Cwd: c.cwd, Env: c.env})
	if err != nil {
		return 0, err
	}
	answer, err := post(ctx, &client, "command", "", body)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", errNobody, err)
	}
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	for frames := json.NewDecoder(answer.Body); ; {
		var f frame
		if err := frames.Decode(&f); err != nil {
			return 0, fmt.Errorf("the arc that has %s open is gone: %w", c.dir, cmp.Or(ctx.Err(), err))
		}
		switch {
		case f.Exit != nil:
			return *f.Exit, nil
		case f.Ask != "":
			go func() { // ends with the answer, or with ctx
				line, failed := c.ask(ctx, f.Err)
				end := map[bool]string{true: "1"}[failed != nil]
				if r, err := post(ctx, &client, "answer/"+f.Ask, end, []byte(line)); err == nil {
					r.Body.Close()
				}
			}()
		default:
			_, out := io.WriteString(c.out, f.Out)
			_, said := io.WriteString(c.err, f.Err)
			if err := cmp.Or(out, said); err != nil {
				return 0, err
			}
		}
	}
}

func post(ctx context.Context, client *http.Client, path, end string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://arc/v1/"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("X-End", end)
	return client.Do(r)
}
