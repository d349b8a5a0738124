package cooldown_test

import (
	"fmt"
	"time"

	"github.com/arc-learn/arc/internal/cooldown"
)

// An action that failed three times in five minutes rests for ten.
func Example() {
	loop, err := cooldown.NewLoop(3, 5*time.Minute)
	if err != nil {
		fmt.Println(err)
		return
	}
	var rests cooldown.Cooldown
	k := cooldown.Key{Goal: "service is up", Action: "restart"}
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for range 3 {
		loop.Fail(k, now)
		if loop.Looping(k, now) {
			rests.Start(k, now, 10*time.Minute)
		}
		now = now.Add(time.Minute)
	}
	fmt.Println(loop.Failures(k, now), rests.Remaining(k, now))
	// Output: 3 9m0s
}
