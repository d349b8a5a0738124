package act

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/arc-learn/arc/next/internal/call"
	"github.com/arc-learn/arc/next/internal/fence"
	"github.com/arc-learn/arc/next/internal/schema"
	"github.com/arc-learn/arc/next/reason"
	"github.com/arc-learn/arc/next/redact"
)

// action is one call of a worker, a tool or a step.
type action struct {
	*Worker          // its Name, with kind, must not be done twice; its conditions hold
	kind      string // "worker", "tool" or "step"
	step      string // its place in the attempt
	inputs    json.RawMessage
	sanitised bool // the result was made from sanitised text
}

// StepOption is an option of [Step].
type StepOption func(*action)

// Irreversible marks a Step that must not be made twice in a run.
func Irreversible() StepOption { return func(a *action) { a.Irreversible = true } }

// Sanitised marks a Step whose result was made from sanitised text, such as a model's answer: a "[secret NAME]" in
// it stays. In any other result it is somebody's attempt to be given a secret, and is broken up.
func Sanitised() StepOption { return func(a *action) { a.sanitised = true } }

// ErrChanged is the error of a Step that was made in this attempt with another input.
var ErrChanged = errors.New("act: step was made with another input")

// ErrNoValue is the error of a step that is done and whose result was too large to keep.
var ErrNoValue = errors.New("act: step is done, and its result was too large to keep")

// maxKept bounds the result of a step that a Journal keeps, in bytes.
const maxKept = 384 << 10

// Step calls f and keeps its result, as JSON, under the run, the attempt and name before it returns. An attempt that
// goes on after a crash gets the result back, and f is not called again. An error of f is not kept.
//
// input is what f works on; another one under the same name is [ErrChanged]. A result of over 384 KiB is kept as
// done without its value: when asked for again it is [ErrNoValue]. The result is cleaned by the Sanitizer, the first
// time as well, so a token that a later step needs is no result. Without a [Journal] in the context Step calls f,
// and nothing else.
//
// With [Irreversible], it is as with an irreversible worker: its beginning is committed before the call, and over
// all attempts of the run it is made once for an input. A step that was begun and whose end is not known, or that
// was made with another input before, is asked of a person first, by a *[PendingError] where nobody has answered.
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
	a := &action{Worker: &Worker{Name: name}, kind: "step", step: name, inputs: in}
	for _, option := range o {
		option(a)
	}
	out, err := do(ctx, a, func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		v, err := f(ctx)
		if err != nil {
			return nil, err
		}
		return schema.Marshal(v)
	})
	if err != nil {
		return value, err
	}
	return value, json.Unmarshal(out, &value)
}

// kept is the value as a Journal keeps it.
func kept(value json.RawMessage) []byte {
	if len(value) > maxKept {
		return nil
	}
	return value
}

// Do calls a tool within an attempt: f, under the Name and conditions of w (Mode, Blast, Irreversible, AskAbove,
// Secrets, Timeout). step is its place in the attempt: unique there, and the same when the attempt goes on. Do asks
// for the approval that is needed, fills in secrets, and calls f with the inputs.
//
// What f returns, and its error, are cleaned of the secrets that the call got. A panic and a typed nil are errors.
// Inputs that hold "[secret NAME]" are refused where Secrets does not list NAME: a text that was redacted must not
// be written back.
//
// An irreversible call is made once in a run. With inputs that are equal to those of a call that is done it
// returns what that call returned, and f is not called, also where a gate has refused the result. It asks a person
// where it was done with other inputs, and where it was begun and its end is not known: the process ended, or f
// ended by its deadline, an outage ([reason.Unavailable]), a panic, or an answer that cannot be used. Any other error
// of f says that nothing was done. Calls of one name are made one after the other.
//
// The error is a *[PendingError] where a person has to rule, wraps [ErrDenied] where the answer was no, and else is
// that of f. Without a Journal in the context nothing is known of earlier calls.
func Do(
	ctx context.Context, w *Worker, step string, inputs json.RawMessage,
	f func(ctx context.Context, inputs json.RawMessage) (json.RawMessage, error),
) (json.RawMessage, error) {
	return do(ctx, &action{Worker: w, kind: "tool", step: step, inputs: inputs}, f)
}

