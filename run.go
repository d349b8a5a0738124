package arc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/guard"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/internal/telemetry"
	"github.com/arc-learn/arc/store"
)

// The first parts of the keys of this package.
const (
	runKeys     = "arc/run"     // run id → State
	sessionKeys = "arc/session" // session, run id → nothing
	outputKeys  = "arc/output"  // attempt key → a large output
)

func runKey(id string) string { return key.Join(runKeys, id) }

// errLeft says that the consumer of the events has left the loop.
var errLeft = errors.New("left")

// Run runs an objective until it is delivered, blocked, or has a question, and
// returns its report. An objective whose ID has been run before goes on from
// its last commit. The error is ErrObjective, ErrRunning, the context's, or the
// store's: the run can then be resumed. A run that is BLOCKED is not an error.
func (a *Agent) Run(ctx context.Context, o Objective) (*Report, error) {
	return a.start(ctx, o, nil)
}

// Events is Run as a stream: it yields what happens, and ends when the run
// does. An error is the last thing yielded. Breaking out of the loop stops the
// run at its last commit; Resume goes on.
func (a *Agent) Events(ctx context.Context, o Objective) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		_, err := a.start(ctx, o, func(e Event) bool { return yield(e, nil) })
		if err != nil && !errors.Is(err, errLeft) {
			yield(Event{}, err)
		}
	}
}

// Resume goes on with a run that was interrupted, from its last commit. A run
// that is finished, or waits for an answer, returns its report at once. The
// error is store.ErrNotFound for an unknown id, and otherwise as Run's.
func (a *Agent) Resume(ctx context.Context, id string) (*Report, error) {
	return a.reopen(ctx, id, nil)
}

// Answer answers the questions of a run that is Asking, and goes on with it.
// The error is ErrNotAsking if it has asked nothing, and otherwise as
// Resume's.
func (a *Agent) Answer(ctx context.Context, id, text string) (*Report, error) {
	if len(text) > maxText {
		return nil, &store.LimitError{Field: "answer", Limit: maxText, Got: len(text)}
	}
	return a.reopen(ctx, id, func(s State) (State, error) {
		if s.Status != Asking {
			return s, fmt.Errorf("%w: %q is %s", ErrNotAsking, id, s.Status)
		}
		return s.answer(a.o.Sanitizer.Sanitize(text)), nil
	})
}

