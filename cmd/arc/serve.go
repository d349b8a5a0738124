package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/contrib/dash"
	"github.com/arc-learn/arc/contrib/mcp"
	"github.com/arc-learn/arc/memory"
)

func (c *command) serveCommands() []*cobra.Command {
	var quiet bool
	var n int
	var web string
	serve := func(ctx context.Context, a *app, _ string) error {
		if c.served != nil {
			return usage("another arc serves %s", c.dir)
		}
		c.Say("serving " + a.dir + "; Ctrl-C ends it, and what is under way goes on when it is started again")
		var work sync.WaitGroup
		defer work.Wait()
		if web != "" {
			jobs := func(memory.Scope) *queue.Queue { return a.queue }
			pages, err := dash.New(a.agent, &dash.Options{Queue: jobs, Logger: a.log})
			if err != nil {
				return err
			}
			home, err := dash.Local(ctx, web, pages)
			if err != nil {
				return usage("--web: %w", err)
			}
			c.Say("the dashboard: " + home)
		}
		keep := func(interval time.Duration, what string, f func() error) {
			work.Go(func() {
				every(ctx, interval, func() {
					if err := f(); err != nil && ctx.Err() == nil {
						c.Say(c.Paint(red, what+": ") + err.Error())
					}
				})
			})
		}
		keep(time.Second, "not taken up, the former stays", func() error {
			changed, err := a.reload()
			if changed {
				c.Say("arc.yaml is taken up: its workers, tools, models, gates, sources and budget; " +
					"the rest when arc serve is started again")
			}
			return err
		})
		if !quiet {
			keep(time.Minute, "sensors", func() error { c.sense(ctx, a, true); return nil }) // it has said what failed
		}
		keep(30*time.Second, "memory/MEMORY.md", func() error {
			return errors.Join(a.notes.Write(ctx, a.agent, idleFor), a.notes.Commit(ctx, time.Now().AddDate(0, 0, -1)))
		})
		keep(24*time.Hour, "maintenance", func() error {
			_, err := a.view().Maintain(ctx)
			return err
		})
		if n < 1 {
			<-ctx.Done()
			return nil
		}
		var waits sync.Map // tasks that wait, which is said once
		return a.queue.Dispatch(ctx, n, func(ctx context.Context, j *queue.Job) ([]queue.Draft, error) {
			was, again := waits.LoadAndDelete(j.ID)
			if !again {
				c.Say(c.Paint(cyan, "▸ ") + short(j.ID) + " " + j.Subject)
			}
			follow, err := a.work(ctx, j)
			text, summary := string(j.State), j.Summary
			switch {
			case err != nil:
				text, summary = "failed", err.Error()
			case j.State == queue.Active: // as it was claimed
				text = string(queue.Completed)
			case j.State == queue.Pending:
				if waits.Store(j.ID, summary); summary == was {
					return follow, nil
				}
				text, summary = "waits", summary+"; next: arc"
			}
			c.Say("  " + short(j.ID) + " " + c.Paint(paints[text], text) + ": " + cut(summary, c.Width-22))
			return follow, err
		})
	}
	mcpServer := func(ctx context.Context, a *app, _ string) error { // here, or in the process that stays
		return mcp.Serve(ctx, a.agent, os.Stdin, os.Stdout, a.offers())
	}
	const short = "Stay: do tasks, run sensors, and execute the commands of others"
	return []*cobra.Command{
		c.leaf(drives, "serve", short, serve, func(f *pflag.FlagSet) {
			f.BoolVar(&quiet, "no-sensors", false, "sensors are run by others")
			f.IntVar(&n, "workers", 1, "tasks at a time; 0: they are left to arc run")
			f.StringVar(&web, "web", "", "the dashboard's address, as 127.0.0.1:8080, for all users of this machine")
		}),
		c.servicesCommand(),
		c.leaf(speaks, "mcp", "Serve an MCP client over standard input and output", mcpServer, nil),
	}
}

// offers is what MCP clients get: tools for memory, runs, tasks and the person, as untrusted models.
func (a *app) offers() *mcp.Options {
	all := func(context.Context, memory.Scope) (*queue.Queue, error) { return a.queue, nil }
	return &mcp.Options{Logger: a.log, Queue: all}
}

