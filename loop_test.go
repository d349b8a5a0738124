package arc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/act/tools"
	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/learn"
	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/reason/reasontest"
	"github.com/arc-learn/arc/store"
)

// agent is an Agent over a store, and what its runs tell: a line an event.
func agent(t *testing.T, st store.Store, h arc.Host, o *arc.Options) (*arc.Agent, *[]string) {
	t.Helper()
	if st == nil {
		st = store.NewMem()
	}
	opts := arc.Options{Seed: 1}
	if o != nil {
		opts = *o
	}
	story := &[]string{}
	opts.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	var mu sync.Mutex
	opts.OnEvent = func(_ memory.Scope, _ string, e arc.Event) {
		mu.Lock()
		defer mu.Unlock()
		*story = append(*story, told(e))
	}
	a, err := arc.New(t.Context(), st, h, &opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a, story
}

// told is an event of a story.
func told(e arc.Event) string {
	return strings.TrimSuffix(strings.TrimSpace(e.Kind+" "+e.Name)+": "+e.Text, ": ")
}

// journal is the story of a run as it is kept: OnEvent may be told of a run that goes on by itself after Wait.
func journal(t *testing.T, a *arc.Agent, id string) (story []string) {
	for e, err := range a.In("").Journal(t.Context(), id) {
		require.NoError(t, err)
		story = append(story, told(e))
	}
	return story
}

// planned is a reasoner that answers with these decisions, and the last one again and again.
func planned(ds ...*reason.Decision) *arctest.Reasoner {
	n := 0
	return &arctest.Reasoner{Decision: func(*reason.Brief) (*reason.Decision, error) {
		n++
		return ds[min(n, len(ds))-1], nil
	}}
}

func task(text, skill string) reason.Task { return reason.Task{Objective: text, Skill: skill} }

func run(t *testing.T, a *arc.Agent, o arc.Objective) *arc.Report {
	t.Helper()
	r, err := a.Run(t.Context(), o)
	require.NoError(t, err)
	return r
}

// Where attempts run short, who has not tried comes before a second try of who comes after the first worker.
func TestAttemptsReachAll(t *testing.T) {
	for attempts, want := range map[int]string{0: "ann ann bo cy", 3: "ann ann bo", 6: "ann ann bo bo cy cy"} {
		h := arc.Host{}
		for _, name := range []string{"ann", "bo", "cy"} {
			h.Workers = append(h.Workers, (&arctest.Worker{Turns: []arctest.Turn{{Refuse: "no"}, {Refuse: "no"}}}).As(name))
		}
		a, _ := agent(t, nil, h, &arc.Options{Attempts: attempts, Policy: inOrder{}})
		var tried []string
		for _, f := range run(t, a, arc.Objective{Text: "write"}).Failed {
			tried = append(tried, f.Worker)
		}
		require.Equal(t, want, strings.Join(tried, " "))
	}
}

// inOrder is a policy that takes workers as they are given.
type inOrder struct{}

func (inOrder) Score(_ context.Context, _ rank.Task, cs []rank.Candidate) (all []rank.Scored, _ error) {
	for _, c := range cs {
		all = append(all, rank.Scored{Candidate: c})
	}
	return all, nil
}

// Without a worth a cent is next to nothing beside a success; with one the cheaper of two that can is tried.
func TestWorth(t *testing.T) {
	deliver := act.ExecutorFunc(func(context.Context, *act.Call) (*act.Result, error) { return &act.Result{}, nil })
	h := arc.Host{Workers: []act.Worker{
		{Name: "dear", Price: .08, Executor: deliver, Gates: []act.Gate{act.NoGate}},
		{Name: "cheap", Price: .001, Executor: deliver, Gates: []act.Gate{act.NoGate}},
	}}
	dear := func(worth float64) int {
		a, story := agent(t, nil, h, &arc.Options{Seed: 1, Worth: worth})
		for i := range 20 {
			run(t, a, arc.Objective{Text: fmt.Sprint("write ", i)})
		}
		return strings.Count(strings.Join(*story, "\n"), "attempt dear")
	}
	require.Greater(t, dear(0), 5)
	require.Less(t, dear(.5), 2)
	for i := range h.Workers { // nor who costs more than the task is worth, where attempts run short
		h.Workers[i].Price, h.Workers[i].Executor = []float64{5, .001}[i], act.ExecutorFunc(
			func(context.Context, *act.Call) (*act.Result, error) { return nil, errors.New("no") })
	}
	h.Workers = append(h.Workers, h.Workers[1])
	h.Workers[2].Name = "fair"
	a, story := agent(t, nil, h, &arc.Options{Seed: 1, Worth: .5})
	require.Equal(t, 4, run(t, a, arc.Objective{Text: "write"}).Attempts)
	require.NotContains(t, *story, "attempt dear: write")
	for _, none := range []float64{-1, math.NaN(), math.Inf(1)} {
		_, err := arc.New(t.Context(), store.NewMem(), h, &arc.Options{Worth: none})
		require.ErrorContains(t, err, "Worth")
	}
}

// What cannot work is refused when it is opened, with a word on what to do, and not by each run.
func TestOpenRefuses(t *testing.T) {
	var none *noStore
	for want, c := range map[string]struct {
		st store.Store
		o  arc.Options
	}{
		"no store: store.NewMem()":          {},
		"no store: store.NewMem() keeps":    {st: none},
		"store.Sub is a part of a store":    {st: store.Sub(store.NewMem(), "t/acme/")},
		"learn: a holdout of 1.5 is not in": {store.NewMem(), arc.Options{Learn: learn.Options{Holdout: 1.5}}},
		"Options.Attempts is -1":            {store.NewMem(), arc.Options{Attempts: -1}},
		"Options.Retention is -1ns":         {store.NewMem(), arc.Options{Retention: -1}},
		"Options.Patience is -1ns":          {store.NewMem(), arc.Options{Patience: -1}},
		"Options.ApprovalTimeout is -1ns":   {store.NewMem(), arc.Options{ApprovalTimeout: -1}},
		"Options.Timeout is -1ns":           {store.NewMem(), arc.Options{Timeout: -1}},
		"Options.OnStuck is give up":        {store.NewMem(), arc.Options{OnStuck: "give up"}},
		"Options.Process is a/b":            {store.NewMem(), arc.Options{Process: "a/b"}},
	} {
		_, err := arc.New(t.Context(), c.st, arc.Host{}, &c.o)
		require.ErrorContains(t, err, "arc: "+want)
	}
	_, err := arc.Open(t.Context(), "", arc.Host{}, nil)
	require.ErrorContains(t, err, "no directory; store.NewMem()")
	_, err = learn.New(t.Context(), store.Sub(store.NewMem(), "t/acme/"), nil)
	require.ErrorContains(t, err, "learn: no store, or store.Sub")
	_, err = rank.Open(t.Context(), store.NewGroup(none), nil, 0, nil)
	require.ErrorContains(t, err, "no store")
	_, err = rank.Open(t.Context(), nil, nil, 0, nil)
	require.ErrorContains(t, err, "no store")
	a, _ := agent(t, nil, arc.Host{}, nil)
	for _, call := range []func(arc.View) error{
		func(v arc.View) error { _, err := v.Report(t.Context(), "7"); return err },
		func(v arc.View) error { _, err := v.Resume(t.Context(), "7"); return err },
	} {
		require.ErrorIs(t, call(a.In("")), store.ErrNotFound)
		require.ErrorContains(t, call(a.In("")), `no run "7" in the scope "_"`)
		require.ErrorContains(t, call(a.In("acme/anna")), `no run "7" in the scope "acme/anna"`)
	}
}

type noStore struct{ store.Store }

// A person changes and retires a plan of an agent that is open.
func TestEdit(t *testing.T) {
	r := &arctest.Reasoner{Decision: fixed}
	a, _ := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{
		(&arctest.Worker{}).As("bank", "pay"), (&arctest.Worker{}).As("mail", "write"),
	}}, nil)
	v, o := a.In("acme"), arc.Objective{Scope: "acme", Text: "Refund the order."}
	fired := func(n int) int {
		o.Inputs = order(n)
		return run(t, a, o).Fired
	}
	require.Equal(t, []int{0, 0, 1}, []int{fired(0), fired(1), fired(2)})
	known, err := v.Known(t.Context())
	require.NoError(t, err)
	plan := known.Suggestions[0]
	for _, plan.Retired = range []bool{true, false} {
		changed, err := v.Edit(t.Context(), plan)
		require.NoError(t, err)
		require.True(t, changed)
		require.Equal(t, plan.Retired, fired(3) == 0)
	}
	was := slices.Clone(plan.Calls)
	plan.Calls = []reason.PlanCall{{
		Name: "pay", Inputs: json.RawMessage(`{"order":"{order}","token":"` + token + `"}`),
	}}
	changed, err := v.Edit(t.Context(), plan)
	require.NoError(t, err)
	require.True(t, changed)
	require.Contains(t, string(plan.Calls[0].Inputs), token, "what the caller has is not changed")
	require.NotEqual(t, was, plan.Calls)
	require.Zero(t, fired(4))
	known, err = v.Known(t.Context())
	require.NoError(t, err)
	var in []string
	for _, s := range known.Suggestions {
		for _, c := range s.Calls {
			in = append(in, string(c.Inputs))
		}
	}
	require.NotContains(t, strings.Join(in, " "), "ghp_")
	require.Contains(t, strings.Join(in, " "), "redacted")
	_, err = v.Edit(t.Context(), reason.Suggestion{Plan: reason.Plan{ID: "a/b"}, Retired: true})
	require.ErrorIs(t, err, store.ErrNotFound)
}

func TestTranscripts(t *testing.T) {
	for _, c := range []struct {
		name   string
		host   func() arc.Host
		status arc.Status
		cause  arc.Cause
		text   string
		story  string
	}{
		{
			"delivered at once", func() arc.Host {
				return arc.Host{
					Reasoner: planned(arctest.Tasks("direct", task("write it", "write"))),
					Workers:  []act.Worker{(&arctest.Worker{Turns: []arctest.Turn{{Text: "here it is"}}}).As("ann", "write")},
				}
			}, arc.Delivered, "", "here it is", `
				begun: write a letter
				decided direct: write it
				attempt ann: write it
				passed ann: here it is
				delivered`,
		},
		{
			"the objective is the one task", func() arc.Host {
				return arc.Host{Workers: []act.Worker{(&arctest.Worker{}).As("ann")}}
			}, arc.Delivered, "", "done", `
				begun: write a letter
				attempt ann: write a letter
				passed ann: done
				delivered`,
		},
		{
			"refined with the complaint", func() arc.Host {
				w := &arctest.Worker{Turns: []arctest.Turn{{Text: "no", Refuse: "too short"}, {Text: "a longer one"}}}
				return arc.Host{Workers: []act.Worker{w.As("ann")}}
			}, arc.Delivered, "", "a longer one", `
				begun: write a letter
				attempt ann: write a letter
				failed ann: too short
				attempt ann: write a letter
				passed ann: a longer one
				delivered`,
		},
		{
			"another worker, then another plan, then blocked", func() arc.Host {
				bad := []arctest.Turn{{Refuse: "wrong"}}
				return arc.Host{
					Reasoner: planned(arctest.Tasks("first", reason.Task{Objective: "write it", Worker: "ann"}), arctest.Tasks("second", task("copy it", "copy"))),
					Workers: []act.Worker{
						(&arctest.Worker{Turns: bad}).As("ann"), (&arctest.Worker{Turns: bad}).As("ben"),
						(&arctest.Worker{Turns: []arctest.Turn{{Err: &reason.Error{Class: reason.Permission, Err: errors.New("not yours")}}}}).As("cat", "copy"),
					},
				}
			}, arc.Blocked, arc.Refused, "permission: not yours", `
				begun: write a letter
				decided first: write it
				attempt ann: write it
				failed ann: wrong
				attempt ann: write it
				failed ann: wrong
				attempt ben: write it
				failed ben: wrong
				attempt ben: write it
				failed ben: wrong
				decided second: copy it
				attempt cat: copy it
				failed cat: permission: not yours
				refused: the plan "second" has failed in this run: it is not taken again
				blocked refused: permission: not yours`,
		},
		{
			"asks where there is no way on", func() arc.Host {
				return arc.Host{
					Reasoner: planned(&reason.Decision{Questions: []string{"To whom?"}}),
					Workers:  []act.Worker{(&arctest.Worker{}).As("ann")},
				}
			}, arc.Asking, "", "To whom?", `
				begun: write a letter
				asking: To whom?`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, story := agent(t, nil, c.host(), nil)
			r := run(t, a, arc.Objective{Text: "write a letter"})
			for _, l := range *story {
				t.Log(l)
			}
			require.Equal(t, c.status, r.Status, r.Text)
			require.Equal(t, c.cause, r.Cause)
			require.Equal(t, c.text, r.Text)
			require.Equal(t, strings.Fields(c.story), strings.Fields(strings.Join(*story, "\n")))
		})
	}
}

// fixed has a reasoner that plans a refund by the inputs: pay, then write.
func fixed(b *reason.Brief) (*reason.Decision, error) {
	return arctest.Tasks("by the book",
		reason.Task{Objective: "Pay it back.", Skill: "pay", Inputs: b.Inputs},
		reason.Task{Objective: "Write to the customer.", Skill: "write", Inputs: b.Inputs}), nil
}

func order(n int) json.RawMessage { return fmt.Appendf(nil, `{"order":"SO-%d"}`, 1000+n) }

func TestAnswer(t *testing.T) {
	asks := &act.PendingError{Questions: []string{"Which account?"}}
	pay := &arctest.Worker{Turns: []arctest.Turn{{Err: asks}, {Text: "paid"}}}
	r := planned(&reason.Decision{Questions: []string{"Who pays?"}}, arctest.Tasks("", task("pay", "pay")))
	a, _ := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{pay.As("bank", "pay")}}, nil)
	v := a.In("")
	got := run(t, a, arc.Objective{ID: "7", Text: "pay the bill"})
	require.Equal(t, "Who pays?", got.Text)
	first := got.Question
	got, err := v.Answer(t.Context(), "7", first, "Anna does")
	require.NoError(t, err)
	require.Equal(t, arc.Asking, got.Status)
	_, err = v.Answer(t.Context(), "7", first, "Anna does")
	require.ErrorIs(t, err, arc.ErrState, "a second click answers no other question")
	require.Equal(t, "Which account?", got.Text)
	require.Equal(t, []reason.Answer{{Question: "Who pays?", Text: "Anna does"}}, r.Briefs()[1].Answers)
	got, err = v.Answer(t.Context(), "7", "", "the second one")
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, got.Status)
	require.Equal(t, 1, got.Attempts, "a question spends no attempt")
	require.Equal(t, "the second one", pay.Calls()[1].Answers[1].Text)
	_, err = v.Answer(t.Context(), "7", "", "again")
	require.ErrorIs(t, err, arc.ErrState)
}

// answering is a reasoner that answers workers, too: "" is that it does not know.
type answering struct {
	*arctest.Reasoner
	answers []string
	then    func() // nil: nothing
}

func (r *answering) Answer(context.Context, *reason.Brief, []string) (string, *reason.Usage, error) {
	if len(r.answers) == 0 {
		return "", nil, errors.New("no answer")
	}
	answer := r.answers[0]
	r.answers = r.answers[1:]
	if r.then != nil {
		r.then()
	}
	return answer, &reason.Usage{Calls: 1}, nil
}

// A deploy takes the reasoner away, and the worker: the run says who is missing, and goes on when that worker is back.
func TestDeployTakesPartsAway(t *testing.T) {
	pay := &arctest.Worker{Turns: []arctest.Turn{{Text: "paid"}}}
	st := store.NewMem()
	asks := planned(&reason.Decision{Questions: []string{"To whom?"}})
	a, _ := agent(t, st, arc.Host{Reasoner: asks, Workers: []act.Worker{pay.As("pay")}}, nil)
	r, err := a.Run(t.Context(), arc.Objective{ID: "r", Text: "pay"})
	require.NoError(t, err)
	require.Equal(t, arc.Asking, r.Status)
	require.NoError(t, a.Close())

	a, _ = agent(t, st, arc.Host{Workers: []act.Worker{pay.As("other", "mail")}}, nil)
	r, err = a.In("").Answer(t.Context(), "r", "", "Ann")
	require.NoError(t, err)
	require.Equal(t, arc.NoWorker, r.Cause, r.Text)
	require.Contains(t, r.Text, `"pay"`)
	require.NoError(t, a.SetWorkers([]act.Worker{pay.As("pay")}))
	r, err = a.In("").Retry(t.Context(), "r", "")
	require.NoError(t, err)
	require.Equal(t, "paid", r.Text)

	given := arc.Objective{Text: "x", Tasks: []reason.Task{{Objective: "x", Worker: "gone"}}}
	r, err = a.Run(t.Context(), given)
	require.NoError(t, err)
	require.Contains(t, r.Text, `worker "gone"`)
}

