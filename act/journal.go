package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/arc-learn/arc/internal/call"
	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/fence"
	"github.com/arc-learn/arc/internal/schema"
	"github.com/arc-learn/arc/store"
)

// Event is something that happened in a run. Kinds of this package are "notify", "approval_asked", "ruled",
// "approver_failed", "output" (a program's line) and "tool" (not called again); act/tools has "text",
// "answer" (Data: its usage), "again" (it could not be used), "calling", "tool" and "left" (why a plan was).
// Live text counts only if the next event that is kept is none of "again", "away", "waiting" and "failed".
type Event struct {
	At   time.Time       // zero: now
	Kind string          `cbor:",omitzero"`                   // a word or two, as above, or a host's own
	Name string          `cbor:",omitzero"`                   // of the worker or tool
	Text string          `cbor:",omitzero"`                   // for people; cut at 128 KiB
	Data json.RawMessage `json:",omitempty" cbor:",omitzero"` // for programs: JSON; over 128 KiB a cut string
	Live bool            `cbor:",omitzero"`                   // not kept: a piece of a later event's text
}

// Journal keeps the steps and events of a run in a store. It travels in the context, see [WithJournal]. One
// process writes it at a time; [Rule] may be called by others.
type Journal struct {
	g       *store.Group
	prefix  string // of the journal's keys
	now     func() time.Time
	stage   func(b *store.Batch) error // nil: none
	onEvent func(e Event)
	singles sync.Map // "tool/refund" → chan struct{}, held while an irreversible call is made
	ends    sync.Map // the names of records of such calls that are under way here, or have a known end

	mu     sync.Mutex
	noted  []Event // not yet committed; under mu
	failed error   // under mu
	next   int     // the number of the next event, if sure; else at least that; under mu
	sure   bool    // also at first: where the first place is taken the commit conflicts, and is staged again
}

// NewJournal returns a Journal over the keys of g that begin with prefix, which it fills alone:
//
//	s/NAME          a step: attempt/0001/… of attempt 1; once/… of what is irreversible: its State, and a Note
//	a/ID            an Approval, with Decided once people have; IDs begin with their attempt, 0001-
//	e/0000000001    the first Events, those of one commit
//
// now is the clock of its events, and of the deadlines of approvals; nil: time.Now. stage, which may be nil,
// stages into each of its commits, e.g. the condition that the run is still this process's. Its Batch begins
// where g does, without prefix. It may run more than once, and must not call the store.
//
// onEvent, which may be nil, is told of each event: of one that is noted at once, of one that comes with a
// step when that was committed. It is called concurrently where steps are made concurrently.
func NewJournal(
	g *store.Group, prefix string, now func() time.Time, stage func(b *store.Batch) error, onEvent func(e Event),
) *Journal {
	if onEvent == nil {
		onEvent = func(Event) {}
	}
	return &Journal{g: g, prefix: prefix, now: call.Clock(now), stage: stage, onEvent: onEvent,
		next: 1, sure: true}
}

// record is what is kept of a step.
type record struct {
	Name  string `cbor:",omitzero"` // in the run
	State string `cbor:",omitzero"`
	Input string `cbor:",omitzero"` // digest of its input
	Value []byte `cbor:",omitzero"` // JSON; nil in a done step: the result was too large to keep
	Begun int    `cbor:",omitzero"` // how often an irreversible step was begun
	Key   string `cbor:",omitzero"` // of an irreversible step, as it was last begun
	Note  string `cbor:",omitzero"` // of an irreversible step: what it is and what came of it, for a person
}

// States of a record.
const (
	stepNew   = ""      // not made, or made and not done
	stepBegun = "begun" // committed before an irreversible call: its end is not known
	stepDone  = "done"
)

// Events yields the committed events, those of one entry at a time, from behind the first so many.
func (j *Journal) Events(ctx context.Context, skip int) iter.Seq2[[]Event, error] {
	return scan[[]Event](ctx, j, store.Range{Prefix: "e/", After: eventKey(skip)})
}

func eventKey(first int) string { return fmt.Sprintf("e/%010d", first) }

