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
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// examples has one of each command, which its --help shows.
//
//go:embed examples.txt
var examples string

// commands are those of the program. Each has a method Run.
type commands struct {
	Dir     string           `help:"Folder of the agent." default:"." placeholder:"DIR"`
	JSON    bool             `help:"Print JSON." name:"json"`
	Version kong.VersionFlag `help:"Print the version." name:"version"`

	Init   initCmd   `cmd:"" group:"Work:" help:"Begin an agent in a folder."`
	Do     doCmd     `cmd:"" group:"Work:" help:"Reach an objective: plan, act, verify, learn."`
	Resume resumeCmd `cmd:"" group:"Work:" help:"Go on with a run, or with all that can go on."`
	Run    runCmd    `cmd:"" group:"Work:" help:"One cycle: the sensors that are due, then the next task."`
	Think  thinkCmd  `cmd:"" group:"Work:" help:"Plan only: nothing is done or learned."`

	Status  statusCmd  `cmd:"" group:"See:" help:"Tasks, runs, cost of today, and what waits."`
	Runs    runsCmd    `cmd:"" group:"See:" help:"The runs, the latest first."`
	Tasks   tasksCmd   `cmd:"" group:"See:" help:"The queue."`
	Skills  skillsCmd  `cmd:"" group:"See:" help:"How work is done."`
	Sensors sensorsCmd `cmd:"" group:"See:" help:"What looks for work."`
	Goals   goalsCmd   `cmd:"" group:"See:" help:"What should hold of the world, and does or does not."`
	Health  healthCmd  `cmd:"" group:"See:" help:"Whether memory helps, and how the workers do."`
	Cost    costCmd    `cmd:"" group:"See:" help:"What it cost: reported, and beside it estimated."`

	Approve   approveCmd   `cmd:"" group:"Say:" help:"Attempts that wait for a person."`
	Judge     judgeCmd     `cmd:"" group:"Say:" help:"Say what was found out about a delivery."`
	Drop      dropCmd      `cmd:"" group:"Say:" help:"Give up a run: it is deleted; what was learned of it stays."`
	Proposals proposalsCmd `cmd:"" group:"Say:" help:"What arc proposes to change."`

	Memory      memoryCmd      `cmd:"" group:"Know:" help:"What was learned."`
	Identity    identityCmd    `cmd:"" group:"Know:" help:"What is known about the person or project."`
	Meta        metaCmd        `cmd:"" group:"Know:" help:"Whether what a session does is working."`
	Chunk       chunkCmd       `cmd:"" group:"Know:" help:"The patterns of a session."`
	Decay       decayCmd       `cmd:"" group:"Know:" help:"Put aside what is not used."`
	Consolidate consolidateCmd `cmd:"" group:"Know:" help:"Merge what says the same."`

	Export  exportCmd  `cmd:"" group:"Keep:" help:"Write all that is kept of a scope to a file."`
	Import  importCmd  `cmd:"" group:"Keep:" help:"Take in what was exported."`
	Erase   eraseCmd   `cmd:"" group:"Keep:" help:"Remove all that is kept of a scope."`
	Verify  verifyCmd  `cmd:"" group:"Keep:" help:"Compare all that is kept with its checksums."`
	Backup  backupCmd  `cmd:"" group:"Keep:" help:"Copy the store into a file."`
	Restore restoreCmd `cmd:"" group:"Keep:" help:"Put a backup into an empty folder."`

	Serve      serveCmd      `cmd:"" group:"Serve:" help:"The dashboard and MCP on one port; sensors and tasks meanwhile."`
	Services   servicesCmd   `cmd:"" group:"Serve:" help:"arc serve as a service of the system."`
	Creds      credsCmd      `cmd:"" group:"Serve:" help:"Credentials: in the keyring, or in an encrypted file."`
	Completion completionCmd `cmd:"" group:"Serve:" help:"What a shell needs to complete commands."`
	Complete   completeCmd   `cmd:"" hidden:"" name:"__complete"`
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
	version := "arc"
	if b, ok := debug.ReadBuildInfo(); ok {
		version += " " + b.Main.Version + ", built by " + b.GoVersion
	}
	parser, err := kong.New(&c,
		kong.Name("arc"), kong.Description("An agent in a folder that learns. arc COMMAND --help has an example of each."),
		kong.UsageOnError(), kong.Writers(s.out, s.err), kong.Exit(func(n int) { panic(left(n)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: max(80, s.width)}),
		kong.Vars{"version": version},
	)
	if err != nil {
		fmt.Fprintln(s.err, "arc:", err)
		return exitError
	}
	for _, leaf := range parser.Model.Leaves(true) {
		for line := range strings.Lines(examples) {
			if line = strings.TrimSpace(line); strings.Contains(line+" ", "arc "+leaf.Path()+" ") {
				leaf.Detail = "Example:  " + line
			}
		}
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
	if len(args) == 0 || args[0] == "help" { // as people type it
		args = append(args[min(1, len(args)):], "--help")
	}
	chosen, err := parser.Parse(args)
	if err != nil {
		at := parser.Model.Node
		if p, ok := errors.AsType[*kong.ParseError](err); ok && p.Context.Selected() != nil {
			at = p.Context.Selected()
		}
		fmt.Fprintf(s.err, "arc: %v\n%s --help shows how it is called\n", err, at.FullPath())
		return exitUsage
	}
	s.json = c.JSON
	a := &app{screen: s, dir: c.Dir, ctx: ctx}
	for _, open := range []any{a.view, a.queue, a.whoseFacts, a.vault} { // what methods Run may ask for
		if err := chosen.BindToProvider(open); err != nil {
			fmt.Fprintln(s.err, "arc:", err)
			return exitError
		}
	}
	n = s.exits(chosen.Run(a))
	return cmp.Or(n, s.exits(errors.Join(a.close(), s.lost)))
}

type completionCmd struct {
	Shell string `help:"bash, zsh or fish." enum:"bash,zsh,fish" default:"bash"`
}

// Run implements the command.
func (c *completionCmd) Run(a *app) error {
	a.say("%s", map[string]string{
		"bash": `_arc() { COMPREPLY=($(compgen -W "$(arc __complete -- "${COMP_WORDS[@]:1:COMP_CWORD-1}")" -- "${COMP_WORDS[COMP_CWORD]}")); }
complete -o default -F _arc arc`,
		"zsh": `#compdef arc
_arc() { compadd -- $(arc __complete -- ${words[2,CURRENT-1]}) }
compdef _arc arc`,
		"fish": `complete -c arc -f -a '(arc __complete -- (commandline -opc)[2..])'`,
	}[c.Shell])
	return nil
}

type completeCmd struct {
	Words []string `arg:"" optional:"" passthrough:""`
}

// Run prints what may follow the words: commands and flags.
func (c *completeCmd) Run(a *app, k *kong.Kong) error {
	at := k.Model.Node
	for _, word := range c.Words {
		for _, child := range at.Children {
			if child.Name == word {
				at = child
			}
		}
	}
	for _, child := range at.Children {
		if !child.Hidden {
			a.say("%s", child.Name)
		}
	}
	for _, group := range at.AllFlags(true) {
		for _, f := range group {
			a.say("--%s", f.Name)
		}
	}
	return nil
}