// A decision whose tasks, or those of an alternative, no worker takes is refused with the reason, whoever has
// decided: no attempt is spent. A task of the host is blocked for it.
func TestInputsThatNobodyTakes(t *testing.T) {
	pay := (&arctest.Worker{Turns: []arctest.Turn{{Text: "paid"}}}).As("bank", "pay")
	pay.Input = json.RawMessage(`{"type":"object","properties":{"amount":{"type":"number"}}}`)
	wrong, right := task("pay it", "pay"), task("pay it", "pay")
	wrong.Inputs, right.Inputs = json.RawMessage(`{"amount":"five"}`), json.RawMessage(`{"amount":5}`)
	ghost, unskilled := right, task("pay it", "pay")
	ghost.Worker, unskilled.Worker = "gone", "clerk"
	clerk := (&arctest.Worker{}).As("clerk")
	for _, first := range []*reason.Decision{arctest.Tasks("", wrong), arctest.Tasks("", task("pay it", "cry")), arctest.Tasks("", ghost), arctest.Tasks("", unskilled), {
		Alternatives: []reason.Decision{*arctest.Tasks("a", right), *arctest.Tasks("b", wrong)},
		Preferences:  []reason.Preference{{Approach: "a", Is: "best"}},
	}} {
		r := planned(first, arctest.Tasks("", right))
		a, story := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{pay, clerk}}, nil)
		require.Equal(t, 1, run(t, a, arc.Objective{Text: "pay"}).Attempts)
		refused := slices.DeleteFunc(slices.Clone(*story), func(e string) bool { return !strings.HasPrefix(e, "refused") })
		require.Len(t, refused, 1)
		require.Contains(t, refused[0], `"pay it"`)
	}
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{pay}}, nil)
	r := run(t, a, arc.Objective{Text: "pay", Tasks: []reason.Task{wrong}})
	require.Equal(t, []any{arc.NoWorker, 0}, []any{r.Cause, r.Attempts})
	require.Contains(t, r.Text, "'/amount': got string, want number")
}

// A planner is told who there is, where it names a worker that is not there: nobody else does that task unseen.
// A plan that is under way goes on with another worker when a deploy removes the one that it names.
func TestWorkerThatAPlanNames(t *testing.T) {
	clerk := (&arctest.Worker{Turns: []arctest.Turn{{Text: "done by clerk"}}}).As("clerk")
	named := arctest.Tasks("", reason.Task{Objective: "draft"}, reason.Task{Objective: "check", Worker: "checker"})
	r := planned(named, named, named)
	a, _ := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{clerk}}, nil)
	got := run(t, a, arc.Objective{Text: "letter"})
	require.Equal(t, []any{arc.NoDecision, 0}, []any{got.Cause, got.Attempts})
	require.Contains(t, r.Briefs()[1].Complaint, `the worker "checker" is none of ["clerk"]`)

	var b *arc.Agent
	author := act.Worker{Name: "author", Gates: []act.Gate{act.NoGate}}
	author.Executor = act.ExecutorFunc(func(context.Context, *act.Call) (*act.Result, error) {
		return &act.Result{Text: "drafted"}, b.SetWorkers([]act.Worker{clerk})
	})
	named.Tasks[0].Worker = "author"
	checker := (&arctest.Worker{}).As("checker")
	b, _ = agent(t, nil, arc.Host{Reasoner: planned(named), Workers: []act.Worker{author, checker, clerk}}, nil)
	got = run(t, b, arc.Objective{Text: "letter"})
	require.Equal(t, []any{arc.Delivered, "done by clerk"}, []any{got.Status, got.Text})
}

// The reasoner answers what a worker asks, three times an attempt at most; what it does not know a person is
// asked. The worker is told how to work by the AGENT.md of its skill.
func TestReasonerAnswers(t *testing.T) {
	for _, c := range []struct {
		answers, want []string // what the reasoner says, and what the worker has got when a person is asked
	}{
		{[]string{"the second"}, []string{"the second"}},
		{[]string{""}, nil},
		{[]string{"a", "b", "c", "d"}, []string{"a", "b", "c"}},
	} {
		var got []string
		w := act.Worker{Name: "bank", Skills: []string{"pay"}, Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
			func(_ context.Context, c *act.Call) (*act.Result, error) {
				require.Equal(t, "Pay once.", c.Agent)
				got = nil
				for _, a := range c.Answers {
					got = append(got, a.Text)
				}
				if slices.Contains(got, "Anna") {
					return &act.Result{}, nil
				}
				return nil, &act.PendingError{Questions: []string{"Which account?"}}
			})}
		r := &answering{Reasoner: planned(arctest.Tasks("", task("pay", "pay"))), answers: c.answers}
		skills := []reason.Skill{{Name: "other"}, {Name: "pay", Agent: "Pay once."}}
		a, _ := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{w}, Skills: skills}, nil)
		report := run(t, a, arc.Objective{ID: "7", Text: "pay the bill"})
		require.Equal(t, []any{arc.Asking, "Which account?", c.want}, []any{report.Status, report.Text, got})
		report, err := a.In("").Answer(t.Context(), "7", "", "Anna")
		require.NoError(t, err)
		require.Equal(t, []any{arc.Delivered, 1}, []any{report.Status, report.Attempts})
	}
}

// What a gate asks is for a person: the reasoner, whose work it checks, is not asked. The journal says who has
// answered. A blank text is no answer.
func TestGateAsksAPerson(t *testing.T) {
	w := act.Worker{Name: "ops", Skills: []string{"restart"},
		Executor: act.ExecutorFunc(func(_ context.Context, c *act.Call) (*act.Result, error) {
			if len(c.Answers) == 0 {
				return nil, &act.PendingError{Questions: []string{"Which cluster?"}}
			}
			return &act.Result{Text: c.Answers[0].Text}, nil
		}),
		Gates: []act.Gate{act.GateFunc(func(_ context.Context, c *act.Call, _ *act.Result) (act.Verdict, error) {
			if len(c.Answers) == 1 {
				return act.Verdict{}, &act.PendingError{Questions: []string{"Is the checkout working?"}}
			}
			return act.Verdict{Pass: c.Answers[1].Text == "yes", Complaint: "it is not"}, nil
		})}}
	r := &answering{Reasoner: planned(arctest.Tasks("", task("restart", "restart"))), answers: []string{" \n", "eu1", "yes"}}
	a, _ := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{w}}, nil)
	got := run(t, a, arc.Objective{ID: "7", Text: "mend the checkout"})
	require.Equal(t, []any{arc.Asking, "Which cluster?"}, []any{got.Status, got.Text}, "a blank text is no answer")
	require.NoError(t, a.In("").Cancel(t.Context(), "7", ""))
	got = run(t, a, arc.Objective{ID: "8", Text: "mend the checkout"})
	require.Equal(t, []any{arc.Asking, "Is the checkout working?"}, []any{got.Status, got.Text})
	for _, blank := range []string{"", " \n\u200b"} {
		_, err := a.In("").Answer(t.Context(), "8", "", blank)
		require.ErrorIs(t, err, arc.ErrState)
	}
	got, err := a.In("").Answer(t.Context(), "8", "", "yes")
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, got.Status)
	story := journal(t, a, "8")
	require.Contains(t, story, "answered reasoner: eu1")
	require.Contains(t, story, "answered: yes")
}

// What a worker asks is too long for a run's record, or there is too much of it: it is asked all the same,
// some later.
func TestAsksTooMuch(t *testing.T) {
	huge := strings.Repeat("x ", 1<<20)
	wide := []byte(`{"text":"` + strings.Repeat("x", 120<<10) + `"}`)
	w := act.Worker{Name: "w", Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
		func(ctx context.Context, c *act.Call) (*act.Result, error) {
			if len(c.Answers) == 0 {
				return nil, &act.PendingError{Questions: slices.Repeat([]string{huge}, 3)}
			}
			var open act.PendingError
			for i := range 6 {
				_, err := act.Do(ctx, &act.Worker{Name: "write", Mode: act.Gated}, fmt.Sprint(i), wide,
					func(context.Context, json.RawMessage) (json.RawMessage, error) { return []byte("1"), nil })
				if pending, ok := errors.AsType[*act.PendingError](err); ok {
					open.Approvals = append(open.Approvals, pending.Approvals...)
				}
			}
			if len(open.Approvals) > 0 {
				return nil, &open
			}
			return &act.Result{}, nil
		},
	)}
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w}}, nil)
	v := a.In("")
	require.Equal(t, arc.Asking, run(t, a, arc.Objective{ID: "7", Text: "write"}).Status)
	_, err := v.Answer(t.Context(), "7", "", huge)
	require.NoError(t, err)
	for _, err := range v.Watch(t.Context(), "7") {
		require.NoError(t, err)
		for r, err := range v.Unfinished(t.Context()) {
			require.NoError(t, err)
			for _, p := range r.Approvals {
				_ = v.Decide(t.Context(), act.Ruling{Approval: p.ID, By: "anna", Allow: true}) // it may go on already
			}
		}
	}
	r, err := v.Report(t.Context(), "7")
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status)
}

func TestRetriedRunHasNotEnded(t *testing.T) {
	n, a := 0, (*arc.Agent)(nil)
	a, _ = agent(t, nil, arc.Host{Workers: []act.Worker{{Name: "ann", Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
		func(ctx context.Context, _ *act.Call) (*act.Result, error) {
			if n++; n <= 2 {
				return nil, errors.New("the printer is jammed")
			}
			r, err := a.In("").Report(ctx, "7")
			require.NoError(t, err)
			require.Zero(t, r.Ended)
			return &act.Result{Text: "good"}, nil
		})}}}, nil)
	require.NotZero(t, run(t, a, arc.Objective{ID: "7", Text: "write"}).Ended)
	r, err := a.In("").Retry(t.Context(), "7", "")
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status)
}

func TestRetry(t *testing.T) {
	w := &arctest.Worker{Turns: []arctest.Turn{{Refuse: "bad"}, {Refuse: "bad"}, {Text: "good"}}}
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w.As("ann")}}, nil)
	r := run(t, a, arc.Objective{ID: "7", Text: "write"})
	require.Equal(t, arc.Exhausted, r.Cause)
	require.Len(t, r.Failed, 2)
	r, err := a.In("").Retry(t.Context(), "7", "the printer is mended")
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status)
	require.Equal(t, "the printer is mended", w.Calls()[2].Answers[0].Text)
	require.Equal(t, []int{1, 2, 3}, []int{w.Calls()[0].Attempt, w.Calls()[1].Attempt, w.Calls()[2].Attempt})
}

// The check of the recipes that can tell only later: it looks each minute, and refuses ten minutes after the work.
func TestCheckLater(t *testing.T) {
	for _, clears := range []time.Duration{150 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			fires := func(context.Context, *act.Call) bool { return time.Since(began) < clears }
			var cleared act.GateFunc = func(ctx context.Context, c *act.Call, _ *act.Result) (act.Verdict, error) {
				done, err := act.Step(ctx, "done", nil, func(context.Context) (time.Time, error) { return time.Now(), nil })
				switch {
				case err != nil:
					return act.Verdict{}, err
				case !fires(ctx, c):
					return act.Verdict{Pass: true}, nil
				case time.Since(done) >= 10*time.Minute:
					return act.Verdict{Complaint: "after the restart the alert fires still"}, nil
				}
				return act.Verdict{}, &reason.Error{Class: reason.Unavailable, Wait: time.Minute, Err: errors.New("not yet")}
			}
			w := &arctest.Worker{}
			ops := w.As("ops")
			ops.Gates = []act.Gate{cleared}
			a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{ops}}, &arc.Options{Attempts: 1})
			r := run(t, a, arc.Objective{Text: "clear the alert"})
			require.Equal(t, clears < time.Hour, r.Status == arc.Delivered, r.Text)
			require.Equal(t, min(clears, 10*time.Minute).Round(time.Minute), r.Ended.Sub(r.Began), r.Text)
			require.Len(t, w.Calls(), 1)
		})
	}
}

// Who waits is told until when, and what timed out.
func TestUntilWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		slow := act.Worker{Name: "support", Timeout: 3 * time.Second, Gates: []act.Gate{act.NoGate},
			Executor: act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
				if c.Task.Objective == "limit" {
					return nil, &reason.Error{Class: reason.RateLimited, Wait: 2 * time.Hour, Err: errors.New("slow down")}
				}
				<-ctx.Done()
				return nil, ctx.Err()
			})}
		a, err := arc.New(t.Context(), store.NewMem(), arc.Host{Workers: []act.Worker{slow}}, &arc.Options{
			Patience: 10 * time.Second, OnEvent: func(_ memory.Scope, _ string, e arc.Event) {
				if e.Kind == "waiting" {
					told = append(told, e.Text)
				}
			}})
		require.NoError(t, err)
		defer a.Close()
		r := run(t, a, arc.Objective{Text: "hang"})
		late := "context deadline exceeded (the Timeout of support is 3s)"
		require.Equal(t, late, r.Text)
		require.Equal(t, late+" (again at 2000-01-01T00:00:08Z)", told[0])
		began := time.Now().UTC()
		r = run(t, a, arc.Objective{Text: "limit"})
		require.Equal(t, arc.Outage, r.Cause)
		require.Equal(t, "rate_limited: slow down (again after "+began.Add(2*time.Hour).Format(time.RFC3339)+")", r.Text)
	})
}

// A run that an outage has blocked goes on where it waited: its gate is asked, and the work is not done again.
func TestRetryAfterOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, asked, began, seen := &arctest.Worker{}, 0, time.Now().Add(time.Hour), time.Time{}
		early := &reason.Error{Class: reason.Unavailable, Wait: time.Minute, Err: errors.New("not yet")}
		ann := w.As("ann")
		ann.Gates = []act.Gate{act.GateFunc(func(context.Context, *act.Call, *act.Result) (act.Verdict, error) {
			asked++
			if seen = time.Now(); seen.Sub(began) < 90*time.Second {
				return act.Verdict{}, early
			}
			return act.Verdict{Pass: true}, nil
		})}
		st := store.NewMem()
		a, _ := agent(t, st, arc.Host{Workers: []act.Worker{ann}}, &arc.Options{Patience: 10 * time.Minute})
		v := a.In("")
		for _, id := range []string{"1", "2"} {
			r := run(t, a, arc.Objective{ID: id, Text: "restart"})
			require.Equal(t, []any{arc.Blocked, arc.Outage}, []any{r.Status, r.Cause})
			require.Contains(t, r.Text, "act.GateFunc could not check it: unavailable: not yet (again after 2000-01-01T00:")
			require.Equal(t, 11, asked, "at once, and each minute, as it says")
			asked = 0
		}
		require.NoError(t, v.Delete(t.Context(), "2"))
		for e := range st.Scan(t.Context(), store.Range{Prefix: "t/"}) {
			require.NotContains(t, e.Key, "/part/2/", "nothing of what it was told stays")
		}

		began = time.Now()
		r, err := v.Retry(t.Context(), "1", "look at eu1")
		require.NoError(t, err)
		require.Equal(t, []any{arc.Delivered, 1}, []any{r.Status, r.Attempts})
		require.Len(t, w.Calls(), 2, "one a run")
		require.Equal(t, 2*time.Minute, seen.Sub(began))
		require.NoError(t, v.Judge(t.Context(), "1", learn.Failed, "it came back"), "it was learned of once, at its end")
	})
	synctest.Test(t, func(t *testing.T) { // of a subgoal, while the reasoner is away
		away, asks := true, 0
		r := &arctest.Reasoner{Decision: func(b *reason.Brief) (*reason.Decision, error) {
			switch asks++; {
			case asks == 1:
				return &reason.Decision{Impasse: "no_approach", Subgoal: "find the cause"}, nil
			case away:
				return nil, &reason.Error{Class: reason.Unavailable, Err: errors.New("away")}
			}
			return arctest.Tasks("", task(b.Text, "")), nil
		}}
		w := &arctest.Worker{}
		a, _ := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{w.As("ann")}}, &arc.Options{Patience: time.Minute})
		require.Equal(t, arc.Outage, run(t, a, arc.Objective{ID: "1", Text: "mend it"}).Cause)
		away = false
		got, err := a.In("").Retry(t.Context(), "1", "")
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, got.Status, got.Text)
		require.Equal(t, "find the cause", w.Calls()[0].Task.Objective)
	})
}

// What failed is warned of, and what two deliveries have in common fires.
func TestLearns(t *testing.T) {
	r := &arctest.Reasoner{Decision: fixed}
	pay := &arctest.Worker{Turns: []arctest.Turn{{Refuse: "name the order"}, {Text: "paid"}}}
	a, story := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{
		pay.As("bank", "pay"), (&arctest.Worker{}).As("mail", "write"),
	}}, nil)
	for n := range 4 {
		got := run(t, a, arc.Objective{Text: "Refund the order.", Inputs: order(n)})
		require.Equal(t, arc.Delivered, got.Status, got.Text)
		require.Equal(t, n > 1, got.Fired == 1, "run %d", n)
	}
	require.Len(t, r.Briefs(), 2)
	require.Equal(t, "name the order", r.Briefs()[1].Warnings[0].Complaint)
	require.Contains(t, strings.Join(*story, "\n"), "the plan fires from now on")
	require.JSONEq(t, `{"order":"SO-1003"}`, string(pay.Calls()[4].Task.Inputs))
}

// Tasks of the host's own are done as they are. What their worker calls is learned, and does not fire there.
func TestTasksOfTheHost(t *testing.T) {
	calls := act.ExecutorFunc(func(_ context.Context, c *act.Call) (*act.Result, error) {
		require.Nil(t, c.Fires)
		return &act.Result{Plan: &reason.Plan{Calls: []reason.PlanCall{{Name: "look", Inputs: c.Inputs}}}}, nil
	})
	a, story := agent(t, nil, arc.Host{Workers: []act.Worker{{
		Name: "ann", Skills: []string{"write"}, Executor: calls, Gates: []act.Gate{act.NoGate},
	}}}, nil)
	o := arc.Objective{Text: "Find the order.", Tasks: []reason.Task{task("find", "write")}}
	for n := range 3 {
		o.Inputs = order(n)
		require.Zero(t, run(t, a, o).Fired)
	}
	require.NotContains(t, strings.Join(*story, "\n"), "fires from now on")
	why, err := a.In("").Why(t.Context(), o)
	require.NoError(t, err)
	require.Contains(t, why, "tasks of its own")
	o.Tasks = nil
	why, err = a.In("").Why(t.Context(), o)
	require.NoError(t, err)
	require.Contains(t, why, "a plan fires")
}

