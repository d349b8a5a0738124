package arc_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/reason"
)

// The gate wants what the complaint says; the worker learns of it by a complaint,
// or by what its executor is told otherwise.
const (
	semicolon = "the partner's reader needs a semicolon as separator"
	wrongCSV  = `{"sep":","}`
	rightCSV  = `{"sep":";"}`
)

// exporter is a host whose worker makes it right when it was complained to, or
// when told finds in its work that it has to.
func exporter(told func(act.Work) bool) *script {
	return &script{
		do: func(_ int, w act.Work) (act.Result, error) {
			if w.Complaint != "" || told(w) {
				return done(rightCSV), nil
			}
			return done(wrongCSV), nil
		},
		judge: func(_ act.Work, r act.Result) (act.Verdict, error) {
			if string(r.Output) == rightCSV {
				return act.Verdict{Pass: true}, nil
			}
			return act.Verdict{Complaint: semicolon}, nil
		},
	}
}

// attempts runs an export of each table and counts the attempts.
func attempts(t *testing.T, a *arc.Agent, tables ...string) (counts []int) {
	t.Helper()
	for _, table := range tables {
		r := run(t, a, arc.Objective{
			Text: "export " + table, Situation: "a partner wants data", Inputs: json.RawMessage(fmt.Sprintf(`{"table":%q}`, table)),
		})
		require.Equal(t, arc.Delivered, r.Status, "%s", r.Reason)
		counts = append(counts, r.Attempts)
	}
	return counts
}

var tables = []string{"orders", "returns", "customers", "invoices"}

// A worker that reads its warnings makes the mistake of another run no more.
func TestWorkerHeedsWarnings(t *testing.T) {
	t.Parallel()
	s := exporter(func(w act.Work) bool {
		return len(w.Warnings) > 0 && w.Warnings[0].Instead == rightCSV
	})
	a := agent(t, s.host("one", "two"), nil)
	require.Equal(t, []int{2, 1, 1, 1}, attempts(t, a, tables...))
	require.Empty(t, s.work[0].Warnings)
	require.Len(t, s.work[2].Warnings, 1)
	w := s.work[2].Warnings[0]
	require.Equal(t, []string{"work", wrongCSV, semicolon, rightCSV}, []string{w.Skill, w.Refused, w.Why, w.Instead})
	require.Equal(t, 1, w.Times)
	require.Equal(t, `export orders {"table":"orders"}`, w.Task)
	require.NotEmpty(t, w.Worker)
	require.NotEmpty(t, w.By)
	require.False(t, w.Last.IsZero())

	// They have helped, and nothing of it is trusted.
	for _, id := range w.IDs {
		r, err := a.In("").Memory().Get(t.Context(), id)
		require.NoError(t, err)
		require.False(t, r.Trusted)
		require.Equal(t, 3, r.Stats.Helped, "%s", r.Content)
	}
}

// A reasoner that does nothing but pass on what its Brief holds is enough.
func TestReasonerPassesWarningsOn(t *testing.T) {
	t.Parallel()
	s := exporter(func(w act.Work) bool { return strings.Contains(string(w.Task.Inputs), `;`) })
	s.decide = func(_ int, b reason.Brief) (reason.Decision, error) {
		d := plan(b.Objective)
		raw, err := json.Marshal(b.Warnings)
		if err != nil {
			return d, err
		}
		d.Tasks[0].Inputs = raw
		return d, nil
	}
	a := agent(t, s.host(), nil)
	require.Equal(t, []int{2, 1, 1, 1}, attempts(t, a, tables...))
}

// obedient is a model that does what its prompt says, as far as it is about what
// passed instead.
func obedient(_ context.Context, req *reason.Request) (*reason.Response, error) {
	task := map[string]any{"objective": "export", "verify": "the reader", "skill": "work"}
	_, warnings, ok := strings.Cut(req.Messages[0].Text, "<<<warnings-")
	if _, instead, found := strings.Cut(warnings, "passed instead:\n| "); ok && found {
		line, _, _ := strings.Cut(instead, "\n")
		task["inputs"] = map[string]string{"like": line}
	}
	raw, err := json.Marshal(map[string]any{
		"thought": "as warned", "complexity": "simple", "approach": "export it", "tasks": []any{task}, "applied": []string{},
	})
	return &reason.Response{Text: string(raw)}, err
}

func TestModelObeysWarnings(t *testing.T) {
	t.Parallel()
	model, err := reason.NewLLM(reason.ModelFunc(obedient), nil)
	require.NoError(t, err)
	s := exporter(func(w act.Work) bool { return strings.Contains(string(w.Task.Inputs), `;`) })
	host := s.host()
	host.Reasoner = model
	a := agent(t, host, nil)
	require.Equal(t, []int{2, 1, 1, 1}, attempts(t, a, tables...))
}

