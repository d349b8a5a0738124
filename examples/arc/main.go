// Arc is an agent in a folder: it plans, works, lets nothing count as done that a gate
// has not passed, and learns.
//
//	arc init --template notes
//	arc do --text "collect the todos"
//
// The folder has all there is of it: arc.yaml says what it can do, SOUL.md who it is,
// MEMORY.md what people and it want known, skills/ how work is done, and .arc/ is its
// store. README.md shows what it looks like.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// commands are those of the program. Each has a method Run.
type commands struct {
	Dir  string `help:"Folder of the agent." default:"." placeholder:"DIR"`
	JSON bool   `help:"Print JSON." name:"json"`

	Init   initCmd   `cmd:"" group:"Work:" help:"Begin an agent in a folder."`
	Do     doCmd     `cmd:"" group:"Work:" help:"Reach an objective: plan, act, verify, learn."`
	Resume resumeCmd `cmd:"" group:"Work:" help:"Go on with a run, or with all that can go on."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	n := commandLine(ctx, terminal(), os.Args[1:])
	stop()
	os.Exit(n)
}

// left is what kong's exit becomes, after --help.
type left int

// commandLine does what the arguments say, and returns the exit code.
func commandLine(ctx context.Context, s *screen, args []string) (n int) {
	var c commands
	parser, err := kong.New(&c,
		kong.Name("arc"), kong.Description("An agent in a folder that learns. arc COMMAND --help has an example of each."),
		kong.UsageOnError(), kong.Writers(s.out, s.err), kong.Exit(func(n int) { panic(left(n)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: max(80, s.width)}),
	)
	if err != nil {
		fmt.Fprintln(s.err, "arc:", err)
		return exitError
	}
	defer func() { // of --help
		if r := recover(); r != nil {
			code, ok := r.(left)
			if !ok {
				panic(r)
			}
			n = int(code)
		}
	}()
	if len(args) == 0 {
		args = []string{"--help"}
	}
	chosen, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintln(s.err, "arc:", err)
		return exitUsage
	}
	s.json = c.JSON
	a := &app{screen: s, dir: c.Dir, ctx: ctx}
	err = chosen.Run(a)
	n, text := code(errors.Join(err, a.close()))
	if text != "" {
		fmt.Fprintln(s.err, "arc:", text)
	}
	return n
}
