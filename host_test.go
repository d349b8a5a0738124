package arc_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

func TestMain(m *testing.M) {
	if child() {
		return
	}
	goleak.VerifyTestMain(m)
}

// script is a host whose parts do what a test says, and remember what they
// were asked.
type script struct {
	mu     sync.Mutex
	briefs []reason.Brief
	work   []act.Work

	decide func(n int, b reason.Brief) (reason.Decision, error) // n counts from 1
	do     func(n int, w act.Work) (act.Result, error)
	judge  func(w act.Work, r act.Result) (act.Verdict, error)
}

func (s *script) Reason(_ context.Context, b reason.Brief) (reason.Decision, error) {
	s.mu.Lock()
	s.briefs = append(s.briefs, b)
	n := len(s.briefs)
	s.mu.Unlock()
	if s.decide == nil {
		return plan(b.Objective), nil
	}
	return s.decide(n, b)
}

func (s *script) Execute(_ context.Context, w act.Work) (act.Result, error) {
	s.mu.Lock()
	s.work = append(s.work, w)
	n := len(s.work)
	s.mu.Unlock()
	if s.do == nil {
		return done(`"ok"`), nil
	}
	return s.do(n, w)
}

func (s *script) Verify(_ context.Context, w act.Work, r act.Result) (act.Verdict, error) {
	if s.judge == nil {
		return act.Verdict{Pass: true}, nil
	}
	return s.judge(w, r)
}

func (s *script) host(workers ...string) arc.Host {
	if len(workers) == 0 {
		workers = []string{"worker"}
	}
	h := arc.Host{Reasoner: s, Gates: []act.Gate{s}}
	for _, name := range workers {
		h.Workers = append(h.Workers, act.Worker{
			Card: rank.Candidate{Name: name, Prior: 0.5}, Skills: []string{"work"},
			Executor: act.ExecutorFunc(func(ctx context.Context, w act.Work) (act.Result, error) {
				w.Task.Worker = name // so that a test can tell who was asked
				return s.Execute(ctx, w)
			}),
		})
	}
	return h
}

// plan is a decision of one task.
func plan(objective string) reason.Decision {
	return reason.Decision{
		Complexity: reason.Simple, Approach: "just do it",
		Tasks: []reason.Task{{Objective: objective, Verify: "the gate", Skill: "work"}},
	}
}

func done(output string) act.Result {
	return act.Result{
		Output:     json.RawMessage(output),
		Reflection: iar.Reflection{Status: iar.Success, Confidence: 0.9, Summary: "did it", PotentialIssues: []string{}, AlignmentCheck: map[string]float64{"objective": 1}},
	}
}

func fail(complaint string) func(act.Work, act.Result) (act.Verdict, error) {
	return func(act.Work, act.Result) (act.Verdict, error) {
		return act.Verdict{Complaint: complaint}, nil
	}
}

// clock is a time that moves only when told to.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// agent opens an agent in memory that is closed with the test.
func agent(t *testing.T, h arc.Host, opts *arc.Options) *arc.Agent {
	t.Helper()
	return agentOn(t, store.NewMem(), h, opts)
}

func agentOn(t *testing.T, st store.Store, h arc.Host, opts *arc.Options) *arc.Agent {
	t.Helper()
	var o arc.Options
	if opts != nil {
		o = *opts
	}
	if o.Now == nil {
		o.Now = newClock().Now
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Sanitizer == nil {
		o.Sanitizer = keyed()
	}
	a, err := arc.New(t.Context(), st, h, &o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

// keyed is a Sanitizer with a key of its own: its Agent draws none.
func keyed() *redact.Sanitizer { return new(redact.Sanitizer).WithKey([]byte("0123456789abcdef")) }

func run(t *testing.T, a *arc.Agent, o arc.Objective) *arc.Report {
	t.Helper()
	r, err := a.Run(t.Context(), o)
	require.NoError(t, err)
	return r
}

var errBoom = errors.New("boom")

// dump is a State as it is stored.
func dump(t *testing.T, s arc.State) string {
	t.Helper()
	raw, err := json.Marshal(s)
	require.NoError(t, err)
	return string(raw)
}

// idle lets time pass inside a bubble.
func idle(d time.Duration) { <-time.After(d) }

// committed is a store that tells of each run that it has committed.
type committed struct {
	store.Store
	tell func(*arc.State)
}

func (c committed) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	rev, err := c.Store.Commit(ctx, ops...)
	for _, op := range ops {
		if err != nil || !arc.IsRun(op.Key) {
			continue
		}
		s, err := arc.DecodeState(store.Entry{Key: op.Key, Value: op.Value})
		if err != nil {
			panic(err)
		}
		c.tell(&s)
	}
	return rev, err
}
