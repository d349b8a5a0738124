package rank

// The constants of change detection, in standard deviations of a sample.
const (
	slack     = 0.35 // of drift per sample that is not a change
	alarm     = 20.0 // accumulated drift that is
	maxError  = 3.0  // of a sample
	keptShare = 0.25 // of the samples since the change that count
)

// change watches for a lasting change in one direction by a cumulative sum
// (Page, 1954), and remembers the samples since the sum was last zero, where
// the change most likely took place.
type change struct {
	drift  float64
	n, sum float64 // of worth, since the drift was zero
}

// add takes in the error of a prediction, in standard deviations, positive in
// the direction that is watched. It reports whether there was a change.
func (c *change) add(e, worth float64) bool {
	c.drift += e - slack
	c.n++
	c.sum += worth
	if c.drift <= 0 {
		*c = change{}
	}
	return c.drift > alarm
}

// watch looks for a change of the candidate's quality. After one, only
// samples since then count, and those not in full, as they were chosen for
// being extreme; what was known by context is forgotten.
func (a *arm) watch(e, worth float64) {
	e = max(-maxError, min(maxError, e))
	up, down := a.up.add(e, worth), a.down.add(-e, worth)
	var since change
	switch {
	case down:
		since = a.down
	case up:
		since = a.up
	default:
		return
	}
	*a = arm{n: keptShare * since.n, sum: keptShare * since.sum, epoch: a.epoch + 1, rating: a.rating}
}
