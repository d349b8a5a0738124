package memorytest_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/arc-learn/arc/memory"
	"github.com/arc-learn/arc/memory/memorytest"
	"github.com/arc-learn/arc/store"
)

func ExampleMeasure() {
	ctx := context.Background()
	now := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	bank, err := memory.Open(ctx, store.NewMem(), &memory.Options{Now: now, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer bank.Close()
	space := bank.In("acme/handbook")
	kept, err := space.RememberAll(ctx, []memory.Draft{
		{Kind: memory.Fact, Content: "the office in Bern opens at eight"},
		{Kind: memory.Fact, Content: "parcels go to the loading dock"},
		{Kind: memory.Fact, Content: "the printer on the third floor needs blue paper"},
	})
	if err != nil {
		log.Fatal(err)
	}
	report, err := memorytest.Measure(ctx, memorytest.Records(space, nil), []memorytest.Question{
		{Text: "when does the office open?", Category: "hours", Gold: []string{string(kept[0].ID)}},
		{Text: "where do I bring a parcel?", Category: "places", Gold: []string{string(kept[1].ID)}},
		{Text: "who founded the company?", Category: "hours"},
	}, &memorytest.Options{Cutoffs: []int{1}, Budgets: []int{20}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(report)
	// Output:
	//                   all      hours     places
	//   questions          3          2          1
	//   no answer          1          1          0
	//         R@1  100.0±0.0  100.0±0.0  100.0±0.0
	//      NDCG@1  100.0±0.0  100.0±0.0  100.0±0.0
	//       any@1  100.0±0.0  100.0±0.0  100.0±0.0
	//       all@1  100.0±0.0  100.0±0.0  100.0±0.0
	//         MRR  100.0±0.0  100.0±0.0  100.0±0.0
	//   budget@20  100.0±0.0  100.0±0.0  100.0±0.0
	//     abstain  100.0±0.0  100.0±0.0          -
}

func ExampleCheckSanitizer() {
	var forgetful keeper
	err := memorytest.CheckSanitizer(forgetful, []memorytest.Secret{{Text: "badge 4711", Value: "4711"}}, nil)
	fmt.Println(err != nil)
	// Output: true
}

// keeper keeps every secret.
type keeper struct{}

func (keeper) Sanitize(text string) string { return text }
