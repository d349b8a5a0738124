package arctest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/arctest"
	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// A worker fails once, then delivers; the store loses a commit, and the run goes on
// from the last that it kept.
func Example() {
	ctx := context.Background()
	clock := arctest.NewClock(time.Date(2027, 1, 4, 9, 0, 0, 0, time.UTC))
	fixer := arctest.NewExecutor(arctest.Fail(errors.New("no route to host")), arctest.Do(`"fixed"`))
	st := arctest.NewStore(store.NewMem())
	fixed, err := act.Schema([]byte(`{"const": "fixed"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	agent, err := arc.New(ctx, st, arc.Host{
		Workers: []act.Worker{{Card: rank.Candidate{Name: "fixer"}, Executor: fixer}},
		Gates:   []act.Gate{fixed},
	}, &arc.Options{Now: clock.Now, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()

	o := arc.Objective{ID: "leak", Text: "mend the leak", Tasks: []reason.Task{{Objective: "mend it"}}}
	st.FailNext(2, 1, false)
	_, err = agent.Run(ctx, o)
	fmt.Println("lost:", errors.Is(err, arctest.ErrStore))

	report, err := agent.Run(ctx, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Status, "after", report.Attempts, "attempts")
	last := fixer.Works()[len(fixer.Works())-1]
	fmt.Println("told before the last:", last.Complaint)
	// Output:
	// lost: true
	// delivered after 2 attempts
	// told before the last: no route to host
}

// Nobody answers for a day, and silence proceeds in mode Veto: a test of it takes no
// day.
func ExampleClock() {
	ctx := context.Background()
	clock := arctest.NewClock(time.Date(2027, 1, 4, 9, 0, 0, 0, time.UTC))
	fixer := act.Worker{Card: rank.Candidate{Name: "fixer"}, Executor: arctest.NewExecutor(arctest.Do(`1`)), Mode: act.Veto}
	agent, err := arc.New(ctx, store.NewMem(), arc.Host{
		Workers: []act.Worker{fixer}, Gates: []act.Gate{act.NoGate},
	}, &arc.Options{Now: clock.Now, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()

	o := arc.Objective{ID: "leak", Text: "mend the leak", Tasks: []reason.Task{{Objective: "mend it"}}}
	report, err := agent.Run(ctx, o)
	fmt.Println(report.Status, report.Cause, err)
	clock.Add(25 * time.Hour)
	report, err = agent.Run(ctx, o)
	fmt.Println(report.Status, err)
	// Output:
	// waiting approval <nil>
	// delivered <nil>
}

// A worker hangs: the attempt ends at its deadline, and another worker delivers.
func ExampleHang() {
	ctx := context.Background()
	agent, err := arc.New(ctx, store.NewMem(), arc.Host{
		Workers: []act.Worker{
			{Card: rank.Candidate{Name: "a"}, Executor: arctest.NewExecutor(arctest.Hang(), arctest.Hang())},
			{Card: rank.Candidate{Name: "b"}, Executor: arctest.NewExecutor(arctest.Do(`1`))},
		},
		Gates: []act.Gate{act.NoGate},
	}, &arc.Options{AttemptTimeout: time.Millisecond, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	report, err := agent.Run(ctx, arc.Objective{Text: "mend the leak", Tasks: []reason.Task{{Objective: "mend it"}}})
	fmt.Println(report.Status, report.LastWorker, err)
	// Output:
	// delivered b <nil>
}
