package arc

import "time"

// Hurry makes the times of processes short, for tests with real ones.
func Hurry(beat, fence, gone, poll time.Duration) {
	beatEvery, fenceAfter, goneAfter, pollEvery = beat, fence, gone, poll
}
