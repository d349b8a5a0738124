// Quickstart watches an agent learn: a crew repairs broken Go packages, and
// knows in the second session what it found out in the first.
//
//	go run ./examples/quickstart
//
// The reasoner is a function that reads diagnostics and does not know who can
// repair what. Each member of the crew edits source for one kind of mistake,
// and the gate runs go build, go vet and go test. What is learned is kept in
// the user's cache directory, so that the next run starts from there.
package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

//go:embed testdata/*.txtar
var corpus embed.FS

const usage = `Usage: go run ./examples/quickstart [flags]

A crew repairs broken Go packages in two sessions. In the first it has to find
out who can repair what; in the second it knows. What it learns is kept in a
directory, so that the next run starts from there.

  -dir DIR      keep what is learned in DIR
                (default: arc-quickstart in the user's cache directory)
  -seed N       order of the crew and of the packages (default 1)
  -json         print one JSON object and nothing else
  -package DIR  repair the Go package in DIR instead; its module is copied, its
                build, vet and tests are run, and the result is shown
  -write        with -package: write the repaired files back to DIR
  -h            print this

The exit code is 0 if everything was repaired, 1 if not, 2 for a bad flag or
path, and 130 after an interrupt. NO_COLOR=1 turns colours off.
`

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// config is what the command line asks for.
type config struct {
	dir   string
	seed  uint64
	json  bool
	pkg   string   // a package of the user; "": the corpus
	only  []string // families of the corpus; nil: all. Tests shorten it
	write bool
}

// usageError is what the user can put right on the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func badUsage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		return exitOK
	}
	var r *result
	if err == nil {
		out := newPrinter(stdout)
		if c.json {
			out = newPrinter(io.Discard)
		}
		r, err = work(ctx, c, out)
	}
	if err == nil && c.json {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		err = enc.Encode(r)
	}
	switch _, usage := errors.AsType[*usageError](err); {
	case err != nil && ctx.Err() != nil:
		fmt.Fprintf(stderr, "quickstart: stopped; what was learned until then is kept in %s\n", c.dir)
		return exitInterrupted
	case usage:
		fmt.Fprintf(stderr, "quickstart: %s\n", line(err.Error()))
		return exitUsage
	case err != nil:
		fmt.Fprintf(stderr, "quickstart: %v\n", err)
		return exitFailed
	case !r.complete():
		return exitFailed
	}
	return exitOK
}

// parse reads the command line and checks the paths in it.
func parse(args []string) (config, error) {
	var c config
	fs := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&c.dir, "dir", "", "")
	fs.Uint64Var(&c.seed, "seed", 1, "")
	fs.BoolVar(&c.json, "json", false, "")
	fs.StringVar(&c.pkg, "package", "", "")
	fs.BoolVar(&c.write, "write", false, "")
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return c, err
	case err != nil:
		return c, badUsage("%w (-h lists the flags)", err)
	case fs.NArg() > 0:
		return c, badUsage("unexpected argument %q (-h lists the flags)", fs.Arg(0))
	case c.write && c.pkg == "":
		return c, badUsage("-write needs -package")
	}
	if c.dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return c, badUsage("no cache directory, give one with -dir: %w", err)
		}
		c.dir = filepath.Join(cache, "arc-quickstart")
	}
	if c.dir, err = filepath.Abs(c.dir); err != nil {
		return c, badUsage("-dir: %w", err)
	}
	if c.pkg != "" {
		if c.pkg, err = filepath.Abs(c.pkg); err == nil {
			err = checkPackage(c.pkg)
		}
		if err != nil {
			return c, badUsage("-package: %w", err)
		}
	}
	return c, nil
}

// checkPackage returns nil if dir is a directory that holds Go files.
func checkPackage(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() && filepath.Ext(e.Name()) == ".go" {
			return nil
		}
	}
	return fmt.Errorf("no Go files in %s", dir)
}
