// Arc-mcp serves the memory of one directory and one scope to MCP clients.
//
// On standard input and output, for a client that starts it:
//
//	arc-mcp -dir ~/.arc -scope me
//
// Over HTTP, for clients that send the token as "Authorization: Bearer":
//
//	ARC_MCP_TOKEN=$(openssl rand -hex 32) arc-mcp -dir ~/.arc -scope me -http 127.0.0.1:8080
//
// It has no reasoner: the tool think says so. Several of them share a directory: one
// has it open, and serves the others of the same user by a socket, until it ends and
// another takes over. With -operator its clients may vouch, judge, and forget what was
// verified. The Agent keeps what was written in order once a day, in whichever scope. The
// log goes to standard error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/contrib/mcp"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/store"
)

const tokenVariable = "ARC_MCP_TOKEN"

type config struct {
	dir, scope, addr, hosts, cert, key string
	token                              string
	operator                           bool
	logger                             *slog.Logger
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	c := config{token: os.Getenv(tokenVariable)}
	flags := flag.NewFlagSet("arc-mcp", flag.ExitOnError)
	flags.StringVar(&c.dir, "dir", "", "directory of the memory, such as ~/.arc, which is created if it is missing "+
		"(required)")
	flags.StringVar(&c.scope, "scope", "local", "whose memory it is, such as acme/anna")
	flags.StringVar(&c.addr, "http", "", "address to serve HTTP on, such as 127.0.0.1:8080; empty: standard input "+
		"and output")
	flags.StringVar(&c.hosts, "hosts", "", "host names under which HTTP may be reached, with commas between them; "+
		"empty: those of this machine itself")
	flags.StringVar(&c.cert, "cert", "", "certificate file, for TLS")
	flags.StringVar(&c.key, "key", "", "its key file")
	flags.BoolVar(&c.operator, "operator", false, "its clients speak for the host: they may vouch for memories, "+
		"judge runs, and forget what was verified")
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "usage: arc-mcp -dir DIR [-scope SCOPE] [-http ADDRESS]\nThe token for HTTP is in "+
			"the environment variable %s.\n", tokenVariable)
		flags.PrintDefaults()
	}
	_ = flags.Parse(os.Args[1:]) // exits on an error
	err := run(ctx, c, flags.Args(), os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "arc-mcp:", err)
		os.Exit(1)
	}
}

func (c config) check(args []string) error {
	errs := []error{memory.Scope(c.scope).Check()} // an owner would close the connection, and say nothing
	if len(args) > 0 {
		errs = append(errs, fmt.Errorf("unexpected argument %q", args[0]))
	}
	if c.dir == "" {
		errs = append(errs, errors.New("-dir is missing"))
	}
	if (c.cert == "") != (c.key == "") {
		errs = append(errs, errors.New("-cert and -key go together"))
	}
	if c.addr == "" && c.hosts+c.cert+c.key != "" {
		errs = append(errs, errors.New("-hosts, -cert and -key go with -http"))
	}
	if c.addr != "" {
		if strings.TrimSpace(c.token) == "" {
			errs = append(errs, fmt.Errorf("HTTP needs a token in %s", tokenVariable))
		} else if n := len(c.token); n < mcp.MinToken {
			errs = append(errs, fmt.Errorf("the token in %s has %d bytes, of at least %d", tokenVariable, n, mcp.MinToken))
		}
		host, _, err := net.SplitHostPort(c.addr)
		if err != nil {
			errs = append(errs, fmt.Errorf("-http: %w", err))
		} else if ip := net.ParseIP(host); c.cert == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			errs = append(errs, errors.New("-http beyond this machine needs -cert and -key: the token would travel in "+
				"the clear"))
		} else if c.hosts == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			errs = append(errs, errors.New("-http beyond this machine needs -hosts: the names by which clients reach it"))
		}
	}
	return errors.Join(errs...)
}

