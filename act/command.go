package act

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// Command is a program as a [Gate] and as an [Executor]. It is started without a shell,
// and gets on its standard input what it is to work on as JSON, so that nothing
// a model says becomes an argument:
//
//	{"work": {…}, "result": {…}}   // as a gate; as an executor without the result
//
// As a gate an exit code of 0 passes, any other fails with the ends of what it
// printed on both streams for a complaint, without secrets. As an executor it prints its
// output, JSON or text, on standard output; if it fails, the error has both ends. A failure
// is of the kind that its exit code or its last words on standard error say: see
// [Classify]. Secrets of the objective are in its environment, by their names.
//
// The program and all that it started are killed at the context's end, where the system
// knows groups of processes (not on Windows). What it leaves behind when it ends by
// itself goes on.
type Command struct {
	// Argv is the program and its arguments.
	Argv []string
	// Dir is the directory that it runs in. "": that of the process.
	Dir string
	// Env is its whole environment, as NAME=value. A program that starts others wants
	// PATH; many want HOME.
	Env []string
	// MaxOutput bounds what is read of each stream, in bytes. 0 or less: 512 KiB. More
	// is an error of an executor; of a complaint it is the end.
	MaxOutput int
	// Confidence is what the reflection of an executor says. 0: 0.8.
	Confidence float64
}

// stopped is how long the streams of a program are read after it has ended or was
// stopped: what it started may hold them open.
const stopped = time.Second

// String is what a person would type.
func (c *Command) String() string { return strings.Join(c.Argv, " ") }

// Verify implements Gate.
func (c *Command) Verify(ctx context.Context, w Work, r Result) (Verdict, error) {
	out, said, err := c.spawn(ctx, w, &r)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		return Verdict{Complaint: c.Argv[0] + ": " + ends(w, err, out, said)}, nil
	}
	return Verdict{Pass: err == nil}, err
}

// Execute implements Executor.
func (c *Command) Execute(ctx context.Context, w Work) (Result, error) {
	out, said, err := c.spawn(ctx, w, nil)
	if err != nil {
		return Result{}, failure(w, err, out, said)
	}
	out = bytes.TrimSpace(out)
	if len(out) > 0 && !json.Valid(out) {
		if out, err = json.Marshal(string(out)); err != nil {
			return Result{}, err
		}
	}
	confidence := cmp.Or(c.Confidence, 0.8)
	return Result{Output: out, Reflection: iar.Reflection{
		Status: iar.Success, Confidence: confidence, Summary: c.Argv[0] + " has ended well",
		PotentialIssues: []string{}, AlignmentCheck: map[string]float64{"objective": confidence},
	}}, nil
}

// spawn runs the program and returns what it printed on each stream.
func (c *Command) spawn(ctx context.Context, w Work, r *Result) (out, said []byte, err error) {
	if err := store.CheckContext(ctx); err != nil {
		return nil, nil, err
	}
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return nil, nil, errors.New("a command has no program")
	}
	type bare struct { // of secrets
		Work
		Secrets *struct{} `json:",omitempty"`
	}
	text, err := json.Marshal(struct {
		Work   bare    `json:"work"`
		Result *Result `json:"result,omitempty"`
	}{bare{Work: w}, r})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.Argv[0], err)
	}
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = c.Dir, bytes.NewReader(text), stopped
	cmd.Env = append([]string{}, c.Env...) // nil would be that of the process
	for name, v := range w.Secrets {
		if key.CheckID("secret", name) == nil {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	limit := cmp.Or(max(0, c.MaxOutput), maxOutput)
	stdout, stderr := &capped{left: limit}, &capped{left: limit}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	group(cmd)
	err = cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // what it started goes on; it has ended itself
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	} else if err == nil && stdout.cut && r == nil {
		err = fmt.Errorf("%s printed more than %d bytes", c.Argv[0], limit)
	}
	return append(stdout.kept, stdout.last...), append(stderr.kept, stderr.last...), err
}

// capped keeps the first bytes that are written to it, and of what is over that the end.
type capped struct {
	kept, last []byte
	left       int
	cut        bool
}

func (b *capped) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left, b.cut = b.left-n, b.cut || n < len(p)
	b.kept, b.last = append(b.kept, p[:n]...), append(b.last, p[n:]...)
	if over := len(b.last) - maxTail; over > 0 {
		b.last = append(b.last[:0], b.last[over:]...)
	}
	return len(p), nil
}

// The codes by which a shell says that it could not start a program, or has not found it.
const notStarted, notFound = 126, 127

// failure is the error of a program that has failed, of the kind that its exit code or its
// last words on standard error say. What it printed as output may say anything.
func failure(w Work, err error, out, said []byte) error {
	words := err.Error() + ": " + end(tail(said))
	told := &toldError{ends(w, err, out, said), err}
	exit, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case ended && (exit.ExitCode() == notStarted || exit.ExitCode() == notFound),
		errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return Permanent(told)
	}
	return classify(told, words)
}

// toldError is an error with a text in which no words are looked for.
type toldError struct {
	Text string
	Err  error
}

func (e *toldError) Error() string { return e.Text }
func (e *toldError) Unwrap() error { return e.Err }

// ends is an error with the ends of what its program printed.
func ends(w Work, err error, out, said []byte) string {
	clean := new(redact.Sanitizer).Knowing(slices.Collect(maps.Values(w.Secrets))...)
	text, o, e := err.Error(), end(clean.Sanitize(tail(out))), end(clean.Sanitize(tail(said)))
	switch {
	case o != "" && e != "":
		return text + ": stdout: " + o + " stderr: " + e
	case o != "" || e != "":
		return text + ": " + o + e
	}
	return text
}

// Bounds of what is told of a stream, in bytes: the ends of two fit into a complaint, and no
// secret in them is cut in two before it is found.
const (
	maxEnd  = 1900
	maxTail = 16 << 10
)

// tail is the last of what a program said.
func tail(text []byte) string { return string(text[max(0, len(text)-maxTail):]) }

// end is the end of a text, on one line.
func end(text string) string {
	text = strings.ToValidUTF8(text[max(0, len(text)-maxEnd):], "")
	return strings.Join(strings.Fields(fence.Visible(text)), " ")
}
