package main

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/arc-learn/arc/next/act/queue"
	"github.com/arc-learn/arc/next/contrib/dash"
	"github.com/arc-learn/arc/next/memory"
)

func (c *command) serveCommands() []*cobra.Command {
	var quiet, idle bool
	var n int
	var web string
	serve := c.leaf(drives, "serve", "Stay: do tasks, run sensors, and execute the commands of others", func(ctx context.Context, a *app, _ []string) error {
		if c.served != nil {
			return usage("another arc serves %s", c.dir)
		}
		c.Say("serving " + a.dir + "; Ctrl-C ends it, and what is under way goes on when it is started again")
		var work sync.WaitGroup
		defer work.Wait()
		if web != "" {
			if err := c.web(ctx, a, web); err != nil {
				return err
			}
		}
		work.Go(func() { c.watchConfig(ctx, a) })
		if !quiet {
			work.Go(func() {
				every(ctx, time.Minute, func() { c.sense(ctx, a, true) })
			})
		}
		work.Go(func() {
			every(ctx, 30*time.Second, func() {
				if err := cmp.Or(a.notes.Write(ctx, a.agent, idleFor), a.notes.Commit(ctx, today())); err != nil && ctx.Err() == nil {
					a.log.Warn(err.Error())
				}
			})
		})
		work.Go(func() {
			every(ctx, 24*time.Hour, func() {
				if _, err := a.agent.Maintain(ctx, a.scope); err != nil && ctx.Err() == nil {
					a.log.Warn("maintenance", "error", err)
				}
			})
		})
		if idle {
			<-ctx.Done()
			return nil
		}
		return a.queue.Dispatch(ctx, n, func(ctx context.Context, j *queue.Job) ([]queue.Draft, error) {
			c.Say(c.Paint(cyan, "▸ ") + short(j.ID) + " " + j.Subject)
			follow, err := a.work(ctx, j)
			text := string(j.State)
			switch {
			case err != nil:
				text, j.Summary = "failed", err.Error()
			case j.State == queue.Active: // as it was claimed
				text = string(queue.Completed)
			}
			c.Say("  " + short(j.ID) + " " + c.Paint(paints[text], text) + ": " + cut(j.Summary, c.Width-22))
			return follow, err
		})
	}, func(f *pflag.FlagSet) {
		f.BoolVar(&quiet, "no-sensors", false, "sensors are run by others")
		f.BoolVar(&idle, "no-dispatch", false, "tasks are left to arc run")
		f.IntVar(&n, "workers", 1, "tasks at a time")
		f.StringVar(&web, "web", "", "address of the dashboard, as 127.0.0.1:8080: whoever uses this machine can use it")
	})
	return []*cobra.Command{serve, c.servicesCommand()}
}

// idleFor is how long nobody has changed MEMORY.md before it is written: a person may have it open.
const idleFor = 3 * time.Second

// today begins at midnight.
func today() time.Time {
	y, m, d := time.Now().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.Local)
}

// web serves the dashboard to this machine until ctx ends.
func (c *command) web(ctx context.Context, a *app, addr string) error {
	pages, err := dash.New(a.agent, &dash.Options{Queue: func(memory.Scope) *queue.Queue { return a.queue }, Logger: a.log})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		return errors.Join(usage("%s is seen by other machines, and the dashboard asks nobody who they are: 127.0.0.1:8080", addr), l.Close())
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.Host)
		if ip := net.ParseIP(host); host != "localhost" && !ip.IsLoopback() { // a page of another site, by a name of its own
			http.Error(w, "this is the dashboard of "+addr, http.StatusForbidden)
			return
		}
		pages.ServeHTTP(w, r)
	})}
	context.AfterFunc(ctx, func() { server.Close() })
	go server.Serve(l) // ends with ctx
	c.Say("the dashboard: http://" + l.Addr().String())
	return nil
}

// every calls f at once and then at an interval, until ctx ends.
func every(ctx context.Context, interval time.Duration, f func()) {
	for tick := time.NewTicker(interval); ; {
		f()
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return
		}
	}
}

// watchConfig takes up changes of arc.yaml until ctx ends. One that cannot be used is told, and the former stays.
func (c *command) watchConfig(ctx context.Context, a *app) {
	var last time.Time
	every(ctx, time.Second, func() {
		info, err := os.Stat(a.path("arc.yaml"))
		if err != nil || info.ModTime().Equal(last) {
			return
		}
		first := last.IsZero()
		if last = info.ModTime(); first {
			return
		}
		if err := a.reload(); err != nil {
			c.Say(c.Paint(red, "not taken up, the former stays: ") + err.Error())
			return
		}
		c.Say("arc.yaml is taken up")
	})
}
