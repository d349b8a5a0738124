// Package arctest is for the tests of a host: workers that do as they are told, a
// clock that moves when it is told to, and a store whose commits fail where a test
// wants them to.
//
//	clock := arctest.NewClock(time.Date(2027, 1, 4, 9, 0, 0, 0, time.UTC))
//	fixer := arctest.NewExecutor(arctest.Fail(errors.New("no route")), arctest.Do(`"fixed"`))
//	agent, err := arc.New(ctx, store.NewMem(), arc.Host{
//		Workers: []act.Worker{{Card: rank.Candidate{Name: "fixer"}, Executor: fixer}},
//		Gates:   gates,
//	}, &arc.Options{Now: clock.Now, Seed: 1})
//
// With a clock and a seed of the test's a run repeats exactly. The model of such a
// test is [github.com/arc-learn/arc/reason/reasontest.Script].
package arctest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/store"
)

// Clock is a time that moves only when Add moves it. Its Now is an Options.Now. It
// is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a Clock that stands at a time.
func NewClock(at time.Time) *Clock { return &Clock{now: at} }

// Now returns the time at which the Clock stands.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Add moves the Clock, backwards if d is negative, as real clocks are set back too.
func (c *Clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Turn is what an Executor does at one call.
type Turn func(ctx context.Context, w act.Work) (act.Result, error)

// Do succeeds with an output, which is JSON, at a confidence of 0.9.
func Do(output string) Turn {
	return func(context.Context, act.Work) (act.Result, error) {
		said := iar.Reflection{Status: iar.Success, Confidence: 0.9, Summary: "done as told"}
		return act.Result{Output: json.RawMessage(output), Reflection: said}, nil
	}
}

// Fail fails with an error.
func Fail(err error) Turn {
	return func(context.Context, act.Work) (act.Result, error) { return act.Result{}, err }
}

// Hang waits until its context ends, as a worker does that has lost its peer.
func Hang() Turn {
	return func(ctx context.Context, _ act.Work) (act.Result, error) {
		<-ctx.Done()
		return act.Result{}, ctx.Err()
	}
}

// Executor takes its turns in order, whatever work it is given, and remembers the
// work. A call after the last turn fails. It is safe for concurrent use.
type Executor struct {
	mu    sync.Mutex
	turns []Turn
	works []act.Work
}

// NewExecutor returns an Executor with the turns that it is to take.
func NewExecutor(turns ...Turn) *Executor { return &Executor{turns: slices.Clone(turns)} }

// Execute takes the next turn.
func (e *Executor) Execute(ctx context.Context, w act.Work) (act.Result, error) {
	e.mu.Lock()
	n := len(e.works)
	e.works = append(e.works, w)
	var turn Turn
	if n < len(e.turns) {
		turn = e.turns[n]
	}
	e.mu.Unlock()
	if turn == nil {
		return act.Result{}, fmt.Errorf("arctest: call %d of an executor with %d turns", n+1, len(e.turns))
	}
	return turn(ctx, w)
}

// Works returns what the Executor was asked to do, in order.
func (e *Executor) Works() []act.Work {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.works)
}

// ErrStore is what a Store's commits fail with.
var ErrStore = errors.New("arctest: the store fails as the test wants")

// Store is a store whose commits fail where a test wants them to. It is no
// [store.Watcher].
type Store struct {
	store.Store

	mu       sync.Mutex
	commits  int
	from, to int
	applied  bool
}

// NewStore returns a Store above another, all of whose commits succeed at first.
func NewStore(st store.Store) *Store { return &Store{Store: st} }

// FailNext lets n further commits succeed, and fails the many after them with
// [ErrStore]; many < 0: all. With applied the commits that fail take place all the
// same, as those do whose answer is lost on its way.
func (s *Store) FailNext(n, many int, applied bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from, s.to, s.applied = s.commits+n, s.commits+n+many, applied
	if many < 0 {
		s.to = -1
	}
}

// Commits returns how often Commit was called.
func (s *Store) Commits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commits
}

// Commit passes the ops on, unless it is to fail.
func (s *Store) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	s.mu.Lock()
	at := s.commits
	s.commits++
	fails := at >= s.from && (s.to < 0 || at < s.to)
	applied := s.applied
	s.mu.Unlock()
	if fails && !applied {
		return 0, ErrStore
	}
	rev, err := s.Store.Commit(ctx, ops...)
	if fails && err == nil {
		return 0, ErrStore
	}
	return rev, err
}
