package arc_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/redact"
	"github.com/arc-learn/arc/store"
)

// bench is a queue whose jobs an Agent works on.
type bench struct {
	*testing.T
	q *queue.Queue
	a *arc.Agent
	c *clock

	gone func() // ends the caller in the next attempt
}

func newBench(t *testing.T, s *script, st store.Store) *bench {
	t.Helper()
	b := &bench{T: t, c: newClock()}
	b.a = agentOn(t, st, s.host(), &arc.Options{Now: b.c.Now, Patience: time.Hour})
	var err error
	b.q, err = queue.Open(t.Context(), st, &queue.Options{Now: b.c.Now, Alone: true, Seed: 1})
	require.NoError(t, err)
	return b
}

func (b *bench) enqueue(d queue.Draft) queue.Job {
	b.Helper()
	j, added, err := b.q.Enqueue(b.Context(), d)
	require.NoError(b, err)
	require.True(b, added)
	return j
}

// work works on the job that comes first.
func (b *bench) work() queue.Job {
	b.Helper()
	l, err := b.q.Claim(b.Context(), 0)
	require.NoError(b, err)
	r, why := b.a.QueueHandler()(b.Context(), l.Job)
	j, err := l.End(b.Context(), r, why)
	require.NoError(b, err)
	return j
}

func TestObjectivesAsJobs(t *testing.T) {
	t.Parallel()
	s := &script{do: func(int, act.Work) (act.Result, error) {
		r := done(`"ok"`)
		r.Usage = act.Usage{TokensIn: 7, CacheRead: 5, CacheWrite: 2, CostUSD: 0.25}
		return r, nil
	}}
	b := newBench(t, s, store.NewMem())
	in, err := json.Marshal(arc.Objective{ID: "own", Text: "mend the cache", Conditions: map[string]string{"tier": "gold"}})
	require.NoError(t, err)
	b.enqueue(queue.Draft{Subject: "a run", Input: in, Priority: 1, Skills: []string{"work"}})
	j := b.work()
	require.Equal(t, queue.Completed, j.State, j.Summary)
	require.Equal(t, "did it", j.Summary)
	require.Equal(t, act.Usage{TokensIn: 7, CacheRead: 5, CacheWrite: 2, CostUSD: 0.25}, j.Usage)
	require.Equal(t, []string{"work"}, s.briefs[0].Manuals)
	for r, err := range b.a.In("").Runs(t.Context(), arc.Filter{}) {
		require.NoError(t, err)
		require.Equal(t, "own", r.ID)
	}
	j = b.enqueue(queue.Draft{Subject: "look", Description: "at the door"})
	require.Equal(t, queue.Completed, b.work().State)
	r, err := b.a.In("").Resume(t.Context(), "job/"+j.ID)
	require.NoError(t, err)
	require.Equal(t, "look\n\nat the door", r.Objective)

	for _, bad := range []string{`{"Text": 7}`, `{"Scope": "other"}`, `{"Attempts": -1}`, `{"Situatoin": "a cache"}`, `{"Secrets": {"door": "open sesame"}}`} {
		b.enqueue(queue.Draft{Subject: "bad", Input: json.RawMessage(bad)})
		j := b.work()
		require.Equal(t, queue.Failed, j.State, bad)
		require.Contains(t, j.Summary, "bad objective")
	}
}

