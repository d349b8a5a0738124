package act

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// action is one call of a worker, a tool or a step, within a scene.
type action struct {
	*scene
	*Worker          // its conditions hold
	kind      string // "worker", "tool" or "step"
	callee    string // what must not be done twice: its name, or the skill, whichever worker for that does it
	step      string // its place in the attempt
	inputs    json.RawMessage
	sanitised bool // the result was made from sanitised text

	begun int      // how often it was begun before, in this run
	key   string   // for others
	was   string   // the State of such a call before
	doubt bool     // the end of an irreversible call of the run, of this or another, is not known
	why   []string // it must be asked, as it was made before
	done  []string // what the run has done, in words for the person who is asked
}

// code is what an action calls, with its inputs.
type code = func(ctx context.Context, inputs json.RawMessage) (json.RawMessage, error)

// StepOption is an option of [Step].
type StepOption func(*action)

// Irreversible marks a Step that must not be made twice in a run.
func Irreversible() StepOption { return func(a *action) { a.Irreversible = true } }

// Sanitized marks a Step whose result was made from sanitised text, such as a model's answer: a "[secret
// NAME]" in it stays. In any other result it is somebody's attempt to be given a secret, and is broken up.
func Sanitized() StepOption { return func(a *action) { a.sanitised = true } }

// ErrChanged is the error of a Step that was made in this attempt with another input.
var ErrChanged = errors.New("act: step was made with another input")

// ErrUnknownEnd is in the error of an attempt with a call of no known end: a person is asked when it goes on.
var ErrUnknownEnd = errors.New("its end is not known")

// ErrNoValue is the error of a step that is done and whose result was too large to keep.
var ErrNoValue = errors.New("act: step is done, and its result was too large to keep")

const (
	maxKept   = 384 << 10 // bytes of the result of a step that a Journal keeps
	maxInputs = 256 << 10 // bytes of the inputs of an action: an Approval has them, and what it is about
	maxShown  = 400       // bytes of a value that a person is shown within a sentence
	maxPlace  = 2 << 10   // bytes of a step's name with those of what it is made in

	maxText      = 64 << 10  // bytes of an answer in words
	maxComplaint = 8 << 10   // bytes of a complaint, and of what is said with a ruling
	maxEvent     = 128 << 10 // bytes of an Event's Text, and of its Data
	maxNoted     = 1 << 20   // bytes of events that wait for a commit; further ones are told and not kept
)

// Step calls f and keeps its result, as JSON, before it returns: under the run, the attempt, the worker,
// tool, gate, Around or Step that it is made in, and name, of at most 256 bytes. A Step of a name that is
// there, in a loop or after a crash, gets its result, and does not call f. An error of f is not kept.
//
// input is what f works on, at most 256 KiB as JSON; another one under the same name is [ErrChanged]. A
// result of over 384 KiB is kept as done without its value: when asked for again it is [ErrNoValue]. The
// result is cleaned by the Sanitizer, the first time as well: do not return a token that a later step needs.
// Numbers in an any are float64; for identifiers above 2^53 let T have an integer, or be json.RawMessage.
// Outside of an attempt, without a [Journal] in the context, Step calls f and nothing else.
//
// With [Irreversible] it is made once in a run, or asks a person by a *[PendingError], as [Do] does.
func Step[T any](
	ctx context.Context, name string, input any, f func(context.Context) (T, error), o ...StepOption,
) (T, error) {
	var value T
	if of(ctx).journal == nil {
		return f(ctx)
	}
	in, err := schema.Marshal(input)
	if err != nil {
		return value, fmt.Errorf("input of step %s: %w", name, err)
	}
	a := &action{Worker: &Worker{Name: name}, kind: "step", callee: name, step: name, inputs: in}
	for _, option := range o {
		option(a)
	}
	out, err := a.make(ctx, func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		v, err := f(ctx)
		if err != nil {
			return nil, err
		}
		return schema.Marshal(v)
	})
	if err == nil {
		err = json.Unmarshal(out, &value)
	}
	return value, err
}

