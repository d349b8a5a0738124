package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	arc "github.com/arc-learn/arc/next"
)

func (a *app) learned(context.Context, *arc.Report)    {}
func (a *app) waiting(context.Context) (string, error) { return "", nil }

func (c *command) serveCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "serve", Short: "Stay: do tasks, run sensors, and execute the commands of others", Args: cobra.NoArgs}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if c.served != nil {
			return usage("another arc serves %s", c.dir)
		}
		return c.with(drives, func(ctx context.Context, a *app) error {
			c.say("serving " + a.dir)
			<-ctx.Done()
			return nil
		})(cmd, args)
	}
	return cmd
}

// watchConfig takes up changes of arc.yaml until ctx ends.
func (c *command) watchConfig(ctx context.Context, a *app) {
	stamp := func() time.Time {
		info, err := os.Stat(a.path("arc.yaml"))
		if err != nil {
			return time.Time{}
		}
		return info.ModTime()
	}
	for last := stamp(); ; {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return
		}
		now := stamp()
		if now.Equal(last) || now.IsZero() {
			continue
		}
		last = now
		if err := a.reload(); err != nil {
			c.say(c.paint(red, "not taken up, the former stays: ") + err.Error())
			continue
		}
		c.say("arc.yaml is taken up")
	}
}
