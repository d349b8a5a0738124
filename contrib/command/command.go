// Package command has a program as an executor and as a gate of act, and runs programs of a host.
package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/reason"
)

// New returns a program as an executor and as a gate, in the folder dir ("": that of the process). env is all
// of its environment, as NAME=value; most programs want PATH and HOME. It is started without a shell. What it
// is to work on comes as JSON on its standard input, so that nothing a model says becomes an argument:
//
//	{"run", "attempt", "objective", "inputs", "data", "complaint", "answers",
//	 "memories": [text], "warnings": [text], "task": {"objective", "delta", "verify", "skill", "inputs"},
//	 "result": {"output", "text"}}   // for a gate
//
// The secrets that the worker lists are in its environment, by their names. What it prints is noted as it
// comes, in lines: 128 KiB of each, and 1 MiB of all. The program and all that it started are killed when the
// context ends, where the system has groups of processes (not on Windows), but for what left its group, as by
// setsid. What is left behind when the program has ended goes on; what it prints over a second later is lost.
//
// As an executor it prints up to 256 KiB on standard output, which is the Output of its Result: JSON as it
// is, text as a JSON string. As a gate it passes by an exit code of 0; else the last 4 KiB of what it printed
// are the complaint, from a whole word on, if there is one. Its exit code decides what kind of error it is,
// and no word that it prints, as a failing test may quote any: 75 is [reason.Unavailable], as where it is
// killed, which says nothing of what was done; 77 is [reason.Permission]; 126 and 127, like a program that
// cannot be started, are [reason.Permanent].
func New(dir string, env []string, argv ...string) *Program { return &Program{dir, env, argv} }

// Program is a program as an [act.Executor] and as an [act.Gate]. It may be used concurrently.
type Program struct {
	dir       string
	env, argv []string
}

const (
	maxPrinted = 256 << 10 // bytes of an executor's output
	maxTail    = 4 << 10   // bytes of the end of what it printed
	partial    = "\uFFFD"  // what a part of a letter is read as
)

// String is what a person would type, and the name of the gate.
func (c *Program) String() string { return strings.Join(c.argv, " ") }

// Execute runs the program on a task.
func (c *Program) Execute(ctx context.Context, call *act.Call) (*act.Result, error) {
	output, err := c.run(ctx, call, nil)
	if err != nil {
		return nil, err
	}
	output = bytes.TrimSpace(output)
	if len(output) > 0 && !json.Valid(output) {
		output, err = json.Marshal(string(output))
	}
	return &act.Result{Output: output}, err
}

// Verify implements act.Gate.
func (c *Program) Verify(ctx context.Context, call *act.Call, r *act.Result) (act.Verdict, error) {
	_, err := c.run(ctx, call, r)
	if failed, ok := errors.AsType[*reason.Error](err); ok && failed.Class == "" {
		return act.Verdict{Complaint: failed.Err.Error()}, nil
	}
	return act.Verdict{Pass: err == nil}, err
}

// run runs the program to its end, and returns the beginning of what it printed as output.
func (c *Program) run(ctx context.Context, call *act.Call, r *act.Result) ([]byte, error) {
	var memories, warnings []string
	for _, h := range call.Memories {
		memories = append(memories, h.Content)
	}
	for _, w := range call.Warnings {
		warnings = append(warnings, w.Complaint)
	}
	order := map[string]any{
		"run": call.Run, "attempt": call.Attempt, "objective": call.Text, "inputs": call.Inputs,
		"data": call.Data, "memories": memories, "warnings": warnings,
		"complaint": call.Complaint, "answers": call.Answers, "task": map[string]any{
			"objective": call.Task.Objective, "delta": call.Task.Delta, "verify": call.Task.Verify,
			"skill": call.Task.Skill, "inputs": call.Task.Inputs,
		},
	}
	if r != nil {
		order["result"] = map[string]any{"output": r.Output, "text": r.Text}
	}
	stdin, err := json.Marshal(order)
	if err != nil || len(c.argv) == 0 {
		err = cmp.Or(err, errors.New("a command without a program"))
		return nil, &reason.Error{Class: reason.Permanent, Err: err}
	}
	env := append([]string{}, c.env...)
	for _, name := range call.Worker.Secrets {
		if value := act.Secret(ctx, name); value != "" { // a gate gets none
			env = append(env, name+"="+value)
		}
	}
	out := &stream{ctx: ctx, name: c.argv[0]}
	errs := out // a gate's complaint is all that it prints, in order
	if r == nil {
		errs = &stream{ctx: ctx, name: c.argv[0]}
	}
	err = start(ctx, c.dir, env, c.argv, stdin, out, errs)
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return nil, &reason.Error{Class: reason.Permanent, Err: err}
	case exited:
		return nil, &reason.Error{Class: exits[exit.ExitCode()], Err: errs.failed(err)}
	case err != nil: // the end of its time
		return nil, errs.failed(err)
	case r == nil && out.size > maxPrinted:
		err = fmt.Errorf("%s printed %d bytes, over %d", c.argv[0], out.size, maxPrinted)
		return nil, &reason.Error{Class: reason.Invalid, Err: err}
	}
	return out.head, nil
}

