package act

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/arc-learn/arc/act/internal/wait"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/price"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Options configure a [Runner].
type Options struct {
	Workers []Worker
	Gates   []Gate // applied to every task, in order

	// Interceptors stand around every attempt, the first outermost.
	Interceptors []Interceptor

	// Approver is asked before attempts in mode Veto and above. nil: they end as
	// Pending, for the caller to make again once they are allowed.
	Approver    Approver
	ApprovalTTL time.Duration // how long an answer of the Approver's may take; 0: one minute
	// ApproveFrom is the radius from which attempts are Gated. Self, the zero
	// value: from Fleet on; Nowhere: none is for its radius.
	ApproveFrom Blast
	// ApproveAbove is the expected cost in US dollars above which attempts are Gated.
	// 0: none is for its price.
	ApproveAbove float64

	Timeout     time.Duration    // of one attempt; 0: ten minutes; negative: none
	GateTimeout time.Duration    // of one gate; 0: ten minutes; negative: none
	Now         func() time.Time // nil: time.Now

	crew *atomic.Pointer[crew]
}

// crew is the workers of a Runner, with what follows from them.
type crew struct {
	workers []Worker
	byName  map[string]*Worker
	former  []*Worker // replaced, the last first: their gates check
	skills  []string
	accepts []reason.Accept
}

// Runner makes attempts and verifies them. It is safe for concurrent use.
type Runner struct {
	o     Options
	chain []Interceptor // the host's
}

// NewRunner returns a Runner, or one error that lists everything that is wrong
// with the options: no workers, missing or duplicate names, nil parts, or workers
// whose tasks no gate would check.
func NewRunner(o Options) (*Runner, error) {
	o.Workers, o.Gates = slices.Clone(o.Workers), slices.Clone(o.Gates)
	o.Timeout, o.GateTimeout = cmp.Or(o.Timeout, 10*time.Minute), cmp.Or(o.GateTimeout, 10*time.Minute)
	o.ApprovalTTL, o.ApproveFrom = cmp.Or(o.ApprovalTTL, time.Minute), cmp.Or(o.ApproveFrom, Fleet)
	o.Now = guard.Clock(o.Now)
	if err := o.check(); err != nil {
		return nil, err
	}
	o.crew = new(atomic.Pointer[crew])
	o.crew.Store(newCrew(o.Workers))
	r := &Runner{o: o}
	for _, in := range o.Interceptors {
		r.chain = append(r.chain, foreign{in})
	}
	return r, nil
}

// newCrew returns the crew of workers that were checked.
func newCrew(workers []Worker) *crew {
	c := &crew{workers: workers, byName: make(map[string]*Worker, len(workers))}
	for i := range c.workers {
		w := &c.workers[i]
		w.Skills, w.Effects, w.Gates = slices.Clone(w.Skills), slices.Clone(w.Effects), slices.Clone(w.Gates)
		w.Card.Blast = max(w.Card.Blast, int(w.Blast))
		c.byName[w.Card.Name] = w
		c.skills = append(c.skills, w.Skills...)
		if w.input != nil {
			c.accepts = append(c.accepts, reason.Accept{Worker: w.Card.Name, Skills: w.Skills, Inputs: w.Input})
		}
	}
	slices.Sort(c.skills)
	c.skills = slices.Compact(c.skills)
	return c
}

// SetWorkers replaces the workers. An attempt under way stays with the worker that it
// was begun with, and its gates check the result, if no more than 256 were replaced since. The
// error lists everything that is wrong with them, as that of NewRunner does; then those of before
// stay.
func (r *Runner) SetWorkers(workers []Worker) error {
	o := r.o
	o.Workers = slices.Clone(workers)
	if err := o.check(); err != nil {
		return err
	}
	now := newCrew(o.Workers)
	for {
		before := r.o.crew.Load()
		now.former = nil
		seen := maps.Clone(now.byName)
		for _, w := range slices.Concat(slices.Collect(maps.Values(before.byName)), before.former) {
			if name := w.Card.Name; seen[name] == nil && len(now.former) < mostFormer {
				seen[name], now.former = w, append(now.former, w)
			}
		}
		if r.o.crew.CompareAndSwap(before, now) {
			return nil
		}
	}
}