// A fired plan that fails is retried as a reasoned one.
func TestFiredPlanFails(t *testing.T) {
	r := &arctest.Reasoner{Decision: fixed}
	pay := &arctest.Worker{Turns: []arctest.Turn{{}, {}, {Refuse: "closed"}, {}}}
	a, _ := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{
		pay.As("bank", "pay"), (&arctest.Worker{}).As("mail", "write"),
	}}, nil)
	var got *arc.Report
	for n := range 3 {
		got = run(t, a, arc.Objective{Text: "Refund the order.", Inputs: order(n)})
	}
	require.Equal(t, arc.Delivered, got.Status)
	require.Zero(t, got.Fired, "the reasoner was asked")
	require.Len(t, r.Briefs(), 3)
	require.Equal(t, "closed", r.Briefs()[2].Failed[0].Complaint)
}

// A6: the third run fires, and its writer fails once. It is paid once, by a person's leave.
func TestIrreversibleOnceInARun(t *testing.T) {
	pay := &arctest.Worker{}
	mail := &arctest.Worker{Turns: []arctest.Turn{{}, {}, {Refuse: "too short"}, {}}}
	bank := pay.As("bank", "pay")
	bank.Irreversible, bank.Mode = true, act.Gated
	a, _ := agent(t, nil, arc.Host{
		Reasoner: &arctest.Reasoner{Decision: fixed}, Workers: []act.Worker{bank, mail.As("mail", "write")},
	}, nil)
	v := a.In("acme")
	for n := range 3 {
		id := fmt.Sprint("run ", n)
		o := arc.Objective{ID: id, Scope: "acme", Text: "Refund the order.", Inputs: order(n)}
		r := run(t, a, o)
		require.Equal(t, arc.Waiting, r.Status)
		require.Len(t, r.Approvals, 1)
		require.Contains(t, r.Text, "mode is gated")
		require.Equal(t, n == 2, r.Fired == 1)
		require.Error(t, v.Decide(t.Context(), act.Ruling{Approval: "another", By: "anna", Allow: true}))
		require.NoError(t, v.Decide(t.Context(), act.Ruling{Approval: r.Approvals[0].ID, By: "anna", Allow: true}))
		r, err := v.Wait(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status, r.Text)
		require.Len(t, pay.Calls(), n+1)
	}
	require.Len(t, mail.Calls(), 4)
}

// What is open below a scope is in its list: who answers for a tenant need not know its scopes.
func TestOpenBelow(t *testing.T) {
	clerk := act.Worker{Name: "clerk", Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
		func(_ context.Context, c *act.Call) (*act.Result, error) {
			if c.Text == "done" || len(c.Answers) > 0 {
				return &act.Result{Text: "ok"}, nil
			}
			return nil, &act.PendingError{Questions: []string{"Which total?"}}
		})}
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{clerk}}, &arc.Options{Scope: "acme/b"})
	for _, scope := range []memory.Scope{"_", "_/x", "acme", "acme/a", "acme/an", "acme/b", "acme/b/c"} {
		run(t, a, arc.Objective{ID: "open", Scope: scope, Text: "read"})
		run(t, a, arc.Objective{ID: "done", Scope: scope, Text: "done"})
	}
	for top, want := range map[memory.Scope]string{
		"acme": "acme acme/a acme/an acme/b acme/b/c", "acme/a": "acme/a", "": "acme/b acme/b/c", "_": "_ _/x", "other": "",
	} {
		var got []string
		for r, err := range a.In(top).Unfinished(t.Context()) {
			require.NoError(t, err)
			require.Equal(t, []any{"open", arc.Asking, "Which total?"}, []any{r.ID, r.Status, r.Text})
			got = append(got, string(r.Scope))
		}
		slices.Sort(got)
		require.Equal(t, want, strings.Join(got, " "))
	}
	for r, err := range a.In("_").Unfinished(t.Context()) {
		require.NoError(t, err)
		r, err = a.In(r.Scope).Answer(t.Context(), r.ID, r.Question, "12")
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status)
	}
}

// A ruling in a tenant's inbox is on one run: runs of one ID in two scopes, and two runs of a scope, do the same.
func TestApprovalIsOfOneRun(t *testing.T) {
	w := &arctest.Worker{}
	pay := w.As("pay")
	pay.Mode = act.Gated
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{pay}}, nil)
	status := map[string]arc.Status{}
	for _, o := range []arc.Objective{{Scope: "fin/a", ID: "nightly"}, {Scope: "fin/b", ID: "nightly"}, {Scope: "fin/b", ID: "again"}} {
		o.Text, o.Inputs = "Pay.", json.RawMessage(`{"usd":5}`)
		run(t, a, o)
		status[string(o.Scope)+" "+o.ID] = arc.Waiting
	}
	ruled := map[string]bool{}
	for range status {
		for r, err := range a.In("fin").Unfinished(t.Context()) {
			require.NoError(t, err)
			p := r.Approvals[0]
			require.False(t, ruled[p.ID])
			ruled[p.ID] = true
			require.NoError(t, a.In("fin").Decide(t.Context(), act.Ruling{Approval: p.ID, By: "anna", Allow: true}))
			_, err := a.In(r.Scope).Wait(t.Context(), r.ID)
			require.NoError(t, err)
			status[string(p.Scope)+" "+p.Run] = arc.Delivered
			break
		}
		for run, want := range status {
			scope, id, _ := strings.Cut(run, " ")
			r, err := a.In(memory.Scope(scope)).Report(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, want, r.Status, run)
		}
	}
	require.Len(t, w.Calls(), 3)
}

// A8: eight users, whose texts are equal and whose orders differ: the plan fires from the third on.
func TestEightUsers(t *testing.T) {
	r := &arctest.Reasoner{Decision: fixed}
	a, _ := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{
		(&arctest.Worker{}).As("bank", "pay"), (&arctest.Worker{}).As("mail", "write"),
	}}, nil)
	for n := range 8 {
		got := run(t, a, arc.Objective{
			Scope: memory.Scope(fmt.Sprint("acme/user", n)), Lessons: "acme", Text: "Refund the order.", Inputs: order(n),
		})
		require.Equal(t, arc.Delivered, got.Status)
		require.Equal(t, n > 1, got.Fired == 1, "user %d", n)
	}
	require.Len(t, r.Briefs(), 2)
}

func TestOutage(t *testing.T) {
	away := arctest.Turn{Err: &reason.Error{Class: reason.RateLimited, Wait: time.Minute, Err: errors.New("429")}}
	synctest.Test(t, func(t *testing.T) {
		w := &arctest.Worker{Turns: []arctest.Turn{away, away, {Text: "late"}}}
		a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w.As("ann")}}, nil)
		began := time.Now()
		r := run(t, a, arc.Objective{Text: "write"})
		require.Equal(t, arc.Delivered, r.Status)
		require.Equal(t, 1, r.Attempts, "an outage spends none")
		require.Equal(t, 2*time.Minute, time.Since(began))
		require.Nil(t, r.Usage, "unknown is not 0")
	})
	synctest.Test(t, func(t *testing.T) {
		w := &arctest.Worker{Turns: []arctest.Turn{away}}
		a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w.As("ann")}}, &arc.Options{Patience: 10 * time.Minute})
		r := run(t, a, arc.Objective{Text: "write"})
		require.Equal(t, arc.Outage, r.Cause)
		require.Contains(t, r.Text, "429")
		require.Len(t, w.Calls(), 8, "after 1, 2, 3, 4 minutes, 320 and 480 s, and at the end")
	})
	for patience, want := range map[time.Duration]int{4 * time.Second: 3, 500 * time.Millisecond: 1} {
		synctest.Test(t, func(t *testing.T) {
			soon := arctest.Turn{Err: &reason.Error{Class: reason.RateLimited, Wait: time.Second, Err: errors.New("429")}}
			w := &arctest.Worker{Turns: []arctest.Turn{soon}}
			a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w.As("ann")}}, &arc.Options{Patience: patience})
			require.Equal(t, arc.Outage, run(t, a, arc.Objective{Text: "write"}).Cause)
			require.Len(t, w.Calls(), want, "after a second, as the provider says, and at the end, unless it says later")
		})
	}
	synctest.Test(t, func(t *testing.T) { // who waits may leave, and the next process goes on
		st := store.NewMem()
		w := &arctest.Worker{Turns: []arctest.Turn{away, {Text: "late"}}}
		a, _ := agent(t, st, arc.Host{Workers: []act.Worker{w.As("ann")}}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r, err := a.Run(ctx, arc.Objective{ID: "7", Text: "write"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, arc.Waiting, r.Status)
		require.NoError(t, a.Shutdown(t.Context()))
		_, err = a.Run(t.Context(), arc.Objective{Text: "write"})
		require.ErrorIs(t, err, arc.ErrClosed)
		b, _ := agent(t, st, arc.Host{Workers: []act.Worker{w.As("ann")}}, nil)
		r, err = b.In("").Wait(t.Context(), "7")
		require.NoError(t, err)
		require.Equal(t, "late", r.Text)
		require.Equal(t, time.Minute, r.Ended.Sub(r.Began))
	})
}

// Another worker takes the task of one that is away and has kept nothing: at once, and with no figure against that
// one. Where all are, the run waits for the first of them, and asks in the order of the policy again.
func TestOneOfTwoIsAway(t *testing.T) {
	away := func(name string, wait time.Duration) arctest.Turn {
		return arctest.Turn{Err: &reason.Error{Class: reason.Unavailable, Wait: wait, Err: errors.New(name + " is away")}}
	}
	order := &arc.Options{Policy: inOrder{}}
	synctest.Test(t, func(t *testing.T) {
		small := &arctest.Worker{Turns: []arctest.Turn{away("small", 0), away("small", time.Minute), {Text: "late"}}}
		large := &arctest.Worker{Turns: []arctest.Turn{{Text: "done"}, away("large", 2*time.Hour)}}
		a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{small.As("small"), large.As("large")}}, order)
		began := time.Now()
		r := run(t, a, arc.Objective{ID: "1", Text: "write"})
		require.Equal(t, []any{"done", 1}, []any{r.Text, r.Attempts})
		require.Zero(t, time.Since(began))
		require.Equal(t, []string{
			"begun: write", "attempt small: write", "away small: unavailable: small is away", "attempt large: write",
			"passed large: done", "delivered",
		}, journal(t, a, "1"))
		b, err := a.In("").Book(t.Context())
		require.NoError(t, err)
		require.Zero(t, b.Stats("small", "").Attempts)
		require.Equal(t, "late", run(t, a, arc.Objective{ID: "2", Text: "write"}).Text)
		require.Equal(t, time.Minute, time.Since(began), "large would be for longer than anybody has patience")
		require.Equal(t, []int{3, 2}, []int{len(small.Calls()), len(large.Calls())})
	})
	synctest.Test(t, func(t *testing.T) { // the host means this one, or the other is not worth its price
		small := &arctest.Worker{Turns: []arctest.Turn{away("small", 0), {Text: "late"}, away("small", 0), {Text: "late"}}}
		large := &arctest.Worker{}
		dear := large.As("large")
		dear.Price = 2
		a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{small.As("small"), dear}}, &arc.Options{Policy: inOrder{}, Worth: 1})
		given := []reason.Task{{Objective: "write", Worker: "small"}}
		require.Equal(t, "late", run(t, a, arc.Objective{Text: "write", Tasks: given}).Text)
		require.Equal(t, "late", run(t, a, arc.Objective{Text: "write"}).Text)
		require.Empty(t, large.Calls())
	})
	synctest.Test(t, func(t *testing.T) { // over a restart, and a Retry
		st, began := store.NewMem(), make(chan bool)
		small := &arctest.Worker{Turns: []arctest.Turn{away("small", 0), away("small", 0), away("small", 0), {Text: "late"}}}
		hangs := stuck(began)
		hangs.Name = "large"
		planner := &arctest.Reasoner{Decision: func(*reason.Brief) (*reason.Decision, error) {
			return arctest.Tasks("", task("write", "")), nil
		}}
		a, _ := agent(t, st, arc.Host{Reasoner: planner, Workers: []act.Worker{small.As("small"), hangs}}, order)
		go func() { _, _ = a.Run(t.Context(), arc.Objective{ID: "7", Text: "write"}) }()
		<-began
		require.NoError(t, a.Close())
		large, from := &arctest.Worker{Turns: []arctest.Turn{away("large", 0)}}, time.Now()
		brief := &arc.Options{Policy: inOrder{}, Patience: 8 * time.Second}
		a, _ = agent(t, st, arc.Host{Reasoner: planner, Workers: []act.Worker{small.As("small"), large.As("large")}}, brief)
		r, err := a.In("").Wait(t.Context(), "7")
		require.NoError(t, err)
		require.Equal(t, []any{arc.Outage, 3, 3}, []any{r.Cause, len(small.Calls()), len(large.Calls())})
		require.Equal(t, 8*time.Second, time.Since(from), "small was away before, so it is asked after the wait")
		r, err = a.In("").Retry(t.Context(), "7", "")
		require.NoError(t, err)
		require.Equal(t, []any{"late", 1}, []any{r.Text, r.Attempts})
		require.Len(t, planner.Briefs(), 1, "it goes on where it waited")
	})
}

// What has kept a step, or has begun what cannot be undone, waits as it is, and goes on where it was.
func TestAwayWithAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paid, tries := 0, 0
		large := &arctest.Worker{}
		small := (&arctest.Worker{}).As("small")
		small.Executor = act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
			answer, err := act.Step(ctx, "answer", nil, func(context.Context) (string, error) { paid++; return "paid", nil })
			if tries++; err == nil && tries%2 == 1 {
				err = &reason.Error{Class: reason.RateLimited, Err: errors.New("429")}
			}
			return &act.Result{Text: answer}, err
		})
		a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{small, large.As("large")}}, &arc.Options{Policy: inOrder{}})
		began := time.Now()
		r := run(t, a, arc.Objective{ID: "1", Text: "write"})
		require.Equal(t, []any{"paid", 1, 2, 5 * time.Second}, []any{r.Text, paid, tries, time.Since(began)})

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := a.Run(ctx, arc.Objective{ID: "2", Text: "write"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, a.SetWorkers([]act.Worker{large.As("large")})) // small is taken away for good
		r, err = a.In("").Wait(t.Context(), "2")
		require.NoError(t, err)
		require.Equal(t, []any{"done", 2, 2}, []any{r.Text, r.Attempts, large.Calls()[0].Attempt}, "none has two workers' steps")

		small.Irreversible = true
		small.Executor = act.ExecutorFunc(func(context.Context, *act.Call) (*act.Result, error) {
			return nil, &reason.Error{Class: reason.Unavailable, Err: errors.New("no answer")}
		})
		require.NoError(t, a.SetWorkers([]act.Worker{small, large.As("large")}))
		r = run(t, a, arc.Objective{ID: "3", Text: "pay"})
		require.Len(t, r.Approvals, 1)
		require.True(t, r.Approvals[0].Begun)
		require.Len(t, large.Calls(), 1)
	})
}

// A run that waits goes on when that is over, also where its caller has left it, and ends by Options.Patience.
func TestWaitsWithoutItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := arctest.Turn{Err: &reason.Error{Class: reason.Unavailable, Err: errors.New("away")}}
		for last, want := range map[arctest.Turn]arc.Status{{Text: "late"}: arc.Delivered, away: arc.Blocked} {
			w := &arctest.Worker{Turns: []arctest.Turn{away, away, last}}
			a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w.As("ann")}}, &arc.Options{Patience: time.Minute})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := a.Run(ctx, arc.Objective{ID: "7", Text: "write"})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			time.Sleep(2 * time.Minute)
			r, err := a.In("").Report(t.Context(), "7")
			require.NoError(t, err)
			require.Equal(t, want, r.Status)
		}
		// None of those that wait holds up another.
		later := &reason.Error{Class: reason.RateLimited, Wait: time.Hour, Err: errors.New("429")}
		w := &arctest.Worker{Turns: []arctest.Turn{{Err: later}}}
		a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w.As("ann")}}, &arc.Options{Patience: 10 * time.Hour})
		for range 40 {
			ctx, cancel := context.WithCancel(t.Context())
			go func() { time.Sleep(time.Second); cancel() }()
			_, err := a.Run(ctx, arc.Objective{Text: "write"})
			require.ErrorIs(t, err, context.Canceled)
		}
		time.Sleep(time.Hour + time.Minute)
		require.Equal(t, 80, len(w.Calls()))
	})
}

// An irreversible tool whose end is not known is asked of a person, also where Patience was over before, and no plan
// without it is learned.
func TestUnknownEndIsAsked(t *testing.T) {
	ends := func(t *testing.T, how func() error) {
		n := 0
		pay := act.Worker{Name: "pay", Irreversible: true}
		w := act.Worker{Name: "ann", Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
			func(ctx context.Context, c *act.Call) (*act.Result, error) {
				if n++; n == 1 {
					return nil, &reason.Error{Class: reason.Unavailable, Err: errors.New("away")}
				}
				_, err := act.Do(ctx, &pay, "pay", nil, func(context.Context, json.RawMessage) (json.RawMessage, error) {
					return nil, how()
				})
				return &act.Result{}, err
			})}
		a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w}}, &arc.Options{Patience: 5 * time.Second})
		r := run(t, a, arc.Objective{Text: "pay"})
		require.Len(t, r.Approvals, 1, r.Text)
		require.True(t, r.Approvals[0].Begun)
	}
	synctest.Test(t, func(t *testing.T) { ends(t, func() error { panic("nobody knows") }) })
	synctest.Test(t, func(t *testing.T) { // the bank is away for longer than anybody has patience
		ends(t, func() error {
			return &reason.Error{Class: reason.Unavailable, Wait: time.Hour, Err: errors.New("no answer")}
		})
	})
}

