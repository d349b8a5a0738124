package act

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Runner makes attempts with a set of workers. It does not change; to change the workers, make another.
type Runner struct {
	workers []*Worker
	around  []Around
	host    host
}

// host is what a Runner's calls ask of the host.
type host struct {
	approver Approver
	open     time.Duration // how long an Approval is
	secrets  func(ctx context.Context, name string) (string, error)
}

// NewRunner returns a Runner. It returns all that is wrong with the parts: names that are empty or twice
// there, no executor, a schema that cannot be read, and no gate (say [NoGate] where nothing can be checked).
//
// The approver is asked where a person has to rule; nil: the attempt is pending. An Approval stays open for
// open (0: 24 hours). secrets returns one that is listed (nil: none); around is the outermost first.
func NewRunner(
	workers []Worker, approver Approver, open time.Duration,
	secrets func(ctx context.Context, name string) (string, error), around ...Around,
) (*Runner, error) {
	r := &Runner{around: around, host: host{approver, max(0, open), secrets}}
	var wrong []error
	for _, w := range workers {
		namesake := func(o *Worker) bool { return o.Name == w.Name }
		flaw := func(is bool, what string) {
			if is {
				wrong = append(wrong, fmt.Errorf("worker %q: %s", w.Name, what))
			}
		}
		flaw(store.CheckID(w.Name) != nil, "its name is empty or too long")
		flaw(slices.ContainsFunc(r.workers, namesake), "its name is another's")
		flaw(w.Executor == nil, "no executor")
		flaw(len(w.Gates) == 0, "no gate decides whether it has delivered; act.NoGate says that none can")
		flaw(slices.Contains(w.Gates, nil), "a gate is nil")
		flaw(w.Mode.String() == "?" || w.Blast.String() == "?", "there is no such mode or blast")
		inRange := w.Prior >= 0 && w.Prior <= 1 && w.Price >= 0 && w.Timeout >= 0
		flaw(!inRange, "its prior, price or timeout is out of range")
		input, err := schema.Compile(w.Input)
		flaw(err != nil, fmt.Sprint(err))
		w.input, w.Timeout = input, cmp.Or(w.Timeout, 10*time.Minute)
		r.workers = append(r.workers, &w)
	}
	if slices.ContainsFunc(around, func(a Around) bool { return a == nil }) {
		wrong = append(wrong, errors.New("an Around is nil"))
	}
	return r, errors.Join(wrong...)
}

// Workers returns the workers, in the order in which they were given.
func (r *Runner) Workers() []*Worker { return slices.Clone(r.workers) }

// Able returns the workers that can take a task, one that the task names first; where there is none, the
// error says why. Workers with Skills take tasks that name one of them, workers without take tasks without a
// skill: a planner that left it out must not have a refund write the reply. Inputs fit the worker's schema.
func (r *Runner) Able(t reason.Task) (able []*Worker, err error) {
	for _, w := range r.workers {
		skilled := slices.Contains(w.Skills, t.Skill) || t.Skill == "" && len(w.Skills) == 0
		var unfit error
		if skilled && w.input != nil { // else any inputs do, and are not read
			unfit = w.input.Check([]byte(cmp.Or(string(t.Inputs), "{}")))
		}
		switch {
		case !skilled, w.ByName && t.Worker != w.Name:
		case unfit != nil:
			err = fmt.Errorf("the inputs of the task %.70q are not those of worker %s: %w", t.Objective, w.Name, unfit)
		case t.Worker == w.Name:
			able = slices.Insert(able, 0, w)
		default:
			able = append(able, w)
		}
	}
	if len(able) > 0 {
		return able, nil
	}
	const none = "no worker takes the task %.70q (skill %q, worker %q)"
	return nil, cmp.Or(err, fmt.Errorf(none, t.Objective, t.Skill, t.Worker))
}