// mostFormer is how many workers are kept that are not among the workers any more.
const mostFormer = 256

// past returns the worker of a name that is, or was, among the workers, or nil.
func (c *crew) past(name string) *Worker {
	if w := c.byName[name]; w != nil {
		return w
	}
	if i := slices.IndexFunc(c.former, func(w *Worker) bool { return w.Card.Name == name }); i >= 0 {
		return c.former[i]
	}
	return nil
}

// worker returns the worker of a name, or nil.
func (o *Options) worker(name string) *Worker { return o.crew.Load().byName[name] }

func (o *Options) check() error {
	var errs []error
	bad := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(len(o.Workers) == 0, "no workers")
	bad(o.ApprovalTTL < 0, "negative ApprovalTTL")
	bad(o.ApproveFrom < Self || o.ApproveFrom > Nowhere, "unknown ApproveFrom %d", o.ApproveFrom)
	bad(!(o.ApproveAbove >= 0), "ApproveAbove %v is not an amount", o.ApproveAbove)
	bad(o.Approver != nil && guard.IsNil(o.Approver), "the approver is nil")
	for i, in := range o.Interceptors {
		bad(guard.IsNil(in), "interceptor %d is nil", i)
	}
	for i, g := range o.Gates {
		bad(guard.IsNil(g), "gate %d is nil", i)
	}
	seen := make(map[string]bool)
	for i := range o.Workers {
		w := &o.Workers[i]
		name := w.Card.Name
		if err := key.CheckID("worker", name); err != nil {
			errs = append(errs, err)
		}
		bad(name == "", "worker %d has no name", i)
		bad(name != "" && seen[name], "worker %.256q is given twice", name)
		seen[name] = true
		for _, skill := range w.Skills {
			err := key.CheckID("skill", skill)
			bad(err != nil, "worker %.256q: %w", name, err)
		}
		bad(guard.IsNil(w.Executor), "worker %.256q has no executor", name)
		for j, g := range w.Gates {
			bad(guard.IsNil(g), "gate %d of worker %.256q is nil", j, name)
		}
		bad(len(o.Gates)+len(w.Gates) == 0,
			"worker %.256q has no gate, and there is none for all: pass act.NoGate if nothing can be verified", name)
		bad(w.Blast < Self || w.Blast > Public, "worker %.256q: unknown blast %d", name, w.Blast)
		bad(w.Mode < Autonomous || w.Mode > Compound, "worker %.256q: unknown mode %d", name, w.Mode)
		if len(w.Input) > 0 {
			var err error
			w.input, err = newSchema(w.Input)
			bad(err != nil, "worker %.256q: input: %w", name, err)
		}
		bad(w.Approvers < 0, "worker %.256q: %d approvers", name, w.Approvers)
		r, p := w.Rate, w.Card.Prior
		least, most := min(r.In, r.Out, r.CacheRead, r.CacheWrite), max(r.In, r.Out, r.CacheRead, r.CacheWrite)
		bad(!(least >= 0 && most <= math.MaxFloat64), "worker %.256q: rate %v is negative or not a number", name, r)
		bad(!(p >= 0 && p <= 1), "worker %.256q: prior %v is not in [0,1]", name, p)
	}
	return errors.Join(errs...)
}

// Skills returns what the workers can do, sorted.
func (r *Runner) Skills() []string { return slices.Clone(r.o.crew.Load().skills) }

// Effects returns what the workers can change, each once, in the order in which
// the workers were given.
func (r *Runner) Effects() []reason.Effect {
	var out []reason.Effect
	for _, w := range r.o.crew.Load().workers {
		for _, e := range w.Effects {
			if !slices.Contains(out, e) {
				out = append(out, e)
			}
		}
	}
	return out
}

// Workers returns the names of the workers, in the order in which they were
// given.
func (r *Runner) Workers() []string {
	workers := r.o.crew.Load().workers
	out := make([]string, len(workers))
	for i := range workers {
		out[i] = workers[i].Card.Name
	}
	return out
}