// A blocked run that is done otherwise is closed: Health does not tell of it any more.
func TestCancelBlocked(t *testing.T) {
	w := &arctest.Worker{Turns: []arctest.Turn{{Refuse: "it still fires"}}}
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w.As("ann")}}, nil)
	v := a.In("")
	require.Equal(t, arc.Blocked, run(t, a, arc.Objective{ID: "7", Text: "clear"}).Status)
	require.NoError(t, v.Cancel(t.Context(), "7", "done by hand"))
	r, err := v.Report(t.Context(), "7")
	require.NoError(t, err)
	require.Equal(t, []any{arc.Canceled, arc.Cause(""), "done by hand"}, []any{r.Status, r.Cause, r.Text})
	story := journal(t, a, "7")
	require.Equal(t, []string{"blocked exhausted: it still fires", "canceled: done by hand"}, story[len(story)-2:])
	h, err := v.Health(t.Context())
	require.NoError(t, err)
	require.Equal(t, "no_data", h.State)
	_, err = v.Retry(t.Context(), "7", "")
	require.ErrorIs(t, err, arc.ErrState)
	require.ErrorIs(t, v.Cancel(t.Context(), "7", ""), arc.ErrState)
}

func TestSameIDIsTheSameRun(t *testing.T) {
	w := &arctest.Worker{}
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w.As("ann")}}, nil)
	one := run(t, a, arc.Objective{ID: "a/b", Text: "write"})
	require.Equal(t, one, run(t, a, arc.Objective{ID: "a/b", Text: "write"}))
	require.Len(t, w.Calls(), 1)
	_, err := a.Run(t.Context(), arc.Objective{ID: "a/b", Text: "read"})
	require.ErrorIs(t, err, arc.ErrTaken)
	_, err = a.In("").Report(t.Context(), "none")
	require.ErrorIs(t, err, store.ErrNotFound)
	for _, bad := range []arc.Objective{{}, {Text: "write", Inputs: json.RawMessage(`[1]`)}, {Text: "write", Scope: "a//b"},
		{Text: "write", Budget: arc.Budget{Tokens: -1}}} {
		_, err = a.Run(t.Context(), bad)
		require.ErrorIs(t, err, arc.ErrObjective)
		require.ErrorIs(t, err, store.ErrInvalid)
	}
}

// Clients write null for what they do not give.
func TestNullIsNone(t *testing.T) {
	w := &arctest.Worker{}
	ann := w.As("ann")
	ann.Input = json.RawMessage(`{"type":"object"}`)
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{ann}}, nil)
	one := run(t, a, arc.Objective{ID: "1", Tasks: []reason.Task{{Objective: "write"}}})
	var o arc.Objective
	require.NoError(t, json.Unmarshal([]byte(`{"ID":"1","Inputs":null,"Data":null,"Tasks":[{"Objective":"write","Inputs":null}]}`), &o))
	require.Equal(t, one, run(t, a, o))
	o.ID = "2"
	require.Equal(t, arc.Delivered, run(t, a, o).Status)
	require.Nil(t, w.Calls()[1].Task.Inputs)
}

// stuck is an executor that works until its context ends.
func stuck(began chan<- bool) act.Worker {
	return act.Worker{Name: "ann", Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
		func(ctx context.Context, c *act.Call) (*act.Result, error) {
			select {
			case began <- true:
			case <-ctx.Done(): // it is made again, where nobody waits for that
			}
			<-ctx.Done()
			return nil, ctx.Err()
		})}
}

// A run that an attempt of another one has called is canceled with that one, by whatever process, and does nothing
// afterwards.
func TestCancelWithin(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { cancelWithin(t, elsewhere) })
	}
}

func cancelWithin(t *testing.T, elsewhere bool) {
	var a *arc.Agent
	thinking, paid := make(chan bool, 1), 0
	think := act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
		thinking <- true
		<-ctx.Done()
		return nil, ctx.Err()
	})
	pay := act.ExecutorFunc(func(context.Context, *act.Call) (*act.Result, error) {
		paid++
		return &act.Result{}, nil
	})
	call := act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
		_, err := a.Run(ctx, arc.Objective{ID: "in", Text: "in", Tasks: []reason.Task{
			{Objective: "think", Worker: "think"}, {Objective: "pay", Worker: "pay"},
		}})
		return nil, err
	})
	none := []act.Gate{act.NoGate}
	h := arc.Host{Workers: []act.Worker{
		{Name: "call", Executor: call, Gates: none}, {Name: "pay", ByName: true, Executor: pay, Gates: none},
		{Name: "think", ByName: true, Executor: think, Gates: none},
	}}
	st := store.NewMem()
	a, _ = agent(t, st, h, nil)
	go func() { _, _ = a.Run(context.Background(), arc.Objective{ID: "out", Text: "out"}) }()
	<-thinking
	by := a
	if elsewhere {
		by, _ = agent(t, st, arc.Host{}, nil)
	}
	require.NoError(t, by.In("").Cancel(t.Context(), "out", "not needed any more"))
	<-time.After(time.Second)
	require.NoError(t, a.Close())
	h.Workers[2].Executor = pay
	a, _ = agent(t, st, h, nil)
	r, err := a.In("").Wait(t.Context(), "in")
	require.NoError(t, err)
	require.Equal(t, arc.Canceled, r.Status)
	require.Zero(t, paid)
}

// undecided is a policy that is asked and never says.
type undecided struct{ asked chan bool }

func (u undecided) Score(ctx context.Context, _ rank.Task, _ []rank.Candidate) ([]rank.Scored, error) {
	close(u.asked)
	<-ctx.Done()
	return nil, ctx.Err()
}

// A run that is canceled in its first moment, before anything of it is stored, is canceled: it is no run of which
// nobody has heard.
func TestCancelAtOnce(t *testing.T) {
	w, policy := &arctest.Worker{}, undecided{make(chan bool)}
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w.As("ann"), w.As("bob")}}, &arc.Options{Policy: policy})
	require.ErrorIs(t, a.In("").Cancel(t.Context(), "7", "stop"), store.ErrNotFound)
	ended := make(chan error, 1)
	go func() {
		_, err := a.Run(context.Background(), arc.Objective{ID: "7", Text: "write"})
		ended <- err
	}()
	<-policy.asked
	require.NoError(t, a.In("").Cancel(t.Context(), "7", "stop"))
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Empty(t, w.Calls())
}

// Who works on a run that is canceled ends it, also where who has canceled it waits no longer, or where it has
// just asked: it does not go on when the store is opened again. Run returns how it ended.
func TestCancelEndsWhoeverWaits(t *testing.T) {
	for _, c := range []struct {
		patience             time.Duration
		asks, leaves, passes bool
	}{
		{patience: time.Second}, {patience: time.Minute}, {patience: time.Second, asks: true},
		{patience: time.Minute, asks: true}, {patience: time.Second, leaves: true},
		{patience: time.Second, passes: true}, {patience: time.Minute, passes: true},
		{patience: time.Second, passes: true, leaves: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			st, calls := store.NewMem(), 0
			deaf := act.Worker{Name: "ann", Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
				func(ctx context.Context, _ *act.Call) (*act.Result, error) {
					if calls++; c.asks {
						return nil, &act.PendingError{Questions: []string{"Which one?"}}
					}
					if c.passes {
						return &act.Result{Text: "done"}, nil
					}
					time.Sleep(10 * time.Second)
					return nil, ctx.Err()
				})}
			if c.passes { // the one who judges does not hear it
				deaf.Gates = []act.Gate{act.GateFunc(func(context.Context, *act.Call, *act.Result) (act.Verdict, error) {
					time.Sleep(10 * time.Second)
					return act.Verdict{Pass: true}, nil
				})}
			}
			slow := func(_ memory.Scope, _ string, e arc.Event) {
				if e.Kind == "asking" {
					time.Sleep(10 * time.Second)
				}
			}
			open := func() *arc.Agent {
				a, err := arc.New(t.Context(), st, arc.Host{Workers: []act.Worker{deaf}}, &arc.Options{OnEvent: slow})
				require.NoError(t, err)
				return a
			}
			a := open()
			go func() {
				ctx, cancel := context.WithTimeout(context.Background(), c.patience)
				defer cancel()
				time.Sleep(time.Millisecond)
				err := a.In("").Cancel(ctx, "7", "not needed")
				assert.Equal(t, c.patience < 10*time.Second, errors.Is(err, context.DeadlineExceeded), err)
			}()
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			if c.leaves { // the caller goes first
				time.AfterFunc(time.Microsecond, leave)
			}
			r, err := a.Run(ctx, arc.Objective{ID: "7", Text: "write"})
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, []any{arc.Canceled, "not needed"}, []any{r.Status, r.Text})
			events := journal(t, a, "7")
			require.Equal(t, "canceled: not needed", events[len(events)-1])
			require.NoError(t, a.Close())
			a = open()
			time.Sleep(time.Minute)
			require.Equal(t, 1, calls)
			require.NoError(t, a.Close())
		})
	}
}

// Who waits for a run returns once OnEvent is told of its end, whatever other run has it look before; and what it
// asks can be answered then.
func TestWaitForEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		slow := func(_ memory.Scope, id string, e arc.Event) {
			if id == "7" && (e.Kind == "asking" || e.Kind == "delivered") {
				time.Sleep(time.Second)
				told = append(told, e.Kind)
			}
		}
		asks := act.Worker{Name: "ann", Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
			func(_ context.Context, c *act.Call) (*act.Result, error) {
				if c.Run == "7" && len(c.Answers) == 0 {
					return nil, &act.PendingError{Questions: []string{"Which one?"}}
				}
				return &act.Result{Text: "done"}, nil
			})}
		a, err := arc.New(t.Context(), store.NewMem(), arc.Host{Workers: []act.Worker{asks}}, &arc.Options{OnEvent: slow})
		require.NoError(t, err)
		defer func() { require.NoError(t, a.Close()) }()
		wait := func(id string) *arc.Report {
			go func() {
				time.Sleep(time.Second / 2)
				run(t, a, arc.Objective{ID: id, Text: "write"})
			}()
			r, err := a.In("").Wait(t.Context(), "7")
			require.NoError(t, err)
			return r
		}
		go func() { _, _ = a.Run(context.Background(), arc.Objective{ID: "7", Text: "write"}) }()
		synctest.Wait()
		require.Equal(t, arc.Asking, wait("8").Status)
		require.Equal(t, []string{"asking"}, told)
		go func() {
			_, err := a.In("").Answer(context.Background(), "7", "", "the first")
			assert.NoError(t, err)
		}()
		synctest.Wait()
		require.Equal(t, arc.Delivered, wait("9").Status)
		require.Equal(t, []string{"asking", "delivered"}, told)
	})
}

// To look for a run that is not there is not in the way of one that begins under its ID.
func TestCancelBeforeRun(t *testing.T) {
	st := &looking{Store: store.NewMem()}
	a, _ := agent(t, st, arc.Host{Workers: []act.Worker{(&arctest.Worker{}).As("ann")}}, nil)
	began, gets := error(nil), 0
	st.got = func(key string) {
		if !strings.Contains(key, "/run/7") {
			return
		}
		if gets++; gets == 2 {
			st.got = nil
			_, began = a.Run(t.Context(), arc.Objective{ID: "7", Text: "write"})
		}
	}
	require.ErrorIs(t, a.In("").Cancel(t.Context(), "7", "stop"), store.ErrNotFound)
	require.NoError(t, began)
}

// looking is a store that tells of what was read.
type looking struct {
	store.Store
	got func(key string)
}

func (l *looking) Get(ctx context.Context, key string) (store.Entry, error) {
	e, err := l.Store.Get(ctx, key)
	if l.got != nil {
		l.got(key)
	}
	return e, err
}

func TestCancel(t *testing.T) {
	began := make(chan bool)
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{stuck(began)}}, nil)
	ended := make(chan error)
	go func() {
		_, err := a.Run(t.Context(), arc.Objective{ID: "7", Text: "write"})
		ended <- err
	}()
	<-began
	_, err := a.In("").Resume(t.Context(), "7")
	require.ErrorIs(t, err, arc.ErrRunning)
	require.NoError(t, a.In("").Cancel(t.Context(), "7", "not needed any more"))
	require.NoError(t, a.In("").Judge(t.Context(), "7", learn.Failed, ""), "nothing was learned of it")
	require.ErrorIs(t, <-ended, context.Canceled)
	r, err := a.In("").Report(t.Context(), "7")
	require.NoError(t, err)
	require.Equal(t, arc.Canceled, r.Status)
	require.Equal(t, "not needed any more", r.Text)
	require.ErrorIs(t, a.In("").Cancel(t.Context(), "7", ""), arc.ErrState)
	var watched, kept []arc.Event
	for e, err := range a.In("").Watch(t.Context(), "7") {
		require.NoError(t, err)
		watched = append(watched, e)
	}
	for e, err := range a.In("").Journal(t.Context(), "7") {
		require.NoError(t, err)
		kept = append(kept, e)
	}
	require.Greater(t, len(kept), 1)
	require.Equal(t, kept, watched)
	for _, err := range a.In("").Journal(t.Context(), "8") {
		require.ErrorIs(t, err, store.ErrNotFound)
	}
}

// Whoever ends a run in the middle of an irreversible call, and wherever: it says which call that was, and what
// its answers took counts, for the tenant's day as well.
func TestEndedWithinACall(t *testing.T) {
	cancel := func(t *testing.T, a *arc.Agent) { require.NoError(t, a.In("").Cancel(t.Context(), "7", "stop")) }
	for how, end := range map[string]func(t *testing.T, a, b *arc.Agent, leave func()){
		"here":            func(t *testing.T, a, _ *arc.Agent, _ func()) { cancel(t, a) },
		"another process": func(t *testing.T, _, b *arc.Agent, _ func()) { cancel(t, b) },
		"after a restart": func(t *testing.T, a, b *arc.Agent, _ func()) {
			require.NoError(t, a.Close())
			cancel(t, b)
		},
		"once": func(t *testing.T, a, _ *arc.Agent, leave func()) {
			leave()
			_, err := a.In("").Resume(t.Context(), "7")
			require.NoError(t, err)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			began, key := make(chan bool), ""
			mail := tools.Func("mail", "", func(ctx context.Context, _ struct{ To string }) (string, error) {
				key = act.IdempotencyKey(ctx)
				close(began)
				<-ctx.Done()
				return "", ctx.Err()
			})
			book := tools.Func("book", "", func(context.Context, struct{}) (string, error) { return "booked", nil })
			mail.Irreversible, book.Irreversible = true, true
			model := reason.ModelFunc(func(ctx context.Context, r *reason.Request) (*reason.Response, error) {
				said, err := reasontest.Call("mail", `{"To":"bob"}`)(ctx, r)
				said.Calls = append(said.Calls, reason.ToolCall{ID: "2", Name: "book", Inputs: json.RawMessage(`{}`)})
				said.Usage = &reason.Usage{Input: 100, Output: 10}
				return said, err
			})
			chat := act.Worker{Name: "chat", Executor: tools.New(model, nil, mail, book), Gates: []act.Gate{act.NoGate}}
			st, o := store.NewMem(), &arc.Options{Daily: arc.Budget{Tokens: 100}}
			a, _ := agent(t, st, arc.Host{Workers: []act.Worker{chat}}, o)
			b, _ := agent(t, st, arc.Host{}, o)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			left := make(chan bool)
			go func() {
				defer close(left)
				_, err := a.Run(ctx, arc.Objective{ID: "7", Text: "Mail Bob.", Once: how == "once"})
				assert.Error(t, err)
			}()
			<-began
			synctest.Wait()
			end(t, a, b, func() { stop(); <-left })
			call := `mail {"To":"bob"} in attempt 1: its end is not known, its idempotency key is ` + key
			r, err := b.In("").Report(t.Context(), "7")
			require.NoError(t, err)
			require.Contains(t, r.Text, "\n"+call, how)
			require.Contains(t, r.Text, "\nbook {} in attempt 1: done", how)
			require.Contains(t, journal(t, b, "7"), "unknown_end: "+call, how)
			require.Equal(t, &reason.Usage{Calls: 1, Input: 100, Output: 10}, r.Usage, how)
			next, _ := agent(t, st, arc.Host{Workers: []act.Worker{chat}}, o)
			require.Equal(t, arc.Spent, run(t, next, arc.Objective{Text: "Mail Ann."}).Cause, how)
		})
	}
}

