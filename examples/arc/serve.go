package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/kardianos/service"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/contrib/dash"
	"github.com/arc-learn/arc/contrib/mcp"
	"github.com/arc-learn/arc/memory"
)

type serveCmd struct {
	Addr string   `help:"Where to listen." default:"127.0.0.1:7400" placeholder:"ADDRESS"`
	Host []string `help:"Name by which MCP clients reach it, if it is not this machine's own." placeholder:"NAME"`
	Work bool     `help:"Read sensors and work on tasks, too." default:"true" negatable:""`
}

// Run implements the command: the dashboard at /, MCP at /mcp, both with the token of
// .arc/token or ARC_TOKEN.
func (c *serveCmd) Run(a *app, _ arc.View, q *queue.Queue) (err error) {
	token, where, err := a.token()
	if err != nil {
		return err
	}
	if len(token) < 16 { // as the dashboard asks for
		return misuse("the token of ARC_TOKEN, or of .arc/token, has %d bytes, of at least 16", len(token))
	}
	log := slog.New(slog.NewTextHandler(a.err, nil))
	journal := new(dash.Journal)
	a.event = journal.Event
	board, err := dash.New(a.agent, &dash.Options{
		Token: token, Scopes: []memory.Scope{a.config.Scope}, Journal: journal, Queue: q, Logger: log,
	})
	if err != nil {
		return err
	}
	server, err := mcp.NewServer(a.agent, &mcp.Options{Scope: a.config.Scope, Name: "arc-serve", Logger: log})
	if err != nil {
		return err
	}
	tools, err := server.HTTP(mcp.HTTPOptions{Token: token, Hosts: c.Host})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tools.Close()) }()
	listener, err := (&net.ListenConfig{}).Listen(a.ctx, "tcp", c.Addr)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", tools)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { // no stream of a page outlasts ctrl-C
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(a.ctx, cancel)()
		board.ServeHTTP(w, r.WithContext(ctx))
	})
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	if at, err := netip.ParseAddrPort(listener.Addr().String()); err == nil && !at.Addr().Unmap().IsLoopback() {
		log.Warn("who can read along on the network can read the token: put a proxy with TLS before this address")
	}
	address := "http://" + listener.Addr().String()
	if a.person { // a token in a log would be there for long
		a.headed(good, "dashboard", address+"/?token="+token)
	} else {
		a.headed(good, "dashboard", address+"/  (its token is in "+where+")")
	}
	a.headed(good, "mcp", address+"/mcp  (Authorization: Bearer, and the token)")
	if c.Work {
		stop, err := a.work(q, log)
		if err != nil {
			return errors.Join(err, web.Close())
		}
		defer stop()
	}
	select {
	case err = <-failed:
		return err
	case <-a.ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), 3*time.Second)
	defer cancel()
	if err := web.Shutdown(ctx); err != nil { // pages that are read for long
		return web.Close()
	}
	return nil
}

// token is what the dashboard and MCP ask for, and where it is: ARC_TOKEN, or one that was drawn
// once.
func (a *app) token() (token, where string, err error) {
	if token := os.Getenv("ARC_TOKEN"); token != "" {
		return token, "ARC_TOKEN", nil
	}
	file := a.path(".arc", "token")
	text, err := os.ReadFile(file)
	if token = strings.TrimSpace(string(text)); token != "" || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return token, file, err
	}
	token = rand.Text()
	return token, file, replaceFile(file, []byte(token+"\n"), 0o600)
}

// work reads sensors and works on tasks until stop is called, which waits for both.
func (a *app) work(q *queue.Queue, log *slog.Logger) (stop func(), err error) {
	d, err := q.Dispatch(a.agent.QueueHandler(), &queue.DispatchOptions{Logger: log})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(a.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := q.Watch(ctx, log, a.sensors()...); err != nil && ctx.Err() == nil {
			log.Error("sensors", "error", err)
		}
	}()
	return func() {
		cancel()
		<-done
		late, stop := context.WithTimeout(context.WithoutCancel(a.ctx), 3*time.Second)
		defer stop()
		if err := d.Close(late); err != nil {
			log.Warn("a task was given back", "error", err)
		}
	}, nil
}

type servicesCmd struct {
	Install   servicesInstallCmd   `cmd:"" help:"Have arc serve run whenever the person is logged in."`
	Uninstall servicesUninstallCmd `cmd:"" help:"Stop and remove it."`
	Status    servicesStatusCmd    `cmd:"" help:"Whether it runs."`
}

// daemon is arc serve as a service. What starts and stops it is the process itself.
type daemon struct{}

// Start implements service.Interface.
func (daemon) Start(service.Service) error { return nil }

// Stop implements service.Interface.
func (daemon) Stop(service.Service) error { return nil }

// unitName matches what no name of a service has.
var unitName = regexp.MustCompile(`[^a-z0-9._-]+`)

// service is the service of the folder.
func (a *app) service() (service.Service, error) {
	if err := a.configure(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(a.dir)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	name := unitName.ReplaceAllString(strings.ToLower(a.config.Name), "-")
	return service.New(daemon{}, &service.Config{
		Name: "arc-" + name, DisplayName: "arc " + a.config.Name, Description: "arc serve in " + dir,
		Arguments: []string{"--dir", dir, "serve"}, WorkingDirectory: dir,
		Option: service.KeyValue{"UserService": true, "SystemdScript": unit(name, program, "--dir", dir, "serve")},
	})
}

// unit is the unit of systemd. That of the library wants multi-user.target, which a
// person's own manager never reaches, and does not escape what systemd expands.
func unit(name string, argv ...string) string {
	quoted := []string{}
	for _, word := range argv {
		word = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "%", "%%", "$", "$$", "{", `\x7b`).Replace(word)
		quoted = append(quoted, `"`+word+`"`)
	}
	return fmt.Sprintf(`[Unit]
Description=arc %s

[Service]
ExecStart=%s
Restart=on-failure
RestartSec=10

[Install]
WantedBy=default.target
`, name, strings.Join(quoted, " "))
}

type servicesInstallCmd struct{}

// Run implements the command.
func (servicesInstallCmd) Run(a *app) error {
	if name, err := os.Executable(); err != nil || strings.Contains(name, "go-build") {
		return misuse("install arc first (go install .): %s is gone when go run has ended", name)
	}
	s, err := a.service()
	if err != nil {
		return err
	}
	if err := service.Control(s, "install"); err != nil {
		return err
	}
	return service.Control(s, "start")
}

type servicesUninstallCmd struct{}

// Run implements the command.
func (servicesUninstallCmd) Run(a *app) error {
	s, err := a.service()
	if err != nil {
		return err
	}
	if err := service.Control(s, "stop"); err != nil {
		a.explain(asking, "stop", err.Error())
	}
	return service.Control(s, "uninstall")
}

type servicesStatusCmd struct{}

// Run implements the command.
func (servicesStatusCmd) Run(a *app) error {
	s, err := a.service()
	if errors.Is(err, service.ErrNoServiceSystemDetected) {
		return refused("no service manager is known on this system")
	}
	if err != nil {
		return err
	}
	status, err := s.Status()
	word := map[service.Status]string{service.StatusRunning: "running", service.StatusStopped: "stopped"}[status]
	if errors.Is(err, service.ErrNotInstalled) || word == "" {
		word = "not installed"
	}
	return a.present(word, func() { a.say("%s (%s)", word, fmt.Sprint(s.Platform())) })
}
