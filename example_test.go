package arc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// patient is a host whose reasoner asks before it acts.
func patient() arc.Host {
	s := &script{decide: func(_ int, b reason.Brief) (reason.Decision, error) {
		if len(b.Answers) == 0 {
			return reason.Decision{Complexity: reason.Unclear, Questions: []string{"which door?"}}, nil
		}
		return plan(b.Objective), nil
	}}
	return s.host()
}

// A Close whose time is up says what hangs, and goes on in the background.
func ExampleBusyError() {
	ctx := context.Background()
	stuck, free := make(chan bool), make(chan bool)
	opts := &arc.Options{Grace: time.Millisecond, Hooks: arc.Hooks{Event: func(arc.Event) {
		stuck <- true
		<-free
	}}}
	agent, err := arc.Open(ctx, "", patient(), opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() { _, _ = agent.Run(ctx, arc.Objective{ID: "door", Text: "open the door", Scope: "acme"}) }()
	<-stuck
	err = agent.Close()
	if busy, ok := errors.AsType[*arc.BusyError](err); ok {
		fmt.Println(busy.Parts)
	}
	close(free)
	fmt.Println(agent.Shutdown(ctx))
	// Output:
	// [run "acme/door"]
	// <nil>
}

// A run that asks is answered through the view of its scope.
func ExampleView() {
	ctx := context.Background()
	agent, err := arc.Open(ctx, "", patient(), &arc.Options{
		Pivot:  arc.PivotAsk, // PivotFlag is the default, PivotAuto needs no human
		Budget: arc.Budget{Wall: time.Minute, CostUSD: 1},
		Bounds: arc.Bounds{Day: arc.Budget{CostUSD: 20}}, // of all runs together
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Shutdown(ctx)
	var view arc.View = agent.In("acme/anna")
	report, err := agent.Run(ctx, arc.Objective{ID: "door", Session: "s", Text: "open the door", Scope: "acme/anna"})
	for err == nil && report.Status == arc.Asking {
		fmt.Println("asks:", report.Questions[0])
		report, err = view.Answer(ctx, report.ID, "the red one")
	}
	switch {
	case errors.Is(err, arc.ErrRunning):
		fmt.Println("it is live elsewhere")
	case errors.Is(err, arc.ErrNotAsking):
		fmt.Println("it has asked nothing")
	case err != nil:
		fmt.Println(err)
	case report.Status == arc.Blocked:
		fmt.Println("blocked:", report.Reason)
	default:
		fmt.Println(report.Status, "by", report.LastWorker, report.Status != arc.Running)
	}
	learned, err := view.Chunk(ctx, "s")
	fmt.Println("patterns:", len(learned), err)
	// Output:
	// asks: which door?
	// delivered by worker true
	// patterns: 1 <nil>
}

// What is kept of a user moves to another store, where the run that asks goes on.
func ExampleAgent_Export() {
	ctx := context.Background()
	here, err := arc.Open(ctx, "", patient(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer here.Shutdown(ctx)
	if _, err := here.Run(ctx, arc.Objective{ID: "door", Text: "open the door", Scope: "acme/anna"}); err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	if err := here.Export(ctx, "acme/anna", &file); err != nil {
		fmt.Println(err)
		return
	}
	there, err := arc.Open(ctx, "", patient(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer there.Shutdown(ctx)
	scope, err := there.Import(ctx, &file)
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := there.In(scope).Answer(ctx, "door", "the red one")
	fmt.Println(scope, report.Status, err)
	// Output: acme/anna delivered <nil>
}

// A backup is put into an empty store before an Agent opens it.
func ExampleAgent_Backup() {
	ctx := context.Background()
	agent, err := arc.Open(ctx, "", patient(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Shutdown(ctx)
	if _, err := agent.Run(ctx, arc.Objective{ID: "door", Text: "open the door"}); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := agent.Verify(ctx); err != nil {
		fmt.Println("damaged:", err)
		return
	}
	var file bytes.Buffer
	if _, err := agent.Backup(ctx, &file); err != nil {
		fmt.Println(err)
		return
	}
	st := store.NewMem() // or one of badger.Open, in another directory
	defer st.Close()
	if _, err := store.Restore(ctx, st, &file); err != nil {
		fmt.Println(err)
		return
	}
	again, err := arc.New(ctx, st, patient(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer again.Shutdown(ctx)
	report, err := again.In("").Answer(ctx, "door", "the red one")
	fmt.Println(report.Status, err)
	// Output: delivered <nil>
}

// A model that is away delays a run: what its process leaves Waiting, the next
// goes on with.
func ExampleAgent_ResumeDue() {
	ctx := context.Background()
	down, now := true, time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	s := &script{decide: func(_ int, b reason.Brief) (reason.Decision, error) {
		if down {
			return reason.Decision{}, &reason.ModelError{Status: 503, Again: true, Err: errors.New("starting")}
		}
		return plan(b.Objective), nil
	}}
	st := store.NewMem()
	opts := &arc.Options{Patience: -1, Now: func() time.Time { return now }}
	agent, err := arc.New(ctx, st, s.host(), opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := agent.Run(ctx, arc.Objective{ID: "cache", Text: "mend the cache"})
	fmt.Println(report.Status, "for the", report.Cause, err)
	agent.Close()

	down, now = false, report.Next
	agent, err = arc.New(ctx, st, s.host(), opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	n, err := agent.ResumeDue(ctx)
	fmt.Println(n, "gone on with,", err)
	report, err = agent.In("").Resume(ctx, "cache")
	fmt.Println(report.Status, err)
	// Output:
	// waiting for the model <nil>
	// 1 gone on with, <nil>
	// delivered <nil>
}

// A blocked run goes on with what has changed, and a delivery that turns out to be
// wrong is paid for by what it came from.
func ExampleView_Judge() {
	ctx := context.Background()
	room := false
	s := &script{judge: func(act.Work, act.Result) (act.Verdict, error) {
		return act.Verdict{Pass: room, Complaint: "the disk is full"}, nil
	}}
	agent, err := arc.Open(ctx, "", s.host(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	view := agent.In("")
	report, err := agent.Run(ctx, arc.Objective{ID: "cache", Text: "mend the cache"})
	fmt.Println(report.Status, report.Cause, err)

	room = true
	report, err = view.Retry(ctx, "cache", "there is room on the disk now")
	if errors.Is(err, arc.ErrNotBlocked) {
		fmt.Println("it is over already")
	}
	fmt.Println(report.Status, "after", report.Attempts, "attempts", err)

	verdict := arc.Verdict{Why: "it was full again an hour later", Source: "anna"}
	err = view.Judge(ctx, "cache", verdict)
	fmt.Println("judged:", err, errors.Is(err, arc.ErrNotDelivered))
	again := view.Judge(ctx, "cache", verdict) // counts once
	health, err := view.Assess(ctx, "cache")
	fmt.Println("failures:", health.Failures, again, err)
	// Output:
	// blocked gate <nil>
	// delivered after 4 attempts <nil>
	// judged: <nil> false
	// failures: 1 <nil> <nil>
}

// The events of a run, as a progress line would show them.
func ExampleAgent_Events() {
	ctx := context.Background()
	agent, err := arc.Open(ctx, "", (&script{}).host(), &arc.Options{Pivot: arc.PivotAuto})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	counts := map[arc.EventKind]int{}
	for e, err := range agent.Events(ctx, arc.Objective{Text: "mend the cache"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		counts[e.Kind]++
		switch e.Kind {
		case arc.EventRecalled:
			fmt.Println("memories:", len(e.IDs))
		case arc.EventAttempt:
			fmt.Println("attempt", e.Attempt, "by", e.Worker, "of", len(e.Ranking))
		case arc.EventFinished:
			fmt.Println(arc.Status(e.Text), "after", counts[arc.EventExecuted], "execution")
		}
	}
	// Output:
	// memories: 0
	// attempt 1 by worker of 1
	// delivered after 1 execution
}

// Health says whether an agent does well, and what to do where it does not.
func ExampleAgent_Health() {
	ctx := context.Background()
	s := &script{judge: func(act.Work, act.Result) (act.Verdict, error) { return act.Verdict{Complaint: "no"}, nil }}
	var policy arc.PivotPolicy = arc.PivotFlag // the default: say so, and go on
	agent, err := arc.Open(ctx, "", s.host(), &arc.Options{Pivot: policy})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	for i := range 2 {
		report, err := agent.Run(ctx, arc.Objective{Text: fmt.Sprint("mend package ", i)})
		fmt.Println(report.Status, err)
	}
	var health arc.Health
	health, err = agent.Health(ctx, "")
	fmt.Println(health.Status, err)
	for _, issue := range health.Issues {
		fmt.Println(issue.Text) // issue.Advice says what to do about it
	}
	// Output:
	// blocked <nil>
	// blocked <nil>
	// NEEDS_ATTENTION <nil>
	// worker failed 100 % of the last hour
	// "work" was asked for and not delivered in 24 hours
}

// What a host does about a run that is not delivered depends on its Cause.
func ExampleCause() {
	advise := func(report *arc.Report) string {
		if report.Status == arc.Waiting {
			return "nothing: the Agent goes on by itself"
		}
		switch report.Cause {
		case arc.CauseGate, arc.CauseWorker, arc.CauseModel, arc.CauseStuck:
			return "tell it what you know"
		case arc.CauseNoWorker:
			return "bring a worker with the skill"
		case arc.CausePermission, arc.CauseDenied:
			return "give the permission, or leave it"
		case arc.CauseBudget:
			return "give it more"
		case arc.CauseWorth:
			return "leave it: it is not worth its price"
		case arc.CauseInterrupted, arc.CauseInternal:
			return "look into it"
		}
		return "nothing: " + string(report.Status)
	}
	ctx := context.Background()
	s := &script{judge: func(act.Work, act.Result) (act.Verdict, error) { return act.Verdict{Complaint: "no"}, nil }}
	agent, err := arc.Open(ctx, "", s.host(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	report, err := agent.Run(ctx, arc.Objective{Text: "mend the cache"})
	var cause arc.Cause = report.Cause
	fmt.Printf("%s by %s: %s\n", report.Status, cause, advise(report))
	fmt.Println(report.Reason, err)
	// Output:
	// blocked by gate: tell it what you know
	// task 1 was not delivered in 3 attempts; the last, by worker: no <nil>
}

// Runs are found by status, session, scope and time, the latest first, and
// deleted one by one or by age.
func ExampleView_Runs() {
	host := arc.Host{
		Workers: []act.Worker{{Card: rank.Candidate{Name: "clerk"}, Executor: act.ExecutorFunc(
			func(context.Context, act.Work) (act.Result, error) {
				return act.Result{Reflection: iar.Reflection{
					Status: iar.Success, Confidence: 1, Summary: "filed", PotentialIssues: []string{}, AlignmentCheck: map[string]float64{},
				}}, nil
			})}},
		Gates: []act.Gate{act.NoGate},
	}
	agent, err := arc.Open(context.Background(), "", host, &arc.Options{
		Retention: arc.Retention{Age: 30 * 24 * time.Hour, Count: 10_000},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer agent.Close()
	for _, id := range []string{"first", "second", "third"} {
		task := reason.Task{Objective: "file " + id, Verify: "by hand"}
		if _, err := agent.Run(context.Background(), arc.Objective{ID: id, Text: "file it", Tasks: []reason.Task{task}}); err != nil {
			log.Fatal(err)
		}
	}
	if err := agent.In("").Delete(context.Background(), "second"); err != nil {
		log.Fatal(err)
	}
	for r, err := range agent.In("").Runs(context.Background(), arc.Filter{Status: arc.Delivered, Limit: 10}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.ID, r.Status)
	}
	// All that is kept of a tenant, or of a user, goes at once.
	if err := agent.Erase(context.Background(), "local"); err != nil {
		log.Fatal(err)
	}
	// Output:
	// third delivered
	// first delivered
}
