package act

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/arc-learn/arc/next/iar"
	"github.com/arc-learn/arc/next/internal/call"
	"github.com/arc-learn/arc/next/internal/fence"
	"github.com/arc-learn/arc/next/internal/schema"
	"github.com/arc-learn/arc/next/rank"
	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/redact"
)

// Options of a Runner.
type Options struct {
	Gates    []Gate   // of every worker, before its own
	Around   []Around // outermost first
	Approver Approver // nil: an attempt that needs a person is pending
	Secrets  func(ctx context.Context, name string) (string, error)

	// Sanitizer cleans what executors, gates and people say, and what is noted; nil: [redact.New] of no options.
	Sanitizer *redact.Sanitizer

	Timeout  time.Duration    // of an execution, and of each gate; 0: 10 minutes
	Patience time.Duration    // how long an Approval stays open; 0: 24 hours
	Now      func() time.Time // nil: time.Now
}

const (
	defaultTimeout  = 10 * time.Minute
	defaultPatience = 24 * time.Hour
)

func (o *Options) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

// Runner makes attempts with a set of workers. It does not change; to change the workers, make another.
type Runner struct {
	opts    Options
	workers []*Worker
	inputs  map[*Worker]*schema.Schema
}

// NewRunner returns a Runner. It returns all that is wrong with the workers: names that are empty or twice there, no
// executor, a schema that cannot be read, and no gate (say [NoGate] where nothing can be checked). nil is all
// defaults.
func NewRunner(workers []Worker, o *Options) (*Runner, error) {
	r := &Runner{inputs: map[*Worker]*schema.Schema{}}
	if o != nil {
		r.opts = *o
	}
	var wrong []error
	names := map[string]bool{}
	for _, w := range workers {
		flaw := func(format string, args ...any) {
			wrong = append(wrong, fmt.Errorf("worker %q: "+format, append([]any{w.Name}, args...)...))
		}
		if w.Name == "" || names[w.Name] {
			flaw("its name is empty or another's")
		}
		names[w.Name] = true
		if w.Executor == nil {
			flaw("no executor")
		}
		if len(w.Gates)+len(r.opts.Gates) == 0 {
			flaw("no gate decides whether it has delivered; act.NoGate says that none can")
		}
		for _, g := range append(slices.Clone(r.opts.Gates), w.Gates...) {
			if g == nil {
				flaw("a gate is nil")
			}
		}
		s, err := schema.Compile(w.Input)
		if err != nil {
			flaw("%w", err)
		}
		r.workers = append(r.workers, &w)
		r.inputs[&w] = s
	}
	return r, errors.Join(wrong...)
}

// Workers returns the workers, in the order in which they were given.
func (r *Runner) Workers() []*Worker { return slices.Clone(r.workers) }

// Able returns the workers that can take a task, one that the task names first. Workers with Skills take tasks that
// name one of them, workers without take tasks without a skill; one that is ByName takes only tasks that name it.
func (r *Runner) Able(t reason.Task) []*Worker {
	able := slices.DeleteFunc(slices.Clone(r.workers), func(w *Worker) bool { return !w.able(t) })
	if i := slices.IndexFunc(able, func(w *Worker) bool { return w.Name == t.Worker }); i > 0 {
		named := able[i]
		able = slices.Insert(slices.Delete(able, i, i+1), 0, named)
	}
	return able
}

