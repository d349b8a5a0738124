package taskfile_test

import (
	"context"
	"fmt"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/contrib/taskfile"
	"github.com/arc-learn/arc/store"
)

func ExampleParse() {
	ctx := context.Background()
	jobs, err := queue.Open(ctx, store.NewGroup(store.NewMem()), nil)
	if err != nil {
		panic(err)
	}
	drafts, err := taskfile.Parse([]byte(`
- subject: Write the weekly report
  priority: 3
  cron: 0 6 * * 1
- {"subject": "Answer the mail of Ann", "input": {"mail": 7}}
`))
	if err != nil {
		panic(err)
	}
	for _, d := range drafts {
		job, added, err := jobs.Add(ctx, d)
		fmt.Println(job.Subject, job.Priority, added, err)
	}
	// Output:
	// Write the weekly report 3 true <nil>
	// Answer the mail of Ann 5 true <nil>
}
