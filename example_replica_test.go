package arc_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/iar"
	"github.com/arc-learn/arc/reason"
	"github.com/arc-learn/arc/store"
)

// Two Agents on one store: a run is live with one of them at a time, and if that one is
// gone the other goes on with it.
func ExampleOwnedError() {
	ctx, shared := context.Background(), store.NewMem()
	var east *arc.Agent
	worker := act.ExecutorFunc(func(ctx context.Context, w act.Work) (act.Result, error) {
		_, err := east.In("").Resume(ctx, w.Run)
		if owned, ok := errors.AsType[*arc.OwnedError](err); ok {
			fmt.Println(owned.Run, "is live with", owned.Replica)
		}
		wrote := iar.Reflection{
			Status: iar.Success, Confidence: 1, Summary: "wrote it",
			PotentialIssues: []string{}, AlignmentCheck: map[string]float64{},
		}
		return act.Result{Output: []byte(`"done"`), Reflection: wrote}, nil
	})
	host := arc.Host{Workers: []act.Worker{{Executor: worker, Gates: []act.Gate{act.NoGate}}}}
	host.Workers[0].Card.Name = "worker"
	open := func(name string) *arc.Agent {
		a, err := arc.New(ctx, shared, host, &arc.Options{Replica: name})
		if err != nil {
			panic(err)
		}
		return a
	}
	west := open("west")
	defer west.Close()
	east = open("east")
	defer east.Close()
	r, err := west.Run(ctx, arc.Objective{ID: "report", Text: "Write the report", Tasks: []reason.Task{{Objective: "write"}}})
	fmt.Println(r.Status, err)
	// Output:
	// report is live with west
	// delivered <nil>
}