// An outage that lasts blocks a run that has paid already: it says so, or whoever begins another one pays twice. Tried
// again it goes on where it was.
func TestOutageTellsWhatIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paid, away := 0, true
		pay := tools.Func("pay", "", func(context.Context, struct{}) (string, error) { paid++; return "paid", nil })
		pay.Irreversible = true
		model := reason.ModelFunc(func(ctx context.Context, r *reason.Request) (*reason.Response, error) {
			switch {
			case len(r.Messages) == 1:
				return reasontest.Call("pay", `{}`)(ctx, r)
			case away:
				return nil, &reason.Error{Class: reason.Unavailable}
			}
			return reasontest.Say("it is paid")(ctx, r)
		})
		w := act.Worker{Name: "bank", Executor: tools.New(model, nil, pay), Gates: []act.Gate{act.NoGate}}
		a, story := agent(t, nil, arc.Host{Workers: []act.Worker{w}}, nil)
		r := run(t, a, arc.Objective{ID: "7", Text: "Pay the bill."})
		require.Equal(t, []any{arc.Blocked, arc.Outage}, []any{r.Status, r.Cause})
		require.Equal(t, "unavailable\npay {} in attempt 1: done", r.Text)
		require.Contains(t, *story, "blocked outage: "+r.Text)
		away = false
		r, err := a.In("").Retry(t.Context(), "7", "")
		require.NoError(t, err)
		require.Equal(t, "it is paid", r.Text)
		require.Equal(t, []int{1, 1}, []int{paid, r.Attempts})
	})
}

// Who watches no run in particular is told that some run has gone on, until the context ends.
func TestWatchAny(t *testing.T) {
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{(&arctest.Worker{}).As("shop")}}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for e, err := range a.In("").Watch(ctx, "") {
		require.Zero(t, e)
		switch n++; n {
		case 1:
			run(t, a, arc.Objective{Text: "write"})
		case 2:
			require.NoError(t, err)
			cancel()
		default:
			require.ErrorIs(t, err, context.Canceled)
		}
	}
	require.Equal(t, 3, n)
}

// What a step of an attempt has kept is told while the attempt goes on.
func TestWatchWithinAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := make(chan bool)
		worker := act.Worker{Name: "ann", Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
			func(ctx context.Context, c *act.Call) (*act.Result, error) {
				<-time.After(time.Second) // Watch has seen all that there is
				act.Note(ctx, act.Event{Kind: "half"})
				if _, err := act.Step(ctx, "half", nil, func(context.Context) (int, error) { return 1, nil }); err != nil {
					return nil, err
				}
				select {
				case <-heard:
					return &act.Result{Text: "done"}, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			})}
		alone := struct{ store.Store }{store.NewMem()} // no Changer, as Badger's
		a, _ := agent(t, alone, arc.Host{Workers: []act.Worker{worker}}, nil)
		go a.Run(t.Context(), arc.Objective{ID: "7", Text: "write"})
		synctest.Wait() // it has begun
		for e, err := range a.In("").Watch(t.Context(), "7") {
			require.NoError(t, err)
			require.NotEqual(t, "waiting", e.Kind)
			if e.Kind == "half" {
				close(heard)
			}
		}
		require.NoError(t, a.Close())
	})
}

func TestShutdownNamesWhatStillRuns(t *testing.T) {
	began := make(chan bool)
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{stuck(began)}}, nil)
	ended := make(chan error)
	go func() {
		_, err := a.Run(t.Context(), arc.Objective{ID: "7", Scope: "acme", Text: "write"})
		ended <- err
	}()
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, a.Shutdown(ctx), "acme//7")
	require.ErrorIs(t, <-ended, arc.ErrClosed)
}

// mortal is a store that ends with the n-th commit: before it is made, or after.
type mortal struct {
	store.Store
	left *atomic.Int64
	made bool // the last commit is made, and nobody hears of it
}

var errDead = errors.New("the process has ended")

func (m mortal) Get(ctx context.Context, key string) (store.Entry, error) {
	if m.left.Load() < 0 {
		return store.Entry{}, errDead
	}
	return m.Store.Get(ctx, key)
}

func (m mortal) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	left := m.left.Add(-1)
	if left == -1 && m.made {
		_, _ = m.Store.Commit(ctx, ops...)
	}
	if left < 0 {
		return 0, errDead
	}
	return m.Store.Commit(ctx, ops...)
}

// D11: wherever a process ends, the next one goes on by itself. No attempt whose result was committed is made
// again, and nothing is paid twice.
func TestGoesOnAfterACrash(t *testing.T) {
	whole := 0
	for n := int64(0); whole == 0; n++ {
		for _, made := range []bool{false, true} {
			st := store.NewMem()
			pay, mail := &arctest.Worker{}, &arctest.Worker{Turns: []arctest.Turn{{Refuse: "short"}, {Text: "sent"}}}
			bank := pay.As("bank", "pay")
			bank.Irreversible = true
			h := arc.Host{Reasoner: &arctest.Reasoner{Decision: fixed}, Workers: []act.Worker{bank, mail.As("mail", "write")}}
			o := arc.Objective{ID: "7", Text: "Refund the order.", Inputs: order(1), Session: "s"}
			left := new(atomic.Int64)
			left.Store(n)
			a, _ := agent(t, mortal{st, left, made}, h, nil)
			_, err := a.Run(t.Context(), o)
			if err == nil {
				require.Greater(t, n, int64(6), "a run has more commits")
				whole++
				continue
			}
			before := len(pay.Calls()) + len(mail.Calls())
			b, _ := agent(t, st, h, nil)
			r, err := b.In("").Report(t.Context(), "7")
			if errors.Is(err, store.ErrNotFound) {
				require.Zero(t, before, "nothing is done before the run is stored")
				continue
			}
			require.NoError(t, err)
			for r.Status == arc.Running { // until it has ended, or waits for a person
				for range b.In("").Watch(t.Context(), "7") {
					if r, err = b.In("").Report(t.Context(), "7"); r.Status != arc.Running {
						break
					}
				}
				require.NoError(t, err)
			}
			require.LessOrEqual(t, len(pay.Calls()), 1)
			if r.Status == arc.Waiting {
				require.Contains(t, r.Text, "its end is not known", "commit %d", n)
				continue
			}
			require.Equal(t, arc.Delivered, r.Status, "commit %d: %s", n, r.Text)
			require.Equal(t, "sent", r.Text)
			require.Len(t, pay.Calls(), 1)
			require.LessOrEqual(t, len(mail.Calls()), 3)
			require.LessOrEqual(t, r.Attempts, 3)
		}
	}
}

func TestJudge(t *testing.T) {
	r := &arctest.Reasoner{Decision: fixed}
	a, _ := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{
		(&arctest.Worker{}).As("bank", "pay"), (&arctest.Worker{}).As("mail", "write"),
	}}, nil)
	for n := range 5 {
		id := fmt.Sprint(n)
		got := run(t, a, arc.Objective{ID: id, Text: "Refund the order.", Inputs: order(n), Provisional: n < 2})
		require.Equal(t, arc.Delivered, got.Status)
		switch {
		case n < 2:
			require.NoError(t, a.In("").Judge(t.Context(), id, learn.Delivered, ""))
		case n == 3:
			cut := strings.Repeat(" ", 2<<10-20) + "ghp_" + "x9Q2mZ7bTt4LkPw8Rv1Yc6Hd3Jf5Ng0SaEuB" // where it is cut
			require.NoError(t, a.In("").Judge(t.Context(), id, learn.Failed, "the wrong customer"+cut))
		}
		require.Equal(t, n == 2 || n == 3, got.Fired == 1, "run %d", n)
	}
	for e := range a.In("").Journal(t.Context(), "3") {
		require.NotContains(t, e.Text, "ghp_")
	}
}

// A verdict corrects the figures of the one worker that delivered the run. A task of the host's that names a
// worker is for that worker alone.
func TestJudgeFigures(t *testing.T) {
	bad := &arctest.Worker{Turns: []arctest.Turn{{Refuse: "no"}}}
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{
		(&arctest.Worker{}).As("ann"), bad.As("bob"), (&arctest.Worker{}).As("cid"),
	}}, nil)
	book, err := a.In("").Book(t.Context())
	require.NoError(t, err)
	run(t, a, arc.Objective{ID: "1", Text: "mend it", Provisional: true, Tasks: []reason.Task{{Objective: "mend", Worker: "ann"}}})
	require.Zero(t, book.Stats("ann", "").Judged, "nobody has judged it")
	for _, tt := range []struct {
		verdict           learn.Verdict
		judged, delivered int
	}{{learn.Unknown, 0, 0}, {learn.Failed, 1, 0}, {learn.Delivered, 1, 1}} {
		require.NoError(t, a.In("").Judge(t.Context(), "1", tt.verdict, "as read"))
		s := book.Stats("ann", "")
		require.Equal(t, []int{1, tt.judged, tt.delivered}, []int{s.Attempts, s.Judged, s.Delivered}, tt.verdict)
	}
	r := run(t, a, arc.Objective{Text: "mend it", Tasks: []reason.Task{{Objective: "mend", Worker: "bob"}}})
	require.Equal(t, []any{arc.Blocked, arc.Exhausted, 2}, []any{r.Status, r.Cause, r.Attempts})
	require.Len(t, a.Workers(), 3)
}

// A host adds a worker to those that there are: each of its gates is asked as before, and a copy changes nothing.
func TestAddAWorker(t *testing.T) {
	asked := 0
	gate := act.GateFunc(func(context.Context, *act.Call, *act.Result) (act.Verdict, error) {
		asked++
		return act.Verdict{Pass: true}, nil
	})
	ann := (&arctest.Worker{}).As("ann")
	ann.Gates = nil
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{ann}, Gates: []act.Gate{gate}}, nil)
	require.NoError(t, a.SetWorkers(append(a.Workers(), (&arctest.Worker{}).As("bob", "write"))))
	a.Workers()[0].Name = "cid"
	r := run(t, a, arc.Objective{Text: "mend it", Tasks: []reason.Task{{Objective: "mend", Worker: "ann"}}})
	require.Equal(t, []any{arc.Delivered, 1, 2}, []any{r.Status, asked, len(a.Workers())})
}

// A subgoal is recalled for, reached and learned by itself; then the reasoner goes on with what stands above.
func TestSubgoal(t *testing.T) {
	r := planned(
		&reason.Decision{Impasse: "missing_capability", Reasoning: "no account", Subgoal: "open an account"},
		arctest.Tasks("", task("open it", "")),
		arctest.Tasks("", task("pay", "")),
	)
	a, _ := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{(&arctest.Worker{}).As("ann")}}, nil)
	got := run(t, a, arc.Objective{Text: "pay the bill"})
	require.Equal(t, arc.Delivered, got.Status)
	require.Equal(t, "open an account", r.Briefs()[1].Text)
	require.Equal(t, []string{"pay the bill"}, r.Briefs()[1].Goals)
	require.Equal(t, "open it", r.Briefs()[2].Lineage[0].Task.Objective)
	got = run(t, a, arc.Objective{Text: "pay the bill"})
	require.Equal(t, arc.Delivered, got.Status)
}

// A reasoner that makes a subgoal of each step does not go on for ever.
func TestSubgoalUponSubgoal(t *testing.T) {
	n := 0
	r := &arctest.Reasoner{Decision: func(b *reason.Brief) (*reason.Decision, error) {
		if n++; len(b.Goals) > 0 {
			return arctest.Tasks("", task("reach it", "")), nil
		}
		return &reason.Decision{Impasse: "no_approach", Subgoal: fmt.Sprint("first see to number ", n)}, nil
	}}
	a, _ := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{(&arctest.Worker{}).As("ann")}}, nil)
	require.Equal(t, arc.Asking, run(t, a, arc.Objective{Text: "pay the bill"}).Status)
	require.Less(t, n, 50)
}

// A subgoal that was begun in the run, in equal words, is no way on: a person is asked at once, and by name.
// When the person has spoken it may be one.
func TestSubgoalAgain(t *testing.T) {
	for name, asks := range map[string]func(b *reason.Brief, n int) string{
		"the same": func(*reason.Brief, int) string { return "Find out how." },
		"in turn":  func(_ *reason.Brief, n int) string { return []string{"find out how", "find the key"}[n%2] },
		"in itself": func(b *reason.Brief, _ int) string {
			return map[int]string{0: "find the key", 1: "find out how"}[len(b.Goals)%2]
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, reached := 0, 0
			r := &arctest.Reasoner{Decision: func(b *reason.Brief) (*reason.Decision, error) {
				if len(b.Goals) > 0 && name != "in itself" {
					reached++
					return arctest.Tasks("", task("look", "")), nil
				}
				n++
				return &reason.Decision{Impasse: "no_approach", Subgoal: asks(b, n)}, nil
			}}
			a, _ := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{(&arctest.Worker{}).As("ann")}}, nil)
			got := run(t, a, arc.Objective{ID: "7", Text: "mail the report"})
			require.Equal(t, arc.Asking, got.Status)
			require.Contains(t, strings.ToLower(got.Text), "no_approach: find ")
			require.LessOrEqual(t, n, 3)
			before := n + reached
			got, err := a.In("").Answer(t.Context(), "7", "", "look again")
			require.NoError(t, err)
			require.Equal(t, arc.Asking, got.Status)
			require.Greater(t, n+reached, before+1, "it is begun again")
		})
	}
}

// A way that has failed is not carried out again in the run, under its name or, where it has none, as equal tasks;
// another way is, and the same one when a person has spoken. Where the reasoner has no other, the run ends as
// that way did.
func TestFailedApproachAgain(t *testing.T) {
	for _, approach := range []string{"call the API", ""} {
		same, ways := arctest.Tasks(approach, reason.Task{Objective: "do it"}), 0
		r := &arctest.Reasoner{Decision: func(b *reason.Brief) (*reason.Decision, error) {
			if ways++; ways == 3 {
				require.Contains(t, b.Complaint, "has failed in this run")
				return arctest.Tasks("by hand", reason.Task{Objective: "do it by hand"}), nil
			}
			return same, nil
		}}
		w := &arctest.Worker{Turns: []arctest.Turn{{Refuse: "nothing was done"}}}
		a, _ := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{w.As("ann")}}, nil)
		got := run(t, a, arc.Objective{ID: "7", Text: "mail the report"})
		require.Equal(t, []any{arc.Blocked, arc.Exhausted, "nothing was done"}, []any{got.Status, got.Cause, got.Text})
		var done []string
		for _, c := range w.Calls() {
			done = append(done, c.Task.Objective)
		}
		require.Equal(t, []string{"do it", "do it", "do it by hand", "do it by hand"}, done)
		got, err := a.In("").Retry(t.Context(), "7", "")
		require.NoError(t, err)
		require.Equal(t, arc.Exhausted, got.Cause)
		require.Len(t, w.Calls(), 6, "and once after a retry")
	}
}

// A way that failed and is one of several is no reason to refuse the others: the one that is chosen counts.
func TestFailedApproachAmongOthers(t *testing.T) {
	way := func(s string) *reason.Decision { return arctest.Tasks(s, reason.Task{Objective: s}) }
	both := &reason.Decision{
		Alternatives: []reason.Decision{*way("first"), *way("second")},
		Preferences:  []reason.Preference{{Approach: "second", Is: "best"}},
	}
	n := 0
	r := &arctest.Reasoner{Decision: func(*reason.Brief) (*reason.Decision, error) {
		n++
		return []*reason.Decision{way("first"), both, way("third")}[n-1], nil
	}}
	w := &arctest.Worker{Turns: []arctest.Turn{{Refuse: "nothing was done"}}}
	a, _ := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{w.As("ann")}}, nil)
	require.Equal(t, arc.Exhausted, run(t, a, arc.Objective{Text: "mail the report"}).Cause)
	done := ""
	for _, c := range w.Calls() {
		done += c.Task.Objective + " "
	}
	require.Equal(t, "first first second second third third ", done)
}

// A note is the word of a person, also where the run goes on with an attempt that an outage has blocked.
func TestFailedApproachAfterNote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		r := &arctest.Reasoner{Decision: func(*reason.Brief) (*reason.Decision, error) {
			way := []string{"call the API", "by hand", "call the API"}[n]
			n++
			return arctest.Tasks(way, reason.Task{Objective: way}), nil
		}}
		away, done := true, ""
		x := act.ExecutorFunc(func(_ context.Context, c *act.Call) (*act.Result, error) {
			if c.Task.Objective == "by hand" && away {
				return nil, &reason.Error{Class: reason.Unavailable, Err: errors.New("away")}
			}
			done += c.Task.Objective + ", "
			return nil, errors.New("nothing was done")
		})
		h := arc.Host{Reasoner: r, Workers: []act.Worker{{Name: "ann", Executor: x, Gates: []act.Gate{act.NoGate}}}}
		a, _ := agent(t, nil, h, nil)
		require.Equal(t, arc.Outage, run(t, a, arc.Objective{ID: "7", Text: "mail the report"}).Cause)
		away = false
		got, err := a.In("").Retry(t.Context(), "7", "the API is mended")
		require.NoError(t, err)
		require.Equal(t, arc.Exhausted, got.Cause)
		require.Equal(t, "call the API, call the API, by hand, by hand, call the API, call the API, ", done)
	})
}

func TestOnceIsNotMadeAgain(t *testing.T) {
	began := make(chan bool, 1)
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{stuck(began)}}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	r, err := a.Run(ctx, arc.Objective{ID: "7", Text: "write", Once: true})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, arc.Running, r.Status)
	require.Equal(t, "write", r.Text, "the task that it is at")
	r, err = a.In("").Resume(t.Context(), "7")
	require.NoError(t, err)
	require.Equal(t, arc.Interrupted, r.Cause)
}

