// Arc is the command line of an agent in a folder: it does what it is told, keeps what has worked, and says
// what it cost. Its workers, gates and models are in arc.yaml; arc doctor says whether they are there.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/contrib/console"
	"github.com/arc-learn/arc/contrib/mcp"
	"github.com/arc-learn/arc/store"
)

// Exit codes. A run that is blocked or canceled is exitFailed.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitWaits       = 3 // for a person, or for an outage to pass
	exitInterrupted = 130
)

// exitError ends the command with a code; without words nothing more is said.
type exitError struct {
	error
	code int
}

func exit(code int) error { return &exitError{errors.New(""), code} }

// usage is an error of who has typed the command.
func usage(format string, args ...any) error {
	return &exitError{fmt.Errorf(format, args...), exitUsage}
}

func main() {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as by nohup
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	t := console.Local("ARC_DIR", "ARC_TASK")
	var lost error // of what a full disk, say, has not taken
	t.Out = writer(func(text string) {
		_, err := os.Stdout.WriteString(text)
		lost = cmp.Or(lost, err)
	})
	code := execute(ctx, &command{screen: &screen{Terminal: t}})
	if lost != nil {
		fmt.Fprintln(t.Err, "arc: what was printed is lost:", lost)
		code = cmp.Or(code, exitFailed)
	}
	os.Exit(code)
}

// command is a line that a person has typed. A process that has the folder open executes it.
type command struct {
	*screen
	dir    string // of arc.yaml
	json   bool
	rest   []string // the words, of an operand without its flag as well
	served *app     // of the process that executes it for another; nil: it has to be found or opened
}

// execute does what the arguments say and returns the exit code.
func execute(ctx context.Context, c *command) int {
	root := c.root()
	root.SetArgs(c.Args)
	root.SetOut(c.Out)
	root.SetErr(c.Err)
	_, err := root.ExecuteContextC(ctx)
	c.Still()
	exits, ok := errors.AsType[*exitError](err)
	switch {
	case err == nil:
		return 0
	case ok:
		if text := strings.TrimSpace(err.Error()); text != "" { // also what has failed besides, at the end
			c.Say(c.Paint(red, "arc: ") + text)
		}
		return exits.code
	case ctx.Err() != nil || errors.Is(err, context.Canceled):
		c.Say("arc: interrupted: arc says what is left, arc resume ID goes on")
		return exitInterrupted
	}
	c.Say(c.Paint(red, "arc: ") + strings.TrimPrefix(err.Error(), "arc: "))
	typed := errors.Is(err, store.ErrInvalid) || errors.Is(err, arc.ErrObjective)
	if typed || strings.HasPrefix(err.Error(), "unknown ") {
		return exitUsage
	}
	return exitFailed
}

func (c *command) root() *cobra.Command {
	built, _ := debug.ReadBuildInfo() // some builds leave it out
	root := &cobra.Command{
		Use: "arc", Short: "An agent in a folder that learns from what its gates pass and refuse",
		Version:       cmp.Or(cmp.Or(built, new(debug.BuildInfo)).Main.Version, "unknown"),
		SilenceErrors: true, SilenceUsage: true, RunE: c.leaf(reads, "arc", "", c.overview, nil).RunE,
	}
	wrapped := fmt.Sprintf(".FlagUsagesWrapped %d", c.Width)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", wrapped))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%w\nsee %s --help", err, cmd.CommandPath())
	})
	root.PersistentFlags().StringVar(&c.dir, "dir", "", "folder of arc.yaml; none: $ARC_DIR, here, or above")
	root.PersistentFlags().BoolVar(&c.json, "json", false, "print JSON; what has no data is said in words")
	root.PersistentPreRunE = func(*cobra.Command, []string) (err error) {
		c.dir, err = c.folder()
		return err
	}
	root.AddGroup(&cobra.Group{ID: "work", Title: "Work:"}, &cobra.Group{ID: "know", Title: "Know:"},
		&cobra.Group{ID: "keep", Title: "Keep:"})
	for group, commands := range map[string][]*cobra.Command{
		"work": append(c.runCommands(), c.taskCommands()...), "know": append(c.knowCommands(),
			c.leaf(reads, "notes", "Print memory/MEMORY.md", c.readNotes, nil)),
		"keep": slices.Concat([]*cobra.Command{
			c.leaf(local, "init", "Begin an agent in this folder", c.begin, nil),
			c.leaf(reads, "doctor", "Check that all that arc.yaml names is there; no model is paid", c.doctor, nil),
			c.leaf(reads, "status", "Say what waits, what failed, what was saved: as arc alone", c.overview, nil),
		}, c.serveCommands(), c.skillCommands(), c.credsCommands()),
	} {
		for _, cmd := range commands {
			cmd.GroupID = group
			root.AddCommand(cmd)
		}
	}
	return root
}