// Result is what an executor made of its task; a delivery is one that the gates have passed.
type Result struct {
	Output     json.RawMessage `json:",omitempty"` // nil stays nil where it is kept; a Result has up to 384 KiB
	Text       string          `json:",omitzero"`  // the answer in words, at most 64 KiB
	Reflection *iar.Reflection `json:",omitzero"`  // nil: none was made; an invalid one fails the attempt
	Utilized   []memory.ID     `json:",omitzero"`  // the Memories that helped; none: none did; nil: not known
	Usage      *reason.Usage   `json:",omitzero"`  // of the attempt, and before a crash; an Attempt has Judges'
	Deltas     []reason.Delta  `json:",omitzero"`  // changes of the world that were made
	Plan       *reason.Plan    `json:",omitzero"`  // the calls that were made, of an executor that makes calls
	FiredCalls int             `json:",omitzero"`  // how many calls of the plan that Fires it made unasked
}

// Attempt is one execution with its verdict, whatever came of it.
type Attempt struct {
	Verdict              // of the gate that refused, or of the last one; Complaint is also what else went wrong
	Result               // of one that failed to make any: its Usage
	Outcome rank.Outcome // "" while a person has to rule or to answer before it goes on: no attempt is spent
	// Err is of the executor, a gate or an Around, or why none was called; without Outcome it wraps a
	// *[PendingError]. An Outcome of Unknown with the class Permanent or Permission blocks the run.
	Err *reason.Error
}

// Run makes an attempt of c.Worker, which is one of the Runner's, at c.Task, and says what came of it.
//
// With a [Journal] in ctx, an attempt that is made again under its run and number goes on where it was: a
// result that was committed is not made again, and is judged anew. Inputs that do not fit the worker's
// schema, or hold a secret that it does not list, are refused before anything is called.
//
//	Outcome      of
//	Delivered    all gates passed
//	Failed       a gate did not pass, or an error of no known class
//	Unknown      a gate could not tell: its error, which says nothing about the worker
//	Malformed    a result that cannot be used: none, a huge one, an invalid reflection; [reason.Invalid]
//	Away         [reason.RateLimited], [reason.Unavailable]
//	TimedOut     the deadline
//	Canceled     ctx has ended
//	Denied       a person's no, [reason.Permission], [reason.Permanent], refused inputs
//	""           a *[PendingError] of the executor or a gate: nothing is decided
func (r *Runner) Run(ctx context.Context, c *Call) Attempt {
	own, s := *c, *of(ctx).journaled()
	s.host, s.call, s.secrets, s.key = r.host, c, nil, ""
	if !slices.Contains(r.workers, c.Worker) {
		return s.failed(ctx, fmt.Errorf("%w: the call is for no worker of this runner", errInputs))
	}
	next := func(ctx context.Context) Attempt { // whatever an Around has made of the worker, or of the context
		own.Worker, ctx = c.Worker, context.WithValue(ctx, sceneKey{}, &s)
		result, err := execute(ctx, &own)
		if err = cmp.Or(err, ctx.Err()); err != nil { // a result is kept, and is judged when the attempt goes on
			a := s.failed(ctx, err)
			a.Usage = cmp.Or(result.Usage, a.Usage)
			return a
		}
		return s.judge(ctx, &own, result)
	}
	for i, around := range slices.Backward(r.around) {
		inner, at := next, s
		at.path = fmt.Sprintf("around %d/", i+1)
		next = func(ctx context.Context) Attempt {
			a, err := call.Do(context.WithValue(ctx, sceneKey{}, &at), 0, func(ctx context.Context) (Attempt, error) {
				return around(ctx, &own, inner), nil
			})
			if err == nil && (a.Outcome == "" && !waits(a.Err) || a.Outcome == rank.Delivered && !a.Pass) {
				err = malformed("it returned no outcome, or a delivery that no gate has passed")
			}
			if err != nil {
				return s.failed(ctx, fmt.Errorf("around: %w", err))
			}
			return a
		}
	}
	return next(ctx)
}

