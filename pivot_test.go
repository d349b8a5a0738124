package arc_test

import (
	"context"
	"fmt"
	"slices"
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

// With PivotAuto a run whose session has failed by three approaches at its goal
// asks a human instead of trying a fourth, or is given up where none attends; the
// default does neither.
func TestPivotAutoAsksWhenApproachesRunOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts  arc.Options
		other string // the goal of the last run
		want  arc.Status
		cause arc.Cause
	}{
		"attended":     {arc.Options{Pivot: arc.PivotAuto, Attended: true}, "", arc.Asking, ""},
		"unattended":   {arc.Options{Pivot: arc.PivotAuto}, "", arc.Blocked, arc.CauseStuck},
		"default":      {arc.Options{Attended: true}, "", arc.Blocked, arc.CauseGate},
		"another goal": {arc.Options{Pivot: arc.PivotAuto}, "mend the pool", arc.Blocked, arc.CauseGate},
	} {
		s := &script{judge: fail("still nil")}
		s.decide = func(n int, b reason.Brief) (reason.Decision, error) {
			d := plan(b.Objective)
			d.Approach = fmt.Sprint("approach ", n%3)
			return d, nil
		}
		c.opts.Attempts, c.opts.Learn.Repeats = 1, -1
		a := agent(t, s.host(), &c.opts)
		o := arc.Objective{Text: "mend the cache", Situation: situation, Session: "s"}
		for range 6 {
			require.Equal(t, arc.CauseGate, run(t, a, o).Cause, name)
		}
		if c.other != "" {
			o.Text = c.other
		}
		last := run(t, a, o)
		require.Equal(t, c.want, last.Status, name)
		require.Equal(t, c.cause, last.Cause, name)
		switch {
		case last.Status == arc.Asking:
			require.Contains(t, last.Questions[0], "ask_human: ")
		case last.Cause == arc.CauseStuck:
			require.Contains(t, last.Reason, "ask_human: ")
			require.Zero(t, last.Attempts)
		}
	}
}

// A reasoner that insists on what has failed three times is not followed, with
// any policy: by its name, however it is written, or by its tasks.
func TestWhatKeepsFailingIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts  arc.Options
		name  func(n int) string
		made  int
		want  arc.Status
		cause arc.Cause
	}{
		"by default":   {arc.Options{}, nil, 3, arc.Blocked, arc.CauseStuck},
		"by itself":    {arc.Options{Pivot: arc.PivotAuto}, nil, 3, arc.Blocked, arc.CauseStuck},
		"attended":     {arc.Options{Pivot: arc.PivotAuto, Attended: true}, nil, 3, arc.Asking, ""},
		"renamed":      {arc.Options{}, func(n int) string { return fmt.Sprint("way ", n) }, 3, arc.Blocked, arc.CauseStuck},
		"nameless":     {arc.Options{}, func(int) string { return "" }, 3, arc.Blocked, arc.CauseStuck},
		"two attempts": {arc.Options{Attempts: 2}, nil, 4, arc.Blocked, arc.CauseStuck},
	} {
		refused := ""
		s := &script{judge: fail("still nil")}
		s.decide = func(n int, b reason.Brief) (reason.Decision, error) {
			if b.Complaint != "" {
				refused = b.Complaint
			}
			d := plan(b.Objective)
			d.Approach = []string{"just do it", " Just  do IT."}[n%2]
			if c.name != nil {
				d.Approach = c.name(n)
			}
			return d, nil
		}
		c.opts.Replans = 9
		if c.opts.Attempts == 0 {
			c.opts.Attempts = 1
		}
		r := run(t, agent(t, s.host(), &c.opts), arc.Objective{Text: "mend the cache"})
		require.Equal(t, c.want, r.Status, name)
		require.Equal(t, c.cause, r.Cause, name)
		require.Equal(t, c.made, r.Attempts, name)
		require.Contains(t, refused, "is to be avoided, since it keeps failing", name)
		require.Contains(t, refused, "attempts by it have failed at this goal, the last with: still nil", name)
		require.NotEmpty(t, r.Pivots, name)
	}
}