// idleFor is how long nobody has changed MEMORY.md before it is written: a person may have it open.
const idleFor = 3 * time.Second

// every calls f at once and then at an interval, until ctx ends.
func every(ctx context.Context, interval time.Duration, f func()) {
	for {
		f()
		select {
		case <-time.After(interval):
		case <-ctx.Done():
			return
		}
	}
}

// The two services of a folder: dispatch stays, and executes the commands of others; sensors runs each
// minute. A unit has the PATH of the shell that has installed it: that of the system lacks things.
//
//go:embed units.txt
var unitTexts string

var unitTemplates = template.Must(template.New("").Parse(unitTexts))

type unit struct{ Name, Text string }

// units are the files of the services on this system.
func (c *command) units() (dir string, out []unit, err error) {
	home, err := os.UserHomeDir()
	self, wrong := os.Executable()
	if err = cmp.Or(err, wrong); err != nil {
		return "", nil, err
	}
	dir, names := filepath.Join(home, ".config/systemd/user"), "dispatch.service sensors.service sensors.timer"
	switch runtime.GOOS {
	case "linux":
	case "darwin":
		dir, names = filepath.Join(home, "Library/LaunchAgents"), "dispatch.plist sensors.plist"
	default:
		return "", nil, fmt.Errorf("no services on %s: have arc serve started as programs are there", runtime.GOOS)
	}
	data := map[string]string{"Self": self, "Dir": c.dir, "Path": os.Getenv("PATH"), "ID": handle(c.dir)[:6]}
	for _, name := range strings.Fields(names) {
		var b strings.Builder
		if err := unitTemplates.ExecuteTemplate(&b, name, data); err != nil {
			return "", nil, err
		}
		out = append(out, unit{"arc-" + data["ID"] + "-" + name, strings.TrimLeft(b.String(), "\n")})
	}
	return dir, out, nil
}

func (c *command) servicesCommand() *cobra.Command {
	each := func(f func(context.Context, string, unit) error) action {
		return func(ctx context.Context, _ *app, _ string) error {
			dir, all, err := c.units()
			for _, u := range all {
				err = errors.Join(err, f(ctx, filepath.Join(dir, u.Name), u))
			}
			return err
		}
	}
	install := func(ctx context.Context, file string, u unit) error {
		if err := writeFile(file, u.Text); err != nil {
			return err
		}
		c.Print("wrote " + file)
		if strings.HasSuffix(file, "sensors.service") {
			return nil // its timer starts it
		}
		return c.control(ctx, file, "enable", "load")
	}
	uninstall := func(ctx context.Context, file string, _ unit) error {
		if _, err := os.Stat(file); err != nil {
			return nil // it is not installed
		}
		c.Print("removing " + file)
		return errors.Join(c.control(ctx, file, "disable", "unload"), os.Remove(file))
	}
	status := func(_ context.Context, file string, u unit) error {
		state := "installed"
		text, err := os.ReadFile(file)
		switch {
		case err != nil:
			state = "not installed"
		case string(text) != u.Text:
			state += ", with another PATH, program or folder than this shell has: arc services install"
		}
		c.Print(u.Name + ": " + state)
		return nil
	}
	return group(c.leaf(local, "services", "Two services of the system: list, install", each(status), nil),
		c.leaf(local, "install", "Install and start the services", each(install), nil),
		c.leaf(local, "uninstall", "Stop and remove the services", each(uninstall), nil),
		c.leaf(local, "status", "Say how they are", each(status), nil))
}

// control starts or stops a service, now and with the system, by the word of systemctl or of launchctl.
func (c *command) control(ctx context.Context, file, systemd, launchd string) error {
	argv := []string{"systemctl", "--user", systemd, "--now", filepath.Base(file)}
	if runtime.GOOS == "darwin" {
		argv = []string{"launchctl", launchd, "-w", file}
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = c.Out, c.Err
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return nil
}

// writeFile writes a file, and the folder that it is in.
func writeFile(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}