// execute makes the execution or takes its result from the journal. That of one that failed has its Usage.
func execute(ctx context.Context, c *Call) (result Result, err error) {
	given, err := schema.Canonical(c.Task.Inputs)
	if err == nil && c.Worker.input != nil {
		err = c.Worker.input.Check(given)
	}
	if err != nil {
		return result, fmt.Errorf("%w: %w", errInputs, err)
	}
	none := string(given) == "{}" || string(given) == "null"
	if none { // the text is all that tells two calls apart
		given, _ = schema.Marshal(map[string]string{"objective": c.Task.Objective}) // a string is always JSON
	}
	work := &action{Worker: c.Worker, kind: "worker", callee: cmp.Or(c.Task.Skill, c.Worker.Name),
		step: "result", inputs: given, sanitised: true}
	raw, err := work.make(ctx, func(ctx context.Context, inputs json.RawMessage) (json.RawMessage, error) {
		own := *c
		if !none {
			own.Task.Inputs = inputs
		}
		made, err := c.Worker.Executor.Execute(ctx, &own)
		if made != nil {
			result.Usage = made.Usage
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
		result = Result{}
		err = json.Unmarshal(raw, &result)
	}
	return result, err
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", call.ErrMalformed, fmt.Sprintf(format, args...))
}

func flaws(r *Result) error {
	switch {
	case r == nil:
		return malformed("no result")
	case len(r.Output) > 0 && !json.Valid(r.Output):
		return malformed("its output is no JSON")
	case len(r.Text) > maxText:
		return malformed("its text has %d bytes, over %d", len(r.Text), maxText)
	case r.Reflection != nil && !iar.Content(*r.Reflection, "").Valid:
		return malformed("its reflection: %v", iar.Content(*r.Reflection, "").Issues)
	}
	for _, d := range r.Deltas {
		if d.Path == "" || !slices.Contains([]string{"set", "inc", "push"}, d.Op) || !json.Valid(d.Value) {
			return malformed("a delta has a path, a value, and set, inc or push, not %q %q", d.Op, d.Path)
		}
	}
	return nil
}

// clean returns a result without secrets. A plan keeps placeholders: a model wrote it that saw nothing else.
func (r Result) clean(s *scene) *Result {
	r.Text, r.Output = s.clean.Prose(r.Text), s.cleanJSON(r.Output, false)
	if r.Reflection != nil {
		said := *r.Reflection
		said.Summary, said.PotentialIssues = s.clean.Prose(said.Summary), slices.Clone(said.PotentialIssues)
		for i, issue := range said.PotentialIssues {
			said.PotentialIssues[i] = s.clean.Prose(issue)
		}
		r.Reflection = &said
	}
	r.Deltas = slices.Clone(r.Deltas)
	for i, d := range r.Deltas {
		r.Deltas[i].Value = s.cleanJSON(d.Value, false)
	}
	return &r
}

// errInputs is in the chain of the error of a call that was refused for its inputs.
var errInputs error = &reason.Error{Class: reason.Invalid, Err: errors.New("the inputs are refused")}

// failed is the attempt that ended with an error.
func (s *scene) failed(ctx context.Context, err error) Attempt {
	text := fence.Clip(s.clean.Prose(err.Error()), maxComplaint)
	a := Attempt{Outcome: rank.Failed, Err: &reason.Error{Err: call.Reworded(err, text)}}
	a.Complaint = text
	switch class := cmp.Or(reason.Classify(err), &reason.Error{}); {
	case waits(err):
		a.Outcome, a.Complaint = "", ""
	case ctx.Err() != nil:
		a.Outcome = rank.Canceled
	case errors.Is(err, errInputs):
		a.Outcome, a.Err.Class = rank.Denied, reason.Invalid
	case errors.Is(err, ErrDenied):
		a.Outcome = rank.Denied
	case errors.Is(err, call.ErrMalformed) && class.Class != reason.Invalid:
		a.Outcome = rank.Malformed
	case errors.Is(err, context.DeadlineExceeded):
		a.Outcome, a.Err.Class, a.Err.Usage = rank.TimedOut, reason.Unavailable, class.Usage
	case !errors.As(err, new(*call.PanicError)): // whatever the words of a panic
		a.Err.Class, a.Err.Wait, a.Outcome = class.Class, class.Wait, outcomes[class.Class]
		a.Usage = class.Usage
		if a.Outcome == rank.Away { // the attempt goes on, without what the call took
			a.Err.Usage, a.Usage = class.Usage, nil
		}
	}
	return a
}

// waits reports whether an error says what people have to rule on or to answer.
func waits(err error) bool {
	p, _ := errors.AsType[*PendingError](err)
	return p != nil && len(p.Approvals)+len(p.Questions) > 0
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
