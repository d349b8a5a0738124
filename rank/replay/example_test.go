package replay_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/arc-learn/arc/rank"
	"github.com/arc-learn/arc/rank/replay"
	"github.com/arc-learn/arc/store"
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

// A log that knows what each candidate would have done: a policy is tried in ten orders
// and compared with simple ones.
func ExampleSeeds() {
	ctx := context.Background()
	var book *rank.Book
	learned := func(seed uint64) (l replay.Learner, err error) {
		if book, err = rank.Open(ctx, store.NewMem(), &rank.Options{Seed: seed}); err != nil {
			return nil, err
		}
		return replay.With(book.Learned(nil), book), nil
	}
	ucb := func(seed uint64) (replay.Learner, error) { return replay.NewUCB(1, seed), nil }
	try := func(name string, fresh func(uint64) (replay.Learner, error), done func(replay.Learner) error) {
		rs, err := replay.Seeds(ctx, 10, logged(300), nil, fresh, done)
		if err != nil {
			fmt.Println(err)
			return
		}
		s := replay.Summarize(replay.Rewards(rs))
		fmt.Printf("%s %.2f, the better model alone %.2f\n", name, s.Mean, rs[0].Best)
	}
	try("Learned", learned, func(replay.Learner) error { return book.Close() })
	try("UCB1", ucb, nil)
	// Output:
	// Learned 0.73, the better model alone 0.75
	// UCB1 0.71, the better model alone 0.75
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
