package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/reason"
)

// Options of an executor. The bounds are those of an attempt, with what it took before a crash.
type Options struct {
	System string          // instructions for the model
	Schema json.RawMessage // the JSON Schema of the final answer; nil: free text

	// Max bounds what the model is asked for: Calls of it, Input and Output tokens as reported, and CostUSD,
	// reported or else estimated. 0 and nil: no bound; below 0 nothing fits. Tools are called 64 times at most.
	Max reason.Usage
}

const (
	maxCalls  = 64
	maxInputs = 240 << 10 // bytes of the inputs of a call, of which a step can be made
	maxShown  = 16 << 10  // bytes of a result that the model is shown
	together  = 8         // calls of an answer that are made at a time
	repairs   = 2         // answers that may be asked for again because they cannot be used
	maxIdle   = 5         // answers in a row whose calls bring nothing new
)

// executor is what New returns.
type executor struct {
	model  reason.Model
	opts   Options
	tools  map[string]*Tool
	cards  []reason.Tool
	answer *schema.Schema
	wrong  error
}

// New returns an executor in which m does a task by calling tools. What is wrong with the arguments is the
// error of its attempts, of class [reason.Permanent].
//
// The model gets the task and what the Call has beside it, and is asked until it answers without a call.
// Calls go through [act.Do], up to eight of one answer at a time. The model is shown inputs that do not fit
// the schema or have over 240 KiB, a tool's error, a person's no, and of a result the first 16 KiB. What a
// person has denied is denied unasked for equal inputs, until the next attempt. An answer that is empty, cut
// off (its calls are not made) or not of the schema is asked for again, twice at most. A refusal ends the
// attempt, and so do five answers in a row whose calls have all been made in it before, with the same result:
// a tool that is asked until something happens had better wait itself, or say how far it is. While a person
// has to rule on one call of an answer, the others are made and kept.
//
// Where a plan Fires, its calls, which are bound to the case, are made without asking the model, as long as
// each returns what it returned when the plan was recorded; of values of the Call's Inputs, what counts is
// which one stands where. Before an irreversible call, at the first difference, such as a duration or a time
// in a result, and for the final answer the model is asked, and has the calls and what they returned among
// its own; where that was before the last call an event "left" says why.
//
// The Result has the answer, a reflection on the calls, and the calls that succeeded as its Plan.
func New(m reason.Model, o *Options, ts ...Tool) act.Executor {
	x := &executor{model: m, opts: *cmp.Or(o, &Options{})}
	x.tools, x.cards, x.wrong = check(ts)
	answer, err := schema.Compile(x.opts.Schema)
	if err != nil {
		x.wrong = errors.Join(x.wrong, fmt.Errorf("schema of the answer: %w", err))
	}
	x.answer = answer
	return x
}

// attempt is what is known of an attempt under way.
type attempt struct {
	*executor
	call     *act.Call
	messages []reason.Message
	made     []made // in the order of the answers
	usage    *reason.Usage
	idle     int // the last answers of the model whose calls brought nothing new
}

// made is a call of a tool that has ended.
type made struct {
	reason.PlanCall
	Shown  string // what the model was shown
	Failed bool
	Denied bool `json:",omitempty"` // by a person, or for want of one
}

func (x *executor) Execute(ctx context.Context, c *act.Call) (*act.Result, error) {
	if x.wrong != nil {
		return nil, &reason.Error{Class: reason.Permanent, Err: fmt.Errorf("tools: %w", x.wrong)}
	}
	a := &attempt{executor: x, call: c}
	result := &act.Result{}
	err := a.run(ctx, result)
	result.Usage = a.usage
	if err != nil {
		return result, err
	}
	result.Reflection, result.Plan = a.reflect(), &reason.Plan{}
	for _, m := range a.made {
		if !m.Failed {
			result.Plan.Calls = append(result.Plan.Calls, m.PlanCall)
		}
	}
	if slices.ContainsFunc(a.made, func(m made) bool { return m.Denied }) {
		result.Plan.Calls = nil // what is left of a plan after a no is no plan: the next case would not be asked
	}
	return result, nil
}

