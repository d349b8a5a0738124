// Http is an agent behind net/http: a request runs an objective, what happens and
// the words of the answer come as server-sent events, a request has a deadline, and
// the server stops without losing what is under way.
//
//	go run ./examples/http              # asks itself
//	go run ./examples/http -addr :8080  # serves until it is interrupted
//	curl -N -H 'Idempotency-Key: 1' -d 'why is the sky blue?' localhost:8080/ask
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	addr := flag.String("addr", "", "serve at `ADDR`; empty: on a port of this machine, for one question")
	dir := flag.String("dir", "", "keep memory in `DIR`; empty: nowhere")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serve(ctx, *addr, *dir, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// serve answers until ctx ends, or without an address until one question of its own
// is answered.
func serve(ctx context.Context, addr, dir string, out io.Writer) (err error) {
	d, err := newDesk(ctx, dir)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	listener, err := net.Listen("tcp", cmp.Or(addr, "127.0.0.1:0"))
	if err != nil {
		return errors.Join(err, d.agent.Close())
	}
	srv := &http.Server{Handler: d.routes(), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	if addr == "" {
		err = askOnce(ctx, "http://"+listener.Addr().String(), out)
		stop()
	}
	select {
	case <-ctx.Done():
	case err = <-served:
	}
	// The agent first: its runs end at their last commit, and so their requests end.
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(err, d.agent.Shutdown(late), srv.Shutdown(late))
}

// askOnce does what the curl above does.
func askOnce(ctx context.Context, url string, out io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/ask", strings.NewReader("why is the sky blue?"))
	if err != nil {
		return err
	}
	req.Header.Set("Idempotency-Key", "1")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	fmt.Fprintln(out, resp.Status)
	_, err = io.Copy(out, resp.Body)
	return err
}