// Run makes an attempt of c.Worker, which is one of the Runner's, at c.Task, and says what came of it.
//
// With a [Journal] in ctx, an attempt that is made again under its run and number goes on where it was: a result
// that was committed is not made again, and is judged anew. Inputs that do not fit the worker's schema, or hold a
// secret that it does not list, are refused before anything is called.
//
//	Outcome      of
//	Delivered    all gates passed
//	Failed       a gate did not pass, or an error of no known class
//	Malformed    a result that cannot be used: none, a huge one, an invalid reflection; [reason.Invalid]
//	Away         [reason.RateLimited], [reason.Unavailable]
//	TimedOut     the deadline
//	Canceled     ctx has ended
//	Denied       a person's no, [reason.Permission], [reason.Permanent], refused inputs
//	""           Pending or Questions: nothing is decided
func (r *Runner) Run(ctx context.Context, c *Call) Attempt {
	own := *c
	own.Stamps = map[string]string{}
	maps.Copy(own.Stamps, c.Stamps)
	s := *of(ctx)
	s.opts, s.run, s.attempt, s.about, s.fired = &r.opts, c.Run, c.Attempt, c.Task.Objective, c.Fired
	s.vault = vault{clean: cmp.Or(s.clean, r.opts.Sanitizer)}
	if !slices.Contains(r.workers, c.Worker) {
		return s.failed(ctx, fmt.Errorf("%w: the call is for no worker of this runner", errInputs))
	}
	s.worker = c.Worker.Name
	next := func(ctx context.Context) Attempt {
		own.Worker = c.Worker                                              // whatever an Around has made of it
		return r.attempt(context.WithValue(ctx, sceneKey{}, &s), &s, &own) // or of the context
	}
	for _, around := range slices.Backward(r.opts.Around) {
		inner := next
		next = func(ctx context.Context) Attempt {
			a, err := call.Do(ctx, 0, func(ctx context.Context) (Attempt, error) {
				return around.Around(ctx, &own, inner), nil
			})
			if err != nil {
				return s.failed(ctx, fmt.Errorf("around: %w", err))
			}
			return a
		}
	}
	a := next(ctx)
	if a.Outcome == rank.Delivered && a.Result == nil {
		a = s.failed(ctx, malformed("an Around returned a delivery without a result"))
	}
	return a
}

// attempt executes and judges.
func (r *Runner) attempt(ctx context.Context, s *scene, c *Call) Attempt {
	result, usage, err := r.execute(ctx, c)
	if err != nil {
		a := s.failed(ctx, err)
		a.Usage = cmp.Or(usage, a.Usage)
		return a
	}
	a := Attempt{Outcome: rank.Delivered, Result: result, Usage: result.Usage}
	if a.Verdict, err = r.judge(ctx, s, c, result); a.Pass {
		return a
	}
	a.Outcome = rank.Failed
	if away, ok := errors.AsType[*reason.Error](err); ok && outcomes[away.Class] == rank.Away {
		// The gate has not judged. The result is kept, and is judged when the attempt goes on.
		a.Outcome, a.Err = rank.Away, away
	} else if ctx.Err() != nil {
		a.Outcome = rank.Canceled
	}
	return a
}

// execute makes the execution or takes its result from the journal. The usage is also that of one that failed.
func (r *Runner) execute(ctx context.Context, c *Call) (result *Result, usage *reason.Usage, err error) {
	given, err := schema.Canonical(c.Task.Inputs)
	if err == nil {
		err = r.inputs[c.Worker].Check(given)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errInputs, err)
	}
	w, none := c.Worker, string(given) == "{}" || string(given) == "null"
	if none { // the text is all that tells two calls apart
		given, _ = schema.Marshal(map[string]string{"objective": c.Task.Objective}) // a string is always JSON
	}
	under := *w
	under.Timeout = cmp.Or(w.Timeout, r.opts.Timeout, defaultTimeout)
	made := &action{Worker: &under, kind: "worker", step: "result", inputs: given, sanitised: true}
	raw, err := do(ctx, made, func(ctx context.Context, inputs json.RawMessage) (json.RawMessage, error) {
		own := *c
		if !none {
			own.Task.Inputs = inputs
		}
		made, err := w.Executor.Execute(ctx, &own)
		if made != nil {
			usage = made.Usage
		}
		if err == nil {
			err = flaws(made)
		}
		if err != nil {
			return nil, err
		}
		raw, err := schema.Marshal(made.clean(of(ctx)))
		if err == nil && len(raw) > maxKept {
			err = malformed("a result of %d bytes, over %d", len(raw), maxKept)
		}
		return raw, err
	})
	if err == nil {
		err = json.Unmarshal(raw, &result)
	}
	return result, usage, err
}

// malformed says why an answer of the host's code cannot be used.
func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", call.ErrMalformed, fmt.Sprintf(format, args...))
}

// flaws says what is wrong with a result.
func flaws(r *Result) error {
	switch {
	case r == nil:
		return malformed("no result")
	case len(r.Output) > 0 && !json.Valid(r.Output):
		return malformed("its output is no JSON")
	case len(r.Text) > maxText:
		return malformed("its text has %d bytes, over %d", len(r.Text), maxText)
	}
	for _, d := range r.Deltas {
		if d.Path == "" || !slices.Contains([]string{"set", "inc", "push"}, d.Op) || !json.Valid(d.Value) {
			return malformed("a delta has a path, a value, and set, inc or push, not %q %q", d.Op, d.Path)
		}
	}
	if r.Reflection == nil {
		return nil
	}
	raw, err := json.Marshal(r.Reflection)
	if err != nil {
		return malformed("its reflection: %v", err)
	}
	if checked := iar.Structure(raw); !checked.Valid {
		return malformed("its reflection: %v", checked.Issues)
	}
	return nil
}