// Able reports whether any worker can take the task. If only its inputs are wrong, why
// says what is, and where.
func (r *Runner) Able(t *Task) (ok bool, why string) {
	for _, w := range r.o.crew.Load().workers {
		if !w.able(t) {
			continue
		}
		err := w.accepts(t)
		if err == nil {
			return true, ""
		}
		why = cmp.Or(why, err.Error())
	}
	return false, why
}

// Accepts returns what workers take for the inputs of their tasks, of those that say so.
func (r *Runner) Accepts() []reason.Accept { return slices.Clone(r.o.crew.Load().accepts) }

// Candidates returns the cards of the workers that can take the task, in the
// order in which the workers were given. With anyInputs its Inputs do not count: who
// can take such a task, whatever inputs it has.
func (r *Runner) Candidates(t *Task, anyInputs bool) []rank.Candidate {
	workers := r.o.crew.Load().workers
	cs := make([]rank.Candidate, 0, len(workers))
	for i := range workers {
		if w := &workers[i]; w.able(t) && (anyInputs || w.accepts(t) == nil) {
			cs = append(cs, w.Card)
		}
	}
	return cs
}

// Execute has the worker of a call do its work, and returns what came of it. It
// never panics and ends at the latest with the attempt's deadline and what the
// Approver and the Interceptors have. The Blast and the Mode of the call are the worker's where
// they are less; it holds afterwards what was asked for.
func (r *Runner) Execute(ctx context.Context, c *Call) Attempt {
	if c == nil {
		return Attempt{End: Failed, Complaint: "there is no call"}
	}
	w := r.o.worker(c.Worker)
	c.by = w
	if w == nil {
		return Attempt{End: Away, Complaint: fmt.Sprintf("there is no worker %.256q", c.Worker)}
	}
	if err := w.accepts(&c.Work.Task); err != nil {
		return Attempt{End: Failed, Complaint: err.Error()}
	}
	c.Blast, c.Mode = max(c.Blast, Blast(w.Card.Blast)), max(c.Mode, w.Mode)
	c.Irreversible = w.Irreversible
	c.came = Attempt{}
	r.pass(ctx, r.chain, c, &c.came)
	return c.came
}

// pass has a call pass the interceptors that are left, and behind them the policy, the
// approval, the executor, and what checks its result.
func (r *Runner) pass(ctx context.Context, left []Interceptor, c *Call, a *Attempt) {
	if len(left) == 0 {
		r.o.demand(c)
		if err := r.o.approve(ctx, c); err != nil {
			*a = r.ended(ctx, err)
			return
		}
		*a = r.execute(ctx, c)
		a.checkDeltas()
		a.checkReflection(&c.Work.Task)
		a.checkUsage()
		if u := &a.Result.Usage; u.APICostUSD == 0 { // by the worker's Rate
			u.APICostUSD = price.Rate(c.by.Rate).Of(*u)
		}
		return
	}
	if err := guard.Error(left[0].Before(ctx, c), ErrDenied); err != nil {
		*a = r.ended(ctx, err)
	} else {
		r.pass(ctx, left[1:], c, a)
	}
	left[0].After(ctx, c, a)
}

// Supervised reports whether attempts of any worker may need an approval.
func (r *Runner) Supervised() bool {
	return r.o.ApproveAbove > 0 || slices.ContainsFunc(r.o.crew.Load().workers, func(w Worker) bool {
		return w.Mode >= Veto || w.Irreversible || Blast(w.Card.Blast) >= min(Repo, r.o.ApproveFrom)
	})
}

// VerifyTimeout returns how long Verify may take: GateTimeout for each gate of
// the host and of the worker that has the most, of those that were replaced too. 0: gates are not timed.
func (r *Runner) VerifyTimeout() time.Duration {
	most, c := 0, r.o.crew.Load()
	for _, w := range c.workers {
		most = max(most, len(w.Gates))
	}
	for _, w := range c.former {
		most = max(most, len(w.Gates))
	}
	return max(0, r.o.GateTimeout) * time.Duration(len(r.o.Gates)+most)
}