// An answer, a subgoal that was reached, and a worker that has not tried are
// something new: what has failed may be done once more.
func TestSomethingNewMayBeTried(t *testing.T) {
	t.Parallel()
	s := &script{judge: fail("still nil")}
	a := agent(t, s.host(), &arc.Options{Pivot: arc.PivotAuto, Attended: true})
	o := arc.Objective{ID: "run", Text: "mend the cache"}
	r := run(t, a, o)
	require.Equal(t, []any{arc.Asking, 3}, []any{r.Status, r.Attempts})
	r, err := a.In("").Answer(t.Context(), o.ID, "try again, the disk was full")
	require.NoError(t, err)
	require.Equal(t, []any{arc.Asking, 6}, []any{r.Status, r.Attempts})

	s = &script{judge: func(w act.Work, _ act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: w.Objective == "make room" || len(w.Lineage) > 0, Complaint: "the disk is full"}, nil
	}}
	s.decide = func(n int, b reason.Brief) (reason.Decision, error) {
		if b.Complaint != "" {
			return reason.Decision{Impasse: &reason.Impasse{Kind: "repeated_failure", Reason: b.Complaint, Subgoal: "make room"}}, nil
		}
		return plan(b.Objective), nil
	}
	r = run(t, agent(t, s.host(), &arc.Options{Replans: 1}), arc.Objective{Text: "mend the cache"})
	require.Equal(t, []any{arc.Delivered, 5}, []any{r.Status, r.Attempts}, r.Reason)

	s = &script{judge: fail("still nil")}
	s.decide = func(n int, b reason.Brief) (reason.Decision, error) {
		d := plan(b.Objective)
		d.Tasks[0].Worker = []string{"one", "one", "one", "two"}[min(n, 4)-1]
		return d, nil
	}
	r = run(t, agent(t, s.host("one", "two"), &arc.Options{Attempts: 1, Replans: 9}), arc.Objective{Text: "mend the cache"})
	require.Equal(t, 4, r.Attempts)
	require.Equal(t, arc.CauseStuck, r.Cause)
}

// Runs without a session are sessions of their own: each flags what happened
// inside it, and none is judged by the others.
func TestARunIsItsOwnSession(t *testing.T) {
	t.Parallel()
	s := &script{judge: fail("still nil")}
	a := agent(t, s.host(), &arc.Options{Learn: learn.Options{Repeats: -1}})
	for range 4 {
		r := run(t, a, arc.Objective{Text: "mend the cache", Situation: situation})
		require.Equal(t, []any{arc.Blocked, arc.CauseGate, 3}, []any{r.Status, r.Cause, r.Attempts})
		require.Len(t, r.Pivots, 1)
		require.True(t, r.Assessment.Pivot)
		require.Equal(t, "just do it", r.Assessment.Approach)
		require.Contains(t, r.Pivots[0], "3 attempts of this run failed by the approach \"just do it\"")
	}
	s.judge = nil
	var kinds []arc.EventKind
	for e, err := range a.Events(t.Context(), arc.Objective{Text: "mend the cache", Situation: situation}) {
		require.NoError(t, err)
		kinds = append(kinds, e.Kind)
	}
	require.NotContains(t, kinds, arc.EventAssessed)
	require.NotContains(t, kinds, arc.EventPivot)
	require.Empty(t, s.briefs[4].Avoid)
	require.Equal(t, arc.EventFinished, kinds[len(kinds)-1])
	require.Equal(t, `the last 4 objectives of this situation ended blocked, by the approaches ["just do it"]`, s.briefs[4].Advice)
}

// What the Brief is told of other runs of the scope: how the last ones ended, of
// its situation or else at all, and what delivered. Other scopes say nothing.
func TestTheScopesHistoryIsAdvice(t *testing.T) {
	t.Parallel()
	pass := true
	s := &script{judge: func(act.Work, act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: pass, Complaint: "no"}, nil
	}}
	way := "begin with the test"
	s.decide = func(_ int, b reason.Brief) (reason.Decision, error) {
		d := plan(b.Objective)
		d.Approach = way
		return d, nil
	}
	a := agent(t, s.host(), &arc.Options{Attempts: 1, Learn: learn.Options{FireAfter: -1, Repeats: -1}})
	told := func(o arc.Objective) reason.Brief {
		run(t, a, o)
		return s.briefs[len(s.briefs)-1]
	}
	o := arc.Objective{Text: "mend the cache", Situation: situation}
	require.Empty(t, told(o).Advice)
	pass = false
	for _, way = range []string{"patch it", "rewrite it"} {
		require.Empty(t, told(o).Advice, "one that was blocked is none")
	}
	b := told(o)
	require.Equal(t, `the last 2 objectives of this situation ended blocked, by the approaches ["rewrite it" "patch it"]`, b.Advice)
	require.Equal(t, []string{"begin with the test"}, b.Alternatives)
	b = told(arc.Objective{Text: "paint the wall", Situation: "a wall is grey"})
	require.Equal(t, `the last 3 objectives of this scope ended blocked, by the approaches ["rewrite it" "patch it"]`, b.Advice)
	require.Empty(t, b.Alternatives)
	o.Fresh = true
	require.Empty(t, told(o).Advice)
	o.Fresh, o.Scope = false, "other"
	require.Empty(t, told(o).Advice)
	o.Scope, pass = "", true
	require.Contains(t, told(o).Advice, "the last 4 objectives of this situation")
	require.Empty(t, told(o).Advice, "it was delivered since")
}