const (
	maxText      = 64 << 10 // bytes of an answer in words
	maxComplaint = 8 << 10  // bytes of a complaint
)

// clean returns a result without secrets. Of a plan the placeholders stay: its inputs were written by a model that
// has seen nothing else.
func (r *Result) clean(s *scene) *Result {
	own := *r
	own.Text, own.Output = s.cleanText(r.Text), s.cleanJSON(r.Output, false)
	if r.Reflection != nil {
		said := *r.Reflection
		said.Summary, said.PotentialIssues = s.cleanText(said.Summary), slices.Clone(said.PotentialIssues)
		for i, issue := range said.PotentialIssues {
			said.PotentialIssues[i] = s.cleanText(issue)
		}
		own.Reflection = &said
	}
	own.Deltas = slices.Clone(r.Deltas)
	for i, d := range own.Deltas {
		own.Deltas[i].Value = s.cleanJSON(d.Value, false)
	}
	return &own
}

// judge asks the gates in turn, until one does not pass. The error is that of a gate that could not judge.
func (r *Runner) judge(ctx context.Context, s *scene, c *Call, result *Result) (Verdict, error) {
	last := Verdict{}
	for _, g := range append(slices.Clone(r.opts.Gates), c.Worker.Gates...) {
		seen := *result
		v, err := call.Do(ctx, cmp.Or(r.opts.Timeout, defaultTimeout), func(ctx context.Context) (Verdict, error) {
			last.Gate = gateName(g)
			return g.Verify(ctx, c, &seen)
		})
		v.Gate = last.Gate
		if err != nil {
			v.Pass, v.Complaint = false, "it could not be checked: "+err.Error()
		}
		if !v.Pass {
			v.Complaint = fence.Clip(s.cleanText(cmp.Or(v.Complaint, "it was refused without a reason")), maxComplaint)
			return v, err
		}
		last = v
	}
	return last, nil
}

// gateName is what a verdict calls a gate.
func gateName(g Gate) string {
	if named, ok := g.(fmt.Stringer); ok {
		return fence.Clip(named.String(), maxShown)
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", g), "*")
}

// errInputs is in the chain of the error of a call that was refused for its inputs.
var errInputs error = &reason.Error{Class: reason.Invalid, Err: errors.New("the inputs are refused")}

// failed is the attempt that ended with an error.
func (s *scene) failed(ctx context.Context, err error) Attempt {
	text := s.cleanText(err.Error())
	a := Attempt{Outcome: rank.Failed, Err: &reason.Error{Err: call.Reworded(err, text)}}
	a.Complaint = fence.Clip(text, maxComplaint)
	var pending *PendingError
	var panicked *call.PanicError
	switch class := reason.Classify(err); {
	case errors.As(err, &pending) && pending != nil && len(pending.Approvals)+len(pending.Questions) > 0:
		a.Outcome, a.Complaint, a.Pending = "", "", pending
	case ctx.Err() != nil:
		a.Outcome = rank.Canceled
	case errors.Is(err, errInputs):
		a.Outcome, a.Err.Class = rank.Denied, reason.Invalid
	case errors.Is(err, ErrDenied):
		a.Outcome = rank.Denied
	case errors.Is(err, call.ErrMalformed):
		a.Outcome = rank.Malformed
		if class != nil && class.Class == reason.Invalid { // that of a model, which took tokens
			a.Err.Class, a.Usage = class.Class, class.Usage
		}
	case errors.Is(err, context.DeadlineExceeded):
		a.Outcome, a.Err.Class = rank.TimedOut, reason.Unavailable
	case class != nil && !errors.As(err, &panicked): // whatever the words of a panic
		a.Err.Class, a.Err.Wait, a.Usage = class.Class, class.Wait, class.Usage
		a.Outcome = outcomes[class.Class]
	}
	return a
}

// outcomes has the outcome of each class of error.
var outcomes = map[reason.ErrorClass]rank.Outcome{
	"":                 rank.Failed,
	reason.RateLimited: rank.Away,
	reason.Unavailable: rank.Away,
	reason.Permanent:   rank.Denied,
	reason.Permission:  rank.Denied,
	reason.Invalid:     rank.Malformed,
}
