// Package pgtest runs a PostgreSQL server of its own in a temporary directory, for
// tests and examples.
//
// The programs are those on PATH or of the Debian package. The server listens on a
// socket in its directory alone, runs as an ordinary user also where its starter is
// root, and ends with the process that started it.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrMissing: no PostgreSQL is installed here.
var ErrMissing = errors.New("no PostgreSQL on PATH or in /usr/lib/postgresql: apt-get install postgresql")

// Server is a running server. Use [Start]. It is for one goroutine at a time.
type Server struct {
	dir     string
	bin     string
	attr    *syscall.SysProcAttr
	cmd     *exec.Cmd
	exited  chan error
	setting []string
}

// Find returns the directory of the newest server's programs, or ErrMissing.
func Find() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil { // the others are beside it
			return filepath.Dir(path), nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		return "", ErrMissing
	}
	version := func(path string) int {
		n, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		if err != nil {
			return 0
		}
		return n
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(newest), nil
}

// Start makes a cluster with checksums in a new directory and starts it. Settings are
// as in postgresql.conf, such as "max_connections=200".
func Start(ctx context.Context, settings ...string) (s *Server, err error) {
	s = &Server{setting: settings}
	if s.bin, err = Find(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "arcpg"); err != nil {
		return nil, err
	}
	if s.attr, err = ordinary(s.dir); err == nil {
		init := s.command(ctx, "initdb", "-D", s.data(), "-U", "arc", "-A", "trust", "-k", "--no-sync", "-E", "UTF8", "--locale", "C")
		var out []byte
		if out, err = init.CombinedOutput(); err != nil {
			err = fmt.Errorf("initdb: %w: %s", err, out)
		}
	}
	if err == nil {
		err = s.launch(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	return s, nil
}

// ordinary returns how to run a program as a user that may read dir and is not root.
func ordinary(dir string) (*syscall.SysProcAttr, error) {
	attr := dying()
	if os.Geteuid() != 0 {
		return attr, nil
	}
	owner, err := user.Lookup("postgres")
	if err != nil {
		owner, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, err
	}
	uid, err := strconv.Atoi(owner.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(owner.Gid)
	if err != nil {
		return nil, err
	}
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr, os.Chown(dir, uid, gid)
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Dir is where the socket is, and where a program beside the server may put files.
func (s *Server) Dir() string { return s.dir }

// Conninfo is what a client connects with.
func (s *Server) Conninfo() string { return "host=" + s.dir + " port=5432 user=arc dbname=postgres" }

// Command returns a program that runs as the server's user.
func (s *Server) Command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	attr := *s.attr
	cmd.Dir, cmd.SysProcAttr = s.dir, &attr
	return cmd
}

func (s *Server) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return s.Command(ctx, filepath.Join(s.bin, name), args...)
}

const startWithin = time.Minute

// launch starts the server and waits until it takes connections.
func (s *Server) launch(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"-D", s.data(), "-k", s.dir, "-c", "listen_addresses="}
	for _, set := range s.setting {
		args = append(args, "-c", set)
	}
	s.cmd, s.exited = s.command(context.WithoutCancel(ctx), "postgres", args...), make(chan error, 1)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	cmd, exited := s.cmd, s.exited
	go func() { exited <- cmd.Wait() }()
	for {
		conn, err := pgx.Connect(ctx, s.Conninfo())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case err := <-s.exited:
			said, _ := os.ReadFile(log.Name()) // best effort
			return fmt.Errorf("postgres ended: %v: %s", err, said)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), s.halt(syscall.SIGQUIT))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// halt ends the server: SIGINT fast, SIGQUIT at once, as after a crash.
func (s *Server) halt(sig syscall.Signal) error {
	if err := s.cmd.Process.Signal(sig); err != nil {
		return err
	}
	<-s.exited // its error says which signal it was
	return nil
}

// Crash ends the server without a checkpoint, as pg_ctl stop -m immediate does, and
// starts it again after pause.
func (s *Server) Crash(ctx context.Context, pause time.Duration) error {
	if err := s.halt(syscall.SIGQUIT); err != nil {
		return err
	}
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
	return s.launch(ctx)
}

// Stop ends the server and removes what it kept.
func (s *Server) Stop() error {
	return errors.Join(s.halt(syscall.SIGINT), os.RemoveAll(s.dir))
}
