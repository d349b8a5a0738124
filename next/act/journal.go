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

	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/store"
)

// Event is something that happened in a run. Kinds of this package are "notify", "approval asked", "ruled",
// "output" (a line of a program) and "tool" (not called again); act/tools has "text", "answer" (with its usage as Data),
// "calling" and "tool".
type Event struct {
	Seq  int // place in the run's journal, from 1; 0: not kept yet
	At   time.Time
	Kind string
	Name string // of the worker or tool
	Text string
	Data json.RawMessage
	Live bool // told as it happens and not kept: a piece of what a later event has whole
}

// Journal keeps the steps and events of a run in a store. It travels in the context, see [WithJournal]. One process
// writes it at a time; [Rule] may be called by others.
type Journal struct {
	whole *store.Group
	g     *store.Group // the journal's part of it
	o     JournalOptions

	mu     sync.Mutex
	noted  []Event // not yet committed; under mu
	failed error   // under mu
}

// JournalOptions are options of [NewJournal].
type JournalOptions struct {
	Prefix string // of the journal's keys in the Group

	// Stage stages into each commit of the journal, e.g. the condition that the run is still this process's. b begins
	// where the Group does, without Prefix. It may run more than once, and must not call the store.
	Stage func(b *store.Batch) error

	// OnEvent is told of each event: of one that is noted at once, of one that comes with a step when that was
	// committed. It is called concurrently where steps are made concurrently.
	OnEvent func(e Event)
}

// NewJournal returns a Journal over a part of a store, which it fills alone:
//
//	s/NAME          a step
//	e/0000000001    an Event, by its Seq
//	n               the last Seq
func NewJournal(g *store.Group, o *JournalOptions) *Journal {
	j := &Journal{whole: g}
	if o != nil {
		j.o = *o
	}
	j.g = g.Sub(j.o.Prefix)
	return j
}

// record is what is kept of a step.
type record struct {
	Name  string // in the run
	State string
	Input string // digest of its input
	Value []byte // JSON; nil in a done step: the result was too large to keep
	Begun int    // how often an irreversible step was begun
	Note  string // of an irreversible step: what it is and what came of it, for a person
}

// States of a record.
const (
	stepNew   = ""      // not made, or made and not done
	stepBegun = "begun" // committed before an irreversible call: its end is not known
	stepDone  = "done"
)

// get returns the step of a name; one that is not there has the state stepNew.
func (j *Journal) get(ctx context.Context, name string) (record, error) {
	e, err := j.g.Store().Get(ctx, "s/"+name)
	if errors.Is(err, store.ErrNotFound) {
		return record{Name: name}, nil
	}
	var r record
	if err == nil {
		err = codec.Unmarshal(e.Value, &r)
	}
	return r, j.kept(err)
}

// steps yields the steps whose names begin with prefix, in the order of their names.
func (j *Journal) steps(ctx context.Context, prefix string) iter.Seq2[record, error] {
	return scan[record](ctx, j, store.Range{Prefix: "s/" + prefix})
}

// Events yields the committed events after a Seq (0: all), in their order.
func (j *Journal) Events(ctx context.Context, after int) iter.Seq2[Event, error] {
	return scan[Event](ctx, j, store.Range{Prefix: "e/", After: eventKey(after)})
}

func eventKey(seq int) string { return fmt.Sprintf("e/%010d", seq) }

func scan[T any](ctx context.Context, j *Journal, r store.Range) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for e, err := range j.g.Store().Scan(ctx, r) {
			var v T
			if err == nil {
				err = codec.Unmarshal(e.Value, &v)
			}
			if !yield(v, j.kept(err)) || err != nil {
				return
			}
		}
	}
}

// kept keeps an error for Err.
func (j *Journal) kept(err error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failed = errors.Join(j.failed, err)
	return err
}

// Err returns the errors of the store so far. What an attempt has made of them is no failure of its worker.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed
}

// put commits a step with events and all that was noted before.
func (j *Journal) put(ctx context.Context, r record, events ...Event) error {
	raw, err := codec.Marshal(r)
	if err != nil {
		return err
	}
	j.mu.Lock()
	noted := j.noted
	j.noted = nil
	j.mu.Unlock()
	err = j.whole.Update(ctx, func(b *store.Batch) error {
		if j.o.Stage != nil {
			if err := j.o.Stage(b); err != nil {
				return err
			}
		}
		b = b.Sub(j.o.Prefix)
		if err := b.Put("s/"+r.Name, raw, store.Any); err != nil {
			return err
		}
		return number(ctx, b, slices.Concat(noted, events))
	})
	if err != nil {
		j.mu.Lock()
		j.noted = append(noted, j.noted...)
		j.mu.Unlock()
		return j.kept(err)
	}
	for _, e := range events {
		j.tell(e)
	}
	return nil
}

// Stage stages events, and what was noted before, into the commit of a step that is more than the journal. b begins
// where the journal does. OnEvent is not told of events.
func (j *Journal) Stage(ctx context.Context, b *store.Batch, events ...Event) error {
	j.mu.Lock()
	noted := slices.Clone(j.noted)
	j.mu.Unlock()
	b.After(func(store.Revision) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.noted = slices.Delete(j.noted, 0, min(len(noted), len(j.noted)))
	})
	return number(ctx, b, slices.Concat(noted, events))
}

// number stages events under the next numbers.
func number(ctx context.Context, b *store.Batch, events []Event) error {
	if len(events) == 0 {
		return nil
	}
	var last int
	unchanged := store.Absent
	switch e, err := b.Get(ctx, "n"); {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return err
	default:
		if err := codec.Unmarshal(e.Value, &last); err != nil {
			return err
		}
		if unchanged = store.Any; e.Rev != 0 { // 0: staged before in the same commit
			unchanged = store.At(e.Rev)
		}
	}
	put := func(key string, v any, c store.Condition) error {
		raw, err := codec.Marshal(v)
		if err == nil {
			err = b.Put(key, raw, c)
		}
		return err
	}
	for _, e := range events {
		last++
		e.Seq = last
		if err := put(eventKey(last), e, store.Any); err != nil {
			return err
		}
	}
	return put("n", last, unchanged)
}

// maxNoted bounds the events that wait for a commit. What a part notes beyond that is told and not kept, but for
// the last place, which says so.
const maxNoted = 1000

// note tells of an event, e.g. a line of output; it is committed with the next put.
func (j *Journal) note(e Event) {
	j.mu.Lock()
	switch {
	case e.Live || len(j.noted) > maxNoted:
	case len(j.noted) == maxNoted:
		j.noted = append(j.noted, Event{At: e.At, Kind: e.Kind, Name: e.Name, Text: "… (what follows was not kept)"})
	default:
		j.noted = append(j.noted, e)
	}
	j.mu.Unlock()
	j.tell(e)
}

func (j *Journal) tell(e Event) {
	if j.o.OnEvent != nil {
		j.o.OnEvent(e)
	}
}
