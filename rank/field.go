package rank

import (
	"context"
	"fmt"
	"slices"

	"github.com/arc-learn/arc/internal/key"
	"github.com/arc-learn/arc/store"
)

// contender is a candidate of one decision with its record.
type contender struct {
	by     float64 // what it is ordered by, larger first
	member *member // nil: no name
	window *window // nil: no samples for the skill
}

// arm is the index of the contender in the model of the skill, or -1.
func (f *contender) arm(m *model, name string) int32 {
	if f.window != nil && f.window.arm > 0 {
		return f.window.arm - 1
	}
	if i, ok := m.index[name]; ok && name != "" {
		return i
	}
	return -1
}

// field appends the contenders to buf, which is empty, in the order of the
// input, once they are all in memory. It returns with the lock held for reading, unless with an error.
func (b *Book) field(ctx context.Context, buf []contender, skill string, cs []Candidate) ([]contender, error) {
	if len(cs) == 0 {
		return nil, ErrNoCandidate
	}
	if err := store.CheckContext(ctx); err != nil {
		return nil, err
	}
	buf = slices.Grow(buf, len(cs))
	for {
		b.mu.RLock()
		fs, missing, err := b.fieldLocked(buf, skill, cs)
		if err == nil && missing < 0 {
			return fs, nil
		}
		b.mu.RUnlock()
		if err == nil {
			err = b.enlist(ctx, cs[missing:])
		}
		if err != nil {
			return nil, fmt.Errorf("score: %w", err)
		}
	}
}

// enlist reads the candidates that are not in memory.
func (b *Book) enlist(ctx context.Context, cs []Candidate) error {
	if err := b.take(ctx); err != nil {
		return err
	}
	defer b.give()
	var missing []string
	for i := range cs {
		name := cs[i].Name
		if m, err := b.member(name); err != nil {
			return err
		} else if m != nil || name == "" {
			continue
		}
		if err := key.CheckID("candidate", name); err != nil {
			return fmt.Errorf("%w: %w", ErrCandidate, err)
		}
		missing = append(missing, name)
	}
	return b.restore(ctx, missing...)
}

// fieldLocked also returns the index of a candidate that is not in memory, or
// -1.
func (b *Book) fieldLocked(fs []contender, skill string, cs []Candidate) ([]contender, int, error) {
	if b.mu.closed {
		return nil, -1, store.ErrClosed
	}
	ps := b.mu.pairs[skill]
	for i := range cs {
		c := &cs[i]
		if !unit(c.Prior) {
			return nil, -1, fmt.Errorf("%w: the prior of %q is %v", ErrCandidate, c.Name, c.Prior)
		}
		var f contender
		if c.Name != "" {
			p := ps[c.Name]
			if p.member == nil {
				p.member = b.mu.members[c.Name]
			}
			if p.member == nil {
				return nil, i, nil
			}
			f.member, f.window = p.member, p.window
		}
		fs = append(fs, f)
	}
	if i := twice(fs, b.mu.made); i >= 0 {
		return nil, -1, fmt.Errorf("%w: %q is named twice", ErrCandidate, cs[i].Name)
	}
	return fs, -1, nil
}

// few is how many contenders are handled without a further allocation.
const few = 32

// twice returns the index of a candidate that is there twice, or -1, where made
// members were ever made.
func twice(fs []contender, made int) int {
	if len(fs) <= few {
		for i := range fs {
			for j := range i {
				if fs[i].member == fs[j].member && fs[i].member != nil {
					return i
				}
			}
		}
		return -1
	}
	seen := make([]bool, made)
	for i := range fs {
		m := fs[i].member
		if m == nil {
			continue
		}
		if seen[m.number] {
			return i
		}
		seen[m.number] = true
	}
	return -1
}
