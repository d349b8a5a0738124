package queue_test

import (
	"context"
	"fmt"

	"github.com/arc-learn/arc/act/queue"
	"github.com/arc-learn/arc/store"
)

func Example() {
	ctx, stop := context.WithCancel(context.Background())
	q, err := queue.Open(ctx, store.NewGroup(store.NewMem()), nil)
	if err != nil {
		panic(err)
	}
	_, _, _ = q.Add(ctx, queue.Draft{Subject: "tidy up", Priority: 8})
	_, _, _ = q.Add(ctx, queue.Draft{Subject: "mend the build", Priority: 2, Key: "ci/4711"})
	_, added, _ := q.Add(ctx, queue.Draft{Subject: "mend the build", Key: "ci/4711"})
	fmt.Println("added again:", added)

	_ = q.Dispatch(ctx, 1, func(_ context.Context, j *queue.Job) ([]queue.Draft, error) {
		fmt.Println(j.Priority, j.Subject)
		switch j.Subject {
		case "mend the build":
			return []queue.Draft{{Subject: "tell the team"}}, nil
		case "tidy up":
			stop()
		}
		return nil, nil
	})
	// Output:
	// added again: false
	// 2 mend the build
	// 5 tell the team
	// 8 tidy up
}