// Also where a person has allowed it in between.
func TestOnceAfterAnApproval(t *testing.T) {
	began := make(chan bool, 1)
	w := stuck(began)
	w.Mode = act.Gated
	st := store.NewMem()
	a, _ := agent(t, st, arc.Host{Workers: []act.Worker{w}}, nil)
	r := run(t, a, arc.Objective{ID: "7", Text: "write", Once: true})
	require.NoError(t, a.In("").Decide(t.Context(), act.Ruling{Approval: r.Approvals[0].ID, By: "anna", Allow: true}))
	<-began
	require.NoError(t, a.Close()) // as a crash: nothing of the attempt is stored
	b, _ := agent(t, st, arc.Host{Workers: []act.Worker{w}}, &arc.Options{Process: "b"})
	r, err := b.In("").Wait(t.Context(), "7")
	require.NoError(t, err)
	require.Equal(t, arc.Interrupted, r.Cause)
	require.Regexp(t, `\ntaken_up b-\w+: from \w+\n`, strings.Join(journal(t, b, "7"), "\n"))
}

// What was due before a run stopped for a person has it not go on, and its approval stays open meanwhile.
func TestWhatWasDueIsLeft(t *testing.T) {
	w := (&arctest.Worker{}).As("ann")
	w.Mode = act.Gated
	a, story := agent(t, nil, arc.Host{Workers: []act.Worker{w}}, nil)
	require.Equal(t, arc.Waiting, run(t, a, arc.Objective{ID: "7", Text: "write"}).Status)
	told := len(*story)
	require.NoError(t, a.In("").GoOn("7", time.Unix(0, 0)))
	require.Len(t, *story, told)
}

// A person rules on what is open whatever the run does meanwhile: while it makes another call of the same answer,
// which was allowed before or needed nobody. A no is kept, though silence would have agreed by the time it is read.
func TestRulesWhileItWorks(t *testing.T) {
	for _, mode := range []act.Mode{act.Veto, act.Gated} {
		for _, first := range []act.Mode{act.Autonomous, mode} {
			for _, allow := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					var sent []string
					send := func(name string, mode act.Mode) tools.Tool {
						f := tools.Func(name, "", func(context.Context, struct{}) (string, error) {
							time.Sleep(3 * time.Second)
							sent = append(sent, name)
							return "sent", nil
						})
						f.Mode = mode
						return f
					}
					both := func(context.Context, *reason.Request) (*reason.Response, error) {
						calls := []reason.ToolCall{{ID: "a", Name: "ann"}, {ID: "b", Name: "bob"}}
						return &reason.Response{Calls: calls, Stop: reason.StopTools}, nil
					}
					model := reasontest.NewScript(both, reasontest.Say("done"))
					chat := act.Worker{Name: "chat", Gates: []act.Gate{act.NoGate},
						Executor: tools.New(model, nil, send("ann", first), send("bob", mode))}
					a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{chat}}, &arc.Options{ApprovalTimeout: 2 * time.Second})
					v := a.In("")
					go func() { _, _ = a.Run(context.Background(), arc.Objective{ID: "7", Text: "mail them"}) }()
					rule := func(name string, allow bool) error {
						time.Sleep(500 * time.Millisecond)
						r, err := v.Report(t.Context(), "7")
						require.NoError(t, err)
						i := slices.IndexFunc(r.Approvals, func(p act.Approval) bool { return p.Name == name })
						require.GreaterOrEqual(t, i, 0, "%s %v", r.Status, r.Approvals)
						if name == "bob" {
							require.Equal(t, arc.Running, r.Status)
							require.Len(t, r.Approvals, 1, "ann is allowed")
						}
						ruling := act.Ruling{Approval: r.Approvals[i].ID, By: "anna", Allow: allow}
						err = v.Decide(t.Context(), ruling)
						require.ErrorIs(t, v.Decide(t.Context(), ruling), arc.ErrState)
						return err
					}
					if first == mode {
						require.NoError(t, rule("ann", true))
					}
					require.NoError(t, rule("bob", allow))
					r, err := v.Wait(t.Context(), "7")
					require.NoError(t, err)
					require.Equal(t, arc.Delivered, r.Status)
					require.Equal(t, map[bool][]string{true: {"ann", "bob"}, false: {"ann"}}[allow], sent)
				})
			}
		}
	}
}

// Who keeps reports by what has changed sees at once that something is asked, or was ruled on, while the run works.
func TestApprovalsAreChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := tools.Func("slow", "", func(context.Context, struct{}) (string, error) {
			time.Sleep(10 * time.Second)
			return "done", nil
		})
		mail := tools.Func("mail", "", func(context.Context, struct{}) (string, error) { return "sent", nil })
		mail.Mode = act.Gated
		both := func(context.Context, *reason.Request) (*reason.Response, error) {
			calls := []reason.ToolCall{{ID: "a", Name: "slow"}, {ID: "b", Name: "mail"}}
			return &reason.Response{Calls: calls, Stop: reason.StopTools}, nil
		}
		model := reasontest.NewScript(reasontest.Call("slow", `{}`), both, reasontest.Say("done"))
		chat := act.Worker{Name: "chat", Gates: []act.Gate{act.NoGate}, Executor: tools.New(model, nil, slow, mail)}
		a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{chat}}, nil)
		v := a.In("")
		go func() { _, _ = a.Run(context.Background(), arc.Objective{ID: "7", Text: "mail them"}) }()
		time.Sleep(5 * time.Second)
		_, mark, err := v.Changed(0)
		require.ErrorIs(t, err, store.ErrNotFound)
		time.Sleep(10 * time.Second)
		ids, mark, err := v.Changed(mark)
		require.NoError(t, err)
		require.Contains(t, ids, "7")
		r, err := v.Report(t.Context(), "7")
		require.NoError(t, err)
		require.Equal(t, arc.Running, r.Status)
		require.NoError(t, v.Decide(t.Context(), act.Ruling{Approval: r.Approvals[0].ID, By: "anna", Allow: true}))
		ids, _, err = v.Changed(mark)
		require.NoError(t, err)
		require.Contains(t, ids, "7")
		r, err = v.Wait(t.Context(), "7")
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status)
	})
}

// Once its time is over an approval is not open, also where nobody has looked at the run yet.
func TestRulingIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := (&arctest.Worker{}).As("ann")
		w.Mode = act.Gated
		var later time.Duration
		a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w}}, &arc.Options{Now: func() time.Time { return time.Now().Add(later) }})
		r := run(t, a, arc.Objective{ID: "7", Text: "write"})
		synctest.Wait()
		later = 24 * time.Hour
		err := a.In("").Decide(t.Context(), act.Ruling{Approval: r.Approvals[0].ID, By: "anna", Allow: true})
		require.ErrorIs(t, err, arc.ErrState)
		require.ErrorContains(t, err, "its Deadline has passed")
	})
}

// What a person has ruled on goes on, however many runs the scheduler has under way.
func TestRulingsTakeNoTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const runs = 40
		start, began := time.Now(), make(chan bool, runs)
		w := stuck(began)
		w.Mode = act.Gated
		a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w}}, nil)
		for range runs {
			r := run(t, a, arc.Objective{Text: "write"})
			require.NoError(t, a.In("").Decide(t.Context(), act.Ruling{Approval: r.Approvals[0].ID, By: "anna", Allow: true}))
		}
		for range runs {
			<-began
		}
		require.Less(t, time.Since(start), time.Minute, "none waits for the end of another")
	})
}

// A worker that calls tools is handed the plan that fires, also where nobody else plans.
func TestToolsFire(t *testing.T) {
	refund := tools.Tool{Worker: act.Worker{Name: "refund", Input: json.RawMessage(`{"type":"object"}`)}, Call: func(
		_ context.Context, in json.RawMessage) (json.RawMessage, error) {
		return in, nil
	}}
	asked := 0
	model := reason.ModelFunc(func(_ context.Context, r *reason.Request) (*reason.Response, error) {
		asked++
		if len(r.Messages) > 1 || strings.Contains(r.Messages[0].Text, `"id":"SO-1002"`) { // it is shown what was called
			return &reason.Response{Text: "It is refunded.", Stop: reason.StopEnd}, nil
		}
		of := fmt.Sprintf(`{"id":"SO-%d"}`, 1000+(asked-1)/2)
		return &reason.Response{Calls: []reason.ToolCall{{ID: "1", Name: "refund", Inputs: json.RawMessage(of)}}, Stop: reason.StopTools}, nil
	})
	w := act.Worker{Name: "desk", Executor: tools.New(model, nil, refund), Gates: []act.Gate{act.NoGate}}
	a, story := agent(t, nil, arc.Host{Workers: []act.Worker{w}}, nil)
	for n := range 3 {
		r := run(t, a, arc.Objective{ID: fmt.Sprint(n), Text: "Refund the order.", Inputs: order(n)})
		require.Equal(t, arc.Delivered, r.Status, r.Text)
		require.Equal(t, n > 1, r.Fired == 1, "%d: %v", n, *story)
	}
	require.Equal(t, 5, asked, "of the third only the answer is the model's")
	book, err := a.In("").Book(t.Context())
	require.NoError(t, err)
	for _, verdict := range []learn.Verdict{learn.Unknown, learn.Failed} {
		require.NoError(t, a.In("").Judge(t.Context(), "2", verdict, ""))
		s := book.Stats("desk", "")
		require.Equal(t, []int{3, 2, 2}, []int{s.Attempts, s.Judged, s.Delivered}, "what a plan did is no skill of its worker")
	}
}

// A plan that is left after its first call was not carried out by itself: what the model made of the rest counts.
func TestSkillBesideAPlan(t *testing.T) {
	state := json.RawMessage(`"open"`)
	tool := func(name string) tools.Tool {
		return tools.Tool{Worker: act.Worker{Name: name, Input: json.RawMessage(`{"type":"object"}`)}, Call: func(
			context.Context, json.RawMessage) (json.RawMessage, error) {
			return state, nil
		}}
	}
	model := reason.ModelFunc(func(_ context.Context, r *reason.Request) (*reason.Response, error) {
		made := len(r.Messages)/2 + strings.Count(r.Messages[0].Text, "{} returned: ") // by it, and by the plan
		if made < 2 {
			call := reason.ToolCall{ID: "1", Name: []string{"look", "close"}[made], Inputs: json.RawMessage(`{}`)}
			return &reason.Response{Calls: []reason.ToolCall{call}, Stop: reason.StopTools}, nil
		}
		return &reason.Response{Text: "done", Stop: reason.StopEnd}, nil
	})
	w := act.Worker{Name: "desk", Executor: tools.New(model, nil, tool("look"), tool("close")), Gates: []act.Gate{act.NoGate}}
	a, story := agent(t, nil, arc.Host{Workers: []act.Worker{w}}, nil)
	book, err := a.In("").Book(t.Context())
	require.NoError(t, err)
	for n, judged := range []int{1, 2, 2, 3} {
		if n == 3 {
			state = json.RawMessage(`"locked"`) // the plan is left, and the model goes on
		}
		r := run(t, a, arc.Objective{ID: fmt.Sprint(n), Text: "Close it."})
		require.Equal(t, n >= 2, r.Fired == 1, "%d: %v", n, *story)
		require.Equal(t, judged, book.Stats("desk", "").Judged, "%d: %v", n, *story)
	}
	require.NoError(t, a.In("").Judge(t.Context(), "3", learn.Failed, ""))
	require.Equal(t, 2, book.Stats("desk", "").Delivered)
}

// Where what a delivery has taught is forgotten its plan cannot be stopped by a verdict, and whoever gives it is told.
func TestJudgeOfTheForgotten(t *testing.T) {
	st := store.NewMem()
	a, _ := agent(t, st, arc.Host{Workers: []act.Worker{(&arctest.Worker{}).As("ann")}}, nil)
	run(t, a, arc.Objective{ID: "1", Text: "write"})
	layer, err := learn.New(t.Context(), st, nil)
	require.NoError(t, err)
	defer layer.Close()
	require.NoError(t, layer.Forget(t.Context(), "_", "1/1"))
	require.ErrorIs(t, a.In("").Judge(t.Context(), "1", learn.Failed, "wrong"), store.ErrNotFound)
	r, err := a.In("").Report(t.Context(), "1")
	require.NoError(t, err)
	require.Equal(t, learn.Failed, r.Verdict, "it is kept all the same")
}

// No worker can mend a gate that cannot run: the work is not paid for again, by anybody.
func TestGateThatCannotRun(t *testing.T) {
	for _, class := range []reason.ErrorClass{reason.Permanent, reason.Permission} {
		fails := error(&reason.Error{Class: class, Err: errors.New("gotest is not there")})
		gate := act.GateFunc(func(context.Context, *act.Call, *act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: fails == nil}, fails
		})
		var small, large arctest.Worker
		a, _ := agent(t, nil, arc.Host{Gates: []act.Gate{gate}, Workers: []act.Worker{small.As("small"), large.As("large")}}, nil)
		r := run(t, a, arc.Objective{Text: "Mend the build."})
		require.Equal(t, []any{arc.Refused, 1}, []any{r.Cause, len(small.Calls()) + len(large.Calls())})
		fails = nil
		r, err := a.In("").Retry(t.Context(), r.ID, "")
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, r.Status)
	}
}

// A plan is left where a result varies, and has fired as far as its calls were made; of one that was left before
// the first of them nothing has, and what is refused then is not held against it.
func TestPlanIsLeft(t *testing.T) {
	for _, irreversible := range []bool{false, true} {
		n, asked, refused := 0, 0, ""
		test := tools.Func("test", "", func(context.Context, struct{}) (string, error) {
			n++
			return fmt.Sprintf("ok 0.%02ds", n), nil
		})
		test.Irreversible = irreversible
		edit := tools.Func("edit", "", func(context.Context, map[string]string) (string, error) { return "edited", nil })
		model := reason.ModelFunc(func(_ context.Context, r *reason.Request) (*reason.Response, error) {
			asked++
			said, _ := json.Marshal(r.Messages)
			for i, name := range []string{"test", "edit"} {
				if !strings.Contains(string(said), []string{" 0.", "edited"}[i]) {
					return &reason.Response{Calls: []reason.ToolCall{{ID: "1", Name: name, Inputs: json.RawMessage(`{}`)}}}, nil
				}
			}
			return &reason.Response{Text: "mended"}, nil
		})
		gate := act.GateFunc(func(context.Context, *act.Call, *act.Result) (act.Verdict, error) {
			return act.Verdict{Pass: refused == "", Complaint: refused}, nil
		})
		a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{{
			Name: "mend", Executor: tools.New(model, nil, test, edit), Gates: []act.Gate{gate},
		}}}, nil)
		o := arc.Objective{Text: "Mend the build.", Situation: "red"}
		for i := range 6 {
			asked, refused = 0, ""
			if irreversible && i == 3 {
				refused = "still red"
			}
			r := run(t, a, o)
			for r.Status == arc.Waiting { // what cannot be undone asks where a plan fires
				require.NoError(t, a.In("").Decide(t.Context(), act.Ruling{Approval: r.Approvals[0].ID, By: "anna", Allow: true}))
				var err error
				r, err = a.In("").Wait(t.Context(), r.ID)
				require.NoError(t, err)
			}
			require.Equal(t, refused == "", r.Status == arc.Delivered, r.Text)
			known, err := a.In("").Known(t.Context())
			require.NoError(t, err)
			fired, left := "", "left test: it returned something else than when it was learned"
			if irreversible {
				left = "left test: it cannot be undone"
			}
			if n := len(known.Suggestions); n > 0 {
				fired = "fired " + known.Suggestions[0].ID + ": calls of a plan that were made unasked: 1"
			}
			story := journal(t, a, r.ID)
			require.Equal(t, i == 1, slices.ContainsFunc(story, func(s string) bool { return strings.HasPrefix(s, "learned") }), story)
			require.Equal(t, i > 1, slices.Contains(story, left), story)
			require.Equal(t, i > 1 && !irreversible, slices.Contains(story, fired), story)
			require.Equal(t, i > 1 && !irreversible, r.Fired == 1)
			if asks := 3; !irreversible { // of the plan that fires the model makes the second call, and the answer
				if i > 1 {
					asks = 2
				}
				require.Equal(t, asks, asked, "run %d", i)
			}
		}
	}
}

// Why a delivery teaches no plan is told: a call says what a page, or the answer, says, and the case does not.
func TestNotLearnedIsTold(t *testing.T) {
	send := tools.Tool{Worker: act.Worker{Name: "send", Input: json.RawMessage(`{"type":"object"}`)}, Call: func(
		_ context.Context, in json.RawMessage) (json.RawMessage, error) {
		return in, nil
	}}
	model := reason.ModelFunc(func(_ context.Context, r *reason.Request) (*reason.Response, error) {
		if len(r.Messages) > 1 {
			return &reason.Response{Text: "It went to warehouse-9.", Stop: reason.StopEnd}, nil
		}
		return &reason.Response{Calls: []reason.ToolCall{{ID: "1", Name: "send", Inputs: json.RawMessage(`{"to":"warehouse-9"}`)}}, Stop: reason.StopTools}, nil
	})
	w := act.Worker{Name: "desk", Executor: tools.New(model, nil, send), Gates: []act.Gate{act.NoGate}}
	a, story := agent(t, nil, arc.Host{Workers: []act.Worker{w}}, nil)
	run(t, a, arc.Objective{Text: "Send it."})
	require.Contains(t, *story, "not_learned: send: to is of a memory, page, message, answer or complaint alone")
	run(t, a, arc.Objective{Text: "Send it to warehouse-9."})
	run(t, a, arc.Objective{Text: "Send it to warehouse-9."})
	require.Contains(t, *story, "learned: the plan fires from now on where the case is the same")
}