// While not all is well, one task at a time is taken: the reasoner is asked for
// the next one after its outcome, and told what its plan had left.
func TestSlowDownIsOneTaskAtATime(t *testing.T) {
	t.Parallel()
	three := []string{"edit", "test", "ship"}
	for name, next := range map[string]func(b reason.Brief) []string{
		"what is left":   func(b reason.Brief) []string { return objectives(b.Rest) },
		"the whole plan": func(reason.Brief) []string { return three },
		"other tasks":    func(reason.Brief) []string { return []string{"test", "ship"} },
	} {
		s := &script{judge: func(w act.Work, _ act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: w.Task.Objective != "break", Complaint: "no"}, nil
		}}
		s.decide = func(_ int, b reason.Brief) (reason.Decision, error) {
			names := three
			if b.Rest != nil {
				names = next(b)
			} else if len(b.Failed) == 0 {
				names = []string{"break", "edit"}
			}
			d := plan("")
			d.Tasks = nil
			for _, name := range names {
				d.Tasks = append(d.Tasks, reason.Task{Objective: name, Verify: "the gate", Skill: "work"})
			}
			return d, nil
		}
		a := agent(t, s.host(), &arc.Options{Attempts: 1, Replans: 1, Budget: arc.Budget{Steps: 100}})
		r := run(t, a, arc.Objective{Text: "mend the cache", Situation: situation})
		require.Equal(t, arc.Delivered, r.Status, name)
		require.Equal(t, []string{"break", "edit", "test", "ship"}, worked(s), name)
		require.Equal(t, 3, r.Deliberations, name)
		require.Contains(t, s.briefs[1].Advice, "One task at a time", name)
		require.Equal(t, []string{"test", "ship"}, objectives(s.briefs[2].Rest), name)
		require.Empty(t, s.briefs[2].Advice, "the first task was delivered: all is well")
		require.Len(t, s.briefs[2].Lineage, 1)
		hits, err := a.In("").Memory().Recall(t.Context(), memory.Query{Text: situation, Kinds: []memory.Kind{memory.Pattern}})
		require.NoError(t, err)
		require.Len(t, hits, 1)
		for _, name := range three {
			require.Contains(t, string(hits[0].Record.Plan), name, "the plan that is learned is whole")
		}
	}
}

func objectives(tasks []reason.Task) (out []string) {
	for i := range tasks {
		out = append(out, tasks[i].Objective)
	}
	return out
}

// A model that follows its advice, and nothing else, delivers what the same model
// without it does not.
func TestAModelHearsItsAdvice(t *testing.T) {
	t.Parallel()
	follows := func(prompt string) string {
		answer := `{"thought": "t", "complexity": "simple", "approach": %q, "tasks": [{"objective": %q, "verify": "go test", "skill": "work"}]}`
		for _, way := range []string{"patch it", "rewrite it"} {
			if !strings.Contains(prompt, "Approaches to avoid") || !strings.Contains(prompt[strings.Index(prompt, "Approaches to avoid"):], "| "+way) {
				return fmt.Sprintf(answer, way, way)
			}
		}
		return fmt.Sprintf(answer, "begin with the test", "begin with the test")
	}
	deaf := func(string) string { return follows("") }
	for want, answers := range map[arc.Status]func(string) string{arc.Delivered: follows, arc.Blocked: deaf} {
		var prompts []string
		llm, err := reason.NewLLM(reason.ModelFunc(func(_ context.Context, r *reason.Request) (*reason.Response, error) {
			prompts = append(prompts, r.Messages[0].Text)
			return &reason.Response{Text: answers(r.Messages[0].Text), Usage: used}, nil
		}), nil)
		require.NoError(t, err)
		s := &script{judge: func(w act.Work, _ act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: w.Task.Objective == "begin with the test", Complaint: "still nil"}, nil
		}}
		h := s.host()
		h.Reasoner = llm
		r := run(t, agent(t, h, &arc.Options{Pivot: arc.PivotAuto}), arc.Objective{Text: "mend the cache"})
		require.Equal(t, want, r.Status, r.Reason)
		if want == arc.Delivered {
			require.Equal(t, 7, r.Attempts)
			require.Equal(t, 3, r.Deliberations)
			continue
		}
		require.Equal(t, arc.CauseStuck, r.Cause)
		require.Equal(t, 3, r.Attempts)
		require.Contains(t, prompts[2], "since it keeps failing: 3 attempts by it have failed at this goal")
	}
}

