package meta_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/arc-learn/arc/meta"
	"github.com/arc-learn/arc/store"
)

// Three failures of one approach say that it is time for another.
func Example() {
	ctx := context.Background()
	m, err := meta.Open(ctx, store.NewMem(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	for step := range 3 {
		err := m.Record(ctx, meta.Outcome{
			Key:      fmt.Sprintf("run-7/step-%d", step),
			Session:  "s1",
			Goal:     "make the tests pass",
			Approach: "edit the generated file",
			Note:     "the generator wrote it anew",
		})
		if errors.Is(err, meta.ErrInvalid) { // no Key, or a text that is too long
			fmt.Println("refused:", err)
		}
		a, err := m.Assess(ctx, "s1")
		fmt.Println(a.State, a.Recommendation, err)
		for _, e := range a.Evidence {
			fmt.Println("  " + e)
		}
	}
	// Output:
	// struggling slow_down <nil>
	//   1 failed since the last success, 1 of them by the approach "edit the generated file"
	// struggling consider_pivot <nil>
	//   2 failed since the last success, 2 of them by the approach "edit the generated file"
	//   0 of 2 succeeded, fewer than 40 %
	// failing pivot_now <nil>
	//   3 failed since the last success, 3 of them by the approach "edit the generated file"
	//   0 of 3 succeeded, fewer than 40 %
}