// do makes an action as Do says it of a tool. The result of a worker or step is committed under its step, and an
// attempt that goes on gets it from there.
func do(
	ctx context.Context, a *action, f func(context.Context, json.RawMessage) (json.RawMessage, error),
) (json.RawMessage, error) {
	s := of(ctx)
	inputs, err := schema.Canonical(a.inputs)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errInputs, a.Name, err)
	}
	d := &deed{scene: s, action: a, inputs: inputs}
	if s.journal == nil || a.kind == "tool" {
		return d.do(ctx, f)
	}
	name, sum := fmt.Sprintf("attempt/%04d/%s", s.attempt, a.step), digest(inputs)
	r, err := s.journal.get(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case r.State == stepDone && r.Input != sum:
		return nil, fmt.Errorf("%w: %s", ErrChanged, a.Name)
	case r.State == stepDone && r.Value == nil:
		return nil, fmt.Errorf("%w: %s", ErrNoValue, a.Name)
	case r.State == stepDone:
		return r.Value, nil
	}
	out, err := d.do(ctx, f)
	if err != nil {
		return nil, err
	}
	r = record{Name: name, State: stepDone, Input: sum, Value: kept(out)}
	return out, s.journal.put(context.WithoutCancel(ctx), r)
}

// deed is an action on its way.
type deed struct {
	*scene
	*action
	inputs json.RawMessage
	begun  int      // how often it was begun before, in this run
	open   bool     // the end of such a call is not known
	why    []string // it must be asked, as it was made before
	done   []string // what the run has done
}

// do makes the call, once if it is irreversible.
func (d *deed) do(
	ctx context.Context, f func(context.Context, json.RawMessage) (json.RawMessage, error),
) (json.RawMessage, error) {
	inner, filled := *d.scene, d.inputs // a step has the secrets of the worker that it is a step of
	if d.kind != "step" {
		v, err := d.scene.open(ctx, d.Secrets, d.inputs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name, err)
		}
		inner.vault, filled = v, redact.Fill(d.inputs, v.values)
	}
	if d.Irreversible && d.journal != nil {
		free, err := d.alone(ctx, d.kind+"/"+d.Name)
		if err != nil {
			return nil, err
		}
		defer free()
		if value, done, err := d.earlier(ctx); done || err != nil {
			return value, err
		}
	}
	if err := d.permit(ctx); err != nil {
		return nil, err
	}
	if err := d.put(ctx, stepBegun, nil, "its end is not known"); err != nil {
		return nil, err
	}
	out, err := call.Do(context.WithValue(ctx, sceneKey{}, &inner), d.Timeout,
		func(ctx context.Context) (json.RawMessage, error) {
			out, err := f(ctx, filled)
			if end := ctx.Err(); err != nil && end != nil && !errors.Is(err, end) {
				err = fmt.Errorf("%w: %w", end, err)
			}
			return out, err
		})
	if err != nil {
		err = call.Reworded(err, inner.cleanText(err.Error()))
	}
	out = inner.cleanJSON(out, d.sanitised)
	return out, d.end(context.WithoutCancel(ctx), out, err)
}

// once is the name of the record of an irreversible action in its run: over all attempts, one for equal inputs.
func (d *deed) once() string { return "once/" + d.kind + "/" + d.Name + "/" + digest(d.inputs) }