// story is a complaint that was overcome, told by somebody who had not seen the
// code: see testdata/complaints.md.
type story struct {
	ID, Objective, Situation, Skill, Worker string
	Inputs                                  json.RawMessage
	Wrong                                   struct {
		Output    json.RawMessage
		Complaint string
	}
	Right struct{ Output json.RawMessage }
	Again struct {
		Objective string
		Inputs    json.RawMessage
	}
	Other struct{ Objective, Situation, Skill string }
}

func complaints(t *testing.T) (out []story) {
	t.Helper()
	f, err := os.Open("testdata/complaints.jsonl")
	require.NoError(t, err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var s story
		require.NoError(t, json.Unmarshal(lines.Bytes(), &s))
		out = append(out, s)
	}
	return out
}

// Each story's mistake is warned of where it would be made again, and nowhere else.
func TestStories(t *testing.T) {
	t.Parallel()
	all := complaints(t)
	require.Len(t, all, 40)
	attempts := 0
	for _, c := range all {
		warned := func(ws []reason.Warning) bool {
			return len(ws) == 1 && ws[0].Why == c.Wrong.Complaint && ws[0].Instead == compactJSON(t, c.Right.Output)
		}
		s := &script{
			decide: func(_ int, b reason.Brief) (reason.Decision, error) {
				d := plan(b.Objective)
				d.Tasks[0].Skill = c.Skill
				if b.Situation != c.Situation {
					d.Tasks[0].Skill = c.Other.Skill
				}
				return d, nil
			},
			do: func(_ int, w act.Work) (act.Result, error) {
				if w.Complaint != "" || warned(w.Warnings) {
					return done(string(c.Right.Output)), nil
				}
				return done(string(c.Wrong.Output)), nil
			},
			judge: func(w act.Work, r act.Result) (act.Verdict, error) {
				if w.Situation == c.Situation && string(r.Output) == string(c.Wrong.Output) {
					return act.Verdict{Complaint: c.Wrong.Complaint}, nil
				}
				return act.Verdict{Pass: true}, nil
			},
		}
		host := s.host(c.Worker)
		host.Workers[0].Skills = []string{c.Skill, c.Other.Skill}
		a := agent(t, host, nil)
		r := run(t, a, arc.Objective{Text: c.Objective, Situation: c.Situation, Inputs: c.Inputs})
		require.Equal(t, 2, r.Attempts, c.ID)
		r = run(t, a, arc.Objective{Text: c.Again.Objective, Situation: c.Situation, Inputs: c.Again.Inputs})
		attempts += r.Attempts
		require.True(t, warned(s.work[2].Warnings), "%s: %+v", c.ID, s.work[2].Warnings)
		require.True(t, warned(s.briefs[1].Warnings), "%s: %+v", c.ID, s.briefs[1].Warnings)
		run(t, a, arc.Objective{Text: c.Other.Objective, Situation: c.Other.Situation})
		last := len(s.work) - 1
		require.Empty(t, s.work[last].Warnings, c.ID)
		require.Empty(t, s.briefs[len(s.briefs)-1].Warnings, c.ID)
	}
	require.Equal(t, len(all), attempts, "at first try")
}

func compactJSON(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, json.Compact(&b, raw))
	return b.String()
}

// hopeless is a host whose worker one always fails, and clock a clock to turn.
func hopeless(t *testing.T, opts *arc.Options, workers ...string) (s *script, a *arc.Agent, now *clock) {
	t.Helper()
	now = newClock()
	opts.Now = now.Now
	s = &script{judge: func(w act.Work, r act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: string(r.Output) == `"two"`, Complaint: "still broken"}, nil
	}}
	s.do = func(_ int, w act.Work) (act.Result, error) { return done(fmt.Sprintf("%q", w.Task.Worker)), nil }
	return s, agent(t, s.host(workers...), opts), now
}

