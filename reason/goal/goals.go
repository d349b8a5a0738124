package goal

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/arc-learn/arc/store"
)

// Goals is a set of goals that can be replaced while it is in use: readers
// see the old set or the new one, and never wait. What cannot be used replaces
// nothing, and is an error that stays visible.
type Goals struct {
	mu  sync.Mutex // held by those who replace the set
	set atomic.Pointer[goalSet]
}

// goalSet never changes.
type goalSet struct {
	goals     []Goal
	err       error    // of the last attempt to replace it
	good, bad [32]byte // the contents that the goals, and the error, came from
}

// NewGoals returns a set of goals, or an error that says all that is wrong
// with them, ids used twice included.
func NewGoals(goals ...Goal) (*Goals, error) {
	if len(goals) > MaxGoals {
		return nil, &store.LimitError{Field: "goals", Limit: MaxGoals, Got: len(goals)}
	}
	var errs []error
	seen := make(map[string]bool)
	for _, g := range goals {
		errs = append(errs, g.Check())
		if seen[g.ID] {
			errs = append(errs, &GoalError{ID: g.ID, Problem: "the id is that of another goal"})
		}
		seen[g.ID] = true
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	gs := new(Goals)
	gs.set.Store(&goalSet{goals: copies(goals)})
	return gs, nil
}

// All returns the goals in their order. The slice is the caller's.
func (g *Goals) All() []Goal { return copies(g.current().goals) }

// Err returns why the last [Goals.Load] or [Goals.Reload] did not replace the
// set; nil if it did, or had no reason to.
func (g *Goals) Err() error { return g.current().err }

func (g *Goals) current() *goalSet {
	if s := g.set.Load(); s != nil {
		return s
	}
	return &goalSet{}
}

// Load replaces the set by the goals in data, see [ParseGoals], and returns
// whether it did. Content that the set came from already changes nothing.
func (g *Goals) Load(data []byte) (changed bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.load(data)
}

func (g *Goals) load(data []byte) (changed bool, err error) {
	old, sum := g.current(), sha256.Sum256(data)
	switch {
	case sum == old.good:
		g.set.Store(&goalSet{goals: old.goals, good: sum})
		return false, nil
	case sum == old.bad && old.err != nil:
		return false, old.err
	}
	goals, err := ParseGoals(data)
	if err != nil {
		return false, g.fail(fmt.Errorf("goal: goals are kept as they were: %w", err), sum)
	}
	g.set.Store(&goalSet{goals: goals, good: sum})
	return true, nil
}

// fail records why the set was not replaced, and by which content.
func (g *Goals) fail(err error, sum [32]byte) error {
	old := g.current()
	g.set.Store(&goalSet{goals: old.goals, good: old.good, err: err, bad: sum})
	return err
}

// Reload is [Goals.Load] of a file. A file that cannot be read leaves the set
// as it is. Who writes the file should write another one and rename it: a part
// of a file can be a valid file.
func (g *Goals) Reload(fsys fs.FS, name string) (changed bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	data, err := readAtMost(fsys, name, MaxYAML+1) // one more is over the limit
	if err != nil {
		return false, g.fail(fmt.Errorf("goal: goals are kept as they were: %w", err), [32]byte{})
	}
	return g.load(data)
}

func readAtMost(fsys fs.FS, name string, n int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, n))
	return data, errors.Join(err, f.Close())
}

func copies(goals []Goal) []Goal {
	out := slices.Clone(goals)
	for i := range out {
		out[i].Condition = out[i].Condition.clone()
	}
	return out
}

// clone returns a condition that shares nothing with c.
func (c Condition) clone() Condition {
	switch t := c.Test.(type) {
	case Threshold:
		c.Test = Threshold{Min: ptr(t.Min), Max: ptr(t.Max)}
	case Invariant:
		if v, err := plain("expected value", t.Expected); err == nil {
			t.Expected = v
		}
		c.Test = t
	case Distribution:
		t.Shares, t.Tolerance = maps.Clone(t.Shares), ptr(t.Tolerance)
		c.Test = t
	}
	return c
}

func ptr(f *float64) *float64 {
	if f == nil {
		return nil
	}
	return new(*f)
}