// run makes the attempt and writes the final answer into r.
func (a *attempt) run(ctx context.Context, r *act.Result) error {
	a.say(reason.Message{Role: reason.RoleUser, Text: prompt(a.call, a.tools)})
	if err := a.replay(ctx); err != nil {
		return err
	}
	r.FiredCalls, a.idle = len(a.made), 0 // a plan may well make equal calls: it was right
	for n, mended := 1, 0; ; n++ {
		answer, err := act.Step(ctx, fmt.Sprintf("answer %d", n), nil, a.generate, act.Sanitized())
		if err != nil {
			return err
		}
		a.usage = a.usage.Add(answer.Usage) // also of one that was kept
		switch answer.Stop {
		case reason.StopFilter: // asked again in this attempt it would refuse again
			why := cmp.Or(clip(answer.Text, maxShown), "it gives no reason")
			return &reason.Error{Err: fmt.Errorf("the model refuses to answer: %s", why)}
		case reason.StopLength: // nobody knows what else its calls were to say
			answer.Text, answer.Calls, answer.Opaque = cmp.Or(answer.Text, "(cut off)"), nil, nil
		}
		a.say(reason.Message{Role: reason.RoleModel, Text: answer.Text, Calls: answer.Calls, Opaque: answer.Opaque})
		if len(answer.Calls) > 0 {
			if err := a.callAll(ctx, n, answer.Calls); err != nil {
				return err
			}
			continue
		}
		output, wrong := a.final(answer)
		if wrong == nil {
			r.Text, r.Output = answer.Text, output
			return nil
		}
		if mended++; mended > repairs {
			return &reason.Error{Class: reason.Invalid, Err: fmt.Errorf("the final answer: %w", wrong)}
		}
		again := "This answer cannot be used: " + wrong.Error() + ". Answer again, in full."
		a.say(reason.Message{Role: reason.RoleUser, Text: again})
	}
}

func (a *attempt) say(m reason.Message) { a.messages = append(a.messages, m) }

// replay makes the calls of the plan that fires while the world answers as it did. The model is told of them
// as if it had made them: a small one makes again what it is told in words. No irreversible one is made: the
// plan was right in another case, and here a model has to want it.
func (a *attempt) replay(ctx context.Context) error {
	if a.call.Fires == nil {
		return nil
	}
	for i, p := range a.call.Fires.Calls {
		t, left := a.tools[p.Name], ""
		switch {
		case t == nil || i >= maxCalls || t.input.Check(p.Inputs) != nil:
			left = "the worker cannot make this call"
		case t.Irreversible:
			left = "it cannot be undone"
		default:
			c := []reason.ToolCall{{ID: fmt.Sprintf("unasked%02d", i+1), Name: p.Name, Inputs: p.Inputs}}
			a.say(reason.Message{Role: reason.RoleModel, Calls: c})
			if err := a.callAll(ctx, -i, c); err != nil { // answers of the model have numbers from 1 on
				return err
			}
			if i+1 < len(a.call.Fires.Calls) && a.made[i].ResultDigest != p.ResultDigest {
				left = "it returned something else than when it was learned"
			}
		}
		if left != "" {
			act.Note(ctx, act.Event{Kind: "left", Name: p.Name, Text: left})
			break
		}
	}
	return nil
}

// generate asks the model. An answer that cannot be used is asked for again.
func (a *attempt) generate(ctx context.Context) (*reason.Response, error) {
	if err := a.affords(); err != nil {
		return nil, err
	}
	var spoilt *reason.Usage
	for try := 0; ; try++ {
		r, err := reason.Generate(ctx, a.model, &reason.Request{
			System:   strings.TrimSpace(a.opts.System + "\n\n" + a.call.Agent),
			Messages: slices.Clone(a.messages), Tools: a.cards, Schema: a.opts.Schema,
			OnText: func(text string) { act.Note(ctx, act.Event{Kind: "text", Text: text, Live: true}) },
		})
		bad, ok := errors.AsType[*reason.Error](err)
		switch {
		case err == nil:
			r.Usage = spoilt.Add(r.Usage)
			usage, _ := schema.Marshal(r.Usage) // numbers always can be
			act.Note(ctx, act.Event{Kind: "answer", Text: r.Text, Data: usage})
			return r, nil
		case ok && bad.Class != reason.RateLimited && bad.Class != reason.Unavailable: // whose own Usage is told
			spoilt = spoilt.Add(bad.Usage)
		}
		if !ok || bad.Class != reason.Invalid || try == repairs {
			a.usage = a.usage.Add(spoilt)
			return nil, err
		}
		act.Note(ctx, act.Event{Kind: "again", Text: err.Error()}) // what was shown of the answer is void
	}
}

