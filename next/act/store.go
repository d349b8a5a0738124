package act

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/arc-learn/arc/next/internal/codec"
	"github.com/arc-learn/arc/next/store"
)

// JournalOptions are options of [NewJournal].
type JournalOptions struct {
	// Stage stages into each commit of the journal, e.g. the condition that the run is still this process's. It may
	// run more than once, and must not call the store.
	Stage func(b *store.Batch) error

	// OnEvent is told of each event: of one that is noted at once, of one that comes with a step when that was
	// committed. It is called concurrently where steps are made concurrently.
	OnEvent func(e Event)
}

// StoreJournal is a [Journal] in a store. One process writes it at a time; [Rule] may be called by others.
type StoreJournal struct {
	g *store.Group
	o JournalOptions

	mu    sync.Mutex
	noted []Event // not yet committed; under mu
}

// NewJournal returns a Journal over a part of a store, which it fills alone:
//
//	s/NAME          a StepRecord
//	e/0000000001    an Event, by its Seq
//	n               the last Seq
func NewJournal(g *store.Group, o *JournalOptions) *StoreJournal {
	j := &StoreJournal{g: g}
	if o != nil {
		j.o = *o
	}
	return j
}

// Get implements Journal.
func (j *StoreJournal) Get(ctx context.Context, name string) (StepRecord, error) {
	e, err := j.g.Store().Get(ctx, "s/"+name)
	if errors.Is(err, store.ErrNotFound) {
		return StepRecord{Name: name}, nil
	}
	var r StepRecord
	if err == nil {
		err = codec.Unmarshal(e.Value, &r)
	}
	return r, err
}

// Steps implements Journal.
func (j *StoreJournal) Steps(ctx context.Context, prefix string) iter.Seq2[StepRecord, error] {
	return scan[StepRecord](ctx, j.g.Store(), store.Range{Prefix: "s/" + prefix})
}

// Events yields the committed events after a Seq (0: all), in their order.
func (j *StoreJournal) Events(ctx context.Context, after int) iter.Seq2[Event, error] {
	return scan[Event](ctx, j.g.Store(), store.Range{Prefix: "e/", After: eventKey(after)})
}

func eventKey(seq int) string { return fmt.Sprintf("e/%010d", seq) }

func scan[T any](ctx context.Context, st store.Store, r store.Range) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for e, err := range st.Scan(ctx, r) {
			var v T
			if err == nil {
				err = codec.Unmarshal(e.Value, &v)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// Put implements Journal.
func (j *StoreJournal) Put(ctx context.Context, s StepRecord, events ...Event) error {
	raw, err := codec.Marshal(s)
	if err != nil {
		return err
	}
	j.mu.Lock()
	noted := j.noted
	j.noted = nil
	j.mu.Unlock()
	err = j.g.Update(ctx, func(b *store.Batch) error {
		if j.o.Stage != nil {
			if err := j.o.Stage(b); err != nil {
				return err
			}
		}
		if s.Name != "" {
			if err := b.Put("s/"+s.Name, raw, store.Any); err != nil {
				return err
			}
		}
		return number(ctx, b, slices.Concat(noted, events))
	})
	if err != nil {
		j.mu.Lock()
		j.noted = append(noted, j.noted...)
		j.mu.Unlock()
		return err
	}
	for _, e := range events {
		j.tell(e)
	}
	return nil
}

// Stage stages events, and what was noted before, into the commit of a step that is more than the journal. b begins
// where the Group of the journal does. OnEvent is not told of events.
func (j *StoreJournal) Stage(ctx context.Context, b *store.Batch, events ...Event) error {
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
	for _, e := range events {
		last++
		e.Seq = last
		raw, err := codec.Marshal(e)
		if err == nil {
			err = b.Put(eventKey(last), raw, store.Any)
		}
		if err != nil {
			return err
		}
	}
	raw, err := codec.Marshal(last)
	if err != nil {
		return err
	}
	return b.Put("n", raw, unchanged)
}

// maxNoted bounds the events that wait for a commit. What a part notes beyond that is told and not kept, but for
// the last place, which says so.
const maxNoted = 1000

// Note implements Journal.
func (j *StoreJournal) Note(e Event) {
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

func (j *StoreJournal) tell(e Event) {
	if j.o.OnEvent != nil {
		j.o.OnEvent(e)
	}
}
