package arc_test

import (
	"context"
	"fmt"

	"github.com/arc-learn/arc"
	"github.com/arc-learn/arc/act"
	"github.com/arc-learn/arc/memory"
)

// A secret that a task needs reaches its worker, and is never kept. A run that goes on in
// another process asks the host for it again.
func ExampleObjective_secrets() {
	ctx := context.Background()
	s := &script{do: func(_ int, w act.Work) (act.Result, error) {
		fmt.Println("the worker has it:", w.Secrets["registry"] == "correct horse battery")
		r := done(`1`)
		r.Reflection.Summary = "logged in with " + w.Secrets["registry"]
		return r, nil
	}}
	host := s.host()
	host.Secrets = func(context.Context, memory.Scope, string, []string) (map[string]string, error) {
		return map[string]string{"registry": "correct horse battery"}, nil
	}
	agent, err := arc.Open(ctx, "", host, &arc.Options{Sanitizer: keyed()}) // its own key: the same tags each time
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Shutdown(ctx)
	report, err := agent.Run(ctx, arc.Objective{
		Text: "push the image", Secrets: act.Secrets{"registry": "correct horse battery"},
	})
	if err != nil || report.Cause == arc.CauseSecret { // a secret was not given again
		fmt.Println(err, report.Reason)
		return
	}
	fmt.Println(report.Deliveries[0].Summary)
	// Output:
	// the worker has it: true
	// logged in with [REDACTED:known:b4266df2]
}
