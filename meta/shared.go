package meta

import (
	"context"
	"fmt"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/journal"
	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// happened is an entry of the journal that Monitors of several openers share: one of
// three.
type happened struct {
	Session string   `cbor:"171,keyasint,omitempty"`
	Outcome *record  `cbor:"172,keyasint,omitempty"`
	Scope   string   `cbor:"173,keyasint,omitempty"`
	Ending  *Ending  `cbor:"174,keyasint,omitempty"`
	Episode *episode `cbor:"175,keyasint,omitempty"`
}

// episode is an Episode as it is stored.
type episode struct {
	Key        string   `cbor:"1,keyasint,omitempty"`
	Treatments []string `cbor:"2,keyasint,omitempty"`
	Treated    bool     `cbor:"3,keyasint,omitempty"`
	Chance     float64  `cbor:"4,keyasint,omitempty"`
	Success    bool     `cbor:"5,keyasint,omitempty"`
}

// enterEvent has something in the journal, under an id of its own.
func (m *Monitor) enterEvent(ctx context.Context, h *happened, id ...string) error {
	return m.j.Add(ctx, key.Join(id...), h)
}

// takeIn counts an entry of the journal. The caller has the turn.
func (m *Monitor) takeIn(ctx context.Context, e store.Entry) error {
	var h happened
	if err := codec.Decode(e, &h); err != nil {
		return err
	}
	switch {
	case h.Outcome != nil:
		o := h.Outcome.given(h.Session)
		return m.record(ctx, &o)
	case h.Ending != nil:
		return m.conclude(ctx, h.Scope, *h.Ending)
	case h.Episode != nil:
		e := Episode(*h.Episode)
		return m.recordEpisode(ctx, &e)
	}
	return fmt.Errorf("%w: %q says nothing", store.ErrDamaged, e.Key)
}

// Refresh takes in what Monitors of other openers have recorded: see Options.Shared. The
// caller says when, such as after a change of the store by others.
func (m *Monitor) Refresh(ctx context.Context) error {
	return m.j.Refresh(ctx, m.catch)
}

func (m *Monitor) catch(ctx context.Context) (n int, err error) {
	err = m.exclusive(ctx, "refresh", "", func() error {
		if err := m.w.Flush(ctx); err != nil { // to the view, before that is begun anew
			return err
		}
		again := func() error {
			m.sessions.Purge()
			m.odds.Purge()
			m.ended = ended{}
			m.all, err = m.readOdds(ctx, m.allKey())
			return err
		}
		n, err = m.j.Catch(ctx, again, func(e store.Entry) error { return m.takeIn(ctx, e) })
		return err
	})
	return n, err
}

// journal is that of all openers. What they have entered is counted by Monitors that are
// alone with a view of the store.
func (m *Monitor) journal(st store.Store) *journal.Journal[*Monitor] {
	o := m.opts
	o.Shared = false
	open := func(ctx context.Context, st store.Store) (*Monitor, error) {
		base := &Monitor{opts: o, turn: make(chan struct{}, 1)}
		return base, base.openBase(ctx, st)
	}
	return journal.New(st, m.space, open, (*Monitor).takeIn, "proposal")
}