// folder is that of arc.yaml: --dir, $ARC_DIR, or the nearest one from the working directory up.
func (c *command) folder() (string, error) {
	if dir := cmp.Or(c.dir, c.Env["ARC_DIR"]); dir != "" {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(c.Cwd, dir)
		}
		_, err := os.Stat(dir)
		return filepath.Clean(dir), err
	}
	for dir := c.Cwd; ; dir = filepath.Dir(dir) {
		if f, err := os.Stat(filepath.Join(dir, "arc.yaml")); err == nil {
			if own, _ := f.Sys().(*syscall.Stat_t); own.Uid != 0 && int(own.Uid) != os.Getuid() {
				return "", usage("%s: arc.yaml is another user's, and says what is started: name it by --dir", dir)
			}
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return c.Cwd, nil
		}
	}
}

// access says what a command needs of the agent.
type access int

const (
	local  access = iota // nothing: it is executed where it was typed
	reads                // no run goes on by it
	drives               // runs go on meanwhile, and the commands of other processes are executed
	speaks               // so, too, and standard input and output are an MCP client
)

// action is what a command does.
type action func(ctx context.Context, a *app, operand string) error

// leaf is a command that works on the agent of the folder: in the process that has it open, or this one. The
// word after its name, as TEXT, is its operand: do gets the flag --text, or the words without a flag.
func (c *command) leaf(how access, use, short string, do action, flags func(*pflag.FlagSet)) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs}
	if flags != nil {
		flags(cmd.Flags())
	}
	var operand string
	if _, name, ok := strings.Cut(use, " "); ok {
		cmd.Args = cobra.ArbitraryArgs
		cmd.Flags().StringVar(&operand, strings.ToLower(name), "", name+", which may stand without the flag")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		ctx, a := cmd.Context(), c.served
		if c.rest = args; operand == "" {
			operand = strings.Join(args, " ")
		}
		if a == nil && how != local {
			if a, err = c.reach(ctx, how); a == nil {
				return err
			}
			defer func() { err = errors.Join(err, a.close()) }()
		}
		return do(ctx, a, operand)
	}
	return cmd
}

// reach opens the folder here, or has the command executed by the process that has it open: then there is no
// app, and the error has the exit code.
func (c *command) reach(ctx context.Context, how access) (a *app, err error) {
	socket := console.Path(c.dir, "arc.sock")
	c.Env["ARC_DIR"] = c.dir
	for range 100 {
		code, err := c.forward(ctx, how, socket)
		switch {
		case err == nil && code != 0:
			return nil, exit(code)
		case err == nil, ctx.Err() != nil:
			return nil, err
		case !errors.Is(err, console.ErrNobody):
			return nil, fmt.Errorf("the arc that had %s open has ended; arc says what is left: %w", c.dir, err)
		}
		a, err = openApp(ctx, c.dir, how, logger(c.screen))
		if err == nil && how >= drives {
			a.door, err = console.Listen(socket, func(ctx context.Context, t *console.Terminal) int {
				return execute(ctx, &command{screen: &screen{Terminal: t}, served: a})
			})
			if err != nil {
				return nil, errors.Join(err, a.close())
			}
			go func() { // ends with the process, and so do the arc mcp of others that are served here
				if err := mcp.Share(ctx, a.agent, a.path(".arc"), a.offers()); ctx.Err() == nil {
					a.log.Warn("another arc mcp finds nobody", "error", err)
				}
			}()
		}
		if err == nil {
			return a, nil
		}
		if !errors.Is(err, store.ErrLocked) {
			return nil, err
		}
		select { // it is just opening, or just closing
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, fmt.Errorf("another arc has %s open and does not answer", c.dir)
}

// forward has the process that has the folder open execute the command; console.ErrNobody: there is none.
func (c *command) forward(ctx context.Context, how access, socket string) (int, error) {
	if how != speaks {
		return console.Forward(ctx, socket, c.Terminal)
	}
	err := mcp.Join(ctx, filepath.Join(c.dir, ".arc"), os.Stdin, os.Stdout)
	if failed, ok := errors.AsType[*net.OpError](err); ok && failed.Op == "dial" {
		err = console.ErrNobody
	}
	return 0, err
}

// choice is a flag that has one of some values, with more about them behind.
func choice(f *pflag.FlagSet, to *string, name, about string, of ...string) {
	names := english.WordSeries(of, "or")
	f.Func(name, names+about, func(value string) error {
		if *to = value; !slices.Contains(of, value) {
			return errors.New("it is " + names)
		}
		return nil
	})
}

// group is a command with others below it.
func group(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(below...)
	return cmd
}

// finished is the error of a command that has followed a run, by where that is.
func finished(r *arc.Report) error {
	switch r.Status {
	case arc.Delivered:
		return nil
	case arc.Waiting, arc.Asking, arc.Running:
		return exit(exitWaits)
	}
	return exit(exitFailed)
}