// With PivotAuto a run goes on to another approach by itself, starts fresh when
// two have failed, and asks when three have.
func TestPivotAutoClimbs(t *testing.T) {
	t.Parallel()
	for _, attended := range []bool{true, false} {
		s := &script{judge: fail("still nil")}
		s.decide = func(n int, b reason.Brief) (reason.Decision, error) {
			d := plan(fmt.Sprint("way ", n))
			d.Approach = d.Tasks[0].Objective
			return d, nil
		}
		a := agent(t, s.host(), &arc.Options{Pivot: arc.PivotAuto, Attended: attended})
		_, err := a.In("").Memory().Remember(t.Context(), memory.Draft{
			Kind: memory.Pattern, Trigger: situation, Content: "make the map before the loop", Source: memory.Source{Origin: memory.Host},
		})
		require.NoError(t, err)
		r := run(t, a, arc.Objective{Text: "mend the cache", Situation: situation})
		require.Equal(t, 8, r.Attempts, "the third approach is not tried a third time in the same way")
		require.Len(t, s.briefs, 3)
		require.Len(t, r.Pivots, 2)
		require.Equal(t, []string{"way 1"}, s.briefs[1].Avoid)
		require.Len(t, s.briefs[1].Failed, 3)
		require.Len(t, s.briefs[1].Memories, 1)
		require.Contains(t, s.briefs[2].Advice, "start_fresh: ")
		require.Equal(t, []string{"way 1", "way 2"}, s.briefs[2].Avoid, "lessons stay")
		require.Empty(t, s.briefs[2].Failed)
		require.Empty(t, s.briefs[2].Memories)
		require.Empty(t, s.work[6].Memories)
		if attended {
			require.Equal(t, arc.Asking, r.Status)
			require.Contains(t, r.Questions[0], "ask_human: ")
			continue
		}
		require.Equal(t, []any{arc.Blocked, arc.CauseStuck}, []any{r.Status, r.Cause})
		hits, err := a.In("").Memory().Recall(t.Context(), memory.Query{Text: situation, Kinds: []memory.Kind{memory.Failure}})
		require.NoError(t, err)
		hits = slices.DeleteFunc(hits, warning)
		require.Len(t, hits, 1, "what is learned tells of all")
	}
}

// An attempt that says nothing about what was decided, such as one that a broken
// gate could not judge, brings no pivot on the strength of those before it.
func TestPivotAutoGoesByWhatWasTried(t *testing.T) {
	t.Parallel()
	n := 0
	s := &script{judge: func(act.Work, act.Result) (act.Verdict, error) {
		if n++; n > 3 {
			return act.Verdict{}, errBoom
		}
		return act.Verdict{Complaint: "still nil"}, nil
	}}
	s.decide = func(n int, b reason.Brief) (reason.Decision, error) {
		d := plan(fmt.Sprint("way ", n))
		d.Approach = d.Tasks[0].Objective
		return d, nil
	}
	r := run(t, agent(t, s.host(), &arc.Options{Pivot: arc.PivotAuto}), arc.Objective{Text: "mend the cache"})
	require.Equal(t, []any{arc.CauseGate, 6, 2}, []any{r.Cause, r.Attempts, r.Deliberations})
}