// Run runs a program to its end, as those of New are, with an input of the host's, and returns what it
// printed on standard output: the first 256 KiB, and how much is left out. What it printed on its error
// output is noted, and stands in the error of one that fails.
func Run(ctx context.Context, dir string, env []string, stdin []byte, argv ...string) ([]byte, error) {
	out, errs := &stream{ctx: context.Background()}, &stream{ctx: ctx, name: argv[0]} // the output is not noted
	if err := start(ctx, dir, env, argv, stdin, out, errs); err != nil {
		return nil, fmt.Errorf("%s: %w", argv[0], out.failed(errs.failed(err)))
	}
	if out.size > len(out.head) {
		whole := bytes.TrimRight(out.head, partial)
		out.head = fmt.Appendf(whole, "\n[%d bytes more are left out]", out.size-len(whole))
	}
	return out.head, nil
}

// start runs a program, and returns when that has ended; what it has left behind may go on.
func start(ctx context.Context, dir string, env, argv []string, stdin []byte, out, errs *stream) error {
	if _, err := os.Stat(cmp.Or(dir, ".")); err != nil { // else the error is that there is no program
		return err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = dir, Env(env), bytes.NewReader(stdin), time.Second
	cmd.Stdout, cmd.Stderr = out, errs
	ownGroup(cmd)
	err := cmd.Run()
	out.note(len(out.rest))
	errs.note(len(errs.rest))
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	return cmp.Or(ctx.Err(), err)
}

// Env is an environment without the variables by which a git hook names its repository: they would have git
// work on that one, whatever folder it is started in.
func Env(env []string) []string {
	return slices.DeleteFunc(append([]string{}, env...), hooks.MatchString) // nil would be that of the process
}

var hooks = regexp.MustCompile(`^GIT_(DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|NAMESPACE|\w*OBJECT_DIR\w+)=`)

// exits has the exit codes that say what kind of error it is: those of sysexits.h and of the shells.
var exits = map[int]reason.ErrorClass{
	-1: reason.Unavailable, // it was killed
	75: reason.Unavailable, 77: reason.Permission, 126: reason.Permanent, 127: reason.Permanent,
}

// stream keeps the beginning and the end of what a program prints, and notes its lines.
type stream struct {
	ctx              context.Context
	name             string
	head, tail, rest []byte // rest is not noted yet
	size             int
}

// Write notes whole lines, and the lines of a private key together, since they are one secret.
func (s *stream) Write(b []byte) (int, error) {
	s.size += len(b)
	s.head = append(s.head, b[:min(len(b), max(0, maxPrinted-len(s.head)))]...)
	s.tail = append(s.tail, b...)
	s.tail = s.tail[max(0, len(s.tail)-maxTail):]
	if s.size > 1<<20 { // to clean a line takes a hundred times as long as to print it
		s.rest = []byte("… (what follows is not noted)") // until the end
		return len(b), nil
	}
	s.rest = append(s.rest, b...)
	n := bytes.LastIndexByte(s.rest, '\n') + 1
	key := bytes.LastIndex(s.rest[:n], []byte("-----BEGIN "))
	if key >= 0 && !bytes.Contains(s.rest[key:n], []byte("-----END ")) {
		n = bytes.LastIndexByte(s.rest[:key], '\n') + 1
	}
	s.note(n)
	return len(b), nil
}

// note notes the first n bytes of rest.
func (s *stream) note(n int) {
	text := strings.ToValidUTF8(string(s.rest[:n]), "\uFFFD")
	act.Note(s.ctx, act.Event{Kind: "output", Name: s.name, Text: text})
	s.rest = append(s.rest[:0], s.rest[n:]...)
}

// failed is an error with the end of what was printed, from a blank on, if there is one: no half of a secret.
func (s *stream) failed(err error) error {
	text := bytes.TrimSpace(s.tail)
	if s.size > len(s.tail) {
		text = bytes.TrimLeft(text[bytes.IndexAny(text, " \n")+1:], partial)
	}
	if len(text) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s", err, bytes.ToValidUTF8(text, []byte("\uFFFD")))
}
