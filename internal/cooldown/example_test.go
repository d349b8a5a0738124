package cooldown_test

import (
	"fmt"
	"time"

	"github.com/arc-learn/arc/internal/cooldown"
)

// An action that failed three times in five minutes rests for ten.
func Example() {
	g := cooldown.NewGuard()
	k := cooldown.Key{Goal: "service is up", Action: "restart"}
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for range 3 {
		g.Fail(k, now)
		now = now.Add(time.Minute)
	}
	until, why := g.Resting(k, now)
	fmt.Println(until.Sub(now), why)
	// Output: 9m0s it came to nothing 3 times in 5m0s
}

// A failure counts for as long as the window is.
func ExampleLoop() {
	loop, err := cooldown.NewLoop(2, 5*time.Minute)
	if err != nil {
		fmt.Println(err)
		return
	}
	k := cooldown.Key{Goal: "service is up", Action: "restart"}
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	loop.Fail(k, now)
	loop.Fail(k, now.Add(time.Minute))
	fmt.Println(loop.Failures(k, now), loop.Looping(k, now.Add(6*time.Minute)))
	// Output: 2 false
}
