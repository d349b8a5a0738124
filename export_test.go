package arc

import "time"

// Hurry changes the times of processes until what it returns is called.
func Hurry(beat, fence, gone, poll time.Duration) (back func()) {
	b, f, g, p := beatEvery, fenceAfter, goneAfter, pollEvery
	back = func() { beatEvery, fenceAfter, goneAfter, pollEvery = b, f, g, p }
	beatEvery, fenceAfter, goneAfter, pollEvery = beat, fence, gone, poll
	return back
}