// The model by a job's priority reaches whoever decides and whoever works.
func TestModelOfAJob(t *testing.T) {
	t.Parallel()
	model := func(name string) reason.Model {
		return reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) {
			return &reason.Response{Text: name}, nil
		})
	}
	m := queue.ByModel(map[string]reason.Model{"strong": model("a large one"), "own": model("its own")}, model("another"))
	type said struct{ by, text string }
	heard := make(chan said, 16)
	ask := func(ctx context.Context, by string) {
		r, err := m.Generate(ctx, &reason.Request{})
		if err != nil {
			heard <- said{by, err.Error()}
			return
		}
		heard <- said{by, r.Text}
	}
	h := (&script{}).host()
	h.Reasoner = reason.ReasonerFunc(func(ctx context.Context, b reason.Brief) (reason.Decision, error) {
		ask(ctx, "reasoner")
		return plan(b.Objective), nil
	})
	h.Workers[0].Executor = act.ExecutorFunc(func(ctx context.Context, _ act.Work) (act.Result, error) {
		ask(ctx, "worker")
		return done(`"ok"`), nil
	})
	st := store.NewMem()
	a := agentOn(t, st, h, &arc.Options{Seed: 1, Maintain: -1, Now: time.Now})
	q, err := queue.Open(t.Context(), st, nil)
	require.NoError(t, err)
	d, err := q.Dispatch(a.QueueHandler(), nil)
	require.NoError(t, err)
	for want, draft := range map[string]queue.Draft{
		"a large one": {Subject: "urgent", Priority: 2}, "another": {Subject: "later", Priority: 4},
		"its own": {Subject: "as it says", Priority: 2, Model: "own"},
	} {
		_, _, err := q.Enqueue(t.Context(), draft)
		require.NoError(t, err)
		for _, by := range []string{"reasoner", "worker"} {
			is := <-heard
			require.Equal(t, by, is.by)
			require.Contains(t, is.text, want)
		}
	}
	require.NoError(t, d.Close(t.Context()))
	ask(t.Context(), "nobody")
	require.Contains(t, (<-heard).text, "another", "outside of jobs")
	_, err = queue.ByModel(nil, nil).Generate(t.Context(), &reason.Request{})
	require.ErrorContains(t, err, "no model")
}

// A run that waits gives its worker back, and its job is due when the run is; it goes on
// from where it was.
func TestWaitingJobIsScheduledAgain(t *testing.T) {
	t.Parallel()
	s := &script{decide: func(n int, b reason.Brief) (reason.Decision, error) {
		if n == 1 {
			return reason.Decision{}, &reason.ModelError{Status: 429, Again: true, After: time.Hour}
		}
		return plan(b.Objective), nil
	}}
	b := newBench(t, s, store.NewMem())
	b.enqueue(queue.Draft{Subject: "look"})
	begin := time.Now()
	j := b.work()
	require.Less(t, time.Since(begin), 30*time.Second, "it is not waited for")
	require.Equal(t, queue.Pending, j.State)
	require.Zero(t, j.Attempts)
	require.True(t, j.At.After(b.c.Now()))
	_, err := b.q.Claim(t.Context(), 0)
	require.ErrorIs(t, err, queue.ErrEmpty)
	b.c.Add(j.At.Sub(b.c.Now()))
	j = b.work()
	for j.State == queue.Pending { // the Agent itself may go on with the run, which is due
		b.c.Add(j.At.Sub(b.c.Now()))
		j = b.work()
	}
	require.Equal(t, queue.Completed, j.State)
	require.Len(t, s.briefs, 2)
}

// TestRequeuedJobThatWaits: a worker does not hold on to a job that is requeued while the model
// is away either.
func TestRequeuedJobThatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := false
		s := &script{
			decide: func(_ int, b reason.Brief) (reason.Decision, error) {
				if away {
					return reason.Decision{}, errAway
				}
				return plan(b.Objective), nil
			},
			judge: func(act.Work, act.Result) (act.Verdict, error) { return act.Verdict{Complaint: "it is open"}, nil },
		}
		st := store.NewMem()
		a, err := arc.New(t.Context(), st, s.host(), &arc.Options{Now: time.Now})
		require.NoError(t, err)
		q, err := queue.Open(t.Context(), st, &queue.Options{Now: time.Now, Alone: true, Seed: 1})
		require.NoError(t, err)
		b := &bench{T: t, a: a, q: q}
		j := b.enqueue(queue.Draft{Subject: "close the door"})
		require.Equal(t, queue.Blocked, b.work().State)
		require.NoError(t, q.Requeue(t.Context(), j.ID, "there is one now"))
		away = true
		began := time.Now()
		waits := b.work()
		require.Equal(t, queue.Pending, waits.State, waits.Summary)
		require.Zero(t, time.Since(began))
		require.NoError(t, a.Close())
	})
}

