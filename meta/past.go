package meta

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/arc-learn/arc/internal/codec"
	"github.com/arc-learn/arc/store"
)

// Ending is how an objective of a scope ended.
type Ending struct {
	// Run makes Conclude idempotent while the ending is kept. Required.
	Run string `cbor:"1,keyasint,omitempty"`
	// Situation is that of the objective, Approach the last that was taken; both
	// are cut at 200 bytes, and have no secrets.
	Situation string `cbor:"2,keyasint,omitempty"`
	Approach  string `cbor:"3,keyasint,omitempty"`
	Delivered bool   `cbor:"4,keyasint,omitempty"`
	// At is when it ended.
	At time.Time `cbor:"5,keyasint,omitempty"`
}

// Bounds of what is kept of a scope.
const (
	keptEndings = 8
	endingText  = 200 // bytes of a text
)

// Conclude adds an ending to those of a scope, of which the last 8 are kept. It
// is written behind, like an outcome. Endings are there to be told of: runs of a
// scope may be at work at the same time, so none is judged by another's.
func (m *Monitor) Conclude(ctx context.Context, scope string, e Ending) error {
	err := checkName("run", e.Run)
	for _, text := range []*string{&e.Situation, &e.Approach} {
		*text = atMost(m.opts.Sanitizer.Sanitize(strings.ToValidUTF8(*text, "\uFFFD")))
	}
	if err == nil {
		err = m.exclusive(ctx, func() error {
			k := m.pastKey(scope)
			past, err := m.endings(ctx, k)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(past, func(p Ending) bool { return p.Run == e.Run }) {
				return nil
			}
			past = append(slices.Clip(past[max(0, len(past)+1-keptEndings):]), e)
			value, err := codec.Encode(k, past)
			if err == nil {
				err = m.w.Add(ctx, store.Op{Key: k, Value: value})
			}
			m.seen = seen{k, value, past}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("conclude %.64q: %w", e.Run, err)
	}
	return nil
}

// Retract takes the ending of a run from those of a scope.
func (m *Monitor) Retract(ctx context.Context, scope, run string) error {
	err := m.exclusive(ctx, func() error {
		k := m.pastKey(scope)
		var past []Ending
		found, err := m.decode(ctx, k, &past)
		left := slices.DeleteFunc(past, func(e Ending) bool { return e.Run == run })
		if err != nil || !found || len(left) == len(past) {
			return err
		}
		if len(left) == 0 {
			return m.w.Add(ctx, store.Op{Key: k, Delete: true})
		}
		value, err := codec.Encode(k, left)
		if err != nil {
			return err
		}
		return m.w.Add(ctx, store.Op{Key: k, Value: value})
	})
	if err != nil {
		return fmt.Errorf("retract %.64q: %w", run, err)
	}
	return nil
}

// Past returns the last endings of a scope, oldest first. Those of one situation
// have the same Situation, if cut: see [Ending.Of].
func (m *Monitor) Past(ctx context.Context, scope string) (past []Ending, err error) {
	err = m.exclusive(ctx, func() (err error) { past, err = m.endings(ctx, m.pastKey(scope)); return err })
	if err != nil {
		return nil, fmt.Errorf("past of %.64q: %w", scope, err)
	}
	return slices.Clone(past), nil
}

// endings reads the endings of a scope. Those that were decoded last are not
// decoded again while the record is what it was.
func (m *Monitor) endings(ctx context.Context, k string) (past []Ending, err error) {
	e, err := m.get(ctx, k)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case m.seen.key == k && bytes.Equal(m.seen.value, e.Value):
		return m.seen.is.([]Ending), nil
	}
	if err = codec.Decode(e, &past); err == nil {
		m.seen = seen{k, slices.Clone(e.Value), past}
	}
	return past, err
}

// Of reports whether the ending is of a situation.
func (e *Ending) Of(situation string) bool { return e.Situation == atMost(situation) }

// atMost cuts a text at endingText bytes.
func atMost(s string) string {
	if len(s) <= endingText {
		return s
	}
	n := endingText
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
