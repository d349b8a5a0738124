package meta

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/internal/text"
	"github.com/arc-learn/arc/store"
)

// Conclude adds an ending to those of a scope, of which the last 8 are kept. It
// is written behind, like an outcome. Endings inform later runs and judge none: runs
// of a scope may work at the same time.
func (m *Monitor) Conclude(ctx context.Context, scope string, e Ending) error {
	for _, said := range []*string{&e.Situation, &e.Approach} {
		*said = text.Cut(m.opts.Sanitizer.Sanitize(strings.ToValidUTF8(*said, "\uFFFD")), endingText)
	}
	e.User = m.opts.Sanitizer.Sanitize(e.User)
	return m.exclusive(ctx, "conclude", e.Run, func() error {
		err := checkName("run", e.Run)
		if e.User != "" {
			err = errors.Join(err, checkName("user", e.User))
		}
		if err != nil {
			return err
		}
		if m.j != nil {
			entry := e
			id := []string{"ending", scope, e.Run, strconv.FormatBool(e.Delivered)}
			if err := m.enterEvent(ctx, &happened{Scope: scope, Ending: &entry}, id...); err != nil {
				return err
			}
		}
		return m.conclude(ctx, scope, e)
	})
}

// conclude adds an ending in place of that which the run had before it was retried. The caller has the turn.
func (m *Monitor) conclude(ctx context.Context, scope string, e Ending) error {
	past, err := m.endings(ctx, scope)
	i := slices.IndexFunc(past, func(p Ending) bool { return p.Run == e.Run })
	if err != nil || i >= 0 && past[i].Delivered == e.Delivered {
		return err
	}
	if i >= 0 {
		past = slices.Delete(slices.Clone(past), i, i+1)
	}
	return m.replace(ctx, append(slices.Clip(past[max(0, len(past)+1-keptEndings):]), e))
}

// Past returns the last endings of a scope, and those of them that are of a situation,
// oldest first. The caller changes neither.
func (m *Monitor) Past(ctx context.Context, scope, situation string) (all, of []Ending, err error) {
	err = m.exclusive(ctx, "past of", scope, func() (err error) { all, err = m.endings(ctx, scope); return err })
	situation = text.Cut(situation, endingText)
	other := func(e Ending) bool { return e.Situation != situation }
	if of = all; slices.ContainsFunc(all, other) {
		of = slices.DeleteFunc(slices.Clone(all), other)
	}
	return all, of, err
}

// endings reads the endings of a scope. They are not decoded again while the record
// is what it was.
func (m *Monitor) endings(ctx context.Context, scope string) ([]Ending, error) {
	if m.ended.scope != scope || m.ended.key == "" {
		m.ended = ended{scope: scope, key: m.pastKey(scope)}
	}
	e, err := m.get(ctx, m.ended.key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case m.ended.value != nil && bytes.Equal(m.ended.value, e.Value):
		return m.ended.past, nil
	}
	var past []Ending
	if err = codec.Decode(e, &past); err == nil {
		m.ended.value, m.ended.past = e.Value, past
	}
	if errors.Is(err, store.ErrDamaged) {
		return nil, nil // they inform: no run fails for want of them
	}
	return past, err
}

// replace writes the endings of the scope that was read last.
func (m *Monitor) replace(ctx context.Context, past []Ending) error {
	if len(past) == 0 {
		return m.w.Add(ctx, store.Op{Key: m.ended.key, Delete: true})
	}
	m.ended.past = past
	value, err := m.block.encode(m.ended.key, &m.ended.past)
	if m.ended.value = value; err != nil {
		return err
	}
	return m.w.Add(ctx, store.Op{Key: m.ended.key, Value: value})
}