// affords returns an error if the bounds allow no further answer.
func (a *attempt) affords() error {
	u, most := a.usage.Add(&reason.Usage{}), a.opts.Max
	took := [...]int{u.Calls, u.Input, u.Output}
	for i, bound := range [...]int{most.Calls, most.Input, most.Output} {
		if bound != 0 && took[i] >= bound { // one below 0 is none that anything fits in
			what := [...]string{"calls of the model", "input tokens", "output tokens"}[i]
			return fmt.Errorf("the attempt took %d of %d %s", took[i], bound, what)
		}
	}
	if usd := cmp.Or(u.CostUSD, u.EstimateUSD); most.CostUSD != nil && usd != nil && !(*usd < *most.CostUSD) {
		return fmt.Errorf("the attempt took $%.4f of $%.4f", *usd, *most.CostUSD)
	}
	if a.idle >= maxIdle {
		last := a.made[len(a.made)-1]
		return &reason.Error{Err: fmt.Errorf("the model goes on calling %s: %s", last.Name, last.Shown)}
	}
	return nil
}

// callAll makes the calls of an answer and appends what the model is shown: in the order of the answer, since
// what was faster must not make another conversation. Where one waits for a person all are made and kept.
func (a *attempt) callAll(ctx context.Context, n int, calls []reason.ToolCall) error {
	ends, errs := make([]made, len(calls)), make([]error, len(calls))
	free := make(chan struct{}, together)
	var wg sync.WaitGroup
	for i, c := range calls {
		if len(a.made)+i >= maxCalls {
			ends[i].Name, ends[i].Failed, ends[i].Shown = "tools", true, "Error: no calls are left: answer now"
			continue
		}
		wg.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			errs[i] = errors.New("code of the host ended the goroutine of a call")
			ends[i], errs[i] = a.callOne(ctx, fmt.Sprintf("call %d.%d", n, i+1), c)
		})
	}
	wg.Wait()
	if err := joined(errs); err != nil {
		return err
	}
	a.idle++
	for i, m := range ends {
		if slices.ContainsFunc(a.made, func(was made) bool { return reflect.DeepEqual(was, m) }) {
			m.Shown += "\n(the same call has returned the same before)"
		} else {
			a.idle = 0
		}
		a.say(reason.Message{Role: reason.RoleTool, CallID: calls[i].ID, Text: m.Shown})
	}
	a.made = append(a.made, ends...)
	return nil
}

// joined returns what keeps the attempt from going on: an error, or else all that people have to rule on.
func joined(errs []error) error {
	var open act.PendingError
	for i, err := range errs {
		if pending, ok := errors.AsType[*act.PendingError](err); ok {
			open.Approvals = append(open.Approvals, pending.Approvals...)
			open.Questions = append(open.Questions, pending.Questions...)
			errs[i] = nil
		}
	}
	if err := errors.Join(errs...); err != nil || len(open.Approvals)+len(open.Questions) == 0 {
		return err
	}
	return &open
}

// callOne makes a call as a step. What the tool, the schema or a person refuses is part of what was made; an
// error is what keeps the attempt from going on.
func (a *attempt) callOne(ctx context.Context, step string, c reason.ToolCall) (made, error) {
	if raw, err := schema.Canonical(c.Inputs); err == nil { // else the tool refuses it
		c.Inputs = raw
	}
	m := made{PlanCall: reason.PlanCall{Name: c.Name, Inputs: c.Inputs}, Failed: true}
	if n := len(c.Inputs); n > maxInputs {
		m.Shown = fmt.Sprintf("Error: the inputs have %d bytes, over %d", n, maxInputs)
		return m, nil
	}
	for _, no := range a.made { // of a question that is asked often enough, one answer is a slip
		if no.Denied && no.Name == c.Name && string(no.Inputs) == string(c.Inputs) {
			return no, nil
		}
	}
	input := map[string]any{"tool": c.Name, "inputs": c.Inputs}
	return act.Step(ctx, step, input, func(ctx context.Context) (made, error) {
		act.Note(ctx, act.Event{Kind: "calling", Name: c.Name, Data: c.Inputs, Live: true})
		result, why, err := a.do(ctx, step, c)
		if err != nil {
			return made{}, fmt.Errorf("%s: %w", c.Name, err)
		}
		m.Failed = why != nil
		if m.Failed {
			m.Shown, m.Denied = "Error: "+clip(why.Error(), maxShown), errors.Is(why, act.ErrDenied)
		} else {
			m.Shown = clip(schema.Words(result), maxShown)
			m.ResultDigest = Digest(result, a.call.Inputs, a.call.Task.Inputs)
		}
		act.Note(ctx, act.Event{Kind: "tool", Name: c.Name, Text: m.Shown, Data: m.Inputs})
		return m, nil
	}, act.Sanitized())
}