// Do calls f, a tool, within an attempt, under the Name and conditions of w (Mode, Blast, Irreversible,
// AskAbove, Secrets, Timeout): approval is asked, then secrets are filled in. step is its place in the
// attempt: unique there, and the same when the attempt goes on.
//
// What f returns, and its error, are cleaned of the secrets that the call got. A panic and a typed nil are
// errors. Refused are inputs of over 256 KiB, and a "[secret NAME]" that [redact.Fill] leaves: one that
// Secrets does not list, or within a text such as a URL that the Inputs of the Case do not have so.
//
// An irreversible call is made once in a run. With inputs that are equal to those of a call that is done it
// returns what that call returned, and f is not called, also where a gate has refused the result. It asks a
// person where it was done with other inputs, and where it was begun and its end is not known: the process
// ended, or f ended by its deadline, an outage ([reason.Unavailable]), a panic, or an answer that cannot be
// used. Any other error of f says that nothing was done. Calls of one name are made one after the other.
// While the end of one is not known, each further one in the run asks, whatever its name. f is nil where an
// irreversible w is gone: a call that was begun asks all the same, and any other returns nil.
//
// The error is a *[PendingError] where a person has to rule, wraps [ErrDenied] after a no, is Unavailable
// where such an end is not known, and else is that of f. Without a Journal in ctx no earlier call is known.
func Do(
	ctx context.Context, w *Worker, step string, inputs json.RawMessage,
	f func(ctx context.Context, inputs json.RawMessage) (json.RawMessage, error),
) (json.RawMessage, error) {
	return (&action{Worker: w, kind: "tool", callee: w.Name, step: step, inputs: inputs}).make(ctx, f)
}

// make makes the call. What a worker or a step returns is committed under its place, and an attempt that goes
// on gets it from there; what a tool returns is part of the step that it is called in.
func (a *action) make(ctx context.Context, f code) (out json.RawMessage, err error) {
	if a.kind != "worker" { // whose inputs are so already
		a.inputs, err = schema.Canonical(a.inputs)
	}
	a.scene, a.step = of(ctx).journaled(), strings.NewReplacer("%", "%25", "/", "%2F").Replace(a.step)
	err = cmp.Or(err, store.CheckID(a.Name), store.Limit("place of a step", len(a.path+a.step), maxPlace),
		store.Limit("inputs", len(a.inputs), maxInputs))
	if err != nil { // no journal could keep it
		return nil, fmt.Errorf("%w: %s: %w", errInputs, a.Name, err)
	}
	if a.kind == "tool" {
		return a.do(ctx, f)
	}
	name, sum := fmt.Sprintf("attempt/%04d/%s%s", a.call.Attempt, a.path, a.step), codec.Digest(a.inputs)
	r, _, err := codec.Load[record](ctx, a.journal.g.Store(), a.journal.prefix+"s/"+name) // none: stepNew
	if err = a.journal.kept(ctx, err); err != nil {
		return nil, err
	}
	switch {
	case r.State == stepDone && r.Input != sum:
		return nil, fmt.Errorf("%w: %s", ErrChanged, a.Name)
	case r.State == stepDone && r.Value == nil:
		return nil, fmt.Errorf("%w: %s", ErrNoValue, a.Name)
	case r.State == stepDone:
		return r.Value, nil
	}
	if out, err = a.do(ctx, f); err != nil {
		return nil, err
	}
	r = record{Name: name, State: stepDone, Input: sum, Value: out}
	return out, a.journal.put(context.WithoutCancel(ctx), r)
}