// A job does not get around an approval, and is over at once when a human has allowed it.
func TestJobThatWaitsForAnApproval(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	st := store.NewMem()
	b := &bench{T: t, c: newClock()}
	b.a = agentOn(t, st, gated(&calls, act.Gated), &arc.Options{Now: b.c.Now})
	var err error
	b.q, err = queue.Open(t.Context(), st, &queue.Options{Now: b.c.Now, Alone: true, Seed: 1})
	require.NoError(t, err)
	in, err := json.Marshal(arc.Objective{Text: "deploy", Tasks: chore})
	require.NoError(t, err)
	b.enqueue(queue.Draft{Subject: "deploy", Input: in})
	j := b.work()
	require.Equal(t, queue.Pending, j.State, j.Summary)
	require.Contains(t, j.Summary, "approval: deployer")
	b.c.Add(2 * time.Minute)
	_, err = b.q.Claim(t.Context(), 0)
	require.ErrorIs(t, err, queue.ErrEmpty)
	require.Zero(t, calls.Load())
	p := waiting(t, b.a, "")[0]
	require.Equal(t, p.Until, j.At)
	b.c.Add(time.Second)
	require.NoError(t, b.a.In("").Rule(t.Context(), arc.Ruling{Run: p.Run, Attempt: p.Attempt, Allow: true, By: "ada"}))
	require.Equal(t, queue.Completed, b.work().State)
	require.EqualValues(t, 1, calls.Load())
}

// Whoever says what a run waits for, its job is due at once: also where the run is one that the
// Input names, or asked before the job was there, or the caller is gone before it has gone on.
func TestJobIsDueWhenItsRunGoesOn(t *testing.T) {
	t.Parallel()
	in := func(o arc.Objective) json.RawMessage {
		raw, err := json.Marshal(o)
		require.NoError(t, err)
		return raw
	}
	answer := func(b *bench, id string) { _, _ = b.a.In("").Answer(b.Context(), id, "the main one") } // the job tells
	for name, c := range map[string]struct {
		input   arc.Objective
		begun   bool // by a call of Run, before the job
		gated   bool
		replica string
		before  queue.State
		say     func(b *bench, id string)
	}{
		"answered":           {before: queue.Parked, say: answer},
		"answered, its name": {input: arc.Objective{ID: "own"}, before: queue.Parked, say: answer},
		"answered, begun":    {input: arc.Objective{ID: "own", Text: "mend the pump"}, begun: true, before: queue.Parked, say: answer},
		"answered, at another replica": {
			input: arc.Objective{ID: "own", Text: "mend the pump"}, begun: true, replica: "a", before: queue.Parked, say: answer,
		},
		"answered, cut off": {before: queue.Parked, say: func(b *bench, id string) {
			ctx, cancel := context.WithCancel(b.Context())
			b.gone = cancel
			_, err := b.a.In("").Answer(ctx, id, "the main one")
			require.ErrorIs(b, err, context.Canceled)
		}},
		"allowed": {gated: true, before: queue.Pending, say: func(b *bench, id string) {
			require.NoError(b, b.a.In("").Rule(b.Context(), arc.Ruling{Run: id, Attempt: 1, Allow: true, By: "ada"}))
		}},
		"retried": {input: arc.Objective{Attempts: 1, Conditions: map[string]string{"fails": "once"}}, before: queue.Blocked,
			say: func(b *bench, id string) {
				_, err := b.a.In("").Retry(b.Context(), id, "it is there now")
				require.NoError(b, err)
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := &bench{T: t}
				calls := 0
				h := (&script{do: func(_ int, w act.Work) (act.Result, error) {
					if calls++; calls == 1 && c.input.Conditions != nil {
						return act.Result{}, errors.New("no valve")
					}
					if len(w.Answers) == 0 && c.before == queue.Parked {
						return act.Result{}, &act.InputRequiredError{Questions: []string{"which valve?"}}
					}
					if b.gone != nil {
						b.gone()
						b.gone = nil
						return act.Result{}, context.Canceled
					}
					return done(`1`), nil
				}}).host()
				if c.gated {
					h.Workers[0].Mode = act.Gated
				}
				st := store.NewMem()
				var err error
				b.a, err = arc.New(t.Context(), st, h, &arc.Options{Now: time.Now, Replica: c.replica})
				require.NoError(t, err)
				b.q, err = queue.Open(t.Context(), st, nil)
				require.NoError(t, err)
				if c.begun {
					_, err := b.a.Run(t.Context(), c.input)
					require.NoError(t, err)
				}
				d, err := b.q.Dispatch(b.a.QueueHandler(), nil)
				require.NoError(t, err)
				if c.replica != "" { // it is answered at another
					first := b.a
					defer func() { require.NoError(t, first.Close()) }()
					b.a, err = arc.New(t.Context(), st, h, &arc.Options{Now: time.Now, Replica: "another"})
					require.NoError(t, err)
				}
				j := b.enqueue(queue.Draft{Subject: "mend the pump", Input: in(c.input)})
				idle(10 * time.Second)
				is, err := b.q.Get(t.Context(), j.ID)
				require.NoError(t, err)
				require.Equal(t, c.before, is.State, is.Summary)
				n := 0
				for _, err := range b.q.Cycles(t.Context(), time.Time{}) {
					require.NoError(t, err)
					n++
				}
				require.Equal(t, 1, n, "what the handler commits makes nothing due")
				c.say(b, cmp.Or(c.input.ID, "job/"+j.ID))
				idle(3 * time.Second)
				if name == "answered, cut off" { // the job may be claimed while the run is live
					idle(10 * time.Second)
				}
				is, err = b.q.Get(t.Context(), j.ID)
				require.NoError(t, err)
				require.Equal(t, queue.Completed, is.State, is.Summary)
				require.NoError(t, d.Close(t.Context()))
				require.NoError(t, b.a.Close())
			})
		})
	}
}

