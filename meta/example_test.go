package meta_test

import (
	"context"
	"fmt"

	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/store"
)

func ExampleSessions() {
	ctx, sessions := context.Background(), meta.New(store.NewGroup(store.NewMem()))
	for range 3 {
		failed := meta.Try{Goal: "fix the build", Approach: "pin the version"}
		if err := sessions.Record(ctx, "acme/anna", "monday", failed); err != nil {
			panic(err)
		}
	}
	a, err := sessions.Assess(ctx, "acme/anna", "monday", meta.Try{}, 0)
	if err != nil {
		panic(err)
	}
	fmt.Println(a.Step)
	fmt.Println(a.Evidence[0])
	// Output:
	// pivot_now
	// 3 failed since the last delivery; 3 at the goal, 3 of them by "pin the version"
}