// do makes the call, once if it is irreversible. Its order is what a crash cannot break: a person is asked,
// that it begins is committed, it is called, its end is committed. Who finds it begun does not call.
func (a *action) do(ctx context.Context, f code) (json.RawMessage, error) {
	inner, filled := *a.scene, a.inputs
	inner.path += a.step + "/"
	if a.kind != "step" && f != nil { // a step has the secrets of the worker that it is one of
		if err := inner.open(ctx, a.Secrets); err != nil {
			return nil, err
		}
		var missing []string
		if filled, missing = redact.Fill(a.inputs, a.call.Inputs, inner.secrets); len(missing) > 0 {
			return nil, fmt.Errorf("%w: %s: secret %s is unlisted or in a longer text", errInputs, a.Name, missing[0])
		}
	}
	if a.Irreversible {
		free, err := a.journal.alone(ctx, a.kind+"/"+a.Name)
		if err != nil {
			return nil, err
		}
		defer free()
		if value, done, err := a.earlier(ctx); done || err != nil || f == nil && a.was != stepBegun {
			return value, err
		}
	}
	made, err := a.permit(ctx)
	if err = cmp.Or(err, ctx.Err()); err != nil || made == nil && f == nil { // for who has gone nothing begins
		return nil, err
	}
	if made != nil {
		if made = inner.cleanJSON(made, false); a.kind == "worker" {
			made, _ = schema.Marshal(Result{Output: made}) // the journal had it as JSON
		}
		return made, a.put(context.WithoutCancel(ctx), stepDone, made)
	}
	a.begun++
	if a.key == "" && a.call.Run != "" { // else it was begun with that before, and its end is not known
		place := cmp.Or(a.scene.key, a.call.Key()+"/"+a.path) + "/" + a.step
		if a.Irreversible { // in any attempt of the run
			place = fmt.Sprintf("%s//%s %d", a.call.Scope, a.call.Run, a.begun)
		}
		a.key = codec.Digest(strings.Join([]string{place, a.kind, a.callee, a.Name, string(a.inputs)}, "\x00"))
	}
	inner.key = a.key
	if a.Irreversible {
		a.journal.ends.Store(a.once(), nil) // it is under way, and then ended, unless nobody knows
	}
	if err := a.put(ctx, stepBegun, nil); err != nil {
		return nil, err
	}
	out, err := call.Do(context.WithValue(ctx, sceneKey{}, &inner), a.Timeout,
		func(ctx context.Context) (json.RawMessage, error) {
			out, err := f(ctx, filled)
			if end := ctx.Err(); err != nil && end != nil && !errors.Is(err, end) {
				err = fmt.Errorf("%w: %w", end, err)
			}
			return out, err
		})
	if err != nil {
		err = call.Reworded(err, fence.Clip(inner.clean.Prose(err.Error()), maxComplaint))
	}
	out = inner.cleanJSON(out, a.sanitised)
	return out, a.end(context.WithoutCancel(ctx), out, err)
}

// once is the name of the record of an irreversible action in its run: one for equal inputs.
func (a *action) once() string {
	return "once/" + a.kind + "/" + a.callee + "/" + codec.Digest(a.Name+"\x00"+string(a.inputs))
}

// earlier reads what the run has done, and returns what this action returned if it is done already.
func (a *action) earlier(ctx context.Context) (value json.RawMessage, done bool, err error) {
	own, callee := a.once(), func(name string) string { return name[:strings.LastIndexByte(name, '/')] }
	for r, err := range scan[record](ctx, a.journal, store.Range{Prefix: "s/once/"}) {
		if err != nil {
			return nil, false, err
		}
		if r.Name == own {
			a.begun, a.was = r.Begun, r.State
		}
		if r.State == stepNew {
			continue
		}
		a.done = append(a.done, "this run has made: "+fence.Visible(r.Note))
		_, known := a.journal.ends.Load(r.Name)
		open := r.State == stepBegun && (r.Name == own || !known) // it may have ended since it was read
		a.doubt = a.doubt || open
		switch {
		case r.Name != own && open:
			a.why = append(a.why, "this run may have made another call, of which nobody knows the end")
		case r.Name != own && callee(r.Name) == callee(own):
			a.why = append(a.why, "this run has made such a call before, with other inputs or by another worker")
		case r.Name != own:
		case r.State == stepBegun:
			a.key = r.Key
			a.why = append(a.why, "this run may have made this call already; a yes without its result makes it again")
		case r.Value == nil:
			return nil, true, fmt.Errorf("%w: %s", ErrNoValue, a.Name)
		default:
			value, done = r.Value, true
			a.note(Event{Kind: "tool", Name: a.Name, Text: "not called again: this run has done it"})
		}
	}
	a.why = slices.Compact(a.why)
	return value, done, nil
}

// put commits the state of an irreversible action.
func (a *action) put(ctx context.Context, state string, value json.RawMessage) error {
	if !a.Irreversible {
		return nil
	}
	end := map[string]string{stepNew: "not done", stepDone: "done",
		stepBegun: "its end is not known, its idempotency key is " + cmp.Or(a.key, "none")}[state]
	shown := fence.Clip(string(a.inputs), maxShown)
	note := fmt.Sprintf("%s %s in attempt %d: %s", a.Name, shown, a.call.Attempt, end)
	r := record{Name: a.once(), State: state, Value: value, Begun: a.begun, Key: a.key, Note: note}
	return a.journal.put(ctx, r)
}