// A Requeue before the answer has no run retried that is blocked after it.
func TestRequeuedBeforeItsAnswer(t *testing.T) {
	t.Parallel()
	s := &script{
		do: func(n int, w act.Work) (act.Result, error) {
			if n == 1 && len(w.Answers) == 0 {
				return act.Result{}, &act.InputRequiredError{Questions: []string{"which valve?"}}
			}
			return done(`1`), nil
		},
		judge: func(act.Work, act.Result) (act.Verdict, error) { return act.Verdict{Complaint: "it drips"}, nil },
	}
	b := newBench(t, s, store.NewMem())
	j := b.enqueue(queue.Draft{Subject: "mend the pump"})
	require.Equal(t, queue.Parked, b.work().State)
	require.NoError(t, b.q.Requeue(t.Context(), j.ID, "has it an answer?"))
	require.Equal(t, queue.Parked, b.work().State)
	r, err := b.a.In("").Answer(t.Context(), "job/"+j.ID, "the main one")
	require.NoError(t, err)
	require.Equal(t, arc.Blocked, r.Status)
	b.c.Add(time.Second)
	n := len(s.work)
	require.Equal(t, queue.Blocked, b.work().State)
	require.Len(t, s.work, n)
}

// A Requeue has the run retried once: what a human refuses after that, and the run takes up by
// itself, is not asked again; nor where the run was not Blocked, or not begun, at the Requeue.
func TestRequeuedJobIsRetriedOnce(t *testing.T) {
	t.Parallel()
	for _, parked := range []string{"", "begun", "not begun"} {
		var calls atomic.Int64
		st := store.NewMem()
		b := &bench{T: t, c: newClock()}
		b.a = agentOn(t, st, gated(&calls, act.Gated), &arc.Options{Now: b.c.Now, Attempts: 1})
		var err error
		b.q, err = queue.Open(t.Context(), st, &queue.Options{Now: b.c.Now, Alone: true, Seed: 1})
		require.NoError(t, err)
		in, err := json.Marshal(arc.Objective{Text: "deploy", Tasks: chore})
		require.NoError(t, err)
		j := b.enqueue(queue.Draft{Subject: "deploy", Input: in})
		if parked == "begun" {
			require.Equal(t, queue.Pending, b.work().State)
		}
		if parked != "" {
			require.NoError(t, b.q.Park(t.Context(), j.ID))
			require.NoError(t, b.q.Requeue(t.Context(), j.ID, ""))
		}
		for range 3 {
			require.Equal(t, queue.Pending, b.work().State, parked)
			p := waiting(t, b.a, "")[0]
			require.NoError(t, b.a.In("").Rule(t.Context(), arc.Ruling{Run: p.Run, Attempt: p.Attempt, By: "ada", Note: "no"}))
			b.c.Add(2 * time.Minute)
			require.Eventually(t, func() bool {
				r, err := b.a.In("").Report(t.Context(), p.Run)
				if err != nil || r.Status != arc.Blocked {
					return false
				}
				_, err = b.a.In("").Resume(t.Context(), p.Run) // the call that has ended the run is over
				return !errors.Is(err, arc.ErrRunning)
			}, 10*time.Second, time.Millisecond)
			require.Equal(t, queue.Blocked, b.work().State, parked)
			require.NoError(t, b.q.Requeue(t.Context(), j.ID, "ask ada once more"))
		}
		require.Zero(t, calls.Load())
	}
}