// scan yields what is kept in a range, in the order of the keys.
func scan[T any](ctx context.Context, j *Journal, r store.Range) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range codec.Records[T](ctx, store.Sub(j.g.Store(), j.prefix), r) {
			if !yield(*v, j.kept(ctx, err)) {
				return
			}
		}
	}
}

// kept keeps an error for Err, unless it is that of a caller who has gone.
func (j *Journal) kept(ctx context.Context, err error) error {
	if !errors.Is(err, ctx.Err()) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.failed = errors.Join(j.failed, err)
	}
	return err
}

// Err returns the errors of the store so far. What an attempt has made of them is no failure of its worker.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed
}

// alone waits until no irreversible call of the name is under way: of two equal ones, one finds the other.
func (j *Journal) alone(ctx context.Context, name string) (free func(), err error) {
	held, _ := j.singles.LoadOrStore(name, make(chan struct{}, 1))
	select {
	case held.(chan struct{}) <- struct{}{}:
		return func() { <-held.(chan struct{}) }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// put commits a step with all that was noted before.
func (j *Journal) put(ctx context.Context, r record) error {
	if len(r.Value) > maxKept {
		r.Value = nil
	}
	return j.kept(ctx, j.commit(ctx, func(b *store.Batch) ([]Event, error) {
		return nil, codec.Put(b, j.prefix+"s/"+r.Name, r, store.Any)
	}))
}

// commit commits what f stages, with the events that f returns and all that was noted before.
func (j *Journal) commit(ctx context.Context, f func(*store.Batch) ([]Event, error)) error {
	var events []Event
	err := j.g.Update(ctx, func(b *store.Batch) (err error) {
		if j.stage != nil {
			err = j.stage(b)
		}
		if err == nil {
			events, err = f(b)
		}
		if err == nil {
			err = j.Stage(ctx, b, events...)
		}
		return err
	})
	for i := 0; i < len(events) && err == nil; i++ {
		j.onEvent(events[i])
	}
	return err
}

// Stage stages events, and what was noted before, into the commit of a step that is more than the journal, in
// the next places that are free. b begins where its Group does. onEvent is not told of events.
func (j *Journal) Stage(ctx context.Context, b *store.Batch, events ...Event) error {
	j.mu.Lock()
	noted := len(j.noted)
	if noted > 0 {
		events = slices.Concat(j.noted, events)
	}
	next, sure := j.next, j.sure
	j.sure = sure && len(events) == 0
	j.mu.Unlock()
	if len(events) == 0 {
		return nil
	}
	if !sure {
		var failed error
		for entry, err := range j.Events(ctx, next-1) {
			next, failed = next+len(entry), err
		}
		if failed != nil {
			return failed
		}
	}
	for n := 0; len(events) > 0; next, events, n = next+n, events[n:], 0 {
		for size := 0; n < len(events) && size < maxText; n++ { // an entry has as much, and its last event
			size += events[n].size()
		}
		if err := codec.Put(b, j.prefix+eventKey(next), events[:n], store.Absent); err != nil {
			return err
		}
	}
	b.After(func(store.Revision) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.next, j.sure, j.noted = next, true, slices.Delete(j.noted, 0, min(noted, len(j.noted)))
	})
	return nil
}

// size is at least what an event takes in a commit, in bytes.
func (e Event) size() int { return 1<<10 + len(e.Text) + len(e.Data) }

// note tells of an event, e.g. a line of output; it is committed with the next put.
func (j *Journal) note(e Event) {
	if y := e.At.Year(); y <= 1 || y > 9999 {
		e.At = j.now()
	}
	e.Kind, e.Name = fence.Clip(e.Kind, maxShown), fence.Clip(e.Name, maxShown)
	e.Text = fence.Clip(e.Text, maxEvent)
	if len(e.Data) > maxEvent {
		e.Data, _ = schema.Marshal(fence.Clip(string(e.Data), maxEvent)) // a string always can be
	}
	j.mu.Lock()
	waits := 0 // bytes
	for _, o := range j.noted {
		waits += o.size()
	}
	if kept := e; !e.Live && waits <= maxNoted {
		if waits+e.size() > maxNoted {
			kept.Text, kept.Data = "… (what follows was not kept)", nil
		}
		j.noted = append(j.noted, kept)
	}
	j.mu.Unlock()
	j.onEvent(e)
}