// unfit says why a call cannot be made.
func (a *attempt) unfit(c reason.ToolCall) error {
	t := a.tools[c.Name]
	if t == nil {
		return fmt.Errorf("there is no tool %q; there are %q", c.Name, slices.Sorted(maps.Keys(a.tools)))
	}
	if err := t.input.Check(c.Inputs); err != nil {
		_, broken := schema.Read([]byte(schema.Words(c.Inputs))) // what is no JSON came as a string
		return fmt.Errorf("inputs: %w", cmp.Or(broken, err))
	}
	return nil
}

// do makes a call by act.Do. why is what the model is shown instead of a result. One that cannot be made may
// have been begun while it could be, by another version of the program.
func (a *attempt) do(ctx context.Context, key string, c reason.ToolCall) (_ json.RawMessage, why, err error) {
	t, failed := a.tools[c.Name], false // the tool: what else is an error is of the journal or of a secret
	f := func(ctx context.Context, inputs json.RawMessage) (json.RawMessage, error) {
		failed = true // also by a panic
		out, err := t.Call(ctx, inputs)
		out = json.RawMessage(strings.ToValidUTF8(string(out), "\uFFFD"))
		if err == nil && !json.Valid(out) {
			out, err = schema.Marshal(string(out))
		}
		failed = err != nil
		return out, err
	}
	if why = a.unfit(c); why != nil { // by now
		t, f = &Tool{Worker: act.Worker{Name: c.Name, Irreversible: true}}, nil
	}
	result, err := act.Do(ctx, &t.Worker, key, c.Inputs, f)
	bad, _ := errors.AsType[*reason.Error](err)
	switch {
	case err == nil && result != nil, errors.As(err, new(*act.PendingError)), ctx.Err() != nil,
		t.Irreversible && bad != nil && bad.Class == reason.Unavailable: // a person is asked when it goes on
		return result, nil, err
	case errors.Is(err, act.ErrDenied), errors.Is(err, act.ErrNoValue):
		return nil, err, nil
	case err == nil, bad != nil && bad.Class == reason.Invalid, failed, errors.Is(err, call.ErrMalformed):
		return nil, cmp.Or(why, err), nil
	}
	return nil, nil, err // the model cannot help it
}

// final returns the answer as JSON, or what is wrong with it.
func (a *attempt) final(answer *reason.Response) (json.RawMessage, error) {
	switch {
	case answer.Stop == reason.StopLength:
		return nil, errors.New("it was cut off at the greatest length")
	case answer.Stop == reason.StopTools, strings.TrimSpace(answer.Text) == "":
		return nil, errors.New("it is empty, or has lost its calls")
	case a.answer == nil:
		return schema.Marshal(answer.Text)
	}
	raw, err := reason.Object(answer.Text)
	if err == nil {
		err = a.answer.Check(raw)
	}
	if err != nil {
		return nil, err
	}
	return schema.Canonical(raw)
}

// reflect says what the calls say of the answer: of each, one that failed takes away from its confidence.
func (a *attempt) reflect() *iar.Reflection {
	r := &iar.Reflection{Status: iar.Success, PotentialIssues: []string{}}
	for _, m := range a.made {
		if m.Failed {
			r.Status = iar.Warning
			r.PotentialIssues = append(r.PotentialIssues, clip(m.Name+": "+m.Shown, 300))
		}
	}
	n, failed := len(a.made), len(r.PotentialIssues)
	r.Confidence = float64(1+n-failed) / float64(1+n)
	r.AlignmentCheck = map[string]any{"objective": r.Confidence}
	r.Summary = fmt.Sprintf("%d calls of tools, %d of them failed", n, failed)
	return r
}

func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return fmt.Sprintf("%s (cut: %d bytes in all)", fence.Clip(text, n), len(text))
}