func TestBlockedAndAskingJobsAreRequeued(t *testing.T) {
	t.Parallel()
	mended := false
	s := &script{
		decide: func(n int, b reason.Brief) (reason.Decision, error) {
			if n == 1 {
				return reason.Decision{Questions: []string{"Which door?"}}, nil
			}
			return plan(b.Objective), nil
		},
		judge: func(act.Work, act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: mended, Complaint: "the hinge is broken"}, nil
		},
	}
	b := newBench(t, s, store.NewMem())
	j := b.enqueue(queue.Draft{Subject: "close the door"})
	asking := b.work()
	require.Equal(t, queue.Parked, asking.State)
	require.Contains(t, asking.Summary, "job/"+j.ID, "what to answer")
	require.Equal(t, "Which door?", asking.Detail)
	r, err := b.a.In("").Answer(t.Context(), "job/"+j.ID, "the red one")
	require.NoError(t, err)
	require.Equal(t, arc.Blocked, r.Status)
	require.NoError(t, b.q.Requeue(t.Context(), j.ID, "the hinge may be mended by now"))
	blocked := b.work()
	require.Equal(t, queue.Blocked, blocked.State, "it was retried, and is blocked again")
	require.Contains(t, blocked.Summary, "the hinge is broken")
	mended = true
	require.NoError(t, b.q.Requeue(t.Context(), j.ID, "the hinge is mended"))
	require.Equal(t, queue.Completed, b.work().State)
	last := s.briefs[len(s.briefs)-1]
	require.Equal(t, "the hinge is mended", last.Answers[len(last.Answers)-1].Text)
}

// Jobs are erased, exported, taken in and pruned with their scope, by the keys that
// find them too.
func TestJobsOfAScope(t *testing.T) {
	t.Parallel()
	for _, scope := range []memory.Scope{"local", "local/anna"} {
		t.Run(string(scope), func(t *testing.T) {
			st := store.NewMem()
			b := newBench(t, new(script), st)
			mine := map[queue.State]string{}
			for i, state := range []queue.State{queue.Completed, queue.Blocked, queue.Parked, queue.Active, queue.Pending} {
				j := b.enqueue(queue.Draft{Subject: "job", Scope: scope, Key: fmt.Sprint("key", i), Priority: i + 1})
				mine[state] = j.ID
				if state == queue.Pending {
					continue
				}
				l, err := b.q.Claim(t.Context(), 0)
				require.NoError(t, err)
				if state != queue.Active {
					_, err = l.End(t.Context(), queue.Result{State: state}, nil)
					require.NoError(t, err)
				}
			}
			other := b.enqueue(queue.Draft{Subject: "job", Scope: "local/bert", Key: "other", Priority: 9})
			_, err := st.Commit(t.Context(), queue.Wake("local", mine[queue.Active]))
			require.NoError(t, err)
			before := scan(t, b.a, st)
			var file bytes.Buffer
			require.NoError(t, b.a.Export(t.Context(), scope, &file))
			require.NoError(t, b.a.Erase(t.Context(), scope))
			for state, id := range mine {
				_, err := b.q.Get(t.Context(), id)
				require.ErrorIs(t, err, store.ErrNotFound, state)
				for k := range scan(t, b.a, st) {
					require.NotContains(t, k, id)
				}
			}
			_, err = b.q.Get(t.Context(), other.ID)
			require.Equal(t, scope == "local", err != nil)
			_, err = b.a.Import(t.Context(), &file)
			require.NoError(t, err)
			after := scan(t, b.a, st)
			for k := range lacks(before, after) {
				require.NotContains(t, k, "\x00queue\x00next", "what is pending is found")
				require.NotContains(t, k, "\x00queue\x00job")
				require.NotContains(t, k, "\x00queue\x00cycle")
				require.NotContains(t, k, "\x00queue\x00wake")
				require.NotContains(t, k, "\x00queue\x00ended")
			}
			q, err := queue.Open(t.Context(), st, &queue.Options{Now: b.c.Now, Alone: true})
			require.NoError(t, err)
			for range 2 {
				l, err := q.Claim(t.Context(), 8)
				require.NoError(t, err)
				_, err = l.End(t.Context(), queue.Result{}, nil)
				require.NoError(t, err)
			}
			_, err = q.Claim(t.Context(), 8)
			require.ErrorIs(t, err, queue.ErrEmpty)
			_, added, err := q.Enqueue(t.Context(), queue.Draft{Subject: "job", Key: "key2"})
			require.NoError(t, err)
			require.False(t, added, "the parked one has the key")

			b.c.Add(91 * 24 * time.Hour)
			_, err = b.a.Maintain(t.Context(), "local")
			require.NoError(t, err)
			for j, err := range q.Jobs(t.Context()) {
				require.NoError(t, err)
				require.True(t, j.State == queue.Parked || j.ID == other.ID, "%s %s", j.ID, j.State)
			}
			for c, err := range q.Cycles(t.Context(), time.Time{}) {
				t.Fatal(c, err)
			}
		})
	}
}