// Reach returns how far the effects of a worker reach.
func (r *Runner) Reach(worker string) Blast {
	w := r.o.worker(worker)
	if w == nil {
		return Public // for all that is known
	}
	return Blast(w.Card.Blast)
}

// Mode returns the mode of a worker, which the policy may raise for an attempt.
func (r *Runner) Mode(worker string) Mode {
	if w := r.o.worker(worker); w != nil {
		return w.Mode
	}
	return Autonomous // an attempt of its is not made
}

// Approvers returns how many humans have to agree to an attempt of a worker.
func (r *Runner) Approvers(worker string, m Mode) int {
	if m < Compound {
		return 1
	}
	if w := r.o.worker(worker); w != nil && w.Approvers > 0 {
		return w.Approvers
	}
	return 2
}

// execute calls the executor.
func (r *Runner) execute(ctx context.Context, c *Call) (a Attempt) {
	start := r.o.Now()
	type made struct { // an error comes with a usage that counts, also after the limit
		Result
		failed error
	}
	work := job{c.by.Executor, c.Work, c.Once}
	all, err := guard.With(ctx, r.o.Timeout, work, func(limited context.Context, j job) (made, error) {
		res, err := persist(limited, j)
		if err != nil && limited.Err() != nil {
			err = guard.ErrTime
		}
		return made{res, err}, nil
	})
	res := all.Result
	if err = cmp.Or(err, all.failed); err != nil {
		a = r.ended(ctx, err)
		a.Result.Usage = res.Usage
	} else if err := checkOutput(res); err != nil {
		a = Attempt{End: Malformed, Err: err, Complaint: err.Error()}
		a.Result = Result{Utilized: res.Utilized, Misled: res.Misled, Usage: res.Usage}
	} else {
		a = Attempt{End: Finished, Result: res}
	}
	a.Wall = max(0, r.o.Now().Sub(start))
	return a
}

// patience is how long an attempt waits in all for a worker that limits its
// rate, before others are tried.
const patience = 2 * time.Minute

// job is work for an executor.
type job struct {
	Executor
	Work
	once bool
}

// persist calls an executor until it succeeds, fails for good, is away for too long, or
// ctx ends. A rate limit that does not say when it is over is asked again each
// second. Only what the executor itself has marked is repeated, and nothing of a task that
// is done once: other broken calls may have had effects. What all calls have used counts.
func persist(ctx context.Context, j job) (res Result, err error) {
	var failed Usage
	again := func(err error) (bool, time.Duration) {
		if j.once {
			return false, 0
		}
		_, limit := errors.AsType[*RateLimitError](err)
		_, marked := errors.AsType[*markedError](err)
		again, after := reason.Retryable(err)
		if limit {
			after = max(1, after)
		}
		return again && (limit || marked), after
	}
	end := time.Now().Add(patience)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(end) {
		end = deadline
	}
	err = wait.Retry(ctx, wait.Policy{Again: again, End: end}, func() (err error) {
		res, err = j.Execute(ctx, j.Work)
		err = guard.Error(err, ErrDenied)
		res.own()
		if err != nil && res.Usage.Valid() {
			failed = failed.Add(res.Usage)
		}
		return err
	})
	if err != nil {
		return Result{Usage: failed}, err
	}
	if failed != (Usage{}) && res.Usage.Valid() {
		res.Usage = failed.Add(res.Usage)
	}
	return res, nil
}

// ended describes an attempt that ended with an error.
func (r *Runner) ended(ctx context.Context, err error) Attempt {
	a := Attempt{End: Failed, Err: err, Complaint: err.Error()}
	if barred, ok := errors.AsType[*barredError](err); ok {
		a.End = barred.End
	}
	if p, ok := errors.AsType[*guard.PanicError](err); ok {
		a.Stack = p.Stack
		if a.End == Failed {
			a.End = Panicked
		}
	}
	input, asks := errors.AsType[*InputRequiredError](err)
	switch {
	case a.End != Failed:
	case ctx.Err() != nil:
		a.End = Canceled
	case asks:
		a.End, a.Questions = InputRequired, slices.Clone(input.Questions)
	case errors.Is(err, guard.ErrExited):
		a.End = Panicked
	default:
		if a.End, a.After = Class(err); errors.Is(err, guard.ErrTime) {
			a.Complaint = fmt.Sprintf("no result within %v", r.o.Timeout)
		}
	}
	return a
}