func run(ctx context.Context, c config, args []string, stderr io.Writer) (err error) {
	if err := c.check(args); err != nil {
		return err
	}
	if rest, ok := strings.CutPrefix(c.dir, "~/"); ok { // clients start programs without a shell
		home, err := os.UserHomeDir()
		if err != nil {
			return err
		}
		c.dir = filepath.Join(home, rest)
	}
	c.logger = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	socket, err := socketOf(c.dir)
	if err != nil {
		c.logger.Warn("the directory cannot be shared", "error", err)
	}
	err = own(ctx, c, socket, func(ctx context.Context, agent *arc.Agent) error {
		server, err := mcp.NewServer(
			agent, &mcp.Options{Scope: memory.Scope(c.scope), Operator: c.operator, Logger: c.logger},
		)
		switch {
		case err != nil:
			return err
		case c.addr != "":
			return serve(ctx, c, server, stderr)
		}
		return server.Stdio(ctx, os.Stdin, os.Stdout)
	})
	if errors.Is(err, store.ErrLocked) && c.addr == "" && socket != "" {
		err = borrow(ctx, c, socket, err)
	}
	if errors.Is(err, store.ErrLocked) && c.addr != "" {
		return fmt.Errorf("%w: what serves HTTP has to be the one that has the directory open", err)
	} else if errors.Is(err, store.ErrLocked) {
		return fmt.Errorf("%w, which shares it with no arc-mcp", err)
	}
	return err
}

// unlessEnded returns err, or nil if it says that ctx has ended: by a signal, which is no
// failure.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// own opens the directory, and serves as long as do does.
func own(ctx context.Context, c config, socket string, do func(context.Context, *arc.Agent) error) (err error) {
	agent, err := arc.Open(ctx, c.dir, mcp.MemoryHost(), &arc.Options{Scope: memory.Scope(c.scope), Logger: c.logger})
	if err != nil {
		return unlessEnded(ctx, err)
	}
	defer func() { err = errors.Join(err, agent.Close()) }()
	if socket != "" {
		stop, err := share(ctx, agent, c, socket)
		if err != nil {
			c.logger.Warn("the directory is not shared", "error", err)
		} else {
			defer stop()
		}
	}
	return unlessEnded(ctx, do(ctx, agent))
}

// borrowPatience is how long an owner may be without a socket: it is being opened or
// closed, or is no arc-mcp.
const borrowPatience = 10 * time.Second

// borrow has the owner of the directory serve the client, and becomes the owner when
// there is none any more. The error of the lock is what it gives up with.
func borrow(ctx context.Context, c config, socket string, locked error) error {
	r, err := newRelay(os.Stdin, os.Stdout, hello{Scope: memory.Scope(c.scope), Operator: c.operator})
	if err != nil {
		return err
	}
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for alone := time.Now(); ; {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			err = r.through(ctx, conn)
			alone = time.Now()
		} else {
			err = own(ctx, c, socket, func(ctx context.Context, agent *arc.Agent) error {
				near, far := net.Pipe()
				var session sync.WaitGroup
				session.Go(func() { welcome(ctx, agent, c, far) })
				defer session.Wait()
				return r.through(ctx, near)
			})
		}
		switch {
		case errors.Is(err, store.ErrLocked) && time.Since(alone) > borrowPatience:
			return locked
		case !errors.Is(err, errLost) && !errors.Is(err, store.ErrLocked):
			return unlessEnded(ctx, err)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func serve(ctx context.Context, c config, server *mcp.Server, stderr io.Writer) error {
	opts := mcp.HTTPOptions{Token: c.token}
	if c.hosts != "" {
		opts.Hosts = strings.Split(c.hosts, ",")
	}
	handler, err := server.HTTP(opts)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.addr)
	if err != nil {
		return err
	}
	web := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	scheme := "http"
	if c.cert != "" {
		scheme = "https"
	}
	fmt.Fprintf(stderr, "arc-mcp: serving %s on %s://%s\n", c.scope, scheme, listener.Addr())
	ended := make(chan error, 1)
	go func() {
		if c.cert != "" {
			ended <- web.ServeTLS(listener, c.cert, c.key)
		} else {
			ended <- web.Serve(listener)
		}
	}()
	select {
	case err := <-ended:
		return errors.Join(err, handler.Close())
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	closed := handler.Close() // first: its streams would keep Shutdown waiting
	err = web.Shutdown(late)
	if errors.Is(err, context.DeadlineExceeded) {
		err = web.Close()
	}
	<-ended
	return errors.Join(closed, err)
}