// A declared secret is in nothing that is stored, asked or told; the worker that lists it gets it.
func TestSecrets(t *testing.T) {
	const secret = "Tr0ub4dor-3-is-long"
	st := store.NewMem()
	var got string
	w := act.Worker{
		Name: "db", Secrets: []string{"DB"}, Gates: []act.Gate{act.NoGate},
		Executor: act.ExecutorFunc(func(ctx context.Context, c *act.Call) (*act.Result, error) {
			got = string(c.Task.Inputs)
			return &act.Result{Text: "connected with " + act.Secret(ctx, "DB")}, nil
		}),
	}
	r := &arctest.Reasoner{Decision: func(b *reason.Brief) (*reason.Decision, error) {
		return arctest.Tasks("", reason.Task{Objective: "connect", Inputs: b.Inputs}), nil
	}}
	a, story := agent(t, st, arc.Host{Reasoner: r, Workers: []act.Worker{w}, Secrets: func(context.Context, string) (string, error) {
		return secret, nil
	}}, nil)
	in, _ := json.Marshal(map[string]string{"password": secret})
	o := arc.Objective{Text: "log in with " + secret, Inputs: in, Data: in, Conditions: []string{secret}, Secrets: []string{"DB"}}
	report := run(t, a, o)
	require.Equal(t, arc.Delivered, report.Status, report.Text)
	require.Contains(t, got, secret)
	for e, err := range st.Scan(t.Context(), store.Range{}) {
		require.NoError(t, err)
		require.NotContains(t, e.Key+string(e.Value), secret)
	}
	require.NotContains(t, fmt.Sprintf("%+v %+v %+v", *story, report, r.Briefs()), secret)
}

// On disk: what waits for a person when the process ends goes on when it is opened again; so does what a
// person has ruled on when it ends.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	w := &arctest.Worker{}
	gated := w.As("ann")
	gated.Mode = act.Gated
	h := arc.Host{Workers: []act.Worker{gated}}
	a, err := arc.Open(t.Context(), dir, h, nil)
	require.NoError(t, err)
	r := run(t, a, arc.Objective{ID: "7", Scope: "acme/anna", Text: "write"})
	require.Equal(t, arc.Waiting, r.Status)
	require.NoError(t, a.Close())
	a, err = arc.Open(t.Context(), dir, h, nil)
	require.NoError(t, err)
	v := a.In("acme/anna")
	for r, err := range v.Unfinished(t.Context()) {
		require.NoError(t, err)
		p := r.Approvals[0]
		require.NoError(t, a.Shutdown(t.Context())) // as if the process ended right after the ruling
		require.NoError(t, a.In(p.Scope).Decide(t.Context(), act.Ruling{Approval: p.ID, By: "ben", Note: "not now"}))
	}
	require.NoError(t, a.Close())
	a, err = arc.Open(t.Context(), dir, h, nil)
	require.NoError(t, err)
	v = a.In("acme/anna")
	r, err = v.Wait(t.Context(), "7")
	require.NoError(t, err)
	require.Equal(t, arc.Refused, r.Cause)
	require.Contains(t, r.Text, "ben: not now")
	require.Empty(t, w.Calls())
	for range a.In("acme").Runs(t.Context()) {
		t.Fatal("a run of a scope is one of the scope above")
	}
	require.NoError(t, a.Close())
	_, err = arc.Open(t.Context(), "", h, nil)
	require.Error(t, err)
	for _, bad := range []arc.Budget{{USD: -1}, {Tokens: -1}, {USD: math.NaN()}} {
		_, err = arc.New(t.Context(), store.NewMem(), h, &arc.Options{Daily: bad})
		require.ErrorContains(t, err, "below 0")
	}
}

func TestBudget(t *testing.T) {
	usd := .02
	r := &arctest.Reasoner{Decision: func(*reason.Brief) (*reason.Decision, error) {
		d := arctest.Tasks("", task("write", ""))
		d.Usage = &reason.Usage{Calls: 1, Input: 900, Output: 100, EstimateUSD: &usd}
		return d, nil
	}}
	w := &arctest.Worker{}
	a, _ := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{w.As("ann")}}, nil)
	for _, b := range []arc.Budget{{Tokens: 1000}, {USD: .02}} {
		got := run(t, a, arc.Objective{Text: "write", Budget: b})
		require.Equal(t, arc.Spent, got.Cause)
		require.Equal(t, 1000, got.Usage.Input+got.Usage.Output)
		require.Nil(t, got.Usage.CostUSD, "nobody has reported any")
	}
	require.Empty(t, w.Calls())
	got := run(t, a, arc.Objective{Text: "write", Budget: arc.Budget{Tokens: 1001, USD: .03}})
	require.Equal(t, arc.Delivered, got.Status)
}

// Sources are asked at once. That one has failed is told, and what is decided then is no plan.
func TestSourceFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := func(ctx context.Context, _ string, _ int) ([]string, error) {
			<-ctx.Done()
			return nil, errors.New("no index")
		}
		found := func(context.Context, string, int) ([]string, error) { return []string{"the handbook"}, nil }
		r := &arctest.Reasoner{Decision: func(b *reason.Brief) (*reason.Decision, error) {
			return arctest.Tasks("", reason.Task{Objective: "write", Inputs: b.Inputs}), nil
		}}
		h := arc.Host{Reasoner: r, Workers: []act.Worker{(&arctest.Worker{}).As("ann")}, Sources: []reason.Source{hangs, found, hangs}}
		a, _ := agent(t, nil, h, &arc.Options{Timeout: time.Minute})
		began := time.Now()
		for i := range 3 {
			require.Equal(t, arc.Delivered, run(t, a, arc.Objective{Text: "write", Inputs: order(i)}).Status)
		}
		require.Equal(t, 3*time.Minute, time.Since(began))
		require.Len(t, r.Briefs(), 3, "nothing fires")
		for _, b := range r.Briefs() {
			require.Len(t, b.Passages, 3)
			require.Contains(t, b.Passages[0], "A search failed, so what it would have found is missing: no index")
			require.Equal(t, "the handbook", b.Passages[2])
		}
	})
}

// What a Judge takes of its model counts as any call does: where it is away, refuses and passes.
func TestJudgeIsPaidFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		judge := act.Judge(reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) {
			usage := &reason.Usage{Input: 100}
			if n++; n == 1 {
				return nil, &reason.Error{Class: reason.Unavailable, Err: errors.New("cut off"), Usage: usage}
			}
			return &reason.Response{Text: fmt.Sprintf(`{"pass":%v,"complaint":"too long"}`, n > 2), Usage: usage}, nil
		}), "")
		w := (&arctest.Worker{}).As("ann")
		w.Gates = []act.Gate{judge}
		a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w}}, &arc.Options{Daily: arc.Budget{Tokens: 400}})
		got := run(t, a, arc.Objective{Text: "write", Budget: arc.Budget{Tokens: 200}})
		require.Equal(t, arc.Spent, got.Cause, got.Text)
		require.Equal(t, 200, got.Usage.Input)
		for range 2 {
			got = run(t, a, arc.Objective{Text: "write"})
			require.Equal(t, arc.Delivered, got.Status, got.Text)
			require.Equal(t, 100, got.Usage.Input)
		}
		require.Equal(t, arc.Spent, run(t, a, arc.Objective{Text: "write"}).Cause)
	})
}

// An Approver that fails is told of, and a person can rule in its place.
func TestApproverFails(t *testing.T) {
	w := (&arctest.Worker{}).As("ann")
	w.Mode = act.Gated
	a, story := agent(t, nil, arc.Host{Workers: []act.Worker{w}, Approver: func(context.Context, act.Approval) (act.Ruling, error) {
		panic("the chat is down")
	}}, nil)
	r := run(t, a, arc.Objective{ID: "7", Text: "write"})
	require.Equal(t, arc.Waiting, r.Status)
	require.Contains(t, *story, "approver_failed ann: panic: the chat is down")
	require.NoError(t, a.In("").Decide(t.Context(), act.Ruling{Approval: r.Approvals[0].ID, By: "anna", Allow: true}))
	r, err := a.In("").Wait(t.Context(), "7")
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status)
}

// What the tries of an attempt take counts, though each ends in an outage.
func TestBudgetInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := &reason.Error{Class: reason.Unavailable, Err: errors.New("cut off"), Usage: &reason.Usage{Calls: 1, CostUSD: new(2.0)}}
		w := &arctest.Worker{Turns: []arctest.Turn{{Err: away}}}
		a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w.As("ann")}}, nil)
		got := run(t, a, arc.Objective{Text: "write", Budget: arc.Budget{USD: 5}})
		require.Equal(t, arc.Spent, got.Cause)
		require.Len(t, w.Calls(), 3)
		require.InDelta(t, 6, *got.Usage.CostUSD, 1e-9)
	})
}

// Think keeps nothing, and does nothing.
func TestThink(t *testing.T) {
	st, w := store.NewMem(), &arctest.Worker{}
	a, story := agent(t, st, arc.Host{Reasoner: &arctest.Reasoner{Decision: fixed}, Workers: []act.Worker{
		w.As("bank", "pay"), (&arctest.Worker{}).As("mail", "write"),
	}}, nil)
	for n := range 3 {
		o := arc.Objective{Text: "Refund the order.", Inputs: order(n)}
		keys := 0
		for range st.Scan(t.Context(), store.Range{}) {
			keys++
		}
		events, calls := len(*story), len(w.Calls())
		th, err := a.Think(t.Context(), o)
		require.NoError(t, err)
		require.Equal(t, n == 2, th.Fired == 1, th.Advice.Why)
		require.Len(t, th.Tasks, 2)
		require.Equal(t, th.Tasks[0].Objective, th.Text)
		require.JSONEq(t, string(order(n)), string(th.Tasks[0].Inputs))
		for range st.Scan(t.Context(), store.Range{}) {
			keys--
		}
		require.Zero(t, keys)
		require.Equal(t, []int{events, calls}, []int{len(*story), len(w.Calls())})
		run(t, a, o)
	}
}

func TestDelete(t *testing.T) {
	st := store.NewMem()
	a, _ := agent(t, st, arc.Host{Workers: []act.Worker{(&arctest.Worker{}).As("ann")}}, nil)
	v := a.In("acme")
	for _, id := range []string{"a", "a/part", "b"} {
		run(t, a, arc.Objective{ID: id, Scope: "acme", Text: "write"})
	}
	require.NoError(t, v.Delete(t.Context(), "a"))
	require.ErrorIs(t, v.Delete(t.Context(), "a"), store.ErrNotFound)
	var left []string
	for r, err := range v.Runs(t.Context()) {
		require.NoError(t, err)
		left = append(left, r.ID)
	}
	require.Equal(t, []string{"a/part", "b"}, left)
	events := 0
	for _, err := range v.Watch(t.Context(), "a/part") {
		require.NoError(t, err)
		events++
	}
	require.Equal(t, 4, events)
	for e := range st.Scan(t.Context(), store.Range{}) {
		require.NotRegexp(t, "//(run|part|log)/a(/[^p]|$)", e.Key)
	}
}

// Who deletes a run has it forgotten: nothing that is kept has its words, and what it taught stays only where
// other runs came to it, too.
func TestDeleteForgets(t *testing.T) {
	mail := tools.Func("mail", "", func(context.Context, struct{ About string }) (string, error) { return "sent", nil })
	model := reason.ModelFunc(func(ctx context.Context, r *reason.Request) (*reason.Response, error) {
		if len(r.Messages) > 1 {
			return reasontest.Say("I told him of the divorce.")(ctx, r)
		}
		return reasontest.Call("mail", `{"About":"divorce"}`)(ctx, r)
	})
	refuses := act.GateFunc(func(_ context.Context, c *act.Call, _ *act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: c.Session != "wrong", Complaint: "say no word of the divorce"}, nil
	})
	chat := act.Worker{Name: "chat", Executor: tools.New(model, nil, mail), Gates: []act.Gate{refuses}}
	st := &compacts{Store: store.NewMem()}
	a, _ := agent(t, st, arc.Host{Workers: []act.Worker{chat}}, nil)
	v := a.In("acme/anna")
	for id, session := range map[string]string{"1": "c", "2": "c", "3": "wrong"} {
		run(t, a, arc.Objective{ID: id, Scope: "acme/anna", Session: session, Text: "Mail my lawyer about my divorce."})
	}
	kept := func() (keys []string) {
		for e, err := range st.Scan(t.Context(), store.Range{}) {
			require.NoError(t, err)
			if strings.Contains(string(e.Value), "divorce") {
				keys = append(keys, e.Key)
			}
		}
		return keys
	}
	known, err := v.Known(t.Context())
	require.NoError(t, err)
	require.Len(t, known.Suggestions, 1)
	require.NoError(t, v.Delete(t.Context(), "1"))
	require.NoError(t, v.Delete(t.Context(), "3"))
	known, err = v.Known(t.Context())
	require.NoError(t, err)
	require.Len(t, known.Suggestions, 1, "of run 2")
	require.NoError(t, v.Delete(t.Context(), "2"))
	require.Empty(t, kept())
	for n, failed := int64(1), true; failed; n++ { // whichever commit fails, what is marked as deleted is forgotten
		run(t, a, arc.Objective{ID: "4", Scope: "acme/anna", Text: "Mail my lawyer about my divorce."})
		st.fail.Store(n)
		failed = v.Delete(t.Context(), "4") != nil
		st.fail.Store(0)
		if r, _ := v.Report(t.Context(), "4"); r != nil && r.Status == arc.Canceled {
			for _, key := range kept() {
				require.Regexp(t, "//(run|part|log)/4", key, "commit %d", n)
			}
		}
		if failed {
			require.NoError(t, v.Delete(t.Context(), "4"))
		}
		require.Empty(t, kept())
	}
}

// A wrong key, an empty account, or a gate that cannot tell, blocks the run and says so; it teaches nothing
// about the work, and is no failure of the worker.
func TestWrongKeyTeachesNothing(t *testing.T) {
	wrong := &reason.Error{Class: reason.Permanent, Err: errors.New("the key is wrong")}
	for _, c := range []struct {
		cause arc.Cause
		turn  arctest.Turn
		gate  error
	}{
		{arc.Refused, arctest.Turn{Err: wrong}, nil}, {arc.Refused, arctest.Turn{Text: "done"}, wrong},
		{arc.Exhausted, arctest.Turn{Text: "done"}, wrong.Err},
	} {
		w := (&arctest.Worker{Turns: []arctest.Turn{c.turn}}).As("ann")
		w.Gates = []act.Gate{act.GateFunc(func(context.Context, *act.Call, *act.Result) (act.Verdict, error) {
			return act.Verdict{}, c.gate
		})}
		a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w}}, nil)
		r := run(t, a, arc.Objective{Text: "write", Session: "s"})
		require.Equal(t, arc.Blocked, r.Status)
		require.Equal(t, c.cause, r.Cause)
		require.Contains(t, r.Text, "the key is wrong")
		known, err := a.In("").Known(t.Context())
		require.NoError(t, err)
		require.Empty(t, known.Warnings)
		m, err := a.In("").Memory(t.Context())
		require.NoError(t, err)
		for m, err := range m.All(t.Context()) {
			require.NoError(t, err)
			require.Fail(t, m.Content)
		}
		book, err := a.In("").Book(t.Context())
		require.NoError(t, err)
		require.Zero(t, book.Stats("ann", "").Judged)
		s, err := a.In("").Assess(t.Context(), "s")
		require.NoError(t, err)
		require.Equal(t, meta.KeepGoing, s.Step)
	}
}

// A list of runs that reads again what has changed is that of all runs, whatever came between; of a mark too
// old it is told to read all.
func TestChanged(t *testing.T) {
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{(&arctest.Worker{}).As("ann")}}, nil)
	v, have := a.In("acme"), map[string]bool{}
	_, mark, err := v.Changed(0)
	require.ErrorIs(t, err, store.ErrNotFound)
	look := func(want ...string) {
		t.Helper()
		var ids []string
		ids, mark, err = v.Changed(mark)
		require.NoError(t, err)
		for _, id := range ids {
			_, err := v.Report(t.Context(), id)
			have[id] = err == nil
		}
		maps.DeleteFunc(have, func(_ string, is bool) bool { return !is })
		require.ElementsMatch(t, want, slices.Collect(maps.Keys(have)))
	}
	look()
	for _, scope := range []memory.Scope{"acme", "acme/ann", "other"} {
		run(t, a, arc.Objective{ID: "a" + string(scope), Scope: scope, Text: "write"})
	}
	run(t, a, arc.Objective{ID: "a/part", Scope: "acme", Text: "write"})
	look("aacme", "a/part")
	require.NoError(t, v.Delete(t.Context(), "aacme"))
	look("a/part")
	require.NoError(t, v.Erase(t.Context()))
	look()
	before := mark
	for n := range 1500 { // several commits each
		run(t, a, arc.Objective{ID: fmt.Sprint(n), Scope: "other", Text: "write"})
	}
	_, _, err = v.Changed(before)
	require.ErrorIs(t, err, store.ErrNotFound)
}

// A mark that was kept over a restart is not one of the next Agent, which has committed as much.
func TestChangedSinceARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, marks := store.NewMem(), [2]uint64{}
		for i := range marks {
			a, _ := agent(t, st, arc.Host{Workers: []act.Worker{(&arctest.Worker{}).As("ann")}}, nil)
			run(t, a, arc.Objective{ID: fmt.Sprint(i), Text: "write"})
			_, _, err := a.In("").Changed(marks[0])
			require.ErrorIs(t, err, store.ErrNotFound)
			_, marks[i], _ = a.In("").Changed(0)
			_, _, err = a.In("").Changed(marks[i])
			require.NoError(t, err)
			require.NoError(t, a.Close())
			time.Sleep(time.Second)
		}
	})
}