// Bounds of what an executor returns: its output, and the texts of its
// reflection together, in bytes; and how much has changed.
const (
	maxOutput     = 512 << 10
	maxReflection = 64 << 10
	maxDeltas     = 1 << 10
)

// own copies what the executor could still change.
func (res *Result) own() {
	r := &res.Reflection
	res.Output, r.Aside = slices.Clone(res.Output), slices.Clone(r.Aside)
	r.PotentialIssues, r.AlignmentCheck = slices.Clone(r.PotentialIssues), maps.Clone(r.AlignmentCheck)
	res.Utilized, res.Misled, res.Deltas = slices.Clone(res.Utilized), slices.Clone(res.Misled), slices.Clone(res.Deltas)
	for i := range res.Deltas {
		res.Deltas[i].Value = slices.Clone(res.Deltas[i].Value)
	}
}

func checkOutput(res Result) error {
	if len(res.Output) > maxOutput {
		return &store.LimitError{Field: "output of an executor", Limit: maxOutput, Got: len(res.Output)}
	}
	if err := checkJSON("output", res.Output); err != nil {
		return err
	}
	texts := len(res.Reflection.Summary) + len(res.Reflection.Aside)
	for _, issue := range res.Reflection.PotentialIssues {
		texts += len(issue)
	}
	for name := range res.Reflection.AlignmentCheck {
		texts += len(name)
	}
	if texts > maxReflection {
		return &store.LimitError{Field: "texts of a reflection", Limit: maxReflection, Got: texts}
	}
	return nil
}

func checkJSON(field string, raw json.RawMessage) error {
	if len(raw) > 0 && !json.Valid(raw) {
		return fmt.Errorf("%s is not JSON (json.Marshal makes a text JSON)", field)
	}
	return nil
}

func issues(list []iar.Issue) string {
	texts := make([]string, len(list))
	for i, issue := range list {
		texts[i] = issue.Text
	}
	return strings.Join(texts, "; ")
}

func complaintOf(r iar.Reflection) string {
	parts := append([]string{r.Summary}, r.PotentialIssues...)
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

// Verify has every gate check the work of the named worker: the host's, then
// the worker's own, and stops at the first that does not pass. A gate that
// errs, panics or does not return in time blocks the delivery; the error says
// which, and that the worker is not to blame. What all that were asked have used counts.
func (r *Runner) Verify(ctx context.Context, worker string, work Work, res Result) (Verdict, error) {
	w := r.o.crew.Load().past(worker)
	if w == nil {
		return Verdict{}, fmt.Errorf("there is no worker %.256q", worker)
	}
	type judged struct { // an error has a usage that counts
		Verdict
		failed error
	}
	all := Verdict{Pass: true}
	x := exam{work: work, result: res}
	for _, gates := range [...][]Gate{r.o.Gates, w.Gates} {
		for _, x.gate = range gates {
			if x.number++; x.gate == NoGate {
				continue
			}
			j, err := guard.With(ctx, r.o.GateTimeout, x, func(ctx context.Context, x exam) (judged, error) {
				v, err := ask(ctx, x)
				if err != nil && ctx.Err() != nil {
					err = guard.ErrTime
				}
				return judged{v, err}, nil
			})
			v := j.Verdict
			v.spend(all.Usage)
			if err = cmp.Or(err, j.failed); err != nil {
				return Verdict{Usage: v.Usage}, fmt.Errorf("gate %d: %w", x.number, err)
			}
			if !v.Pass {
				v.Complaint = cmp.Or(v.Complaint, v.Gate+" did not pass")
				return v, nil
			}
			all.Usage = v.Usage
		}
	}
	return all, nil
}