// While a worker has not tried, or the complaint changes, a plan is not dropped.
func TestPivotAutoLetsAPlanBeDone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		workers  []string
		complain func(n int) string
		made     int
	}{
		"six workers":     {[]string{"a", "b", "c", "d", "e", "f"}, func(int) string { return "no" }, 6},
		"fewer each time": {[]string{"a"}, func(n int) string { return fmt.Sprint(7-n, " tests fail") }, 6},
		"nothing new":     {[]string{"a"}, func(int) string { return "no" }, 3},
	} {
		n := 0
		s := &script{judge: func(act.Work, act.Result) (act.Verdict, error) {
			n++
			return act.Verdict{Pass: n == 6, Complaint: c.complain(n)}, nil
		}}
		s.decide = func(n int, b reason.Brief) (reason.Decision, error) {
			d := plan(fmt.Sprint("way ", n))
			d.Approach = d.Tasks[0].Objective
			return d, nil
		}
		r := run(t, agent(t, s.host(c.workers...), &arc.Options{Pivot: arc.PivotAuto, Attempts: 9}), arc.Objective{Text: "mend the cache"})
		require.Equal(t, arc.Delivered, r.Status, name)
		first := slices.DeleteFunc(worked(s), func(o string) bool { return o != "way 1" })
		require.Len(t, first, c.made, name)
	}
}

// What a run tells of itself is in the advice before anything has failed.
func TestSignsOfARunAreAdvice(t *testing.T) {
	t.Parallel()
	eight := func(_ int, b reason.Brief) (reason.Decision, error) {
		d := plan(b.Objective)
		for range 7 {
			d.Tasks = append(d.Tasks, d.Tasks[0])
		}
		return d, nil
	}
	for want, c := range map[string]struct {
		do     func(n int, w act.Work) (act.Result, error)
		budget arc.Budget
		from   int // the tasks before it is said
	}{
		"": {do: func(n int, _ act.Work) (act.Result, error) { return done(`1`), nil }, budget: arc.Budget{Tokens: 1000}},
		"slow_down: 84 % of the budget of 100 tokens is spent": {do: func(int, act.Work) (act.Result, error) {
			r := done(`1`)
			r.Usage.TokensIn = 12
			return r, nil
		}, budget: arc.Budget{Tokens: 100}, from: 7},
		"slow_down: low_resonance: 3 of the last 5 below 0.70, the lowest 0.55; resonance_degradation: falling over the last 5, from 0.75 to 0.55": {do: func(n int, _ act.Work) (act.Result, error) {
			r := done(`1`)
			r.Reflection.Confidence = max(0, 0.6-0.1*float64(n))
			return r, nil
		}, from: 5},
	} {
		s := &script{decide: eight, do: c.do}
		said, tasks := "", 0
		a := agent(t, s.host(), nil)
		for e, err := range a.Events(t.Context(), arc.Objective{Text: "mend the cache", Budget: c.budget}) {
			require.NoError(t, err)
			switch e.Kind {
			case arc.EventAttempt:
				tasks++
			case arc.EventAssessed:
				require.Empty(t, said, "it is said once")
				said = e.Text
				require.Equal(t, c.from, tasks)
			}
		}
		require.Equal(t, want, said)
		require.Equal(t, 8, tasks)
	}
}

// What has failed in the session blocks a run for an hour at most, however often it is asked for
// meanwhile, and also if the clock was put back since: a run that tries nothing shows nothing.
func TestStuckSessionIsTriedAgain(t *testing.T) {
	t.Parallel()
	for ahead, blocked := range map[time.Duration]int{0: 5, 24 * time.Hour: 0, 365 * 24 * time.Hour: 0} {
		c, mended := newClock(), false
		s := &script{judge: func(act.Work, act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: mended, Complaint: "the disk is full"}, nil
		}}
		s.decide = func(n int, b reason.Brief) (reason.Decision, error) {
			d := plan(fmt.Sprint("way ", n%3))
			d.Approach = d.Tasks[0].Objective
			return d, nil
		}
		a := agent(t, s.host(), &arc.Options{Pivot: arc.PivotAuto, Attempts: 1, Now: c.Now, Learn: learn.Options{Repeats: -1}})
		c.Add(ahead)
		for range 9 {
			run(t, a, arc.Objective{Text: "mend the cache", Session: "s"})
		}
		c.Add(-ahead)
		mended = true
		for range blocked {
			c.Add(10 * time.Minute)
			r := run(t, a, arc.Objective{Text: "mend the cache", Session: "s"})
			require.Equal(t, []any{arc.Blocked, arc.CauseStuck, 0}, []any{r.Status, r.Cause, r.Attempts}, ahead)
		}
		c.Add(11 * time.Minute)
		require.Equal(t, arc.Delivered, run(t, a, arc.Objective{Text: "mend the cache", Session: "s"}).Status, ahead)
	}
}
