package replay_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/rank/replay"
)

// logged are decisions between two models: one that succeeds three times of four, and
// one that does every second time.
func logged(n int) (ds []replay.Decision) {
	r := rand.New(rand.NewPCG(1, 1))
	for range n {
		ds = append(ds, replay.Decision{
			Candidates: []rank.Candidate{{Name: "small", Prior: 0.5}, {Name: "large", Prior: 0.5}},
			Outcomes: []rank.Sample{
				{Candidate: "small", Success: r.IntN(2) == 0}, {Candidate: "large", Success: r.IntN(4) > 0},
			},
		})
	}
	return ds
}

// A log that knows only what came of the choice that was made, by a coin: an estimate of
// what always the large model would have come to.
func ExampleOff() {
	ds := logged(1000)
	for i := range ds {
		ds[i].Outcomes, ds[i].Propensity = ds[i].Outcomes[i%2:i%2+1], 0.5
	}
	always := rank.PolicyFunc(func(_ context.Context, _ rank.Situation, cs []rank.Candidate) ([]rank.Scored, error) {
		return []rank.Scored{{Candidate: cs[1]}, {Candidate: cs[0]}}, nil
	})
	r, err := replay.Off(context.Background(), replay.Fixed(always), ds, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("logged %.2f, always the large model %.2f (%.2f to %.2f)\n", r.Logged.Value, r.DR.Value, r.DR.Low, r.DR.High)
	// Output: logged 0.65, always the large model 0.75 (0.71 to 0.79)
}