// earlier reads what the run has done, and returns what this action returned if it is done already.
func (d *deed) earlier(ctx context.Context) (value json.RawMessage, done bool, err error) {
	same, own := "once/"+d.kind+"/"+d.Name+"/", d.once()
	for r, err := range d.journal.steps(ctx, "once/") {
		if err != nil {
			return nil, false, err
		}
		if r.Name == own {
			d.begun = r.Begun
		}
		if r.State == stepNew {
			continue
		}
		d.done = append(d.done, r.Note)
		switch {
		case r.Name != own && strings.HasPrefix(r.Name, same):
			d.why = append(d.why, "this run has called "+d.Name+" before, with other inputs")
		case r.Name != own:
		case r.State == stepBegun:
			d.open = true
			d.why = append(d.why, "this run has made the same call before: "+r.Note)
		case r.Value == nil:
			return nil, true, fmt.Errorf("%w: %s", ErrNoValue, d.Name)
		default:
			value, done = r.Value, true
		}
	}
	d.why = slices.Compact(d.why)
	if done {
		d.note(Event{Kind: "tool", Name: d.Name, Text: "not called again: this run has done it"})
	}
	return value, done, nil
}

// put commits the state of an irreversible action.
func (d *deed) put(ctx context.Context, state string, value json.RawMessage, end string) error {
	if !d.Irreversible || d.journal == nil {
		return nil
	}
	begun := d.begun + 1
	note := fmt.Sprintf("%s %s in attempt %d: %s", d.Name, fence.Clip(string(d.inputs), maxShown), d.attempt, end)
	return d.journal.put(ctx, record{
		Name: d.once(), State: state, Value: kept(value), Begun: begun, Note: note,
	})
}

// end commits how an irreversible action has ended, and returns err.
func (d *deed) end(ctx context.Context, value json.RawMessage, err error) error {
	if err == nil {
		return d.put(ctx, stepDone, value, "done")
	}
	var pending *PendingError
	if d.open || !errors.As(err, &pending) && unclear(err) {
		return err // it stays begun
	}
	return errors.Join(err, d.put(ctx, stepNew, nil, "not done"))
}

// unclear reports whether a call that returned err may have been done all the same.
func unclear(err error) bool {
	var panicked *call.PanicError
	class := reason.Classify(err)
	return errors.As(err, &panicked) || class != nil && class.Class == reason.Unavailable ||
		errors.Is(err, call.ErrMalformed) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// permit returns nil if the action may be made, and else what keeps it.
func (d *deed) permit(ctx context.Context) error {
	mode, why := d.Mode, []string(nil)
	if mode > Notify {
		why = append(why, "mode is "+mode.String())
	}
	asks := slices.Clone(d.why)
	if d.Blast >= Fleet {
		asks = append(asks, "blast is "+d.Blast.String())
	}
	if d.Irreversible && d.fired {
		asks = append(asks, "it cannot be undone, and a learned plan asks for it")
	}
	if asks = append(asks, above(d.inputs, d.AskAbove)...); len(asks) > 0 {
		mode, why = max(mode, Gated), append(why, asks...)
	}
	switch {
	case mode == Notify:
		d.note(Event{Kind: "notify", Name: d.Name, Text: d.about, Data: d.inputs})
		return nil
	case mode < Veto:
		return nil
	}
	if !d.Irreversible && d.journal != nil { // otherwise it is known
		if _, _, err := d.earlier(ctx); err != nil {
			return err
		}
	}
	id := digest([]byte(strings.Join([]string{d.run, d.kind, d.Name, strconv.Itoa(d.attempt), d.step,
		strconv.Itoa(d.begun), string(d.inputs)}, "\x00")))
	return d.ask(ctx, Approval{
		ID: id, Run: d.run, Name: d.Name, About: d.about, Inputs: d.inputs, Mode: mode, Why: why, Done: d.done,
	})
}

// above says which inputs are above the amounts from which a person is asked. Names are compared without regard to
// case, since Go's decoder of JSON reads them so.
func above(inputs json.RawMessage, amounts map[string]float64) (why []string) {
	var given map[string]json.RawMessage
	_ = json.Unmarshal(inputs, &given) // of what is no object nothing is given
	for name, limit := range amounts {
		found := false
		for n, v := range given {
			if !strings.EqualFold(n, name) {
				continue
			}
			found = true
			amount, err := strconv.ParseFloat(strings.Trim(string(v), `" `), 64)
			if err != nil || !(amount <= limit) { // what is no number asks, NaN too
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

// maxShown bounds a value that is shown to a person within a sentence, in bytes.
const maxShown = 400

// digest identifies a text.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}