// A worker of a task that names no skill gets AGENT.md of the objective's.
func TestSkillsOfAnObjective(t *testing.T) {
	t.Parallel()
	s := &script{decide: func(_ int, b reason.Brief) (reason.Decision, error) {
		return reason.Decision{Approach: "go", Tasks: []reason.Task{{Objective: "do it", Verify: "see"}, {Objective: "rest", Verify: "see", Skill: "rest"}}}, nil
	}}
	h := s.host()
	h.Workers[0].Skills = []string{"work", "rest"}
	h.Skills = loadSkills(t, "Touch nothing else.")
	r := run(t, agent(t, h, nil), arc.Objective{Text: "mend it", Skills: []string{"work", "unknown"}})
	require.Equal(t, arc.Delivered, r.Status)
	require.Equal(t, []string{"work", "unknown"}, s.briefs[0].Manuals)
	require.Equal(t, "Touch nothing else.", s.work[0].Agent)
	require.Empty(t, s.work[1].Agent)
	_, err := agent(t, h, nil).Run(t.Context(), arc.Objective{Text: "x", Skills: []string{"a\x00"}})
	require.ErrorIs(t, err, arc.ErrObjective)
}

// A job whose words were changed after its run had begun does not pass for the run of before.
func TestAJobThatIsRevisedTooLate(t *testing.T) {
	t.Parallel()
	good := false
	b := newBench(t, &script{judge: func(act.Work, act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: good, Complaint: "no"}, nil
	}}, store.NewMem())
	j := b.enqueue(queue.Draft{Subject: "mend the cache"})
	require.Equal(t, queue.Blocked, b.work().State)
	require.NoError(t, b.q.Requeue(t.Context(), j.ID, "try again"))
	require.NoError(t, b.q.Revise(t.Context(), j.ID, queue.Draft{Subject: "drop the cache"}))
	good = true
	j = b.work()
	require.Equal(t, queue.Failed, j.State, j.Summary)
	require.Contains(t, j.Summary, "begun with another text")
	require.NoError(t, b.q.Requeue(t.Context(), j.ID, ""))
	require.NoError(t, b.q.Revise(t.Context(), j.ID, queue.Draft{Subject: "mend the cache"}))
	require.Equal(t, queue.Completed, b.work().State)
}

// One secret has one name, in what a Queue keeps and in what an Agent on its store does.
func TestQueueNamesSecretsAsTheAgentDoes(t *testing.T) {
	t.Parallel()
	const text = "log in with ghp_0123456789abcdefghijklmnopqrstuvwxyz"
	st := store.NewMem()
	q, err := queue.Open(t.Context(), st, nil)
	require.NoError(t, err)
	j, _, err := q.Enqueue(t.Context(), queue.Draft{Subject: text})
	require.NoError(t, err)
	m := agentOn(t, st, (&script{}).host(), &arc.Options{Sanitizer: new(redact.Sanitizer)}).In("").Memory()
	kept, err := m.Remember(t.Context(), memory.Draft{Kind: memory.Fact, Content: text})
	require.NoError(t, err)
	r, err := m.Get(t.Context(), kept.ID)
	require.NoError(t, err)
	require.Contains(t, j.Subject, "REDACTED")
	require.Equal(t, r.Content, j.Subject)
}