// end commits how an irreversible action has ended, and returns err.
func (a *action) end(ctx context.Context, value json.RawMessage, err error) error {
	state := stepNew
	if err != nil && (a.was == stepBegun || unclear(err)) {
		a.journal.ends.Delete(a.once())
	}
	switch {
	case err == nil:
		return a.put(ctx, stepDone, value)
	case errors.As(err, new(*PendingError)):
		a.begun-- // it goes on with the approval that it has
		state = a.was
	case a.Irreversible && unclear(err) && a.kind == "tool": // its caller must not go on as after a failure
		open := *cmp.Or(reason.Classify(err), &reason.Error{})
		open.Class, open.Err = reason.Unavailable, fmt.Errorf("%w: %v", ErrUnknownEnd, err)
		return &open
	case a.was == stepBegun || unclear(err):
		return err // it stays begun
	}
	return errors.Join(err, a.put(ctx, state, nil))
}

// unclear reports whether a call that returned err may have been done all the same.
func unclear(err error) bool {
	class := reason.Classify(err)
	return errors.As(err, new(*call.PanicError)) || errors.Is(err, call.ErrMalformed) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		class != nil && class.Class == reason.Unavailable
}

// permit returns no error if the action may be made, and what it returned if a person says that it was made.
func (a *action) permit(ctx context.Context) (made json.RawMessage, err error) {
	mode, why := a.Mode, []string(nil)
	if mode > Notify {
		why = append(why, "mode is "+mode.String())
	}
	asks := slices.Clone(a.why)
	if a.Blast >= Fleet {
		asks = append(asks, "blast is "+a.Blast.String())
	}
	if a.Irreversible && a.call.Fired {
		asks = append(asks, "it cannot be undone, and a learned plan asks for it")
	}
	if asks = append(asks, above(a.inputs, a.AskAbove)...); len(asks) > 0 {
		mode, why = max(mode, Gated), append(why, asks...)
	}
	id := fmt.Sprintf("%04d-", a.call.Attempt) + codec.Digest(strings.Join([]string{string(a.call.Scope),
		a.call.Run, a.kind, a.Name, a.path + a.step, strconv.Itoa(a.begun), string(a.inputs)}, "\x00"))
	// What a person was asked for stays theirs to decide, also where another process has a looser policy by now.
	// A stricter one asks anew: the mode that was asked in is what Rule goes by.
	was, err := a.journal.asked(ctx, id)
	if err == nil && mode >= Veto && was.Mode < mode && was.Denied == "" {
		if !a.Irreversible { // of one that is, do has read what the run has done
			_, _, err = a.earlier(ctx)
		}
		if err == nil {
			p := Approval{ToolCall: reason.ToolCall{ID: id, Name: a.Name, Inputs: fence.Escaped(a.inputs)}, Mode: mode,
				Scope: a.call.Scope, Run: a.call.Run, About: fence.Visible(a.call.Task.Objective), Begun: a.doubt,
				Why: append(why, a.done...), Deadline: a.journal.now().Add(cmp.Or(a.host.open, 24*time.Hour))}
			raw, _ := schema.Marshal(p) // its inputs are JSON
			err = a.journal.ask(ctx, id, func(q *asking) (Event, error) {
				q.Approval = p
				for _, by := range q.Agreed { // in a looser mode
					q.Why = append(slices.Clip(q.Why), by+" has agreed")
				}
				return Event{Kind: "approval_asked", Name: a.Name, Text: strings.Join(p.Why, "; "), Data: raw}, nil
			})
		}
	}
	switch {
	case err != nil:
		return nil, err
	case max(was.Mode, mode) >= Veto:
		return a.await(ctx, id)
	case mode == Notify:
		a.note(Event{Kind: "notify", Name: a.Name, Text: a.call.Task.Objective, Data: a.inputs})
	}
	return nil, nil
}

// above says which inputs are above their amounts. The case of names is ignored, as Go decodes JSON so.
func above(inputs json.RawMessage, amounts map[string]float64) (why []string) {
	for name, limit := range amounts { // few
		var given map[string]json.RawMessage
		_ = json.Unmarshal(fence.Escaped(inputs), &given) // of what is no object nothing is given
		found := false
		for n, v := range given {
			same := strings.EqualFold(n, name)
			found = found || same
			amount, err := strconv.ParseFloat(strings.Trim(string(v), `" `), 64)
			if same && (err != nil || !(math.Abs(amount) <= limit)) { // what is no number asks, NaN too
				why = append(why, fence.Clip(fmt.Sprintf("%s is %s, above %v", name, v, limit), maxShown))
			}
		}
		if !found {
			why = append(why, fmt.Sprintf("%s is not given, and is asked for above %v", name, limit))
		}
	}
	slices.Sort(why) // a map has no order
	return why
}
