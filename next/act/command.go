package act

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"strings"
	"time"

	"github.com/arc-learn/arc/next/iar"
	"github.com/arc-learn/arc/next/internal/schema"
	"github.com/arc-learn/arc/next/reason"
)

// Command is a program as an [Executor] and as a [Gate]. It is started without a shell. What it is to work on comes
// as JSON on its standard input, so that nothing a model says becomes an argument:
//
//	{"run", "attempt", "objective", "inputs", "data", "complaint", "answers",
//	 "task": {"objective", "delta", "verify", "skill", "inputs"}, "result": {"output", "text"}}   // result: of a gate
//
// The secrets that the worker lists are in its environment, by their names. Every line that it prints is noted as it
// comes. The program and all that it started are killed when the context ends, where the system has groups of
// processes (not on Windows).
//
// As an executor it prints its output, JSON or text, on standard output. As a gate an exit code of 0 passes, and the
// end of what it printed is the complaint otherwise. No word that it prints decides what kind of error it is: a
// failing test may quote any. Its exit code does: 75 is [reason.Unavailable], 77 [reason.Permission], 126 and 127,
// like a program that cannot be started, [reason.Permanent].
type Command struct {
	Argv []string
	Dir  string   // "": that of the process
	Env  []string // all of its environment, as NAME=value; most programs want PATH and HOME
}

const (
	maxPrinted = 256 << 10 // bytes of an executor's output
	maxTail    = 4 << 10   // bytes of the end of what it printed
	stopped    = time.Second
)

// String returns what a person would type.
func (c *Command) String() string { return strings.Join(c.Argv, " ") }

// Execute implements Executor.
func (c *Command) Execute(ctx context.Context, call *Call) (*Result, error) {
	out, err := c.run(ctx, call, nil)
	if err != nil {
		return nil, err
	}
	output := bytes.TrimSpace(out.all)
	if len(output) > 0 && !json.Valid(output) {
		if output, err = schema.Marshal(string(output)); err != nil {
			return nil, err
		}
	}
	return &Result{Output: output, Reflection: &iar.Reflection{
		Status: iar.Success, Confidence: 0.8, Summary: c.Argv[0] + " ended with exit code 0",
		AlignmentCheck: map[string]any{"objective": 0.8},
	}}, nil
}

// Verify implements Gate.
func (c *Command) Verify(ctx context.Context, call *Call, r *Result) (Verdict, error) {
	_, err := c.run(ctx, call, r)
	if failed, ok := errors.AsType[*programError](err); ok && failed.class == "" {
		return Verdict{Complaint: err.Error()}, nil
	}
	return Verdict{Pass: err == nil}, err
}

// order is what a program is told.
type order struct {
	Run       string          `json:"run,omitempty"`
	Attempt   int             `json:"attempt"`
	Objective string          `json:"objective,omitempty"`
	Inputs    json.RawMessage `json:"inputs,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Complaint string          `json:"complaint,omitempty"`
	Answers   []reason.Answer `json:"answers,omitempty"`
	Task      map[string]any  `json:"task"`
	Result    map[string]any  `json:"result,omitempty"`
}

// run runs the program to its end.
func (c *Command) run(ctx context.Context, call *Call, r *Result) (*printed, error) {
	if len(c.Argv) == 0 {
		return nil, &programError{errors.New("a command without a program"), "", reason.Permanent}
	}
	o := order{
		Run: call.Run, Attempt: call.Attempt, Objective: call.Objective, Inputs: call.Inputs, Data: call.Data,
		Complaint: call.Complaint, Answers: call.Answers,
	}
	t := call.Task
	o.Task = map[string]any{"objective": t.Objective, "delta": t.Delta, "verify": t.Verify, "skill": t.Skill, "inputs": t.Inputs}
	if r != nil {
		o.Result = map[string]any{"output": r.Output, "text": r.Text}
	}
	stdin, err := schema.Marshal(o)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = c.Dir, bytes.NewReader(stdin), stopped
	cmd.Env = append([]string{}, c.Env...) // nil would be that of the process
	for _, name := range of(ctx).vault.names {
		value, err := Secret(ctx, name)
		if err != nil {
			return nil, err
		}
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	lines := of(ctx).vault.sanitizer()
	out, errs := &printed{}, &printed{}
	outLines := lines.Lines(noting{ctx, c.Argv[0]})
	errLines := lines.Lines(noting{ctx, c.Argv[0]})
	cmd.Stdout, cmd.Stderr = io.MultiWriter(out, outLines), io.MultiWriter(errs, errLines)
	ownGroup(cmd)
	err = cmd.Run()
	err = errors.Join(err, outLines.Close(), errLines.Close())
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch tail := strings.TrimSpace(string(out.tail) + "\n" + string(errs.tail)); {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return nil, &programError{err, "", reason.Permanent}
	case exited:
		if r == nil {
			tail = strings.TrimSpace(string(errs.tail)) // standard output may be anything
		}
		return nil, &programError{err, tail, exits[exit.ExitCode()]}
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // what it started may go on
		return nil, err
	case r == nil && out.size > maxPrinted:
		return nil, malformed(fmt.Sprintf("%s printed %d bytes, over %d", c.Argv[0], out.size, maxPrinted))
	}
	return out, nil
}

// exits has the exit codes that say what kind of error it is: those of sysexits.h and of the shells.
var exits = map[int]reason.ErrorClass{
	75: reason.Unavailable, 77: reason.Permission, 126: reason.Permanent, 127: reason.Permanent,
}

// programError is the failure of a program. Its words are not read for a class.
type programError struct {
	err   error
	tail  string
	class reason.ErrorClass
}

func (e *programError) Unwrap() error { return e.err }
func (e *programError) Error() string {
	if e.tail == "" {
		return e.err.Error()
	}
	return e.err.Error() + ": " + e.tail
}

// printed keeps the beginning and the end of what a program prints.
type printed struct {
	all, tail []byte
	size      int
}

func (p *printed) Write(b []byte) (int, error) {
	p.size += len(b)
	p.all = append(p.all, b[:min(len(b), max(0, maxPrinted-len(p.all)))]...)
	p.tail = append(p.tail, b...)
	p.tail = p.tail[max(0, len(p.tail)-maxTail):]
	return len(b), nil
}

// noting tells of lines, which are clean.
type noting struct {
	ctx  context.Context
	name string
}

func (n noting) Write(b []byte) (int, error) {
	for line := range strings.Lines(strings.ToValidUTF8(string(b), "\uFFFD")) {
		of(n.ctx).tell(Event{Kind: "output", Name: n.name, Text: strings.TrimRight(line, "\r\n")})
	}
	return len(b), nil
}