// What has failed three times is not begun again: the run says so, and no worker
// is called or charged. It is tried again once it has rested, and rests longer
// when it fails again.
func TestKnownFailureIsNotRepeated(t *testing.T) {
	t.Parallel()
	s, a, now := hopeless(t, &arc.Options{})
	o := arc.Objective{Text: "mend the cache", Situation: situation, Inputs: json.RawMessage(`{"a": 1, "b": 2}`)}
	require.Equal(t, 3, run(t, a, o).Attempts)
	ranked, err := a.In("").Rank(t.Context(), situation, reason.Task{Skill: "work"})
	require.NoError(t, err)

	again := o
	again.Text, again.Inputs = "mend  the cache ", json.RawMessage(`{"b":2, "a":1}`)
	r := run(t, a, again)
	require.Equal(t, arc.Blocked, r.Status)
	require.Zero(t, r.Attempts)
	require.Equal(t, arc.CauseStuck, r.Cause)
	require.Contains(t, r.Reason, "worker has failed at this 3 times with the same arguments")
	require.Contains(t, r.Reason, "still broken")
	require.Len(t, s.work, 3)
	require.Len(t, s.briefs, 4, "the reasoner was asked for something else")
	require.Contains(t, s.briefs[3].Complaint, "still broken")
	same, err := a.In("").Rank(t.Context(), situation, reason.Task{Skill: "work"})
	require.NoError(t, err)
	require.Equal(t, ranked, same, "it is no failure of the worker")

	other := o
	other.Inputs = json.RawMessage(`{"a":1,"b":3}`)
	require.Equal(t, 3, run(t, a, other).Attempts, "other arguments are something new")
	other.Inputs, other.Situation = o.Inputs, "a mutex is held for ever"
	require.Equal(t, 3, run(t, a, other).Attempts, "as is another situation")
	other = o
	other.Conditions = map[string]string{"branch": "main"}
	require.Equal(t, 3, run(t, a, other).Attempts, "and another condition")
	other = o
	other.Fresh = true
	require.Equal(t, 3, run(t, a, other).Attempts, "a fresh run goes by nothing that is known")

	now.Add(81 * time.Minute) // 10, 20, 40 and 80 for six failures
	require.Equal(t, 3, run(t, a, o).Attempts, "it has rested")
	now.Add(3 * time.Hour)
	require.Zero(t, run(t, a, o).Attempts, "it rests longer now")
}

// The refusal goes to the next worker, which may do it.
func TestAnotherWorkerTakesOver(t *testing.T) {
	t.Parallel()
	s, a, _ := hopeless(t, &arc.Options{Learn: learn.Options{Repeats: 1, FireAfter: -1}}, "one", "two")
	s.decide = func(_ int, b reason.Brief) (reason.Decision, error) {
		d := plan(b.Objective)
		d.Tasks[0].Worker = "one"
		return d, nil
	}
	o := arc.Objective{Text: "mend the cache", Situation: situation, Attempts: 1}
	require.Equal(t, arc.Blocked, run(t, a, o).Status)
	r := run(t, a, o)
	require.Equal(t, arc.Delivered, r.Status, r.Reason)
	require.Equal(t, []string{"one", "two"}, []string{s.work[0].Task.Worker, s.work[1].Task.Worker})
	require.Equal(t, 1, r.Attempts)
}

// A plan that the host has made, and one of a chunk, end as they do where a task
// is BLOCKED.
func TestRefusalOfGivenPlans(t *testing.T) {
	t.Parallel()
	s, a, _ := hopeless(t, &arc.Options{})
	o := arc.Objective{Text: "mend the cache", Situation: situation, Tasks: plan("mend the cache").Tasks}
	require.Equal(t, 3, run(t, a, o).Attempts)
	r := run(t, a, o)
	require.Equal(t, []any{arc.Blocked, arc.CauseStuck, 0}, []any{r.Status, r.Cause, r.Attempts})
	require.Empty(t, s.briefs)

	s, a, _ = hopeless(t, &arc.Options{Learn: learn.Options{Repeats: -1}})
	require.Equal(t, 3, run(t, a, o).Attempts)
	require.Equal(t, 3, run(t, a, o).Attempts, "there is no bound")
	require.Len(t, s.work, 6)
}

// A task that succeeds and changes something is reason to try again, as is a
// lesson that was overcome meanwhile.
func TestSomethingNewEndsTheRest(t *testing.T) {
	t.Parallel()
	for name, something := range map[string]func(*script, *arc.Agent){
		"a change": func(s *script, a *arc.Agent) {
			s.do = func(int, act.Work) (act.Result, error) {
				r := done(`"two"`)
				r.Deltas = []act.Delta{{Domain: "disk", Path: "free", Value: json.RawMessage("1")}}
				return r, nil
			}
			require.Equal(t, 1, run(t, a, arc.Objective{Text: "clean the disk", Situation: "the disk is full"}).Attempts)
		},
		"a lesson": func(s *script, a *arc.Agent) {
			s.do = func(_ int, w act.Work) (act.Result, error) {
				if w.Attempt == 2 {
					return done(`"two"`), nil
				}
				return done(`"one"`), nil
			}
			require.Equal(t, 2, run(t, a, arc.Objective{Text: "mend the pool", Situation: situation}).Attempts)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, a, now := hopeless(t, &arc.Options{Learn: learn.Options{FireAfter: -1}})
			o := arc.Objective{Text: "mend the cache", Situation: situation}
			require.Equal(t, 3, run(t, a, o).Attempts)
			require.Zero(t, run(t, a, o).Attempts)
			now.Add(time.Second)
			do := s.do
			something(s, a)
			s.do = do
			now.Add(time.Second)
			require.Equal(t, 3, run(t, a, o).Attempts)
			require.Zero(t, run(t, a, o).Attempts)
		})
	}
}

