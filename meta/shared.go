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
	fold := func(ctx context.Context) error { return m.foldNew(ctx, nil) }
	return journal.Refresh(ctx, m.catch, fold)
}

func (m *Monitor) catch(ctx context.Context) (n int, err error) {
	if m.j == nil {
		return 0, nil
	}
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

// foldNew has what is in the journal in the base, and what fn then changes of it.
func (m *Monitor) foldNew(ctx context.Context, fn func(*Monitor) error) error {
	return m.j.Fold(ctx, func(st store.Store, entries []store.Entry, last bool) error {
		base := &Monitor{opts: m.opts, turn: make(chan struct{}, 1)}
		base.opts.Shared = false
		if err := base.openBase(ctx, st); err != nil {
			return err
		}
		var err error
		for _, e := range entries {
			if err == nil {
				err = base.takeIn(ctx, e) // no other has the turn
			}
		}
		if err == nil && last && fn != nil {
			err = fn(base)
		}
		if wrong := base.Close(); err == nil {
			err = wrong
		}
		return err
	})
}

// changeBase has fn change what the store keeps, and the Monitor go by that.
func (m *Monitor) changeBase(ctx context.Context, fn func(*Monitor) error) error {
	if err := m.foldNew(ctx, fn); err != nil {
		return err
	}
	return m.Refresh(ctx)
}