// A caller that goes while the reasoner answers a worker: the answer is kept.
func TestCallerGoesAtAnswer(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	w := act.Worker{Name: "bank", Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
		func(_ context.Context, c *act.Call) (*act.Result, error) {
			if len(c.Answers) == 0 {
				return nil, &act.PendingError{Questions: []string{"Which account?"}}
			}
			return &act.Result{Text: c.Answers[0].Text}, nil
		})}
	r := &answering{Reasoner: planned(arctest.Tasks("", task("pay", ""))), answers: []string{"Anna"}, then: leave}
	a, _ := agent(t, nil, arc.Host{Reasoner: r, Workers: []act.Worker{w}}, nil)
	_, err := a.Run(ctx, arc.Objective{ID: "7", Text: "pay the bill"})
	require.ErrorIs(t, err, context.Canceled)
	report, err := a.In("").Resume(t.Context(), "7")
	require.NoError(t, err)
	require.Equal(t, []any{arc.Delivered, "Anna"}, []any{report.Status, report.Text})
}

// A caller that goes begins nothing more, whatever of the host ignores that, and loses nothing that was paid for.
func TestCallerGoes(t *testing.T) {
	gone := errors.New("the request is gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	leave := func() { cancel(gone) }
	planner := &arctest.Reasoner{Decision: func(*reason.Brief) (*reason.Decision, error) {
		leave()
		return arctest.Tasks("one", task("write", "")), nil
	}}
	worker := &arctest.Worker{}
	workers := []act.Worker{worker.As("ann"), worker.As("bob")} // of whom one has to be chosen
	a, _ := agent(t, nil, arc.Host{Reasoner: planner, Workers: workers}, nil)
	_, err := a.Run(ctx, arc.Objective{ID: "7", Text: "write"})
	require.ErrorIs(t, err, gone)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, worker.Calls())
	r, err := a.In("").Resume(t.Context(), "7")
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status)
	require.Len(t, planner.Briefs(), 1, "the decision was kept")

	leave = runtime.Goexit // as t.FailNow does
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = a.Run(t.Context(), arc.Objective{ID: "8", Text: "write"})
	}()
	<-done
	for _, err = range a.Events(t.Context(), arc.Objective{ID: "8", Text: "write"}) {
	}
	require.ErrorContains(t, err, "ended its goroutine")
	leave = func() {}
	r, err = a.Run(t.Context(), arc.Objective{ID: "8", Text: "write"})
	require.NoError(t, err)
	require.Equal(t, arc.Delivered, r.Status)
}

func TestEvents(t *testing.T) {
	a, story := agent(t, nil, arc.Host{Workers: []act.Worker{(&arctest.Worker{}).As("ann")}}, nil)
	var kinds []string
	for e, err := range a.Events(t.Context(), arc.Objective{ID: "7", Text: "write"}) {
		require.NoError(t, err)
		kinds = append(kinds, e.Kind)
	}
	require.Equal(t, []string{"begun", "attempt", "passed", "delivered"}, kinds)
	require.Len(t, *story, 4)
	for e, err := range a.Events(t.Context(), arc.Objective{Text: "write"}) {
		require.NoError(t, err)
		require.Equal(t, "begun", e.Kind)
		break // leaves the run
	}
}

func TestMaintain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gated := (&arctest.Worker{}).As("ann", "sign")
		gated.Mode = act.Gated
		st := store.NewMem()
		a, _ := agent(t, st, arc.Host{Workers: []act.Worker{(&arctest.Worker{}).As("ben"), gated}},
			&arc.Options{Retention: time.Hour})
		run(t, a, arc.Objective{ID: "old", Scope: "acme/anna", Text: "write"})
		run(t, a, arc.Objective{ID: "open", Scope: "acme/anna", Tasks: []reason.Task{task("sign", "sign")}})
		run(t, a, arc.Objective{ID: "other", Scope: "acme2", Text: "write"})
		time.Sleep(2 * time.Hour)
		run(t, a, arc.Objective{ID: "new", Scope: "acme/anna", Text: "write", Session: "s"})
		n, err := a.In("acme/anna").Maintain(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)
		var left, tenants []string
		for r, err := range a.In("acme/anna").Runs(t.Context()) {
			require.NoError(t, err)
			left = append(left, r.ID)
		}
		require.Equal(t, []string{"new", "open"}, left)
		for name, err := range a.Tenants(t.Context()) {
			require.NoError(t, err)
			tenants = append(tenants, name)
		}
		require.Equal(t, []string{"acme", "acme2"}, tenants)
		s, err := a.In("acme/anna").Assess(t.Context(), "s")
		require.NoError(t, err)
		require.Equal(t, meta.KeepGoing, s.Step)
		require.Empty(t, s.Evidence, "there were tries, and none failed")
		why, err := a.In("acme/anna").Why(t.Context(), arc.Objective{Text: "write"})
		require.NoError(t, err)
		require.Equal(t, "no plan was learned of these words and inputs", why)
	})
}

// flaky is a store of which one commit fails, and is not made.
type flaky struct {
	store.Store
	left *atomic.Int64
}

func (f flaky) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	if f.left.Add(-1) == 0 {
		return 0, errDead
	}
	return f.Store.Commit(ctx, ops...)
}

// An error of the store says nothing about a worker.
func TestStoreErrorIsNoFailure(t *testing.T) {
	for n := range int64(5) {
		left := new(atomic.Int64)
		left.Store(n + 1)
		a, _ := agent(t, flaky{store.NewMem(), left}, arc.Host{Workers: []act.Worker{(&arctest.Worker{}).As("ann")}}, nil)
		o := arc.Objective{ID: "7", Text: "write"}
		r, err := a.Run(t.Context(), o)
		if err != nil {
			require.ErrorIs(t, err, errDead)
			r = run(t, a, o)
		}
		require.Equal(t, arc.Delivered, r.Status)
		require.Empty(t, r.Failed)
		require.Equal(t, 1, r.Attempts)
	}
}

// A step that is too large to be stored ends the run: tried again it would be as large.
func TestTooLarge(t *testing.T) {
	a, _ := agent(t, small{store.NewMem()}, arc.Host{
		Reasoner: planned(arctest.Tasks("", task("a large plan", ""))),
		Workers:  []act.Worker{(&arctest.Worker{}).As("ann")},
	}, nil)
	got := run(t, a, arc.Objective{ID: strings.Repeat("7", 240), Text: "write"})
	require.Equal(t, arc.Blocked, got.Status)
	require.Contains(t, got.Text, "over the limit")
}

// small is a store that has no room for a large plan.
type small struct{ store.Store }

func (s small) Commit(ctx context.Context, ops ...store.Op) (store.Revision, error) {
	for _, op := range ops {
		if strings.Contains(string(op.Value), "a large plan") {
			return 0, store.Limit("a plan", 2, 1)
		}
	}
	return s.Store.Commit(ctx, ops...)
}

// What a person has allowed goes on by itself, whichever commit fails on the way.
func TestAllowedGoesOn(t *testing.T) {
	for n := range int64(6) {
		synctest.Test(t, func(t *testing.T) {
			left, w := new(atomic.Int64), (&arctest.Worker{}).As("ann")
			w.Mode = act.Gated
			a, _ := agent(t, flaky{store.NewMem(), left}, arc.Host{Workers: []act.Worker{w}}, nil)
			r := run(t, a, arc.Objective{ID: "7", Text: "write"})
			left.Store(n + 3) // the first two are of the ruling, whose event goes behind those that are there
			require.NoError(t, a.In("").Decide(t.Context(), act.Ruling{Approval: r.Approvals[0].ID, By: "anna", Allow: true}))
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			r, err := a.In("").Wait(ctx, "7")
			require.NoError(t, err)
			require.Equal(t, arc.Delivered, r.Status)
		})
	}
}

// A commit is conditional on the run: what somebody else has made of it meanwhile stands.
func TestConflict(t *testing.T) {
	st, began, free := store.NewMem(), make(chan bool), make(chan bool)
	w := act.Worker{Name: "ann", Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
		func(context.Context, *act.Call) (*act.Result, error) {
			began <- true
			<-free
			return &act.Result{}, nil
		})}
	h := arc.Host{Workers: []act.Worker{w}}
	o := &arc.Options{Seed: 1}
	a, _ := agent(t, st, h, o)
	ended := make(chan error)
	go func() {
		_, err := a.Run(t.Context(), arc.Objective{ID: "7", Text: "write", Once: true})
		ended <- err
	}()
	<-began
	alone := struct{ store.Store }{st} // b does not know that it is shared
	b, _ := agent(t, alone, h, o)      // finds a run of which it knows nothing, and ends it: it may be made once
	r, err := b.In("").Wait(t.Context(), "7")
	require.NoError(t, err)
	require.Equal(t, arc.Interrupted, r.Cause)
	free <- true
	require.ErrorIs(t, <-ended, arc.ErrRunning)
	r, err = a.In("").Report(t.Context(), "7")
	require.NoError(t, err)
	require.Equal(t, arc.Interrupted, r.Cause)
}

// Who is told that a run is under way can wait for it, also before its first commit.
func TestWaitForARunThatBegins(t *testing.T) {
	for range 200 {
		a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{(&arctest.Worker{Turns: []arctest.Turn{{Text: "done"}}}).As("w")}}, nil)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				r, err := a.Run(t.Context(), arc.Objective{ID: "1", Text: "do"})
				if errors.Is(err, arc.ErrRunning) {
					r, err = a.In("").Wait(t.Context(), "1")
				}
				if assert.NoError(t, err) {
					assert.Equal(t, arc.Delivered, r.Status)
				}
			})
		}
		all.Wait()
		require.NoError(t, a.Close())
	}
}

// An attempt that asks again and again is held by the Budget, too: what it has taken counts when it is
// answered.
func TestBudgetAfterAnAnswer(t *testing.T) {
	taken := 0.0
	w := act.Worker{Name: "w", Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(func(context.Context, *act.Call) (*act.Result, error) {
		taken++
		return &act.Result{Usage: &reason.Usage{Calls: int(taken), CostUSD: new(taken)}}, &act.PendingError{Questions: []string{"which?"}}
	})}
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w}}, nil)
	r, err := a.Run(t.Context(), arc.Objective{ID: "1", Text: "do", Budget: arc.Budget{USD: 3}})
	for err == nil && r.Status == arc.Asking {
		r, err = a.In("").Answer(t.Context(), "1", "", "this one")
	}
	require.NoError(t, err)
	require.Equal(t, arc.Spent, r.Cause)
	require.Equal(t, 3.0, taken)
}

// A run that waits for several rulings says so, a line each.
func TestWaitsForSeveral(t *testing.T) {
	w := act.Worker{Name: "w", Gates: []act.Gate{act.NoGate}, Executor: act.ExecutorFunc(
		func(ctx context.Context, _ *act.Call) (*act.Result, error) {
			var open act.PendingError
			for _, name := range []string{"deploy", "announce"} {
				_, err := act.Do(ctx, &act.Worker{Name: name, Mode: act.Gated}, name, nil, nil)
				pending, _ := errors.AsType[*act.PendingError](err)
				open.Approvals = append(open.Approvals, pending.Approvals...)
			}
			return nil, &open
		})}
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w}}, nil)
	r := run(t, a, arc.Objective{Text: "ship"})
	require.Equal(t, "deploy: ship (mode is gated)\nannounce: ship (mode is gated)", r.Text)
}

// What a gate does may want a person, too. The judge that was asked before it is paid for each time.
func TestGateAsks(t *testing.T) {
	judge := act.Judge(reason.ModelFunc(func(context.Context, *reason.Request) (*reason.Response, error) {
		return &reason.Response{Text: `{"pass":true,"complaint":""}`, Usage: &reason.Usage{Input: 100}}, nil
	}), "")
	deploy := act.GateFunc(func(ctx context.Context, _ *act.Call, _ *act.Result) (act.Verdict, error) {
		_, err := act.Do(ctx, &act.Worker{Name: "deploy", Mode: act.Gated}, "deploy", nil,
			func(context.Context, json.RawMessage) (json.RawMessage, error) { return []byte("1"), nil })
		return act.Verdict{Pass: true}, err
	})
	w := act.Worker{Name: "w", Gates: []act.Gate{judge, deploy}, Executor: &arctest.Worker{}}
	a, _ := agent(t, nil, arc.Host{Workers: []act.Worker{w}}, nil)
	r := run(t, a, arc.Objective{ID: "1", Text: "ship"})
	require.Len(t, r.Approvals, 1, r.Text)
	require.NoError(t, a.In("").Decide(t.Context(), act.Ruling{Approval: r.Approvals[0].ID, By: "anna", Allow: true}))
	r, err := a.In("").Wait(t.Context(), "1")
	require.NoError(t, err)
	require.Equal(t, []any{arc.Delivered, 1, 200}, []any{r.Status, r.Attempts, r.Usage.Input})
}

// What is no UTF-8, as a program's output may be, is mended where it comes in, and ends no run.
func TestNoUTF8(t *testing.T) {
	latin, tries := "caf\xe9", 0
	gate := act.GateFunc(func(context.Context, *act.Call, *act.Result) (act.Verdict, error) {
		tries++
		return act.Verdict{Pass: tries > 1, Complaint: latin}, nil
	})
	raw := tools.Tool{Worker: act.Worker{Name: "cat"}, Call: func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`"` + latin + `"`), nil
	}}
	model := reasontest.NewScript(reasontest.Call("cat", "{}"), reasontest.Say("a"), reasontest.Call("cat", "{}"), reasontest.Say("b"))
	w := act.Worker{Name: "w", Gates: []act.Gate{gate}, Executor: tools.New(model, nil, raw)}
	a, story := agent(t, nil, arc.Host{Workers: []act.Worker{w}}, nil)
	got := run(t, a, arc.Objective{Text: latin})
	require.Equal(t, arc.Delivered, got.Status, got.Text)
	require.Equal(t, "caf\ufffd", got.Failed[0].Complaint)
	require.Equal(t, "caf\ufffd", model.Requests()[1].Messages[2].Text)
	require.True(t, utf8.ValidString(got.Objective+strings.Join(*story, "")))
}

// A run that is taken up again is told its memories as they are: their text stands nowhere else. A plan that was
// made of one that has changed meanwhile does not fire.
func TestToldAgain(t *testing.T) {
	st, w := store.NewMem(), &arctest.Worker{}
	pay := w.As("pay")
	pay.Mode = act.Gated
	var applied memory.ID
	r := &arctest.Reasoner{Decision: func(b *reason.Brief) (*reason.Decision, error) {
		return &reason.Decision{Tasks: []reason.Task{task(b.Text, "")}, Applied: []memory.ID{applied}}, nil
	}}
	a, _ := agent(t, st, arc.Host{Reasoner: r, Workers: []act.Worker{pay}}, nil)
	m, err := a.In("").Memory(t.Context())
	require.NoError(t, err)
	var all []memory.Record
	for n, kind := range []memory.Kind{memory.Rule, memory.Rule, memory.Pattern, memory.Fact, memory.Failure} {
		one, err := m.Remember(t.Context(), memory.Draft{Kind: kind, Content: fmt.Sprint("thing ", n, " of the bill")})
		require.NoError(t, err)
		all = append(all, one)
	}
	applied = all[2].ID
	told := func(hits []memory.Hit) (out string) {
		for _, h := range hits {
			out += fmt.Sprintln(h.Kind, h.Content, h.Score)
		}
		return out
	}
	do := func(meanwhile func()) (before, after reason.Known) {
		waits := run(t, a, arc.Objective{Text: "pay the bill"})
		require.Equal(t, arc.Waiting, waits.Status)
		for e, err := range st.Scan(t.Context(), store.Range{}) {
			require.NoError(t, err)
			require.True(t, strings.Contains(e.Key, "/m/") || !strings.Contains(string(e.Value), "thing 3"), e.Key)
		}
		meanwhile()
		ruling := act.Ruling{Approval: waits.Approvals[0].ID, By: "anna", Allow: true}
		require.NoError(t, a.In("").Decide(t.Context(), ruling))
		done, err := a.In("").Wait(t.Context(), waits.ID)
		require.NoError(t, err)
		require.Equal(t, arc.Delivered, done.Status)
		return r.Briefs()[len(r.Briefs())-1].Known, w.Calls()[len(w.Calls())-1].Known
	}
	_, after := do(func() {
		require.NoError(t, m.Forget(t.Context(), all[0].ID))
		for _, n := range []int{1, 2} {
			require.NoError(t, m.Update(t.Context(), all[n].ID, func(r *memory.Record) error {
				r.Content += " by now"
				return nil
			}))
		}
	})
	require.Contains(t, told(after.Memories), "rule (changed or forgotten since) thing 1 of the bill by now 1\n")
	require.Contains(t, told(after.Memories), "pattern (changed or forgotten since) thing 2 of the bill by now")
	require.Contains(t, told(after.Memories), "fact thing 3 of the bill")
	require.Contains(t, told(after.Memories), "failure thing 4 of the bill")
	require.Equal(t, " (changed or forgotten since)  1\n", told(after.Background))

	for _, fires := range []bool{false, true} { // once two are delivered with the memory as it is
		before, after := do(func() {})
		require.Len(t, after.Memories, 4)
		require.Equal(t, told(before.Memories), told(after.Memories))
		why, err := a.In("").Why(t.Context(), arc.Objective{Text: "pay the bill"})
		require.NoError(t, err)
		require.Equal(t, fires, strings.HasPrefix(why, "a plan fires"), why)
	}
}