// A service that is busy says nothing of the action.
func TestBusyIsNoFailure(t *testing.T) {
	t.Parallel()
	s, a, _ := hopeless(t, &arc.Options{})
	for _, text := range []string{"HTTP 503", "status code: 429", "429 Too Many Requests", "connection refused"} {
		s.do = func(int, act.Work) (act.Result, error) { return act.Result{}, errors.New(text) }
		require.Equal(t, 3, run(t, a, arc.Objective{Text: "mend the cache", Situation: situation}).Attempts, text)
	}
	require.Empty(t, s.work[11].Warnings)
}

// A warning that does not help fades.
func TestWarningFades(t *testing.T) {
	t.Parallel()
	s := exporter(func(act.Work) bool { return false }) // it does not read them
	a := agent(t, s.host(), &arc.Options{Learn: learn.Options{FireAfter: -1}})
	require.Equal(t, []int{2, 2, 2, 2, 2}, attempts(t, a, append(tables, "parts")...))
	var shown []int
	for _, w := range s.work {
		if w.Attempt == 1 {
			shown = append(shown, len(w.Warnings))
		}
	}
	require.Equal(t, []int{0, 1, 1, 1, 0}, shown)
}

// A run that fails again and again charges a warning once: others are still warned.
func TestFailureNeverOvercomeWarns(t *testing.T) {
	t.Parallel()
	s, a, _ := hopeless(t, &arc.Options{})
	for i := range 2 {
		require.Equal(t, arc.Blocked, run(t, a, arc.Objective{Text: fmt.Sprint("mend cache ", i), Situation: situation}).Status)
	}
	last := s.work[5].Warnings
	require.Len(t, last, 1)
	require.Equal(t, []any{5, "still broken", ""}, []any{last[0].Times, last[0].Why, last[0].Instead})
}

// What is forgotten or revoked is no longer warned of.
func TestForgottenFailureIsUnknown(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(memory.Space, *arc.Report){
		"forget": func(m memory.Space, _ *arc.Report) {
			for r, err := range m.All(t.Context()) {
				require.NoError(t, err)
				require.NoError(t, m.Forget(t.Context(), r.ID))
			}
		},
		"revoke the run": func(m memory.Space, r *arc.Report) {
			_, err := m.Revoke(t.Context(), memory.Source{Run: r.ID})
			require.NoError(t, err)
		},
		"revoke executors": func(m memory.Space, _ *arc.Report) {
			_, err := m.Revoke(t.Context(), memory.Source{Origin: memory.Executor})
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := exporter(func(act.Work) bool { return false })
			a := agent(t, s.host(), &arc.Options{Learn: learn.Options{FireAfter: -1}})
			o := arc.Objective{Text: "export orders", Situation: "a partner wants data"}
			r := run(t, a, o)
			forget(a.In("").Memory(), r)
			run(t, a, o)
			require.Empty(t, s.work[2].Warnings)
		})
	}
}

// warning reports whether a hit is what an executor and a gate said of an attempt.
func warning(h memory.Hit) bool { return h.Record.Source.Origin == memory.Executor }

// A short objective teaches as a long one does, in each script: what failed is a failure to avoid, and
// is warned of in the next run.
func TestShortObjectivesTeach(t *testing.T) {
	for _, text := range []string{"fix it", "перезапуск", "сбой", "重启支付网关", "決済を再起動", "결제 재시작", "เริ่มใหม่"} {
		var warned []reason.Warning
		s := exporter(func(w act.Work) bool { warned = w.Warnings; return false })
		s.judge = fail(semicolon)
		a := agent(t, s.host("exporter"), &arc.Options{Attempts: 1})
		r := run(t, a, arc.Objective{Text: text})
		require.Equal(t, arc.Blocked, r.Status)
		require.Len(t, r.Learned, 1, text)
		require.Empty(t, warned)
		run(t, a, arc.Objective{Text: text})
		require.Len(t, warned, 1, text)
	}
}