func (a *Agent) start(ctx context.Context, o Objective, yield func(Event) bool) (*Report, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	s, err := a.Begin(o)
	if err != nil {
		return nil, err
	}
	ctx, err = a.enter(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	defer a.leave(s.ID)
	var rev store.Revision
	if o.ID != "" {
		old, at, err := a.load(ctx, o.ID)
		switch {
		case err == nil:
			s, rev = old, at
		case !errors.Is(err, store.ErrNotFound):
			return nil, err
		}
	}
	return a.drive(ctx, s, rev, yield)
}

func (a *Agent) reopen(ctx context.Context, id string, change func(State) (State, error)) (*Report, error) {
	if err := alive(ctx); err != nil {
		return nil, err
	}
	if err := key.CheckID("id", id); err != nil {
		return nil, err
	}
	ctx, err := a.enter(ctx, id)
	if err != nil {
		return nil, err
	}
	defer a.leave(id)
	s, rev, err := a.load(ctx, id)
	if err != nil {
		return nil, err
	}
	if change != nil {
		if s, err = change(s); err != nil {
			return nil, err
		}
		if rev, err = a.commit(context.WithoutCancel(ctx), a.st, runKey(id), &s, rev); err != nil {
			return nil, err
		}
	}
	return a.drive(ctx, s, rev, nil)
}

func alive(ctx context.Context) error {
	if ctx == nil {
		return errors.New("arc: the context is nil")
	}
	return ctx.Err()
}

// drive is the shell around the steps: step, commit, report, repeat. It owns s.
func (a *Agent) drive(ctx context.Context, s State, rev store.Revision, yield func(Event) bool) (*Report, error) {
	if a.watch == nil || s.Status != Running {
		return a.take(ctx, s, rev, yield)
	}
	return a.watch.traced(ctx, a, s, rev, yield)
}

// take takes the steps of a run until it ends.
func (a *Agent) take(ctx context.Context, s State, rev store.Revision, yield func(Event) bool) (*Report, error) {
	if s.Objective.Once && s.Phase == PhaseAct {
		s = s.interrupted()
		a.watch.cutOff(ctx, s.Current.Worker)
	}
	logged := a.o.Logger.Enabled(ctx, slog.LevelDebug)
	t := &turn{a: a, s: s, watched: yield != nil || a.o.Hooks.Event != nil || logged}
	k := runKey(s.ID)
	over := context.WithoutCancel(ctx) // a step that is over is committed, even if nobody waits any more
	for t.s.Status == Running {
		switch {
		case a.closing():
			return nil, store.ErrClosed
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
		if err := t.step(ctx); err != nil {
			return nil, err
		}
		var to committer = a.st
		if t.learned {
			to = a.w // what was learned and that it was, in one commit
		}
		next, err := a.commit(over, to, k, &t.s, rev)
		if _, large := errors.AsType[*store.LimitError](err); large && rev != 0 {
			next, err = a.outgrown(over, t, rev, err)
		}
		if err != nil {
			return nil, err
		}
		rev = next
		if logged {
			a.log(ctx, t.events)
		}
		if !a.report(t, yield) {
			return nil, errLeft
		}
	}
	return a.reportOf(ctx, &t.s)
}

// interrupted returns the run as it goes on without repeating the attempt that
// was prepared, and then perhaps made, when the run was cut off.
func (s State) interrupted() State {
	s = s.fork()
	c := s.Current
	c.End, c.Wrong, c.Faulty = act.Interrupted, "outcome unknown", true
	s.Attempts++
	s.Phase = PhaseLearn
	return s
}

// outgrown ends a run whose next State is too large to be kept.
func (a *Agent) outgrown(ctx context.Context, t *turn, rev store.Revision, cause error) (store.Revision, error) {
	before, at, err := a.load(ctx, t.s.ID)
	if err != nil {
		return 0, err
	}
	if at != rev {
		return 0, fmt.Errorf("%w: %q was moved on by another process", ErrRunning, t.s.ID)
	}
	before.outgrow(cause)
	t.s, t.events = before, nil
	return a.commit(ctx, a.st, runKey(t.s.ID), &t.s, rev)
}

// report tells the hooks and the consumer what a committed step has done, and
// whether the consumer wants to go on.
func (a *Agent) report(t *turn, yield func(Event) bool) bool {
	if a.o.Hooks.Commit != nil {
		s := t.s.fork() // for a hook that does not return in time
		a.hook(func() { a.o.Hooks.Commit(&s) })
	}
	on := true
	for _, e := range t.events {
		if a.o.Hooks.Event != nil {
			a.hook(func() { a.o.Hooks.Event(e) })
		}
		if on && yield != nil {
			on = yield(e)
		}
	}
	return on
}

func (a *Agent) hook(fn func()) {
	if err := a.hooks.Call(fn); err != nil && !errors.Is(err, guard.ErrDropped) {
		a.o.Logger.Error("a hook failed", "class", telemetry.Class(err), "stack", telemetry.Stack(err))
	}
}

// write is what a commit of a State takes. Stores keep nothing of it.
type write struct {
	buf []byte
	ops []store.Op
}

// committer commits ops together: the store, or the parts' Writer, which adds
// what they have learned.
type committer interface {
	Commit(ctx context.Context, ops ...store.Op) (store.Revision, error)
}

// commit writes s under k, which must still be as it was at rev (0: not there
// yet).
func (a *Agent) commit(ctx context.Context, to committer, k string, s *State, rev store.Revision) (store.Revision, error) {
	w := a.writes.Get().(*write)
	defer a.writes.Put(w)
	value, err := codec.Append(w.buf[:0], k, (*storedState)(s))
	if err != nil {
		return 0, fmt.Errorf("run %q: %w", s.ID, err)
	}
	w.buf = value
	w.ops = append(w.ops[:0], store.Op{Key: k, Value: value, If: store.At(rev)})
	if rev == 0 {
		w.ops = append(w.ops, store.Op{Key: key.Join(sessionKeys, s.Session, s.ID)})
	}
	rev, err = to.Commit(ctx, w.ops...)
	if errors.Is(err, store.ErrConflict) {
		return 0, fmt.Errorf("%w: %q was moved on by another agent", ErrRunning, s.ID)
	}
	if err != nil {
		return 0, fmt.Errorf("run %q: %w", s.ID, err)
	}
	return rev, nil
}

func (a *Agent) load(ctx context.Context, id string) (State, store.Revision, error) {
	e, err := a.st.Get(ctx, runKey(id))
	if err != nil {
		return State{}, 0, fmt.Errorf("run %q: %w", id, err)
	}
	var s State
	if err := codec.Decode(e, &s); err != nil {
		return State{}, 0, fmt.Errorf("run %q: %w", id, err)
	}
	return s, e.Rev, nil
}

// Runs yields the runs of a session by id.
func (a *Agent) Runs(ctx context.Context, session string) iter.Seq2[RunInfo, error] {
	return func(yield func(RunInfo, error) bool) {
		for s, err := range a.states(ctx, session) {
			if err != nil {
				yield(RunInfo{}, err)
				return
			}
			info := RunInfo{
				ID: s.ID, Scope: s.Objective.Scope, Session: s.Session, Status: s.Status,
				Objective: s.Objective.Text, Started: at(s.Started), Ended: at(s.Ended),
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}

// states yields the runs of a session as they were last committed.
func (a *Agent) states(ctx context.Context, session string) iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		if err := key.CheckID("session", session); err != nil {
			yield(State{}, err)
			return
		}
		prefix := key.Prefix(sessionKeys, session)
		for e, err := range a.st.Scan(ctx, store.Range{Prefix: prefix}) {
			if err != nil {
				yield(State{}, err)
				return
			}
			s, _, err := a.load(ctx, e.Key[len(prefix):])
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// newID returns a UUIDv7 whose random part comes from the seed.
func (a *Agent) newID(now time.Time) string {
	a.mu.Lock()
	a.mu.ids++
	n := a.mu.ids
	a.mu.Unlock()
	var r rand.PCG
	r.Seed(a.o.Seed, n)
	ms := uint64(now.UnixMilli())
	hi, lo := r.Uint64(), r.Uint64()
	var id uuid.UUID
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6], id[7] = 0x70|byte(hi&0x0f), byte(hi>>8)
	for i := range 8 {
		id[8+i] = byte(lo >> (8 * i))
	}
	id[8] = 0x80 | id[8]&0x3f
	return id.String()
}

// at is the time of a field of State.
func at(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// reportOf returns the report of a run as it stands.
func (a *Agent) reportOf(ctx context.Context, s *State) (*Report, error) {
	r := &Report{
		ID: s.ID, Session: s.Session, Status: s.Status, Reason: s.Reason,
		Attempts: s.Attempts, Last: s.Last, Deliberations: s.Deliberations, Fired: s.Fired,
		Steps: s.Step, Usage: s.Usage, Assessment: s.Assessment,
		Pivots: slices.Clone(s.Pivots), Learned: slices.Clone(s.Learned),
		Started: at(s.Started), Ended: at(s.Ended),
	}
	r.Resonance, r.Findings = resonance(s.Tracker)
	if s.Status == Asking {
		r.Questions = slices.Clone(s.goal().Questions)
	}
	var err error
	r.Deliveries, err = a.lineage(ctx, s)
	return r, err
}

// resonance returns the trend of a run's reflections, and what there is to say
// about it.
func resonance(entries []iar.Entry) (trend []float64, findings []iar.Finding) {
	switch {
	case len(entries) == 0:
		return nil, nil
	case len(entries) == 1 && entries[0].Resonance >= iar.LowResonance:
		return []float64{entries[0].Resonance}, nil // as the tracker would
	}
	tracker := iar.NewTracker(&iar.Options{History: entries})
	return tracker.Trend(len(entries)), tracker.Issues()
}

// lineage returns the deliveries of a run, with outputs that are records of
// their own.
func (a *Agent) lineage(ctx context.Context, s *State) ([]act.Delivery, error) {
	if len(s.Deliveries) == 0 {
		return nil, nil
	}
	ds := make([]act.Delivery, len(s.Deliveries))
	for i, d := range s.Deliveries {
		out, err := a.output(ctx, d.Output)
		if err != nil {
			return nil, err
		}
		ds[i] = act.Delivery{
			Task: d.Task, Worker: d.Worker, Attempt: d.Attempt,
			Output: slices.Clone(out), Summary: d.Summary, Deltas: slices.Clone(d.Deltas),
		}
	}
	return ds, nil
}

// maxInline is the largest output that is kept inside the State, in bytes.
const maxInline = 2 << 10

// keep returns the Output for raw, and writes raw to a record of its own if it
// is large. Doing it again for the same attempt changes nothing.
func (a *Agent) keep(ctx context.Context, attempt string, raw json.RawMessage) (Output, error) {
	if len(raw) <= maxInline {
		return Output{Inline: raw}, nil
	}
	k := key.Join(outputKeys, attempt)
	value, err := codec.Encode(k, raw)
	if err != nil {
		return Output{}, err
	}
	if _, err = a.st.Commit(context.WithoutCancel(ctx), store.Op{Key: k, Value: value}); err != nil {
		return Output{}, err
	}
	return Output{Key: k}, nil
}

func (a *Agent) output(ctx context.Context, o Output) (json.RawMessage, error) {
	if o.Key == "" {
		return o.Inline, nil
	}
	e, err := a.st.Get(ctx, o.Key)
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	var raw json.RawMessage
	if err := codec.Decode(e, &raw); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	return raw, nil
}
